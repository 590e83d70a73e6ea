/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/probe.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/package/program.h"
#include "compiler/lower/lower.h"

/* Every sum is of integers that are less than 2^11, which halves hold. */
enum { ROWS = 48, COLUMNS = 40, DEPTH = 160, BASE = 7, STEP_A = 3, STEP_B = 5 };

static const struct {
  wk_dtype a, b, y;
} kinds[] = {{WK_F16, WK_F16, WK_F16}, {WK_BF16, WK_BF16, WK_BF16}, {WK_I8, WK_I8, WK_I32},
             {WK_I8, WK_U8, WK_I32},   {WK_U8, WK_I8, WK_I32},      {WK_U8, WK_U8, WK_I32}};

/* Small integers; bf16 holds sums of these below 2^8 alone, so that its are few. */
static int64_t element(wk_dtype t, int64_t i, int step) {
  int64_t n = i * step % BASE;
  if (t == WK_BF16) return n == 0;
  return t == WK_U8 ? n : n - BASE / 2;
}

static wk_view operand(wk_program *p, wk_region region, wk_dtype t, int64_t rows, int64_t columns) {
  int64_t dims[2] = {rows, columns};
  wk_type type = wk_type_make(t, 2, dims);
  wk_buffer b = {.name = "", .region = region, .size = wk_type_bytes(&type), .align = WICK_ALIGN};
  if (region == WK_REGION_CONST) {
    void *data = wk_arena_alloc(p->arena, (size_t)b.size);
    for (int64_t i = 0; i < rows * columns; i++) {
      if (wk_dtype_is_float(t)) wk_store_f64(data, t, i, (double)element(t, i, STEP_B));
      else wk_store_i64(data, t, i, element(t, i, STEP_B));
    }
    b.data = data;
  }
  wk_program_io x = {.type = type, .buffer = wk_program_buffer(p, &b), .name = ""};
  if (region == WK_REGION_INPUT) wk_vec_push(&p->inputs, x);
  if (region == WK_REGION_OUTPUT) wk_vec_push(&p->outputs, x);
  return wk_view_dense(x.buffer, &type,
                       region == WK_REGION_OUTPUT ? WK_ROLE_OUT : WK_ROLE_IN);
}

static wk_program *product(size_t kind) {
  wk_program *p = wk_program_new("probe");
  wk_inst *i = wk_inst_new(p, WK_OP_MATMUL, "probe", 1, 3);
  i->operands[0] = operand(p, WK_REGION_OUTPUT, kinds[kind].y, ROWS, COLUMNS);
  i->operands[1] = operand(p, WK_REGION_INPUT, kinds[kind].a, ROWS, DEPTH);
  i->operands[2] = operand(p, WK_REGION_CONST, kinds[kind].b, DEPTH, COLUMNS);
  wk_block_append(&p->body, i);
  return p;
}

static bool is_right(size_t kind, const void *y) {
  for (int64_t r = 0; r < ROWS; r++)
    for (int64_t c = 0; c < COLUMNS; c++) {
      int64_t sum = 0;
      for (int64_t k = 0; k < DEPTH; k++)
        sum += element(kinds[kind].a, r * DEPTH + k, STEP_A) *
               element(kinds[kind].b, k * COLUMNS + c, STEP_B);
      if (wk_load_f64(y, kinds[kind].y, r * COLUMNS + c) != (double)sum) return false;
    }
  return true;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool run(const wick_model *model, size_t kind) {
  wick_session *session = NULL;
  void *a = aligned_alloc(WICK_ALIGN, ROWS * DEPTH * 2);
  void *y = aligned_alloc(WICK_ALIGN, ROWS * COLUMNS * 4);
  bool ok = a && y && wick_session_create(model, (uint32_t)kind, 1, &session) == WICK_OK;
  wk_dtype t = kinds[kind].a;
  for (int64_t i = 0; ok && i < ROWS * DEPTH; i++) {
    if (wk_dtype_is_float(t)) wk_store_f64(a, t, i, (double)element(t, i, STEP_A));
    else wk_store_i64(a, t, i, element(t, i, STEP_A));
  }
  const void *inputs[] = {a};
  void *outputs[] = {y};
  ok = ok && wick_session_run(session, inputs, outputs) == WICK_OK && is_right(kind, y);
  wick_session_free(session);
  free(a);
  free(y);
  return ok;
}

static bool run_all(const void *data, size_t size) {
  wick_model *model = NULL;
  bool ok = wick_model_load_memory(data, size, NULL, &model) == WICK_OK;
  for (size_t k = 0; k < WK_COUNTOF(kinds) && ok; k++) ok = run(model, k);
  wick_model_free(model);
  return ok;
}

/* A package with an entry for each kind. */
static wk_status build(const wk_opencl *d, void **data, size_t *size) {
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "probe", .compiler = "",
                                                      .flags = ""});
  wk_target_part parts[WK_COUNTOF(kinds)] = {0};
  uint32_t rows[WK_COUNTOF(kinds)];
  wk_emit_result result;
  const wk_emit_options o = {.model_name = "probe", .command = ""};
  static const char *const names[] = {"0", "1", "2", "3", "4", "5"};
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++)
    parts[k] = (wk_target_part){.name = names[k], .program = product(k)};
  wk_status s = wk_cl_compile(d, parts, WK_COUNTOF(kinds), &o, pkg, rows, &result);
  for (size_t k = 0; k < WK_COUNTOF(kinds) && !s; k++) wk_package_add_whole(pkg, names[k], rows[k]);
  if (!s) s = wk_package_bytes(pkg, data, size);
  wk_package_free(pkg);
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++)
    wk_program_free((wk_program *)(uintptr_t)parts[k].program);
  return s;
}

bool wk_cl_probe_matrix(const wick_opencl_info *list, uint32_t index) {
  wk_opencl d = {.base = {.target = &wk_target_opencl}, .info = list[index], .family = WK_CL_GPU,
                 .tune_seconds = -1};
  void *data = NULL;
  size_t size = 0;
  d.info.has_matrix = 1;
  wick_opencl_spec(list, index, d.spec, sizeof d.spec);
  d.base.spec = d.spec;
  wk_status s = build(&d, &data, &size);
  bool ok = !s && run_all(data, size);
  wk_status_free(s);
  free(data);
  return ok;
}
