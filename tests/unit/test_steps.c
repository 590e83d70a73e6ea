/* SPDX-License-Identifier: Apache-2.0
 * Steps: the rows that a package gets of a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/package/program.h"

static const char text[] =
    "program \"p\" {\n"
    "  region act 192\n"
    "  bound 192\n"
    "  buffer input 0 %x : f32[2,3]\n"
    "  buffer output 0 %y : f32[2,3]\n"
    "  buffer output 1 %m : f32[2,2]\n"
    "  buffer const %w : 24 = splat(63)\n"
    "  buffer act %a : 24 offset 64\n"
    "  buffer act %b : 24 offset 128\n"
    "  buffer scratch %s : 4 offset 0\n"
    "  map(@out %a[3,2]:f32 *(1,3); @in %x[3,2]:f32 *(1,3)) {body=\"neg(%0)\"} \"negate\"\n"
    "  copy(@out %b[3]:f32; @in %a[3]:f32) \"halves\"\n"
    "  copy(@out %b[3]:f32 +12; @in %x[3]:f32 +12) \"halves\"\n"
    "  nest() do {\n"
    "    reduce(@out %s[2,3]:f32 *(0,0); @in %b[2,3]:f32) {axes=[1]}\n"
    "    map(@out %y[2,3]:f32; @in %b[2,3]:f32, @in %s[2,3]:f32 *(0,0)) {body=\"sub(%0, %1)\"}\n"
    "  }\n"
    "  loop(; -, -) {trip=5} \"again\" do {\n"
    "    matmul(@out %m[2,2]:f32; @in %x[2,3]:f32, @in %w[3,2]:f32, -)\n"
    "  }\n"
    "}\n";

static wk_program *program(void) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "t", &p);
  if (!s) s = wk_program_verify(p);
  if (s) fail_msg("%s", s->message);
  return p;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void rows_say_what_steps_do(void **state) {
  static const struct {
    const char *node, *op;
    uint64_t macs, bytes;
    size_t n_tensors;
  } want[] = {{"negate", "map", 0, 48, 1},
              {"halves", "copy", 0, 24, 1},
              {"halves", "copy", 0, 24, 1},
              {"", "nest", 0, 24 + 4 + 24 + 24 + 4, 1}, /* %s has one element, and is no one's */
              {"again", "loop", 5 * 12, 5 * (16 + 24 + 24), 0}};
  wk_program *p = program();
  wk_arena *a = wk_arena_new();
  size_t n;
  (void)state;
  const wk_package_step *s = wk_package_steps_of(p, a, &n);
  assert_int_equal(n, WK_COUNTOF(want));
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(s[i].node ? s[i].node : "", want[i].node);
    assert_string_equal(s[i].op, want[i].op);
    assert_int_equal(strncmp(s[i].text, want[i].op, strlen(want[i].op)), 0);
    assert_int_equal(s[i].code, i);
    assert_int_equal(s[i].macs, want[i].macs);
    assert_int_equal(s[i].bytes, want[i].bytes);
    assert_int_equal(s[i].n_tensors, want[i].n_tensors);
  }
  assert_string_equal(s[0].tensors->name, "a");
  assert_string_equal(s[1].tensors->name, ""); /* a piece */
  assert_int_equal(s[2].tensors->offset, 128 + 12);
  assert_int_equal(s[2].tensors->place, WICK_PLACE_ARENA);
  assert_string_equal(s[3].tensors->name, "y");
  assert_int_equal(s[3].tensors->place, WICK_PLACE_OUTPUT);
  assert_int_equal(s[3].tensors->index, 0);
  wk_arena_free(a);
  wk_program_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_say_what_steps_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
