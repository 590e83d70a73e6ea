/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed from the option tables: --help, man pages, bash completion. All three walk the
 * same rows; the built-in --help is one more row. */
#include "compiler/support/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, MAX_COLUMN = 28 };

static const wk_option help_row = {"help", 'h', NULL, "show this text", .kind = WK_OPTION_FLAG};

static bool is_end(const wk_option *o) { return !o->name && o->kind != WK_OPTION_GROUP; }

/* The command with the rows that texts list. */
static wk_command listed(const wk_command *c) {
  wk_command x = *c;
  x.options = wk_option_rows(c->options, false);
  return x;
}

static void free_listed(wk_command *c) { free((void *)(uintptr_t)c->options); }

/* Row i of a command; after its own rows comes --help, then NULL. */
static const wk_option *row(const wk_command *c, size_t i) {
  size_t n = 0;
  while (c->options && !is_end(&c->options[n])) {
    if (n == i) return &c->options[i];
    n++;
  }
  return i == n ? &help_row : NULL;
}

/* ---- help --------------------------------------------------------------------------------- */

/* Columns on the terminal: UTF-8 continuation bytes take none. */
static int columns(const char *s, size_t n) {
  int count = 0;
  for (size_t i = 0; i < n; i++) count += ((unsigned char)s[i] & 0xc0) != 0x80;
  return count;
}

/* Prints words up to the end of the paragraph, wrapped, continuing at `column` with `indent` for
 * the lines that follow. Returns where it stopped: at '\0' or '\n'. */
static const char *wrap(FILE *f, const char *s, int column, int indent) {
  bool first = true;
  for (;;) {
    while (*s == ' ' || (*s == '\n' && s[1] && s[1] != '\n' && s[1] != ' ')) s++;
    if (!*s || *s == '\n') break;
    size_t n = strcspn(s, " \n");
    int width = columns(s, n);
    if (!first && column + 1 + width > WIDTH) {
      fprintf(f, "\n%*s", indent, "");
      column = indent;
    } else if (!first) {
      fputc(' ', f);
      column++;
    }
    fprintf(f, "%.*s", (int)n, s);
    column += width;
    s += n;
    first = false;
  }
  fputc('\n', f);
  return s;
}

static void print_text(FILE *f, const char *s) {
  while (*s) {
    size_t n = strcspn(s, "\n");
    if (n == 0 || *s == ' ') {
      fprintf(f, "%.*s\n", (int)n, s);
      s += n;
    } else {
      s = wrap(f, s, 0, 0);
    }
    if (*s == '\n') s++;
  }
}

static char *left_side(const wk_option *o) {
  wk_str b = {0};
  if (o->short_name) wk_str_printf(&b, "  -%c, ", o->short_name);
  else wk_str_add(&b, "      ");
  wk_str_printf(&b, "--%s", o->name);
  if (o->arg && *o->arg == '[') wk_str_printf(&b, "[=%s", o->arg + 1);
  else if (o->arg) wk_str_printf(&b, "=%s", o->arg);
  return b.s;
}

static char *right_side(const wk_option *o) {
  wk_str b = {0};
  wk_str_add(&b, o->help);
  if (o->more) o->more(&b);
  for (size_t i = 0; o->choices && o->choices[i]; i++)
    wk_str_printf(&b, "%s%s", i ? ", " : ": ", o->choices[i]);
  if (o->kind == WK_OPTION_LIST) wk_str_add(&b, " (may be repeated)");
  return b.s;
}

static int help_column(const wk_command *c) {
  int column = 0;
  const wk_option *o;
  for (size_t i = 0; (o = row(c, i)); i++) {
    if (o->kind == WK_OPTION_GROUP) continue;
    char *left = left_side(o);
    int width = columns(left, strlen(left)) + 2;
    if (width > column && width <= MAX_COLUMN) column = width;
    free(left);
  }
  return column;
}

void wk_options_help(FILE *f, const wk_cli *p, const wk_command *c) {
  wk_command x = listed(c);
  fprintf(f, "Usage: %s %s [OPTION]... %s\n\n", p->name, c->name, c->synopsis);
  fputc(toupper((unsigned char)c->summary[0]), f);
  fprintf(f, "%s.\n", c->summary + 1);
  if (c->description) {
    fputc('\n', f);
    print_text(f, c->description);
  }
  int column = help_column(&x);
  const wk_option *o;
  for (size_t i = 0; (o = row(&x, i)); i++) {
    bool group = o->kind == WK_OPTION_GROUP;
    if (group || i == 0) fprintf(f, "\n%s:\n", group ? o->help : "Options");
    if (group) continue;
    char *left = left_side(o), *right = right_side(o);
    int width = columns(left, strlen(left));
    fputs(left, f);
    if (width + 2 > column) fprintf(f, "\n%*s", column, "");
    else fprintf(f, "%*s", column - width, "");
    wrap(f, right, column, column);
    free(left);
    free(right);
  }
  free_listed(&x);
}

void wk_cli_help(FILE *f, const wk_cli *p) {
  fprintf(f, "Usage: %s COMMAND [OPTION]... [ARGUMENT]...\n\n%s: %s.\n", p->name, p->name,
          p->summary);
  if (p->description) {
    fputc('\n', f);
    print_text(f, p->description);
  }
  int column = 0;
  for (size_t i = 0; p->commands[i]; i++) {
    int width = (int)strlen(p->commands[i]->name) + 4;
    if (width > column) column = width;
  }
  fputs("\nCommands:\n", f);
  for (size_t i = 0; p->commands[i]; i++) {
    fprintf(f, "  %-*s", column - 2, p->commands[i]->name);
    wrap(f, p->commands[i]->summary, column, column);
  }
  fprintf(f, "\n'%s COMMAND --help' shows a command's options.\n", p->name);
  if (p->exit_status) {
    fputs("\nExit status:\n", f);
    print_text(f, p->exit_status);
  }
}

/* ---- man ---------------------------------------------------------------------------------- */

/* One line of text: dashes stay dashes, and nothing is taken for a request or an escape. */
static void roff_line(FILE *f, const char *s, size_t n) {
  if (n && (*s == '.' || *s == '\'')) fputs("\\&", f);
  for (size_t i = 0; i < n; i++) {
    if (s[i] == '-') fputs("\\-", f);
    else if (s[i] == '\\') fputs("\\e", f);
    else fputc(s[i], f);
  }
}

static void roff_word(FILE *f, const char *s) { roff_line(f, s, strlen(s)); }

static void roff_text(FILE *f, const char *s) {
  bool verbatim = false;
  while (*s) {
    size_t n = strcspn(s, "\n");
    bool turns = (*s == ' ') != verbatim;
    if (turns) {
      verbatim = !verbatim;
      fputs(verbatim ? ".PP\n.nf\n" : ".fi\n.PP\n", f);
    }
    if (n) {
      roff_line(f, s, n);
      fputc('\n', f);
    } else if (!turns && s[1] && s[1] != ' ') {
      fputs(".PP\n", f);
    }
    s += n;
    if (*s == '\n') s++;
  }
  if (verbatim) fputs(".fi\n", f);
}

static void roff_heading(FILE *f, const wk_cli *p, const char *command, const char *summary) {
  fputs(".TH ", f);
  for (const char *s = p->name; *s; s++) fputc(toupper((unsigned char)*s), f);
  if (command) fputs("\\-", f);
  for (const char *s = command; s && *s; s++) fputc(toupper((unsigned char)*s), f);
  fprintf(f, " 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n", p->name, p->version);
  roff_word(f, p->name);
  if (command) fprintf(f, "\\-%s", command);
  fputs(" \\- ", f);
  roff_word(f, summary);
  fputs("\n.SH SYNOPSIS\n", f);
}

static void roff_options(FILE *f, const wk_command *c) {
  const wk_option *o;
  for (size_t i = 0; (o = row(c, i)); i++) {
    if (o->kind == WK_OPTION_GROUP) {
      fputs(".SS ", f);
      roff_word(f, o->help);
      fputc('\n', f);
      continue;
    }
    fputs(".TP\n", f);
    if (o->short_name) fprintf(f, "\\fB\\-%c\\fR, ", o->short_name);
    fputs("\\fB\\-\\-", f);
    roff_word(f, o->name);
    fputs("\\fR", f);
    if (o->arg) {
      bool is_optional = *o->arg == '[';
      fputs(is_optional ? "[=\\fI" : "=\\fI", f);
      roff_word(f, o->arg + is_optional);
      fputs("\\fR", f);
    }
    fputc('\n', f);
    char *right = right_side(o);
    roff_word(f, right);
    fputc('\n', f);
    free(right);
  }
}

static void roff_exit_status(FILE *f, const wk_cli *p) {
  if (!p->exit_status) return;
  fputs(".SH EXIT STATUS\n", f);
  roff_text(f, p->exit_status);
}

void wk_options_man(FILE *f, const wk_cli *p, const wk_command *c) {
  roff_heading(f, p, c->name, c->summary);
  fprintf(f, ".B %s %s\n[\\fIOPTION\\fR]...\n", p->name, c->name);
  roff_word(f, c->synopsis);
  fputc('\n', f);
  if (c->description) {
    fputs(".SH DESCRIPTION\n", f);
    roff_text(f, c->description);
  }
  fputs(".SH OPTIONS\n", f);
  wk_command x = listed(c);
  roff_options(f, &x);
  free_listed(&x);
  roff_exit_status(f, p);
  fprintf(f, ".SH SEE ALSO\n.BR %s (1)\n", p->name);
}

void wk_cli_man(FILE *f, const wk_cli *p) {
  roff_heading(f, p, NULL, p->summary);
  fprintf(f, ".B %s\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n", p->name);
  if (p->description) {
    fputs(".SH DESCRIPTION\n", f);
    roff_text(f, p->description);
  }
  fputs(".SH COMMANDS\n", f);
  for (size_t i = 0; p->commands[i]; i++) {
    fprintf(f, ".TP\n.BR %s\\-%s (1)\n", p->name, p->commands[i]->name);
    roff_word(f, p->commands[i]->summary);
    fputc('\n', f);
  }
  roff_exit_status(f, p);
}

/* ---- bash completion ------------------------------------------------------------------------ */

static void bash_words(FILE *f, const wk_command *c) {
  wk_command x = listed(c);
  const wk_option *o;
  fprintf(f, "    %s) _wick_words '", c->name);
  for (size_t k = 0; (o = row(&x, k)); k++)
    if (o->kind != WK_OPTION_GROUP) fprintf(f, "--%s ", o->name);
  fputs("' ;;\n", f);
  free_listed(&x);
}

/* The case branches "command --option)" for the arguments of one option. */
static void bash_argument(FILE *f, const wk_command *c, const wk_option *o) {
  if (o->arg[0] == '[') return; /* never a word of its own */
  fprintf(f, "    '%s --%s'", c->name, o->name);
  if (o->short_name) fprintf(f, " | '%s -%c'", c->name, o->short_name);
  if (o->choices) {
    fputs(") _wick_words '", f);
    for (size_t i = 0; o->choices[i]; i++) fprintf(f, "%s%s", i ? " " : "", o->choices[i]);
    fputs("' ;;\n", f);
  } else {
    bool paths = strstr(o->arg, "FILE") || strstr(o->arg, "DIR");
    fprintf(f, ") %s ;;\n", paths ? "_wick_paths" : ":");
  }
}

static void bash_arguments(FILE *f, const wk_command *c) {
  wk_command x = listed(c);
  const wk_option *o;
  for (size_t k = 0; (o = row(&x, k)); k++)
    if (o->kind != WK_OPTION_GROUP && o->kind != WK_OPTION_FLAG) bash_argument(f, c, o);
  free_listed(&x);
}

void wk_options_bash(FILE *f, const wk_cli *p) {
  fprintf(f, "# bash completion for %s; made from its option tables\n", p->name);
  fputs("_wick_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
        "_wick_paths() {\n"
        "  compopt -o filenames 2>/dev/null\n"
        "  mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
        "}\n"
        "_wick_options() {\n"
        "  case \"$1\" in\n",
        f);
  for (size_t i = 0; p->commands[i]; i++) bash_words(f, p->commands[i]);
  fputs("  esac\n"
        "}\n"
        "_wick() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  COMPREPLY=()\n"
        "  if ((COMP_CWORD == 1)); then\n"
        "    _wick_words '",
        f);
  for (size_t i = 0; p->commands[i]; i++) fprintf(f, "%s ", p->commands[i]->name);
  fputs("--help --version'\n"
        "    return\n"
        "  fi\n"
        "  # bash splits --option=value at the equals sign\n"
        "  if [[ $cur == = ]]; then\n"
        "    cur=\n"
        "  elif [[ $prev == = ]]; then\n"
        "    prev=${COMP_WORDS[COMP_CWORD-2]}\n"
        "  fi\n"
        "  case \"${COMP_WORDS[1]} $prev\" in\n",
        f);
  for (size_t i = 0; p->commands[i]; i++) bash_arguments(f, p->commands[i]);
  fprintf(f,
          "    *) if [[ $cur == -* ]]; then _wick_options \"${COMP_WORDS[1]}\"; "
          "else _wick_paths; fi ;;\n"
          "  esac\n"
          "}\n"
          "complete -F _wick %s\n",
          p->name);
}
