/* SPDX-License-Identifier: Apache-2.0
 * Files of several parts for the accelerator: which there may be, which are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/isa/unit_emit.h"

enum { MANY = 22 };

static char folder[] = "/tmp/wick_unit_emit_XXXXXX";

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

static bool is_among(const wk_emit_files *all, const char *path) {
  for (size_t i = 0; i < all->n; i++)
    if (!strcmp(all->path[i], path)) return true;
  return false;
}

/* The second part's tensors are not known. */
static void several_parts(void **state) {
  wk_machine machine;
  wk_arena *a = wk_arena_new();
  wk_emit_files all, files = {0};
  wk_accel_emission e[MANY];
  wk_graph graph = {.inputs.n = 1, .outputs.n = 1};
  const wk_type t = wk_type_make(WK_I8, 1, (int64_t[]){4});
  const wk_target_tensor tensors[] = {{"x", t, {-1, 0, {0}}, NULL}, {"y", t, {-1, 0, {0}}, NULL}};
  const wk_target_part parts[] = {{.name = "a", .graph = &graph, .tensors = tensors},
                                  {.name = "b", .graph = &graph}};
  (void)state;
  must(wk_machine_read("tiny", &machine));
  wk_stream *s = wk_stream_new(&machine, "t");
  for (int i = 0; i < MANY; i++) e[i] = (wk_accel_emission){.stream = s, .part = &parts[i % 2]};
  must(wk_accel_emit_files("net.wcs", a, &all));
  must(wk_accel_emit_streams(e, MANY - 1, "net.wcs", a, &files));
  assert_int_equal(files.n, 3 * (MANY - 1) + 1);
  for (size_t i = 0; i < files.n; i++)
    assert_true(is_among(&all, files.path[i]) && !unlink(files.path[i]));
  must(wk_accel_emit_streams(e, 1, "net.wcs", a, &files));
  assert_int_equal(files.n, 3);
  for (size_t i = 0; i < files.n; i++)
    assert_true(is_among(&all, files.path[i]) && !unlink(files.path[i]));
  wk_status bad = wk_accel_emit_streams(e, MANY, "net.wcs", a, &files);
  assert_non_null(bad);
  assert_string_equal(bad->message, "22 parts are for the accelerator, and files are written of at "
                                    "most 21 at once: choose one with --part");
  wk_status_free(bad);
  wk_stream_free(s);
  wk_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(several_parts)};
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return rmdir(folder) || failed;
}
