/* SPDX-License-Identifier: Apache-2.0
 *
 * A keyword spotter without a runtime: the compiled model is an object file that this program
 * links, its weights are a file that it reads into an array. Nothing is allocated.
 *
 *   wick zoo ds_cnn -o ds_cnn.onnx
 *   wick compile ds_cnn.onnx --emit bundle -o kws
 *   cc -I. main.c kws.o -o spotter -lm -lpthread && ./spotter kws.weights */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kws.h"

#if KWS_ABI_VERSION != 4 || KWS_INPUTS != 1 || KWS_OUTPUTS != 1
#error "kws.h is another model's"
#endif

static _Alignas(KWS_WEIGHTS_ALIGN) unsigned char weights[KWS_WEIGHTS_BYTES];
static _Alignas(KWS_ARENA_ALIGN) unsigned char arena[KWS_ARENA_BYTES];
static _Alignas(64) unsigned char second_scratch[KWS_SCRATCH_BYTES + 1];
static float features[KWS_INPUT_0_COUNT], scores[KWS_OUTPUT_0_COUNT], again[KWS_OUTPUT_0_COUNT];

static int read_weights(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  size_t n = fread(weights, 1, sizeof weights, f);
  fclose(f);
  return n == sizeof weights ? 0 : -1;
}

static const char *text_of(int code) {
  switch (code) {
    case KWS_BAD_INPUT: return "an input holds a value that the model cannot take";
    case KWS_BAD_WEIGHTS: return "these are not the weights of this program, or they are damaged";
    case KWS_BAD_CPU: return "the code needs a processor with " KWS_CPU_FEATURES;
    default: return "ok";
  }
}

static int fail(int code) {
  fprintf(stderr, "spotter: %s\n", text_of(code));
  return 1;
}

/* ---- a parallel loop on two threads --------------------------------------------------------- */

typedef struct {
  kws_task fn;
  void *ctx, *scratch;
  int64_t begin, end;
} piece;

static void *run_piece(void *p) {
  const piece *x = p;
  x->fn(x->ctx, x->begin, x->end, x->scratch);
  return NULL;
}

static void parallel_for(kws_exec *exec, kws_task fn, void *ctx, int64_t n, int64_t grain) {
  int64_t half = n / 2 / grain * grain;
  piece first = {fn, ctx, second_scratch, 0, half};
  pthread_t helper;
  int has_helper = half > 0 && pthread_create(&helper, NULL, run_piece, &first) == 0;
  fn(ctx, has_helper ? half : 0, n, exec->scratch);
  if (has_helper) pthread_join(helper, NULL);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s kws.weights\n", argv[0]);
    return 2;
  }
  if (read_weights(argv[1])) {
    fprintf(stderr, "spotter: cannot read %d bytes of '%s'\n", KWS_WEIGHTS_BYTES, argv[1]);
    return 1;
  }
  int code = kws_check(weights);
  if (code != KWS_OK) return fail(code);
  for (int i = 0; i < KWS_INPUT_0_COUNT; i++) features[i] = sinf(0.01f * (float)(i * i % 1000));

  const void *inputs[] = {features};
  void *outputs[] = {scores};
  code = kws_run(weights, inputs, outputs, arena);
  if (code != KWS_OK) return fail(code);

  int best = 0;
  for (int i = 1; i < KWS_OUTPUT_0_COUNT; i++)
    if (scores[i] > scores[best]) best = i;
  printf("%s: class %d with %.6f\n", KWS_OUTPUT_0_NAME, best, (double)scores[best]);

  kws_exec exec = {.parallel_for = parallel_for, .threads = 2};
  exec.scratch = arena + (KWS_ARENA_BYTES - KWS_SCRATCH_BYTES) / 64 * 64;
  outputs[0] = again;
  code = kws_run_with(&exec, weights, inputs, outputs, arena);
  if (code != KWS_OK) return fail(code);
  int same = memcmp(scores, again, sizeof scores) == 0;
  printf("two threads: %s\n", same ? "the same bits" : "other bits");
  return !same;
}
