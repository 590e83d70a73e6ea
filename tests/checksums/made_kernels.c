/* SPDX-License-Identifier: Apache-2.0
 * made kernels: what the kernels of the CPU target decide for layers of real sizes, and for drawn
 * ones, on every instruction set. A cell is TASKS/SCRATCH/PACKED, in bytes, and checksums of the
 * LLVM IR and of packed weights. */
#include "tests/checksums/made_layers.h"
#include "tests/checksums/table.h"
#include "tests/kernel_harness.h"

enum { DRAWN = 96, MOST_WEIGHTS = 1 << 17 };

/* Packed weights behind the text: those of instruction sets that are not here run nowhere. */
static void add_packed(wk_str *text, const wk_simd *simd, kh_case *c) {
  wk_cpu_types t = kh_types_of(c);
  if (c->kernel.packed_bytes == 0 || c->w_size > MOST_WEIGHTS) return;
  int64_t bytes = kh_sizes(c).w;
  c->w = kh_is_int(c) ? kh_random_bytes(bytes, 7) : kh_random(t.b, c->w_size, 7, 1.0f);
  kh_case_pack(simd, c);
  wk_str_printf(text, "\npacked %08x",
                (unsigned)wk_hash64(c->packed, (size_t)c->kernel.packed_bytes, 0));
  kh_free(c->packed, c->kernel.packed_bytes);
  kh_free(c->w, bytes);
}

static void add_pieces(wk_str *text, const wk_simd *simd, const kh_case *c) {
  wk_cpu_conv_piece piece[WK_CPU_CONV_PIECES] = {0};
  wk_dtype type;
  if (!c->is_conv || kh_is_int(c)) return;
  int n = wk_cpu_conv_pieces(simd, &c->conv, &type, piece);
  for (int i = 0; i < n; i++) {
    const wk_cpu_conv_piece *p = &piece[i];
    wk_str_printf(text, "\n%s piece %d: %d groups %d panels %d columns %d first %d group %d panel "
                  "%d column %d at %d to", wk_dtype_name(type), i, (int)p->groups, (int)p->panels,
                  (int)p->columns, (int)p->cin, (int)p->first, (int)p->group, (int)p->panel,
                  (int)p->column, (int)p->at);
    for (int k = 0; k < 6; k++) wk_str_printf(text, " %d", (int)p->to[k]);
  }
}

static void emit_on(made_table *t, const wk_simd *simd, kh_case c) {
  kh_module m;
  kh_module_init(&m, simd);
  kh_set_epilogue(&c);
  if (c.is_conv) kh_conv_sizes(&c);
  else kh_matmul_sizes(&c);
  wk_status s = c.is_conv ? wk_cpu_conv_codegen(&m.e, &c.conv, &c.epi, &c.kernel)
                          : wk_cpu_matmul_codegen(&m.e, &c.matmul, &c.epi, &c.kernel);
  wk_str text = {0};
  if (!s) {
    char figures[96], *ir = LLVMPrintModuleToString(m.e.mod);
    wk_str_add(&text, ir);
    LLVMDisposeMessage(ir);
    add_packed(&text, simd, &c);
    add_pieces(&text, simd, &c);
    snprintf(figures, sizeof figures, "%lld/%lld/%lld", (long long)c.kernel.n_tasks,
             (long long)c.kernel.scratch_bytes, (long long)c.kernel.packed_bytes);
    made_cell(t, simd->name, figures, text.s, text.n);
  } else {
    made_cell(t, simd->name, "", NULL, 0);
  }
  wk_str_free(&text);
  wk_status_free(s);
  if (c.arena) wk_arena_free(c.arena);
  kh_module_free(&m);
}

/* Types go by the row's number, epilogues too. */
static const wk_cpu_types types[] = {
    {WK_F32, WK_F32, WK_F32, 0}, {WK_U8, WK_I8, WK_I32, 0},    {WK_F32, WK_F32, WK_F32, 0},
    {WK_I8, WK_I8, WK_I32, 0},   {WK_F16, WK_F16, WK_F16, 0},  {WK_F32, WK_F32, WK_F32, 0},
    {WK_U8, WK_U8, WK_I32, 0},   {WK_BF16, WK_BF16, WK_F32, 0}};

static const char *type_name(const wk_cpu_types *t) { return wk_dtype_name(t->a); }

static void emit(made_table *t, const char *name, kh_case *c, size_t number, bool is_float) {
  static int epilogues[WK_COUNTOF(types)];
  const wk_simd *simd;
  char row[96];
  size_t which = is_float ? 0 : number % WK_COUNTOF(types);
  *kh_types(c) = types[which];
  c->epilogue = (kh_epilogue)(epilogues[which]++ % (KH_BIAS_RESIDUAL_RELU + 1));
  c->is_known = number % 3 == 0;
  if (c->epilogue == KH_PLAIN && !kh_is_int(c)) kh_types(c)->y = WK_F32;
  if (c->is_conv && wk_cpu_conv_widens(&c->conv)) c->conv.types.a = WK_F32;
  if (kh_is_int(c) && c->is_conv) c->conv.types.outside = kh_types(c)->a == WK_U8 ? 131 : -7;
  snprintf(row, sizeof row, "%s,%s,%d", name, type_name(kh_types(c)), (int)c->epilogue);
  made_row(t, row);
  for (int i = 0; (simd = wk_simd_row(i)); i++) emit_on(t, simd, *c);
}

static kh_case conv_of(const made_conv *v, bool is_nchw) {
  kh_case c = {.is_conv = true};
  wk_cpu_conv_desc *d = &c.conv;
  *d = (wk_cpu_conv_desc){.n = v->n, .h = v->h, .w = v->w, .cin = v->cin, .cout = v->cout,
                          .kh = v->kh, .kw = v->kw, .stride_h = v->stride, .stride_w = v->stride,
                          .pad_h = v->kh > 1 ? v->pad : 0, .pad_w = v->kw > 1 ? v->pad : 0,
                          .dil_h = v->dilation, .dil_w = v->dilation, .group = v->group};
  d->oh = (d->h + 2 * d->pad_h - (d->kh - 1) * d->dil_h - 1) / d->stride_h + 1;
  d->ow = (d->w + 2 * d->pad_w - (d->kw - 1) * d->dil_w - 1) / d->stride_w + 1;
  const int64_t last[] = {d->h * d->w * d->cin, d->w * d->cin, d->cin, 1};
  const int64_t first[] = {d->h * d->w * d->cin, d->w, 1, d->h * d->w};
  const int64_t y[] = {d->oh * d->ow * d->cout, d->ow * d->cout, d->cout};
  memcpy(d->x_stride, is_nchw ? first : last, sizeof last);
  memcpy(d->y_stride, y, sizeof y);
  return c;
}

static kh_case product_of(const made_product *v) {
  kh_case c = {0};
  c.matmul = (wk_cpu_matmul_desc){{1, 1}, v->m, v->n, v->k, {0, 0, v->k}, {0, 0, v->n, 1},
                                  {v->m * v->n, v->m * v->n, v->n}, v->batch == 0, WK_CPU_F32,
                                  WK_CPU_NO_LIMITS};
  wk_cpu_matmul_desc *d = &c.matmul;
  if (v->is_transposed) d->b_stride[2] = 1, d->b_stride[3] = v->k;
  if (v->batch == 0) return c;
  d->batch[1] = v->batch;
  d->a_stride[1] = v->m * v->k, d->b_stride[1] = v->n * v->k;
  return c;
}

/* From 1 to 2^bits, small ones as often as large ones. */
static int64_t size_of(wk_rng *r, int bits) {
  int64_t most = INT64_C(1) << wk_rng_range(r, 0, bits);
  return wk_rng_range(r, (most + 1) / 2, most);
}

static made_conv drawn_conv(wk_rng *r) {
  static const int64_t windows[] = {1, 1, 3, 3, 3, 5, 7, 2, 4, 9};
  made_conv v = {.n = size_of(r, 3), .h = size_of(r, 8), .w = size_of(r, 8), .cin = size_of(r, 10),
                 .cout = size_of(r, 10), .kh = windows[wk_rng_range(r, 0, 9)],
                 .stride = wk_rng_range(r, 0, 3) ? 1 : wk_rng_range(r, 2, 3),
                 .dilation = wk_rng_range(r, 0, 5) ? 1 : wk_rng_range(r, 2, 4), .group = 1};
  int64_t kind = wk_rng_range(r, 0, 5);
  v.kw = wk_rng_range(r, 0, 3) ? v.kh : windows[wk_rng_range(r, 0, 9)];
  v.pad = v.kh > v.kw ? v.kh / 2 * v.dilation : v.kw / 2 * v.dilation;
  if (kind < 2) v.group = v.cout = v.cin;
  if (kind == 2 && v.cin % 4 == 0) v.group = 4, v.cout = (v.cout + 3) / 4 * 4;
  int64_t h = (v.kh - 1) * v.dilation + 1, w = (v.kw - 1) * v.dilation + 1;
  if (v.h < h) v.h = h;
  if (v.w < w) v.w = w;
  return v;
}

static made_product drawn_product(wk_rng *r) {
  return (made_product){.batch = wk_rng_range(r, 0, 1) ? size_of(r, 6) : 0, .m = size_of(r, 11),
                        .k = size_of(r, 12), .n = size_of(r, 12),
                        .is_transposed = (int)wk_rng_range(r, 0, 1)};
}

void made_kernels(made_table *t) {
  wk_rng r = {2027};
  char name[32];
  for (size_t i = 0; i < WK_COUNTOF(made_convs); i++) {
    kh_case c = conv_of(&made_convs[i], i % 4 == 0);
    emit(t, made_convs[i].name, &c, i, true);
    emit(t, made_convs[i].name, &c, i * 3 + 1, false);
  }
  for (size_t i = 0; i < WK_COUNTOF(made_products); i++) {
    kh_case c = product_of(&made_products[i]);
    emit(t, made_products[i].name, &c, i, true);
    emit(t, made_products[i].name, &c, i * 3 + 1, false);
  }
  for (size_t i = 0; i < DRAWN; i++) {
    made_conv v = drawn_conv(&r);
    made_product p = drawn_product(&r);
    kh_case c = i % 3 ? conv_of(&v, wk_rng_range(&r, 0, 3) == 0) : product_of(&p);
    snprintf(name, sizeof name, "drawn-%zu", i);
    emit(t, name, &c, i, false);
  }
}
