/* SPDX-License-Identifier: Apache-2.0
 * Target "pixel" (machine.h). It says which operators there are, and what a row of a result needs;
 * groups, strips, what stays in the scratchpad, prefetch, places, waits and their proof, and the
 * causes of every cycle come from compiler/stream. device.c runs what it makes. */
#include <string.h>

#include "compiler/package/program.h"
#include "compiler/stream/settings.h"
#include "compiler/target/plugin.h"
#include "machine.h"

/* A part that becomes a net. */
typedef struct {
  const wk_graph *g;
  wk_package *pkg; /* NULL: constants are kept nowhere */
  uint32_t unit;
  wk_sched_net net;
  int *of_value;    /* its tensor; -1: none yet */
  wk_node_id *node; /* of each operator */
} making;

/* ---- commands -------------------------------------------------------------------------------- */

static picture picture_of(const wk_sched_place *p) {
  return (picture){.row = (int32_t)p->row, .rows = (int32_t)p->rows,
                   .channel = (int32_t)p->plane, .width = (int32_t)p->pitch / 2};
}

static wk_sched_step *move(wk_sched_building *b, const wk_sched_transfer *t) {
  const wk_sched_tensor *x = &b->net->tensors[t->tensor];
  command k = {.op = OP_MOVE, .queue = (uint16_t)t->queue, .dram = t->dram, .n0 = t->n0,
               .n1 = t->n1, .s1 = t->s1, .chunk = t->chunk, .pitch = t->pitch,
               .memory = x->home, .port = (uint32_t)x->port};
  return wk_sched_step_add(b->steps, t->queue, t->layer + 1, &k);
}

/* Rows of planes of the result, from the operands' rows: a step with what it touches. */
static wk_sched_step *add_command(wk_sched_building *b, uint32_t layer, command *k,
                                  const wk_sched_place *out, const wk_sched_place *in,
                                  int64_t p0, int64_t p1, int64_t y0, int64_t y1) {
  k->c0 = (int32_t)p0, k->c1 = (int32_t)p1, k->y0 = (int32_t)y0, k->y1 = (int32_t)y1;
  k->p[RESULT] = picture_of(out);
  for (int i = 0; i < WK_SCHED_OPERANDS; i++) k->p[FIRST + i] = picture_of(&in[i]);
  wk_sched_step *s = wk_sched_step_add(b->steps, ENGINE, layer + 1, k);
  wk_sched_touch_rows(s, out, RESULT, true, (int64_t[]){p0, p1}, (int64_t[]){y0, y1});
  return s;
}

static void compute(const wk_sched_work *w) {
  const wk_sched_op *op = &w->b->net->ops[w->op];
  command k = *(const command *)op->own;
  int64_t p0 = op->by_pieces ? (int64_t)w->piece : 0;
  int64_t p1 = op->by_pieces ? (int64_t)w->end : op->out.planes[1];
  wk_sched_step *step = add_command(w->b, op->layer, &k, &w->out, w->in, p0, p1, w->y0, w->y1);
  wk_sched_touch_operands(step, w, FIRST);
  if (w->consts >= 0)
    wk_sched_touch(step, &(wk_sched_access){.buffer = w->consts, .field = CONSTS, .n0 = 1, .n1 = 1,
                                            .run = op->const_bytes * (p1 - p0)});
}

static void carry(wk_sched_building *b, uint32_t layer, int tensor, const int64_t planes[2],
                  int64_t r0, int64_t r1, const wk_sched_place *from, const wk_sched_place *to) {
  command k = {.op = OP_COPY, .queue = ENGINE, .depth = 1, .kernel = {1, 1}};
  const wk_sched_place in[WK_SCHED_OPERANDS] = {*from};
  wk_sched_step *s = add_command(b, layer, &k, to, in, planes[0], planes[1], r0, r1);
  wk_sched_touch_rows(s, from, FIRST, false, planes, (int64_t[]){r0, r1});
}

static int64_t cycles(const wk_sched_net *s, const void *of) {
  const command *k = of;
  int64_t tiles = wk_ceil_div((int64_t)(k->y1 - k->y0) * k->p[RESULT].width, PIXELS) *
                  wk_ceil_div((int64_t)(k->c1 - k->c0), CHANNELS);
  return tiles * k->kernel[0] * k->kernel[1] * k->depth + OVERHEAD;
}

static const wk_sched_machine machine = {
    .name = "pixel", .queues = {QUEUES, (const char *const[]){"engine", "load", "store"},
                                .computes = 1 << ENGINE, .stores = 1 << STORE},
    .units = {"engine"}, .load_queue = LOAD, .const_queue = LOAD, .store_queue = STORE,
    .scratchpad = SCRATCHPAD, .most_scratchpad = SCRATCHPAD, .align = 16, .memory_align = 64,
    .bytes_num = 8, .bytes_den = 1, .most_run = 1 << 16, .most_runs = 1 << 10,
    .most_consts = 1 << 16, .most_result = 1 << 12, .pieces_together = CHANNELS,
    .most_commands = 1 << 20, .command_bytes = sizeof(command), .model = &wk_sched_rates,
    .latency = LATENCY, .write_latency = LATENCY, .cycles = cycles, .transfer = move,
    .compute = compute, .carry = carry};

/* ---- operators ------------------------------------------------------------------------------- */

static bool is_image(const wk_graph *g, wk_value_id v) {
  const wk_type *t = &wk_val(g, v)->type;
  return !wk_is_const(g, v) && t->dtype == WK_BF16 && t->rank == 4 && t->dims[0] == 1 &&
         wk_type_count(t) > 0;
}

static bool is_weight(const wk_graph *g, wk_value_id v) {
  return wk_is_const(g, v) && wk_val(g, v)->type.dtype == WK_BF16;
}

/* Why it has no command; NULL: it has. */
static const char *refusal(const wk_graph *g, const wk_node *n) {
  if (!n->n_in || !is_image(g, n->in[0])) return "images of bf16 alone, one at a time";
  switch (n->op) {
    case WK_OP_RELU: return NULL;
    case WK_OP_MAX_POOL: return n->n_out == 1 ? NULL : "maxima without positions alone";
    case WK_OP_ADD:
      return is_image(g, n->in[1]) && wk_shape_equal(&wk_val(g, n->in[0])->type,
                                                     &wk_val(g, n->in[1])->type)
                 ? NULL : "sums of two images of one size alone";
    case WK_OP_CONV:
      return is_image(g, n->out[0]) && is_weight(g, n->in[1]) &&
                     (n->n_in < 3 || is_weight(g, n->in[2])) && !WK_ATTR(n, conv)->epilogue
                 ? NULL : "convolutions by constants of bf16 alone";
    default: return "there is no command for it";
  }
}

static void add_image(making *x, wk_value_id v, wk_sched_home home, size_t port) {
  const int64_t *d = wk_val(x->g, v)->type.dims;
  const wk_sched_tensor t = {.planes = d[1], .rows = d[2], .row = d[3] * 2,
                             .bytes = d[1] * d[2] * d[3] * 2, .home = home, .port = (int)port};
  if (x->of_value[v] < 0) x->of_value[v] = wk_sched_add_tensor(&x->net, &t);
}

static wk_sched_view view_of(const making *x, wk_value_id v) {
  const int64_t *d = wk_val(x->g, v)->type.dims;
  return (wk_sched_view){.tensor = x->of_value[v], .planes = {0, d[1]}, .rows = d[2], .step = 1};
}

/* Weights and bias of one channel after the other. */
static void add_weights(making *x, const wk_node *n, wk_sched_op *op) {
  const wk_value *w = wk_val(x->g, n->in[1]);
  op->pieces = (size_t)w->type.dims[0], op->by_pieces = true, op->plane = 0;
  op->const_bytes = wk_type_bytes(&w->type) / w->type.dims[0] + 2;
  int64_t bytes = op->const_bytes * w->type.dims[0];
  const char *bias = n->n_in > 2 ? wk_val(x->g, n->in[2])->data : NULL;
  char *all = wk_arena_alloc(x->net.arena, (size_t)bytes);
  for (int64_t c = 0; c < w->type.dims[0]; c++) {
    char *to = all + c * op->const_bytes;
    memcpy(to, (const char *)w->data + c * (op->const_bytes - 2), (size_t)op->const_bytes - 2);
    if (bias) memcpy(to + op->const_bytes - 2, bias + c * 2, 2);
  }
  wk_sched_tensor t = {.bytes = bytes, .planes = 1, .rows = 1, .row = bytes};
  const void *kept = x->pkg ? wk_package_keep(x->pkg, all, (uint64_t)bytes) : NULL;
  if (kept) t.at = (int64_t)wk_package_add_const(x->pkg, x->unit, kept, (uint64_t)bytes);
  op->consts = wk_sched_add_tensor(&x->net, &t);
}

/* Both axes of a window, and what the result's rows need. */
static void put_window(command *k, wk_sched_view *in, const int64_t *kernel,
                       const wk_ints *strides, const wk_ints *pads, const wk_ints *dilations) {
  for (int i = 0; i < 2; i++) {
    k->kernel[i] = (int32_t)kernel[i];
    k->stride[i] = (int32_t)strides->v[i];
    k->pad[i] = (int32_t)pads->v[i];
    k->step[i] = dilations->n ? (int32_t)dilations->v[i] : 1;
  }
  in->has_window = true;
  in->stride = k->stride[0], in->pad = k->pad[0];
  in->span = (int64_t)(k->kernel[0] - 1) * k->step[0] + 1;
}

static void add_op(making *x, const wk_node *n) {
  wk_sched_op op = {.name = n->name, .kind = wk_op_get(n->op)->name, .out = view_of(x, n->out[0]),
                    .in = {view_of(x, n->in[0]), {.tensor = -1}}, .pieces = 1, .consts = -1,
                    .plane = -1};
  command k = {.op = OP_RELU, .queue = ENGINE, .height = (int32_t)op.in[0].rows, .depth = 1,
               .kernel = {1, 1}};
  if (n->op == WK_OP_ADD) k.op = OP_ADD, op.in[1] = view_of(x, n->in[1]);
  if (n->op == WK_OP_MAX_POOL) {
    const wk_attr_max_pool *p = n->attrs;
    k.op = OP_MAX_POOL;
    put_window(&k, &op.in[0], p->kernel.v, &p->strides, &p->pads, &p->dilations);
  } else if (n->op == WK_OP_CONV) {
    const wk_attr_conv *p = n->attrs;
    const int64_t *w = wk_val(x->g, n->in[1])->type.dims;
    k.op = OP_CONV, k.depth = (int32_t)w[1], k.group = (int32_t)(w[0] / p->group);
    put_window(&k, &op.in[0], w + 2, &p->strides, &p->pads, &p->dilations);
    add_weights(x, n, &op);
  }
  op.own = wk_arena_memdup(x->net.arena, &k, sizeof k);
  wk_sched_add_op(&x->net, &op);
}

static void make_net(making *x, wk_arena *a) {
  const wk_graph *g = x->g;
  x->net = (wk_sched_net){.machine = &machine, .arena = a};
  x->of_value = wk_arena_alloc(a, g->values.n * sizeof *x->of_value);
  x->node = wk_arena_alloc(a, g->nodes.n * sizeof *x->node);
  for (size_t v = 0; v < g->values.n; v++) x->of_value[v] = -1;
  for (size_t i = 0; i < g->inputs.n; i++) add_image(x, g->inputs.data[i], WK_SCHED_IO, i);
  for (size_t i = 0; i < g->outputs.n; i++)
    add_image(x, g->outputs.data[i], WK_SCHED_IO, g->inputs.n + i);
  for (size_t i = 0; i < g->nodes.n; i++) {
    if (g->nodes.data[i].dead) continue;
    x->node[x->net.n_ops] = (wk_node_id)i;
    add_image(x, g->nodes.data[i].out[0], WK_SCHED_WORK, 0);
    add_op(x, &g->nodes.data[i]);
  }
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Commands with their addresses and waits, in the order of the schedule, as a section. */
static wk_status compile_part(const wk_instance *t, const wk_emit_options *o, const char *name,
                              making *x, wk_arena *a, wk_emit_result *result) {
  wk_sched_made m;
  wk_str out = {0};
  make_net(x, a);
  wk_status status = wk_sched_make(&x->net, wk_sched_options_of(t), a, &m);
  if (!status) status = wk_sched_prove_made(&x->net, &m);
  if (!status) wk_sched_tell(t, o, name, &x->net, &m);
  for (size_t i = 0; i < m.steps.list.n && !status; i++) {
    uint32_t number = m.schedule.order[i];
    const wk_sched_step *s = &m.steps.list.data[number];
    command k = *(const command *)wk_sched_command(&m.steps, number);
    memcpy(k.wait, m.schedule.waits[number], sizeof k.wait);
    for (int j = 0; j < s->n_access; j++)
      k.p[s->access[j].field].at =
          (uint32_t)(m.steps.buffers.data[s->access[j].buffer].at + s->access[j].at);
    if (s->tensor >= 0) k.dram += x->net.tensors[s->tensor].at;
    k.work = (uint64_t)m.schedule.work_bytes, k.layer = s->layer;
    wk_str_addn(&out, (const char *)&k, sizeof k);
  }
  wk_package_add_section(x->pkg, x->unit, "commands", WICK_ALIGN,
                         wk_package_keep(x->pkg, out.s, out.n), out.n);
  result->predicted_cycles += m.schedule.times.cycles;
  return wk_sched_made_free(&m), wk_str_free(&out), status;
}

static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  uint32_t unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = t->target->name});
  wk_arena *a = wk_arena_new();
  wk_status s = NULL;
  for (size_t i = 0; i < n && !s; i++) {
    making x = {.g = parts[i].graph, .pkg = pkg, .unit = unit};
    wk_package_part part = wk_package_part_of(parts[i].program, parts[i].name, unit, a);
    part.code = i;
    s = wk_status_place(compile_part(t, o, parts[i].name, &x, a, result), parts[i].name);
    row[i] = wk_package_add_part(pkg, &part);
  }
  return wk_arena_free(a), s;
}

static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  return !(*reason = refusal(g, n));
}

static bool claims(const wk_instance *t, const wk_graph *g, const wk_node *n) {
  return !refusal(g, n);
}

static bool fuses(const wk_instance *t, const wk_graph *g, const wk_node *n) { return false; }

/* What has no room goes to somebody else. */
static bool admits(const wk_instance *t, const wk_graph *part, wk_arena *a, wk_node_id *node,
                   const char **reason) {
  making x = {.g = part};
  make_net(&x, a);
  int op = wk_sched_misfit(&x.net, wk_sched_options_of(t), a, reason);
  if (op >= 0) *node = x.node[op];
  return op < 0;
}

static wk_status open_machine(const char *spec, wk_instance **out);
static const wk_target_setting settings[] = {WK_SCHED_SETTINGS, {0}};

static const wk_target target = {
    .name = "pixel", .doc = "bf16 images, row by row", .settings = settings, .takes_graph = true,
    .open = open_machine, .close = wk_sched_close, .claims = claims, .fuses = fuses,
    .supports = supports, .admits = admits, .compile = compile};

static wk_status open_machine(const char *spec, wk_instance **out) {
  return wk_sched_open(&target, out);
}

WK_TARGET_PLUGIN(target)
