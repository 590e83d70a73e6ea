/* SPDX-License-Identifier: Apache-2.0 */
/* Inference: the dispatch over the rule column of ops.def, and the checks that rules share. */
#include "compiler/ir/infer.h"

#include <string.h>

typedef wk_status (*rule)(const wk_infer *i);

static const rule rules[WK_OP_COUNT] = {
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) \
  [WK_OP_##e] = wk_infer_##infer,
#include "compiler/ir/ops.def"
#undef OP
};

wk_status wk_infer_bad(const wk_infer *i, wk_code code, const char *file, int line, const char *fmt,
                       ...) {
  wk_str text = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  wk_status s = wk_status_make(code, file, line, NULL, "%s: %s", wk_op_get(i->op)->name, text.s);
  wk_str_free(&text);
  return s;
}

wk_text32 wk_infer_operand(const wk_infer *i, uint32_t k) {
  wk_text32 name;
  wk_op_operand_name(wk_op_get(i->op)->inputs, (int)k, name.s);
  return name;
}

/* Whether operand k of the list `names` may be left out: marked '?'. Lists ('*') come last, and
 * none of their elements may. */
static bool is_optional(const char *names, uint32_t k) {
  size_t n = strcspn(names, " ");
  for (; k > 0 && names[n]; k--) {
    names += n + 1;
    n = strcspn(names, " ");
  }
  return n > 0 && names[n - 1] == '?';
}

static wk_status check_operands(const wk_infer *i) {
  const wk_op_info *info = wk_op_get(i->op);
  if (i->n_in < (uint32_t)info->min_in || (info->max_in >= 0 && i->n_in > (uint32_t)info->max_in))
    return BAD(i, "%u inputs given, takes (%s)", i->n_in, info->inputs);
  if (i->n_out < (uint32_t)info->min_out ||
      (info->max_out >= 0 && i->n_out > (uint32_t)info->max_out))
    return BAD(i, "%u outputs are asked for, it has (%s)", i->n_out, info->outputs);
  for (uint32_t k = 0; k < i->n_in; k++)
    if (!i->in[k] && !is_optional(info->inputs, k))
      return BAD(i, "input %s is missing", wk_infer_operand(i, k).s);
  if (!i->attrs) return BAD(i, "attributes are missing");
  for (int f = 0; f < info->n_fields; f++) {
    const void *at = (const char *)i->attrs + info->fields[f].offset;
    if (info->fields[f].kind == WK_FIELD_TEXT && !*(const char *const *)at)
      return BAD(i, "attribute %s is missing", info->fields[f].name);
  }
  return NULL;
}

/* Narrow types go through movement, conversion, and what only hands values on (T_NARROW). */
static wk_status check_narrow(const wk_infer *i) {
  bool folds = i->op == WK_OP_REDUCE && !((const wk_attr_reduce *)i->attrs)->pre;
  for (uint32_t k = 0; k < i->n_in && (folds || !wk_op_get(i->op)->traits.narrow); k++)
    if (i->in[k] && wk_dtype_is_narrow(i->in[k]->dtype))
      return BAD(i, "%s is %s, which has to be cast first", wk_infer_operand(i, k).s,
                 wk_dtype_name(i->in[k]->dtype));
  return NULL;
}

/* The same status with the operator's name in front. */
static wk_status named(const wk_infer *i, const char *what, wk_status s) {
  if (!s) return NULL;
  wk_status y = wk_infer_bad(i, s->code, s->file, s->line, "%s%s", what, s->message);
  wk_status_free(s);
  return y;
}

wk_status wk_infer_node(const wk_infer *i) {
  if ((unsigned)i->op >= WK_OP_COUNT) return wk_error(WK_INPUT, "unknown operator %d", (int)i->op);
  WK_TRY(check_operands(i));
  WK_TRY(check_narrow(i));
  for (uint32_t k = 0; k < i->n_out; k++) i->out[k] = (wk_type){0};
  WK_TRY(rules[i->op](i));
  for (uint32_t k = 0; k < i->n_out; k++) {
    char result[24];
    snprintf(result, sizeof result, "result %u: ", k);
    WK_TRY(named(i, result, wk_type_check(&i->out[k])));
  }
  return NULL;
}

/* Rows that exist only as instructions. */
wk_status wk_infer_none(const wk_infer *i) {
  return BAD(i, "is an instruction, not a graph operator");
}

/* ---- attributes by name ---------------------------------------------------------------------- */

const void *wk_infer_attr(const wk_infer *i, const char *name) {
  const wk_op_info *info = wk_op_get(i->op);
  for (int k = 0; k < info->n_fields; k++)
    if (strcmp(info->fields[k].name, name) == 0)
      return (const char *)i->attrs + info->fields[k].offset;
  return NULL;
}

int64_t wk_infer_attr_int(const wk_infer *i, const char *name) {
  const int64_t *v = wk_infer_attr(i, name);
  return v ? *v : 0;
}

const char *wk_infer_attr_text(const wk_infer *i, const char *name) {
  const char *const *v = wk_infer_attr(i, name);
  return v && *v ? *v : "";
}

/* ---- checks ---------------------------------------------------------------------------------- */

wk_status wk_want_rank(const wk_infer *i, uint32_t k, int least, int most) {
  const wk_type *t = wk_infer_in(i, k);
  if (!t || (t->rank >= least && t->rank <= most)) return NULL;
  wk_text32 name = wk_infer_operand(i, k);
  if (least == most) return BAD(i, "%s has rank %d, needs rank %d", name.s, t->rank, least);
  return BAD(i, "%s has rank %d, needs %d to %d", name.s, t->rank, least, most);
}

wk_status wk_want_same_dtype(const wk_infer *i, uint32_t k, uint32_t like) {
  const wk_type *x = wk_infer_in(i, k), *y = wk_infer_in(i, like);
  if (!x || !y || x->dtype == y->dtype) return NULL;
  return BAD(i, "%s is %s but %s is %s", wk_infer_operand(i, like).s, wk_dtype_name(y->dtype),
             wk_infer_operand(i, k).s, wk_dtype_name(x->dtype));
}

wk_status wk_want_float(const wk_infer *i, uint32_t k) {
  const wk_type *t = wk_infer_in(i, k);
  if (!t || wk_dtype_is_float(t->dtype)) return NULL;
  return BAD(i, "%s must be floating-point, not %s", wk_infer_operand(i, k).s,
             wk_dtype_name(t->dtype));
}

wk_status wk_want_index(const wk_infer *i, uint32_t k) {
  const wk_type *t = wk_infer_in(i, k);
  if (!t || t->dtype == WK_I32 || t->dtype == WK_I64) return NULL;
  return BAD(i, "%s must be i32 or i64, not %s", wk_infer_operand(i, k).s, wk_dtype_name(t->dtype));
}

static wk_status mismatch(const wk_infer *i, uint32_t k, const char *verb, const wk_type *want) {
  wk_str got = {0}, needed = {0};
  wk_type shape = *want;
  shape.quant = NULL;
  wk_type_print(&got, wk_infer_in(i, k));
  wk_type_print(&needed, &shape);
  wk_status s = BAD(i, "%s is %s, %s %s", wk_infer_operand(i, k).s, got.s, verb, needed.s);
  wk_str_free(&got);
  wk_str_free(&needed);
  return s;
}

wk_status wk_want_type(const wk_infer *i, uint32_t k, wk_dtype t, int rank, const int64_t *dims) {
  const wk_type *x = wk_infer_in(i, k);
  wk_type want = wk_type_make(t, rank, dims);
  if (!x || (x->dtype == t && wk_shape_equal(x, &want))) return NULL;
  return mismatch(i, k, "needs", &want);
}

wk_status wk_want_scalar(const wk_infer *i, uint32_t k, wk_dtype t) {
  const wk_type *x = wk_infer_in(i, k);
  if (!x || (x->dtype == t && wk_type_count(x) == 1)) return NULL;
  wk_type want = {.dtype = t};
  return mismatch(i, k, "needs one element:", &want);
}

wk_status wk_want_broadcast_to(const wk_infer *i, uint32_t k, const wk_type *y) {
  const wk_type *x = wk_infer_in(i, k);
  if (!x) return NULL;
  bool ok = x->rank <= y->rank;
  for (int a = 1; ok && a <= x->rank; a++) {
    int64_t d = x->dims[x->rank - a];
    ok = d == 1 || d == y->dims[y->rank - a];
  }
  if (ok) return NULL;
  wk_type want = *y;
  want.dtype = x->dtype;
  return mismatch(i, k, "does not broadcast to", &want);
}

wk_status wk_want_list(const wk_infer *i, const char *name, wk_ints v, int64_t n, int64_t least) {
  if (v.n != n)
    return BAD(i, "%s has %lld entries, needs %lld", name, wk_ll(v.n), wk_ll(n));
  for (int64_t k = 0; k < n; k++)
    if (v.v[k] < least)
      return BAD(i, "%s[%lld] is %lld, must be at least %lld", name, wk_ll(k), wk_ll(v.v[k]),
                 wk_ll(least));
  return NULL;
}

wk_status wk_want_axis(const wk_infer *i, const char *name, int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return NULL;
  return BAD(i, "%s %lld is outside rank %d", name, wk_ll(axis), rank);
}

wk_status wk_want_at_least(const wk_infer *i, const char *name, int64_t v, int64_t least) {
  if (v >= least) return NULL;
  return BAD(i, "%s is %lld, must be at least %lld", name, wk_ll(v), wk_ll(least));
}

wk_status wk_want_flag(const wk_infer *i, const char *name) {
  int64_t v = wk_infer_attr_int(i, name);
  if (v == 0 || v == 1) return NULL;
  return BAD(i, "%s is %lld, must be 0 or 1", name, wk_ll(v));
}

wk_status wk_want_choice(const wk_infer *i, const char *name, const char *choices) {
  const char *text = wk_infer_attr_text(i, name);
  size_t n = strlen(text);
  for (const char *p = choices; *p;) {
    size_t m = strcspn(p, " ");
    if (m == n && memcmp(p, text, n) == 0) return NULL;
    p += m + (p[m] == ' ');
  }
  return BAD(i, "%s \"%s\" is none of: %s", name, text, choices);
}

wk_status wk_want_expr(const wk_infer *i, const char *name, const wk_expr *e,
                       const wk_dtype *dtypes, uint32_t n, int rank, uint32_t n_results) {
  if (!e) return NULL;
  if (e->n_results != n_results)
    return BAD(i, "%s has %u results, needs %u", name, e->n_results, n_results);
  for (uint32_t k = 0; k < e->n; k++) {
    const wk_expr_node *x = &e->nodes[k];
    if (x->op == WK_EX_INPUT) {
      if (x->imm.i < 0 || x->imm.i >= (int64_t)n)
        return BAD(i, "%s uses %%%lld but has %u inputs", name, wk_ll(x->imm.i), n);
      if (x->dtype != dtypes[x->imm.i])
        return BAD(i, "%s takes %%%lld as %s but it is %s", name, wk_ll(x->imm.i),
                   wk_dtype_name(x->dtype), wk_dtype_name(dtypes[x->imm.i]));
    } else if (x->op == WK_EX_INDEX && (x->imm.i < 0 || x->imm.i >= rank)) {
      return BAD(i, "%s uses index<%lld>() but the iteration has rank %d", name, wk_ll(x->imm.i),
                 rank);
    }
  }
  return NULL;
}

/* ---- shared results -------------------------------------------------------------------------- */

wk_status wk_infer_broadcast_all(const wk_infer *i, uint32_t first, wk_type *y) {
  wk_type all = {.dtype = WK_BOOL};
  for (uint32_t k = first; k < i->n_in; k++) {
    if (!i->in[k]) continue;
    wk_type next;
    WK_TRY(named(i, "", wk_type_broadcast(&all, i->in[k], &next)));
    all = next;
  }
  *y = all;
  return NULL;
}

wk_status wk_carry_quant(const wk_infer *i, uint32_t k, bool stays, wk_type *y) {
  const wk_type *x = i->in[k];
  y->quant = x->quant;
  if (!x->quant || x->quant->axis < 0) return NULL;
  int axis = x->quant->axis;
  if (stays && axis < y->rank && y->dims[axis] == x->dims[axis]) return NULL;
  return UNSUPPORTED(i, "%s is quantised per channel along axis %d, which moves",
                     wk_infer_operand(i, k).s, axis);
}
