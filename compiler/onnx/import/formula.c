/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/formula.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct {
  wk_arena *a;
  const char *at;
} parser;

static bool is_name(char c, bool is_first) {
  bool letter = isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
  return letter || (!is_first && (isdigit((unsigned char)c) || c == '.'));
}

static void skip_spaces(parser *p) {
  while (isspace((unsigned char)*p->at)) p->at++;
}

static bool takes(parser *p, char c) {
  skip_spaces(p);
  if (*p->at != c) return false;
  p->at++;
  return true;
}

static bool parse_factor(parser *p, wk_formula_term *t) {
  skip_spaces(p);
  if (isdigit((unsigned char)*p->at)) {
    char *end;
    errno = 0;
    long long v = strtoll(p->at, &end, 10);
    p->at = end;
    return !errno && wk_mul_ok(t->factor, v, &t->factor);
  }
  size_t n = 0;
  while (is_name(p->at[n], n == 0)) n++;
  if (n == 0 || t->n == WK_SIZE_DEGREE) return false;
  t->symbols[t->n++] = wk_arena_strndup(p->a, p->at, n);
  p->at += n;
  return true;
}

static bool parse_term(parser *p, int64_t sign, wk_formula *out) {
  wk_formula_term t = {.factor = sign};
  if (out->n == WK_SIZE_TERMS) return false;
  do {
    if (!parse_factor(p, &t)) return false;
  } while (takes(p, '*'));
  out->terms[out->n++] = t;
  return true;
}

bool wk_formula_parse(wk_arena *a, const char *text, wk_formula *out) {
  parser p = {a, text};
  *out = (wk_formula){0};
  if (!parse_term(&p, 1, out)) return false;
  for (;;) {
    bool adds = takes(&p, '+');
    if (!adds && !takes(&p, '-')) break;
    if (!parse_term(&p, adds ? 1 : -1, out)) return false;
  }
  return *p.at == '\0';
}

bool wk_formula_computes(const wk_formula *f) {
  return f->n > 1 || f->terms[0].n != 1 || f->terms[0].factor != 1;
}

/* ---- symbols --------------------------------------------------------------------------------- */

wk_symbol *wk_symbol_find(wk_symbols *s, const char *name) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->data[i].name, name) == 0) return &s->data[i];
  return NULL;
}

/* Adds to least and most; false: an overflow. */
static bool add_term(wk_symbols *s, const wk_formula_term *t, int64_t range[2]) {
  int64_t low = t->factor, high = t->factor;
  for (int i = 0; i < t->n; i++) {
    const wk_symbol *x = wk_symbol_find(s, t->symbols[i]);
    if (!wk_mul_ok(low, t->factor > 0 ? x->least : x->value, &low) ||
        !wk_mul_ok(high, t->factor > 0 ? x->value : x->least, &high))
      return false;
  }
  return wk_add_ok(range[0], low, &range[0]) && wk_add_ok(range[1], high, &range[1]);
}

bool wk_symbol_measure(wk_symbols *s, wk_symbol *x, const char **missing) {
  int64_t range[2] = {0, 0};
  *missing = NULL;
  for (int i = 0; i < x->formula->n; i++)
    for (int k = 0; k < x->formula->terms[i].n; k++) {
      const char *name = x->formula->terms[i].symbols[k];
      const wk_symbol *of = wk_symbol_find(s, name);
      if (!of || of->formula) *missing = name;
      if (*missing) return false;
    }
  for (int i = 0; i < x->formula->n; i++)
    if (!add_term(s, &x->formula->terms[i], range)) return false;
  x->least = range[0] > 0 ? range[0] : 0;
  x->value = range[1];
  return x->value >= x->least;
}

wk_symbol *wk_symbol_resolve(wk_arena *a, wk_symbols *s, const char *name) {
  wk_symbol *known = wk_symbol_find(s, name);
  if (known) return known;
  wk_formula f;
  const char *missing;
  if (!wk_formula_parse(a, name, &f) || !wk_formula_computes(&f)) return NULL;
  wk_symbol x = {.name = name, .formula = wk_arena_memdup(a, &f, sizeof f)};
  if (!wk_symbol_measure(s, &x, &missing)) return NULL;
  wk_vec_push(s, x);
  return &s->data[s->n - 1];
}
