/* SPDX-License-Identifier: Apache-2.0
 * options: the tables behind the command line (rank 0).
 *
 * A program is a table of commands, a command is a table of options, and one table feeds parsing,
 * --help, the man page and bash completion. A table looks like
 *
 *   typedef struct { const char *output; int emit; wk_strings bind; } compile_opts;
 *   static const char *const emits[] = {"package", "bundle", NULL};
 *   static const wk_option options[] = {
 *       {.kind = WK_OPTION_GROUP, .help = "Output"},
 *       {"output", 'o', "FILE", "write the result to FILE", WK_OPTION_STRING,
 *        offsetof(compile_opts, output)},
 *       {"emit", 0, "WHAT", "what to write", WK_OPTION_CHOICE,
 *        offsetof(compile_opts, emit), .choices = emits},
 *       {0}};
 *
 * The caller fills the struct with the defaults; parsing changes only what is on the command line.
 * Texts are plain: blank lines separate paragraphs, which are wrapped; a line that starts with a
 * space is kept as it is (examples, tables). --help and -h exist in every command. */
#ifndef WICK_OPTIONS_H
#define WICK_OPTIONS_H

#include "compiler/support/support.h"

typedef WK_VEC(const char *) wk_strings; /* pointers into argv; wk_vec_free */

/* Options as typed: what is called so, and its text. No name stands there twice. */
typedef struct {
  const char *name, *value; /* value NULL: as if it were not there */
} wk_option_pair;
typedef WK_VEC(wk_option_pair) wk_option_pairs; /* wk_vec_free */
/* NULL: there is none. */
const char *wk_option_pairs_get(const wk_option_pairs *p, const char *name);
/* In the place of what was there; both texts stay the caller's. */
void wk_option_pairs_set(wk_option_pairs *p, const char *name, const char *value);

typedef enum {
  WK_OPTION_FLAG,   /* bool */
  WK_OPTION_STRING, /* const char *, into argv */
  WK_OPTION_INT,    /* int64_t, decimal */
  WK_OPTION_DOUBLE, /* double, finite */
  WK_OPTION_LIST,   /* wk_strings, one element per occurrence */
  WK_OPTION_CHOICE, /* int, index into choices */
  WK_OPTION_PAIR,   /* wk_option_pairs, the option's own name with the last text; several options of
                       a table may have one such list */
  WK_OPTION_GROUP,  /* no option: `help` is the heading of the rows that follow */
  WK_OPTION_ROWS    /* no option: `rows` gives the rows that stand here, all PAIR with this offset,
                       but for those whose names the table has itself */
} wk_option_kind;

/* The last row of a table is {0}. */
typedef struct wk_option wk_option;
struct wk_option {
  const char *name; /* without the dashes */
  char short_name;  /* 0 = none */
  const char *arg;  /* name of the argument in texts; NULL for a flag. A name that contains FILE or
                       DIR completes to paths; one that begins so is never empty. "[SECONDS]": it
                       follows a "=" or is left out, and then the text is empty */
  const char *help;
  wk_option_kind kind;
  size_t offset;              /* of the value in the caller's struct */
  const char *const *choices; /* ends with NULL; required for CHOICE; checked for LIST as well */
  int64_t min, max;           /* for INT and DOUBLE; unbounded when both are 0 */
  void (*more)(wk_str *out);  /* adds to `help` what other tables know; NULL: nothing */
  bool (*rows)(size_t i, wk_option *out); /* for ROWS: name, arg and help of row i; false: none */
  bool is_unlisted;           /* of ROWS: they are taken, and texts leave them out */
};

/* The rows of a table (NULL: none) with those that ROWS stand for, to {0}; free(). all: unlisted
 * ones, too. */
wk_option *wk_option_rows(const wk_option *table, bool all);
/* The table itself has a row of that name. */
bool wk_option_has(const wk_option *table, const char *name);

typedef struct {
  const char *name;        /* "compile" */
  const char *synopsis;    /* the positional arguments: "MODEL.onnx" or "DIR…" */
  const char *summary;     /* one line, no full stop */
  const char *description; /* NULL ok */
  const wk_option *options;
  int min_args, max_args; /* count of positional arguments; max_args -1 = any */
} wk_command;

typedef struct {
  const char *name, *version, *summary, *description;
  const char *exit_status; /* text of that section; NULL ok */
  const wk_command *const *commands; /* ends with NULL */
} wk_cli;

/* argv[0] is ignored (the command's own name). Long options may be abbreviated while unambiguous,
 * take "--name value" or "--name=value"; "--" ends the options. On success `*help` says that --help
 * was met: then nothing after it was looked at. Every failure is a one-line WK_USAGE that names the
 * nearest option or choice. `positional` is appended to and stays the caller's, also on failure,
 * like the lists in `values`. Uses getopt_long, hence not from two threads at a time. */
wk_status wk_options_parse(const wk_command *c, int argc, char *const *argv, void *values,
                           wk_strings *positional, bool *help) WK_MUST_CHECK;
/* What parsing does for one option: `text` is borrowed, "" for a flag. Any thread. */
wk_status wk_option_store(const wk_option *o, const char *text, void *values) WK_MUST_CHECK;
/* Frees the lists in `values`. */
void wk_options_free(const wk_command *c, void *values);
/* Appends what the words give to the option `name`, whatever else is wrong with them: for what has
 * to be known before they can be parsed. */
void wk_options_find(const wk_command *c, int argc, char *const *argv, const char *name,
                     wk_strings *out);
/* The command of that name, or WK_USAGE with the nearest one. */
wk_status wk_cli_find(const wk_cli *p, const char *name,
                          const wk_command **out) WK_MUST_CHECK;

/* Text output; errors are the stream's. */
void wk_cli_help(FILE *f, const wk_cli *p);
void wk_options_help(FILE *f, const wk_cli *p, const wk_command *c);
void wk_cli_man(FILE *f, const wk_cli *p);                      /* roff: wick.1 */
void wk_options_man(FILE *f, const wk_cli *p, const wk_command *c); /* wick-compile.1 */
void wk_options_bash(FILE *f, const wk_cli *p);

#endif
