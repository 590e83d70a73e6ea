/* SPDX-License-Identifier: Apache-2.0 */
/* Text to expression, for full expressions and for the templates of ops.def. One pass reads the
 * text into a list of terms (arguments before the terms that use them; open calls on an explicit
 * stack), two passes settle the element types of untyped literals: upwards from the inputs, then
 * downwards from each term to the arguments that are still without one. What results is checked and
 * handed to the builder. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/scalar.h"

/* Leaves are repeated in the text where a node is shared, hence more terms than nodes. */
enum { MAX_TERMS = 4 * WK_EXPR_MAX_NODES, MAX_RESULTS = 1024 };

typedef struct {
  wk_expr_op op;
  wk_dtype dtype; /* WK_DTYPE_NONE: not known yet */
  uint16_t arg[3];
  bool is_int;    /* CONST: value in imm.i */
  wk_scalar imm;
  int column;
} term;

typedef struct {
  term t;
  int n_args;
} call;

typedef struct {
  const char *name;
  size_t n;
  uint16_t term;
} definition;

typedef struct {
  const char *text, *at;
  const wk_dtype *dtypes;
  int n_inputs;
  const char *names; /* NULL: a full expression, not a template */
  wk_dtype out_dtype;
  wk_expr_attr_fn attr;
  const void *attr_ctx;
  locale_t c;
  WK_VEC(term) terms;
  WK_VEC(call) calls;
  WK_VEC(definition) defs;
  WK_VEC(uint16_t) results;
} parser;

/* A template is ours, so its columns would tell the user nothing. */
static wk_status error_at(const parser *p, int column, const char *what, const char *s, size_t n) {
  if (n > 40) n = 40;
  if (p->names) return wk_error(WK_INPUT, "%s%.*s", what, (int)n, s);
  return wk_error(WK_INPUT, "expression column %d: %s%.*s", column, what, (int)n, s);
}

static int column_of(const parser *p, const char *s) { return (int)(s - p->text) + 1; }

static wk_status error_here(const parser *p, const char *what) {
  return error_at(p, column_of(p, p->at), what, "", 0);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_space(parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
}

static bool accept(parser *p, char c) {
  skip_space(p);
  if (*p->at != c) return false;
  p->at++;
  return true;
}

static wk_status expect(parser *p, char c) {
  if (accept(p, c)) return NULL;
  char what[] = "'?' expected";
  what[1] = c;
  return error_here(p, what);
}

static size_t word_length(const char *s) {
  size_t n = 0;
  if (!is_word_start(s[0])) return 0;
  while (is_word_start(s[n]) || is_digit(s[n])) n++;
  return n;
}

static size_t digits(const char *s) {
  size_t n = 0;
  while (is_digit(s[n])) n++;
  return n;
}

/* Length of the number at s, without sign and element type; 0 when there is none. */
static size_t number_length(const char *s, bool *is_int) {
  size_t n = digits(s), after;
  *is_int = true;
  if (s[n] == '.') {
    after = digits(s + n + 1);
    if (n + after == 0) return 0;
    n += 1 + after;
    *is_int = false;
  }
  if (n && (s[n] == 'e' || s[n] == 'E')) {
    size_t sign = s[n + 1] == '-' || s[n + 1] == '+';
    after = digits(s + n + 1 + sign);
    if (after) {
      n += 1 + sign + after;
      *is_int = false;
    }
  }
  return n;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static wk_status push_term(parser *p, const term *t, uint16_t *out) {
  if (p->terms.n >= MAX_TERMS)
    return wk_error(WK_RESOURCE, "expression has more than %d terms", MAX_TERMS);
  *out = (uint16_t)p->terms.n;
  wk_vec_push(&p->terms, *t);
  return NULL;
}

static wk_status integer_value(const parser *p, const char *s, size_t n, term *t) {
  char text[48];
  bool fits = n < sizeof text;
  unsigned long long u = 0;
  long long v = 0;
  if (fits) {
    memcpy(text, s, n);
    text[n] = 0;
    errno = 0;
    if (t->dtype == WK_U64) u = strtoull(text, NULL, 10);
    else v = strtoll(text, NULL, 10);
    fits = errno == 0 && !(t->dtype == WK_U64 && text[0] == '-');
  }
  t->imm.i = t->dtype == WK_U64 ? (int64_t)u : v;
  int64_t lo, hi;
  wk_int_range(t->dtype, &lo, &hi);
  if (fits && t->dtype != WK_U64) fits = v >= lo && v <= hi;
  return fits ? NULL : error_at(p, t->column, "number out of range: ", s, n);
}

/* p->at is at the sign or first character; `text` is how many characters the number has. */
static wk_status literal(parser *p, size_t sign, size_t n, bool is_int, uint16_t *out) {
  const char *start = p->at;
  term t = {.op = WK_EX_CONST, .column = column_of(p, start)};
  char buffer[320];
  if (sign + n >= sizeof buffer) return error_here(p, "number is too long");
  memcpy(buffer, start, sign + n);
  buffer[sign + n] = 0;
  p->at = start + sign + n;
  size_t suffix = word_length(p->at);
  if (suffix && !wk_dtype_from_name(p->at, suffix, &t.dtype))
    return error_at(p, column_of(p, p->at), "unknown element type ", p->at, suffix);
  if (!suffix && !p->names) return error_at(p, t.column, "literal without an element type: ", start,
                                            sign + n);
  p->at += suffix;
  if (suffix && !wk_dtype_is_float(t.dtype)) {
    if (!is_int) return error_at(p, t.column, "no integer: ", start, sign + n);
    t.is_int = true;
    WK_TRY(integer_value(p, start, sign + n, &t));
  } else {
    t.imm.f = strtod_l(buffer, NULL, p->c);
  }
  return push_term(p, &t, out);
}

/* Templates compute with halves as f32, and read the bits of what is stored. */
static wk_status input_term(parser *p, int64_t k, int column, uint16_t *out) {
  if (k < 0 || k >= p->n_inputs || p->dtypes[k] == WK_DTYPE_NONE)
    return wk_error(WK_INPUT, "expression column %d: there is no input %%%lld", column,
                    (long long)k);
  term t = {.op = WK_EX_INPUT, .dtype = p->dtypes[k], .imm.i = k, .column = column};
  WK_TRY(push_term(p, &t, out));
  wk_dtype wide = wk_compute_dtype(t.dtype);
  bool is_stored = p->calls.n && p->calls.data[p->calls.n - 1].t.op == WK_EX_BITS;
  if (!p->names || is_stored || wide == t.dtype) return NULL;
  term cast = {.op = WK_EX_CAST, .dtype = wide, .arg = {*out, 0, 0}, .column = column};
  return push_term(p, &cast, out);
}

static wk_status small_number(parser *p, int64_t *v) {
  size_t n = digits(p->at);
  if (n == 0 || n > 6) return error_here(p, "small number expected");
  *v = 0;
  for (; n; n--) *v = 10 * *v + (*p->at++ - '0');
  return NULL;
}

static wk_status attribute(parser *p, uint16_t *out) {
  term t = {.op = WK_EX_CONST, .column = column_of(p, p->at)};
  p->at++;
  size_t n = word_length(p->at);
  if (!p->attr || !p->attr(p->attr_ctx, p->at, n, &t.imm.f))
    return error_at(p, t.column, "no numeric attribute ", p->at, n);
  p->at += n;
  return push_term(p, &t, out);
}

/* A definition or, in a template, an operand; also inf and nan with their element type. */
static wk_status word(parser *p, size_t n, uint16_t *out) {
  for (size_t k = p->defs.n; k-- > 0;) {
    const definition *d = &p->defs.data[k];
    if (d->n != n || memcmp(d->name, p->at, n) != 0) continue;
    *out = d->term;
    p->at += n;
    return NULL;
  }
  int k = 0;
  for (const char *name = p->names ? p->names : ""; *name; k++) {
    size_t m = strcspn(name, " "), bare = m;
    while (bare && (name[bare - 1] == '?' || name[bare - 1] == '*')) bare--;
    if (bare == n && memcmp(name, p->at, n) == 0) {
      p->at += n;
      return input_term(p, k, column_of(p, p->at), out);
    }
    name += m + (name[m] == ' ');
  }
  if (n >= 3 && (memcmp(p->at, "inf", 3) == 0 || memcmp(p->at, "nan", 3) == 0))
    return literal(p, 0, 3, false, out);
  return error_at(p, column_of(p, p->at), "unknown name ", p->at, n);
}

static bool op_from_name(const char *s, size_t n, wk_expr_op *op) {
  for (int k = WK_EX_NEG; k < WK_EX_COUNT; k++) {
    const char *name = wk_expr_op_name((wk_expr_op)k);
    if (strlen(name) != n || memcmp(name, s, n) != 0) continue;
    *op = (wk_expr_op)k;
    return true;
  }
  return false;
}

static bool word_is(const char *s, size_t n, const char *want) {
  return strlen(want) == n && memcmp(s, want, n) == 0;
}

/* sat<i8>( or bits<u32>(: the element type between angle brackets, up to and with the parenthesis;
 * in a template `out` is the dtype of the result. */
static wk_status open_typed(parser *p, term *t) {
  WK_TRY(expect(p, '<'));
  skip_space(p);
  size_t n = word_length(p->at);
  if (p->names && word_is(p->at, n, "out")) t->dtype = p->out_dtype;
  else if (!wk_dtype_from_name(p->at, n, &t->dtype)) return error_here(p, "element type expected");
  bool is_plain_int = wk_dtype_is_int(t->dtype) && !wk_dtype_is_narrow(t->dtype);
  if (t->op == WK_EX_SAT && !is_plain_int) return error_here(p, "integer type expected");
  p->at += n;
  WK_TRY(expect(p, '>'));
  return expect(p, '(');
}

static wk_status index_term(parser *p, int column, uint16_t *out) {
  term t = {.op = WK_EX_INDEX, .dtype = WK_I64, .column = column};
  WK_TRY(expect(p, '<'));
  WK_TRY(small_number(p, &t.imm.i));
  if (t.imm.i >= WK_MAX_RANK) return error_here(p, "axis is outside the largest rank");
  WK_TRY(expect(p, '>'));
  WK_TRY(expect(p, '('));
  WK_TRY(expect(p, ')'));
  return push_term(p, &t, out);
}

/* name( … : pushes an open call. */
static wk_status open_call(parser *p, size_t n) {
  const char *name = p->at;
  call c = {.t = {.column = column_of(p, name)}};
  p->at += n;
  bool is_sat = word_is(name, n, "sat");
  if (is_sat || word_is(name, n, "bits")) {
    c.t.op = is_sat ? WK_EX_SAT : WK_EX_BITS;
    WK_TRY(open_typed(p, &c.t));
  } else {
    if (p->names && word_is(name, n, "out")) {
      c.t.op = WK_EX_CAST;
      c.t.dtype = p->calls.n ? wk_compute_dtype(p->out_dtype) : p->out_dtype;
    } else if (wk_dtype_from_name(name, n, &c.t.dtype)) {
      c.t.op = WK_EX_CAST;
    } else if (!op_from_name(name, n, &c.t.op)) {
      return error_at(p, c.t.column, "unknown operation ", name, n);
    }
    WK_TRY(expect(p, '('));
  }
  if (p->calls.n >= MAX_TERMS)
    return wk_error(WK_RESOURCE, "expression is nested deeper than %d", MAX_TERMS);
  wk_vec_push(&p->calls, c);
  return NULL;
}

/* A term without arguments, or the opening of a call (*opened). */
static wk_status operand(parser *p, bool *opened, uint16_t *out) {
  skip_space(p);
  *opened = false;
  const char *s = p->at;
  int column = column_of(p, s);
  if (*s == '%' && !p->names) {
    int64_t k;
    p->at++;
    WK_TRY(small_number(p, &k));
    return input_term(p, k, column, out);
  }
  if (*s == '$') return attribute(p, out);
  size_t sign = *s == '-';
  bool is_int = false;
  size_t n = number_length(s + sign, &is_int);
  if (!n && sign && strncmp(s + 1, "inf", 3) == 0) n = 3;
  if (n) return literal(p, sign, n, is_int, out);
  n = word_length(s);
  if (n == 0) return error_here(p, "operand expected");
  const char *next = s + n;
  while (*next == ' ') next++;
  if (word_is(s, n, "index") && *next == '<') {
    p->at += n;
    return index_term(p, column, out);
  }
  *opened = *next == '(' || *next == '<';
  return *opened ? open_call(p, n) : word(p, n, out);
}

/* Gives a finished term to the innermost open call; closes calls as far as the text does. */
static wk_status give(parser *p, uint16_t *value, bool *done) {
  *done = false;
  while (p->calls.n) {
    call *c = &p->calls.data[p->calls.n - 1];
    int arity = wk_expr_op_arity(c->t.op);
    c->t.arg[c->n_args++] = *value;
    if (c->n_args < arity) return expect(p, ',');
    WK_TRY(expect(p, ')'));
    term t = c->t;
    p->calls.n--;
    WK_TRY(push_term(p, &t, value));
  }
  *done = true;
  return NULL;
}

static wk_status whole_term(parser *p, uint16_t *out) {
  for (bool done = false; !done;) {
    bool opened;
    WK_TRY(operand(p, &opened, out));
    if (!opened) WK_TRY(give(p, out, &done));
  }
  return NULL;
}

/* { name = term ; } term { , term } */
static wk_status read_text(parser *p) {
  while (true) {
    skip_space(p);
    size_t n = word_length(p->at);
    const char *name = p->at, *next = name + n;
    while (*next == ' ') next++;
    if (!n || *next != '=') break;
    p->at = next + 1;
    definition d = {.name = name, .n = n};
    WK_TRY(whole_term(p, &d.term));
    WK_TRY(expect(p, ';'));
    if (p->defs.n >= MAX_TERMS) return wk_error(WK_RESOURCE, "expression has too many names");
    wk_vec_push(&p->defs, d);
  }
  do {
    uint16_t value;
    WK_TRY(whole_term(p, &value));
    if (p->results.n >= MAX_RESULTS)
      return wk_error(WK_RESOURCE, "expression has too many results");
    wk_vec_push(&p->results, value);
  } while (accept(p, ','));
  skip_space(p);
  return *p->at ? error_here(p, "unexpected text after the expression") : NULL;
}

/* ---- element types --------------------------------------------------------------------------- */

static bool gives_bool(wk_expr_op op) {
  return op == WK_EX_IS_NAN || op == WK_EX_IS_INF || (op >= WK_EX_EQ && op <= WK_EX_GE);
}
_Static_assert(WK_EX_NE == WK_EX_EQ + 1 && WK_EX_GE == WK_EX_EQ + 5, "comparisons are in one run");

/* The element type of a result that no argument decides. */
static wk_dtype own_dtype(wk_expr_op op) {
  return gives_bool(op) ? WK_BOOL : op == WK_EX_RESCALE ? WK_I32 : WK_DTYPE_NONE;
}

/* The element type the untyped arguments of t take: that of a typed one, if any. */
static wk_dtype argument_dtype(const parser *p, const term *t) {
  for (int k = t->op == WK_EX_SELECT; k < wk_expr_op_arity(t->op); k++) {
    wk_dtype d = p->terms.data[t->arg[k]].dtype;
    if (d != WK_DTYPE_NONE) return d;
  }
  return WK_DTYPE_NONE;
}

static void settle(parser *p) {
  wk_dtype out = wk_compute_dtype(p->out_dtype);
  for (size_t i = 0; i < p->terms.n; i++) {
    term *t = &p->terms.data[i];
    if (t->dtype != WK_DTYPE_NONE || wk_expr_op_arity(t->op) == 0) continue;
    t->dtype = own_dtype(t->op) != WK_DTYPE_NONE ? own_dtype(t->op) : argument_dtype(p, t);
  }
  for (size_t r = 0; r < p->results.n; r++) {
    term *t = &p->terms.data[p->results.data[r]];
    if (t->dtype == WK_DTYPE_NONE) t->dtype = out;
  }
  for (size_t i = p->terms.n; i-- > 0;) {
    const term *t = &p->terms.data[i];
    wk_dtype want = argument_dtype(p, t);
    if (want == WK_DTYPE_NONE) want = gives_bool(t->op) ? out : t->dtype;
    for (int k = 0; k < wk_expr_op_arity(t->op); k++) {
      term *arg = &p->terms.data[t->arg[k]];
      if (arg->dtype != WK_DTYPE_NONE) continue;
      bool is_condition = t->op == WK_EX_SELECT && k == 0;
      bool is_factor = t->op == WK_EX_RESCALE && k > 0;
      arg->dtype = is_condition ? WK_BOOL : is_factor ? WK_I64 : want;
    }
  }
}

static wk_status build_term(const parser *p, wk_expr_builder *b, const term *t,
                            const uint16_t *nodes, uint16_t *out) {
  uint16_t arg[3] = {0, 0, 0};
  wk_dtype dtypes[3] = {WK_DTYPE_NONE, WK_DTYPE_NONE, WK_DTYPE_NONE};
  int arity = wk_expr_op_arity(t->op);
  for (int k = 0; k < arity; k++) {
    arg[k] = nodes[t->arg[k]];
    dtypes[k] = p->terms.data[t->arg[k]].dtype;
  }
  char why[64];
  const char *refusal = wk_expr_refusal(t->op, dtypes, why);
  if (refusal) return error_at(p, t->column, refusal, "", 0);
  if (t->op == WK_EX_BITS && wk_dtype_bits(t->dtype) != wk_dtype_bits(dtypes[0]))
    return error_at(p, t->column, "bits needs types of as many bits", "", 0);
  if (t->op == WK_EX_INPUT) *out = wk_expr_input(b, t->imm.i, t->dtype);
  else if (t->op == WK_EX_INDEX) *out = wk_expr_index(b, t->imm.i);
  else if (t->op == WK_EX_CONST && t->is_int) *out = wk_expr_i(b, t->dtype, t->imm.i);
  else if (t->op == WK_EX_CONST) *out = wk_expr_f(b, t->dtype, t->imm.f);
  else if (t->op == WK_EX_CAST) *out = wk_expr_cast(b, t->dtype, arg[0]);
  else if (t->op == WK_EX_SAT) *out = wk_expr_sat(b, t->dtype, arg[0]);
  else if (t->op == WK_EX_BITS) *out = wk_expr_bits(b, t->dtype, arg[0]);
  else if (arity == 1) *out = wk_expr_1(b, t->op, arg[0]);
  else if (arity == 2) *out = wk_expr_2(b, t->op, arg[0], arg[1]);
  else *out = wk_expr_3(b, t->op, arg[0], arg[1], arg[2]);
  return NULL;
}

static wk_status build(parser *p, wk_arena *a, wk_expr **out) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t *nodes = wk_xcalloc(p->terms.n, sizeof *nodes);
  wk_status s = NULL;
  for (size_t i = 0; !s && i < p->terms.n; i++) {
    if (wk_expr_count(b) >= WK_EXPR_MAX_NODES)
      s = wk_error(WK_RESOURCE, "expression has more than %d nodes", WK_EXPR_MAX_NODES);
    else
      s = build_term(p, b, &p->terms.data[i], nodes, &nodes[i]);
  }
  for (size_t r = 0; !s && r < p->results.n; r++) {
    uint16_t y = nodes[p->results.data[r]];
    bool rounds = p->names && wk_expr_dtype(b, y) == wk_compute_dtype(p->out_dtype);
    p->results.data[r] = rounds ? wk_expr_cast(b, p->out_dtype, y) : y;
  }
  if (!s) *out = wk_expr_finish(b, p->results.data, (int)p->results.n);
  free(nodes);
  return s;
}

static wk_status run(parser *p, wk_arena *a, wk_expr **out) {
  *out = NULL;
  p->at = p->text;
  p->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!p->c) return wk_error(WK_RESOURCE, "the C locale is not available");
  wk_status s = read_text(p);
  if (!s) settle(p);
  if (!s) s = build(p, a, out);
  freelocale(p->c);
  wk_vec_free(&p->terms);
  wk_vec_free(&p->calls);
  wk_vec_free(&p->defs);
  wk_vec_free(&p->results);
  return s;
}

wk_status wk_expr_parse(wk_arena *a, const char *s, const wk_dtype *dtypes, int n_inputs,
                        wk_expr **out) {
  parser p = {.text = s, .dtypes = dtypes, .n_inputs = n_inputs};
  return run(&p, a, out);
}

wk_status wk_expr_template(wk_arena *a, const char *text, const char *names, const wk_dtype *dtypes,
                           int n_inputs, wk_dtype out_dtype, wk_expr_attr_fn attr, const void *ctx,
                           wk_expr **out) {
  parser p = {.text = text,
              .dtypes = dtypes,
              .n_inputs = n_inputs,
              .names = names,
              .out_dtype = out_dtype,
              .attr = attr,
              .attr_ctx = ctx};
  return run(&p, a, out);
}
