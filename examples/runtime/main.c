/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a package with the runtime: loads it, makes a session, allocates what the entry asks for,
 * and prints which element of every output is the largest. All inputs are f32 here.
 *
 *   wick zoo ds_cnn -o ds_cnn.onnx
 *   wick compile ds_cnn.onnx -o kws.wick
 *   cc -Iruntime examples/runtime/main.c build/libwick_rt.a -o classify -lpthread -lm
 *   ./classify kws.wick */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "wick.h"

enum { MAX_TENSORS = 8 };

static void *buffer_for(const wick_tensor_info *t) {
  size_t bytes = (t->bytes + 63) / 64 * 64; /* aligned_alloc wants a multiple */
  return aligned_alloc(64, bytes ? bytes : 64);
}

static int fill(const wick_tensor_info *t, float *x) {
  if (t->dtype != WICK_F32) {
    fprintf(stderr, "input %s is %s, not f32\n", t->name, wick_dtype_name(t->dtype));
    return -1;
  }
  for (size_t i = 0; i < t->bytes / sizeof *x; i++) x[i] = sinf(0.01f * (float)(i * i % 1000));
  return 0;
}

static void show(const wick_tensor_info *t, const float *y) {
  size_t count = t->bytes / sizeof *y, best = 0;
  if (t->dtype != WICK_F32 || count == 0) return;
  for (size_t i = 1; i < count; i++)
    if (y[i] > y[best]) best = i;
  printf("%s: class %zu with %.6f\n", t->name, best, (double)y[best]);
}

static int run(wick_session *session) {
  const wick_entry_info *e = wick_session_entry(session);
  void *inputs[MAX_TENSORS] = {0}, *outputs[MAX_TENSORS] = {0};
  wick_status status = WICK_BAD_ARGUMENT;
  int bad = e->input_count > MAX_TENSORS || e->output_count > MAX_TENSORS;
  for (uint32_t i = 0; !bad && i < e->input_count; i++)
    bad = !(inputs[i] = buffer_for(&e->inputs[i])) || fill(&e->inputs[i], inputs[i]);
  for (uint32_t i = 0; !bad && i < e->output_count; i++)
    bad = !(outputs[i] = buffer_for(&e->outputs[i]));
  if (!bad) status = wick_session_run(session, (const void *const *)inputs, outputs);
  for (uint32_t i = 0; status == WICK_OK && i < e->output_count; i++)
    show(&e->outputs[i], outputs[i]);
  for (uint32_t i = 0; i < MAX_TENSORS; i++) free(inputs[i]);
  for (uint32_t i = 0; i < MAX_TENSORS; i++) free(outputs[i]);
  if (status != WICK_OK) fprintf(stderr, "run: %s\n", wick_status_text(status));
  return status != WICK_OK;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s PACKAGE\n", argv[0]);
    return 2;
  }
  wick_error_detail detail = {0};
  wick_load_options options = {.size = sizeof options, .detail = &detail};
  wick_model *model = NULL;
  wick_session *session = NULL;
  wick_status status = wick_model_load(argv[1], &options, &model);
  if (status == WICK_OK) status = wick_session_create(model, 0, 0, &session);
  if (status != WICK_OK)
    fprintf(stderr, "%s: %s\n", argv[1], detail.text[0] ? detail.text : wick_status_text(status));
  int failed = status != WICK_OK || run(session);
  wick_session_free(session);
  wick_model_free(model);
  return failed;
}
