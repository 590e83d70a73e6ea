/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/tune.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/package/program.h"
#include "targets/opencl/make.h"

enum { ROUNDS = 7 }; /* of which the best counts */

/* A product that is to be measured. */
typedef struct {
  const wk_program *p;
  const wk_inst *inst;
  int64_t macs; /* of all instructions that are it */
  wk_cl_asked asked;
} candidate;

typedef WK_VEC(candidate) candidates;

/* ---- what there is to measure ---------------------------------------------------------------- */

static wk_package *new_package(void) {
  return wk_package_new(&(wk_package_meta){.model = "tune", .compiler = "", .flags = ""});
}

/* What the makers ask of a tile for the instruction; key "": nothing. */
static wk_status ask(const wk_opencl *d, const wk_program *p, const wk_inst *i, wk_cl_asked *out) {
  wk_package *pkg = new_package();
  wk_cl_unit u;
  wk_cl_unit_begin(&u, d, pkg);
  u.is_trial = true;
  wk_status s = wk_cl_add_inst(&u, p, i);
  *out = u.asked;
  wk_cl_unit_finish(&u);
  wk_package_free(pkg);
  return s;
}

static wk_status add_candidate(candidates *all, const wk_opencl *d, const wk_cl_tiles *t,
                               const wk_program *p, const wk_inst *i) {
  candidate c = {.p = p, .inst = i, .macs = wk_inst_macs(i)};
  wk_cl_tile_size known;
  if (i->op != WK_OP_MATMUL && i->op != WK_OP_CONV) return NULL;
  WK_TRY(ask(d, p, i, &c.asked));
  if (!*c.asked.key || c.asked.n < 2 || wk_cl_tiles_get(t, c.asked.key, &known)) return NULL;
  for (size_t k = 0; k < all->n; k++)
    if (!strcmp(all->data[k].asked.key, c.asked.key)) {
      all->data[k].macs += c.macs;
      return NULL;
    }
  wk_vec_push(all, c);
  return NULL;
}

static int by_macs(const void *a, const void *b) {
  int64_t x = ((const candidate *)a)->macs, y = ((const candidate *)b)->macs;
  return x < y ? 1 : x > y ? -1 : strcmp(((const candidate *)a)->asked.key,
                                         ((const candidate *)b)->asked.key);
}

static wk_status collect(candidates *all, const wk_opencl *d, const wk_cl_tiles *t,
                         const wk_target_part *parts, size_t n) {
  wk_arena *a = wk_arena_new();
  wk_status s = NULL;
  for (size_t k = 0; k < n && !s; k++) {
    wk_inst_pos *flat;
    size_t count = wk_program_flatten(parts[k].program, a, &flat);
    for (size_t i = 0; i < count && !s; i++)
      s = add_candidate(all, d, t, parts[k].program, flat[i].inst);
  }
  wk_arena_free(a);
  if (all->n) qsort(all->data, all->n, sizeof *all->data, by_macs);
  return s;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* A package whose entries are the product with one size each; free() its bytes. */
static wk_status build(const wk_opencl *d, const candidate *c, void **data, size_t *size) {
  wk_package *pkg = new_package();
  wk_cl_unit u;
  wk_status s = NULL;
  wk_cl_unit_begin(&u, d, pkg);
  u.is_trial = true;
  for (int k = 0; k < c->asked.n && !s; k++) {
    char name[16];
    wk_package_step step = {.node = "", .op = "", .text = "", .code = u.steps.n};
    wk_package_part part = {.name = name, .unit = u.number, .steps = &step, .n_steps = 1,
                            .code = u.steps.n};
    snprintf(name, sizeof name, "tile%d", k);
    u.forced = c->asked.sizes[k];
    uint32_t first = (uint32_t)u.launches.n;
    s = wk_cl_add_inst(&u, c->p, c->inst);
    wk_vec_push(&u.steps, ((wick_cl_step){first, (uint32_t)u.launches.n - first}));
    part.arena_bytes = u.needs.arena_bytes;
    part.arena_align = d->info.base_align;
    wk_package_add_whole(pkg, name, wk_package_add_part(pkg, &part));
  }
  wk_cl_unit_finish(&u);
  if (!s) s = wk_package_bytes(pkg, data, size);
  wk_package_free(pkg);
  return s;
}

static wk_status failed(const char *what, wick_status status, const wick_error_detail *detail) {
  return wk_error(WK_FAILED, "tuning: %s: %s", what,
                  *detail->text ? detail->text : wick_status_text(status));
}

/* Microseconds of the fastest run of each, in one round at least. */
static wk_status time_sessions(wick_session **sessions, int n, double until, double *best) {
  for (int round = 0; round <= ROUNDS && (round < 2 || wk_clock() < until); round++)
    for (int k = 0; k < n; k++) {
      double start = wk_clock();
      wick_status status = wick_session_run(sessions[k], NULL, NULL);
      double took = (wk_clock() - start) * 1e6;
      if (status != WICK_OK)
        return wk_error(WK_FAILED, "tuning: %s", wick_session_error(sessions[k]));
      if (round == 1 || (round > 1 && took < best[k])) best[k] = took;
    }
  return NULL;
}

static wk_status measure(const wk_opencl *d, const candidate *c, double until, double *best) {
  void *data = NULL;
  size_t size;
  wick_error_detail detail = {{0}};
  const wick_load_options load = {.size = sizeof load, .detail = &detail};
  const wick_session_options options = {.size = sizeof options, .threads = 1, .detail = &detail};
  wick_session *sessions[WK_CL_MAX_SIZES] = {0};
  wick_model *model = NULL;
  WK_TRY(build(d, c, &data, &size));
  wick_status status = wick_model_load_memory(data, size, &load, &model);
  for (int k = 0; k < c->asked.n && status == WICK_OK; k++)
    status = wick_session_create_with(model, (uint32_t)k, &options, &sessions[k]);
  wk_status s = status == WICK_OK ? time_sessions(sessions, c->asked.n, until, best)
                                  : failed(c->asked.key, status, &detail);
  for (int k = 0; k < c->asked.n; k++) wick_session_free(sessions[k]);
  wick_model_free(model);
  free(data);
  return s;
}

int wk_cl_least(const double *of, int n) {
  int at = 0;
  for (int k = 1; k < n; k++)
    if (of[k] < of[at]) at = k;
  return at;
}

/* ---- all of it ------------------------------------------------------------------------------- */

wk_status wk_cl_tune(const wk_opencl *d, wk_cl_tiles *t, const wk_target_part *parts, size_t n,
                     const wk_emit_options *o) {
  candidates all = {0};
  double start = wk_clock();
  wk_status s = collect(&all, d, t, parts, n);
  for (size_t i = 0; i < all.n && !s && wk_clock() - start < d->tune_seconds; i++) {
    const candidate *c = &all.data[i];
    double best[WK_CL_MAX_SIZES];
    char text[96];
    snprintf(text, sizeof text, "tuning: product %zu of %zu, %.0f of %.0f s", i + 1, all.n,
             wk_clock() - start, d->tune_seconds);
    if (o->progress) o->progress(text);
    wk_status failure = measure(d, c, start + d->tune_seconds, best);
    if (!failure) {
      int fastest = wk_cl_least(best, c->asked.n);
      wk_cl_tiles_put(t, c->asked.key, c->asked.sizes[fastest], best[fastest]);
    }
    wk_status_free(failure); /* all sizes at once may be too much for the device */
  }
  wk_vec_free(&all);
  return s;
}
