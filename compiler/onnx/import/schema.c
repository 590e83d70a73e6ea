/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/schema.h"

#include <string.h>

typedef struct {
  const char *domain, *name;
  int64_t since;
  int min_in, max_in, min_out, max_out; /* -1: any number */
  const char *attributes;               /* "name:kind name:kind!" */
} schema;

static const schema schemas[] = {
#define ONNX_SCHEMA(domain, name, since, min_in, max_in, min_out, max_out, attributes) \
  {domain, name, since, min_in, max_in, min_out, max_out, attributes},
#include "compiler/onnx/import/schemas.def"
#include "compiler/onnx/import/schemas_microsoft.def"
#undef ONNX_SCHEMA
};

/* All definitions of an operator, the oldest first. */
typedef struct { const schema *first; size_t n; } history;

static int compare(const schema *s, const char *domain, const char *name) {
  int order = strcmp(s->domain, domain);
  return order ? order : strcmp(s->name, name);
}

static history find_history(const char *domain, const char *name) {
  size_t low = 0, high = WK_COUNTOF(schemas);
  while (low < high) { /* the first row that is not before the operator */
    size_t mid = low + (high - low) / 2;
    if (compare(&schemas[mid], domain, name) < 0) low = mid + 1;
    else high = mid;
  }
  size_t end = low;
  while (end < WK_COUNTOF(schemas) && compare(&schemas[end], domain, name) == 0) end++;
  return (history){schemas + low, end - low};
}

/* ---- attributes ---------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT] = "float",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT] = "int",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING] = "string",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR] = "tensor",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH] = "graph",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS] = "floats",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS] = "ints",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS] = "strings",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS] = "tensors",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS] = "graphs",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR] = "sparse_tensor",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSORS] = "sparse_tensors",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO] = "type_proto",
    [ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTOS] = "type_protos",
};

/* NULL: an old file that does not say, or a list without entries. */
static const char *kind_of(const Onnx__AttributeProto *a) {
  size_t type = a->has_type ? (size_t)a->type : 0;
  if (type > 0 && type < WK_COUNTOF(kinds)) return kinds[type];
  return a->has_f       ? "float"
         : a->has_i     ? "int"
         : a->has_s     ? "string"
         : a->t         ? "tensor"
         : a->g         ? "graph"
         : a->n_floats  ? "floats"
         : a->n_ints    ? "ints"
         : a->n_strings ? "strings"
                        : NULL;
}

typedef struct {
  const char *name, *kind;
  int name_n, kind_n;
  bool is_needed;
} entry;

/* The entry at *text, which moves behind it; false at the end. */
static bool next_entry(const char **text, entry *e) {
  const char *p = *text, *colon = strchr(p, ':');
  if (!colon) return false;
  int kind_n = (int)strcspn(colon + 1, " !");
  const char *end = colon + 1 + kind_n;
  *e = (entry){.name = p, .name_n = (int)(colon - p), .kind = colon + 1, .kind_n = kind_n,
               .is_needed = *end == '!'};
  end += *end == '!';
  *text = end + (*end == ' ');
  return true;
}

static bool is_same(const char *text, int n, const char *want) {
  return strncmp(text, want, (size_t)n) == 0 && !want[n];
}

bool wk_onnx_attr_is_free(const Onnx__AttributeProto *a) {
  return !a->name || strncmp(a->name, "__", 2) == 0;
}

bool wk_onnx_attr_is(wk_onnx_node *c, const char *name, const char *kind, int n) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  const char *found = a ? kind_of(a) : NULL;
  return wk_onnx_valid(c, !found || is_same(kind, n, found), "attribute '%s' is %s, not %.*s", name,
                       found, n, kind);
}

static bool find_entry(const schema *s, const char *name, entry *e) {
  for (const char *text = s->attributes; next_entry(&text, e);)
    if (is_same(e->name, e->name_n, name)) return true;
  return false;
}

/* An attribute that the definition in force lacks: other opsets may have had it, or have it. */
static void refuse_unknown(wk_onnx_node *c, const char *name, const history *h, const schema *now) {
  const schema *before = NULL, *after = NULL;
  entry e;
  for (const schema *s = h->first; s < h->first + h->n; s++) {
    if (!find_entry(s, name, &e)) continue;
    if (s < now) before = s;
    else if (!after) after = s;
  }
  const char *op = c->proto->op_type;
  int64_t newest = wk_onnx_newest_opset(now->domain);
  if (after)
    wk_onnx_fail(c, WK_INPUT, "attribute '%s' of %s exists from opset %lld on", name, op,
                 (long long)after->since);
  else if (before)
    wk_onnx_fail(c, WK_INPUT, "attribute '%s' of %s ended with opset %lld", name, op,
                 (long long)before[1].since - 1);
  else if (newest && c->opset > newest)
    wk_onnx_fail(c, WK_UNSUPPORTED, "attribute '%s' is not known up to opset %lld", name,
                 (long long)newest);
  else
    wk_onnx_fail(c, WK_INPUT, "%s-%lld has no attribute '%s'", op, (long long)c->opset, name);
}

static void check_attributes(wk_onnx_node *c, const history *h, const schema *s) {
  for (size_t i = 0; i < c->proto->n_attribute; i++) {
    const Onnx__AttributeProto *a = c->proto->attribute[i];
    entry e;
    if (wk_onnx_attr_is_free(a)) continue;
    if (!find_entry(s, a->name, &e)) {
      refuse_unknown(c, a->name, h, s);
      return;
    }
    wk_onnx_attr_is(c, a->name, e.kind, e.kind_n);
  }
  entry e;
  for (const char *text = s->attributes; next_entry(&text, &e);) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", e.name_n, e.name);
    wk_onnx_valid(c, !e.is_needed || wk_onnx_attr(c, name), "attribute '%s' is missing", name);
  }
}

/* ---- operands ------------------------------------------------------------------------------ */

/* Empty names at the end count where some are missing, but not where there are too many. */
static void check_count(wk_onnx_node *c, const char *what, char *const *names, size_t n_names,
                        int min, int max) {
  int n = (int)n_names, used = n;
  while (used > 0 && !*names[used - 1]) used--;
  if (n >= min && (max < 0 || used <= max)) return;
  if (n >= min) n = used;
  wk_str range = {0};
  if (max < 0) wk_str_printf(&range, "at least %d", min);
  else if (min == max) wk_str_printf(&range, "%d", min);
  else wk_str_printf(&range, "%d to %d", min, max);
  wk_onnx_fail(c, WK_INPUT, "%s-%lld has %s %s%s, not %d", c->proto->op_type, (long long)c->opset,
               range.s, what, min == 1 && max <= 1 ? "" : "s", n);
  wk_str_free(&range);
}

bool wk_onnx_check_schema(wk_onnx_node *c) {
  history h = find_history(c->row->domain, c->row->name);
  const schema *now = NULL;
  for (const schema *s = h.first; s < h.first + h.n && s->since <= c->opset; s++) now = s;
  if (!now) return true;
  const Onnx__NodeProto *p = c->proto;
  check_attributes(c, &h, now);
  check_count(c, "input", p->input, p->n_input, now->min_in, now->max_in);
  check_count(c, "output", p->output, p->n_output, now->min_out, now->max_out);
  return wk_onnx_ok(c);
}
