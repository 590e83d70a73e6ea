/* SPDX-License-Identifier: Apache-2.0
 * made near: on both sides of limits that targets have for what they make of an instruction, and
 * near misses of forms that they know. */
#include "tests/checksums/made_machines.h"
#include "tests/unit/program_requant.h"

/* ---- products -------------------------------------------------------------------------------- */

static wk_inst *conv(wk_program *p, wk_view y, wk_view x, wk_view w, int64_t pad, int64_t group) {
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, y, x, w);
  set_conv(p, i, (conv_shape){1, pad, 1, group}, NULL, 0);
  return i;
}

/* Images of few channels, that lie by planes. */
static void few_channels(wk_program *p, int64_t n) {
  conv(p, NHWC(OUT(p, WK_F32, 1, 9, 10, 12)), IN(p, WK_F32, 1, n, 9, 10),
       CONST(p, WK_F32, 12, n, 3, 3), 1, 1);
  conv(p, NHWC(OUT(p, WK_F32, 1, 7, 8, 12)), NHWC(IN(p, WK_F32, 1, 9, 10, n)),
       CONST(p, WK_F32, 12, n, 3, 3), 0, 1);
}

static void few_outputs(wk_program *p, int64_t n) {
  conv(p, NHWC(OUT(p, WK_F32, 1, 9, 10, n)), NHWC(IN(p, WK_F32, 1, 9, 10, 16)),
       CONST(p, WK_F32, n, 16, 3, 3), 1, 1);
  conv(p, NHWC(OUT(p, WK_F32, 1, 9, 10, 2 * n)), NHWC(IN(p, WK_F32, 1, 9, 10, 16)),
       CONST(p, WK_F32, 2 * n, 8, 3, 3), 1, 2);
}

/* A window for each channel; then as many channels more, of the other order, of bytes. */
static void depthwise(wk_program *p, int64_t n) {
  conv(p, NHWC(OUT(p, WK_F32, 2, 9, 10, n)), NHWC(IN(p, WK_F32, 2, 9, 10, n)),
       CONST(p, WK_F32, n, 1, 3, 3), 1, n);
  conv(p, NHWC(OUT(p, WK_F32, 2, 9, 10, 2 * n)), NHWC(IN(p, WK_F32, 2, 9, 10, n)),
       CONST(p, WK_F32, 2 * n, 1, 3, 3), 1, n);
  conv(p, NHWC(OUT(p, WK_F32, 2, 9, 10, n)), IN(p, WK_F32, 2, n, 9, 10),
       CONST(p, WK_F32, n, 1, 3, 3), 1, n);
  wk_inst *i = conv(p, NHWC(OUT(p, WK_I32, 2, 9, 10, n)), NHWC(IN(p, WK_U8, 2, 9, 10, n)),
                    CONST(p, WK_I8, n, 1, 3, 3), 1, n);
  ((wk_attr_conv *)i->attrs)->pad_value = 119;
  conv(p, OUT(p, WK_F32, 2, n, 30), PERM(IN(p, WK_F32, 2, 30, n), 0, 2, 1),
       CONST(p, WK_F32, n, 1, 3), 1, n);
  conv(p, NHWC(OUT(p, WK_F32, 2, 9, 10, n)), NHWC(IN(p, WK_F32, 2, 9, 10, n)),
       IN(p, WK_F32, n, 1, 3, 3), 1, n);
}

/* Sums of bytes of so many columns, each with what is known of it; of the first: it is 0. */
static void columns(wk_program *p, int64_t n) {
  wk_view y = OUT(p, WK_U8, 3, n), w = CONST(p, WK_I8, 8, n);
  wk_view bias = range_constant(p, WK_I32, n, -3000, 3000);
  for (int k = 0; k < 8; k++) ((int8_t *)(uintptr_t)p->buffers.data[w.buffer].data)[k * n] = 0;
  *(int32_t *)(uintptr_t)p->buffers.data[bias.buffer].data = 0;
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 6, y, IN(p, WK_U8, 3, 8), w, bias,
                      multipliers(p, &y, 1), shifts(p, &y, 1, 36, 38));
  ((wk_attr_matmul *)i->attrs)->epilogue = expression(p, PER_CHANNEL, 3, per_channel_types);
}

/* A constant of so many values beside the sums. */
static void values(wk_program *p, int64_t n) {
  wk_view y = OUT(p, WK_U8, n, 16), one = OUT(p, WK_U8, 1, 16);
  append(p, WK_OP_COPY, 1, 2, one, IN(p, WK_U8, 1, 16));
  wk_view m = range_constant(p, WK_I32, n * 16, INT64_C(1) << 30, INT32_MAX);
  wk_view all = y;
  all.buffer = m.buffer, all.dtype = m.dtype, all.role = WK_ROLE_IN;
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 6, y, IN(p, WK_U8, n, 8), CONST(p, WK_I8, 8, 16),
                      range_constant(p, WK_I32, 16, -3000, 3000), all, shifts(p, &y, 1, 36, 38));
  ((wk_attr_matmul *)i->attrs)->epilogue = expression(p, PER_CHANNEL, 3, per_channel_types);
}

/* Rows of halves that are too long to be kept as floats. */
static void long_rows(wk_program *p, int64_t n) {
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_F16, 3, 4), IN(p, WK_F16, 3, n), CONST(p, WK_F16, n, 4));
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_BF16, 3, 4), IN(p, WK_BF16, 3, n),
         IN(p, WK_BF16, n, 4));
}

/* A right operand whose rows have room for n more columns; a left one that ends n bytes before its
 * buffer does. */
static void room(wk_program *p, int64_t n) {
  wk_view b = IN(p, WK_F32, 24, 20 + n), last = IN(p, WK_F32, 24 * 20 + n), a, c;
  b.dims[1] = 20;
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_F32, 6, 20), IN(p, WK_F32, 6, 24), b);
  last.rank = 2;
  last.dims[0] = 24, last.dims[1] = last.strides[0] = 20, last.strides[1] = 1;
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_F32, 6, 20), IN(p, WK_F32, 6, 24), last);
  a = IN(p, WK_I8, 6 * 21 + n), c = IN(p, WK_I8, 20 * 21 + n);
  a.rank = c.rank = 2;
  a.dims[0] = 6, a.dims[1] = a.strides[0] = 21, a.strides[1] = 1;
  c.dims[0] = c.strides[1] = 21, c.dims[1] = 20, c.strides[0] = 1;
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 6, 20), a, CONST(p, WK_I8, 21, 20));
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 6, 20), IN(p, WK_I8, 6, 21), c);
}

/* Of n floats. */
static const wk_expr *sum_of(wk_program *p, int n) {
  wk_dtype types[32];
  wk_str text = {0};
  for (int k = 1; k < n; k++) wk_str_add(&text, "add(");
  for (int k = 0; k < n; k++) {
    types[k] = WK_F32;
    wk_str_printf(&text, k ? ", %%%d)" : "%%%d", k);
  }
  const wk_expr *e = expression(p, text.s, n, types);
  wk_str_free(&text);
  return e;
}

/* So many operands beside the sums. */
static void extras(wk_program *p, int64_t n) {
  wk_view y = OUT(p, WK_F32, 9, 40);
  wk_inst *i = wk_inst_new(p, WK_OP_MATMUL, "node", 1, 4 + (uint32_t)n);
  const wk_view first[] = {y, IN(p, WK_F32, 9, 12), CONST(p, WK_F32, 12, 40), wk_view_none()};
  memcpy(i->operands, first, sizeof first);
  for (int64_t k = 0; k < n; k++) {
    i->operands[4 + k] = k % 2 ? broadcast(IN(p, WK_F32, 40), &y) : IN(p, WK_F32, 9, 40);
    i->operands[4 + k].role = WK_ROLE_IN;
  }
  ((wk_attr_matmul *)i->attrs)->epilogue = sum_of(p, (int)n + 1);
  wk_block_append(&p->body, i);
}

/* ---- products in other forms ----------------------------------------------------------------- */

static wk_inst *transposed(wk_program *p, wk_view y, wk_view x, wk_view w, int64_t stride) {
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 3, y, x, w);
  wk_attr_conv_transpose *a = i->attrs;
  int n = y.rank - 2;
  a->strides = wk_ints_fill(p->arena, n, stride);
  a->dilations = wk_ints_fill(p->arena, n, 1);
  a->pads = wk_ints_fill(p->arena, 2 * n, 0);
  a->output_padding = wk_ints_fill(p->arena, n, 0);
  a->group = 1;
  return i;
}

/* As many convolutions as the stride is. */
static void phases(wk_program *p, int64_t n) {
  transposed(p, OUT(p, WK_F32, 1, 5, 3 * n), IN(p, WK_F32, 1, 4, 3), CONST(p, WK_F32, 4, 5, n), n);
}

/* Each way in which one may be another form: strides past the window, groups, dilation, weights at
 * run time, what the padding cuts in front and behind, what is added. */
static void transposed_forms(wk_program *p, int64_t n) {
  int64_t kernel = n == 1 ? 2 : 4, group = n == 2 ? 2 : 1, dilation = n == 3 ? 2 : 1;
  int64_t front = n == 4 ? 2 : n == 5, behind = n == 6 ? 2 : n == 7, rest = n == 8 ? 2 : 0;
  int64_t dim = 4 * 3 + dilation * (kernel - 1) + 1 + rest - front - behind;
  wk_view y = NHWC(OUT(p, WK_F32, 2, dim, dim, 6)), x = NHWC(IN(p, WK_F32, 2, 5, 5, 4));
  wk_view w = n == 9 ? IN(p, WK_F32, 4, 6 / group, kernel, kernel)
                     : CONST(p, WK_F32, 4, 6 / group, kernel, kernel);
  wk_attr_conv_transpose *a = transposed(p, y, x, w, 3)->attrs;
  a->dilations = wk_ints_fill(p->arena, 2, dilation);
  a->pads = wk_ints_dup(p->arena, (int64_t[]){front, front, behind, behind}, 4);
  a->output_padding = wk_ints_fill(p->arena, 2, rest);
  a->group = group;
}

/* A gradient of weights whose columns may become images, and why not: a stride, an epilogue, a
 * bias, none but its place, an operand more, a constant, one column, halves; padding of one axis,
 * of none. */
static void columns_forms(wk_program *p, int64_t n) {
  const int64_t stride = n == 1 ? 2 : 1, ow = n == 7 ? 1 : 7;
  const int64_t top = n != 9 && n != 11, left = n != 10 && n != 11;
  const int64_t h = 19 - 2 * top, w = (ow - 1) * stride + 14 - 2 * left;
  const wk_dtype t = n == 8 ? WK_F16 : WK_F32;
  wk_view y = NHWC(OUT(p, t, 3, 5, ow, 40)), x = PERM(IN(p, t, 4, 3, h, w), 1, 0, 2, 3);
  wk_view dy = n == 6 ? CONST(p, t, 4, 15, 14, 40) : IN(p, t, 4, 15, 14, 40);
  wk_view bias = n == 3 ? CONST(p, t, 40) : wk_view_none();
  wk_inst *i = append(p, WK_OP_CONV, 1, n == 5 ? 5 : n == 3 || n == 4 ? 4 : 3, y, x,
                      PERM(dy, 3, 0, 1, 2), bias, n == 5 ? NHWC(IN(p, t, 3, 5, ow, 40)) : bias);
  set_conv(p, i, (conv_shape){1, 0, 1, 1}, NULL, 0);
  wk_attr_conv *a = i->attrs;
  a->strides = wk_ints_dup(p->arena, (int64_t[]){1, stride}, 2);
  a->pads = wk_ints_dup(p->arena, (int64_t[]){top, left, top, left}, 4);
  if (n == 2) a->epilogue = EXPR_F32(p, "max(%0, 0.0f32)", 1);
  if (n == 5) a->epilogue = EXPR_F32(p, "add(%0, %1)", 2);
}

/* Sums over the planes of a volume: as many convolutions as images or planes times taps. */
static void planes(wk_program *p, int64_t n) {
  const int64_t taps = n == 255 ? 17 : n == 256 ? 16 : n, out = n / taps;
  wk_view y = OUT(p, WK_F32, out, 2, out, 1, 2), x = IN(p, WK_F32, out, 2, out + taps - 1, 1, 2);
  conv(p, y, x, CONST(p, WK_F32, 2, 2, taps, 1, 1), 0, 1);
}

/* Volumes by type, and by whether images or planes are fewer. */
static void volumes(wk_program *p, int64_t n) {
  static const wk_dtype x_types[] = {WK_F32, WK_F32, WK_F32, WK_U8, WK_I8, WK_U8, WK_F64, WK_F16};
  const int64_t images = n == 1 ? 3 : n == 2 ? 4 : 1;
  bool is_int = n >= 3 && n <= 5;
  wk_dtype t = x_types[n], w_type = is_int ? WK_I8 : t;
  wk_view y = OUT(p, is_int ? WK_I32 : t, images, 6, 3, 5, 5), x = IN(p, t, images, 4, 3, 5, 5);
  wk_view w = n == 4 ? IN(p, w_type, 6, 4, 3, 3, 3) : CONST(p, w_type, 6, 4, 3, 3, 3);
  wk_inst *i = conv(p, y, x, w, 1, 1);
  if (n == 5) ((wk_attr_conv *)i->attrs)->pad_value = 3;
}

/* A window as large as the image, for each channel, at run time. */
static void correlation(wk_program *p, int64_t n) {
  conv(p, PERM(OUT(p, WK_F32, 1, n, 8), 0, 2, 1), PERM(IN(p, WK_F32, 1, n + 199, 8), 0, 2, 1),
       PERM(IN(p, WK_F32, 200, 1, 8), 2, 1, 0), 0, 8);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void sum_over(wk_program *p, wk_view y, wk_view x, const char *kind) {
  int64_t last = x.rank - 1;
  y.dims[last] = x.dims[last], y.strides[last] = 0;
  wk_attr_reduce *a = append(p, WK_OP_REDUCE, 1, 2, y, x)->attrs;
  a->kind = kind;
  a->axes = wk_ints_fill(p->arena, 1, last);
}

static void sums(wk_program *p, int64_t n) {
  sum_over(p, OUT(p, WK_F32, 5, 1), IN(p, WK_F32, 5, n), "sum");
  sum_over(p, OUT(p, WK_F32, 5, 1), PERM(IN(p, WK_F32, n, 5), 1, 0), "sum");
  sum_over(p, OUT(p, WK_I64, 5, 1), IN(p, WK_F32, 5, n), "argmax");
  sum_over(p, OUT(p, WK_F32, 1), IN(p, WK_F32, n), "max");
}

/* Rows of n numbers between their maximum and their sum. */
static void row_length(wk_program *p, int64_t n) {
  wk_view x = IN(p, WK_F32, 3, n), most = ACT(p, WK_F32, 3, 1), sum = ACT(p, WK_F32, 3, 1);
  wk_view y = OUT(p, WK_F32, 3, n), between = ACT(p, WK_F32, 3, n);
  sum_over(p, most, x, "max");
  wk_inst *i = append(p, WK_OP_MAP, 1, 3, between, x, broadcast(most, &x));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "exp(sub(%0, %1))", 2);
  sum_over(p, sum, between, "sum");
  i = append(p, WK_OP_MAP, 1, 3, y, between, broadcast(sum, &x));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "div(%0, %1)", 2);
}

/* Rows whose instructions have n operands together, at least 12. */
static void row_operands(wk_program *p, int64_t n) {
  wk_view x = IN(p, WK_F32, 20, 30), last = ACT(p, WK_F32, 20, 1);
  sum_over(p, last, x, "max");
  last = broadcast(last, &x);
  for (int64_t left = n - 2, step; left > 0; left -= step) {
    step = left >= 10 ? 5 : left;
    wk_inst *i = wk_inst_new(p, WK_OP_MAP, "node", 1, (uint32_t)step);
    i->operands[0] = left > step ? ACT(p, WK_F32, 20, 30) : OUT(p, WK_F32, 20, 30);
    i->operands[1] = last;
    i->operands[1].role = WK_ROLE_IN;
    for (int64_t k = 2; k < step; k++) i->operands[k] = IN(p, WK_F32, 20, 30);
    ((wk_attr_map *)i->attrs)->body = sum_of(p, (int)step - 1);
    wk_block_append(&p->body, i);
    last = i->operands[0];
  }
}

/* Rounding shifts of numbers up to the last (n = 2) that half a step may be added to, one before it
 * and one behind it: of words, of halves of words, of wide numbers that fit words. */
static void halves(wk_program *p, int64_t n) {
  static const struct {
    wk_dtype in, out;
    int64_t most;
    const char *body;
  } forms[] = {
      {WK_I32, WK_I32, INT32_MAX, "shr_round(max(min(%%0, %lldi32), 0i32), 8i32)"},
      {WK_I16, WK_I16, INT16_MAX, "shr_round(max(min(%%0, %lldi16), 0i16), 8i16)"},
      {WK_I32, WK_I64, INT32_MAX, "shr_round(i64(max(min(%%0, %lldi32), 0i32)), 8i64)"}};
  for (size_t k = 0; k < WK_COUNTOF(forms); k++) {
    char body[96];
    snprintf(body, sizeof body, forms[k].body, (long long)(forms[k].most - 128 + n - 2));
    wk_inst *i = append(p, WK_OP_MAP, 1, 2, OUT(p, forms[k].out, 9, 70), IN(p, forms[k].in, 9, 70));
    ((wk_attr_map *)i->attrs)->body = expression(p, body, 1, &forms[k].in);
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*build)(wk_program *p, int64_t n);
  int64_t n[13]; /* up to a 0 behind the first */
} cases[] = {
    {"few-channels", few_channels, {1, 7, 8, 9}},
    {"few-outputs", few_outputs, {1, 3, 4, 5}},
    {"depthwise", depthwise, {3, 4, 8, 12, 16, 24, 32, 48}},
    {"columns", columns, {4095, 4096, 4097}},
    {"values", values, {4095, 4096, 4097}},
    {"long-rows", long_rows, {16383, 16384, 16385}},
    {"room", room, {0, 1, 2, 3, 4, 11, 12, 13}},
    {"extras", extras, {1, 6, 7, 8, 9}},
    {"phases", phases, {63, 64, 65}},
    {"transposed", transposed_forms, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
    {"columns-form", columns_forms, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"planes", planes, {255, 256, 257}},
    {"volumes", volumes, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"correlation", correlation, {1, 127, 128, 129, 199, 200}},
    {"sums", sums, {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000}},
    {"row-length", row_length, {16, 32764, 32765, 32766, 32767, 32768}},
    {"row-operands", row_operands, {12, 58, 59, 60, 61, 62}},
    {"halves", halves, {1, 2, 3}}};

void made_near(made_table *t) {
  made_place place;
  char name[32];
  made_open(&place);
  for (size_t k = 0; k < WK_COUNTOF(cases); k++)
    for (size_t i = 0; i == 0 || cases[k].n[i]; i++) {
      snprintf(name, sizeof name, "%s-%d", cases[k].name, (int)cases[k].n[i]);
      made_row(t, name);
      for (size_t machine = 0; machine < MADE_ALL; machine++) {
        wk_program *p = wk_program_new(name);
        cases[k].build(p, cases[k].n[i]);
        made_program(t, &place, machine, p);
      }
    }
  made_close(&place);
}
