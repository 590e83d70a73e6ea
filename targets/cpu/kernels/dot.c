/* SPDX-License-Identifier: Apache-2.0 */
/* Without an instruction for four products, a word is split into its even and its odd bytes, each
 * widened to 16 bits where it lies; sums of two products fit i32 whatever the signs. (Sums of two
 * in 16 bits, vpmaddubsw, would saturate.) */
#include "targets/cpu/kernels/dot.h"

#include <string.h>

static bool takes_words(const wk_simd *simd, const wk_cpu_types *t) {
  return simd->intrinsic[WK_SIMD_QUADS] && t->b == WK_I8;
}

int wk_dot_heads(const wk_simd *simd, const wk_cpu_types *t) {
  return takes_words(simd, t) && t->a == WK_I8;
}

static LLVMTypeRef words(wk_llvm *e) { return wk_vector_type(e->i32, e->simd->lanes); }
static LLVMTypeRef halves(wk_llvm *e) {
  return wk_vector_type(LLVMInt16TypeInContext(e->ctx), 2 * e->simd->lanes);
}

LLVMTypeRef wk_dot_accumulator(wk_llvm *e, const wk_cpu_types *t) {
  return wk_cpu_is_float(t) ? e->vec : words(e);
}

static wk_dot_operand split(wk_llvm *e, wk_dtype t, wk_ssa word) {
  LLVMBuilderRef b = e->b;
  wk_ssa v = LLVMBuildBitCast(b, word, halves(e), "");
  wk_ssa eight = wk_vector_int(e, halves(e), 8), low = wk_vector_int(e, halves(e), 0xff);
  wk_dot_operand o;
  if (t == WK_I8) {
    o.part[0] = LLVMBuildAShr(b, LLVMBuildShl(b, v, eight, ""), eight, "");
    o.part[1] = LLVMBuildAShr(b, v, eight, "");
  } else {
    o.part[0] = LLVMBuildAnd(b, v, low, "");
    o.part[1] = LLVMBuildLShr(b, v, eight, "");
  }
  return o;
}

wk_dot_operand wk_dot_a(wk_llvm *e, const wk_cpu_types *t, wk_ssa at) {
  if (wk_cpu_is_float(t)) return (wk_dot_operand){{wk_llvm_splat(e, wk_llvm_load(e, e->f32, at))}};
  wk_ssa word = wk_llvm_splat(e, wk_llvm_load_packed(e, e->i32, at));
  if (!takes_words(e->simd, t)) return split(e, t->a, word);
  if (t->a == WK_I8)
    word = LLVMBuildXor(e->b, word, wk_vector_int(e, words(e), INT64_C(0x80808080)), "");
  return (wk_dot_operand){{word}};
}

wk_dot_operand wk_dot_b(wk_llvm *e, const wk_cpu_types *t, wk_ssa at) {
  if (wk_cpu_is_float(t)) {
    wk_ssa v = wk_llvm_vload_of(e, wk_memory_element(e, t->b), at, NULL);
    return (wk_dot_operand){{wk_from_memory(e, t->b, e->simd->lanes, v)}};
  }
  wk_ssa word = wk_llvm_vload_of(e, e->i32, at, NULL);
  return takes_words(e->simd, t) ? (wk_dot_operand){{word}} : split(e, t->b, word);
}

/* a.even * b.even + a.odd * b.odd of 16-bit halves of i32 lanes. */
static wk_ssa pairs(wk_llvm *e, wk_ssa a, wk_ssa b) {
  LLVMBuilderRef at = e->b;
  a = LLVMBuildBitCast(at, a, halves(e), "");
  b = LLVMBuildBitCast(at, b, halves(e), "");
  wk_ssa args[] = {a, b}, shift = wk_vector_int(e, words(e), 16), sum[2];
  if (e->simd->intrinsic[WK_SIMD_PAIRS]) return wk_simd_call(e, WK_SIMD_PAIRS, args, 2);
  for (int odd = 0; odd < 2; odd++) {
    wk_ssa v[2];
    for (int i = 0; i < 2; i++) {
      v[i] = LLVMBuildBitCast(at, args[i], words(e), "");
      if (!odd) v[i] = LLVMBuildShl(at, v[i], shift, "");
      v[i] = LLVMBuildAShr(at, v[i], shift, "");
    }
    sum[odd] = LLVMBuildMul(at, v[0], v[1], "");
  }
  return LLVMBuildAdd(at, sum[0], sum[1], "");
}

static wk_ssa quads(wk_llvm *e, wk_ssa a, wk_ssa b, wk_ssa acc) {
  wk_ssa args[] = {acc, a, b};
  return wk_simd_call(e, WK_SIMD_QUADS, args, 3);
}

wk_ssa wk_dot_head(wk_llvm *e, wk_ssa b, wk_ssa sum) {
  wk_ssa halves_of_256 = wk_vector_int(e, words(e), INT64_C(0x80808080));
  wk_ssa more = quads(e, halves_of_256, b, LLVMConstNull(words(e)));
  return LLVMBuildSub(e->b, sum, more, "");
}

wk_ssa wk_dot_codegen(wk_llvm *e, const wk_cpu_types *t, const wk_dot_operand *a,
                      const wk_dot_operand *b, wk_ssa acc) {
  if (wk_cpu_is_float(t)) return wk_llvm_fma(e, a->part[0], b->part[0], acc);
  if (takes_words(e->simd, t)) return quads(e, a->part[0], b->part[0], acc);
  for (int p = 0; p < WK_DOT_PARTS; p++)
    acc = LLVMBuildAdd(e->b, acc, pairs(e, a->part[p], b->part[p]), "");
  return acc;
}

/* ---- depthwise ------------------------------------------------------------------------------- */

int wk_dot_taps(const wk_simd *simd, const wk_cpu_types *t) {
  if (wk_cpu_is_float(t)) return 1;
  return takes_words(simd, t) ? 4 : 2;
}

/* n taps, vectors of elements in memory, as words. */
static wk_ssa join(wk_llvm *e, const wk_cpu_types *t, const wk_ssa *x, int n) {
  if (wk_cpu_is_float(t)) return x[0];
  bool is_quad = takes_words(e->simd, t);
  wk_ssa word = LLVMConstNull(words(e));
  for (int i = 0; i < n; i++) {
    bool extends = t->a == WK_I8 && !is_quad;
    wk_ssa v =
        extends ? LLVMBuildSExt(e->b, x[i], words(e), "") : LLVMBuildZExt(e->b, x[i], words(e), "");
    if (extends && i + 1 < n) v = LLVMBuildAnd(e->b, v, wk_vector_int(e, words(e), 0xffff), "");
    int64_t at = i * (is_quad ? 8 : 16);
    if (i > 0) v = LLVMBuildShl(e->b, v, wk_vector_int(e, words(e), at), "");
    word = i > 0 ? LLVMBuildOr(e->b, word, v, "") : v;
  }
  if (is_quad && t->a == WK_I8)
    word = LLVMBuildXor(e->b, word, wk_vector_int(e, words(e), INT64_C(0x80808080)), "");
  return word;
}

/* ---- laced blocks ---------------------------------------------------------------------------- */

enum { CHUNK = 4 }; /* words of 16 bytes, within which unpacking works */

int wk_dot_lace(const wk_simd *simd, const wk_cpu_types *t) {
  return !wk_cpu_is_float(t) && takes_words(simd, t) && simd->lanes == 16 ? 4 : 1;
}

int64_t wk_dot_laced(const wk_simd *simd, int lace, int64_t channel) {
  int64_t chunk = channel / CHUNK;
  return chunk % lace * simd->lanes + chunk / lace * CHUNK + channel % CHUNK;
}

/* Elements of a and b in turn, of the lower or the upper half of each 16 bytes. */
static wk_ssa unpack(wk_llvm *e, wk_ssa a, wk_ssa b, bool upper) {
  wk_ssa index[64];
  LLVMTypeRef type = LLVMTypeOf(a);
  int n = (int)LLVMGetVectorSize(type);
  int chunk = 128 / (int)LLVMGetIntTypeWidth(LLVMGetElementType(type));
  for (int i = 0; i < n; i++) {
    int from = i / chunk * chunk + upper * chunk / 2 + i % chunk / 2 + i % 2 * n;
    index[i] = LLVMConstInt(e->i32, (unsigned)from, 0);
  }
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(index, (unsigned)n), "");
}

/* Two rows of 32 channels as halves of words. */
static wk_ssa pair_rows(wk_llvm *e, wk_ssa low, wk_ssa high) {
  wk_ssa eight = wk_vector_int(e, halves(e), 8);
  low = LLVMBuildZExt(e->b, low, halves(e), "");
  if (LLVMIsNull(high)) return low;
  high = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, high, halves(e), ""), eight, "");
  return LLVMBuildOr(e->b, low, high, "");
}

void wk_dot_join_laced(wk_llvm *e, const wk_cpu_types *t, int lace, const wk_ssa *rows, int n,
                       wk_ssa *out) {
  LLVMTypeRef type = wk_vector_type(e->i8, lace * e->simd->lanes);
  wk_ssa x[4];
  if (lace == 1) {
    out[0] = join(e, t, rows, n);
    return;
  }
  for (int i = 0; i < 4; i++) {
    x[i] = i < n ? rows[i] : LLVMConstNull(type);
    if (t->a == WK_I8 && i < n) x[i] = LLVMBuildXor(e->b, x[i], wk_vector_int(e, type, 0x80), "");
  }
  for (int half = 0; half < lace / 2; half++) {
    wk_ssa pair[2];
    for (int i = 0; i < 2; i++)
      pair[i] = lace == 2 ? pair_rows(e, x[2 * i], x[2 * i + 1])
                          : LLVMBuildBitCast(e->b, unpack(e, x[2 * i], x[2 * i + 1], half),
                                             halves(e), "");
    for (int upper = 0; upper < 2; upper++)
      out[2 * half + upper] =
          LLVMBuildBitCast(e->b, unpack(e, pair[0], pair[1], upper), words(e), "");
  }
}

/* Chunks of a and b, numbered through. */
static wk_ssa chunks(wk_llvm *e, wk_ssa a, wk_ssa b, const int which[4]) {
  wk_ssa index[16];
  for (int i = 0; i < 4 * CHUNK; i++)
    index[i] = LLVMConstInt(e->i32, (unsigned)(which[i / CHUNK] * CHUNK + i % CHUNK), 0);
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(index, 4 * CHUNK), "");
}

/* Four vectors of four chunks, transposed. */
static void transpose(wk_llvm *e, const wk_ssa *v, wk_ssa *out) {
  static const int first[][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}},
                   then[][4] = {{0, 2, 4, 6}, {1, 3, 5, 7}};
  for (int half = 0; half < 2; half++) {
    wk_ssa a = chunks(e, v[0], v[1], first[half]), b = chunks(e, v[2], v[3], first[half]);
    for (int k = 0; k < 2; k++) out[2 * half + k] = chunks(e, a, b, then[k]);
  }
}

void wk_unlace(wk_llvm *e, int lace, const wk_ssa *v, wk_ssa *out) {
  static const int of_two[][4] = {{0, 4, 1, 5}, {2, 6, 3, 7}};
  if (lace == 4) transpose(e, v, out);
  for (int k = 0; k < lace && lace < 4; k++)
    out[k] = lace == 2 ? chunks(e, v[0], v[1], of_two[k]) : v[k];
}

void wk_lace(wk_llvm *e, int lace, const wk_ssa *v, wk_ssa *out) {
  static const int of_two[][4] = {{0, 2, 4, 6}, {1, 3, 5, 7}};
  if (lace == 4) transpose(e, v, out);
  for (int k = 0; k < lace && lace < 4; k++)
    out[k] = lace == 2 ? chunks(e, v[0], v[1], of_two[k]) : v[k];
}

wk_ssa wk_dot_taps_codegen(wk_llvm *e, const wk_cpu_types *t, wk_ssa x, wk_ssa w, wk_ssa acc) {
  if (wk_cpu_is_float(t)) return wk_llvm_fma(e, x, w, acc);
  if (takes_words(e->simd, t)) return quads(e, x, w, acc);
  return LLVMBuildAdd(e->b, acc, pairs(e, x, w), "");
}

uint32_t wk_dot_weight(const wk_simd *simd, const wk_cpu_types *t, int tap, const void *w) {
  uint32_t bits;
  if (wk_cpu_is_float(t)) {
    float value = (float)wk_load_f64(w, t->b, 0);
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (takes_words(simd, t)) return (uint32_t) * (const uint8_t *)w << (8 * tap);
  int32_t v = t->b == WK_I8 ? *(const int8_t *)w : *(const uint8_t *)w;
  return ((uint32_t)v & 0xffff) << (16 * tap);
}

int32_t wk_dot_weight_of(const wk_simd *simd, const wk_cpu_types *t, int tap, uint32_t word) {
  return takes_words(simd, t) ? (int8_t)(word >> (8 * tap)) : (int16_t)(word >> (16 * tap));
}
