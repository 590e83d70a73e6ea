/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/unit.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/prelude.h"

void wk_cl_unit_begin(wk_cl_unit *u, const wk_opencl *d, wk_package *pkg) {
  *u = (wk_cl_unit){.device = d, .pkg = pkg, .arena = wk_arena_new(), .kernels = wk_map_new(),
                    .known = wk_map_new()};
  u->needs = (wick_cl_needs){.version = WICK_CL_VERSION, .type = d->info.type,
                             .base_align = (uint32_t)wk_cl_align(d), .max_group = 1,
                             .max_items = {1, 1, 1}};
  u->number = wk_package_add_unit(
      pkg, &(wk_package_unit){.target = d->base.target->name, .spec = d->base.spec});
  wk_cl_prelude(&u->source, d);
}

static void add_section(wk_cl_unit *u, const char *name, const void *data, uint64_t bytes) {
  wk_package_add_section(u->pkg, u->number, name, WICK_ALIGN,
                         wk_package_keep(u->pkg, data, bytes), bytes);
}

void wk_cl_unit_finish(wk_cl_unit *u) {
  add_section(u, "source", u->source.s, u->source.n);
  add_section(u, "needs", &u->needs, sizeof u->needs);
  add_section(u, "buffers", u->buffers.data, u->buffers.n * sizeof *u->buffers.data);
  add_section(u, "args", u->args.data, u->args.n * sizeof *u->args.data);
  add_section(u, "launches", u->launches.data, u->launches.n * sizeof *u->launches.data);
  add_section(u, "steps", u->steps.data, u->steps.n * sizeof *u->steps.data);
  wk_package_keep_arena(u->pkg, u->arena);
  wk_map_free(u->kernels);
  wk_map_free(u->known);
  wk_str_free(&u->source);
  wk_vec_free(&u->buffers);
  wk_vec_free(&u->args);
  wk_vec_free(&u->launches);
  wk_vec_free(&u->steps);
}

/* ---- arguments ------------------------------------------------------------------------------- */

uint32_t wk_cl_add_operand(wk_cl_kernel *k, const wk_program *p, const wk_view *v) {
  for (uint32_t i = 0; i < k->n_args; i++) {
    const wk_view *o = &k->args[i].view;
    if (k->args[i].p == p && o->buffer == v->buffer && o->offset == v->offset && o->step == v->step)
      return i;
  }
  k->args[k->n_args] = (wk_cl_operand){.p = p, .view = *v};
  return k->n_args++;
}

uint32_t wk_cl_add_bytes(wk_cl_kernel *k, const void *data, uint64_t bytes) {
  k->args[k->n_args] = (wk_cl_operand){.data = data, .bytes = bytes};
  return k->n_args++;
}

uint32_t wk_cl_add_parts(wk_cl_kernel *k, uint64_t bytes) {
  k->args[k->n_args] = (wk_cl_operand){.is_parts = true, .bytes = bytes};
  return k->n_args++;
}

void wk_cl_add_fault(wk_cl_kernel *k) {
  wk_str_printf(&k->body, "__global int *error = (__global int *)(g%u + o%u);\n", k->n_args,
                k->n_args);
  k->args[k->n_args++] = (wk_cl_operand){.is_fault = true};
}

static uint32_t buffer_row(wk_cl_unit *u, wick_cl_buffer row) {
  uint32_t at;
  const char *key = wk_arena_printf(u->arena, "%u %u %llu %llu", row.place, row.index,
                                    (unsigned long long)row.offset, (unsigned long long)row.bytes);
  uint64_t allocated = row.bytes + (row.place == WICK_CL_CONST ? row.offset : 0);
  if (allocated > u->needs.largest) u->needs.largest = allocated;
  if (wk_map_get(u->known, key, &at)) return at;
  wk_map_put(u->known, key, (uint32_t)u->buffers.n);
  wk_vec_push(&u->buffers, row);
  return (uint32_t)u->buffers.n - 1;
}

static uint32_t constant_row(wk_cl_unit *u, const void *data, uint64_t bytes) {
  if (bytes == 0) return WICK_NONE;
  uint64_t at = wk_package_add_const(u->pkg, u->number, data, bytes);
  return buffer_row(u, (wick_cl_buffer){WICK_CL_CONST, 0, at, bytes});
}

/* A trial's memory: one buffer behind the other. */
static uint32_t trial_row(wk_cl_unit *u, const char *key, uint64_t bytes) {
  uint32_t at;
  if (bytes == 0) return WICK_NONE;
  if (wk_map_get(u->known, key, &at)) return at;
  uint64_t offset = u->needs.arena_bytes, align = u->needs.base_align;
  u->needs.arena_bytes += wk_ceil_div(bytes, align) * align;
  at = buffer_row(u, (wick_cl_buffer){WICK_CL_ARENA, 0, offset, bytes});
  wk_map_put(u->known, key, at);
  return at;
}

/* All launches have the same: they come one after the other. */
static uint32_t parts_row(wk_cl_unit *u, uint64_t bytes) {
  if (u->is_trial)
    return trial_row(u, wk_arena_printf(u->arena, "parts %llu", (unsigned long long)bytes), bytes);
  uint64_t end = u->parts_at + bytes;
  if (end > u->needs.arena_bytes) u->needs.arena_bytes = end;
  return buffer_row(u, (wick_cl_buffer){WICK_CL_ARENA, 0, u->parts_at, bytes});
}

static uint32_t operand_row(wk_cl_unit *u, const wk_program *p, uint32_t buffer) {
  const wk_buffer *b = &p->buffers.data[buffer];
  uint64_t bytes = (uint64_t)b->size;
  if (u->is_trial && b->region != WK_REGION_CONST)
    return trial_row(u, wk_arena_printf(u->arena, "buffer %u", buffer), bytes);
  switch (b->region) {
    case WK_REGION_CONST: return constant_row(u, b->data, bytes);
    case WK_REGION_INPUT: return buffer_row(u, (wick_cl_buffer){WICK_CL_INPUT, b->io, 0, bytes});
    case WK_REGION_OUTPUT: return buffer_row(u, (wick_cl_buffer){WICK_CL_OUTPUT, b->io, 0, bytes});
    default:
      if (bytes == 0) return WICK_NONE;
      return buffer_row(u, (wick_cl_buffer){WICK_CL_ARENA, 0, (uint64_t)b->offset, bytes});
  }
}

static void push_arg(wk_cl_unit *u, const wk_cl_operand *o) {
  wick_cl_arg arg = {.buffer = WICK_NONE};
  if (o->is_fault)
    arg.buffer = buffer_row(u, (wick_cl_buffer){WICK_CL_FAULT, 0, 0, WICK_CL_FAULT_BYTES});
  else if (o->is_parts) arg.buffer = parts_row(u, o->bytes);
  else if (!o->p) arg.buffer = constant_row(u, o->data, o->bytes);
  else if (o->view.buffer != WK_NONE)
    arg = (wick_cl_arg){operand_row(u, o->p, o->view.buffer), 0, o->view.offset, o->view.step};
  wk_vec_push(&u->args, arg);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Everything that is compiled but the name. */
static char *kernel_text(const wk_cl_kernel *k) {
  wk_str b = {0};
  wk_str_add(&b, "(");
  for (uint32_t i = 0; i < k->n_args; i++)
    wk_str_printf(&b, "%s__global char *g%u", i ? ", " : "", i);
  for (uint32_t i = 0; i < k->n_args; i++) wk_str_printf(&b, ", const long o%u", i);
  wk_str_add(&b, ") {\n");
  wk_str_add(&b, k->body.s ? k->body.s : "");
  wk_str_add(&b, "}\n");
  return b.s;
}

/* A name that does not end the comment. */
static const char *comment_of(wk_cl_unit *u, const char *name) {
  char *text = wk_arena_strdup(u->arena, name ? name : "");
  for (char *c = text; *c; c++)
    if (*c == '\n' || *c == '\\' || (*c == '*' && c[1] == '/')) *c = ' ';
  return text;
}

/* Lines with two blanks for each brace that is open. */
static void add_indented(wk_str *b, const char *text) {
  int depth = 0;
  while (*text) {
    size_t n = strcspn(text, "\n");
    int opens = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
      opens += (text[i] == '{') - (text[i] == '}');
      if (opens < before) before = opens;
    }
    wk_str_printf(b, "%*s%.*s\n", 2 * (depth + before), "", (int)n, text);
    depth += opens;
    text += n + (text[n] == '\n');
  }
}

static uint32_t add_kernel(wk_cl_unit *u, const wk_cl_kernel *k) {
  char head[128];
  char *text = kernel_text(k);
  uint32_t number;
  snprintf(head, sizeof head, "__kernel __attribute__((reqd_work_group_size(%u, %u, %u)))\nvoid ",
           k->local[0], k->local[1], k->local[2]);
  char *key = wk_arena_printf(u->arena, "%s%s", head, text);
  if (!wk_map_get(u->kernels, key, &number)) {
    number = u->needs.kernel_count++;
    wk_map_put(u->kernels, key, number);
    if (strstr(text, "wk_f64")) u->needs.flags |= WICK_CL_NEEDS_F64;
    if (strstr(text, "wk_matrix_")) u->needs.flags |= WICK_CL_NEEDS_MATRIX;
    wk_str_printf(&u->source, "\n/* %s: %s */\n%sk%u", k->what, comment_of(u, k->node), head,
                  number);
    add_indented(&u->source, text);
  }
  free(text);
  return number;
}

static void note_needs(wick_cl_needs *n, const wk_cl_kernel *k) {
  uint32_t group = 1;
  for (int d = 0; d < 3; d++) {
    group *= k->local[d];
    if (k->local[d] > n->max_items[d]) n->max_items[d] = k->local[d];
  }
  if (group > n->max_group) n->max_group = group;
  if (k->local_bytes > n->local_bytes) n->local_bytes = k->local_bytes;
}

void wk_cl_add_launch(wk_cl_unit *u, wk_cl_kernel *k) {
  wick_cl_launch l = {.kind = WICK_CL_RUN, .first_arg = (uint32_t)u->args.n,
                      .arg_count = k->n_args};
  for (int d = 0; d < 3; d++) {
    if (k->local[d] == 0) k->local[d] = 1;
    if (k->global[d] == 0) k->global[d] = 1;
    l.local[d] = k->local[d];
    l.global[d] = wk_ceil_div(k->global[d], k->local[d]) * k->local[d];
  }
  l.kernel = add_kernel(u, k);
  for (uint32_t i = 0; i < k->n_args; i++) push_arg(u, &k->args[i]);
  note_needs(&u->needs, k);
  wk_vec_push(&u->launches, l);
  wk_str_free(&k->body);
}

wick_cl_launch *wk_cl_add_control(wk_cl_unit *u, wick_cl_kind kind, const wk_program *p,
                                  const wk_inst *i) {
  wick_cl_launch l = {.kind = kind, .first_arg = (uint32_t)u->args.n, .arg_count = i->n_operands,
                      .global = {1, 1, 1}, .local = {1, 1, 1}};
  for (uint32_t k = 0; k < i->n_operands; k++)
    push_arg(u, &(wk_cl_operand){.p = p, .view = i->operands[k]});
  wk_vec_push(&u->launches, l);
  return &u->launches.data[u->launches.n - 1];
}
