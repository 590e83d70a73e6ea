/* SPDX-License-Identifier: Apache-2.0
 * made programs: instructions through targets. A cell is of the program as the target has rewritten
 * and placed it and of the LLVM IR or of OpenCL C and the package. */
#include "tests/checksums/made_layers.h"
#include "tests/checksums/made_machines.h"
#include "tests/unit/program_cases.h"
#include "tests/unit/program_conv_cases.h"

enum { MOST_WEIGHTS = 1 << 18 }; /* larger ones are inputs */

/* ---- layers ---------------------------------------------------------------------------------- */

static wk_view image(wk_program *p, wk_region region, bool is_first, wk_dtype type, int64_t n,
                     int64_t c, int64_t h, int64_t w) {
  if (is_first) return bound(p, region, SHAPE(type, n, c, h, w));
  return NHWC(bound(p, region, SHAPE(type, n, h, w, c)));
}

static wk_view weights(wk_program *p, int64_t count, wk_shape_text shape) {
  return count > MOST_WEIGHTS ? bound(p, WK_REGION_INPUT, shape) : constant(p, shape);
}

static wk_program *conv_program(const made_conv *v, size_t number) {
  wk_program *p = wk_program_new(v->name);
  const int64_t ph = v->kh > 1 ? v->pad : 0, pw = v->kw > 1 ? v->pad : 0, cin = v->cin / v->group;
  int64_t oh = (v->h + 2 * ph - (v->kh - 1) * v->dilation - 1) / v->stride + 1;
  int64_t ow = (v->w + 2 * pw - (v->kw - 1) * v->dilation - 1) / v->stride + 1;
  bool is_int = number % 3 == 1, is_first = number % 5 == 0;
  wk_dtype x_type = is_int ? WK_U8 : WK_F32, y_type = is_int ? WK_I32 : WK_F32;
  wk_view y = image(p, WK_REGION_OUTPUT, is_first, y_type, v->n, v->cout, oh, ow);
  wk_view x = image(p, WK_REGION_INPUT, is_first, x_type, v->n, v->cin, v->h, v->w);
  wk_view w = weights(p, v->cout * cin * v->kh * v->kw,
                      SHAPE(is_int ? WK_I8 : WK_F32, v->cout, cin, v->kh, v->kw));
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, y, x, w, CONST(p, y_type, v->cout));
  set_conv(p, i, (conv_shape){v->stride, 0, v->dilation, v->group},
           is_int ? NULL : "max(%0, 0.0f32)", 1);
  ((wk_attr_conv *)i->attrs)->pads = wk_ints_dup(p->arena, (int64_t[]){ph, pw, ph, pw}, 4);
  return p;
}

static wk_program *product_program(const made_product *v, size_t number) {
  wk_program *p = wk_program_new(v->name);
  const wk_dtype type = number % 4 == 3 ? WK_F16 : WK_F32;
  int64_t batch = v->batch ? v->batch : 1;
  wk_view y = OUT(p, type, batch, v->m, v->n), a = IN(p, type, batch, v->m, v->k);
  wk_view b = v->batch         ? bound(p, WK_REGION_INPUT,
                                       v->is_transposed ? SHAPE(type, batch, v->n, v->k)
                                                        : SHAPE(type, batch, v->k, v->n))
              : v->is_transposed ? weights(p, v->k * v->n, SHAPE(type, 1, v->n, v->k))
                                 : weights(p, v->k * v->n, SHAPE(type, 1, v->k, v->n));
  append(p, WK_OP_MATMUL, 1, 3, y, a, v->is_transposed ? PERM(b, 0, 2, 1) : b);
  return p;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* What the tails, strips and tasks of loops follow from. */
static const struct {
  int64_t outer, inner;
  wk_dtype type;
  const char *body;
} loops[] = {{1, 1, WK_F32, "mul(sub(%0, %1), %2)"},
             {1, 1000003, WK_F32, "mul(sub(%0, %1), %2)"},
             {3, 17, WK_F16, "f16(mul(sub(f32(%0), f32(%1)), f32(%2)))"},
             {64, 197, WK_F32, "tanh(mul(sub(%0, %1), %2))"},
             {1000, 7, WK_F32, "div(exp(%0), add(%1, %2))"},
             {12, 4096, WK_BF16, "bf16(max(f32(%0), mul(f32(%1), f32(%2))))"},
             {50000, 3, WK_F32, "select(lt(%0, %1), %1, %2)"},
             {128, 768, WK_F32, "mul(%0, erf(mul(sub(%0, %1), %2)))"},
             {2, 100000, WK_F64, "log(add(mul(%0, %1), %2))"},
             {777, 33, WK_I32, "add(mul(%0, %1), %2)"},
             {9, 12345, WK_I8, "min(max(%0, %1), %2)"},
             {4096, 64, WK_F32, "sqrt(add(mul(%0, %0), mul(%1, %2)))"}};

/* A map with a broadcast row and column, sums along either axis, the largest of each row. */
static wk_program *loop_program(size_t number) {
  wk_program *p = wk_program_new("loops");
  const int64_t m = loops[number].outer, n = loops[number].inner;
  const wk_dtype t = loops[number].type, types[] = {t, t, t};
  wk_view y = OUT(p, t, m, n), x = IN(p, t, m, n), row = IN(p, t, n), column = IN(p, t, m, 1);
  wk_inst *i = append(p, WK_OP_MAP, 1, 4, y, x, broadcast(row, &y), broadcast(column, &y));
  ((wk_attr_map *)i->attrs)->body = expression(p, loops[number].body, 3, types);
  static const char *const kinds[] = {"sum", "max", "sum"};
  for (int k = 0; k < 3; k++) {
    int64_t axis = k == 2 ? 0 : 1;
    wk_view out = axis ? OUT(p, t, m, 1) : OUT(p, t, 1, n), space = out;
    space.dims[axis] = axis ? n : m;
    space.strides[axis] = 0;
    i = append(p, WK_OP_REDUCE, 1, 2, space, x);
    wk_attr_reduce *a = i->attrs;
    a->kind = kinds[k];
    a->axes = wk_ints_fill(p->arena, 1, axis);
  }
  wk_view turned = OUT(p, t, n, m);
  append(p, WK_OP_COPY, 1, 2, turned, PERM(x, 1, 0));
  return p;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void emit_cases(made_table *t, const made_place *place, const program_case *c) {
  for (; c->name; c++) {
    made_row(t, c->name);
    for (size_t i = 0; i < MADE_MACHINES; i++) made_program(t, place, i, program_case_build(c));
  }
}

void made_programs(made_table *t) {
  made_place place;
  made_open(&place);
  emit_cases(t, &place, program_cases);
  emit_cases(t, &place, conv_cases);
  for (size_t k = 0; k < WK_COUNTOF(made_convs); k++) {
    made_row(t, made_convs[k].name);
    for (size_t i = 0; i < MADE_MACHINES; i++)
      made_program(t, &place, i, conv_program(&made_convs[k], k));
  }
  for (size_t k = 0; k < WK_COUNTOF(made_products); k++) {
    made_row(t, made_products[k].name);
    for (size_t i = 0; i < MADE_MACHINES; i++)
      made_program(t, &place, i, product_program(&made_products[k], k));
  }
  for (size_t k = 0; k < WK_COUNTOF(loops); k++) {
    char name[64];
    snprintf(name, sizeof name, "loops-%dx%d-%s", (int)loops[k].outer, (int)loops[k].inner,
             wk_dtype_name(loops[k].type));
    made_row(t, name);
    for (size_t i = 0; i < MADE_MACHINES; i++) made_program(t, &place, i, loop_program(k));
  }
  made_close(&place);
}
