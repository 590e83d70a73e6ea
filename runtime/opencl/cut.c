/* SPDX-License-Identifier: Apache-2.0
 * Compilers of GPUs' drivers work on several programs at the same time: the source becomes pieces
 * of a few kernels each, behind what all of them need. The same source is cut into the same pieces
 * on every machine, so that files of the cache are found again. Processors get one piece: PoCL
 * compiles one program of a context after the other. Other devices get one for each kernel, built
 * one after the other: Oclgrind counts local memory of a whole program for each of its kernels, and
 * does not survive two builds at a time. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

enum { LEAST_KERNELS = 4, GPU_PIECES = 16 }; /* of a piece, but for the last one; of a GPU's */

/* 1: the source stays whole. */
static uint32_t most_pieces(const wick_cl_unit *u) {
  uint32_t kernels = u->plan.needs.kernel_count;
  bool is_gpu = u->device.info->type == WICK_OPENCL_GPU;
  if (u->device.info->type == WICK_OPENCL_CPU) return 1;
  uint32_t most = is_gpu ? GPU_PIECES : WICK_CL_PIECES;
  uint32_t wanted = is_gpu ? kernels / LEAST_KERNELS : kernels;
  return wanted < most ? wanted : most;
}

/* ---- where kernels begin --------------------------------------------------------------------- */

typedef struct {
  const char *at, *end; /* what is left */
  uint32_t line;        /* of at, from 1 */
} place;

static bool begins(const place *p, const char *word) {
  size_t n = strlen(word);
  return (size_t)(p->end - p->at) >= n && memcmp(p->at, word, n) == 0;
}

static void next_line(place *p) {
  const char *stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
  p->at = stop ? stop + 1 : p->end;
  p->line++;
}

/* The next kernel, with the line of comment in front of it; false: there is none. *p is behind its
 * first line then. */
static bool next_kernel(place *p, place *kernel) {
  place before = *p;
  for (; p->at < p->end; next_line(p)) {
    if (!begins(p, "__kernel")) {
      before = *p;
      continue;
    }
    bool has_comment = begins(&before, "/*") || begins(&before, "//");
    *kernel = has_comment ? before : *p;
    next_line(p);
    return true;
  }
  return false;
}

/* Whether " k<number>(" comes before the next kernel. */
static bool has_name(const place *kernel, const char *end, uint32_t number) {
  char name[16];
  int n = snprintf(name, sizeof name, " k%u(", number);
  return memmem(kernel->at, (size_t)(end - kernel->at), name, (size_t)n) != NULL;
}

/* The starts of pieces of `each` kernels; false: kernels are not all there, one behind the other in
 * the order of their numbers. */
static bool find_starts(const wick_cl_plan *p, uint32_t each, place *starts) {
  const char *end = p->source + p->source_size;
  place at = {p->source, end, 1}, kernel, next;
  bool is_there = next_kernel(&at, &kernel);
  for (uint32_t k = 0; k < p->needs.kernel_count; k++, kernel = next) {
    if (!is_there) return false;
    is_there = next_kernel(&at, &next);
    if (!has_name(&kernel, is_there ? next.at : end, k)) return false;
    if (k % each == 0) starts[k / each] = kernel;
  }
  return !is_there;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void make_piece(const wick_cl_plan *p, const place *start, const char *end,
                       const char *common_end, wick_cl_piece *out) {
  const char *texts[] = {p->source, out->line, start->at};
  snprintf(out->line, sizeof out->line, "#line %u\n", start->line);
  const size_t sizes[] = {(size_t)(common_end - p->source), strlen(out->line),
                          (size_t)(end - start->at)};
  out->text_count = 0;
  for (int i = 0; i < 3; i++) {
    if (sizes[i] == 0) continue; /* it would be as long as it is without a size */
    out->texts[out->text_count] = texts[i];
    out->sizes[out->text_count++] = sizes[i];
  }
}

void wick_cl_cut(wick_cl_unit *u) {
  const wick_cl_plan *p = &u->plan;
  uint32_t kernels = p->needs.kernel_count, most = most_pieces(u);
  place starts[WICK_CL_PIECES];
  u->piece_count = 1;
  u->builds_at_once = u->device.info->type == WICK_OPENCL_GPU;
  u->piece_kernels = kernels;
  u->pieces[0].text_count = 1;
  u->pieces[0].texts[0] = p->source;
  u->pieces[0].sizes[0] = p->source_size;
  if (most < 2) return;
  uint32_t each = (kernels + most - 1) / most, n = (kernels + each - 1) / each;
  if (!find_starts(p, each, starts)) return;
  for (uint32_t i = 0; i < n; i++)
    make_piece(p, &starts[i], i + 1 < n ? starts[i + 1].at : p->source + p->source_size,
               starts[0].at, &u->pieces[i]);
  u->piece_count = n;
  u->piece_kernels = each;
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct {
  wick_cl_unit *u;
  wick_cl_piece_work work;
  atomic_uint next;
} all_pieces;

static void *work_on(void *user) {
  all_pieces *all = user;
  uint32_t i;
  while ((i = atomic_fetch_add(&all->next, 1)) < all->u->piece_count)
    all->work(all->u, &all->u->pieces[i]);
  return NULL;
}

/* Without signals, which are the program's threads'. */
static bool start(pthread_t *thread, all_pieces *all) {
  sigset_t none, before;
  sigfillset(&none);
  if (pthread_sigmask(SIG_SETMASK, &none, &before) != 0) return false;
  bool ok = pthread_create(thread, NULL, work_on, all) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

void wick_cl_for_pieces(wick_cl_unit *u, wick_cl_piece_work work) {
  pthread_t threads[WICK_CL_PIECES];
  all_pieces all = {.u = u, .work = work};
  uint32_t n = 0, wanted = u->builds_at_once ? wick_processors() : 1;
  if (wanted > u->piece_count) wanted = u->piece_count;
  while (n + 1 < wanted && start(&threads[n], &all)) n++;
  work_on(&all);
  for (uint32_t i = 0; i < n; i++) pthread_join(threads[i], NULL);
}
