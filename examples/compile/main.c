/* SPDX-License-Identifier: Apache-2.0
 * Compiles a model, loads what came of it and runs it, in one process:
 *   cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/compile MODEL.onnx
 * OPTION=VALUE behind the model are options of `wick compile`: target=opencl, bind=batch=1. Inputs
 * are zeros; prints how large each output is, and how much of it is not zero. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick.h"
#include "wick_compile.h"

static void end(void *ctx, const char *why) {
  fprintf(stderr, "%s: %s\n", (const char *)ctx, why);
  exit(WICK_COMPILE_RESOURCE);
}

static int compile(wick_compiler *c, char **options, int n) {
  for (int i = 0; i < n; i++) {
    char *value = strchr(options[i], '=');
    if (value) *value++ = 0;
    int code = wick_compiler_set(c, options[i], value);
    if (code) return code;
  }
  return wick_compiler_run(c);
}

static void print_messages(const wick_compiler *c) {
  const wick_compile_message *m;
  for (size_t i = 0; (m = wick_compiler_message(c, i)); i++)
    fprintf(stderr, "%s%s%s\n%s", m->place ? m->place : "", m->place ? ": " : "", m->text,
            m->details ? m->details : "");
}

/* Inputs of zeros; says how many bytes of the outputs are not. */
static wick_status run(wick_session *s) {
  enum { MOST = 16 };
  const wick_entry_info *e = wick_session_entry(s);
  void *data[2][MOST] = {{0}};
  const wick_tensor_info *tensors[2] = {e->inputs, e->outputs};
  const uint32_t n[2] = {e->input_count, e->output_count};
  wick_status status = n[0] > MOST || n[1] > MOST ? WICK_BAD_ARGUMENT : WICK_OK;
  for (int k = 0; k < 2 && !status; k++)
    for (uint32_t i = 0; i < n[k] && !status; i++) {
      size_t room = (tensors[k][i].bytes / 64 + 1) * 64;
      data[k][i] = aligned_alloc(64, room);
      if (data[k][i]) memset(data[k][i], 0, room);
      else status = WICK_NO_MEMORY;
    }
  if (!status) status = wick_session_run(s, (const void *const *)data[0], data[1]);
  for (uint32_t i = 0; i < n[1] && !status; i++) {
    size_t bytes = 0;
    for (size_t b = 0; b < e->outputs[i].bytes; b++) bytes += ((char *)data[1][i])[b] != 0;
    printf("%s: %zu bytes, %zu of them not 0\n", e->outputs[i].name, e->outputs[i].bytes, bytes);
  }
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < MOST; i++) free(data[k][i]);
  return status;
}

static int load_and_run(const wick_compile_output *package) {
  wick_error_detail detail = {0};
  const wick_load_options options = {.size = sizeof options, .detail = &detail};
  wick_model *model = NULL;
  wick_session *session = NULL;
  wick_status s = wick_model_load_memory(package->data, package->bytes, &options, &model);
  if (!s) s = wick_session_create(model, 0, 0, &session);
  if (!s) s = run(session);
  if (s)
    fprintf(stderr, "%s: %s\n", package->name, *detail.text ? detail.text : wick_status_text(s));
  wick_session_free(session);
  wick_model_free(model);
  return s != WICK_OK;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL.onnx [OPTION[=VALUE]...]\n", argv[0]);
    return 2;
  }
  wick_compiler *c = wick_compiler_new(argv[1]);
  if (!c) return WICK_COMPILE_RESOURCE;
  wick_compiler_on_end(c, end, argv[1]);
  int code = compile(c, argv + 2, argc - 2);
  print_messages(c);
  if (!code) {
    const wick_compile_output *package = wick_compiler_output(c, 0);
    printf("%s: %zu bytes\n", package->name, package->bytes);
    code = load_and_run(package);
  }
  wick_compiler_free(c);
  return code;
}
