/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler/package/program.h"
#include "targets/opencl/explain.h"
#include "targets/opencl/make.h"
#include "targets/opencl/tune.h"

/* Asked in this order; the first that does makes the instruction's kernels. */
static bool (*const makers[])(const wk_cl_making *m) = {
    wk_cl_make_matmul, wk_cl_make_depthwise, wk_cl_make_conv, wk_cl_make_nest, wk_cl_make_reduce,
    wk_cl_make_find,   wk_cl_make_turn,      wk_cl_make_each};

static wk_status add_block(wk_cl_unit *u, const wk_program *p, const wk_block *b);

static wk_status add_control(wk_cl_unit *u, const wk_program *p, const wk_inst *i) {
  bool is_loop = i->op == WK_OP_LOOP;
  size_t at = u->launches.n;
  wick_cl_launch *l = wk_cl_add_control(u, is_loop ? WICK_CL_LOOP : WICK_CL_IF, p, i);
  if (is_loop) l->trip = ((const wk_attr_loop *)i->attrs)->trip;
  for (uint32_t k = 0; k < i->n_bodies; k++) {
    size_t first = u->launches.n;
    WK_TRY(add_block(u, p, &i->bodies[k]));
    uint32_t n = (uint32_t)(u->launches.n - first);
    if (k == 0) u->launches.data[at].body_count = n;
    else u->launches.data[at].else_count = n;
  }
  return NULL;
}

wk_status wk_cl_add_inst(wk_cl_unit *u, const wk_program *p, const wk_inst *i) {
  if (i->op == WK_OP_LOOP || i->op == WK_OP_IF) return add_control(u, p, i);
  wk_cl_making m = {u, u->device, p, i, wk_arena_new()};
  bool ok = false;
  size_t first = u->launches.n;
  int products = u->explained ? u->explained->products : 0;
  for (size_t k = 0; k < WK_COUNTOF(makers) && !ok; k++) ok = makers[k](&m);
  wk_arena_free(m.a);
  if (u->explained && u->explained->products == products)
    wk_cl_explain_other(u->explained, u, p, i, first);
  return ok ? NULL : wk_error_at(WK_INTERNAL, i->name, "%s: no kernel can be made of it",
                                 wk_op_get(i->op)->name);
}

static wk_status add_block(wk_cl_unit *u, const wk_program *p, const wk_block *b) {
  for (size_t k = 0; k < b->insts.n; k++) WK_TRY(wk_cl_add_inst(u, p, b->insts.data[k]));
  return NULL;
}

/* A step for each instruction. */
static wk_status add_part(wk_cl_unit *u, const wk_target_part *part, wk_arena *a, uint32_t *row) {
  const wk_program *p = part->program;
  wk_package_part out = wk_package_part_of(p, part->name, u->number, a);
  out.code = u->steps.n;
  wk_package_step *steps = wk_package_steps_of(p, a, &out.n_steps);
  out.steps = steps;
  for (size_t k = 0; k < p->body.insts.n; k++) {
    uint32_t first = (uint32_t)u->launches.n;
    WK_TRY(wk_cl_add_inst(u, p, p->body.insts.data[k]));
    steps[k].code = u->steps.n;
    wick_cl_step step = {first, (uint32_t)u->launches.n - first};
    wk_vec_push(&u->steps, step);
  }
  if (out.arena_bytes > u->needs.arena_bytes) u->needs.arena_bytes = out.arena_bytes;
  if (u->needs.arena_bytes > u->needs.largest) u->needs.largest = u->needs.arena_bytes;
  *row = wk_package_add_part(u->pkg, &out);
  return NULL;
}

/* What a package cannot do without; the runtime asks the device that it finds the same. */
static wk_status check_limits(const wk_opencl *d, const wick_cl_needs *n) {
  const struct {
    uint64_t needed, there;
    const char *what;
  } rows[] = {{n->largest, d->info.max_alloc, "bytes in one allocation"},
              {n->arena_bytes, d->info.memory, "bytes of memory"},
              {n->max_group, d->info.max_group, "work items of a group"},
              {n->local_bytes, d->info.local_memory, "bytes of local memory"}};
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].needed > rows[k].there)
      return wk_error(WK_RESOURCE, "opencl:%s: the model needs %llu %s, the device has %llu",
                      d->base.spec, (unsigned long long)rows[k].needed, rows[k].what,
                      (unsigned long long)rows[k].there);
  return NULL;
}

static wk_status write_text(const char *path, const wk_str *text) {
  wk_out *out;
  WK_TRY(wk_out_open(path, &out));
  wk_out_write(out, text->s, text->n);
  return wk_out_commit(out);
}

/* Behind the arenas of all parts. */
static uint64_t behind_arenas(const wk_cl_unit *u, const wk_target_part *parts, size_t n) {
  int64_t most = 0;
  for (size_t k = 0; k < n; k++)
    if (parts[k].program->region_size[WK_REGION_ACT] > most)
      most = parts[k].program->region_size[WK_REGION_ACT];
  return (uint64_t)wk_ceil_div(most, u->needs.base_align) * u->needs.base_align;
}

/* path: NULL, or where the kernels' text goes. */
static wk_status add_unit(const wk_opencl *d, const wk_target_part *parts, size_t n,
                          const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                          const char *path) {
  wk_cl_unit u;
  wk_arena *a = wk_arena_new();
  wk_cl_tiles *tiles = d->tune_seconds >= 0 ? wk_cl_tiles_open(d) : NULL;
  wk_status s = tiles ? wk_cl_tune(d, tiles, parts, n, o) : NULL;
  wk_cl_unit_begin(&u, d, pkg);
  u.tiles = tiles;
  u.parts_at = behind_arenas(&u, parts, n);
  wk_cl_explained explained = {.node = *d->explain ? d->explain : NULL};
  if (d->explains) u.explained = &explained;
  for (size_t k = 0; k < n && !s; k++) s = add_part(&u, &parts[k], a, &row[k]);
  if (!s) s = check_limits(d, &u.needs);
  if (!s && d->explains) s = wk_cl_explain_end(&explained, d);
  if (o->text && explained.text.s) wk_str_addn(o->text, explained.text.s, explained.text.n);
  wk_str_free(&explained.text);
  if (!s && path) s = write_text(path, &u.source);
  wk_cl_unit_finish(&u);
  wk_cl_tiles_close(tiles);
  wk_arena_free(a);
  return s;
}

wk_status wk_cl_compile(const wk_opencl *d, const wk_target_part *parts, size_t n,
                        const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                        wk_emit_result *result) {
  result->scratch_bytes = 0;
  return add_unit(d, parts, n, o, pkg, row, NULL);
}

wk_status wk_cl_emit(const wk_opencl *d, const wk_target_part *parts, size_t n,
                     const wk_emit_options *o, const char *path, wk_emit_result *result) {
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = o->model_name, .compiler = "",
                                                      .flags = ""});
  uint32_t *row = wk_xcalloc(n, sizeof *row);
  wk_status s = add_unit(d, parts, n, o, pkg, row, path);
  result->scratch_bytes = 0;
  free(row);
  wk_package_free(pkg);
  return s;
}
