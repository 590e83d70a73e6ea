/* SPDX-License-Identifier: Apache-2.0
 * soak_compile MODEL.onnx...: three threads compile each model at the same time, as each row says;
 * prints how often each status came. scripts/threads has ThreadSanitizer watch it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "compiler/compile/wick_compile.h"

enum { THREADS = 3, STATUSES = WICK_COMPILE_INTERNAL + 1 };

/* Options and values; NULL: no more. */
static const char *const rows[][7] = {
    {"report", NULL}, /* which there is not */
    {"emit", "bundle", "convert", "f16"},
    {"emit", "graph", "stop-after", "order"},
    {"memory-budget", "20KiB"},
    {"target", "accel:tiny"},
    {"target", "accel:tiny", "quantize-random", "1"}};

static char **models;
static size_t n_models;
static atomic_int count[STATUSES];

static void compile(const char *model, const char *const *row) {
  wick_compiler *c = wick_compiler_new(model);
  (void)wick_compiler_set(c, "cpu", "x86-64");
  for (; *row; row += 2) (void)wick_compiler_set(c, row[0], row[1]);
  int code = wick_compiler_run(c);
  const wick_compile_message *m;
  for (size_t i = 0; (m = wick_compiler_message(c, i)); i++)
    if (m->code == WICK_COMPILE_INTERNAL) fprintf(stderr, "%s: %s\n", model, m->text);
  count[code]++;
  wick_compiler_free(c);
}

static void *compile_all(void *unused) {
  for (size_t i = 0; i < n_models; i++)
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) compile(models[i], rows[k]);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  models = argv + 1;
  n_models = (size_t)argc - 1;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, compile_all, NULL) != 0) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < STATUSES; i++)
    if (count[i]) printf("status %d: %d\n", i, count[i]);
  return count[WICK_COMPILE_INTERNAL] > 0;
}
