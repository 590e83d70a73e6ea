/* SPDX-License-Identifier: Apache-2.0
 * What the options of all commands take: numbers and their ends, words, what holds where nothing is
 * given, and how many arguments there may be. `rows` prints the table anew. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/command.h"

static const wk_cmd *const cmds[] = {
#define WK_COMMAND_X(name) &wk_cmd_##name,
    WK_COMMANDS(WK_COMMAND_X)
#undef WK_COMMAND_X
};

/* Of each command those that its texts list. */
static wk_option *rows[WK_COUNTOF(cmds)];

/* "COMMAND --OPTION -S: what it takes; the default" */
static const char *const expected[] = {
#include "tests/unit/command_options.def"
};

/* The struct that this command line makes, for free(); NULL with *said: it is refused. Lists are
 * not kept. */
static void *parsed(const wk_cmd *c, int n, char *const *words, wk_str *said) {
  char *argv[8] = {(char *)"command"};
  void *values = wk_xcalloc(1, c->size);
  wk_strings args = {0};
  bool help;
  for (int i = 0; i < n; i++) argv[i + 1] = words[i];
  if (c->defaults) memcpy(values, c->defaults, c->size);
  wk_status s = wk_options_parse(&c->command, n + 1, argv, values, &args, &help);
  wk_options_free(&c->command, values);
  wk_vec_free(&args);
  if (!s) return values;
  wk_str_add(said, s->message);
  wk_status_free(s);
  free(values);
  return NULL;
}

/* The option with this value and as few arguments as there may be. */
static void *given(const wk_cmd *c, const wk_option *o, const char *value, wk_str *said) {
  char text[128];
  char *words[4] = {text, (char *)"a", (char *)"b", (char *)"c"};
  snprintf(text, sizeof text, "--%s%s%s", o->name, value ? "=" : "", value ? value : "");
  said->n = 0;
  return parsed(c, 1 + c->command.min_args, words, said);
}

static const void *at(const void *values, const wk_option *o) {
  return (const char *)values + o->offset;
}

/* ---- one option ------------------------------------------------------------------------------ */

static void add_number(wk_str *b, const wk_cmd *c, const wk_option *o) {
  wk_str said = {0};
  bool is_int = o->kind == WK_OPTION_INT;
  free(given(c, o, is_int ? "-9223372036854775808" : "-1e300", &said));
  const char *how = strstr(said.s ? said.s : "", "' is ");
  wk_str_printf(b, " %s; ", how ? how + 2 : is_int ? "any number" : "any real number");
  void *values = wk_xcalloc(1, c->size);
  if (c->defaults) memcpy(values, c->defaults, c->size);
  if (is_int) wk_str_printf(b, "%" PRId64, *(const int64_t *)at(values, o));
  else wk_str_printf(b, "%g", *(const double *)at(values, o));
  free(values);
  wk_str_free(&said);
}

static void add_choices(wk_str *b, const wk_cmd *c, const wk_option *o) {
  wk_str said = {0};
  void *values = given(c, o, "no such word", &said);
  const char *how = strstr(said.s ? said.s : "", "(choose from ");
  wk_str_printf(b, " %s", how ? how : "any word");
  free(values);
  if (o->kind == WK_OPTION_CHOICE) {
    values = wk_xcalloc(1, c->size);
    if (c->defaults) memcpy(values, c->defaults, c->size);
    wk_str_printf(b, "; %s", o->choices[*(const int *)at(values, o)]);
    free(values);
  }
  wk_str_free(&said);
}

static wk_str text_of(const wk_cmd *c, const wk_option *o) {
  wk_str b = {0};
  wk_str_printf(&b, "%s --%s", c->command.name, o->name);
  if (o->short_name) wk_str_printf(&b, " -%c", o->short_name);
  wk_str_add(&b, ":");
  switch (o->kind) {
    case WK_OPTION_FLAG: wk_str_add(&b, " flag"); break;
    case WK_OPTION_STRING:
    case WK_OPTION_PAIR: wk_str_add(&b, " text"); break;
    case WK_OPTION_INT:
    case WK_OPTION_DOUBLE: add_number(&b, c, o); break;
    default: add_choices(&b, c, o); break;
  }
  return b;
}

#define EACH_OPTION(c, o)                                                                  \
  for (size_t command_ = 0; command_ < WK_COUNTOF(cmds); command_++)                       \
    for (const wk_cmd *c = cmds[command_]; c; c = NULL)                                    \
      for (const wk_option *o = rows[command_];                                            \
           o->name || o->kind == WK_OPTION_GROUP; o++)                                     \
        if (o->kind != WK_OPTION_GROUP)

static void options_take_what_they_took(void **state) {
  (void)state;
  size_t n = 0;
  EACH_OPTION(c, o) {
    wk_str b = text_of(c, o);
    if (n >= WK_COUNTOF(expected) || strcmp(b.s, expected[n]) != 0)
      fail_msg("option %zu is\n%s\nnot\n%s", n, b.s,
               n < WK_COUNTOF(expected) ? expected[n] : "there");
    wk_str_free(&b);
    n++;
  }
  assert_int_equal(n, WK_COUNTOF(expected));
}

/* ---- what holds for all ---------------------------------------------------------------------- */

/* Both ends are taken, and what lies behind them is not. */
static void numbers_are_taken_up_to_their_ends(void **state) {
  (void)state;
  wk_str said = {0};
  EACH_OPTION(c, o) {
    if (o->kind != WK_OPTION_INT || (!o->min && !o->max)) continue;
    for (int end = 0; end < 2; end++) {
      char text[32];
      int64_t limit = end ? o->max : o->min;
      snprintf(text, sizeof text, "%" PRId64, limit);
      void *values = given(c, o, text, &said);
      if (!values) fail_msg("%s --%s: %s", c->command.name, o->name, said.s);
      assert_int_equal(*(const int64_t *)at(values, o), limit);
      free(values);
      if (limit == INT64_MAX) continue;
      snprintf(text, sizeof text, "%" PRId64, end ? limit + 1 : limit - 1);
      if (given(c, o, text, &said)) fail_msg("%s --%s takes %s", c->command.name, o->name, text);
    }
  }
  wk_str_free(&said);
}

/* Where the help names a number, and the command has none of its own for 0. */
static void help_says_what_the_default_is(void **state) {
  (void)state;
  size_t n = 0;
  EACH_OPTION(c, o) {
    const char *text = o->help ? strstr(o->help, "(default ") : NULL;
    if (!text || !c->defaults) continue;
    char *end;
    double said = strtod(text + 9, &end);
    if (end == text + 9) continue;
    double is = o->kind == WK_OPTION_INT      ? (double)*(const int64_t *)at(c->defaults, o)
                : o->kind == WK_OPTION_DOUBLE ? *(const double *)at(c->defaults, o)
                                              : NAN;
    if (isnan(is) || is <= 0) continue;
    n++;
    if (said != is) fail_msg("%s --%s: %g, not %g", c->command.name, o->name, is, said);
  }
  assert_true(n >= 20);
}

/* No two of a command fill the same place, but for those by name, or have the same letter; all lie
 * within the struct. */
static void each_option_has_its_place(void **state) {
  (void)state;
  static const size_t sizes[] = {
      [WK_OPTION_FLAG] = sizeof(bool), [WK_OPTION_STRING] = sizeof(char *),
      [WK_OPTION_INT] = sizeof(int64_t), [WK_OPTION_DOUBLE] = sizeof(double),
      [WK_OPTION_LIST] = sizeof(wk_strings), [WK_OPTION_CHOICE] = sizeof(int),
      [WK_OPTION_PAIR] = sizeof(wk_option_pairs)};
  EACH_OPTION(c, o) {
    assert_true(o->offset + sizes[o->kind] <= c->size);
    assert_true(!o->short_name || (o->short_name >= 'a' && o->short_name <= 'z'));
    for (const wk_option *p = rows[command_]; p != o; p++) {
      if (p->kind == WK_OPTION_GROUP) continue;
      bool apart = p->offset + sizes[p->kind] <= o->offset ||
                   o->offset + sizes[o->kind] <= p->offset ||
                   (p->kind == WK_OPTION_PAIR && o->kind == WK_OPTION_PAIR);
      if (!apart || (o->short_name && o->short_name == p->short_name) || !strcmp(o->name, p->name))
        fail_msg("%s: --%s and --%s", c->command.name, p->name, o->name);
    }
  }
}

/* As many arguments as the synopsis says: words in brackets may be missing, … is any number. */
static void arguments_are_as_many_as_the_synopsis_says(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cmds); i++) {
    const char *synopsis = cmds[i]->command.synopsis ? cmds[i]->command.synopsis : "";
    char *words[] = {(char *)"a", (char *)"b", (char *)"c", (char *)"d"};
    bool any = strstr(synopsis, "…") || strstr(synopsis, "...");
    int least = 0, most = 0;
    for (const char *s = synopsis; *s; s += strcspn(s, " "), s += *s == ' ') {
      most++;
      least += *s != '[';
    }
    if (cmds[i] == &wk_cmd_sim) least = 0; /* --build has no stream */
    for (int n = 0; n <= 4; n++) {
      wk_str said = {0};
      void *values = parsed(cmds[i], n, words, &said);
      bool fits = n >= least && (any || n <= most);
      if (!values != !fits) fail_msg("%s with %d arguments", cmds[i]->command.name, n);
      free(values);
      wk_str_free(&said);
    }
  }
}

static int print_rows(void) {
  puts("/* SPDX-License-Identifier: Apache-2.0\n"
       " * What test_command_options.c finds: command, option, what it takes, "
       "what holds without it. */");
  EACH_OPTION(c, o) {
    wk_str b = text_of(c, o);
    size_t cut = b.n > 88 ? 88 : b.n; /* lines of up to 100 columns */
    printf("\"%.*s\"", (int)cut, b.s);
    for (; cut < b.n; cut += 88) printf("\n\"%.*s\"", 88, b.s + cut);
    printf(",\n");
    wk_str_free(&b);
  }
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_take_what_they_took),
      cmocka_unit_test(numbers_are_taken_up_to_their_ends),
      cmocka_unit_test(help_says_what_the_default_is),
      cmocka_unit_test(each_option_has_its_place),
      cmocka_unit_test(arguments_are_as_many_as_the_synopsis_says),
  };
  for (size_t i = 0; i < WK_COUNTOF(cmds); i++)
    rows[i] = wk_option_rows(cmds[i]->command.options, false);
  int failed = argc > 1 && !strcmp(argv[1], "rows") ? print_rows()
                                                    : cmocka_run_group_tests(tests, NULL, NULL);
  for (size_t i = 0; i < WK_COUNTOF(cmds); i++) free(rows[i]);
  return failed;
}
