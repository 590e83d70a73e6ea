/* SPDX-License-Identifier: Apache-2.0
 * Products that read an operand as it was before a mask filled it: which do, and that what lies
 * beyond the size, here NaN, is not summed then, whatever the size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/wick.h"
#include "targets/cpu/cpu.h"
#include "targets/cpu/simd.h"
#include "targets/cpu/skip_fills.h"

enum { ROOM = 5, HEADS = 2, ROWS = 3, COLUMNS = 4 };

#define BUFFERS                                                                               \
  "program \"m\" {\n"                                                                         \
  "  buffer input 0 %n : i64[] align 64\n  buffer input 1 %o : i64[] align 64\n"              \
  "  buffer input 2 %p : f32[2,3,5] align 64\n  buffer input 3 %x : f32[2,5,4] align 64\n"    \
  "  buffer output 0 %y : f32[2,3,4] align 64\n"                                              \
  "  buffer output 1 %z : f32[2,5,4] align 64\n"                                              \
  "  buffer act %m : 5 align 64\n  buffer act %t : 160 align 64\n"                            \
  "  buffer act %u : 160 align 64\n"                                                          \
  "  buffer const %i : 40 align 64 = hex(\"0000000000000000010000000000000002000000000000000" \
  "3000000000000000400000000000000\")\n"                                                      \
  "  buffer const %j : 40 align 64 = hex(\"0000000000000000010000000000000001000000000000000" \
  "3000000000000000400000000000000\")\n"
#define MASK_OF(positions, size)                                                            \
  "  map(@out %m[5]:bool; @in " positions "[5]:i64, @in " size "[5]:i64 *(0)) "               \
  "{body=\"lt(%0, %1)\"}\n"
#define MASK MASK_OF("%i", "%n")
#define FILL(x, to)                                                                           \
  "  map(@out %t[2,5,4]:f32; @in %m[2,5,4]:bool *(0,1,0), @in " x "[2,5,4]:f32) "             \
  "{body=\"select(%0, %1, " to ")\"}\n"
#define PRODUCT(b)                                                                            \
  "  matmul(@out %y[2,3,4]:f32; @in %p[2,3,5]:f32, @in " b ") below 3 %n\n"
#define ALL "[2,5,4]:f32"

static const struct {
  const char *what, *text, *reads; /* the product's right side afterwards */
  int maps;                        /* afterwards */
  int ends;                        /* of maps, limits */
} cases[] = {
    {"a mask of its own", BUFFERS MASK FILL("%x", "0.0f32") PRODUCT("%t" ALL) "}", "x", 0, 0},
    {"a mask in the map",
     BUFFERS "  map(@out %t[2,5,4]:f32; @in %i[2,5,4]:i64 *(0,1,0), @in %n[2,5,4]:i64 *(0,0,0), "
             "@in %x[2,5,4]:f32) {body=\"select(lt(%0, %1), %2, 0.0f32)\"}\n" PRODUCT("%t" ALL) "}",
     "x", 0, 0},
    {"one head for all",
     BUFFERS MASK FILL("%x", "0.0f32") PRODUCT("%t[2,5,4]:f32 *(0,4,1)") "}", "x", 0, 0},
    {"columns that lie one below the other",
     BUFFERS MASK "  map(@out %t[2,4,5]:f32; @in %m[2,4,5]:bool *(0,0,1), "
                  "@in %x[2,4,5]:f32 *(20,1,4)) {body=\"select(%0, %1, 0.0f32)\"}\n"
     PRODUCT("%t[2,5,4]:f32 *(20,1,5)") "}", "x", 0, 0},
    {"who else reads it has it",
     BUFFERS MASK FILL("%x", "0.0f32")
     "  map(@out %u[2,5,4]:f32; @in %t[2,5,4]:f32) {body=\"neg(%0)\"}\n" PRODUCT("%t" ALL)
     "  map(@out %y[2,3,4]:f32; @in %y[2,3,4]:f32, @in %u[2,3,4]:f32 *(20,4,1)) "
     "{body=\"add(%0, %1)\"}\n}", "x", 4, 0},
    {"another number", BUFFERS MASK FILL("%x", "1.0f32") PRODUCT("%t" ALL) "}", "t", 2,
     1},
    {"another size", BUFFERS MASK_OF("%i", "%o") FILL("%x", "0.0f32") PRODUCT("%t" ALL) "}", "t",
     2, 1},
    {"other positions", BUFFERS MASK_OF("%j", "%n") FILL("%x", "0.0f32") PRODUCT("%t" ALL) "}",
     "t", 2, 1},
    {"no limit",
     BUFFERS MASK FILL("%x", "0.0f32")
     "  matmul(@out %y[2,3,4]:f32; @in %p[2,3,5]:f32, @in %t[2,5,4]:f32)\n}", "t", 2, 0},
    {"written in between",
     BUFFERS MASK "  map(@out %u[2,5,4]:f32; @in %x[2,5,4]:f32) {body=\"neg(%0)\"}\n"
     FILL("%u", "0.0f32") "  map(@out %u[2,5,4]:f32; @in %x[2,5,4]:f32) {body=\"exp(%0)\"}\n"
     PRODUCT("%t" ALL)
     "  map(@out %y[2,3,4]:f32; @in %y[2,3,4]:f32, @in %u[2,3,4]:f32 *(20,4,1)) "
     "{body=\"add(%0, %1)\"}\n}", "t", 5, 1},
    {"in place",
     BUFFERS MASK "  map(@out %t[2,5,4]:f32; @in %x[2,5,4]:f32) {body=\"neg(%0)\"}\n"
     FILL("%t", "0.0f32") PRODUCT("%t" ALL) "}", "t", 1, 1},
    {"in place, with another reader",
     BUFFERS MASK "  map(@out %t[2,5,4]:f32; @in %x[2,5,4]:f32) {body=\"neg(%0)\"}\n"
     FILL("%t", "0.0f32") PRODUCT("%t" ALL)
     "  map(@out %y[2,3,4]:f32; @in %y[2,3,4]:f32, @in %t[2,3,4]:f32 *(20,4,1)) "
     "{body=\"add(%0, %1)\"}\n}", "t", 4, 0},
    {"in place of an output",
     BUFFERS MASK "  map(@out %z[2,5,4]:f32; @in %x[2,5,4]:f32) {body=\"neg(%0)\"}\n"
     "  map(@out %z[2,5,4]:f32; @in %m[2,5,4]:bool *(0,1,0), @in %z[2,5,4]:f32) "
     "{body=\"select(%0, %1, 0.0f32)\"}\n" PRODUCT("%z" ALL) "}", "z", 3, 0},
    {"computed in a nest",
     BUFFERS MASK "  nest() {outer=2} do {\n"
     "    map(@out %t[2,5,4]:f32 *(20,4,1); @in %m[2,5,4]:bool *(0,1,0), @in %x[2,5,4]:f32) "
     "{body=\"select(%0, neg(%1), 0.0f32)\"}\n  }\n" PRODUCT("%t" ALL) "}", "t", 2, 1},
    {"computed", BUFFERS MASK
     "  map(@out %t[2,5,4]:f32; @in %m[2,5,4]:bool *(0,1,0), @in %x[2,5,4]:f32) "
     "{body=\"select(%0, neg(%1), 0.0f32)\"}\n" PRODUCT("%t" ALL) "}", "t", 2, 1},
    {"a part of it", BUFFERS MASK FILL("%x", "0.0f32")
     "  matmul(@out %y[2,3,4]:f32; @in %p[2,3,4]:f32 *(15,5,1), @in %t[2,4,4]:f32 *(20,4,1)) "
     "below 3 %n\n}", "t", 2, 0},
};

static void must(const char *text, wk_status s) {
  if (s) fail_msg("%s\n%s", text, s->message);
}

static wk_program *parsed(const char *text) {
  wk_program *p;
  must(text, wk_program_parse(text, "case", &p));
  must(text, wk_program_verify(p));
  return p;
}

static void operands_change(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_program *p = parsed(cases[i].text);
    wk_arena *scratch = wk_arena_new();
    int64_t changes = 0;
    int maps = 0, ends = 0;
    const char *reads = "";
    must(cases[i].what, wk_cpu_skip_fills(p, scratch, &changes));
    must(cases[i].what, wk_program_verify(p));
    wk_inst_pos *all;
    for (size_t k = 0, n = wk_program_flatten(p, scratch, &all); k < n; k++) {
      const wk_inst *inst = all[k].inst;
      maps += inst->op == WK_OP_MAP;
      ends += inst->op == WK_OP_MAP ? (int)inst->n_limits : 0;
      if (inst->op == WK_OP_MATMUL) reads = p->buffers.data[inst->operands[2].buffer].name;
    }
    if (strcmp(reads, cases[i].reads) != 0 || maps != cases[i].maps || ends != cases[i].ends)
      fail_msg("%s: %s is read, %d maps, %d limits", cases[i].what, reads, maps, ends);
    wk_arena_free(scratch);
    wk_program_free(p);
  }
}

/* ---- what is computed ------------------------------------------------------------------------ */

static void check_run(wick_status s) { assert_string_equal(wick_status_text(s), "ok"); }

static void check_size(wick_session *s, const char *what, int64_t n) {
  float p[HEADS][ROWS][ROOM], x[HEADS][ROOM][COLUMNS], y[HEADS][ROWS][COLUMNS];
  int64_t other = 0;
  for (int h = 0; h < HEADS; h++)
    for (int k = 0; k < ROOM; k++) {
      for (int r = 0; r < ROWS; r++) p[h][r][k] = k < n ? (float)(h + 2 * r + k) : 0;
      for (int c = 0; c < COLUMNS; c++) x[h][k][c] = k < n ? (float)(h + k - c) : NAN;
    }
  const void *inputs[] = {&n, &other, p, x};
  float z[HEADS][ROOM][COLUMNS];
  void *outputs[] = {y, z};
  check_run(wick_session_run(s, inputs, outputs));
  for (int h = 0; h < HEADS; h++)
    for (int r = 0; r < ROWS; r++)
      for (int c = 0; c < COLUMNS; c++) {
        float want = 0;
        for (int k = 0; k < n; k++) want += p[h][r][k] * x[h][k][c];
        if (y[h][r][c] != want)
          fail_msg("%s, %lld: %g instead of %g", what, (long long)n, (double)y[h][r][c],
                   (double)want);
      }
}

static void check_case(size_t i, const char *cpu, const char *path) {
  const wk_emit_options options = {.model_name = "case", .command = "test"};
  wk_instance *t;
  wick_model *m;
  wick_session *s;
  must(cpu, wk_target_cpu.open(cpu, &t));
  wk_program *p = parsed(cases[i].text);
  must(cases[i].what, wk_pipeline_finish(p, t));
  must(cases[i].what, wk_emit_programs(t, &p, 1, &options, path));
  check_run(wick_model_load(path, NULL, &m));
  check_run(wick_session_create(m, 0, 1, &s));
  for (int64_t n = 0; n <= ROOM; n++) check_size(s, cases[i].what, n);
  wick_session_free(s);
  wick_model_free(m);
  wk_program_free(p);
  t->target->close(t);
}

static void sums_end_at_the_size(void **state) {
  (void)state;
  char path[] = "/tmp/wick-skip-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  for (int k = 0; wk_simd_row(k); k++)
    for (size_t i = 0; i < 2 && wk_simd_runs_here(wk_simd_row(k)); i++)
      check_case(i, wk_simd_row(k)->name, path);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operands_change),
                                     cmocka_unit_test(sums_end_at_the_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
