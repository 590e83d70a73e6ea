/* SPDX-License-Identifier: Apache-2.0
 * Steps of operators that are larger than a command: however they are cut, every field holds its
 * number, every byte of memory is moved once, and all of the result is computed. Whether it fits
 * into the scratchpad is not asked: the search builds plans that do not. And which operators go
 * head by head, or by blocks of channels, which have their turn with each piece of another, and
 * what constants hold that are moved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/compile.h"
#include "tests/unit/accel_edges.h"

#define QUANTISED "sat<i8>(rescale(%0, 9000000i64, 13i64))"
#define STEP "strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"
#define END "  output %y\n}\n}\n"
#define CONV(weights, type)                                                                      \
  "  %w = constant i8[" weights "] splat(3)\n"                                                   \
  "  %q = conv(%x, %w) {" STEP ", epilogue=\"" QUANTISED "\"} : i8[" type "]\n"

typedef struct {
  const char *machine, *graph;
  int64_t scratchpad, chunk; /* 0: the machine's; chunk: of the plan */
  int strips;
  const char *commands; /* how many there are of each, and the most rows of one */
} part_case;

static const part_case cases[] = {
    /* transfers of 2^20 bytes and more: a plane in halves, planes one by one; of 4096 planes */
    {"base", IN("1", "16", "16", "515,500")
     "  %q = max_pool(%x) {kernel=[1,1], " STEP "} : i8[1,16,515,500]\n"
     OUT("q", "1", "16", "515,500") END, 0, 4096, 1,
     "LD 4 <= 1032000, ST 4 <= 1032000, POOL 2 <= 511"},
    {"base", IN("3", "16", "48", "300,200")
     "  %q = max_pool(%x) {kernel=[1,1], " STEP "} : i8[1,48,300,200]\n"
     OUT("q", "3", "16", "300,200") END, 0, 4096, 1,
     "LD 3 <= 960000, ST 3 <= 960000, POOL 3 <= 300"},
    {"base", IN("3", "16", "48", "300,200")
     "  %q = max_pool(%x) {kernel=[1,1], " STEP "} : i8[1,48,300,200]\n"
     OUT("q", "3", "16", "300,200") END, 0, 4096, 7,
     "LD 7 <= 412800, ST 7 <= 412800, POOL 21 <= 43"},
    {"base", IN("1", "16", "16", "512,128")
     "  %q = max_pool(%x) {kernel=[1,1], " STEP "} : i8[1,16,512,128]\n"
     OUT("q", "1", "16", "512,128") END, 0, 4096, 1,
     "LD 2 <= 524288, ST 2 <= 524288, POOL 2 <= 511"},
    {"tiny", IN("4200", "8", "33600", "1,1")
     "  %q = max_pool(%x) {kernel=[1,1], " STEP "} : i8[1,33600,1,1]\n"
     OUT("q", "4200", "8", "1,1") END, 1 << 20, 4096, 1,
     "LD 1 <= 33600, ST 2 <= 32760, POOL 4200 <= 1"},
    /* constants of more than 2^19 bytes at once */
    {"base", IN("64", "16", "1024", "3,3") CONV("1024,1024,1,1", "1,1024,3,3")
     OUT("q", "64", "16", "3,3") END, 0, 1 << 22, 1,
     "LD 4 <= 524288, ST 1 <= 9216, CONV 64 <= 9 of 64"},
    /* a sum of more blocks than a command has, though its constants are few */
    {"tiny", IN("600", "8", "4800", "5,4") CONV("8,4800,1,1", "1,8,5,4")
     OUT("q", "1", "8", "5,4") END,
     1 << 20, 4096, 1,
     "LD 5 <= 96000, ST 1 <= 160, CONV 3 <= 20 of 200"},
    {"tiny", IN("511", "8", "4088", "5,4") CONV("8,4088,1,1", "1,8,5,4")
     OUT("q", "1", "8", "5,4") END,
     1 << 20, 4096, 1,
     "LD 2 <= 81760, ST 1 <= 160, CONV 1 <= 20 of 511"},
    /* rows of sums: more than a command's, more than half of the accumulators has entries */
    {"wide", IN("1", "32", "32", "1023,1") CONV("32,32,1,1", "1,32,1023,1")
     OUT("q", "1", "32", "1023,1") END, 0, 4096, 1,
     "LD 2 <= 32736, ST 1 <= 32736, CONV 3 <= 341 of 1"},
    {"wide", IN("1", "32", "32", "1023,2") CONV("32,32,1,1", "1,32,1023,2")
     OUT("q", "1", "32", "1023,2") END, 0, 4096, 1,
     "LD 2 <= 65472, ST 1 <= 65472, CONV 5 <= 410 of 1"},
    {"base", IN("1", "16", "16", "1023,2") CONV("16,16,1,1", "1,16,1023,2")
     OUT("q", "1", "16", "1023,2") END, 0, 4096, 2,
     "LD 3 <= 16368, ST 2 <= 16368, CONV 6 <= 341 of 1"},
    {"tiny", IN("1", "8", "8", "3,500") CONV("8,8,1,1", "1,8,3,500")
     OUT("q", "1", "8", "3,500") END,
     0, 4096, 1,
     "LD 2 <= 12000, ST 1 <= 12000, CONV 6 <= 250 of 1"},
};

/* Planes of the operand, and the constants of these, come two by two; sums of three pieces stand
 * side by side. */
static const part_case parts = {"base",
                                IN("6", "16", "96", "12,12") CONV("48,96,1,1", "1,48,12,12")
                                OUT("q", "3", "16", "12,12") END, 0, 2048, 1,
                                "LD 7 <= 4608, ST 1 <= 6912, CONV 9 <= 144 of 2"};

typedef struct {
  wk_machine machine;
  wk_module *module;
  wk_arena *arena;
  wk_accel_net net;
  wk_sched_net sched;
  wk_sched_steps steps;
} part;

static void build(const part_case *x, part *p) {
  wk_accel_refused why;
  wk_str text = {0};
  wk_status s = wk_machine_read(x->machine, &p->machine);
  if (x->scratchpad) p->machine.scratchpad = x->scratchpad;
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s", x->graph);
  if (!s) s = wk_module_parse(text.s, "t", &p->module);
  if (s) fail_msg("%s: %s: %s", s->place ? s->place : "", s->message, text.s);
  wk_str_free(&text);
  p->arena = wk_arena_new();
  p->steps = (wk_sched_steps){0};
  wk_accel_net_init(&p->net, &p->machine, p->arena);
  if (!wk_accel_net_make(p->module->main, &p->net, &why)) fail_msg("%s: %s", why.reason, x->graph);
  wk_sched_group all = {.last = (int)p->net.ops.n - 1, .strips = x->strips, .keeps = true,
                        .in_parts = x == &parts};
  wk_sched_plan plan = {.groups = {.data = &all, .n = 1}, .chunk = x->chunk,
                        .resident = wk_arena_alloc(p->arena, p->net.tensors.n * sizeof(int))};
  for (size_t t = 0; t < p->net.tensors.n; t++) plan.resident[t] = -1;
  wk_accel_sched_net(&p->net, p->arena, &p->sched);
  wk_sched_build(&p->sched, &plan, wk_sched_uses(&p->sched, p->arena), 0, 1, &p->steps);
}

static void part_free(part *p) {
  wk_sched_steps_free(&p->steps);
  wk_accel_net_free(&p->net);
  wk_arena_free(p->arena);
  wk_module_free(p->module);
}

/* ---- what holds of all ----------------------------------------------------------------------- */

/* Addresses of buffers are not there yet. */
static bool is_address(const wk_sched_step *s, int field) {
  for (int k = 0; k < s->n_access; k++)
    if (s->access[k].field == field) return true;
  return false;
}

static void check_fields(const wk_sched_step *s, const wk_isa_command *c) {
  const wk_isa_command_info *info = wk_isa_command_of((int)c->opcode);
  for (int i = 0; i < info->n_fields; i++) {
    const wk_isa_field *f = &info->fields[i];
    int64_t least = f->kind == WK_KIND_COUNT ? 1 : 0;
    if (is_address(s, i) || f->kind == WK_KIND_SIGNED) continue;
    if (c->v[i] < least || c->v[i] >> f->bits)
      fail_msg("%s: %s = %lld", info->name, f->name, (long long)c->v[i]);
  }
}

/* Bytes of one tensor that transfers move: each once, all of them. */
static void check_memory(const part *p, int t) {
  int64_t size = p->net.tensors.data[t].bytes, moved = 0;
  uint8_t *seen = wk_xcalloc((size_t)size, 1);
  for (size_t i = 0; i < p->steps.list.n; i++) {
    const wk_sched_step *s = &p->steps.list.data[i];
    const wk_isa_command *c = wk_accel_step_command(&p->steps, i);
    if (s->tensor != t) continue;
    int64_t n0 = WK_SV(c, LD, n0), n1 = WK_SV(c, LD, n1);
    assert_int_equal(s->bytes, n0 * n1);
    assert_true(s->bytes < 1 << 20);
    for (int64_t k = 0; k < n1; k++) {
      int64_t at = WK_SV(c, LD, dram) + k * WK_SV(c, LD, s1);
      assert_true(at >= 0 && at + n0 <= size);
      assert_null(memchr(seen + at, 1, (size_t)n0));
      memset(seen + at, 1, (size_t)n0);
    }
    moved += s->bytes;
  }
  free(seen);
  assert_int_equal(moved, size);
}

/* Results of 8 bits: bytes that commands write, over those that a block of channels has. */
static int64_t computed(const part *p) {
  int64_t n = 0;
  for (size_t i = 0; i < p->steps.list.n; i++) {
    const wk_isa_command *c = wk_accel_step_command(&p->steps, i);
    if (c->opcode == WK_CMD_POOL) n += WK_SV(c, POOL, ny) * WK_SV(c, POOL, nx) * WK_SV(c, POOL, n);
    if (c->opcode == WK_CMD_CONV && WK_V(c, CONV, drain))
      n += WK_SV(c, CONV, ny) * WK_SV(c, CONV, nx) * WK_SV(c, CONV, n);
  }
  return n;
}

/* "LD 8 <= 65, POOL 2 <= 511": how many commands, the most rows of one; of LD and ST bytes, of
 * CONV also the most blocks of a sum. */
static void print_commands(const part *p, wk_str *b) {
  for (int opcode = 0; opcode < 16; opcode++) {
    int64_t n = 0, most = 0, blocks = 0;
    for (size_t i = 0; i < p->steps.list.n; i++) {
      const wk_sched_step *s = &p->steps.list.data[i];
      const wk_isa_command *c = wk_accel_step_command(&p->steps, i);
      if ((int)c->opcode != opcode) continue;
      int64_t size = s->bytes;
      if (opcode == WK_CMD_POOL) size = WK_SV(c, POOL, ny);
      if (opcode == WK_CMD_CONV) size = WK_SV(c, CONV, ny);
      if (opcode == WK_CMD_CONV && WK_SV(c, CONV, kc) > blocks) blocks = WK_SV(c, CONV, kc);
      if (size > most) most = size;
      n++;
    }
    if (!n) continue;
    wk_str_printf(b, "%s%s %lld <= %lld", b->n ? ", " : "", wk_isa_command_of(opcode)->name,
                  (long long)n, (long long)most);
    if (blocks) wk_str_printf(b, " of %lld", (long long)blocks);
  }
}

static bool is_as_said(const part_case *x) {
  part p;
  wk_str got = {0};
  build(x, &p);
  const wk_accel_op *last = &p.net.ops.data[p.net.ops.n - 1];
  for (size_t k = 0; k < p.steps.list.n; k++)
    check_fields(&p.steps.list.data[k], wk_accel_step_command(&p.steps, k));
  for (size_t t = 0; t < p.net.tensors.n; t++) check_memory(&p, (int)t);
  assert_int_equal(computed(&p), p.net.tensors.data[last->out.tensor].bytes);
  print_commands(&p, &got);
  bool is_same = strcmp(got.s, x->commands) == 0;
  if (!is_same) print_error("not %s: %s\n", x->commands, got.s);
  wk_str_free(&got);
  part_free(&p);
  return is_same;
}

static void large_operators(void **state) {
  int wrong = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) wrong += !is_as_said(&cases[i]);
  assert_int_equal(wrong, 0);
}

static void operands_in_parts(void **state) {
  (void)state;
  assert_true(is_as_said(&parts));
}

/* ---- stacks of pieces ------------------------------------------------------------------------ */

#define LINEAR(from, w, y, width)                                                                \
  "  %" w " = constant i8[48," width "] splat(1)\n  %" y " = matmul(%" from ", %" w ") "         \
  "{epilogue=\"" QUANTISED "\"} : i8[1,20," width "] \"" y "\"\n"
#define SLICE(from, y, at)                                                                       \
  "  %" y " = slice(%" from ") {starts=[0,0," at "], sizes=[1,20,48], steps=[1,1,1]} : "         \
  "i8[1,20,48]\n"
#define HEADS(from, y, perm, dims)                                                               \
  "  %" y "1 = reshape(%" from ") {shape=[1,20,3,16]} : i8[1,20,3,16]\n"                         \
  "  %" y " = transpose(%" y "1) {perm=[0,2," perm "]} : i8[1,3," dims "]\n"
#define ATTEND                                                                                   \
  "  %s = integer_matmul(%qh, %kh) {a_zero=0, b_zero=0, epilogue=\"" QUANTISED "\"} : "          \
  "i8[1,3,20,20] \"scores\"\n  %p = integer_softmax(%s) {axis=3, mult=1073741824, shift=30, "   \
  "scale=0.05, zero=-128, lo=-128, hi=127, to=i8} : i8[1,3,20,20] \"softmax\"\n"               \
  "  %m = integer_matmul(%p, %vh) {a_zero=-128, b_zero=0, epilogue=\"" QUANTISED "\"} : "        \
  "i8[1,3,20,16] \"mix\"\n  %m1 = reshape(%m) {shape=[1,3,20,1,16]} : i8[1,3,20,1,16]\n"        \
  "  %m2 = transpose(%m1) {perm=[0,1,3,2,4]} : i8[1,3,1,20,16]\n  output %m2\n}\n}\n"
#define ROWS                                                                                     \
  "(%i: i8[1,3,20,16]) {\n  %t = transpose(%i) {perm=[0,2,1,3]} : i8[1,20,3,16]\n"              \
  "  %x = reshape(%t) {shape=[1,20,48]} : i8[1,20,48]\n"
#define ALL_HEADS(q, k, v)                                                                       \
  HEADS(q, "qh", "1,3", "20,16") HEADS(k, "kh", "3,1", "16,20") HEADS(v, "vh", "1,3", "20,16")

#define EXPAND(y)                                                                                \
  "  %w = constant i8[48,16,1,1] splat(3)\n  %" y " = conv(%x, %w) {" STEP ", epilogue=\""       \
  QUANTISED "\"} : i8[1,48,9,7] \"expand\"\n"
#define DEPTHWISE(x, y)                                                                          \
  "  %d = constant i8[48,1,3,3] splat(1)\n  %" y " = conv(%" x ", %d) {strides=[1,1], "          \
  "pads=[1,1,1,1], dilations=[1,1], group=48, epilogue=\"" QUANTISED "\"} : i8[1,48,9,7] "       \
  "\"depthwise\"\n"
#define DOUBLE(x, y, name)                                                                       \
  "  %" y " = map(%" x ") {body=\"sat<i8>(rescale(i32(%0), 1073741824i64, 29i64))\"} : "         \
  "i8[1,48,9,7] \"" name "\"\n"
#define MEAN(x, y)                                                                               \
  "  %" y " = reduce(%" x ") {axes=[2,3], keepdims=1, pre=\"i32(%0)\", "                         \
  "post=\"sat<i8>(rescale(%0, 9000000i64, 27i64))\"} : i8[1,48,1,1] \"mean\"\n"
#define SUMS(x, y, weights, type)                                                                \
  "  %v = constant i8[" weights "] splat(2)\n  %" y " = conv(%" x ", %v) {" STEP ", "            \
  "epilogue=\"" QUANTISED "\"} : i8[" type "] \"sums\"\n"

/* Operators in order, those that go by stacks of their pieces with how many stacks. */
static const struct {
  const char *graph, *operators;
} stacked[] = {
    /* blocks of channels from the convolution that makes them to the mean */
    {IN("1", "16", "16", "9,7") EXPAND("e") DOUBLE("e", "m", "map") DEPTHWISE("m", "a")
     DOUBLE("a", "b", "map") MEAN("b", "q") OUT("q", "3", "16", "1,1") END,
     "expand*3 map*3 depthwise*3 map*3 mean*3"},
    /* not what is summed up over all channels, nor what only that is made for */
    {IN("1", "16", "16", "9,7") EXPAND("e") DOUBLE("e", "m", "map")
     SUMS("m", "q", "32,48,1,1", "1,32,9,7") OUT("q", "2", "16", "9,7") END,
     "expand map sums"},
    {IN("1", "16", "16", "9,7") EXPAND("e") DEPTHWISE("e", "a")
     SUMS("a", "q", "32,48,1,1", "1,32,9,7") OUT("q", "2", "16", "9,7") END,
     "expand*3 depthwise*3 sums"},
    {ROWS LINEAR("x", "a", "q", "48") LINEAR("x", "b", "k", "48")
     LINEAR("x", "c", "v", "48") ALL_HEADS("q", "k", "v") ATTEND,
     "q*3 k*3 scores v*3 softmax mix"},
    {ROWS LINEAR("x", "a", "all", "144") SLICE("all", "q", "0")
     SLICE("all", "k", "48") SLICE("all", "v", "96") ALL_HEADS("q", "k", "v") ATTEND,
     "all*3 all*3 scores all*3 softmax mix"},
    /* keys that are queries, too, and leave the part: nothing of it is taken apart */
    {ROWS LINEAR("x", "a", "all", "96") SLICE("all", "q", "0")
     SLICE("all", "v", "48") ALL_HEADS("q", "q", "v") "  %r = reshape(%all) {shape=[1,20,6,16]} : "
     "i8[1,20,6,16]\n  %y = transpose(%r) {perm=[0,2,1,3]} : i8[1,6,20,16]\n  output %y\n" ATTEND,
     "all scores softmax mix"},
};

static void stacks_of_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(stacked); i++) {
    part p;
    wk_str got = {0};
    build(&(part_case){"base", stacked[i].graph, 0, 4096, 1, ""}, &p);
    for (size_t k = 0; k < p.net.ops.n; k++) {
      const wk_accel_op *op = &p.net.ops.data[k];
      wk_str_printf(&got, "%s%s", k ? " " : "", op->name);
      if (op->piece_stacks) wk_str_printf(&got, "*%lld", (long long)op->piece_stacks);
      assert_true(p.sched.ops[k].shares_pieces == (op->piece_stacks > 0));
    }
    assert_string_equal(got.s, stacked[i].operators);
    wk_str_free(&got);
    part_free(&p);
  }
}

/* What goes plane by plane, one behind the other, has its turn with each piece of the convolution
 * that makes the planes, though the last has one row of them all. */
static void chains_ride(void **state) {
  static const part_case chain = {"base",
                                  IN("1", "16", "16", "9,7") EXPAND("e") DOUBLE("e", "m", "map")
                                  MEAN("m", "q") OUT("q", "3", "16", "1,1") END, 0, 1, 1, ""};
  part p;
  wk_str got = {0};
  uint32_t last = 0;
  (void)state;
  build(&chain, &p);
  for (size_t i = 0; i < p.steps.list.n; i++) {
    const wk_sched_step *s = &p.steps.list.data[i];
    bool computes = s->queue == WK_QUEUE_ex || s->queue == WK_QUEUE_ve;
    if (!computes || !s->layer || s->layer == last) continue;
    last = s->layer;
    wk_str_printf(&got, "%s ", p.sched.layers[last - 1]);
  }
  assert_string_equal(got.s, "expand map mean expand map mean expand map mean ");
  wk_str_free(&got);
  part_free(&p);
}

/* A pass may leave movement of a constant: what it moves is there. */
static void moved_constants(void **state) {
  static const part_case moved = {"base", IN("1", "16", "16", "4,5")
                                  "  %c = constant i8[1,16,5,4] splat(7)\n"
                                  "  %m = transpose(%c) {perm=[0,1,3,2]} : i8[1,16,4,5]\n"
                                  "  %q = map(%x, %m) {body=\"max(%0, %1)\"} : i8[1,16,4,5]\n"
                                  OUT("q", "1", "16", "4,5") END, 0, 4096, 1, ""};
  part p;
  (void)state;
  build(&moved, &p);
  const wk_accel_tensor *t = &p.net.tensors.data[p.net.ops.data[0].b.tensor];
  assert_int_equal(t->segment, WK_SEGMENT_CONST);
  for (int64_t i = 0; i < t->bytes; i++) assert_int_equal(t->data[i], 7);
  part_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chains_ride),
                                     cmocka_unit_test(large_operators),
                                     cmocka_unit_test(moved_constants),
                                     cmocka_unit_test(operands_in_parts),
                                     cmocka_unit_test(stacks_of_pieces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
