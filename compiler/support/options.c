/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/options.h"

#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELP = 255, FIRST = 256 }; /* what getopt_long returns: FIRST + row in the table */

typedef struct {
  WK_VEC(struct option) longs;
  wk_str shorts;
} getopt_tables;

static size_t row_count(const wk_command *c) {
  size_t n = 0;
  while (c->options && (c->options[n].name || c->options[n].kind == WK_OPTION_GROUP)) n++;
  return n;
}

static int argument_of(const wk_option *o) {
  if (o->kind == WK_OPTION_FLAG) return no_argument;
  return o->arg[0] == '[' ? optional_argument : required_argument;
}

/* "-" hands positional arguments over in order, ":" tells a missing argument from a bad option. */
static getopt_tables make_tables(const wk_command *c) {
  getopt_tables t = {0};
  wk_str_add(&t.shorts, "-:h");
  for (size_t i = 0; i < row_count(c); i++) {
    const wk_option *o = &c->options[i];
    if (o->kind == WK_OPTION_GROUP) continue;
    bool flag = o->kind == WK_OPTION_FLAG;
    wk_vec_push(&t.longs, ((struct option){o->name, argument_of(o), NULL, FIRST + (int)i}));
    if (o->short_name) wk_str_printf(&t.shorts, "%c%s", o->short_name, flag ? "" : ":");
  }
  wk_vec_push(&t.longs, ((struct option){"help", no_argument, NULL, HELP}));
  wk_vec_push(&t.longs, ((struct option){0}));
  return t;
}

static const wk_option *by_code(const wk_command *c, int code) {
  if (code >= FIRST) return &c->options[code - FIRST];
  for (size_t i = 0; i < row_count(c); i++)
    if (c->options[i].short_name == code) return &c->options[i];
  return NULL;
}

static void add_hint(wk_str *b, const char *prefix, const char *word, const char *const *names,
                     size_t n) {
  const char *near = wk_nearest(word, names, n);
  if (near) wk_str_printf(b, "; did you mean '%s%s'?", prefix, near);
}

static wk_status usage(wk_str *message) {
  wk_status s = wk_error(WK_USAGE, "%s", message->s);
  wk_str_free(message);
  return s;
}

/* `text` is the word as typed, with dashes and perhaps "=value". */
static wk_status unknown_long(const getopt_tables *t, const char *text) {
  char *name = wk_xstrdup(text + 2);
  name[strcspn(name, "=")] = 0;
  WK_VEC(const char *) names = {0};
  wk_str matches = {0}, message = {0};
  int n_matches = 0;
  for (const struct option *o = t->longs.data; o->name; o++) {
    wk_vec_push(&names, o->name);
    if (*name && strncmp(o->name, name, strlen(name)) == 0)
      wk_str_printf(&matches, "%s'--%s'", n_matches++ ? " or " : "", o->name);
  }
  if (n_matches > 1) {
    wk_str_printf(&message, "option '--%s' is ambiguous: %s", name, matches.s);
  } else {
    wk_str_printf(&message, "unknown option '--%s'", name);
    add_hint(&message, "--", name, names.data, names.n);
  }
  free(name);
  wk_vec_free(&names);
  wk_str_free(&matches);
  return usage(&message);
}

/* A long option typed with one dash reads as a bundle of short ones: name what was meant. */
static wk_status unknown_short(const getopt_tables *t, const char *word, int letter) {
  wk_str message = {0};
  const char *near = NULL;
  for (const struct option *o = t->longs.data; o->name && !near; o++)
    if (strcmp(o->name, word + (*word == '-')) == 0) near = o->name;
  wk_str_printf(&message, "unknown option '-%c'", letter);
  if (near) wk_str_printf(&message, "; did you mean '--%s'?", near);
  return usage(&message);
}

static wk_status parse_int(const wk_option *o, const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end || errno == EINVAL)
    return wk_error(WK_USAGE, "option '--%s': '%s' is not an integer", o->name, text);
  bool bounded = o->min || o->max;
  if (!bounded && errno == ERANGE)
    return wk_error(WK_USAGE, "option '--%s': '%s' does not fit in 64 bits", o->name, text);
  if (bounded && (errno == ERANGE || v < o->min || v > o->max)) {
    if (o->max == INT64_MAX && v < o->min)
      return wk_error(WK_USAGE, "option '--%s': '%s' is not allowed (at least %lld)", o->name,
                      text, (long long)o->min);
    return wk_error(WK_USAGE, "option '--%s': '%s' is outside %lld to %lld", o->name, text,
                    (long long)o->min, (long long)o->max);
  }
  *out = v;
  return NULL;
}

static wk_status parse_double(const wk_option *o, const char *text, double *out) {
  char *end;
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c) wk_no_memory();
  double v = strtod_l(text, &end, c);
  freelocale(c);
  if (end == text || *end || !isfinite(v))
    return wk_error(WK_USAGE, "option '--%s': '%s' is not a number", o->name, text);
  bool bounded = o->min || o->max;
  if (bounded && v < (double)o->min)
    return wk_error(WK_USAGE, "option '--%s': '%s' is not allowed (at least %lld)", o->name, text,
                    (long long)o->min);
  if (bounded && v > (double)o->max)
    return wk_error(WK_USAGE, "option '--%s': '%s' is not allowed (at most %lld)", o->name, text,
                    (long long)o->max);
  *out = v;
  return NULL;
}

static wk_status parse_choice(const wk_option *o, const char *text, int *out) {
  size_t n = 0;
  for (; o->choices[n]; n++) {
    if (strcmp(o->choices[n], text) != 0) continue;
    *out = (int)n;
    return NULL;
  }
  wk_str message = {0};
  wk_str_printf(&message, "option '--%s': unknown value '%s'", o->name, text);
  if (wk_nearest(text, o->choices, n)) {
    add_hint(&message, "", text, o->choices, n);
  } else {
    for (size_t i = 0; i < n; i++)
      wk_str_printf(&message, "%s%s", i ? ", " : " (choose from ", o->choices[i]);
    wk_str_add(&message, ")");
  }
  return usage(&message);
}

static wk_status parse_text(const wk_option *o, const char *text, const char **out) {
  bool is_path = strncmp(o->arg, "FILE", 4) == 0 || strncmp(o->arg, "DIR", 3) == 0;
  if (is_path && !*text)
    return wk_error(WK_USAGE, "option '--%s': the name is empty: %s", o->name, o->arg);
  *out = text;
  return NULL;
}

wk_status wk_option_store(const wk_option *o, const char *text, void *values) {
  void *at = (char *)values + o->offset;
  const char *word;
  int ignored;
  switch (o->kind) {
    case WK_OPTION_FLAG: *(bool *)at = true; return NULL;
    case WK_OPTION_STRING: return parse_text(o, text, at);
    case WK_OPTION_INT: return parse_int(o, text, at);
    case WK_OPTION_DOUBLE: return parse_double(o, text, at);
    case WK_OPTION_CHOICE: return parse_choice(o, text, at);
    case WK_OPTION_LIST:
      if (o->choices) WK_TRY(parse_choice(o, text, &ignored));
      wk_vec_push((wk_strings *)at, text);
      return NULL;
    case WK_OPTION_PAIR:
      WK_TRY(parse_text(o, text, &word));
      wk_option_pairs_set(at, o->name, word);
      return NULL;
    case WK_OPTION_GROUP:
    case WK_OPTION_ROWS: break;
  }
  return NULL;
}

static wk_status handle(const wk_command *c, const getopt_tables *t, int code, const char *word,
                        void *values) {
  const wk_option *o;
  switch (code) {
    case ':':
      o = by_code(c, optopt);
      if (optopt < FIRST)
        return wk_error(WK_USAGE, "option '-%c' needs an argument: %s", optopt, o->arg);
      return wk_error(WK_USAGE, "option '--%s' needs an argument: %s", o->name, o->arg);
    case '?':
      if (optopt == HELP || optopt >= FIRST)
        return wk_error(WK_USAGE, "option '--%s' takes no argument",
                        optopt == HELP ? "help" : by_code(c, optopt)->name);
      return optopt ? unknown_short(t, word, optopt) : unknown_long(t, word);
    default: return wk_option_store(by_code(c, code), optarg ? optarg : "", values);
  }
}

typedef struct {
  wk_command c; /* with all its rows */
  wk_option *rows;
  getopt_tables t;
  int argc;
  char **argv; /* getopt may permute */
} words;

static words begin(const wk_command *c, int argc, char *const *argv) {
  words w = {.c = *c, .rows = wk_option_rows(c->options, true), .argc = argc,
             .argv = wk_xcalloc((size_t)argc + 1, sizeof *w.argv)};
  w.c.options = w.rows;
  w.t = make_tables(&w.c);
  if (argc) memcpy(w.argv, argv, (size_t)argc * sizeof *w.argv);
  optind = 0; /* GNU: start afresh */
  opterr = 0;
  return w;
}

static int next(words *w) {
  return getopt_long(w->argc, w->argv, w->t.shorts.s, w->t.longs.data, NULL);
}

static void end(words *w) {
  wk_vec_free(&w->t.longs);
  wk_str_free(&w->t.shorts);
  free(w->argv);
  free(w->rows);
}

static wk_status parse_words(words *w, void *values, wk_strings *positional, bool *help) {
  for (;;) {
    int at = optind ? optind : 1;
    int code = next(w);
    if (code == -1) break;
    if (code == HELP || (code == 'h' && !by_code(&w->c, 'h'))) {
      *help = true;
      return NULL;
    }
    if (code == 1) wk_vec_push(positional, optarg);
    else WK_TRY(handle(&w->c, &w->t, code, w->argv[at < w->argc ? at : w->argc - 1], values));
  }
  for (; optind < w->argc; optind++) wk_vec_push(positional, w->argv[optind]);
  return NULL;
}

void wk_options_find(const wk_command *c, int argc, char *const *argv, const char *name,
                     wk_strings *out) {
  words w = begin(c, argc, argv);
  for (int code; (code = next(&w)) != -1;) {
    const wk_option *o = by_code(&w.c, code);
    if (o && !strcmp(o->name, name)) wk_vec_push(out, optarg);
  }
  end(&w);
}

wk_status wk_options_parse(const wk_command *c, int argc, char *const *argv, void *values,
                           wk_strings *positional, bool *help) {
  *help = false;
  words w = begin(c, argc, argv);
  wk_status s = parse_words(&w, values, positional, help);
  end(&w);
  if (s || *help) return s;
  if (positional->n < (size_t)c->min_args)
    return wk_error(WK_USAGE, "missing argument: %s", c->synopsis);
  for (size_t i = 0; i < positional->n; i++)
    if (!*positional->data[i])
      return wk_error(WK_USAGE, "an argument is empty: %s", c->synopsis);
  if (c->max_args >= 0 && positional->n > (size_t)c->max_args)
    return wk_error(WK_USAGE, "unexpected argument '%s'", positional->data[c->max_args]);
  return NULL;
}

wk_status wk_cli_find(const wk_cli *p, const char *name, const wk_command **out) {
  WK_VEC(const char *) names = {0};
  *out = NULL;
  for (size_t i = 0; p->commands[i] && !*out; i++) {
    wk_vec_push(&names, p->commands[i]->name);
    if (strcmp(p->commands[i]->name, name) == 0) *out = p->commands[i];
  }
  wk_str message = {0};
  if (!*out) {
    wk_str_printf(&message, "unknown command '%s'", name);
    add_hint(&message, "", name, names.data, names.n);
  }
  wk_vec_free(&names);
  return *out ? NULL : usage(&message);
}
