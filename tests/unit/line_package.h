/* SPDX-License-Identifier: Apache-2.0
 * A package that learns: the entries train, evaluate and infer of a linear regression on one state,
 * and its samples. For test_variables.c. */
#ifndef WICK_TEST_LINE_PACKAGE_H
#define WICK_TEST_LINE_PACKAGE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/pipeline/pipeline.h"

static inline void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

/* w and its momentum m, of a linear regression by hand: d = x w - y, g = x' d. */
#define HEAD(inputs)                                                     \
  "module \"line\" { graph @main(" inputs ") {\n"                         \
  "  variable public %w: f32[5,3] trainable = splat(0.5)\n"
#define FORWARD "  %p = matmul(%x, %w)\n"

static const char *const line_texts[] = {
    HEAD("%x: f32[64,5], %y: f32[64,3]")
    "  variable %m: f32[5,3] = splat(0.0)\n"
    "  variable %step: i64[] = {0}\n"
    "  %one = constant i64[] {1}\n"
    FORWARD
    "  %d = sub(%p, %y)\n"
    "  %xt = transpose(%x) {perm=[1,0]}\n"
    "  %g = matmul(%xt, %d)\n"
    "  %m2 = map(%m, %g) {body=\"add(mul(%0, 0.5f32), mul(%1, 0.015625f32))\"}\n"
    "  %w2 = map(%w, %m2) {body=\"sub(%0, mul(%1, 0.25f32))\"}\n"
    "  %loss = reduce_mean(%d) {axes=[0,1], keepdims=0}\n"
    "  %next = add(%step, %one)\n"
    "  output %loss\n"
    "  update %w = %w2\n  update %m = %m2\n  update %step = %next\n}}",
    HEAD("%x: f32[64,5], %y: f32[64,3]") FORWARD
    "  %d = sub(%p, %y)\n  %a = abs(%d)\n"
    "  %error = reduce_max(%a) {axes=[0,1], keepdims=0}\n"
    "  output %error\n}}",
    HEAD("%x: f32[1,5]") FORWARD "  output %p\n}}",
};
static const char *const line_names[] = {"train", "evaluate", "infer"};
enum { TRAIN, EVALUATE, INFER, ENTRIES };

/* The three as a package of as many entries, or as another output of the target. */
static inline void emit_line(const char *output, const char *path) {
  wk_targets t;
  wk_emit_entry entries[ENTRIES];
  wk_module *modules[ENTRIES];
  wk_emit_options o = {.model_name = "line", .command = "test"};
  wk_emit_result result = {.scratch_bytes = -1};
  must(wk_targets_open(&(wk_target_args){0}, &t));
  for (int i = 0; i < ENTRIES; i++) {
    wk_pipeline_report report;
    const wk_pipeline_options po = {.targets = &t};
    must(wk_module_parse(line_texts[i], line_names[i], &modules[i]));
    entries[i].name = line_names[i];
    must(wk_pipeline_run(modules[i], &po, &report, &entries[i].parts));
    wk_pipeline_report_free(&report);
  }
  assert_int_equal(entries[TRAIN].parts->parts.data[0].program->copies_after, 0);
  const wk_target_output *x = t.list[0]->target->outputs;
  while (output && strcmp(x->name, output) != 0) x++;
  if (output) must(wk_emit_output(x, t.list[0], entries, ENTRIES, &o, path, &result));
  else must(wk_emit_package(&t, entries, ENTRIES, &o, path, &result));
  for (int i = 0; i < ENTRIES; i++) {
    wk_parts_free(entries[i].parts);
    wk_module_free(modules[i]);
  }
  wk_targets_close(&t);
}

/* Writes the package; the path is of 26 characters. */
static inline void line_file(char *path) {
  strcpy(path, "/tmp/wick-variables-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  emit_line(NULL, path);
}

static inline wick_model *line_package(void) {
  char path[32];
  wick_model *m;
  line_file(path);
  assert_int_equal(wick_model_load(path, NULL, &m), WICK_OK);
  unlink(path);
  return m;
}

typedef struct {
  float x[64 * 5], y[64 * 3];
} samples;

/* y is a linear function of x. */
static inline void draw_samples(samples *s) {
  static const float w[5][3] = {{1, -2, 3}, {0.5f, 0.25f, -1}, {2, 2, 2}, {-3, 1, 0}, {0, 1, -1}};
  wk_rng rng = {7};
  memset(s, 0, sizeof *s);
  for (int i = 0; i < 64; i++)
    for (int k = 0; k < 5; k++) {
      s->x[i * 5 + k] = (float)wk_rng_range(&rng, 0, 2000) / 1000 - 1;
      for (int j = 0; j < 3; j++) s->y[i * 3 + j] += s->x[i * 5 + k] * w[k][j];
    }
}

#endif
