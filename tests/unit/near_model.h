/* SPDX-License-Identifier: Apache-2.0
 * Models that differ from one in a single thing: edits of a text of tests/hostile/model_text.h that
 * leave it well formed. A number is moved, doubled or left out, a type or a text becomes another
 * one, an operand is left out, added or another one, an attribute is left out. */
#ifndef WICK_TEST_NEAR_MODEL_H
#define WICK_TEST_NEAR_MODEL_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/support/support.h"

typedef enum { NEAR_NUMBER, NEAR_TYPE, NEAR_QUOTED, NEAR_OPERAND, NEAR_ATTRIBUTE } near_kind;
typedef struct {
  near_kind kind;
  const char *at;
  size_t n; /* of an attribute: with its value */
} near_place;
typedef WK_VEC(near_place) near_places;

static inline bool near_is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/';
}

static inline const char *near_skip(const char *p) {
  while (isspace((unsigned char)*p)) p++;
  return p;
}

static inline size_t near_quoted(const char *p) {
  return 1 + strcspn(p + 1, "\"") + 1;
}

static inline bool near_is_type(const char *p, size_t n) {
  static const char *const types[] = {"f32", "u8", "i8", "u16", "i16", "i32", "i64", "string",
                                      "bool", "f16", "f64"};
  for (size_t i = 0; p[n] == '[' && i < WK_COUNTOF(types); i++)
    if (strlen(types[i]) == n && !strncmp(p, types[i], n)) return true;
  return false;
}

/* Of an attribute whose value is no subgraph and no tensor; 0: it is one. */
static inline size_t near_attribute(const char *p, size_t name) {
  const char *v = near_skip(p + name);
  if (*v++ != '=') return 0;
  v = near_skip(v);
  if (*v == '"') return (size_t)(v - p) + near_quoted(v);
  bool is_nested = *v == '[' && (v[1] == '(' || v[1] == 't');
  if (*v == '(' || *v == '{' || !strncmp(v, "tensor", 6) || is_nested) return 0;
  const char *end = v + strcspn(v, *v == '[' ? "]" : " }");
  if (*v != '[' && (!strncmp(v, "floats", 6) || !strncmp(v, "strings", 7))) end = strchr(v, ']');
  return (size_t)(end - p) + (*end == ']');
}

/* An operand stands before a comma or an arrow, outside of the brackets of shapes. */
static inline bool near_is_operand(const char *text, const char *p, size_t n) {
  const char *after = near_skip(p + n), *before = p;
  while (before > text && isspace((unsigned char)before[-1])) before--;
  bool ends = *after == ',' || !strncmp(after, "->", 2);
  return ends && before > text && (before[-1] == ',' || near_is_word(before[-1]));
}

static inline void near_find(const char *text, near_places *out) {
  int brackets = 0;
  bool in_values = false; /* ={1,2} */
  for (const char *p = text; *p;) {
    size_t n = 0, attribute;
    while (near_is_word(p[n])) n++;
    bool is_number = isdigit((unsigned char)*p) || (*p == '-' && isdigit((unsigned char)p[1]));
    if (is_number) {
      char *end;
      strtod(p, &end);
      n = (size_t)(end - p);
      wk_vec_push(out, ((near_place){NEAR_NUMBER, p, n}));
    } else if (*p == '"') {
      n = near_quoted(p);
      wk_vec_push(out, ((near_place){NEAR_QUOTED, p, n}));
    } else if (n && near_is_type(p, n)) {
      wk_vec_push(out, ((near_place){NEAR_TYPE, p, n}));
    } else if (n && !brackets && !in_values && near_is_operand(text, p, n)) {
      wk_vec_push(out, ((near_place){NEAR_OPERAND, p, n}));
    } else if (n && (attribute = near_attribute(p, n)) > 0) {
      wk_vec_push(out, ((near_place){NEAR_ATTRIBUTE, p, attribute}));
    }
    brackets += (*p == '[') - (*p == ']');
    in_values = (in_values && *p != '}') || (*p == '{' && p > text && p[-1] == '=');
    p += n ? n : 1;
  }
}

/* An element of a list, of which there is another one behind if `has_next`. */
static inline bool near_is_element(const near_place *x, bool has_next) {
  char before = x->at[-1], after = x->at[x->n];
  bool is_last = after == ']' || after == '}';
  return (before == '[' || before == '{' || before == ',') &&
         (after == ',' || (is_last && !has_next));
}

static inline void near_number(wk_str *b, const near_place *x, wk_rng *rng) {
  char *end;
  long long v = strtoll(x->at, &end, 10);
  int64_t how = wk_rng_range(rng, 0, 9);
  if (end != x->at + x->n) {
    double f = strtod(x->at, NULL);
    f = how < 4 ? f + 0.5 : how < 8 ? -f : how == 8 ? 0 : f * 2;
    wk_str_printf(b, "%.9g%s", f, f == (double)(long long)f ? ".0" : "");
  } else {
    bool is_large = v > 1000 || v < -1000;
    uint64_t u = (uint64_t)v;
    u = how < 4 ? u + 1 : how < 8 || is_large ? u - 1 : how == 8 ? 0 : (uint64_t)-1;
    wk_str_printf(b, "%lld", (long long)u);
  }
}

/* Another place of this kind; the same when there is none. */
static inline const near_place *near_other(const near_places *all, const near_place *x,
                                           wk_rng *rng) {
  for (int tries = 0; tries < 8; tries++) {
    const near_place *o = &all->data[wk_rng_range(rng, 0, (int64_t)all->n - 1)];
    if (o->kind == x->kind && (o->n != x->n || strncmp(o->at, x->at, x->n) != 0)) return o;
  }
  return x;
}

static inline void near_operand(wk_str *b, const near_places *all, const near_place *x,
                                wk_rng *rng) {
  const near_place *o = near_other(all, x, rng);
  int64_t how = wk_rng_range(rng, 0, 3);
  if (how == 0 || (how == 1 && o == x)) wk_str_add(b, "_");
  else if (how == 1) wk_str_printf(b, "%.*s", (int)o->n, o->at);
  else if (how == 2) wk_str_printf(b, "%.*s,%.*s", (int)x->n, x->at, (int)o->n, o->at);
  else if (x->at[x->n] != ',') wk_str_add(b, "_");
}

/* words: texts that other models have. */
static inline void near_edit(wk_str *b, const char *text, const near_places *all,
                             const near_place *x, const char *const *words, size_t n_words,
                             wk_rng *rng) {
  static const char *const types[] = {"f32", "i32", "i64", "u8", "i8", "bool", "f16", "f64"};
  const char *after = x->at + x->n;
  wk_str_printf(b, "%.*s", (int)(x->at - text), text);
  switch (x->kind) {
    case NEAR_NUMBER: {
      int64_t how = wk_rng_range(rng, 0, 9);
      if (how == 8 && near_is_element(x, false))
        wk_str_printf(b, "%.*s,%.*s", (int)x->n, x->at, (int)x->n, x->at);
      else if (how == 9 && near_is_element(x, true)) after++; /* with its comma */
      else near_number(b, x, rng);
      break;
    }
    case NEAR_TYPE: wk_str_add(b, types[wk_rng_range(rng, 0, WK_COUNTOF(types) - 1)]); break;
    case NEAR_QUOTED:
      wk_str_printf(b, "\"%s\"", words[wk_rng_range(rng, 0, (int64_t)n_words - 1)]);
      break;
    case NEAR_OPERAND: {
      size_t had = b->n;
      near_operand(b, all, x, rng);
      after += b->n == had; /* left out with its comma */
      break;
    }
    case NEAR_ATTRIBUTE: break;
  }
  wk_str_add(b, after);
}

/* The text with another type in place of f32. */
static inline void near_retype(wk_str *b, const char *text, const char *type) {
  for (const char *p = text; *p; p++) {
    bool is_type = !strncmp(p, "f32[", 4) && (p == text || !near_is_word(p[-1]));
    if (is_type) wk_str_add(b, type);
    else wk_str_addn(b, p, 1);
    p += is_type ? 2 : 0;
  }
}

#endif
