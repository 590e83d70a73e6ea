/* SPDX-License-Identifier: Apache-2.0
 * Model-local functions: operators without an ONNX equivalent, whose row holds a body in ONNX
 * operators (opset 20, since it makes lists inputs):
 *
 *   body   = { "let" name {"," name} "=" call ";" } value {"," value}     the results
 *   value  = name | call | number | "[" integer {"," integer} "]" | "$" argument
 *   call   = ["wick."] operator "(" [value {"," value}] ")" ["{" attribute {"," attribute} "}"]
 *   attribute = name "=" (number | "[" ... "]" | "$" argument | word)
 *
 * Inputs are a, b, c, …: those of the row, and behind them what a handler adds. A number with a
 * point is an f32, one without an i64, a list is a vector; $NAME is an argument of the row, which
 * the call hands over as an attribute. One function serves all operators of a type. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/translate.h"
#include "compiler/onnx/export/export.h"
#include "compiler/onnx/wire/message.h"

enum { BODY_OPSET = 20, MAX_OPERANDS = 12, MAX_RESULTS = 6 };

typedef struct {
  wk_c2_op *o;
  const char *p; /* what is left */
  int made;      /* values without a name */
} body;

/* ---- tokens -------------------------------------------------------------------------------- */

static char look(body *b) {
  while (*b->p == ' ') b->p++;
  return *b->p;
}

static bool take(body *b, char c) {
  if (look(b) != c) return false;
  b->p++;
  return true;
}

/* The table is part of the program: this is a mistake in it. */
static void expect(body *b, char c) {
  if (!take(b, c)) wk_c2_fail(b->o, WK_INTERNAL, "the body has no '%c' at '%s'", c, b->p);
}

static const char *word(body *b) {
  look(b);
  size_t n = 0;
  while (isalnum((unsigned char)b->p[n]) || b->p[n] == '_') n++;
  const char *w = wk_arena_strndup(b->o->c->arena, b->p, n);
  b->p += n;
  return w;
}

static bool is_number(body *b) {
  char c = look(b);
  return isdigit((unsigned char)c) || c == '-' || c == '.';
}

/* ---- attributes ---------------------------------------------------------------------------- */

typedef Onnx__AttributeProto__AttributeType attribute_type;
#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static Onnx__AttributeProto *put(body *b, const char *name, attribute_type type) {
  wk_c2 *c = b->o->c;
  Onnx__NodeProto none = ONNX__NODE_PROTO__INIT;
  Onnx__NodeProto *n = c->nodes.n ? c->nodes.data[c->nodes.n - 1] : &none;
  return wk_message_attribute(c->arena, n, name, type);
}

static const char *field_of(attribute_type t) {
  return t == TYPE(FLOAT) ? "value_float" : t == TYPE(INT) ? "value_int"
         : t == TYPE(INTS) ? "value_ints" : "value_floats";
}

static attribute_type type_of(body *b, const char *argument) {
  wk_c2_map m;
  for (const char *p = b->o->row->args; wk_c2_next_map(&p, &m);)
    if (strcmp(m.attribute, argument) == 0)
      return m.type == 'f' ? TYPE(FLOAT) : m.type == 'i' ? TYPE(INT) : m.type == 's' ? TYPE(STRING)
             : m.type == 'I' ? TYPE(INTS) : TYPE(FLOATS);
  wk_c2_fail(b->o, WK_INTERNAL, "the body uses '$%s', which the row does not have", argument);
  return TYPE(INT);
}

/* The value behind $NAME: of an attribute `name`; NULL: of a Constant. */
static void put_argument(body *b, const char *name) {
  expect(b, '$');
  const char *argument = word(b);
  attribute_type t = type_of(b, argument);
  put(b, name ? name : field_of(t), t)->ref_attr_name = wk_arena_strdup(b->o->c->arena, argument);
}

static void put_list(body *b, const char *name) {
  int64_t v[MAX_OPERANDS], n = 0;
  char *end;
  expect(b, '[');
  while (n < MAX_OPERANDS && is_number(b)) {
    v[n++] = strtoll(b->p, &end, 10);
    b->p = end;
    take(b, ',');
  }
  expect(b, ']');
  wk_c2_attr_ints(b->o, name ? name : field_of(TYPE(INTS)), v, n);
}

static void put_number(body *b, const char *name) {
  char *end;
  double v = strtod(b->p, &end);
  bool is_float = memchr(b->p, '.', (size_t)(end - b->p)) != NULL;
  b->p = end;
  const char *field = name ? name : field_of(is_float ? TYPE(FLOAT) : TYPE(INT));
  if (is_float) wk_c2_attr_float(b->o, field, (float)v);
  else wk_c2_attr_int(b->o, field, (int64_t)v);
}

/* What is neither a name nor a call, as an attribute or (name NULL) as a Constant's value. */
static void put_literal(body *b, const char *name) {
  if (look(b) == '$') put_argument(b, name);
  else if (look(b) == '[') put_list(b, name);
  else put_number(b, name);
}

static void put_attributes(body *b) {
  if (!take(b, '{')) return;
  do {
    const char *name = word(b);
    expect(b, '=');
    if (isalpha((unsigned char)look(b))) wk_c2_attr_text(b->o, name, word(b));
    else put_literal(b, name);
  } while (take(b, ','));
  expect(b, '}');
}

/* ---- values -------------------------------------------------------------------------------- */

static const char *fresh(body *b) {
  return wk_arena_printf(b->o->c->arena, "v%d", ++b->made);
}

static const char *value(body *b);

/* first: the operator, or its domain before a point. */
static void call(body *b, const char *first, const char *const *out, int n_out) {
  const char *in[MAX_OPERANDS], *domain = take(b, '.') ? first : NULL;
  const char *op = domain ? word(b) : first;
  int n = 0;
  expect(b, '(');
  while (look(b) != ')' && n < MAX_OPERANDS && !b->o->status) {
    in[n++] = take(b, '_') ? "" : value(b);
    if (!take(b, ',')) break;
  }
  expect(b, ')');
  Onnx__NodeProto *node = wk_c2_node(b->o, op, in, n, out, n_out);
  if (domain) node->domain = wk_arena_strdup(b->o->c->arena, domain);
  put_attributes(b);
}

static const char *value(body *b) {
  if (b->o->status) return "";
  const char *out = isalpha((unsigned char)look(b)) ? word(b) : NULL;
  if (out && look(b) != '(' && look(b) != '.') return out;
  const char *op = out;
  out = fresh(b);
  if (op) {
    call(b, op, &out, 1);
    return out;
  }
  wk_c2_node(b->o, "Constant", NULL, 0, &out, 1);
  put_literal(b, NULL);
  return out;
}

static void let(body *b) {
  const char *names[MAX_RESULTS];
  int n = 0;
  b->p += strlen("let ");
  do names[n++] = word(b);
  while (n < MAX_RESULTS && take(b, ','));
  expect(b, '=');
  call(b, word(b), names, n);
  expect(b, ';');
}

/* ---- functions ----------------------------------------------------------------------------- */

static Onnx__OperatorSetIdProto *opset(wk_c2_op *o, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *x = wk_arena_alloc(o->c->arena, sizeof *x);
  onnx__operator_set_id_proto__init(x);
  x->domain = wk_arena_strdup(o->c->arena, domain);
  x->has_version = true;
  x->version = version;
  return x;
}

static void add_opsets(wk_c2_op *o, Onnx__FunctionProto *f) {
  Onnx__OperatorSetIdProto *versions[] = {opset(o, "", BODY_OPSET),
                                          opset(o, WK_ONNX_OWN_DOMAIN, 1)};
  f->opset_import = wk_arena_memdup(o->c->arena, versions, sizeof versions);
  f->n_opset_import = WK_COUNTOF(versions);
}

static char **letters(wk_c2_op *o, int n) {
  char **list = wk_arena_alloc(o->c->arena, (size_t)n * sizeof *list);
  for (int i = 0; i < n; i++) list[i] = wk_arena_printf(o->c->arena, "%c", 'a' + i);
  return list;
}

static void add_arguments(wk_c2_op *o, Onnx__FunctionProto *f) {
  wk_c2_map m;
  f->attribute = wk_arena_alloc(o->c->arena, strlen(o->row->args) * sizeof *f->attribute);
  for (const char *p = o->row->args; wk_c2_next_map(&p, &m);)
    f->attribute[f->n_attribute++] = wk_arena_strdup(o->c->arena, m.attribute);
}

/* Writes the row's body as nodes; its results. */
static void write_body(wk_c2_op *o, Onnx__FunctionProto *f) {
  body b = {.o = o, .p = o->row->onnx};
  f->output = wk_arena_alloc(o->c->arena, MAX_RESULTS * sizeof *f->output);
  while (look(&b) == 'l' && strncmp(b.p, "let ", 4) == 0 && !o->status) let(&b);
  do f->output[f->n_output++] = wk_arena_strdup(o->c->arena, value(&b));
  while (f->n_output < MAX_RESULTS && take(&b, ','));
  if (look(&b)) wk_c2_fail(o, WK_INTERNAL, "the body ends before '%s'", b.p);
}

static void define(wk_c2_op *o) {
  wk_c2 *c = o->c;
  Onnx__FunctionProto *f = wk_arena_alloc(c->arena, sizeof *f);
  const wk_c2_nodes outer = c->nodes;
  const char *name = o->name;
  onnx__function_proto__init(f);
  f->name = wk_arena_strdup(c->arena, o->row->type);
  f->domain = wk_arena_strdup(c->arena, WK_C2_DOMAIN);
  int n_in = o->n_in > o->row->max_in ? o->n_in : o->row->max_in;
  f->n_input = (size_t)n_in;
  f->input = letters(o, n_in);
  add_arguments(o, f);
  c->nodes = (wk_c2_nodes){0};
  o->name = NULL; /* nodes are called as the operator is, of which there may be several */
  write_body(o, f);
  o->name = name;
  f->n_node = c->nodes.n;
  f->node = wk_arena_alloc(c->arena, f->n_node * sizeof *f->node);
  for (size_t i = 0; i < f->n_node; i++) f->node[i] = c->nodes.data[i];
  wk_vec_free(&c->nodes);
  c->nodes = outer;
  add_opsets(o, f);
  if (!o->status) wk_vec_push(&c->functions, f);
}

static bool is_defined(const wk_c2_op *o) {
  for (size_t i = 0; i < o->c->functions.n; i++)
    if (strcmp(o->c->functions.data[i]->name, o->row->type) == 0) return true;
  return false;
}

void wk_c2_function(wk_c2_op *o) {
  if (!is_defined(o)) define(o);
  Onnx__NodeProto *call = wk_c2_row_node(o, o->row->type);
  call->domain = wk_arena_strdup(o->c->arena, WK_C2_DOMAIN);
}
