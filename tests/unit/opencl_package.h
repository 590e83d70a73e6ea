/* SPDX-License-Identifier: Apache-2.0
 * A package of one OpenCL unit with kernels by hand, for test_opencl_device.c. All tensors are of
 * OCL_N floats, where nothing else is said. Parts, each an entry:
 *   sum     (a, b): t = a + b, in the arena; y = t + c, where c is a constant: 0 .. 23, then 0
 *   until   (x): y = x; at most 100 times, as long as y[0] < 5: y += 1, i64 z[0] = how often before
 *   branch  (x): if x[0] < 5 then y = x + 1 else y = x + x
 *   scan    (x): OCL_ROWS times, i = 0, …: y[i, :] = x + i, of OCL_ROWS rows
 *   half    (x): y = x, and then the even elements of y, an edge with gaps, are twice those of x
 *   small   (x, e of no elements): bool[1] w = x[0] + 1 < 5; v, of no elements
 * "chain" has two of them: y, z = until(sum(a, b)). */
#ifndef WICK_TESTS_OPENCL_PACKAGE_H
#define WICK_TESTS_OPENCL_PACKAGE_H

#include <stdlib.h>
#include <string.h>

#include "compiler/package/package.h"
#include "runtime/opencl/plan.h"

enum { OCL_N = 64, OCL_ROWS = 3, OCL_BYTES = OCL_N * 4 };
enum { OCL_SUM, OCL_UNTIL, OCL_BRANCH, OCL_SCAN, OCL_HALF, OCL_CHAIN, OCL_SMALL, OCL_ENTRIES };

#define OCL_KERNEL(name, doc, args, body)                                                   \
  "// " doc "\n"                                                                            \
  "__kernel __attribute__((reqd_work_group_size(16, 1, 1)))\nvoid " name "(" args ") {\n"   \
  "  const long i = get_global_id(0);\n  " body "\n}\n"
#define OCL_F(p, o) "((__global float *)(" p " + " o "))"
static const char ocl_source[] =
    OCL_KERNEL("k0", "nodes: add", "__global char *a, __global char *b, __global char *y, "
               "long oa, long ob, long oy",
               OCL_F("y", "oy") "[i] = " OCL_F("a", "oa") "[i] + " OCL_F("b", "ob") "[i];")
    OCL_KERNEL("k1", "nodes: copy, copy2", "__global char *a, __global char *y, long oa, long oy",
               OCL_F("y", "oy") "[i] = " OCL_F("a", "oa") "[i];")
    OCL_KERNEL("k2", "nodes: less", "__global char *a, __global char *y, long oa, long oy",
               "if (i == 0) (y + oy)[0] = " OCL_F("a", "oa") "[0] < 5;")
    OCL_KERNEL("k3", "nodes: plus", "__global char *a, __global char *n, long oa, long on",
               OCL_F("a", "oa") "[i] += n ? (float)*(__global long *)(n + on) : 1.0f;")
    OCL_KERNEL("k4", "nodes: half", "__global char *a, __global char *y, long oa, long oy",
               OCL_F("y", "oy") "[2 * i] = 2 * " OCL_F("a", "oa") "[2 * i];");

static const wick_cl_needs ocl_needs = {
    .version = WICK_CL_VERSION, .kernel_count = 5, .base_align = 1024, .max_group = 16,
    .max_items = {16, 1, 1}, .arena_bytes = 4096, .largest = 4096};

enum { B_A, B_B, B_Y, B_T, B_C, B_HALF, B_Z, B_ROWS, B_SMALL, B_I, B_E, B_W };
static const wick_cl_buffer ocl_buffers[] = {
    [B_A] = {WICK_CL_INPUT, 0, 0, OCL_BYTES},
    [B_B] = {WICK_CL_INPUT, 1, 0, OCL_BYTES},
    [B_Y] = {WICK_CL_OUTPUT, 0, 0, OCL_BYTES},
    [B_T] = {WICK_CL_ARENA, 0, 1024, OCL_BYTES},
    [B_C] = {WICK_CL_CONST, 0, 64, OCL_BYTES},
    [B_HALF] = {WICK_CL_OUTPUT, 0, 0, OCL_BYTES - 4},
    [B_Z] = {WICK_CL_OUTPUT, 1, 0, 8},
    [B_ROWS] = {WICK_CL_OUTPUT, 0, 0, OCL_ROWS * OCL_BYTES},
    [B_SMALL] = {WICK_CL_ARENA, 0, 2048, 16},
    [B_I] = {WICK_CL_ARENA, 0, 3072, 8},
    [B_E] = {WICK_CL_INPUT, 1, 0, 0},
    [B_W] = {WICK_CL_OUTPUT, 0, 0, 1},
};

#define OCL_NONE {.buffer = WICK_NONE}
static const wick_cl_arg ocl_args[] = {
    /* sum: 0 */ {.buffer = B_A}, {.buffer = B_B}, {.buffer = B_T},
    {.buffer = B_T}, {.buffer = B_C}, {.buffer = B_Y},
    /* until: 6 */ {.buffer = B_A}, {.buffer = B_Y},
    {.buffer = B_A}, {.buffer = B_SMALL, .offset = 3},
    {.buffer = B_SMALL, .offset = 3}, {.buffer = B_Z},
    {.buffer = B_Y}, OCL_NONE,
    {.buffer = B_Y}, {.buffer = B_SMALL, .offset = 3},
    /* branch: 16 */ {.buffer = B_SMALL, .offset = 3},
    {.buffer = B_A}, {.buffer = B_A}, {.buffer = B_Y},
    /* scan: 20 */ OCL_NONE, {.buffer = B_I},
    {.buffer = B_A}, {.buffer = B_ROWS, .step = OCL_BYTES},
    {.buffer = B_ROWS, .step = OCL_BYTES}, {.buffer = B_I},
    /* half: 26 */ {.buffer = B_A}, {.buffer = B_HALF},
    /* small: 28 */ {.buffer = B_A}, {.buffer = B_T}, {.buffer = B_T}, {.buffer = B_E},
    {.buffer = B_T}, {.buffer = B_W},
};

#define OCL_RUN(number, first, count)                                                          \
  {.kind = WICK_CL_RUN, .kernel = number, .first_arg = first, .arg_count = count,             \
   .global = {OCL_N, 1, 1}, .local = {16, 1, 1}}
static const wick_cl_launch ocl_launches[] = {
    /* sum: 0 */ OCL_RUN(0, 0, 3), OCL_RUN(0, 3, 3),
    /* until: 2 */ OCL_RUN(1, 6, 2), OCL_RUN(2, 8, 2),
    {.kind = WICK_CL_LOOP, .first_arg = 10, .arg_count = 2, .body_count = 2, .trip = 100},
    OCL_RUN(3, 12, 2), OCL_RUN(2, 14, 2),
    /* branch: 7 */ OCL_RUN(2, 8, 2),
    {.kind = WICK_CL_IF, .first_arg = 16, .arg_count = 1, .body_count = 2, .else_count = 1},
    OCL_RUN(1, 6, 2), OCL_RUN(3, 12, 2), OCL_RUN(0, 17, 3),
    /* scan: 12 */
    {.kind = WICK_CL_LOOP, .first_arg = 20, .arg_count = 2, .body_count = 2, .trip = OCL_ROWS},
    OCL_RUN(1, 22, 2), OCL_RUN(3, 24, 2),
    /* half: 15 */
    {.kind = WICK_CL_RUN, .kernel = 4, .first_arg = 26, .arg_count = 2,
     .global = {OCL_N / 2, 1, 1}, .local = {16, 1, 1}},
    /* small: 16 */ OCL_RUN(1, 28, 2), OCL_RUN(3, 30, 2), OCL_RUN(2, 32, 2),
};

static const wick_cl_step ocl_steps[] = {{0, 1}, {1, 1}, {2, 1}, {3, 4}, {7, 5}, {12, 3}, {15, 1},
                                         {16, 3}};

/* The sections, which a test may change before it makes a package of them. */
typedef struct {
  wick_cl_needs needs;
  wick_cl_buffer buffers[sizeof ocl_buffers / sizeof *ocl_buffers];
  wick_cl_arg args[sizeof ocl_args / sizeof *ocl_args];
  wick_cl_launch launches[sizeof ocl_launches / sizeof *ocl_launches];
  wick_cl_step steps[sizeof ocl_steps / sizeof *ocl_steps];
  char source[sizeof ocl_source + 2048];
  uint64_t code; /* of the first part */
  const char *spec;
  const char *cut; /* a section that ends after cut_bytes; NULL: none */
  size_t cut_bytes;
} ocl_plan;

static inline void ocl_fill(ocl_plan *p) {
  memset(p, 0, sizeof *p);
  p->needs = ocl_needs;
  p->spec = "";
  memcpy(p->buffers, ocl_buffers, sizeof ocl_buffers);
  memcpy(p->args, ocl_args, sizeof ocl_args);
  memcpy(p->launches, ocl_launches, sizeof ocl_launches);
  memcpy(p->steps, ocl_steps, sizeof ocl_steps);
  memcpy(p->source, ocl_source, sizeof ocl_source);
}

static const int64_t ocl_dims[] = {OCL_N}, ocl_half_dims[] = {OCL_N / 2}, ocl_gaps[] = {2},
                     ocl_rows_dims[] = {OCL_ROWS, OCL_N}, ocl_few[] = {0, 1};

static inline wk_package_tensor ocl_tensor(const char *name) {
  return (wk_package_tensor){.name = name, .dtype = WICK_F32, .rank = 1, .dims = ocl_dims};
}

static inline wk_package_tensor ocl_number(const char *name) {
  return (wk_package_tensor){.name = name, .dtype = WICK_I64};
}

static inline wk_package_tensor ocl_rows(const char *name) {
  return (wk_package_tensor){.name = name, .dtype = WICK_F32, .rank = 2, .dims = ocl_rows_dims};
}

static inline wk_package_tensor ocl_half(const char *name, uint32_t place) {
  return (wk_package_tensor){.name = name, .dtype = WICK_F32, .rank = 1, .dims = ocl_half_dims,
                             .strides = ocl_gaps, .place = place};
}

/* The bool `w`, or floats of which there are none. */
static inline wk_package_tensor ocl_small(const char *name) {
  bool is_bool = *name == 'w';
  return (wk_package_tensor){.name = name, .dtype = is_bool ? WICK_BOOL : WICK_F32, .rank = 1,
                             .dims = &ocl_few[is_bool]};
}

/* A part of `steps` steps from number *code on; each of them leaves `left`. */
static inline uint32_t ocl_add_part(wk_package *p, const char *name, uint64_t *code,
                                    const wk_package_tensor *io, size_t n_in, size_t n_out,
                                    const wk_package_tensor *left, size_t n_steps) {
  wk_package_step steps[2];
  for (size_t i = 0; i < n_steps; i++)
    steps[i] = (wk_package_step){.node = name, .op = name, .text = name, .code = *code + i,
                                 .tensors = &left[i], .n_tensors = 1};
  uint32_t part = wk_package_add_part(p, &(wk_package_part){
      .name = name, .unit = 0, .inputs = io, .n_inputs = n_in, .outputs = io + n_in,
      .n_outputs = n_out, .steps = steps, .n_steps = n_steps, .code = *code, .arena_bytes = 4096,
      .arena_bound = 4096});
  *code += n_steps;
  return part;
}

/* What a step leaves in output `index`, or where else. */
static inline wk_package_tensor ocl_left(wk_package_tensor t, uint32_t place, uint32_t index,
                                         int64_t offset) {
  t.place = place;
  t.index = index;
  t.offset = offset;
  return t;
}

static inline void ocl_add_half(wk_package *p, uint32_t part) {
  const wk_package_tensor x = ocl_tensor("x"), y = ocl_tensor("y");
  const wk_package_tensor edge = ocl_half("even", WICK_PLACE_OUTPUT);
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_COPY, .tensors = (const uint32_t[]){0, 1}, .n_tensors = 2,
       .bytes = OCL_BYTES},
      {.kind = WICK_ROW_RUN, .part = part, .tensors = (const uint32_t[]){0, 2}, .n_tensors = 2,
       .waits = (const uint32_t[]){0}, .n_waits = 1}};
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "half", .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1, .edges = &edge,
      .n_edges = 1, .rows = rows, .n_rows = 2});
}

static inline void ocl_add_chain(wk_package *p, uint32_t sum, uint32_t until) {
  const wk_package_tensor io[] = {ocl_tensor("a"), ocl_tensor("b"), ocl_tensor("y"),
                                  ocl_number("z")};
  const wk_package_tensor edge = ocl_left(ocl_tensor("e"), WICK_PLACE_EDGE, 0, 0);
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_RUN, .part = sum, .tensors = (const uint32_t[]){0, 1, 4}, .n_tensors = 3},
      {.kind = WICK_ROW_RUN, .part = until, .tensors = (const uint32_t[]){4, 2, 3},
       .n_tensors = 3, .waits = (const uint32_t[]){0}, .n_waits = 1}};
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "chain", .inputs = io, .n_inputs = 2, .outputs = io + 2, .n_outputs = 2,
      .edges = &edge, .n_edges = 1, .edge_bytes = OCL_BYTES, .rows = rows, .n_rows = 2});
}

static inline void ocl_add_parts(wk_package *p, uint64_t code) {
  const wk_package_tensor x = ocl_tensor("x"), y = ocl_tensor("y"), z = ocl_number("z"),
                          rows = ocl_rows("y"), half = ocl_half("y", WICK_PLACE_CALLER);
  const wk_package_tensor sum_left[] = {ocl_left(x, WICK_PLACE_ARENA, 0, 1024),
                                        ocl_left(y, WICK_PLACE_OUTPUT, 0, 0)};
  const wk_package_tensor left[] = {ocl_left(y, WICK_PLACE_OUTPUT, 0, 0),
                                    ocl_left(z, WICK_PLACE_OUTPUT, 1, 0)};
  const wk_package_tensor row_left = ocl_left(rows, WICK_PLACE_OUTPUT, 0, 0),
                          half_left = ocl_left(half, WICK_PLACE_OUTPUT, 0, 0);
  const wk_package_tensor ab[] = {x, x, y}, xyz[] = {x, y, z}, xrows[] = {x, rows},
                          xhalf[] = {x, half};
  uint32_t sum = ocl_add_part(p, "sum", &code, ab, 2, 1, sum_left, 2);
  uint32_t until = ocl_add_part(p, "until", &code, xyz, 1, 2, left, 2);
  uint32_t branch = ocl_add_part(p, "branch", &code, xyz, 1, 1, left, 1);
  uint32_t scan = ocl_add_part(p, "scan", &code, xrows, 1, 1, &row_left, 1);
  uint32_t even = ocl_add_part(p, "half", &code, xhalf, 1, 1, &half_left, 1);
  wk_package_add_whole(p, "sum", sum);
  wk_package_add_whole(p, "until", until);
  wk_package_add_whole(p, "branch", branch);
  wk_package_add_whole(p, "scan", scan);
  ocl_add_half(p, even);
  ocl_add_chain(p, sum, until);
  const wk_package_tensor small[] = {x, ocl_small("e"), ocl_small("w"), ocl_small("v")},
                          small_left = ocl_left(small[2], WICK_PLACE_OUTPUT, 0, 0);
  wk_package_add_whole(p, "small", ocl_add_part(p, "small", &code, small, 2, 2, &small_left, 1));
}

/* A package with these sections, which stay as they are until it is freed. */
static inline wk_package *ocl_package(const ocl_plan *plan) {
  static const float constants[16 + OCL_N] = {
      [16] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "by hand"});
  uint32_t u = wk_package_add_unit(p, &(wk_package_unit){.target = "opencl", .spec = plan->spec});
  wk_package_add_const(p, u, constants, sizeof constants);
  const struct {
    const char *name;
    const void *data;
    size_t size;
  } sections[] = {
      {"source", plan->source, strlen(plan->source)},
      {"needs", &plan->needs, sizeof plan->needs},
      {"buffers", plan->buffers, sizeof plan->buffers},
      {"args", plan->args, sizeof plan->args},
      {"launches", plan->launches, sizeof plan->launches},
      {"steps", plan->steps, sizeof plan->steps},
  };
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    wk_package_add_section(p, u, sections[i].name, 64, sections[i].data,
                           plan->cut && !strcmp(plan->cut, sections[i].name) ? plan->cut_bytes
                                                                             : sections[i].size);
  ocl_add_parts(p, plan->code);
  return p;
}

#endif
