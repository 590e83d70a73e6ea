/* SPDX-License-Identifier: Apache-2.0
 * What the writer of packages refuses: every figure of a package at its limit, which fits, and one
 * past it, which is said in full; what is wrong is the last of several. And every figure of every
 * row, read back from the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/package/program.h"
#include "compiler/package/tables.h"

/* ---- limits ---------------------------------------------------------------------------------- */

enum { CODE = 100 };

/* What may be wrong, as it fits. */
typedef struct {
  int64_t code, symbol_at, symbol_size, section_align, section_name;
  int64_t part_unit, part_code, arena_align, arena_bytes, arena_bound, step_code;
  int64_t dtype, rank, dim, align, place;
  int64_t edge_align, kind, part, ref, wait;
  int64_t label_kind, label_flags, labels, labelled_rank, labelled_dtype;
  int64_t extent_tensor, extent_axis, extent_size, extent_stage, extent_least;
  int64_t of_output, output_stage, output_least, bound, size_dtype, size_rank, size_place;
  int64_t stage_dtype, stage_rank, stage_dim, stage_place;
} figures;

static const figures fits = {
    .code = CODE, .symbol_at = 60, .symbol_size = 40, .section_align = 64, .section_name = 1,
    .part_code = 7, .arena_align = 64, .arena_bytes = 128, .arena_bound = 128, .step_code = 8,
    .dtype = WICK_F32, .rank = 2, .dim = 3, .align = 4, .edge_align = 64, .kind = WICK_ROW_RUN,
    .ref = 3, .wait = 1, .label_kind = WICK_LABELS_COLUMNS, .labels = 3, .labelled_rank = 2,
    .labelled_dtype = WICK_F32, .extent_axis = 1, .extent_size = 3, .extent_stage = 4,
    .extent_least = 3, .of_output = 2, .output_stage = WICK_NONE, .bound = WICK_TENSOR_BOUND,
    .size_dtype = WICK_I64, .size_place = WICK_PLACE_EDGE, .stage_dtype = WICK_F32,
    .stage_rank = 2, .stage_dim = 3, .stage_place = WICK_PLACE_EDGE};

#define AT(field) offsetof(figures, field)
typedef struct {
  size_t field;
  int64_t value;
  const char *why; /* NULL: it fits */
  size_t other;    /* a second figure, unless it is 0 as `code` is */
  int64_t other_value;
} limit;

static const limit limits[] = {
    {AT(symbol_size), 41, "symbol end is outside the code", 0, 0},
    {AT(symbol_at), 100, NULL, AT(symbol_size), 0},
    {AT(symbol_at), 101, "symbol end is outside the code", AT(symbol_size), 0},
    {AT(symbol_at), -1, "symbol end is outside the code", AT(symbol_size), 2},
    {AT(section_name), 0, "section '' of unit 1: alignment 64", 0, 0},
    {AT(section_align), 32, "section 'own' of unit 1: alignment 32", 0, 0},
    {AT(section_align), 96, "section 'own' of unit 1: alignment 96", 0, 0},
    {AT(section_align), 128, NULL, 0, 0},
    {AT(section_align), 4096, NULL, 0, 0},
    {AT(section_align), 8192, "section 'own' of unit 1: alignment 8192", 0, 0},
    {AT(part_unit), 1, "part tried has no unit", 0, 0},
    {AT(part_unit), -1, "part tried has no code", AT(part_code), -1},
    {AT(part_code), CODE - 1, NULL, 0, 0},
    {AT(part_code), CODE, "part tried has no code", 0, 0},
    {AT(code), 0, NULL, AT(part_code), -2},
    {AT(code), 0, "part tried has no code", AT(part_code), -1},
    {AT(arena_align), 32, "part tried: arena of 128 bytes, bound 128, alignment 32", 0, 0},
    {AT(arena_align), 4096, NULL, 0, 0},
    {AT(arena_align), 8192, "part tried: arena of 128 bytes, bound 128, alignment 8192", 0, 0},
    {AT(arena_bound), 129, "part tried: arena of 128 bytes, bound 129, alignment 64", 0, 0},
    {AT(arena_bound), 0, NULL, 0, 0},
    {AT(arena_bytes), 0, "part tried: arena of 0 bytes, bound 128, alignment 64", 0, 0},
    {AT(step_code), CODE - 1, NULL, 0, 0},
    {AT(step_code), CODE, "step 2 of part tried has no code", 0, 0},
    {AT(step_code), -1, NULL, 0, 0},
    {AT(dtype), 99, "tensor last: dtype 99, rank 2, alignment 4, place 0", 0, 0},
    {AT(rank), 8, NULL, 0, 0},
    {AT(rank), 9, "a tensor of rank beyond 8, or too many labels", 0, 0},
    {AT(dim), 0, NULL, 0, 0},
    {AT(dim), -1, "tensor last: dtype 1, rank 2, alignment 4, place 0", 0, 0},
    {AT(align), 1, NULL, 0, 0},
    {AT(align), 3, "tensor last: dtype 1, rank 2, alignment 3, place 0", 0, 0},
    {AT(align), 4096, NULL, 0, 0},
    {AT(align), 8192, "tensor last: dtype 1, rank 2, alignment 8192, place 0", 0, 0},
    {AT(place), WICK_PLACE_DEVICE, NULL, 0, 0},
    {AT(place), WICK_PLACE_DEVICE + 1, "tensor last: dtype 1, rank 2, alignment 4, place 7", 0, 0},
    {AT(edge_align), 32, "entry entry: edges aligned to 32", 0, 0},
    {AT(edge_align), 4096, NULL, 0, 0},
    {AT(edge_align), 4097, "entry entry: edges aligned to 4097", 0, 0},
    {AT(part), 1, NULL, 0, 0},
    {AT(part), 2, "entry entry: row 2 runs no part", 0, 0},
    {AT(part), 2, NULL, AT(kind), WICK_ROW_COPY},
    {AT(ref), 4, "entry entry: row 2 has no tensor 2", 0, 0},
    {AT(ref), 4, "entry entry: row 2 has no tensor 2", AT(kind), WICK_ROW_IF},
    {AT(ref), WICK_NONE, NULL, AT(kind), WICK_ROW_LOOP},
    {AT(wait), 2, "entry entry: row 2 waits for a later one", 0, 0},
    {AT(labels), 2, "2 labels of kind 2 of tensor y", 0, 0},
    {AT(labels), 4, "4 labels of kind 2 of tensor y", 0, 0},
    {AT(label_flags), WICK_LABELS_NUMBERS, NULL, 0, 0},
    {AT(label_flags), 2, "3 labels of kind 2 of tensor y", 0, 0},
    {AT(label_flags), 3, "3 labels of kind 2 of tensor y", 0, 0},
    {AT(labelled_rank), 1, "3 labels of kind 2 of tensor y", 0, 0},
    {AT(labelled_rank), 1, NULL, AT(labels), 2},
    {AT(labelled_rank), 0, "3 labels of kind 2 of tensor y", 0, 0},
    {AT(label_kind), 0, "3 labels of kind 0 of tensor y", AT(labelled_dtype), WICK_I64},
    {AT(label_kind), 3, "3 labels of kind 3 of tensor y", AT(labelled_dtype), WICK_I64},
    {AT(label_kind), WICK_LABELS_ELEMENTS, NULL, AT(labelled_dtype), WICK_I64},
    {AT(label_kind), WICK_LABELS_ELEMENTS, "3 labels of kind 1 of tensor y", AT(labelled_dtype),
     WICK_I32},
    {AT(labels), 0, "0 labels of kind 1 of tensor y", AT(label_kind), WICK_LABELS_ELEMENTS},
};

#define RAGGED "entry ragged: extent of tensor "
static const limit extent_limits[] = {
    {AT(extent_axis), 0, RAGGED "x along axis 0: size 3, stage 4, least 0", AT(extent_least), 0},
    {AT(extent_axis), 2, RAGGED "x along axis 2: size 3, stage 4, least 3", 0, 0},
    {AT(extent_size), 2, RAGGED "x along axis 1: size 2, stage 4, least 3", 0, 0},
    {AT(extent_size), 4, RAGGED "x along axis 1: size 4, stage 4, least 3", 0, 0},
    {AT(extent_size), 5, RAGGED "x along axis 1: size 5, stage 4, least 3", 0, 0},
    {AT(extent_stage), 3, RAGGED "x along axis 1: size 3, stage 3, least 3", 0, 0},
    {AT(extent_stage), WICK_NONE, RAGGED "x along axis 1: size 3, stage 4294967295, least 3", 0, 0},
    {AT(extent_least), 4, RAGGED "x along axis 1: size 3, stage 4, least 4", 0, 0},
    {AT(extent_least), -1, RAGGED "x along axis 1: size 3, stage 4, least -1", 0, 0},
    {AT(extent_least), 0, NULL, 0, 0},
    {AT(extent_tensor), 1, RAGGED "x1 along axis 1: size 3, stage 4, least 3", 0, 0},
    {AT(of_output), 3, "entry ragged: extent of tensor 3", 0, 0},
    {AT(of_output), 0, RAGGED "x along axis 0: size 3, stage 4294967295, least 0", 0, 0},
    {AT(output_stage), 4, RAGGED "y along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(output_least), 1, RAGGED "y along axis 0: size 3, stage 4294967295, least 1", 0, 0},
    {AT(bound), 0, RAGGED "y along axis 0: size 3, stage 4294967295, least 0", 0, 0},
    {AT(size_dtype), WICK_I32, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(size_rank), 1, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(size_place), WICK_PLACE_INPUT, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(stage_dtype), WICK_I32, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(stage_rank), 3, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(stage_dim), 2, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
    {AT(stage_place), WICK_PLACE_STATE, RAGGED "x along axis 0: size 3, stage 4, least 0", 0, 0},
};

/* Of an input of [2, 3] at most, of which the second is tried, and an output of the same. */
static void add_ragged(wk_package *p, const figures *f) {
  static const int64_t two[] = {2, 3}, one[] = {1};
  const int64_t dims[] = {2, f->stage_dim, 1};
  wk_package_tensor x[] = {{.name = "x", .dtype = WICK_F32, .rank = 2, .dims = two,
                            .flags = WICK_TENSOR_BOUND},
                           {.name = "x1", .dtype = WICK_F32, .rank = 2, .dims = two}};
  const wk_package_tensor y = {.name = "y", .dtype = WICK_F32, .rank = 2, .dims = two,
                               .flags = (uint32_t)f->bound};
  const wk_package_tensor edges[] = {
      {.name = "size", .dtype = (uint32_t)f->size_dtype, .rank = (int)f->size_rank, .dims = one,
       .place = (uint32_t)f->size_place},
      {.name = "stage", .dtype = (uint32_t)f->stage_dtype, .rank = (int)f->stage_rank,
       .dims = dims, .place = (uint32_t)f->stage_place}};
  const wk_package_extent extents[] = {
      {0, 0, 3, 4, "n", 0},
      {(uint32_t)f->extent_tensor, (uint32_t)f->extent_axis, (uint32_t)f->extent_size,
       (uint32_t)f->extent_stage, "n", f->extent_least},
      {(uint32_t)f->of_output, 0, 3, (uint32_t)f->output_stage, "n", f->output_least}};
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "ragged", .inputs = x, .n_inputs = 2, .outputs = &y, .n_outputs = 1, .edges = edges,
      .n_edges = 2, .extents = extents, .n_extents = 3});
}

/* Two units, of which the last has what is tried; an entry of two inputs, an output with labels, an
 * edge, and three rows; one with sizes that runs decide. */
static wk_package *make(const figures *f) {
  static const uint8_t code[CODE];
  static const char *const words[] = {"a", "b", "c", "d"};
  static const int64_t two[] = {2, 3};
  const int64_t dims[] = {2, f->dim, 1, 1, 1, 1, 1, 1, 1};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "limits"});
  wk_package_add_unit(p, &(wk_package_unit){.target = "first"});
  uint32_t u = wk_package_add_unit(p, &(wk_package_unit){.target = "last"});
  if (f->code) {
    wk_package_add_code(p, u, code, (uint64_t)f->code);
    wk_package_add_symbol(p, u, "begin", 0, 10);
    wk_package_add_symbol(p, u, "end", (uint64_t)f->symbol_at, (uint64_t)f->symbol_size);
  }
  wk_package_add_section(p, u, "other", 4096, "o", 1);
  wk_package_add_section(p, u, f->section_name ? "own" : "", (uint32_t)f->section_align, "s", 1);
  const wk_package_tensor x[] = {
      {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = two},
      {.name = "last", .dtype = (uint32_t)f->dtype, .rank = (int)f->rank, .dims = dims,
       .align = (uint32_t)f->align, .place = (uint32_t)f->place}};
  const wk_package_step steps[] = {{.code = 0}, {.code = WICK_NO_CODE},
                                   {.code = (uint64_t)f->step_code}};
  wk_package_add_part(p, &(wk_package_part){.name = "good", .unit = u, .code = 1, .inputs = x,
                                            .n_inputs = 2, .outputs = x, .n_outputs = 1,
                                            .steps = steps, .n_steps = 1});
  wk_package_add_part(p, &(wk_package_part){
      .name = "tried", .unit = u + (uint32_t)f->part_unit, .code = (uint64_t)f->part_code,
      .steps = steps, .n_steps = 3, .arena_align = (uint32_t)f->arena_align,
      .arena_bytes = (uint64_t)f->arena_bytes, .arena_bound = (uint64_t)f->arena_bound});
  const wk_package_labels l = {(uint32_t)f->label_kind, (uint32_t)f->label_flags, words,
                               (size_t)f->labels};
  const wk_package_tensor y = {.name = "y", .dtype = (uint32_t)f->labelled_dtype,
                               .rank = (int)f->labelled_rank, .dims = two, .labels = &l};
  const uint32_t refs[] = {0, 2, (uint32_t)f->ref}, waits[] = {0, (uint32_t)f->wait};
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_COPY, .tensors = refs, .n_tensors = 2},
      {.kind = WICK_ROW_RUN, .part = 1, .tensors = refs, .n_tensors = 1, .waits = waits,
       .n_waits = 1},
      {.kind = (uint32_t)f->kind, .part = (uint32_t)f->part, .tensors = refs, .n_tensors = 3,
       .waits = waits, .n_waits = 2}};
  wk_package_add_entry(p, &(wk_package_entry){.name = "none"});
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "entry", .inputs = x, .n_inputs = 2, .outputs = &y, .n_outputs = 1, .edges = x,
      .n_edges = 1, .rows = rows, .n_rows = 3, .edge_align = (uint32_t)f->edge_align});
  add_ragged(p, f);
  return p;
}

static void says(wk_status s, wk_code code, const char *why, size_t row) {
  if (!why && s) fail_msg("row %zu: %s", row, s->message);
  if (why && (!s || s->code != code || strcmp(s->message, why) != 0))
    fail_msg("row %zu: '%s', not '%s'", row, s ? s->message : "", why);
  wk_status_free(s);
}

static void try(const limit *l, size_t row) {
  figures f = fits;
  char why[200];
  *(int64_t *)((char *)&f + l->field) = l->value;
  if (l->other) *(int64_t *)((char *)&f + l->other) = l->other_value;
  wk_package *p = make(&f);
  if (l->why) snprintf(why, sizeof why, "package: %s", l->why);
  says(wk_package_check(p), WK_INTERNAL, l->why ? why : NULL, row);
  wk_package_free(p);
}

static void each_figure_has_its_limit(void **state) {
  (void)state;
  wk_package *p = make(&fits);
  says(wk_package_check(p), WK_OK, NULL, 0);
  wk_package_free(p);
  for (size_t i = 0; i < WK_COUNTOF(limits); i++) try(&limits[i], i);
  for (size_t i = 0; i < WK_COUNTOF(extent_limits); i++) try(&extent_limits[i], i);
}

/* Offsets and numbers of rows have 32 bits. What no row mentions is not looked at. */
static void tables_have_a_limit(void **state) {
  (void)state;
  for (int table = 0; table < 5; table++) {
    wk_package *p = make(&fits);
    size_t *n[] = {&p->strings.n, &p->tensors.n, &p->steps.n, &p->rows.n, &p->refs.n};
    size_t old = *n[table];
    *n[table] = (size_t)UINT32_MAX + 1;
    says(wk_package_check(p), WK_RESOURCE, "package: its tables exceed 4 GiB", (size_t)table);
    *n[table] = UINT32_MAX;
    if (table != 1) says(wk_package_check(p), WK_OK, NULL, (size_t)table);
    *n[table] = old;
    wk_package_free(p);
  }
}

/* ---- read back ------------------------------------------------------------------------------- */

typedef struct {
  uint8_t *data;
  const wick_pkg_section *section;
  uint32_t n;
} file;

static file write_out(wk_package *p) {
  file f;
  void *data;
  size_t size;
  wk_status s = wk_package_bytes(p, &data, &size);
  if (s) fail_msg("%s", s->message);
  wick_pkg_header h;
  memcpy(&h, data, sizeof h);
  f.data = data;
  f.section = (const wick_pkg_section *)(f.data + sizeof h);
  f.n = h.section_count;
  return f;
}

static const void *table(const file *f, wick_section_kind kind, size_t row, uint64_t rows) {
  const wick_pkg_section *s = &f->section[kind - 1];
  assert_int_equal(s->kind, kind);
  assert_int_equal(s->size, rows * row);
  return f->data + s->offset;
}
#define TABLE(f, kind, type, rows) ((const type *)table(f, kind, sizeof(type), rows))

static const char *text(const file *f, uint32_t offset) {
  return (const char *)f->data + f->section[WICK_SECTION_STRINGS - 1].offset + offset;
}

static void check_tensor(const file *f, const wick_pkg_tensor *t, const char *name,
                         const wick_pkg_tensor *want) {
  wick_pkg_tensor w = *want;
  assert_string_equal(text(f, t->name), name);
  w.name = t->name;
  assert_memory_equal(t, &w, sizeof w);
}

/* Every figure is one that no other has. */
static const uint8_t bytes_of_code[30];
static const int64_t dims[] = {2, 3}, gaps[] = {7, -2}, none[] = {5, 0};
static const char *const words[] = {"n", "o", "p"};
static const wk_package_labels named = {WICK_LABELS_COLUMNS, WICK_LABELS_NUMBERS, words, 3};
static const wk_package_tensor t[] = {
    {.name = "a", .dtype = WICK_F32, .rank = 2, .dims = dims, .align = 16, .strides = gaps,
     .flags = WICK_TENSOR_BOUND, .place = WICK_PLACE_EDGE, .index = 21, .offset = 22},
    {.name = "b", .dtype = WICK_I64, .rank = 2, .dims = none},
    {.name = "c", .dtype = WICK_I8, .rank = 2, .dims = dims, .labels = &named},
    {.name = "d", .dtype = WICK_BOOL, .rank = 0}};
static const wk_package_step steps[] = {{"n0", "o0", "x0", 2, 31, 32, t, 1},
                                        {"n1", "o1", "x1", 3, 33, 34, t + 1, 2}};
static const uint32_t refs[] = {0, 1, 2, 3}, waits[] = {0, 1};
static const wk_package_row rows[] = {
    {.kind = WICK_ROW_COPY, .tensors = refs, .n_tensors = 2, .bytes = 51, .source_offset = 52,
     .source_step = 53, .destination_offset = 54, .destination_step = 55},
    {.kind = WICK_ROW_RUN, .part = 1, .tensors = refs + 2, .n_tensors = 1, .waits = waits,
     .n_waits = 1},
    {.kind = WICK_ROW_LOOP, .body_count = 56, .else_count = 57, .trip = 58, .tensors = refs + 3,
     .n_tensors = 1, .waits = waits, .n_waits = 2}};

static wk_package *fill(void) {
  wk_package *p = wk_package_new(&(wk_package_meta){"m", "c", "f", 0x1122334455667788});
  uint32_t u0 = wk_package_add_unit(p, &(wk_package_unit){"t0", "s0", "f0", 0, 11});
  uint32_t u1 = wk_package_add_unit(p, &(wk_package_unit){"t1", "s1", "f1", WICK_MACHINE_X86_64,
                                                          12});
  assert_int_equal(wk_package_add_code(p, u1, bytes_of_code, 30), 0);
  assert_int_equal(wk_package_add_code(p, u1, bytes_of_code, 20), 4096);
  wk_package_add_symbol(p, u1, "one", 3, 4);
  wk_package_add_symbol(p, u1, "two", 5, 6);
  assert_int_equal(wk_package_add_const(p, u0, "abc", 3), 0);
  assert_int_equal(wk_package_add_const(p, u0, "defg", 4), 64);
  wk_package_add_section(p, u0, "own", 256, "12345", 5);
  wk_package_add_section(p, u0, "more", 512, "123456", 6);
  const wk_package_state states[] = {{"v", WICK_F64, 2, dims, true, NULL},
                                     {"w", WICK_I8, 2, dims, false, "abcdef"}};
  assert_int_equal(wk_package_add_state(p, &states[0]), 0);
  assert_int_equal(wk_package_add_state(p, &states[1]), 64);
  wk_package_add_part(p, &(wk_package_part){
      .name = "p0", .unit = u0, .inputs = t, .outputs = t + 2, .steps = steps, .n_inputs = 2,
      .n_outputs = 1, .n_steps = 2, .code = 41, .arena_bytes = 43, .arena_bound = 42,
      .scratch_bytes = 44, .arena_align = 128, .state_use = WICK_ENTRY_READS_STATE});
  wk_package_add_part(p, &(wk_package_part){.name = "p1", .unit = u1, .code = 9, .steps = steps,
                                            .n_steps = 1, .inputs = t, .n_inputs = 1,
                                            .state_use = WICK_ENTRY_WRITES_STATE});
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "e0", .inputs = t, .outputs = t + 1, .edges = t + 3, .rows = rows, .n_inputs = 1,
      .n_outputs = 2, .n_edges = 1, .n_rows = 3, .edge_bytes = 61, .edge_align = 2048});
  wk_package_add_whole(p, "e1", 0);
  wk_package_add_entry(p, &(wk_package_entry){.name = "e2", .outputs = t + 2, .n_outputs = 1});
  return p;
}

static void check_meta(const file *f) {
  const wick_pkg_meta *m = TABLE(f, WICK_SECTION_META, wick_pkg_meta, 1);
  assert_int_equal(m->abi, WICK_ABI_VERSION);
  assert_string_equal(text(f, m->model), "m");
  assert_string_equal(text(f, m->compiler), "c");
  assert_string_equal(text(f, m->flags), "f");
  assert_int_equal(m->input_hash, 0x1122334455667788);
}

static void check_sections(const file *f) {
  /* own sections, then what units have, then the states */
  static const struct {
    uint32_t kind, unit, align;
    uint64_t size;
    const char *name;
  } sections[] = {{WICK_SECTION_CONST, 0, 4096, 68, ""},
                  {WICK_SECTION_OWN, 0, 256, 5, "own"},
                  {WICK_SECTION_OWN + 1, 0, 512, 6, "more"},
                  {WICK_SECTION_CODE, 1, 4096, 4116, ""},
                  {WICK_SECTION_STATE, WICK_NONE, 4096, 70, ""}};
  assert_int_equal(f->n, WICK_TABLE_COUNT + WK_COUNTOF(sections));
  for (size_t i = 0; i < WK_COUNTOF(sections); i++) {
    const wick_pkg_section *s = &f->section[WICK_TABLE_COUNT + i];
    assert_int_equal(s->kind, sections[i].kind);
    assert_int_equal(s->unit, sections[i].unit);
    assert_int_equal(s->align, sections[i].align);
    assert_int_equal(s->size, sections[i].size);
    assert_string_equal(text(f, s->name), sections[i].name);
  }
  const uint8_t *consts = f->data + f->section[WICK_TABLE_COUNT].offset;
  assert_memory_equal(consts, "abc\0", 4);
  assert_memory_equal(consts + 64, "defg", 4);
  const uint8_t *initial = f->data + f->section[WICK_TABLE_COUNT + 4].offset;
  for (int i = 0; i < 64; i++) assert_int_equal(initial[i], 0);
  assert_memory_equal(initial + 64, "abcdef", 6);
}

static void check_units(const file *f) {
  const wick_pkg_unit *u = TABLE(f, WICK_SECTION_UNITS, wick_pkg_unit, 2);
  for (int i = 0; i < 2; i++) {
    static const char *const texts[2][3] = {{"t0", "s0", "f0"}, {"t1", "s1", "f1"}};
    assert_string_equal(text(f, u[i].target), texts[i][0]);
    assert_string_equal(text(f, u[i].spec), texts[i][1]);
    assert_string_equal(text(f, u[i].features), texts[i][2]);
    assert_int_equal(u[i].machine, i ? WICK_MACHINE_X86_64 : 0);
    assert_int_equal(u[i].machine_hash, 11 + i);
    assert_int_equal(u[i].first_section, WICK_TABLE_COUNT + (i ? 3 : 0));
    assert_int_equal(u[i].section_count, i ? 1 : 3);
  }
  const wick_pkg_symbol *y = TABLE(f, WICK_SECTION_SYMS, wick_pkg_symbol, 2);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(text(f, y[i].name), i ? "two" : "one");
    assert_int_equal(y[i].unit, 1);
    assert_int_equal(y[i].offset, 3 + 2 * i);
    assert_int_equal(y[i].size, 4 + 2 * i);
  }
}

static void check_tensors(const file *f) {
  /* v, w; a, b, c of p0, a of n0, b and c of n1; a of p1, a of n0; a, b, c, d of e0; c of e2 */
  static const wick_pkg_tensor want[] = {
      {.dtype = WICK_F32, .bits = 32, .rank = 2, .flags = WICK_TENSOR_BOUND,
       .place = WICK_PLACE_EDGE, .align = 16, .index = 21, .offset = 22, .dims = {2, 3},
       .strides = {7, -2}, .bytes = 4 * (7 + 2 * 2 + 1)},
      {.dtype = WICK_I64, .bits = 64, .rank = 2, .align = 8, .dims = {5, 0}, .strides = {0, 1}},
      {.dtype = WICK_I8, .bits = 8, .rank = 2, .align = 1, .dims = {2, 3}, .strides = {3, 1},
       .bytes = 6},
      {.dtype = WICK_BOOL, .bits = 8, .align = 1, .bytes = 1},
      {.dtype = WICK_F64, .bits = 64, .rank = 2, .place = WICK_PLACE_STATE, .align = 64,
       .dims = {2, 3}, .strides = {3, 1}, .bytes = 48},
      {.dtype = WICK_I8, .bits = 8, .rank = 2, .place = WICK_PLACE_STATE, .align = 64,
       .offset = 64, .dims = {2, 3}, .strides = {3, 1}, .bytes = 6}};
  static const char names[] = "abcdvw", order[] = "vwabcabcaaabcdc";
  const wick_pkg_tensor *x = TABLE(f, WICK_SECTION_TENSORS, wick_pkg_tensor, strlen(order));
  for (size_t i = 0; order[i]; i++)
    check_tensor(f, &x[i], (char[]){order[i], 0}, &want[strchr(names, order[i]) - names]);
  const wick_pkg_state *s = TABLE(f, WICK_SECTION_STATES, wick_pkg_state, 2);
  assert_memory_equal(s, ((wick_pkg_state[]){{0, WICK_STATE_PUBLIC}, {1, 0}}), 2 * sizeof *s);
}

static void check_steps(const file *f) {
  const wick_pkg_step *q = TABLE(f, WICK_SECTION_STEPS, wick_pkg_step, 3);
  for (int i = 0; i < 3; i++) {
    bool is_second = i == 1;
    assert_string_equal(text(f, q[i].node), is_second ? "n1" : "n0");
    assert_string_equal(text(f, q[i].op), is_second ? "o1" : "o0");
    assert_string_equal(text(f, q[i].text), is_second ? "x1" : "x0");
    assert_int_equal(q[i].code, is_second ? 3 : 2);
    assert_int_equal(q[i].macs, is_second ? 33 : 31);
    assert_int_equal(q[i].bytes, is_second ? 34 : 32);
    assert_int_equal(q[i].first_tensor, i == 0 ? 5 : i == 1 ? 6 : 9);
    assert_int_equal(q[i].tensor_count, is_second ? 2 : 1);
  }
}

static void check_parts(const file *f) {
  const wick_pkg_part *part = TABLE(f, WICK_SECTION_PARTS, wick_pkg_part, 2);
  const wick_pkg_part parts[] = {
      {.name = part[0].name, .unit = 0, .first_tensor = 2, .input_count = 2, .output_count = 1,
       .first_step = 0, .step_count = 2, .arena_align = 128, .code = 41, .arena_bytes = 43,
       .arena_bound = 42, .scratch_bytes = 44},
      {.name = part[1].name, .unit = 1, .first_tensor = 8, .input_count = 1, .first_step = 2,
       .step_count = 1, .arena_align = 64, .code = 9}};
  assert_string_equal(text(f, part[0].name), "p0");
  assert_string_equal(text(f, part[1].name), "p1");
  assert_memory_equal(part, parts, sizeof parts);
}

static void check_plan(const file *f) {
  const wick_pkg_row *r = TABLE(f, WICK_SECTION_PLAN, wick_pkg_row, 4);
  const uint32_t *ref = TABLE(f, WICK_SECTION_REFS, uint32_t, 16);
  const wick_pkg_row plan[] = {
      {.kind = WICK_ROW_COPY, .first_ref = 0, .ref_count = 2, .first_wait = 2, .bytes = 51,
       .source_offset = 52, .source_step = 53, .destination_offset = 54, .destination_step = 55},
      {.kind = WICK_ROW_RUN, .part = 1, .first_ref = 2, .ref_count = 1, .first_wait = 3,
       .wait_count = 1},
      {.kind = WICK_ROW_LOOP, .first_ref = 4, .ref_count = 1, .first_wait = 5, .wait_count = 2,
       .body_count = 56, .else_count = 57, .trip = 58},
      {.kind = WICK_ROW_RUN, .first_ref = 10, .ref_count = 3, .first_wait = 13}};
  assert_memory_equal(r, plan, sizeof plan);
  static const uint32_t numbers[] = {0, 1, 2, 0, 3, 0, 1};
  assert_memory_equal(ref, numbers, sizeof numbers);
  assert_memory_equal(ref + 10, ((uint32_t[]){0, 1, 2}), 3 * sizeof *ref);

  const wick_pkg_labels *labels = TABLE(f, WICK_SECTION_LABELS, wick_pkg_labels, 2);
  for (uint32_t i = 0; i < 2; i++) {
    const wick_pkg_labels w = {.entry = 2 * i, .output = i ? 0 : 1, .kind = WICK_LABELS_COLUMNS,
                               .flags = WICK_LABELS_NUMBERS, .first_ref = i ? 13 : 7, .count = 3};
    assert_memory_equal(&labels[i], &w, sizeof w);
    for (uint32_t k = 0; k < 3; k++)
      assert_string_equal(text(f, ref[w.first_ref + k]), words[k]);
  }
}

static void check_entries(const file *f) {
  const wick_pkg_entry *e = TABLE(f, WICK_SECTION_ENTRIES, wick_pkg_entry, 3);
  const wick_pkg_entry entries[] = {
      {.name = e[0].name, .flags = WICK_ENTRY_WRITES_STATE, .first_tensor = 10, .input_count = 1,
       .output_count = 2, .edge_count = 1, .first_row = 0, .row_count = 3, .edge_bytes = 61,
       .edge_align = 2048},
      {.name = e[1].name, .flags = WICK_ENTRY_READS_STATE, .first_tensor = 2, .input_count = 2,
       .output_count = 1, .first_row = 3, .row_count = 1, .edge_align = 64},
      {.name = e[2].name, .first_tensor = 14, .output_count = 1, .first_row = 4,
       .edge_align = 64}};
  for (int i = 0; i < 3; i++)
    assert_string_equal(text(f, e[i].name), ((const char *[]){"e0", "e1", "e2"})[i]);
  assert_memory_equal(e, entries, sizeof entries);
}

static void rows_are_as_they_were_added(void **state) {
  (void)state;
  wk_package *p = fill();
  file f = write_out(p);
  check_meta(&f);
  check_sections(&f);
  check_units(&f);
  check_tensors(&f);
  check_steps(&f);
  check_parts(&f);
  check_plan(&f);
  check_entries(&f);
  free(f.data);
  wk_package_free(p);
}

static void extents_are_as_they_were_added(void **state) {
  (void)state;
  wk_package *p = make(&fits);
  file f = write_out(p);
  const wick_pkg_extent *x = TABLE(&f, WICK_SECTION_EXTENTS, wick_pkg_extent, 3);
  const wick_pkg_extent want[] = {
      {.entry = 2, .tensor = 0, .axis = 0, .size = 3, .stage = 4, .name = x->name},
      {.entry = 2, .tensor = 0, .axis = 1, .size = 3, .stage = 4, .name = x->name, .least = 3},
      {.entry = 2, .tensor = 2, .axis = 0, .size = 3, .stage = WICK_NONE, .name = x->name}};
  assert_memory_equal(x, want, sizeof want);
  assert_string_equal(text(&f, x->name), "n");
  free(f.data);
  wk_package_free(p);
}

/* Zeros of more than a page between others; those behind the last are not there. */
static void zeros_are_written(void **state) {
  (void)state;
  static const int64_t three[] = {3}, many[] = {4096}, more[] = {9001};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "zeros"});
  uint32_t u = wk_package_add_unit(p, &(wk_package_unit){.target = "t"});
  const wk_package_state states[] = {{"a", WICK_I8, 1, three, true, "abc"},
                                     {"b", WICK_I8, 1, many, true, NULL},
                                     {"c", WICK_I8, 1, three, true, "def"},
                                     {"d", WICK_I8, 1, more, true, NULL}};
  static const uint64_t at[] = {0, 64, 64 + 4096, 128 + 4096};
  for (size_t i = 0; i < WK_COUNTOF(states); i++)
    assert_int_equal(wk_package_add_state(p, &states[i]), at[i]);
  wk_package_add_whole(p, "", wk_package_add_part(p, &(wk_package_part){.unit = u}));
  file f = write_out(p);
  const wick_pkg_section *s = &f.section[f.n - 1];
  assert_int_equal(s->kind, WICK_SECTION_STATE);
  assert_int_equal(s->size, at[2] + 3);
  assert_int_equal(s->offset % WICK_PAGE, 0);
  const uint8_t *bytes = f.data + s->offset;
  for (uint64_t i = 0; i < s->size; i++) {
    bool is_third = i >= at[2] && i < at[2] + 3;
    uint8_t want = i < 3 ? (uint8_t)"abc"[i] : is_third ? (uint8_t)"def"[i - at[2]] : 0;
    if (bytes[i] != want) fail_msg("byte %d", (int)i);
  }
  free(f.data);
  wk_package_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_figure_has_its_limit),
                                     cmocka_unit_test(tables_have_a_limit),
                                     cmocka_unit_test(rows_are_as_they_were_added),
                                     cmocka_unit_test(extents_are_as_they_were_added),
                                     cmocka_unit_test(zeros_are_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
