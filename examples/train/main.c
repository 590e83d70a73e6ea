/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that learns where it is: the step, the evaluation and the model are functions of one
 * object file, and what they learn is in an array of this program. Nothing is allocated.
 *
 *   wick zoo digits_cnn -o digits.onnx
 *   wick train digits.onnx --data x.npy --labels y.npy --loss cross-entropy --epochs 1 \
 *     --train 'classifier*' --batch-norm frozen --emit bundle -o digits
 *   cc -I. main.c digits.o -o learner && ./learner digits.weights x.npy y.npy
 *
 * x.npy holds f32 [n,1,8,8] and y.npy i64 [n]; what fills no batch of 32 is not used. */
#include <stdio.h>
#include <string.h>

#include "digits.h"

#if DIGITS_ABI_VERSION != 4 || DIGITS_TRAIN_INPUTS != 4 || DIGITS_TRAIN_OUTPUTS != 3 || \
    DIGITS_EVALUATE_INPUTS != 2
#error "digits.h is another model's, or of another loss"
#endif

enum { BATCH = DIGITS_TRAIN_INPUT_1_COUNT, PIXELS = DIGITS_TRAIN_INPUT_0_COUNT / BATCH };
enum { MAX_SAMPLES = 4096, EPOCHS = 3 };

static _Alignas(DIGITS_WEIGHTS_ALIGN) unsigned char weights[DIGITS_WEIGHTS_BYTES];
static _Alignas(DIGITS_STATE_ALIGN) unsigned char state[DIGITS_STATE_BYTES];
static _Alignas(DIGITS_TRAIN_ARENA_ALIGN) unsigned char arena[DIGITS_TRAIN_ARENA_BYTES];
static float x[MAX_SAMPLES * PIXELS];
static int64_t y[MAX_SAMPLES];

_Static_assert(DIGITS_TRAIN_ARENA_BYTES >= DIGITS_EVALUATE_ARENA_BYTES, "one arena is for both");

/* What stands behind the header of a .npy file; the number of bytes, 0 when it is none. */
static size_t read_npy(const char *path, void *to, size_t most) {
  unsigned char head[10];
  FILE *f = fopen(path, "rb");
  size_t n = 0;
  if (!f) return 0;
  if (fread(head, 1, 10, f) == 10 && !memcmp(head, "\x93NUMPY\x01", 7) &&
      fseek(f, 10 + head[8] + 256 * head[9], SEEK_SET) == 0)
    n = fread(to, 1, most, f);
  fclose(f);
  return n;
}

static int read_weights(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  size_t n = fread(weights, 1, sizeof weights, f);
  fclose(f);
  return n == sizeof weights ? 0 : -1;
}

/* Mean loss and part of right answers over n samples. */
static int evaluate(size_t n, double *loss, double *right) {
  float losses[BATCH], metrics[BATCH];
  *loss = *right = 0;
  for (size_t i = 0; i < n; i += BATCH) {
    const void *inputs[] = {x + i * PIXELS, y + i};
    void *outputs[] = {losses, metrics};
    if (digits_run_evaluate(weights, inputs, outputs, arena, state)) return -1;
    for (int k = 0; k < BATCH; k++) {
      *loss += losses[k] / (double)n;
      *right += metrics[k] / (double)n;
    }
  }
  return 0;
}

/* One step for every batch; steps are counted from 1. One without finite gradients changes nothing,
 * and ends it. */
static int learn(size_t n, int64_t *step) {
  const double rate = 1e-3;
  float loss, metric;
  unsigned char valid;
  for (size_t i = 0; i < n; i += BATCH) {
    ++*step;
    const void *inputs[] = {x + i * PIXELS, y + i, &rate, step};
    void *outputs[] = {&loss, &metric, &valid};
    if (digits_run_train(weights, inputs, outputs, arena, state) || !valid) return -1;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4 || read_weights(argv[1])) {
    fprintf(stderr, "usage: %s digits.weights x.npy y.npy\n", argv[0]);
    return 2;
  }
  size_t n = read_npy(argv[2], x, sizeof x) / (PIXELS * sizeof *x);
  size_t labels = read_npy(argv[3], y, sizeof y) / sizeof *y;
  if (labels < n) n = labels;
  n -= n % BATCH;
  if (digits_check(weights) != DIGITS_OK) {
    fprintf(stderr, "learner: '%s' is not of this program or damaged, or there is no %s\n", argv[1],
            DIGITS_CPU_FEATURES);
    return 1;
  }
  memcpy(state, weights + DIGITS_STATE_AT, sizeof state);

  double loss, right;
  int64_t step = 0;
  if (evaluate(n, &loss, &right)) return 1;
  printf("at first: loss %.4f, %.4f of %zu right\n", loss, right, n);
  for (int epoch = 1; epoch <= EPOCHS; epoch++) {
    if (learn(n, &step) || evaluate(n, &loss, &right)) return 1;
    printf("epoch %d: loss %.4f, %.4f right\n", epoch, loss, right);
  }
  return 0;
}
