/* SPDX-License-Identifier: Apache-2.0
 * Schedules for machines by chance, and nets by chance, are executed: every command may start as
 * soon as its waits let it, reads and writes when it starts or only when it retires, and those of
 * all queues are mixed by chance. What leaves must be what the net says, whatever the plan, the
 * mode and what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/stream/search.h"
#include "tests/random_sched_net.h"

enum { MEMORY = 1 << 16, MOST = 1 << 14 };

typedef struct {
  int32_t at;
  int64_t column, width, row, rows, plane, pitch;
} picture;

typedef struct {
  bool moves, stores, copies;
  int op, tensor; /* computes; moves */
  picture out, in[WK_SCHED_OPERANDS];
  int32_t consts;
  int64_t stack, y0, y1, c0, c1, piece; /* consts are those of this piece and those behind it */
  int64_t dram, n0, n1, s1, spm, chunk, pitch;
} command;
enum { OUT, IN, CONSTS = IN + WK_SCHED_OPERANDS, SPM, FIELDS };

/* ---- numbers by chance ----------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
  a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
  return a ^ a >> 29;
}

static uint64_t constant(int op, int64_t piece) { return mix((uint64_t)op + 77, (uint64_t)piece); }
static uint64_t input(int tensor, int64_t plane, int64_t row, int64_t cell) {
  return mix(mix(mix((uint64_t)tensor + 5, (uint64_t)plane), (uint64_t)row), (uint64_t)cell);
}

/* ---- the machine's functions ----------------------------------------------------------------- */

static picture picture_of(const wk_sched_place *p) {
  return (picture){.column = p->column, .width = p->width, .row = p->row, .rows = p->rows,
                   .plane = p->plane, .pitch = p->pitch};
}

static wk_sched_step *transfer(wk_sched_building *b, const wk_sched_transfer *t) {
  command c = {.moves = true, .stores = t->stores, .tensor = t->tensor, .dram = t->dram,
               .n0 = t->n0, .n1 = t->n1, .s1 = t->s1, .chunk = t->chunk, .pitch = t->pitch};
  return wk_sched_step_add(b->steps, t->queue, t->layer + 1, &c);
}

/* Planes of an operand that planes [c0, c1) of a stack of the result need. */
static void needed_planes(const wk_sched_op *op, int operand, int64_t stack, int64_t c0,
                          int64_t c1, int64_t planes[2]) {
  const int64_t one[2] = {stack, stack + 1};
  int64_t own[2];
  wk_sched_planes_of(op, &op->in[operand], one, planes);
  if (!op->rides) return;
  wk_sched_planes_of(op, &op->out, one, own);
  planes[1] = planes[0] + c1 - own[0];
  planes[0] += c0 - own[0];
}

/* Pieces [piece, end) of a stack. */
static void compute_stack(const wk_sched_work *w, int64_t stack, size_t piece, size_t end) {
  const wk_sched_net *net = w->b->net;
  const wk_sched_op *op = &net->ops[w->op];
  const int64_t one[2] = {stack, stack + 1};
  int64_t planes[2];
  command c = {.op = w->op, .out = picture_of(&w->out), .stack = stack, .y0 = w->y0, .y1 = w->y1};
  wk_sched_planes_of(op, &op->out, one, planes);
  c.piece = (int64_t)piece;
  int64_t first = op->shares_pieces ? op->out.planes[0] : planes[0];
  c.c0 = op->by_pieces || op->rides ? first + c.piece : planes[0];
  c.c1 = op->by_pieces || op->rides ? first + (int64_t)end : planes[1];
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) c.in[k] = picture_of(&w->in[k]);
  wk_sched_step *s = wk_sched_step_add(w->b->steps, engine_of(net, w->op), op->layer + 1, &c);
  int64_t rows[2];
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    const wk_sched_view *v = &op->in[k];
    if (v->tensor < 0) continue;
    needed_planes(op, k, stack, c.c0, c.c1, planes);
    wk_sched_needed_rows(&net->tensors[v->tensor], v, one, w->y0, w->y1, rows);
    wk_sched_touch_rows(s, &w->in[k], IN + k, false, planes, rows);
  }
  int64_t at = op->const_bytes * (int64_t)(piece - w->piece);
  if (w->consts >= 0)
    wk_sched_touch(s, &(wk_sched_access){.buffer = w->consts, .field = CONSTS, .n0 = 1, .n1 = 1,
                                         .at = at, .from = at,
                                         .run = op->const_bytes *
                                                (int64_t)(op->by_pieces ? end - piece : 1)});
  wk_sched_rows_of(&net->tensors[op->out.tensor], &op->out, w->y0, w->y1, rows);
  wk_sched_touch_rows(s, &w->out, OUT, true, (int64_t[]){c.c0, c.c1}, rows);
}

static void compute(const wk_sched_work *w) {
  const wk_sched_op *op = &w->b->net->ops[w->op];
  for (int64_t s = w->stacks[0]; s < w->stacks[1]; s++) {
    size_t own[2];
    wk_sched_pieces_of(op, (int64_t[]){s, s + 1}, own);
    if (own[0] < w->piece) own[0] = w->piece;
    if (own[1] > w->end) own[1] = w->end;
    if (own[0] < own[1]) compute_stack(w, s, own[0], own[1]);
  }
}

static void carry(wk_sched_building *b, uint32_t layer, int tensor, const int64_t planes[2],
                  int64_t r0, int64_t r1, const wk_sched_place *from, const wk_sched_place *to) {
  command c = {.copies = true, .tensor = tensor, .out = picture_of(to), .in = {picture_of(from)},
               .y0 = r0, .y1 = r1, .c0 = planes[0], .c1 = planes[1]};
  wk_sched_step *s = wk_sched_step_add(b->steps, 0, layer + 1, &c);
  const int64_t rows[2] = {r0, r1};
  wk_sched_touch_rows(s, from, IN, false, planes, rows);
  wk_sched_touch_rows(s, to, OUT, true, planes, rows);
}

static int64_t cycles(const wk_sched_net *net, const void *of) {
  const command *c = of;
  (void)net;
  return 3 + (c->y1 - c->y0) * (c->c1 - c->c0) * 2;
}

static void make_machine(made *x) {
  static const char *const names[] = {"a", "b", "l", "m", "s"};
  bool two = draw(x, 0, 1);
  unsigned computes = two ? 3 : 1;
  int loads = (int)draw(x, 1, 2), first = two ? 2 : 1;
  int64_t unit = (int64_t)8 << draw(x, 0, 2);
  x->machine = (wk_sched_machine){
      .name = "m", .queues = {first + loads + 1, names, computes, 1u << (first + loads),
                              (unsigned)draw(x, 0, 31) & ((2u << (first + loads)) - 1)},
      .units = {"a", "b"}, .load_queue = first, .const_queue = first + loads - 1,
      .store_queue = first + loads, .scratchpad = unit * draw(x, 20, 400),
      .most_scratchpad = 1 << 20, .align = unit, .memory_align = 8, .bytes_num = draw(x, 1, 16),
      .bytes_den = draw(x, 1, 3), .most_runs = draw(x, 1, 9),
      .most_run = draw(x, 0, 3) ? draw(x, 64, 2000) : draw(x, 5, 30),
      .most_consts = draw(x, 8, 100), .most_result = draw(x, 1, 500),
      .pieces_together = (int)draw(x, 0, 3), .most_commands = 1 << 20,
      .command_bytes = sizeof(command), .spm_field = SPM, .model = &wk_sched_rates,
      .latency = draw(x, 0, 60), .write_latency = draw(x, 0, 60), .cycles = cycles,
      .transfer = transfer, .compute = compute, .carry = carry};
}

/* ---- what the net says ----------------------------------------------------------------------- */

/* Cells of rows that a view has. */
static void cells_of(const made *x, const wk_sched_view *v, int64_t cells[2]) {
  wk_sched_columns_of(&x->tensors[v->tensor], v, cells);
  cells[0] /= CELL, cells[1] /= CELL;
}

/* The value of each row: read(context, operand, plane, row, cell) says those of the operands. Its
 * cells are the same number with another one each. */
typedef uint64_t reader(const void *context, int operand, int64_t plane, int64_t row,
                        int64_t cell);

static uint64_t result(const made *x, int op, int64_t plane, int64_t stack, int64_t y,
                       uint64_t weight, reader *read, const void *context) {
  const wk_sched_op *o = &x->ops[op];
  uint64_t v = mix((uint64_t)op, (uint64_t)(plane * 1000 + y));
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    int64_t rows[2], planes[2], cells[2];
    if (o->in[k].tensor < 0) continue;
    cells_of(x, &o->in[k], cells);
    wk_sched_needed_rows(&x->tensors[o->in[k].tensor], &o->in[k], (int64_t[]){stack, stack + 1}, y,
                         y + 1, rows);
    needed_planes(o, k, stack, plane, plane + 1, planes);
    for (int64_t p = planes[0]; p < planes[1]; p++)
      for (int64_t r = rows[0]; r < rows[1]; r++)
        for (int64_t c = cells[0]; c < cells[1]; c++) v = mix(v, read(context, k, p, r, c));
  }
  return mix(v, weight);
}

typedef struct {
  const made *x;
  int op;
  uint64_t *const *values;
} net_reader;

static uint64_t *cell_of(const made *x, uint64_t *const *values, int t, int64_t plane, int64_t row,
                         int64_t cell) {
  const wk_sched_tensor *y = &x->tensors[t];
  return &values[t][(plane * y->rows + row) * (y->row / CELL) + cell];
}

static uint64_t read_net(const void *context, int operand, int64_t plane, int64_t row,
                         int64_t cell) {
  const net_reader *r = context;
  return *cell_of(r->x, r->values, r->x->ops[r->op].in[operand].tensor, plane, row, cell);
}

/* What a row is from the number that its operator computes. */
static void set_cells(const made *x, uint64_t **values, const wk_sched_view *out, int64_t plane,
                      int64_t row, uint64_t v) {
  int64_t cells[2];
  cells_of(x, out, cells);
  for (int64_t c = cells[0]; c < cells[1]; c++)
    *cell_of(x, values, out->tensor, plane, row, c) = mix(v, (uint64_t)c);
}

static void evaluate(const made *x, uint64_t **values) {
  for (size_t t = 0; t < x->net.n_tensors; t++) {
    const wk_sched_tensor *y = &x->tensors[t];
    const int64_t cells = y->row / CELL + 1;
    values[t] = wk_xcalloc((size_t)(y->planes * y->rows * cells), sizeof **values);
    for (int64_t i = 0; i < y->planes * y->rows; i++)
      for (int64_t c = 0; c < y->row / CELL; c++)
        *cell_of(x, values, (int)t, i / y->rows, i % y->rows, c) =
            input((int)t, i / y->rows, i % y->rows, c);
  }
  for (int i = 0; i < (int)x->net.n_ops; i++) {
    const wk_sched_op *o = &x->ops[i];
    const net_reader r = {x, i, values};
    for (int64_t s = 0; s < wk_sched_stacks(o); s++) {
      int64_t planes[2];
      wk_sched_planes_of(o, &o->out, (int64_t[]){s, s + 1}, planes);
      int64_t first = o->shares_pieces ? o->out.planes[0] : planes[0];
      for (int64_t p = planes[0]; p < planes[1]; p++)
        for (int64_t y = 0; y < o->out.rows; y++)
          set_cells(x, values, &o->out, p, y,
                    result(x, i, p, s, y, o->consts < 0 ? 0 : constant(i, p - first), read_net,
                           &r));
    }
  }
}

/* ---- what the machine does ------------------------------------------------------------------- */

typedef struct {
  made *x;
  const wk_sched_made *m;
  uint8_t *spm, *memory;
  int64_t tensor_at[TENSORS + OPS];
} running;

static void put(uint8_t *to, uint64_t v) { memcpy(to, &v, CELL); }

static uint64_t get(const uint8_t *from) {
  uint64_t v;
  return memcpy(&v, from, CELL), v;
}

static uint8_t *place_of(const running *r, const picture *p, int64_t plane, int64_t row,
                         int64_t cell) {
  int64_t at = p->at + ((plane - p->plane) * p->rows + row - p->row) * p->pitch;
  assert_true(at >= 0 && at + p->pitch <= r->x->machine.scratchpad);
  assert_true(cell * CELL >= p->column && (cell + 1) * CELL <= p->column + p->width);
  return r->spm + at + cell * CELL - p->column;
}

typedef struct {
  const running *r;
  const command *c;
} machine_reader;

static uint64_t read_machine(const void *context, int operand, int64_t plane, int64_t row,
                             int64_t cell) {
  const machine_reader *m = context;
  return get(place_of(m->r, &m->c->in[operand], plane, row, cell));
}

/* Cells of a row that a command writes. */
static void cells_written(const running *r, const command *c, int64_t cells[2]) {
  cells[0] = c->out.column / CELL, cells[1] = (c->out.column + c->out.width) / CELL;
  if (!c->copies) cells_of(r->x, &r->x->ops[c->op].out, cells);
}

/* What the command writes, into a buffer of its own, and from there to where it belongs. */
static void read_command(const running *r, const command *c, uint8_t *held) {
  const machine_reader m = {r, c};
  if (c->moves) {
    for (int64_t i = 0; i < c->n0 * c->n1; i++) {
      const uint8_t *far = r->memory + r->tensor_at[c->tensor] + c->dram + i / c->n0 * c->s1 +
                           i % c->n0;
      const uint8_t *near = r->spm + c->spm + i / c->chunk * c->pitch + i % c->chunk;
      held[i] = *(c->stores ? near : far);
    }
    return;
  }
  uint64_t *to = (uint64_t *)(void *)held;
  const wk_sched_op *o = &r->x->ops[c->op];
  int64_t cells[2];
  cells_written(r, c, cells);
  for (int64_t p = c->c0; p < c->c1; p++)
    for (int64_t y = c->y0; y < c->y1; y++) {
      int64_t at = c->consts + (o->by_pieces ? p - c->c0 : 0) * o->const_bytes;
      uint64_t weight = c->copies || o->consts < 0 ? 0 : get(r->spm + at);
      uint64_t v = c->copies ? 0 : result(r->x, c->op, p, c->stack, y, weight, read_machine, &m);
      for (int64_t k = cells[0]; k < cells[1]; k++)
        *to++ = c->copies ? get(place_of(r, &c->in[0], p, y, k)) : mix(v, (uint64_t)k);
    }
}

static void write_command(const running *r, const command *c, const uint8_t *held) {
  if (c->moves) {
    for (int64_t i = 0; i < c->n0 * c->n1; i++) {
      uint8_t *far = r->memory + r->tensor_at[c->tensor] + c->dram + i / c->n0 * c->s1 + i % c->n0;
      uint8_t *near = r->spm + c->spm + i / c->chunk * c->pitch + i % c->chunk;
      *(c->stores ? far : near) = held[i];
    }
    return;
  }
  const uint64_t *from = (const uint64_t *)(const void *)held;
  int64_t cells[2];
  cells_written(r, c, cells);
  for (int64_t p = c->c0; p < c->c1; p++)
    for (int64_t y = c->y0; y < c->y1; y++)
      for (int64_t k = cells[0]; k < cells[1]; k++) put(place_of(r, &c->out, p, y, k), *from++);
}

static void place_memory(running *r) {
  int64_t end = r->m->schedule.work_bytes;
  for (size_t t = 0; t < r->x->net.n_tensors; t++) {
    const wk_sched_tensor *y = &r->x->tensors[t];
    r->tensor_at[t] = y->home == WK_SCHED_WORK ? y->at : end;
    if (y->home == WK_SCHED_WORK) continue;
    for (int64_t i = 0; i < y->planes * y->rows; i++)
      for (int64_t c = 0; c < y->row / CELL; c++)
        put(r->memory + end + i * y->row + c * CELL,
            input((int)t, i / y->rows, i % y->rows, c));
    for (int k = 0; k < (int)r->x->net.n_ops; k++) {
      const wk_sched_op *o = &r->x->ops[k];
      for (size_t i = 0; o->consts == (int)t && i < o->pieces; i++)
        for (int64_t c = 0; c < o->const_bytes; c += CELL)
          put(r->memory + end + (int64_t)i * o->const_bytes + c, constant(k, (int64_t)i));
    }
    end += y->bytes;
    assert_true(end <= MEMORY);
  }
}

static command command_of(const running *r, uint32_t number) {
  const wk_sched_step *s = &r->m->steps.list.data[number];
  command c = *(const command *)wk_sched_command(&r->m->steps, number);
  for (int k = 0; k < s->n_access; k++) {
    const wk_sched_access *a = &s->access[k];
    int64_t at = r->m->steps.buffers.data[a->buffer].at + a->at;
    if (a->field == OUT) c.out.at = (int32_t)at;
    else if (a->field == CONSTS) c.consts = (int32_t)at;
    else if (a->field == SPM) c.spm = at;
    else c.in[a->field - IN].at = (int32_t)at;
  }
  return c;
}

/* Of a queue. */
typedef struct {
  uint32_t *steps, n, started, retired;
  command now[4]; /* that have started: of the last ones */
  bool reads_late[4], writes_late[4];
  uint8_t held[4][MOST];
} queue;

static bool may_start(const running *r, const queue *all, int q) {
  const queue *x = &all[q];
  if (x->started == x->n || x->started - x->retired == 4) return false;
  if (wk_sched_in(r->x->machine.queues.serial, q) && x->started > x->retired) return false;
  const uint32_t *waits = r->m->schedule.waits[x->steps[x->started]];
  for (int k = 0; k < r->x->machine.queues.n; k++)
    if (waits[k] > all[k].retired) return false;
  return true;
}

static void start(running *r, queue *x) {
  int at = (int)(x->started % 4);
  x->now[at] = command_of(r, x->steps[x->started++]);
  x->writes_late[at] = draw(r->x, 0, 1);
  x->reads_late[at] = x->writes_late[at] && draw(r->x, 0, 1);
  if (!x->reads_late[at]) read_command(r, &x->now[at], x->held[at]);
  if (!x->writes_late[at]) write_command(r, &x->now[at], x->held[at]);
}

static void retire(running *r, queue *x) {
  int at = (int)(x->retired++ % 4);
  if (x->reads_late[at]) read_command(r, &x->now[at], x->held[at]);
  if (x->writes_late[at]) write_command(r, &x->now[at], x->held[at]);
}

static void run(running *r) {
  queue *all = wk_xcalloc(WK_SCHED_QUEUES, sizeof *all);
  size_t n = r->m->steps.list.n, left = 2 * n;
  for (int q = 0; q < r->x->machine.queues.n; q++) all[q].steps = wk_xcalloc(n, sizeof(uint32_t));
  for (size_t i = 0; i < n; i++) {
    uint32_t number = r->m->schedule.order[i];
    queue *x = &all[r->m->steps.list.data[number].queue];
    x->steps[x->n++] = number;
  }
  for (int idle = 0; left; idle++) {
    int q = (int)draw(r->x, 0, r->x->machine.queues.n - 1);
    assert_true(idle < 10000); /* they wait for each other */
    if (draw(r->x, 0, 1) ? may_start(r, all, q) : false) start(r, &all[q]);
    else if (all[q].started > all[q].retired) retire(r, &all[q]);
    else continue;
    left--, idle = 0;
  }
  for (int q = 0; q < r->x->machine.queues.n; q++) free(all[q].steps);
  free(all);
}

static void compare(const running *r, uint64_t *const *values) {
  for (size_t t = 0; t < r->x->net.n_tensors; t++) {
    const wk_sched_tensor *y = &r->x->tensors[t];
    for (int64_t i = 0; y->home == WK_SCHED_IO && i < y->bytes / CELL; i++)
      assert_true(get(r->memory + r->tensor_at[t] + i * CELL) == values[t][i]);
  }
}

/* ---- what was seen --------------------------------------------------------------------------- */

typedef struct {
  int fits, refused;
  int rounds, together, staggered, by_first; /* groups */
} seen;

static void note(seen *s, const wk_sched_plan *p) {
  for (size_t i = 0; i < p->groups.n; i++) {
    s->rounds += p->groups.data[i].rounds > 1;
    s->together += p->groups.data[i].follows;
    s->staggered += p->groups.data[i].staggers;
    s->by_first += p->groups.data[i].by_first;
  }
}

/* ---- plans that no search would find --------------------------------------------------------- */

static void vary_groups(made *x, const wk_sched_searching *y, wk_sched_plan *p) {
  for (size_t g = 0; g + 1 < p->groups.n; g++) {
    wk_sched_group *a = &p->groups.data[g], *b = a + 1;
    if (draw(x, 0, 1) || !wk_sched_is_group(y, a->first, b->last)) continue;
    a->last = b->last;
    p->groups.n--;
    memmove(b, b + 1, (p->groups.n - 1 - g) * sizeof *b);
  }
  for (size_t g = 0; g < p->groups.n; g++) {
    wk_sched_group *a = &p->groups.data[g];
    int most = wk_sched_most_rounds(y, a->first, a->last);
    a->strips = (int)draw(x, 1, wk_sched_most_strips(y, a->first, a->last));
    a->rounds = draw(x, 0, 2) ? most : (int)draw(x, 1, most);
    a->keeps = (a->strips > 1 || a->rounds > 1) && draw(x, 0, 1);
    a->alone = !draw(x, 0, 5);
    a->staggers = wk_sched_may_stagger(y, a);
    a->by_first = draw(x, 0, 1) && wk_sched_may_go_by_first(&x->net, a);
    a->follows = g && wk_sched_can_follow(y, p, g) && draw(x, 0, 3);
  }
}

/* In place of the plan that was found. Half of the time it does not fit. */
static wk_status vary(made *x, const wk_sched_options *o, wk_arena *a, wk_sched_made *m) {
  wk_sched_searching y = {.net = &x->net, .uses = m->uses, .o = o,
                          .is_tied = wk_arena_alloc(a, x->net.n_tensors)};
  for (size_t t = 0; t < x->net.n_tensors; t++) {
    y.is_tied[t] = m->uses[t].first_writer != m->uses[t].last_writer;
    m->plan.resident[t] = -1;
  }
  for (size_t i = 0; i < x->net.n_tensors; i++) x->tensors[i].at = 0;
  vary_groups(x, &y, &m->plan);
  wk_sched_steps_clear(&m->steps, &x->net);
  wk_sched_build(&x->net, &m->plan, m->uses, 0, m->plan.groups.n, &m->steps);
  wk_sched_prefetch mode = wk_sched_mode_of(&m->plan, o->prefetch);
  wk_sched_depend(&x->net, mode, o->without, &m->steps);
  return wk_sched_schedule_steps(&x->net, &m->steps, mode, a, &m->schedule);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void print_group(wk_str *b, const wk_sched_group *g) {
  wk_str_printf(b, " %d-%d/%d,%d,%d%d%d%d%d%d", g->first, g->last, g->strips, g->rounds, g->keeps,
                g->alone, g->follows, g->staggers, g->by_first, g->is_brief);
}

/* The plan that so many threads find, and what they have considered. */
static void print_plan(const made *x, wk_sched_options o, int threads, wk_str *b) {
  wk_arena *a = wk_arena_new();
  wk_sched_explain tried = {.layer = ""};
  wk_sched_plan p = {0};
  o.threads = threads;
  o.explain = &tried;
  wk_status bad = wk_sched_search(&x->net, wk_sched_uses(&x->net, a), &o, &p);
  wk_str_printf(b, "%s; %lld, %d:", bad ? bad->message : "", (long long)p.chunk, p.lasting);
  for (size_t g = 0; g < p.groups.n; g++) print_group(b, &p.groups.data[g]);
  for (size_t t = 0; !bad && t < x->net.n_tensors; t++) wk_str_printf(b, " %d", p.resident[t]);
  for (size_t i = 0; i < tried.list.n; i++) {
    const wk_sched_candidate *c = &tried.list.data[i];
    print_group(b, &c->group);
    wk_str_printf(b, "=%d,%lld,%.17g", c->fits, (long long)c->cycles, c->cost);
  }
  wk_status_free(bad);
  wk_sched_plan_free(&p);
  wk_vec_free(&tried.list);
  wk_arena_free(a);
}

static void plans_do_not_depend_on_threads(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    made *x = wk_xcalloc(1, sizeof *x);
    wk_arena *a = wk_arena_new();
    wk_str one = {0};
    x->rng = (wk_rng){seed};
    make_machine(x);
    make_net(x, a);
    const wk_sched_options o = {.prefetch = draw(x, 0, 1) ? WK_PREFETCH_AUTO : WK_PREFETCH_DOUBLE,
                                .effort = (int)draw(x, 0, 2),
                                .without = draw(x, 0, 2) ? 0 : (unsigned)draw(x, 0, 127)};
    print_plan(x, o, 1, &one);
    for (int threads = 2; threads <= 3; threads++) {
      wk_str more = {0};
      print_plan(x, o, threads, &more);
      if (strcmp(one.s, more.s) != 0) fail_msg("seed %d: %s\n%s", (int)seed, one.s, more.s);
      wk_str_free(&more);
    }
    wk_str_free(&one);
    wk_arena_free(a);
    free(x);
  }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void one(uint64_t seed, seen *s) {
  made *x = wk_xcalloc(1, sizeof *x);
  wk_arena *a = wk_arena_new();
  wk_sched_made m;
  uint64_t *values[TENSORS + OPS];
  x->rng = (wk_rng){seed};
  make_machine(x);
  make_net(x, a);
  const wk_sched_options o = {.prefetch = (wk_sched_prefetch)draw(x, 0, WK_PREFETCH_COUNT - 1),
                              .effort = (int)draw(x, 0, 2),
                              .without = draw(x, 0, 2) ? 0 : (unsigned)draw(x, 0, 127)};
  wk_status status = wk_sched_make(&x->net, &o, a, &m);
  if (!status && seed % 2) status = vary(x, &o, a, &m);
  if (!status) {
    running r = {.x = x, .m = &m, .spm = wk_xcalloc((size_t)x->machine.scratchpad, 1),
                 .memory = wk_xcalloc(MEMORY, 1)};
    evaluate(x, values);
    status = wk_sched_prove_made(&x->net, &m);
    if (status) fail_msg("seed %d: %s", (int)seed, status->message);
    place_memory(&r);
    run(&r);
    compare(&r, values);
    for (size_t t = 0; t < x->net.n_tensors; t++) free(values[t]);
    free(r.spm), free(r.memory);
    s->fits++;
    note(s, &m.plan);
  } else {
    assert_int_equal(status->code, WK_RESOURCE);
    wk_status_free(status);
    s->refused++;
  }
  wk_sched_made_free(&m);
  wk_arena_free(a);
  free(x);
}

static void results_are_those_of_the_net(void **state) {
  (void)state;
  seen s = {0};
  const char *seeds = getenv("WICK_STREAM_SEEDS");
  uint64_t n = seeds ? strtoull(seeds, NULL, 10) : 400;
  for (uint64_t seed = 1; seed <= n; seed++) one(seed, &s);
  print_message("%d fit, %d do not; groups: %d in rounds, %d together, %d staggered, %d by rows of "
                "the first\n",
                s.fits, s.refused, s.rounds, s.together, s.staggered, s.by_first);
  assert_true(s.fits * 2 > s.refused && s.refused > 0);
  assert_true(s.rounds > 50 && s.together > 5 && s.staggered > 20 && s.by_first > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_those_of_the_net),
                                     cmocka_unit_test(plans_do_not_depend_on_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
