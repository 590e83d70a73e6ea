/* SPDX-License-Identifier: Apache-2.0
 * wick asm, disasm, check and plan of small files: what goes where, and what is said of it. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "targets/accel/isa/isa.h"
#include "tests/unit/command_output.h"

#define RUN(name, ...) &wk_cmd_##name, WORDS(W(#name), __VA_ARGS__)

static const char text[] =
    ".memory x 0x1000 64\n.memory y 0x2000 2048\n.random x 1\n.random y 2\n.memory z 0x4000 64\n"
    "ld.ld0 dram=x n0=64 spm=0 c0=64\nld.ld1 dram=y n0=64 spm=64 c0=64\n"
    "ld.ld1 dram=y n0=64 spm=128 c0=64\nst dram=z n0=64 spm=0 c0=64 wait ld0:1\nend\n";

/* The text's name without what is behind the last dot of the file's own name. */
static void where_streams_go(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
  } cases[] = {{"a.s", "a.wcs"},           {"a", "a.wcs"},
               {"a.b.s", "a.b.wcs"},       {"dir.x/a", "dir.x/a.wcs"},
               {"dir.x/a.s", "dir.x/a.wcs"}, {"dir.x/.a", "dir.x/.a.wcs"},
               {".a", ".a.wcs"},           {"dir.x/.a.s", "dir.x/.a.wcs"},
               {"./b.s", "./b.wcs"},       {"b.", "b.wcs"}};
  assert_int_equal(mkdir("dir.x", 0777), 0);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    put_file(cases[i].from, text);
    expect_printed(RUN(asm, W(cases[i].from), W("--machine=tiny"), W("-q")), "");
    if (access(cases[i].to, F_OK) != 0) fail_msg("%s: %s is not there", cases[i].from, cases[i].to);
    assert_int_equal(unlink(cases[i].to), 0);
  }
}

static void expect_summary(const char *machine, const char *name, const char *output) {
  wk_machine m;
  wk_arena *a = wk_arena_new();
  char option[32];
  assert_null(wk_machine_read(machine, &m));
  snprintf(option, sizeof option, "--machine=%s", machine);
  expect_printed(RUN(asm, W("a.s"), option, W("-o"), W(output)),
                 wk_arena_printf(a, "machine   %s, hash %016" PRIx64 "\n"
                                 "commands  5 at 0x5000, st 1, ld0 1, ld1 2\n"
                                 "images    2.1 KiB in 3 memories\n", name, wk_machine_hash(&m)));
  wk_arena_free(a);
}

static void what_a_stream_is(void **state) {
  (void)state;
  put_file("a.s", text);
  put_file("m.cfg", "array = 8;\n");
  expect_summary("tiny", "tiny", "tiny.wcs");
  expect_summary("m.cfg", "m", "own.wcs");
  expect_printed(RUN(check, W("tiny.wcs")), "a.s: 5 commands, 1 waits (0.20 a command); no "
                 "deadlock, no hazard, within bounds\n");
  wk_str shown = {0};
  assert_null(run_words(RUN(disasm, W("own.wcs"), W("--no-data")), &shown));
  assert_non_null(strstr(shown.s, "\n; x has 64 bytes of data\n; y has 2048 bytes of data\n"));
  wk_str_free(&shown);
  expect_printed(RUN(disasm, W("tiny.wcs"), W("-o"), W("once.s")), "");
  expect_printed(RUN(asm, W("once.s"), W("-o"), W("again.wcs"), W("-q")), "");
  expect_printed(RUN(disasm, W("again.wcs"), W("-o"), W("twice.s")), "");
  char *once = file_text("once.s"), *twice = file_text("twice.s");
  assert_string_equal(once, twice);
  assert_non_null(strstr(once, "\nst dram=z n0=64 spm=0x0 c0=64 wait ld0_1\nend\n"));
  assert_null(strstr(once, "bytes of data"));
  free(once);
  free(twice);
}

#define TABLE "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,32,64\nc,2,4,64,0\n"
#define FOUND(capacity)                                                                   \
  "buffers   3\nbound     96 (96 B)\npeak      96 (96 B)\n" capacity "ratio     1.0000\n" \
  "nodes     0\noptimal   yes\n"

/* A table that goes to standard output stays alone there. */
static void where_plans_go(void **state) {
  (void)state;
  put_file("plan.csv", "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n");
  expect_printed(RUN(plan, W("plan.csv")), FOUND(""));
  expect_printed(RUN(plan, W("plan.csv"), W("--output=-")), TABLE);
  expect_printed(RUN(plan, W("plan.csv"), W("--output=-x")), FOUND(""));
  expect_printed(RUN(plan, W("plan.csv"), W("--output=out.csv"), W("--capacity=128")),
                 FOUND("capacity  128 (128 B)\n"));
  char *table = file_text("out.csv");
  assert_string_equal(table, TABLE);
  free(table);
  assert_int_equal(access("-x", F_OK), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(where_streams_go),
                                     cmocka_unit_test(what_a_stream_is),
                                     cmocka_unit_test(where_plans_go)};
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
