/* SPDX-License-Identifier: Apache-2.0
 * pool: a fixed set of threads that share out one parallel loop at a time. For the runtime and the
 * compiler. */
#ifndef WICK_POOL_H
#define WICK_POOL_H

#include "wick.h"

/* Processors that this process may use, 1 .. WICK_MAX_THREADS. */
uint32_t wick_processors(void);

typedef struct wick_pool wick_pool;

/* `threads` in 1 .. WICK_MAX_THREADS counts the caller of wick_pool_run. Thread t hands
 * scratch + t * stride to its tasks; t == 0 is the caller. */
wick_status wick_pool_create(uint32_t threads, void *scratch, size_t stride, wick_pool **out);
void wick_pool_free(wick_pool *pool); /* NULL is fine; no run may be under way */
/* Runs fn over [0, n) in pieces of `grain` (at least 1) and returns when all are done. One caller
 * at a time; fn must not call it on the same pool. */
void wick_pool_run(wick_pool *pool, wick_task_fn fn, void *ctx, int64_t n, int64_t grain);

#endif
