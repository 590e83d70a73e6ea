/* SPDX-License-Identifier: Apache-2.0 */
/* Types and integer lists as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"

void wk_ints_print(wk_str *b, const int64_t *v, int64_t n, char open, char close) {
  wk_str_addn(b, &open, 1);
  for (int64_t i = 0; i < n; i++) wk_str_printf(b, "%s%lld", i ? "," : "", (long long)v[i]);
  wk_str_addn(b, &close, 1);
}

wk_status wk_ints_parse(wk_lexer *l, wk_arena *a, char open, char close, wk_ints *out) {
  WK_VEC(int64_t) v = {0};
  bool more = true;
  wk_status s = wk_lex_expect(l, open);
  if (!s && wk_lex_is(l, close)) more = false;
  while (!s && more) {
    int64_t x = 0;
    s = wk_lex_int(l, &x);
    wk_vec_push(&v, x);
    if (!s) s = wk_lex_accept(l, ',', &more);
  }
  if (!s) s = wk_lex_expect(l, close);
  if (!s) *out = wk_ints_dup(a, v.data, (int64_t)v.n);
  wk_vec_free(&v);
  return s;
}

/* ---- quantisation -------------------------------------------------------------------------- */

static wk_status scale(wk_lexer *l, float *out) {
  WK_TRY(wk_lex_f32(l, out));
  return isfinite(*out) ? NULL : wk_lex_error(l, "the scale before this is not finite");
}

static wk_status zero_point(wk_lexer *l, int32_t *out) {
  int64_t v;
  wk_token at = l->tok;
  WK_TRY(wk_lex_int(l, &v));
  if (v < INT32_MIN || v > INT32_MAX)
    return wk_lex_error_at(l, &at, __FILE__, __LINE__, "the zero point is out of range");
  *out = (int32_t)v;
  return NULL;
}

typedef struct {
  WK_VEC(float) scales;
  WK_VEC(int32_t) zeros;
} channels;

/* axis=1,{0.5,0.25},{0,0} after the <. */
static wk_status parse_channels(wk_lexer *l, channels *c, int64_t *axis) {
  bool more = true;
  WK_TRY(wk_lex_expect(l, '='));
  WK_TRY(wk_lex_int(l, axis));
  WK_TRY(wk_lex_expect(l, ','));
  WK_TRY(wk_lex_expect(l, '{'));
  for (more = !wk_lex_is(l, '}'); more;) {
    float f;
    WK_TRY(scale(l, &f));
    wk_vec_push(&c->scales, f);
    WK_TRY(wk_lex_accept(l, ',', &more));
  }
  WK_TRY(wk_lex_expect(l, '}'));
  WK_TRY(wk_lex_expect(l, ','));
  WK_TRY(wk_lex_expect(l, '{'));
  for (more = !wk_lex_is(l, '}'); more;) {
    int32_t z;
    WK_TRY(zero_point(l, &z));
    wk_vec_push(&c->zeros, z);
    WK_TRY(wk_lex_accept(l, ',', &more));
  }
  if (c->scales.n != c->zeros.n)
    return wk_lex_error(l, "%zu scales but %zu zero points", c->scales.n, c->zeros.n);
  if (*axis < 0 || *axis >= WK_MAX_RANK) return wk_lex_error(l, "the axis is out of range");
  return wk_lex_expect(l, '}');
}

static wk_status parse_quant(wk_lexer *l, wk_arena *a, const wk_quant **out) {
  channels c = {0};
  int64_t axis = -1;
  bool per_channel;
  wk_status s = wk_lex_accept_word(l, "axis", &per_channel);
  if (!s && per_channel) {
    s = parse_channels(l, &c, &axis);
  } else if (!s) {
    float f = 0;
    int32_t z = 0;
    s = scale(l, &f);
    if (!s) s = wk_lex_expect(l, ',');
    if (!s) s = zero_point(l, &z);
    wk_vec_push(&c.scales, f);
    wk_vec_push(&c.zeros, z);
  }
  if (!s) {
    wk_quant *q = wk_arena_alloc(a, sizeof *q);
    q->axis = (int)axis;
    q->n = (int64_t)c.scales.n;
    q->scale = wk_arena_memdup(a, c.scales.data, c.scales.n * sizeof(float));
    q->zero_point = wk_arena_memdup(a, c.zeros.data, c.zeros.n * sizeof(int32_t));
    *out = q;
    s = wk_lex_expect(l, '>');
  }
  wk_vec_free(&c.scales);
  wk_vec_free(&c.zeros);
  return s;
}

wk_status wk_type_parse(wk_lexer *l, wk_arena *a, wk_type *out) {
  wk_token at = l->tok;
  wk_type t = {0};
  bool quantised;
  if (at.kind != WK_TOK_WORD || !wk_dtype_from_name(at.text, at.n, &t.dtype))
    return wk_lex_error(l, "type expected, not %s", wk_lex_shown(&at).s);
  WK_TRY(wk_lex_next(l));
  WK_TRY(wk_lex_accept(l, '<', &quantised));
  if (quantised) WK_TRY(parse_quant(l, a, &t.quant));
  wk_ints dims;
  WK_TRY(wk_ints_parse(l, a, '[', ']', &dims));
  if (dims.n > WK_MAX_RANK)
    return wk_lex_error_at(l, &at, __FILE__, __LINE__, "rank %lld is above %d", (long long)dims.n,
                           WK_MAX_RANK);
  t.rank = (int)dims.n;
  for (int i = 0; i < t.rank; i++) t.dims[i] = dims.v[i];
  wk_status s = wk_type_check(&t);
  if (s) {
    wk_status y = wk_lex_error_at(l, &at, __FILE__, __LINE__, "%s", s->message);
    wk_status_free(s);
    return y;
  }
  *out = t;
  return NULL;
}
