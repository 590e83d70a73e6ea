/* SPDX-License-Identifier: Apache-2.0
 * Packages of units for devices that exist only in tests, for test_package.c and test_device.c. A
 * part of such a unit is a list of operations in the unit's section "ops", from number `code` to
 * TOY_END; they work on the part's tensors by their numbers, inputs first. */
#ifndef WICK_TESTS_TOY_PACKAGE_H
#define WICK_TESTS_TOY_PACKAGE_H

#include "compiler/package/package.h"

typedef enum {
  TOY_END,
  TOY_ADD,    /* out = a + b */
  TOY_ADD_C,  /* out = a + c */
  TOY_LESS,   /* out[0] = a[0] < c, bool */
  TOY_MEET,   /* waits until the other device has said that it runs */
  TOY_TELL,   /* says so */
  TOY_KEEP,   /* the first state += a; out = it */
  TOY_COUNT,  /* out is i64[n], and has n = c elements this time: 0, 1, … */
  TOY_FAIL,   /* does not work */
  TOY_SHIFT   /* out, i64[], = a + c */
} toy_kind;

typedef struct {
  uint32_t kind, out, a, b;
  float c;
} toy_op;

static const int64_t toy_dims[] = {4};

/* Numbers for a row of a plan. */
#define TOY_ON(...)                            \
  .tensors = (const uint32_t[]){__VA_ARGS__}, \
  .n_tensors = sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define TOY_AFTER(...)                      \
  .waits = (const uint32_t[]){__VA_ARGS__}, \
  .n_waits = sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

/* Two units, "async" and "sync", and a state "w" of f32[4]. Entries:
 *   plan   f32[4] x to y by each kind of row: e = x + 1; d = x + x; if e[0] < 5 then y = e + d else
 *          y = d; three times: d = y + 1, y[i] = d[i]
 *   keep   w += x; y = w
 *   count  y is i64[n], n = 3
 *   meet   async y = x + 1, which waits for sync z = x + x
 *   fail   async y = x + 1; async fails; sync z = x + x
 *   views  y[1, 3] = x[1, 3] + 1, y[0, 2] = x[0, 2]: edges within input and output
 *   peek   y = x + 1, and reads the state
 *   pair   y is i64[n], n = 3; z = x + x
 *   until  y = x; at most 100 times, as long as y[0] < 5: y = y + 1, i is how often before
 *   chain  async y = x + 1; sync z = y + y
 *   both   async fails, sync fails
 *   maybe  if x[0] < 5 then y is i64[n], n = 3; else it has all of its 4
 *   counts z = x + x, which has labels; y is i64[n], n = 2, and i is i64[n], n = 3
 *   large  y says that it is longer than it may be
 *   ragged x and y are f32[2, n <= 3, 2], y = x + 1; m is f32[n <= 3], and z of it has n - 1 */
enum { TOY_PLAN, TOY_KEEP_ENTRY, TOY_COUNT_ENTRY, TOY_MEET_ENTRY, TOY_FAIL_ENTRY, TOY_VIEWS,
       TOY_PEEK, TOY_PAIR, TOY_UNTIL, TOY_CHAIN, TOY_BOTH, TOY_MAYBE, TOY_COUNTS, TOY_LARGE,
       TOY_RAGGED, TOY_ENTRIES };
enum { TOY_PLUS = 0, TOY_IS_SMALL = 2, TOY_KEEPING = 4, TOY_COUNTING = 6, TOY_MEETING = 8,
       TOY_FAILING = 11, TOY_SWELLING = 13, TOY_COUNTING_TWICE = 15, TOY_LESSENING = 18,
       TOY_SUM = 0, TOY_TELLING = 2, TOY_FAILING_TOO = 5 };
static const toy_op toy_async_ops[] = {
    [TOY_PLUS] = {TOY_ADD_C, 1, 0, 0, 1},
    [TOY_IS_SMALL] = {TOY_LESS, 1, 0, 0, 5},
    [TOY_KEEPING] = {TOY_KEEP, 1, 0, 0, 0},
    [TOY_COUNTING] = {TOY_COUNT, 1, 0, 0, 3},
    [TOY_MEETING] = {.kind = TOY_MEET}, {TOY_ADD_C, 1, 0, 0, 1},
    [TOY_FAILING] = {.kind = TOY_FAIL},
    [TOY_SWELLING] = {TOY_COUNT, 1, 0, 0, 9}, {.kind = TOY_END},
    [TOY_COUNTING_TWICE] = {TOY_COUNT, 1, 0, 0, 2}, {TOY_COUNT, 2, 0, 0, 3}, {.kind = TOY_END},
    [TOY_LESSENING] = {TOY_SHIFT, 1, 0, 0, -1}, {.kind = TOY_END},
};
static const toy_op toy_sync_ops[] = {
    [TOY_SUM] = {TOY_ADD, 2, 0, 1, 0},
    [TOY_TELLING] = {.kind = TOY_TELL}, {TOY_ADD, 2, 0, 1, 0},
    [TOY_FAILING_TOO] = {.kind = TOY_FAIL}, {.kind = TOY_END},
};
static const float toy_initial[] = {10, 20, 30, 40};

static inline uint32_t toy_add_unit(wk_package *p, const char *target, const toy_op *ops,
                                    size_t size) {
  uint32_t unit = wk_package_add_unit(p, &(wk_package_unit){
      .target = target, .spec = "toy", .features = "adding", .machine_hash = 0x70f});
  wk_package_add_section(p, unit, "ops", 64, ops, size);
  wk_package_add_section(p, unit, "notes", 256, "adds numbers", 12);
  return unit;
}

static inline uint32_t toy_add_part(wk_package *p, const char *name, uint32_t unit, uint64_t code,
                                    const wk_package_tensor *tensors, size_t n_in, size_t n_out) {
  wk_package_tensor left = tensors[n_in]; /* whole; a bound is none that a step leaves */
  left.place = WICK_PLACE_OUTPUT;
  left.flags = 0;
  wk_package_step step = {.node = name, .op = "add", .text = "out = a + b", .code = code,
                          .macs = 0, .bytes = 48, .tensors = &left, .n_tensors = 1};
  return wk_package_add_part(p, &(wk_package_part){
      .name = name, .unit = unit, .inputs = tensors, .outputs = tensors + n_in, .n_inputs = n_in,
      .n_outputs = n_out, .steps = &step, .n_steps = 1, .code = code});
}

/* A tensor of f32[4], or what else it says. */
static inline wk_package_tensor toy_tensor(const char *name, uint32_t dtype, int rank) {
  return (wk_package_tensor){.name = name, .dtype = dtype, .rank = rank, .dims = toy_dims};
}

static inline wk_package_tensor toy_edge(const char *name, uint32_t dtype, int rank,
                                         int64_t offset) {
  wk_package_tensor t = toy_tensor(name, dtype, rank);
  t.place = WICK_PLACE_EDGE;
  t.offset = offset;
  return t;
}

typedef struct {
  uint32_t plus, less, keep, count, meet, fail, sum, tell, half, fail_too, swell, twice;
  uint32_t plus_cube, lessen;
} toy_parts;

static inline void toy_add_plan(wk_package *p, const toy_parts *part) {
  enum { X, Y, E, D, SMALL, I };
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1), y = toy_tensor("y", WICK_F32, 1);
  const wk_package_tensor edges[] = {
      toy_edge("e", WICK_F32, 1, 0), toy_edge("d", WICK_F32, 1, 64),
      toy_edge("small", WICK_BOOL, 0, 16), toy_edge("i", WICK_I64, 0, 24)};
  const wk_package_row rows[] = {
      [0] = {.kind = WICK_ROW_RUN, .part = part->plus, TOY_ON(X, E)},
      [1] = {.kind = WICK_ROW_RUN, .part = part->sum, TOY_ON(X, X, D)},
      [2] = {.kind = WICK_ROW_RUN, .part = part->less, TOY_ON(E, SMALL), TOY_AFTER(0)},
      [3] = {.kind = WICK_ROW_IF, TOY_ON(SMALL), TOY_AFTER(2), .body_count = 1, .else_count = 1},
      [4] = {.kind = WICK_ROW_RUN, .part = part->sum, TOY_ON(E, D, Y), TOY_AFTER(0, 1)},
      [5] = {.kind = WICK_ROW_COPY, TOY_ON(D, Y), TOY_AFTER(1), .bytes = 16},
      [6] = {.kind = WICK_ROW_LOOP, TOY_ON(WICK_NONE, I), TOY_AFTER(3), .body_count = 2, .trip = 3},
      [7] = {.kind = WICK_ROW_RUN, .part = part->plus, TOY_ON(Y, D)},
      [8] = {.kind = WICK_ROW_COPY, TOY_ON(D, Y), TOY_AFTER(7), .bytes = 4, .source_step = 4,
             .destination_step = 4},
  };
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "plan", .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1, .edges = edges,
      .n_edges = 4, .edge_bytes = 80, .rows = rows, .n_rows = 9});
}

/* Its outputs have labels. */
static inline void toy_add_until(wk_package *p, const toy_parts *part) {
  enum { X, Y, I, D, SMALL };
  static const char *const columns[] = {"7", "-1", "0", "5"}, *const words[] = {"no", "once"};
  static const wk_package_labels of_y = {WICK_LABELS_COLUMNS, WICK_LABELS_NUMBERS, columns, 4};
  static const wk_package_labels of_i = {WICK_LABELS_ELEMENTS, 0, words, 2};
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1);
  wk_package_tensor out[] = {toy_tensor("y", WICK_F32, 1), toy_tensor("i", WICK_I64, 0)};
  const wk_package_tensor edges[] = {toy_edge("d", WICK_F32, 1, 0),
                                     toy_edge("small", WICK_BOOL, 0, 16)};
  const wk_package_row rows[] = {
      [0] = {.kind = WICK_ROW_COPY, TOY_ON(X, Y), .bytes = 16},
      [1] = {.kind = WICK_ROW_RUN, .part = part->less, TOY_ON(Y, SMALL), TOY_AFTER(0)},
      [2] = {.kind = WICK_ROW_LOOP, TOY_ON(SMALL, I), TOY_AFTER(1), .body_count = 3, .trip = 100},
      [3] = {.kind = WICK_ROW_RUN, .part = part->plus, TOY_ON(Y, D)},
      [4] = {.kind = WICK_ROW_COPY, TOY_ON(D, Y), TOY_AFTER(3), .bytes = 16},
      [5] = {.kind = WICK_ROW_RUN, .part = part->less, TOY_ON(Y, SMALL), TOY_AFTER(4)},
  };
  out[0].labels = &of_y;
  out[1].labels = &of_i;
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "until", .inputs = &x, .n_inputs = 1, .outputs = out, .n_outputs = 2, .edges = edges,
      .n_edges = 2, .edge_bytes = 17, .rows = rows, .n_rows = 6});
}

static inline void toy_add_maybe(wk_package *p, const toy_parts *part) {
  enum { X, Y, SMALL };
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1);
  const wk_package_tensor edge = toy_edge("small", WICK_BOOL, 0, 0);
  wk_package_tensor y = toy_tensor("y", WICK_I64, 1);
  y.flags = WICK_TENSOR_BOUND;
  const wk_package_row rows[] = {
      [0] = {.kind = WICK_ROW_RUN, .part = part->less, TOY_ON(X, SMALL)},
      [1] = {.kind = WICK_ROW_IF, TOY_ON(SMALL), TOY_AFTER(0), .body_count = 1},
      [2] = {.kind = WICK_ROW_RUN, .part = part->count, TOY_ON(X, Y)},
  };
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "maybe", .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1, .edges = &edge,
      .n_edges = 1, .edge_bytes = 1, .rows = rows, .n_rows = 3});
}

/* Bounds are not the first outputs; labels begin with an earlier output than those before end. */
static inline void toy_add_counts(wk_package *p, const toy_parts *part) {
  enum { X, Z, Y, I };
  static const char *const columns[] = {"a", "b", "c", "d"};
  static const wk_package_labels of_z = {WICK_LABELS_COLUMNS, 0, columns, 4};
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1);
  wk_package_tensor out[] = {toy_tensor("z", WICK_F32, 1), toy_tensor("y", WICK_I64, 1),
                             toy_tensor("i", WICK_I64, 1)};
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_RUN, .part = part->sum, TOY_ON(X, X, Z)},
      {.kind = WICK_ROW_RUN, .part = part->twice, TOY_ON(X, Y, I)},
  };
  out[0].labels = &of_z;
  out[1].flags = out[2].flags = WICK_TENSOR_BOUND;
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "counts", .inputs = &x, .n_inputs = 1, .outputs = out, .n_outputs = 3, .rows = rows,
      .n_rows = 2});
}

static const int64_t toy_cube_dims[] = {2, 3, 2}, toy_three[] = {3};

static inline wk_package_tensor toy_cube(const char *name, uint32_t flags) {
  return (wk_package_tensor){.name = name, .dtype = WICK_F32, .rank = 3, .dims = toy_cube_dims,
                             .flags = flags};
}

static inline void toy_add_ragged(wk_package *p, const toy_parts *part) {
  enum { X, M, Y, Z, STAGE_X, STAGE_M, N, K };
  wk_package_tensor m = toy_tensor("m", WICK_F32, 1), z = toy_tensor("z", WICK_F32, 1);
  wk_package_tensor stage_x = toy_cube("", 0), stage_m = toy_edge("", WICK_F32, 1, 64);
  m.dims = z.dims = stage_m.dims = toy_three;
  m.flags = z.flags = WICK_TENSOR_BOUND;
  stage_x.place = WICK_PLACE_EDGE;
  const wk_package_tensor in[] = {toy_cube("x", WICK_TENSOR_BOUND), m};
  const wk_package_tensor out[] = {toy_cube("y", WICK_TENSOR_BOUND), z};
  const wk_package_tensor edges[] = {stage_x, stage_m, toy_edge("n", WICK_I64, 0, 80),
                                     toy_edge("k", WICK_I64, 0, 88)};
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_RUN, .part = part->plus_cube, TOY_ON(STAGE_X, Y)},
      {.kind = WICK_ROW_COPY, TOY_ON(STAGE_M, Z), .bytes = 12},
      {.kind = WICK_ROW_RUN, .part = part->lessen, TOY_ON(N, K)}};
  const wk_package_extent extents[] = {{X, 1, N, STAGE_X, "n", 1}, {M, 0, N, STAGE_M, "n", 0},
                                       {Y, 1, N, WICK_NONE, "n", 0}, {Z, 0, K, WICK_NONE, "k", 0}};
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "ragged", .inputs = in, .n_inputs = 2, .outputs = out, .n_outputs = 2,
      .edges = edges, .n_edges = 4, .edge_bytes = 96, .rows = rows, .n_rows = 3,
      .extents = extents, .n_extents = 4});
}

/* Parts, one after the other, on x, y and z. */
static inline void toy_add_pair(wk_package *p, const char *name, const wk_package_tensor *y,
                                const wk_package_row *rows, size_t n) {
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1);
  const wk_package_tensor out[] = {*y, toy_tensor("z", WICK_F32, 1)};
  wk_package_add_entry(p, &(wk_package_entry){.name = name, .inputs = &x, .n_inputs = 1,
                                              .outputs = out, .n_outputs = 2, .rows = rows,
                                              .n_rows = n});
}

static inline void toy_add_views(wk_package *p, uint32_t half) {
  static const int64_t two[] = {2}, stride[] = {2};
  enum { X, Y, ODD_X, ODD_Y };
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1), y = toy_tensor("y", WICK_F32, 1);
  wk_package_tensor edges[] = {toy_tensor("", WICK_F32, 1), toy_tensor("", WICK_F32, 1)};
  for (uint32_t k = 0; k < 2; k++) {
    edges[k].dims = two;
    edges[k].strides = stride;
    edges[k].offset = 4;
    edges[k].place = k ? WICK_PLACE_OUTPUT : WICK_PLACE_INPUT;
  }
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_COPY, TOY_ON(X, Y), .bytes = 3},
      {.kind = WICK_ROW_COPY, TOY_ON(X, Y), .bytes = 1, .source_offset = 3,
       .destination_offset = 3},
      {.kind = WICK_ROW_COPY, TOY_ON(X, Y), .bytes = 12, .source_offset = 4,
       .destination_offset = 4},
      {.kind = WICK_ROW_RUN, .part = half, TOY_ON(ODD_X, ODD_Y), TOY_AFTER(0, 1, 2)},
  };
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "views", .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1, .edges = edges,
      .n_edges = 2, .rows = rows, .n_rows = 4});
}

/* An entry that is one part; it may write the state. */
static inline void toy_add_one(wk_package *p, const char *name, uint32_t part,
                               const wk_package_tensor *tensors, uint32_t flags) {
  const wk_package_row row = {.kind = WICK_ROW_RUN, .part = part, TOY_ON(0, 1)};
  wk_package_add_entry(p, &(wk_package_entry){
      .name = name, .inputs = tensors, .n_inputs = 1, .outputs = tensors + 1, .n_outputs = 1,
      .rows = &row, .n_rows = 1, .flags = flags});
}

static inline wk_package *toy_package(void) {
  static const int64_t two[] = {2}, stride[] = {2};
  const wk_package_tensor f = toy_tensor("", WICK_F32, 1), b = toy_tensor("", WICK_BOOL, 0);
  wk_package_tensor n = toy_tensor("y", WICK_I64, 1), odd = f;
  n.flags = WICK_TENSOR_BOUND;
  odd.dims = two;
  odd.strides = stride;
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "toy", .compiler = "wick test"});
  uint32_t a = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  uint32_t s = toy_add_unit(p, "sync", toy_sync_ops, sizeof toy_sync_ops);
  wk_package_add_state(p, &(wk_package_state){.name = "zeros", .dtype = WICK_I8, .rank = 1,
                                              .dims = toy_dims});
  wk_package_add_state(p, &(wk_package_state){.name = "w", .dtype = WICK_F32, .rank = 1,
                                              .dims = toy_dims, .is_public = true,
                                              .initial = toy_initial});
  const wk_package_tensor one[] = {f, f}, two_in[] = {f, f, f}, small[] = {f, b}, count[] = {f, n},
                          counts[] = {f, n, n}, halves[] = {odd, odd},
                          cubes[] = {toy_cube("", 0), toy_cube("", 0)},
                          sizes[] = {toy_tensor("", WICK_I64, 0), toy_tensor("", WICK_I64, 0)};
  const toy_parts part = {.plus = toy_add_part(p, "plus", a, TOY_PLUS, one, 1, 1),
                          .less = toy_add_part(p, "less", a, TOY_IS_SMALL, small, 1, 1),
                          .keep = toy_add_part(p, "keep", a, TOY_KEEPING, one, 1, 1),
                          .count = toy_add_part(p, "count", a, TOY_COUNTING, count, 1, 1),
                          .meet = toy_add_part(p, "meet", a, TOY_MEETING, one, 1, 1),
                          .fail = toy_add_part(p, "fail", a, TOY_FAILING, one, 1, 1),
                          .sum = toy_add_part(p, "sum", s, TOY_SUM, two_in, 2, 1),
                          .tell = toy_add_part(p, "tell", s, TOY_TELLING, two_in, 2, 1),
                          .half = toy_add_part(p, "half", a, TOY_PLUS, halves, 1, 1),
                          .fail_too = toy_add_part(p, "fail too", s, TOY_FAILING_TOO, one, 1, 1),
                          .swell = toy_add_part(p, "swell", a, TOY_SWELLING, count, 1, 1),
                          .twice = toy_add_part(p, "twice", a, TOY_COUNTING_TWICE, counts, 1, 2),
                          .plus_cube = toy_add_part(p, "plus", a, TOY_PLUS, cubes, 1, 1),
                          .lessen = toy_add_part(p, "lessen", a, TOY_LESSENING, sizes, 1, 1)};
  enum { X, Y, Z };
  const wk_package_row meet[] = {{.kind = WICK_ROW_RUN, .part = part.meet, TOY_ON(X, Y)},
                                 {.kind = WICK_ROW_RUN, .part = part.tell, TOY_ON(X, X, Z)}};
  const wk_package_row fail[] = {{.kind = WICK_ROW_RUN, .part = part.plus, TOY_ON(X, Y)},
                                 {.kind = WICK_ROW_RUN, .part = part.fail, TOY_ON(X, Y)},
                                 {.kind = WICK_ROW_RUN, .part = part.sum, TOY_ON(X, X, Z)}};
  const wk_package_row pair[] = {{.kind = WICK_ROW_RUN, .part = part.count, TOY_ON(X, Y)},
                                 {.kind = WICK_ROW_RUN, .part = part.sum, TOY_ON(X, X, Z)}};
  const wk_package_row chain[] = {
      {.kind = WICK_ROW_RUN, .part = part.plus, TOY_ON(X, Y)},
      {.kind = WICK_ROW_RUN, .part = part.sum, TOY_ON(Y, Y, Z), TOY_AFTER(0)}};
  const wk_package_row both[] = {{.kind = WICK_ROW_RUN, .part = part.fail, TOY_ON(X, Y)},
                                 {.kind = WICK_ROW_RUN, .part = part.fail_too, TOY_ON(X, Z)}};
  toy_add_plan(p, &part);
  toy_add_one(p, "keep", part.keep, one, WICK_ENTRY_WRITES_STATE);
  toy_add_one(p, "count", part.count, count, 0);
  toy_add_pair(p, "meet", &f, meet, 2);
  toy_add_pair(p, "fail", &f, fail, 3);
  toy_add_views(p, part.half);
  toy_add_one(p, "peek", part.plus, one, WICK_ENTRY_READS_STATE);
  toy_add_pair(p, "pair", &n, pair, 2);
  toy_add_until(p, &part);
  toy_add_pair(p, "chain", &f, chain, 2);
  toy_add_pair(p, "both", &f, both, 2);
  toy_add_maybe(p, &part);
  toy_add_counts(p, &part);
  toy_add_one(p, "large", part.swell, count, 0);
  toy_add_ragged(p, &part);
  return p;
}

#endif
