/* SPDX-License-Identifier: Apache-2.0
 * Target "pixel" (machine.h). It says which operators there are, and what a row of a result needs;
 * groups, strips, what stays in the scratchpad, prefetch, places, waits and their proof, and the
 * causes of every cycle come from compiler/stream. device.c runs what it makes. */
#include <stdlib.h>
#include <string.h>

#include "compiler/package/program.h"
#include "compiler/stream/search.h"
#include "compiler/target/plugin.h"
#include "machine.h"

typedef struct { wk_instance base; wk_sched_options options; } pixel;

/* A part: for each of the scheduler's operators a command, for each of its tensors a port. */
typedef struct {
  const wk_graph *g;
  wk_arena *a;
  wk_package *pkg; /* NULL: nothing is kept of it */
  uint32_t unit;
  wk_sched_net sched;
  WK_VEC(wk_sched_tensor) tensors;
  WK_VEC(int) ports;
  WK_VEC(wk_sched_op) ops;
  WK_VEC(command) commands;
  WK_VEC(const char *) layers;
  int *of_value; /* its tensor */
} net;

/* ---- operators ------------------------------------------------------------------------------- */

static bool is_image(const wk_graph *g, wk_value_id v) {
  const wk_type *t = &wk_val(g, v)->type;
  return !wk_is_const(g, v) && t->dtype == WK_BF16 && t->rank == 4 && t->dims[0] == 1;
}

static bool is_pair(const wk_ints *x) { return x->n == 2; }

/* Why it has no command; NULL: it has. */
static const char *refusal(const wk_graph *g, const wk_node *n) {
  const wk_attr_conv *conv = n->attrs;
  const wk_attr_max_pool *pool = n->attrs;
  bool is_conv = n->op == WK_OP_CONV;
  for (uint32_t i = 0; i < (is_conv ? 1 : n->n_in); i++)
    if (!is_image(g, n->in[i])) return "images of bf16 alone, one at a time";
  if (!is_image(g, n->out[0])) return "its result is no image";
  switch (n->op) {
    case WK_OP_RELU: return NULL;
    case WK_OP_ADD:
      for (int i = 0; i < 4; i++)
        if (wk_val(g, n->in[0])->type.dims[i] != wk_val(g, n->in[1])->type.dims[i])
          return "images of different sizes";
      return NULL;
    case WK_OP_CONCAT: return WK_ATTR(n, concat)->axis == 1 ? NULL : "channels alone are joined";
    case WK_OP_REDUCE_MEAN: {
      const wk_ints *x = &WK_ATTR(n, reduce_mean)->axes;
      return is_pair(x) && x->v[0] == 2 && x->v[1] == 3 ? NULL : "means of whole channels alone";
    }
    case WK_OP_MAX_POOL:
      return n->n_out == 1 && is_pair(&pool->kernel) ? NULL : "maxima without positions alone";
    case WK_OP_CONV:
      return conv->epilogue || !is_pair(&conv->strides) || !wk_is_const(g, n->in[1]) ||
                     (n->n_in > 2 && n->in[2] != WK_NONE && !wk_is_const(g, n->in[2]))
                 ? "convolutions of 2 axes by constants alone" : NULL;
    default: return "there is no command for it";
  }
}

static int add_tensor(net *x, const wk_sched_tensor *t, int port) {
  wk_vec_push(&x->tensors, *t);
  wk_vec_push(&x->ports, port);
  return (int)x->tensors.n - 1;
}

static void add_image(net *x, wk_value_id v, int port) {
  const int64_t *d = wk_val(x->g, v)->type.dims;
  wk_sched_tensor t = {.planes = d[1], .rows = d[2], .row = d[3] * 2,
                       .bytes = d[1] * d[2] * d[3] * 2,
                       .home = port < 0 ? WK_SCHED_WORK : WK_SCHED_IO};
  if (x->of_value[v] < 0) x->of_value[v] = add_tensor(x, &t, port);
}

static wk_sched_view view_of(const net *x, wk_value_id v) {
  const int64_t *d = wk_val(x->g, v)->type.dims;
  return (wk_sched_view){.tensor = x->of_value[v], .planes = {0, d[1]}, .rows = d[2], .step = 1};
}

/* Weights and bias of one channel after the other. */
static void add_weights(net *x, const wk_node *n, wk_sched_op *op) {
  const wk_value *w = wk_val(x->g, n->in[1]);
  size_t channels = (size_t)w->type.dims[0], bytes = (size_t)wk_type_bytes(&w->type) / channels;
  uint8_t *all = wk_arena_alloc(x->a, channels * (bytes + 2));
  bool has_bias = n->n_in > 2 && n->in[2] != WK_NONE;
  const uint8_t *from = w->data, *bias = has_bias ? wk_val(x->g, n->in[2])->data : NULL;
  for (size_t c = 0; c < channels; c++) {
    memcpy(all + c * (bytes + 2), from + c * bytes, bytes);
    if (bias) memcpy(all + c * (bytes + 2) + bytes, bias + c * 2, 2);
  }
  int64_t total = (int64_t)(channels * (bytes + 2));
  wk_sched_tensor t = {.bytes = total, .planes = 1, .rows = 1, .row = total,
                       .home = WK_SCHED_CONST};
  if (x->pkg)
    t.at = (int64_t)wk_package_add_const(x->pkg, x->unit,
                                         wk_package_keep(x->pkg, all, (uint64_t)total),
                                         (uint64_t)total);
  op->consts = add_tensor(x, &t, -1);
  op->const_bytes = (int64_t)bytes + 2;
  op->pieces = channels;
  op->by_pieces = true;
  op->plane = 0;
}

/* Both axes of a window, and what the result's rows need. */
static void put_window(command *k, wk_sched_view *in, const wk_ints *kernel, const wk_ints *strides,
                       const wk_ints *pads, const wk_ints *dilations) {
  for (int i = 0; i < 2; i++) {
    k->kernel[i] = (int32_t)kernel->v[i];
    k->stride[i] = (int32_t)strides->v[i];
    k->pad[i] = (int32_t)pads->v[i];
    k->step[i] = dilations->n ? (int32_t)dilations->v[i] : 1;
  }
  in->has_window = true;
  in->stride = k->stride[0], in->pad = k->pad[0];
  in->span = (int64_t)(k->kernel[0] - 1) * k->step[0] + 1;
}

static void add_op(net *x, const wk_node *n, uint16_t opcode, uint32_t operand) {
  const wk_type *from = &wk_val(x->g, n->in[operand])->type;
  wk_sched_op op = {.name = n->name, .kind = wk_op_info(n->op)->name, .layer = (uint32_t)x->layers.n - 1,
                    .out = view_of(x, n->out[0]), .in = {view_of(x, n->in[operand]), {.tensor = -1}},
                    .pieces = 1, .consts = -1, .plane = -1};
  command k = {.op = opcode, .queue = ENGINE, .height = (int32_t)from->dims[2], .depth = 1,
               .group = 1, .kernel = {1, 1}, .stride = {1, 1}, .step = {1, 1}};
  if (opcode == OP_ADD) op.in[1] = view_of(x, n->in[1]);
  if (opcode == OP_MEAN) {
    k.kernel[0] = (int32_t)from->dims[2], k.kernel[1] = (int32_t)from->dims[3];
    op.in[0].is_whole = true;
  } else if (opcode == OP_MAX_POOL) {
    const wk_attr_max_pool *p = n->attrs;
    put_window(&k, &op.in[0], &p->kernel, &p->strides, &p->pads, &p->dilations);
  } else if (opcode == OP_CONV) {
    const wk_attr_conv *p = n->attrs;
    const int64_t *w = wk_val(x->g, n->in[1])->type.dims;
    put_window(&k, &op.in[0], &(wk_ints){2, w + 2}, &p->strides, &p->pads, &p->dilations);
    k.depth = (int32_t)w[1], k.group = (int32_t)(w[0] / p->group);
    add_weights(x, n, &op);
  } else if (opcode == OP_COPY) { /* of concat: behind what was joined before */
    for (uint32_t i = 0; i < operand; i++)
      k.shift += (int32_t)wk_val(x->g, n->in[i])->type.dims[1];
    op.out.planes[0] = k.shift, op.out.planes[1] = k.shift + from->dims[1];
  }
  wk_vec_push(&x->ops, op);
  wk_vec_push(&x->commands, k);
}

static void add_node(net *x, const wk_node *n) {
  static const struct { wk_op op; uint16_t opcode; } all[] = {
      {WK_OP_CONV, OP_CONV}, {WK_OP_MAX_POOL, OP_MAX_POOL}, {WK_OP_REDUCE_MEAN, OP_MEAN},
      {WK_OP_RELU, OP_RELU}, {WK_OP_ADD, OP_ADD}, {WK_OP_CONCAT, OP_COPY}};
  size_t i = 0;
  while (all[i].op != n->op) i++;
  wk_vec_push(&x->layers, n->name);
  add_image(x, n->out[0], -1);
  for (uint32_t k = 0; k < (n->op == WK_OP_CONCAT ? n->n_in : 1); k++)
    add_op(x, n, all[i].opcode, k);
}

/* ---- commands -------------------------------------------------------------------------------- */

static picture picture_of(const wk_sched_place *p) {
  return (picture){.row = (int32_t)p->row, .rows = (int32_t)p->rows,
                   .channel = (int32_t)p->plane, .width = (int32_t)p->pitch / 2};
}

static wk_sched_step *move(wk_sched_building *b, const wk_sched_transfer *t) {
  const net *x = b->net->context;
  wk_sched_home home = b->net->tensors[t->tensor].home;
  command k = {.op = OP_MOVE, .queue = (uint16_t)t->queue, .dram = t->dram, .n0 = t->n0,
               .n1 = t->n1, .s1 = t->s1, .chunk = t->chunk, .pitch = t->pitch,
               .memory = home == WK_SCHED_IO ? IN_PORTS : home == WK_SCHED_WORK ? IN_WORK : IN_CONSTS,
               .port = (uint32_t)x->ports.data[t->tensor]};
  return wk_sched_step_add(b->steps, t->queue, t->layer + 1, &k);
}

static void compute(const wk_sched_work *w) {
  const wk_sched_net *s = w->b->net;
  const wk_sched_op *op = &s->ops[w->op];
  command k = ((const net *)s->context)->commands.data[w->op];
  k.y0 = (int32_t)w->y0, k.y1 = (int32_t)w->y1;
  k.c0 = op->by_pieces ? (int32_t)w->piece : (int32_t)op->out.planes[0];
  k.c1 = op->by_pieces ? (int32_t)w->end : (int32_t)op->out.planes[1];
  k.p[RESULT] = picture_of(&w->out);
  for (int i = 0; i < WK_SCHED_OPERANDS; i++) k.p[FIRST + i] = picture_of(&w->in[i]);
  wk_sched_step *step = wk_sched_step_add(w->b->steps, ENGINE, op->layer + 1, &k);
  for (int i = 0; i < WK_SCHED_OPERANDS; i++) {
    const wk_sched_view *v = &op->in[i];
    int64_t rows[2];
    if (v->tensor < 0) continue;
    wk_sched_needed_rows(&s->tensors[v->tensor], v, w->y0, w->y1, rows);
    wk_sched_access in = wk_sched_access_of(&w->in[i], FIRST + i, false, v->planes[0],
                                            v->planes[1], rows[0], rows[1]);
    wk_sched_touch(step, &in);
  }
  if (w->consts >= 0)
    wk_sched_touch(step, &(wk_sched_access){.buffer = w->consts, .field = CONSTS, .n0 = 1, .n1 = 1,
                                            .run = op->const_bytes * (k.c1 - k.c0)});
  wk_sched_access out = wk_sched_access_of(&w->out, RESULT, true, k.c0, k.c1, w->y0, w->y1);
  wk_sched_touch(step, &out);
}

static void carry(wk_sched_building *b, uint32_t layer, int tensor, const int64_t planes[2],
                  int64_t r0, int64_t r1, const wk_sched_place *from, const wk_sched_place *to) {
  command k = {.op = OP_COPY, .queue = ENGINE, .depth = 1, .kernel = {1, 1}, .y0 = (int32_t)r0,
               .y1 = (int32_t)r1, .c0 = (int32_t)planes[0], .c1 = (int32_t)planes[1],
               .p = {[RESULT] = picture_of(to), [FIRST] = picture_of(from)}};
  wk_sched_step *step = wk_sched_step_add(b->steps, ENGINE, layer + 1, &k);
  wk_sched_access in = wk_sched_access_of(from, FIRST, false, planes[0], planes[1], r0, r1);
  wk_sched_access out = wk_sched_access_of(to, RESULT, true, planes[0], planes[1], r0, r1);
  wk_sched_touch(step, &in);
  wk_sched_touch(step, &out);
}

static int64_t cycles(const wk_sched_net *s, const void *of) {
  const command *k = of;
  int64_t tiles = wk_ceil_div((int64_t)(k->y1 - k->y0) * k->p[RESULT].width, PIXELS) *
                  wk_ceil_div((int64_t)(k->c1 - k->c0), CHANNELS);
  return tiles * k->kernel[0] * k->kernel[1] * k->depth + OVERHEAD;
}

static const char *const queues[QUEUES] = {"engine", "load", "store"};
static const wk_sched_machine machine = {
    .name = "pixel", .queues = {QUEUES, queues, .computes = 1 << ENGINE, .stores = 1 << STORE},
    .units = {"engine"}, .load_queue = LOAD, .const_queue = LOAD, .store_queue = STORE,
    .scratchpad = SCRATCHPAD, .most_scratchpad = SCRATCHPAD, .align = 16, .memory_align = 64,
    .bytes_num = 8, .bytes_den = 1, .most_run = 1 << 16, .most_runs = 1 << 10,
    .most_consts = 1 << 16, .most_result = 1 << 12, .most_commands = 1 << 20,
    .command_bytes = sizeof(command), .model = &wk_sched_rates, .latency = LATENCY,
    .write_latency = LATENCY, .cycles = cycles, .transfer = move, .compute = compute,
    .carry = carry};
