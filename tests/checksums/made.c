/* SPDX-License-Identifier: Apache-2.0
 * Does the compiler make what it did, for machines that are not here? made SUITE TABLE [--bless]
 *
 *   kernels   kernels of the CPU target alone, of layers as large as they are in networks
 *   programs  instructions made by hand and such layers, through targets
 *   indexed   other instructions, as large as they are in networks, through targets
 *   drawn     products, loops and rows of them that lie anyhow, through targets
 *   near      on both sides of limits and forms, through targets
 *   graphs    drawn graphs of all kinds, through the whole compiler
 *   operators each operator of graphs alone
 *
 * TABLE holds a row for each case: its name, then for each machine figures, where there are any,
 * and a checksum of the text. Another checksum is another decision of a pass, a cost or a generator
 * of code, be the results as they were: `made SUITE TABLE --show ROW` prints the texts of a row,
 * which two builds can be compared by; say in the commit what became better, and write the table
 * anew with --bless. */
#include "tests/checksums/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void made_row(made_table *t, const char *name) {
  wk_str_printf(&t->text, "%s%s", t->text.n ? "\n" : "", name);
  t->is_shown = t->show && strcmp(t->show, name) == 0;
}

void made_cell(made_table *t, const char *machine, const char *figures, const char *text,
               size_t n) {
  if (t->is_shown) printf("==== %s %s\n%.*s\n", machine, figures, (int)n, text ? text : "refused");
  wk_str_add(&t->text, " ");
  wk_str_add(&t->text, figures);
  if (text) wk_str_printf(&t->text, "%s%08x", *figures ? ":" : "", (unsigned)wk_hash64(text, n, 0));
  else wk_str_add(&t->text, "-");
}

static void fail(wk_status s) {
  wk_status_print(stderr, s);
  exit(2);
}

/* The line at *at without its end; *at goes behind it. */
static wk_str next_line(const char **at) {
  wk_str line = {0};
  size_t n = strcspn(*at, "\n");
  wk_str_addn(&line, *at, n);
  *at += n + ((*at)[n] == '\n');
  return line;
}

/* How many rows differ; they are printed. */
static int compare(const char *want, const char *got) {
  int bad = 0;
  while (*want || *got) {
    wk_str w = next_line(&want), g = next_line(&got);
    if (strcmp(w.s ? w.s : "", g.s ? g.s : "") != 0 && bad++ < 10)
      printf("it was  %s\nit is   %s\n", w.s ? w.s : "", g.s ? g.s : "");
    wk_str_free(&w);
    wk_str_free(&g);
  }
  return bad;
}

static int check(const char *path, const made_table *t) {
  wk_file f;
  wk_status s = wk_file_map(path, &f);
  if (s) fail(s);
  wk_str want = {0};
  wk_str_addn(&want, (const char *)f.data, f.size);
  wk_file_unmap(&f);
  int bad = compare(want.s, t->text.s);
  wk_str_free(&want);
  printf("%d rows differ\n", bad);
  return bad != 0;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*make)(made_table *t);
  } suites[] = {{"kernels", made_kernels}, {"programs", made_programs},
                {"indexed", made_indexed}, {"drawn", made_drawn},
                {"near", made_near},       {"graphs", made_graphs},
                {"operators", made_operators}};
  made_table t = {.show = argc == 5 && strcmp(argv[3], "--show") == 0 ? argv[4] : NULL};
  const bool is_blessed = argc == 4 && strcmp(argv[3], "--bless") == 0;
  int result = 2;
  if (argc != 3 && !t.show && !is_blessed) {
    fputs("usage: made SUITE TABLE [--bless | --show ROW]\n", stderr);
    return 2;
  }
  for (size_t i = 0; i < WK_COUNTOF(suites); i++) {
    if (strcmp(suites[i].name, argv[1]) != 0) continue;
    suites[i].make(&t);
    wk_str_add(&t.text, "\n");
    result = 0;
  }
  if (result == 0 && is_blessed) {
    wk_status s = wk_write_file(argv[2], t.text.s, t.text.n);
    if (s) fail(s);
  } else if (result == 0 && !t.show) {
    result = check(argv[2], &t);
  }
  wk_str_free(&t.text);
  return result;
}
