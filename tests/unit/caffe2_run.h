/* SPDX-License-Identifier: Apache-2.0
 * Runs a net of one operator of Caffe2 (caffe2_net.h), evaluated or compiled once for all sizes,
 * on tensors that a test draws, and compares all its outputs. */
#ifndef WICK_TEST_CAFFE2_RUN_H
#define WICK_TEST_CAFFE2_RUN_H

#include <math.h>

#include "compiler/pipeline/runner.h"
#include "tests/unit/caffe2_net.h"
#include "tests/unit/near_file.h"

enum { RUN_MAX = 8 };
typedef struct {
  const char *type;
  wk_runner *r;
} caffe2_run;

static inline wk_status caffe2_open(const char *type, const char *in, const char *out,
                                    const char *args, const char *target, caffe2_run *x) {
  caffe2_net net = caffe2_net_of(type, in, out, args);
  for (const char *w = strchr(out, ' '); w; w = strchr(w + 1, ' '))
    wk_str_printf(&net.text, "external_output: \"%.*s\"\n", (int)strcspn(w + 1, " "), w + 1);
  const wk_import_options o = {.shapes = net.shapes, .n_shapes = net.n_shapes};
  const wk_runner_options how = {.target = {.target = target}, .threads = 1, .model_name = "net"};
  wk_import_report report;
  wk_module *m = NULL;
  wk_status s = wk_net_import(near_file(&net.text), &o, &report, &m);
  *x = (caffe2_run){.type = type};
  if (!s) s = wk_runner_of_module(m, &how, &x->r);
  wk_import_report_free(&report);
  caffe2_net_free(&net);
  return s;
}

/* The tensors of a run: those that go in by the name of the input, those that come out in order. */
typedef struct {
  const char *names[RUN_MAX];
  wk_tensor in[RUN_MAX], out[RUN_MAX];
  size_t n;
} caffe2_data;

static inline wk_tensor caffe2_tensor(wk_dtype t, int rank, const int64_t *dims, const void *data) {
  wk_tensor x = {.type = wk_type_make(t, rank, dims)};
  size_t n = (size_t)wk_type_bytes(&x.type);
  x.data = wk_xmalloc(n + 1);
  if (n) memcpy(x.data, data, n);
  return x;
}

static inline void caffe2_put(caffe2_data *d, const char *name, wk_dtype t, int rank,
                              const int64_t *dims, const void *data) {
  assert_true(d->n < RUN_MAX);
  d->names[d->n] = name;
  d->in[d->n++] = caffe2_tensor(t, rank, dims, data);
}

static inline wk_status caffe2_go(const caffe2_run *x, caffe2_data *d) {
  wk_tensor in[RUN_MAX];
  for (size_t i = 0; i < wk_runner_inputs(x->r); i++)
    for (size_t k = 0; k < d->n; k++)
      if (!strcmp(d->names[k], wk_runner_input_name(x->r, i))) in[i] = d->in[k];
  return wk_runner_run(x->r, in, d->out);
}

static inline void caffe2_must(const caffe2_run *x, wk_status s) {
  if (s) fail_msg("%s: %s: %s", x->type, s->place ? s->place : "", s->message);
}

static inline void caffe2_drop(caffe2_data *d) {
  for (size_t i = 0; i < RUN_MAX; i++) {
    wk_tensor_free(&d->in[i]);
    wk_tensor_free(&d->out[i]);
  }
}

/* Numbers of floats are near or the same infinity. */
static inline void caffe2_expect(const caffe2_run *x, const caffe2_data *d, int i, wk_dtype t,
                                 int rank, const int64_t *dims, const double *want) {
  const wk_tensor *got = &d->out[i];
  const wk_type type = wk_type_make(t, rank, dims);
  if (!wk_type_equal(&got->type, &type)) {
    wk_str b = {0};
    wk_type_print(&b, &got->type);
    wk_str_add(&b, ", not ");
    wk_type_print(&b, &type);
    fail_msg("%s: output %d is %s", x->type, i, b.s);
  }
  for (int64_t k = 0; k < wk_type_count(&type); k++) {
    double v = wk_load_f64(got->data, t, k);
    if (v != want[k] && !(fabs(v - want[k]) <= 2e-5 * fabs(want[k]) + 1e-5))
      fail_msg("%s: element %d of output %d is %g, not %g", x->type, (int)k, i, v, want[k]);
  }
}

#endif
