/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/custom.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/infer.h"

enum { MAX_OPS = 256 };

/* What a process has loaded is known to the whole process. */
static struct {
  const wk_custom_op *ops[MAX_OPS];
  atomic_size_t n; /* grows behind its row, for those who read meanwhile */
} registry;

const wk_custom_op *wk_custom_at(size_t i) { return i < registry.n ? registry.ops[i] : NULL; }

const wk_custom_op *wk_custom_find(const char *domain, const char *name) {
  const wk_custom_op *op;
  for (size_t i = 0; (op = wk_custom_at(i)); i++)
    if (!strcmp(op->domain, domain) && !strcmp(op->name, name)) return op;
  return NULL;
}

static bool is_c_name(const char *s) {
  if (!s || !*s || isdigit((unsigned char)*s)) return false;
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return true;
}

static const char *missing_in(const wk_custom_op *op) {
  for (const wk_custom_attr *a = op->attrs; a && a->name; a++)
    if (a->kind == WK_CUSTOM_WORD && (!a->words || !*a->words)) return "the words of an attribute";
  return !op->domain || !*op->domain ? "a domain"
         : !op->name || !*op->name   ? "a name"
         : !op->doc                  ? "a text that says what it is"
         : !op->reference            ? "reference"
         : !is_c_name(op->routine)   ? "routine, a name of C"
         : !op->max_out              ? "results"
         : op->bitcode && op->bitcode_end <= op->bitcode ? "the end of its bitcode"
                                     : NULL;
}

wk_status wk_custom_register(const wk_custom_op *op) {
  const char *missing = missing_in(op);
  if (missing)
    return wk_error(WK_INPUT, "custom operator %s lacks %s", op->name ? op->name : "", missing);
  const wk_custom_op *other = wk_custom_find(op->domain, op->name);
  if (other == op) return NULL;
  if (other)
    return wk_error(WK_USAGE, "there is an operator %s.%s already", op->domain, op->name);
  for (size_t i = 0; i < registry.n; i++) {
    const wk_custom_op *x = registry.ops[i];
    if (x->bitcode != op->bitcode && !strcmp(x->routine, op->routine))
      return wk_error(WK_USAGE, "%s.%s and %s.%s have other bitcode for one routine, %s", x->domain,
                      x->name, op->domain, op->name, op->routine);
  }
  if (registry.n == MAX_OPS) return wk_error(WK_RESOURCE, "more than %d custom operators", MAX_OPS);
  registry.ops[registry.n] = op;
  registry.n++;
  return NULL;
}

uint32_t wk_custom_attr_count(const wk_custom_op *op) {
  uint32_t n = 0;
  while (op->attrs && op->attrs[n].name) n++;
  return n;
}

const wick_call_attribute *wk_custom_attributes(const wk_attr_custom *a, wk_arena *arena) {
  wick_call_attribute *out = wk_arena_alloc(arena, (size_t)a->counts.n * sizeof *out);
  const double *at = a->values.v;
  for (int64_t i = 0; i < a->counts.n; at += a->counts.v[i++])
    out[i] = (wick_call_attribute){.values = at, .count = a->counts.v[i]};
  return out;
}

/* ---- inference ------------------------------------------------------------------------------- */

/* As many values as the row's attributes have. */
static wk_status check_attributes(const wk_infer *i, const wk_custom_op *op) {
  const wk_attr_custom *a = i->attrs;
  int64_t sum = 0;
  bool fits = a->counts.n == wk_custom_attr_count(op);
  for (int64_t k = 0; fits && k < a->counts.n; k++) {
    bool is_list = op->attrs[k].kind == WK_CUSTOM_INTS || op->attrs[k].kind == WK_CUSTOM_FLOATS;
    fits = is_list ? a->counts.v[k] >= 0 && a->counts.v[k] <= a->values.n : a->counts.v[k] == 1;
    sum += a->counts.v[k];
  }
  if (fits && sum == a->values.n) return NULL;
  return BAD(i, "attributes are not those of %s.%s", op->domain, op->name);
}

static wk_status check_counts(const wk_infer *i, const wk_custom_op *op) {
  if (i->n_in < op->min_in || i->n_in > op->max_in)
    return BAD(i, "%s.%s takes %u to %u inputs, not %u", op->domain, op->name, op->min_in,
               op->max_in, i->n_in);
  if (i->n_out >= op->min_out && i->n_out >= 1 && i->n_out <= op->max_out) return NULL;
  return BAD(i, "%s.%s has %u to %u results, not %u", op->domain, op->name, op->min_out,
             op->max_out, i->n_out);
}

static wk_status same_as_first(const wk_infer *i, const wk_custom_op *op) {
  if (!i->n_in || i->n_out != 1)
    return BAD(i, "%s.%s does not say what its results are", op->domain, op->name);
  i->out[0] = *i->in[0];
  i->out[0].quant = NULL;
  return NULL;
}

wk_status wk_infer_custom(const wk_infer *i) {
  const wk_attr_custom *a = i->attrs;
  const wk_custom_op *op = wk_custom_find(a->domain, a->op);
  if (!op) return UNSUPPORTED(i, "no plugin that is loaded has %s.%s", a->domain, a->op);
  WK_TRY(check_counts(i, op));
  WK_TRY(check_attributes(i, op));
  if (!op->infer) return same_as_first(i, op);
  wk_arena *arena = wk_arena_new();
  const wk_custom_query q = {.op = op, .in = i->in, .n_in = i->n_in, .n_out = i->n_out,
                             .attributes = wk_custom_attributes(a, arena)};
  wk_status s = op->infer(&q, i->out);
  wk_arena_free(arena);
  if (!s) return NULL;
  wk_status named = wk_infer_bad(i, s->code, s->file, s->line, "%s.%s: %s", op->domain, op->name,
                                 s->message);
  wk_status_free(s);
  return named;
}
