/* SPDX-License-Identifier: Apache-2.0
 * What runs: Snake, y = x + sin(a x)^2 / a, for models that have been compiled with operator.c.
 * A program links this file; `wick run --plugin` loads it. */
#include <math.h>

#include "runtime/routine.h"

typedef struct {
  const float *x;
  float *y, a;
} piece;

static void snake_piece(void *ctx, int64_t begin, int64_t end, void *scratch) {
  const piece *p = ctx;
  (void)scratch;
  for (int64_t i = begin; i < end; i++) {
    float s = sinf(p->a * p->x[i]);
    p->y[i] = p->x[i] + s * s / p->a;
  }
}

/* Its name is the row's, and what the header of a bundle declares. */
int32_t com_example_snake(const wick_call *call) {
  const wick_call_tensor *x = call->inputs;
  piece p = {x->data, call->outputs[0].data, (float)call->attributes[0].values[0]};
  int64_t n = 1;
  for (uint32_t i = 0; i < x->rank; i++) n *= x->dims[i];
  if (x->dtype != WICK_F32 || p.a == 0) return 1;
  if (call->exec && call->exec->parallel_for)
    call->exec->parallel_for(call->exec, snake_piece, &p, n, 4096);
  else snake_piece(&p, 0, n, NULL);
  return 0;
}

const wick_routine *wick_routine_plugin(void) {
  static const wick_routine routines[] = {{"com_example_snake", com_example_snake}, {0}};
  return routines;
}
