/* SPDX-License-Identifier: Apache-2.0
 * Sequences and optionals. They exist at import only: a sequence is a list of tensors whose length
 * and positions are known, so every operator on it is bookkeeping. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"

static wk_status sequence(wk_onnx_node *c, const wk_value_id *items, uint32_t n, wk_dtype t) {
  wk_value_id *copy = wk_arena_alloc(c->im->arena, n * sizeof *copy);
  if (n) memcpy(copy, items, n * sizeof *copy);
  c->out[0] =
      (wk_bound){.kind = WK_BOUND_SEQUENCE, .value = WK_NONE, .dtype = t, .n = n, .items = copy};
  return c->status;
}

/* Input i as a sequence; an empty one after an error. */
static wk_bound sequence_in(wk_onnx_node *c, int i) {
  bool ok = i < c->n_in && c->bound[i].kind == WK_BOUND_SEQUENCE;
  wk_onnx_valid(c, ok, "input %d is not a sequence", i);
  return ok ? c->bound[i] : (wk_bound){.kind = WK_BOUND_SEQUENCE};
}

/* Input i as a position below `limit`; negative ones count from n. */
static uint32_t position(wk_onnx_node *c, int i, uint32_t n, uint32_t limit) {
  int64_t at = wk_onnx_const_int(c, c->in[i], "the position in the sequence");
  if (at < 0) at += n;
  bool ok = at >= 0 && at < limit;
  wk_onnx_valid(c, ok || !wk_onnx_ok(c), "position %lld is outside the sequence of %u",
                (long long)at, n);
  return ok ? (uint32_t)at : 0;
}

wk_status wk_onnx_sequence_construct(wk_onnx_node *c) {
  for (int i = 0; i < c->n_in; i++)
    wk_onnx_valid(c, wk_onnx_has(c, i), "input %d is not a tensor", i);
  return sequence(c, c->in, (uint32_t)c->n_in, wk_onnx_type(c, c->in[0])->dtype);
}

wk_status wk_onnx_sequence_empty(wk_onnx_node *c) {
  return sequence(c, NULL, 0, wk_onnx_dtype(c, "dtype", WK_F32));
}

wk_status wk_onnx_sequence_at(wk_onnx_node *c) {
  wk_bound s = sequence_in(c, 0);
  uint32_t at = position(c, 1, s.n, s.n);
  return wk_onnx_ok(c) ? wk_onnx_return(c, s.items[at]) : c->status;
}

wk_status wk_onnx_sequence_length(wk_onnx_node *c) {
  int64_t n = sequence_in(c, 0).n;
  return wk_onnx_return(c, wk_make_reshape(c, wk_make_i64s(c, &n, 1), 0, NULL));
}

wk_status wk_onnx_sequence_insert(wk_onnx_node *c) {
  wk_bound s = sequence_in(c, 0);
  wk_onnx_valid(c, wk_onnx_has(c, 1), "input 1 is not a tensor");
  uint32_t at = wk_onnx_has(c, 2) ? position(c, 2, s.n, s.n + 1) : s.n;
  wk_value_id *items = wk_arena_alloc(c->im->arena, (s.n + 1) * sizeof *items);
  for (uint32_t i = 0; i <= s.n; i++) {
    items[i] = i == at ? c->in[1] : s.items[i < at ? i : i - 1];
  }
  return sequence(c, items, s.n + 1, wk_onnx_type(c, c->in[1])->dtype);
}

wk_status wk_onnx_sequence_erase(wk_onnx_node *c) {
  wk_bound s = sequence_in(c, 0);
  if (!wk_onnx_valid(c, s.n > 0, "the sequence is empty")) return c->status;
  uint32_t at = wk_onnx_has(c, 1) ? position(c, 1, s.n, s.n) : s.n - 1;
  wk_value_id *items = wk_arena_alloc(c->im->arena, s.n * sizeof *items);
  for (uint32_t i = 0; i + 1 < s.n; i++) items[i] = s.items[i < at ? i : i + 1];
  return sequence(c, items, s.n - 1, s.dtype);
}

wk_status wk_onnx_concat_from_sequence(wk_onnx_node *c) {
  wk_bound s = sequence_in(c, 0);
  bool stacks = wk_onnx_int(c, "new_axis", 0) != 0;
  if (!wk_onnx_valid(c, s.n > 0, "the sequence is empty")) return c->status;
  int rank = wk_onnx_type(c, s.items[0])->rank + stacks;
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), rank);
  wk_value_id *items = wk_arena_alloc(c->im->arena, s.n * sizeof *items);
  for (uint32_t i = 0; i < s.n && wk_onnx_ok(c); i++)
    items[i] = stacks ? wk_extent_unsqueezed(c, s.items[i], (int)axis) : s.items[i];
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id y = wk_extent_join(c, items, (int)s.n, (int)axis);
  return wk_onnx_return(c, y);
}

/* `split` is a list of sizes, or one size for all pieces; without it slices of size 1. */
wk_status wk_onnx_split_to_sequence(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), x.rank), at = 0;
  bool drops = !wk_onnx_has(c, 1) && !wk_onnx_int(c, "keepdims", 1);
  if (!wk_onnx_ok(c) || !wk_extent_allow(c, 0, ~(1u << axis))) return c->status;
  wk_ints sizes = wk_ints_dup(c->im->m->arena, (const int64_t[]){1}, 1);
  bool is_list = wk_onnx_has(c, 1) && wk_onnx_type(c, c->in[1])->rank > 0;
  if (wk_onnx_has(c, 1)) sizes = wk_onnx_const_ints(c, c->in[1], "the split");
  WK_VEC(wk_value_id) items = {0};
  for (int64_t i = 0; wk_onnx_ok(c) && (is_list ? i < sizes.n : at < x.dims[axis]); i++) {
    int64_t size = sizes.v[is_list ? i : 0], left = x.dims[axis] - at;
    if (!is_list && size > left) size = left;
    wk_onnx_valid(c, size > 0 || (is_list && size == 0), "a piece has size %lld", (long long)size);
    wk_onnx_valid(c, size <= left, "a piece of size %lld exceeds the %lld that are left",
                  (long long)size, (long long)left);
    if (!wk_onnx_ok(c)) break;
    wk_value_id piece = wk_make_slice(c, c->in[0], (int)axis, at, size, 1);
    piece = wk_extent_like(c, piece, c->in[0]);
    if (drops) piece = wk_extent_squeezed(c, piece, (int)axis);
    wk_vec_push(&items, piece);
    at += size;
  }
  wk_onnx_valid(c, at == x.dims[axis] || !wk_onnx_ok(c), "the pieces do not add up to the axis");
  sequence(c, items.data, (uint32_t)items.n, x.dtype);
  wk_vec_free(&items);
  return c->status;
}

/* SequenceMap: the body once for every position; further inputs are sequences of the same length or
 * tensors for all positions. */
wk_status wk_onnx_sequence_map(wk_onnx_node *c) {
  const Onnx__GraphProto *p = wk_onnx_graph(c, "body");
  wk_bound s = sequence_in(c, 0);
  if (!wk_onnx_ok(c)) return c->status;
  size_t n_in = (size_t)c->n_in, n_out = (size_t)c->n_out;
  wk_arena *a = c->im->arena;
  wk_bound *in = wk_arena_alloc(a, n_in * sizeof *in);
  wk_bound *out = wk_arena_alloc(a, n_out * sizeof *out);
  wk_value_id *items = wk_arena_alloc(a, s.n * n_out * sizeof *items);
  bool unknown = false;
  for (uint32_t i = 0; i < s.n && wk_onnx_ok(c) && !unknown; i++) {
    for (size_t k = 0; k < n_in; k++) {
      in[k] = c->bound[k];
      if (in[k].kind != WK_BOUND_SEQUENCE) continue;
      if (!wk_onnx_valid(c, in[k].n == s.n, "the sequences have different lengths"))
        return c->status;
      in[k] = wk_bound_tensor(c->bound[k].items[i]);
    }
    wk_body_inline(c, p, in, n_in, out, n_out);
    if (!wk_onnx_ok(c) || !wk_body_tensors(c, out, n_out, &unknown)) break;
    for (size_t k = 0; k < n_out; k++) items[k * s.n + i] = out[k].value;
  }
  if (unknown) {
    wk_body_results_unknown(c);
    return c->status;
  }
  for (size_t k = 0; k < n_out && wk_onnx_ok(c); k++) {
    wk_dtype t = s.n ? wk_onnx_type(c, items[k * s.n])->dtype : s.dtype;
    c->out[k] = (wk_bound){.kind = WK_BOUND_SEQUENCE, .value = WK_NONE, .dtype = t, .n = s.n,
                           .items = items + k * s.n};
  }
  return c->status;
}

/* ---- optionals ----------------------------------------------------------------------------- */

/* An optional is its element, or nothing; OptionalGetElement is the identity on it. */
wk_status wk_onnx_optional(wk_onnx_node *c) {
  c->out[0] = c->bound[0];
  return c->status;
}

wk_status wk_onnx_optional_get(wk_onnx_node *c) {
  wk_onnx_valid(c, c->bound[0].kind != WK_BOUND_NOTHING, "the optional has no element");
  c->out[0] = c->bound[0];
  return c->status;
}

wk_status wk_onnx_optional_has(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_make_scalar(c, WK_BOOL, c->bound[0].kind != WK_BOUND_NOTHING));
}
