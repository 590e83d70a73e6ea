/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table, expanded from ops.def. Each row becomes a case of wk_op_get with its own
 * static tables, because only there the name of the attribute struct is at hand for offsetof.
 * Operand counts are computed from the operand strings by the preprocessor, so that the table is
 * constant data. */
#include "compiler/expr/scalar.h"
#include "compiler/ir/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS_TEXT = 48 };
#define CHAR(s, i) (sizeof(s) > (i) ? (s)[sizeof(s) > (i) ? (i) : 0] : 0)
#define IS8(s, c, i)                                                                          \
  ((CHAR(s, i) == (c)) + (CHAR(s, i + 1) == (c)) + (CHAR(s, i + 2) == (c)) +                  \
   (CHAR(s, i + 3) == (c)) + (CHAR(s, i + 4) == (c)) + (CHAR(s, i + 5) == (c)) +              \
   (CHAR(s, i + 6) == (c)) + (CHAR(s, i + 7) == (c)))
#define COUNT(s, c)                                                               \
  (IS8(s, c, 0) + IS8(s, c, 8) + IS8(s, c, 16) + IS8(s, c, 24) + IS8(s, c, 32) + \
   IS8(s, c, 40))
#define WORDS(s) (sizeof(s) > 1 ? COUNT(s, ' ') + 1 : 0)
#define LEAST(s) (WORDS(s) - COUNT(s, '?') - COUNT(s, '*'))
#define MOST(s) (COUNT(s, '*') ? -1 : (int)WORDS(s))

#define FIELD(f, k, i, d, t) {#f, k, i, d, t, offsetof(attr, f)},
#define A_INT(f, def) FIELD(f, WK_FIELD_INT, def, 0, NULL)
#define A_FLOAT(f, def) FIELD(f, WK_FIELD_FLOAT, 0, def, NULL)
#define A_INTS(f) FIELD(f, WK_FIELD_INTS, 0, 0, NULL)
#define A_FLOATS(f) FIELD(f, WK_FIELD_FLOATS, 0, 0, NULL)
#define A_TEXT(f, def) FIELD(f, WK_FIELD_TEXT, 0, 0, def)
#define A_TEXTS(f) FIELD(f, WK_FIELD_TEXTS, 0, 0, NULL)
#define A_DTYPE(f) FIELD(f, WK_FIELD_DTYPE, WK_F32, 0, NULL)
#define A_EXPR(f) FIELD(f, WK_FIELD_EXPR, 0, 0, NULL)
#define A_NONE
/* Traits as members of wk_op_traits. */
#define T_VIEW(v) .view = WK_VIEW_##v,
#define T_WINDOW(v) .window = WK_WINDOW_##v,
#define T_WINDOW_OUTSIDE(f) .window = WK_WINDOW_ATTRIBUTE, .outside = offsetof(attr, f),
#define T_EPILOGUE_OF(f, first)                                                \
  .has_epilogue = true, .epilogue = offsetof(attr, f), .elementwise = (first),
#define T_EPILOGUE(f) T_EPILOGUE_OF(f, UINT32_MAX)
#define T_BEGINS_AS_FIRST .begins_as_first = true,
#define T_MACS(v) .macs = WK_MACS_##v,
#define T_ORDER(v) .order = WK_ORDER_##v,
#define T_ANY_ORDER .any_order = true,
#define T_WORK(v) .work = WK_WORK_##v,
#define T_NARROW .narrow = true,
#define T_SCALAR T_ORDER(ROWS) T_WORK(SCALAR)

const wk_op_info *wk_op_get(wk_op op) {
  switch (op) {
#define OP(e, nm, knd, clss, ins, outs, inf, sem, attributes, trts, text)                        \
  case WK_OP_##e: {                                                                              \
    typedef wk_attr_##nm attr;                                                                   \
    static const wk_field fields[] = {attributes{NULL, WK_FIELD_INT, 0, 0, NULL, sizeof(attr)}}; \
    static const wk_op_info info = {                                                             \
        #nm, WK_KIND_##knd, WK_CLASS_##clss, ins, outs, #inf, sem, text, fields,                 \
        (int)WK_COUNTOF(fields) - 1, sizeof(attr), LEAST(ins), MOST(ins), LEAST(outs),           \
        MOST(outs), {trts}};                                                                     \
    _Static_assert(sizeof(ins) <= MAX_OPERANDS_TEXT && sizeof(outs) <= MAX_OPERANDS_TEXT,        \
                   "operand names are too long for COUNT");                                      \
    return &info;                                                                                \
  }
#include "compiler/ir/ops.def"
#undef OP
    case WK_OP_COUNT: break;
  }
  wk_assert(!"no such operator");
  return NULL;
}
#undef A_INT
#undef A_FLOAT
#undef A_INTS
#undef A_FLOATS
#undef A_TEXT
#undef A_TEXTS
#undef A_DTYPE
#undef A_EXPR
#undef A_NONE
#undef T_VIEW
#undef T_WINDOW
#undef T_WINDOW_OUTSIDE
#undef T_EPILOGUE_OF
#undef T_EPILOGUE
#undef T_BEGINS_AS_FIRST
#undef T_MACS
#undef T_ORDER
#undef T_ANY_ORDER
#undef T_WORK
#undef T_NARROW
#undef T_SCALAR

_Static_assert(sizeof(wk_ints) == 16 && sizeof(wk_floats) == 16 && sizeof(wk_texts) == 16 &&
                   sizeof(const char *) == 8,
               "attribute members are 8 or 16 bytes");

const wk_field *wk_op_field(const wk_op_info *info, const char *name, size_t n) {
  for (const wk_field *f = info->fields; f < info->fields + info->n_fields; f++)
    if (strlen(f->name) == n && memcmp(f->name, name, n) == 0) return f;
  return NULL;
}

bool wk_op_from_name(const char *s, size_t n, wk_op *out) {
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const char *name = wk_op_get((wk_op)op)->name;
    if (strlen(name) != n || memcmp(name, s, n) != 0) continue;
    *out = (wk_op)op;
    return true;
  }
  return false;
}

bool wk_op_is_pure(wk_op op) {
  wk_op_class c = wk_op_get(op)->cls;
  return c != WK_CLASS_RANDOM && c != WK_CLASS_CUSTOM;
}

const char *wk_op_class_name(wk_op_class c) {
  static const char *const names[WK_CLASS_COUNT] = {
      "elementwise", "movement",  "contraction", "pool",   "reduction", "normalisation",
      "indexing",    "linalg",    "recurrent",   "control", "random",  "custom",
      "primitive",   "instruction"};
  return (unsigned)c < WK_CLASS_COUNT ? names[c] : "invalid";
}

/* Past the last name the last one repeats when it may ("extra*"); a name in the middle that may
 * repeat counts once, since only the attributes say how often it occurs. */
void wk_op_operand_name(const char *names, int i, char buf[32]) {
  const char *word = names;
  size_t n = strcspn(word, " ");
  for (; i > 0 && word[n]; i--) {
    word += n + 1;
    n = strcspn(word, " ");
  }
  while (n > 0 && (word[n - 1] == '?' || word[n - 1] == '*')) n--;
  if (n > 31) n = 31;
  memcpy(buf, word, n);
  buf[n] = 0;
}

wk_dtype wk_accumulator_dtype(wk_dtype t) {
  return wk_dtype_is_int(t) && wk_dtype_size(t) <= 2 ? WK_I32 : wk_compute_dtype(t);
}

wk_dtype wk_contraction_dtype(const wk_expr *epilogue, wk_dtype x) {
  if (epilogue) return epilogue->nodes[epilogue->results[0]].dtype;
  return wk_dtype_is_float(x) ? x : wk_accumulator_dtype(x);
}

bool wk_fold_is_arg(const char *kind) { return strncmp(kind, "arg", 3) == 0; }

wk_dtype wk_folded_dtype(const char *kind, const wk_expr *pre, wk_dtype t) {
  if (wk_fold_is_arg(kind)) return WK_I64;
  return pre ? pre->nodes[pre->results[0]].dtype : t;
}

wk_scalar wk_fold_neutral(const char *kind, wk_dtype t) {
  bool real = wk_dtype_is_float(t), max = !strcmp(kind, "max"), min = !strcmp(kind, "min");
  int64_t product = !strcmp(kind, "prod"), lo, hi;
  if (!max && !min) return real ? (wk_scalar){.f = (double)product} : (wk_scalar){.i = product};
  if (real) return (wk_scalar){.f = max ? -INFINITY : INFINITY};
  wk_int_range(t, &lo, &hi);
  if (t == WK_U64) hi = -1; /* all bits */
  return (wk_scalar){.i = max ? lo : hi};
}

/* ---- attributes: one walk over the field table per operation -------------------------------- */

#define AT(type, base, field) ((type *)((char *)(base) + (field)->offset))
#define CAT(type, base, field) ((const type *)((const char *)(base) + (field)->offset))

void *wk_attrs_new(wk_arena *a, wk_op op) {
  const wk_op_info *info = wk_op_get(op);
  void *attrs = wk_arena_alloc(a, info->attr_size);
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    if (f->kind == WK_FIELD_INT || f->kind == WK_FIELD_DTYPE) *AT(int64_t, attrs, f) = f->def_int;
    if (f->kind == WK_FIELD_FLOAT) *AT(double, attrs, f) = f->def_float;
    if (f->kind == WK_FIELD_TEXT) *AT(const char *, attrs, f) = f->def_text;
  }
  return attrs;
}

wk_ints wk_ints_dup(wk_arena *a, const int64_t *v, int64_t n) {
  wk_ints y = {n, NULL};
  if (n > 0) y.v = wk_arena_memdup(a, v, (size_t)n * sizeof *v);
  return y;
}

wk_ints wk_ints_fill(wk_arena *a, int64_t n, int64_t value) {
  int64_t *v = n > 0 ? wk_arena_alloc(a, (size_t)n * sizeof *v) : NULL;
  for (int64_t i = 0; i < n; i++) v[i] = value;
  return (wk_ints){n, v};
}

wk_floats wk_floats_dup(wk_arena *a, const double *v, int64_t n) {
  wk_floats y = {n, NULL};
  if (n > 0) y.v = wk_arena_memdup(a, v, (size_t)n * sizeof *v);
  return y;
}

static wk_texts texts_dup(wk_arena *a, wk_texts t) {
  const char **v = t.n > 0 ? wk_arena_alloc(a, (size_t)t.n * sizeof *v) : NULL;
  for (int64_t i = 0; i < t.n; i++) v[i] = wk_arena_strdup(a, t.v[i]);
  return (wk_texts){t.n, v};
}

void *wk_attrs_clone(wk_arena *a, wk_op op, const void *attrs) {
  const wk_op_info *info = wk_op_get(op);
  void *y = wk_arena_memdup(a, attrs, info->attr_size);
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    switch (f->kind) {
      case WK_FIELD_INT:
      case WK_FIELD_FLOAT:
      case WK_FIELD_DTYPE: break;
      case WK_FIELD_INTS: {
        wk_ints *v = AT(wk_ints, y, f);
        *v = wk_ints_dup(a, v->v, v->n);
        break;
      }
      case WK_FIELD_FLOATS: {
        wk_floats *v = AT(wk_floats, y, f);
        *v = wk_floats_dup(a, v->v, v->n);
        break;
      }
      case WK_FIELD_TEXT: {
        const char **s = AT(const char *, y, f);
        if (*s) *s = wk_arena_strdup(a, *s);
        break;
      }
      case WK_FIELD_TEXTS: *AT(wk_texts, y, f) = texts_dup(a, *AT(wk_texts, y, f)); break;
      case WK_FIELD_EXPR: {
        const wk_expr **e = AT(const wk_expr *, y, f);
        if (*e) *e = wk_expr_clone(a, *e);
        break;
      }
    }
  }
  return y;
}

/* Bit for bit: -0.0 and 0.0 differ and NaN equals itself, as in the text form. */
static bool floats_equal(const double *x, const double *y, int64_t n) {
  return n <= 0 || memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static bool texts_equal(const wk_texts *x, const wk_texts *y) {
  if (x->n != y->n) return false;
  for (int64_t i = 0; i < x->n; i++)
    if (strcmp(x->v[i], y->v[i]) != 0) return false;
  return true;
}

static bool field_equal(const wk_field *f, const void *x, const void *y) {
  switch (f->kind) {
    case WK_FIELD_INT:
    case WK_FIELD_DTYPE: return *CAT(int64_t, x, f) == *CAT(int64_t, y, f);
    case WK_FIELD_FLOAT: return floats_equal(CAT(double, x, f), CAT(double, y, f), 1);
    case WK_FIELD_INTS: {
      const wk_ints *p = CAT(wk_ints, x, f), *q = CAT(wk_ints, y, f);
      return p->n == q->n && (p->n <= 0 || memcmp(p->v, q->v, (size_t)p->n * sizeof *p->v) == 0);
    }
    case WK_FIELD_FLOATS: {
      const wk_floats *p = CAT(wk_floats, x, f), *q = CAT(wk_floats, y, f);
      return p->n == q->n && floats_equal(p->v, q->v, p->n);
    }
    case WK_FIELD_TEXT: {
      const char *p = *CAT(char *, x, f), *q = *CAT(char *, y, f);
      return p == q || (p && q && strcmp(p, q) == 0);
    }
    case WK_FIELD_TEXTS: return texts_equal(CAT(wk_texts, x, f), CAT(wk_texts, y, f));
    case WK_FIELD_EXPR: {
      const wk_expr *p = *CAT(wk_expr *, x, f), *q = *CAT(wk_expr *, y, f);
      return p == q || (p && q && wk_expr_equal(p, q));
    }
  }
  return false;
}

bool wk_attrs_equal(wk_op op, const void *x, const void *y) {
  const wk_op_info *info = wk_op_get(op);
  for (int i = 0; i < info->n_fields; i++)
    if (!field_equal(&info->fields[i], x, y)) return false;
  return true;
}

static uint64_t hash_list(const void *v, int64_t n, size_t size, uint64_t seed) {
  seed = wk_hash64(&n, sizeof n, seed);
  return n > 0 ? wk_hash64(v, (size_t)n * size, seed) : seed;
}

static uint64_t hash_text(const char *s, uint64_t seed) {
  return s ? wk_hash64(s, strlen(s) + 1, seed) : wk_hash64("", 0, seed);
}

static uint64_t field_hash(const wk_field *f, const void *x, uint64_t seed) {
  switch (f->kind) {
    case WK_FIELD_INT:
    case WK_FIELD_DTYPE:
    case WK_FIELD_FLOAT: return wk_hash64(CAT(char, x, f), 8, seed);
    case WK_FIELD_INTS: {
      const wk_ints *v = CAT(wk_ints, x, f);
      return hash_list(v->v, v->n, sizeof *v->v, seed);
    }
    case WK_FIELD_FLOATS: {
      const wk_floats *v = CAT(wk_floats, x, f);
      return hash_list(v->v, v->n, sizeof *v->v, seed);
    }
    case WK_FIELD_TEXT: return hash_text(*CAT(char *, x, f), seed);
    case WK_FIELD_TEXTS: {
      const wk_texts *v = CAT(wk_texts, x, f);
      for (int64_t i = 0; i < v->n; i++) seed = hash_text(v->v[i], seed);
      return wk_hash64(&v->n, sizeof v->n, seed);
    }
    case WK_FIELD_EXPR: {
      const wk_expr *e = *CAT(wk_expr *, x, f);
      return e ? wk_expr_hash(e, seed) : wk_hash64("", 0, seed);
    }
  }
  return seed;
}

uint64_t wk_attrs_hash(wk_op op, const void *attrs, uint64_t seed) {
  const wk_op_info *info = wk_op_get(op);
  int32_t number = (int32_t)op;
  seed = wk_hash64(&number, sizeof number, seed);
  for (int i = 0; i < info->n_fields; i++) seed = field_hash(&info->fields[i], attrs, seed);
  return seed;
}
