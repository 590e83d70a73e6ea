/* SPDX-License-Identifier: Apache-2.0
 * Operators of our own domain, as the exporter writes them: a graph operator under its own name
 * with its own attributes. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/schema.h"

/* Numbers in double precision are tensors. */
static wk_floats doubles(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  wk_tensor t;
  bool borrowed;
  if (c->status || !a) return (wk_floats){.n = -1};
  if (!wk_onnx_valid(c, a->t, "attribute '%s' has no value", name)) return (wk_floats){.n = -1};
  wk_onnx_latch(c, wk_onnx_tensor_read(a->t, &t, &borrowed));
  if (c->status) return (wk_floats){.n = -1};
  int64_t n = wk_type_count(&t.type);
  double *v = wk_arena_alloc(c->im->m->arena, (size_t)n * sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i] = wk_load_f64(t.data, t.type.dtype, i);
  if (!borrowed) wk_tensor_free(&t);
  return (wk_floats){.n = n, .v = v};
}

/* dtypes of what the expression attribute reads: the node's inputs, or the value before a fold's
 * last step, or the accumulator and the extra operands of an epilogue. */
static const wk_expr *expression(wk_onnx_node *c, const char *name) {
  const char *text = wk_onnx_text(c, name, NULL);
  if (!text || !wk_onnx_ok(c)) return NULL;
  bool is_epilogue = strcmp(name, "epilogue") == 0, is_post = strcmp(name, "post") == 0;
  wk_dtype *dtypes = wk_arena_alloc(c->im->arena, (size_t)c->n_in * sizeof *dtypes);
  int n = 0;
  for (int i = 0; i < c->n_in; i++) {
    bool is_hidden = (is_epilogue && (i == 1 || i == 2)) || (is_post && i > 0);
    if (!is_hidden) dtypes[n++] = wk_onnx_type(c, c->in[i])->dtype;
  }
  if (is_epilogue && n) dtypes[0] = wk_accumulator_dtype(dtypes[0]);
  if (is_post && n)
    dtypes[0] = wk_folded_dtype(wk_onnx_text(c, "kind", "sum"), expression(c, "pre"), dtypes[0]);
  wk_expr *e = NULL;
  wk_onnx_latch(c, wk_expr_parse(c->im->m->arena, text, dtypes, n, &e));
  return e;
}

static void read_field(wk_onnx_node *c, const wk_field *f, void *v) {
  wk_ints ints;
  wk_floats floats;
  wk_texts texts;
  wk_dtype t = WK_DTYPE_NONE;
  const char *text;
  switch (f->kind) {
    case WK_FIELD_INT: *(int64_t *)v = wk_onnx_int(c, f->name, f->def_int); break;
    case WK_FIELD_DTYPE:
      text = wk_onnx_text(c, f->name, "");
      wk_onnx_valid(c, wk_dtype_from_name(text, strlen(text), &t),
                    "attribute '%s' is not an element type", f->name);
      *(int64_t *)v = t;
      break;
    case WK_FIELD_INTS:
      ints = wk_onnx_ints(c, f->name);
      if (ints.n >= 0) *(wk_ints *)v = ints;
      break;
    case WK_FIELD_FLOAT:
      floats = doubles(c, f->name);
      wk_onnx_valid(c, floats.n == 1 || floats.n < 0, "attribute '%s' has %lld numbers, not one",
                    f->name, (long long)floats.n);
      if (floats.n == 1) *(double *)v = floats.v[0];
      break;
    case WK_FIELD_FLOATS:
      floats = doubles(c, f->name);
      if (floats.n >= 0) *(wk_floats *)v = floats;
      break;
    case WK_FIELD_TEXT: *(const char **)v = wk_onnx_text(c, f->name, f->def_text); break;
    case WK_FIELD_TEXTS:
      texts = wk_onnx_texts(c, f->name);
      if (texts.n >= 0) *(wk_texts *)v = texts;
      break;
    case WK_FIELD_EXPR: *(const wk_expr **)v = expression(c, f->name); break;
  }
}

/* Each attribute is one of the operator's, as the exporter writes its kind. */
static void check_attributes(wk_onnx_node *c, const wk_op_info *info) {
  static const char *const kinds[] = {
      [WK_FIELD_INT] = "int",       [WK_FIELD_INTS] = "ints",     [WK_FIELD_FLOAT] = "tensor",
      [WK_FIELD_FLOATS] = "tensor", [WK_FIELD_TEXT] = "string",   [WK_FIELD_TEXTS] = "strings",
      [WK_FIELD_DTYPE] = "string",  [WK_FIELD_EXPR] = "string",
  };
  for (size_t i = 0; i < c->proto->n_attribute; i++) {
    const char *name = c->proto->attribute[i]->name;
    if (wk_onnx_attr_is_free(c->proto->attribute[i])) continue;
    const wk_field *f = wk_op_field(info, name, strlen(name));
    if (!wk_onnx_valid(c, f != NULL, "%s has no attribute '%s'", info->name, name)) return;
    wk_onnx_attr_is(c, name, kinds[f->kind], (int)strlen(kinds[f->kind]));
  }
}

wk_status wk_onnx_own(wk_onnx_node *c) {
  wk_op op;
  const char *name = c->proto->op_type;
  bool known = wk_op_from_name(name, strlen(name), &op) && wk_op_get(op)->kind != WK_KIND_INST &&
               wk_op_get(op)->cls != WK_CLASS_CONTROL;
  if (!wk_onnx_need(c, known, "this operator is not known")) return c->status;
  const wk_op_info *info = wk_op_get(op);
  check_attributes(c, info);
  if (!wk_onnx_ok(c)) return c->status;
  char *attrs = wk_make_attrs(c, op);
  for (int i = 0; i < info->n_fields; i++)
    read_field(c, &info->fields[i], attrs + info->fields[i].offset);
  int n_out = c->n_out;
  bool fits = c->n_in >= info->min_in && n_out >= info->min_out &&
              (info->max_in < 0 || c->n_in <= info->max_in) &&
              (info->max_out < 0 || n_out <= info->max_out);
  wk_onnx_valid(c, fits, "%d inputs and %d outputs do not fit this operator", c->n_in, n_out);
  wk_value_id *out = wk_arena_alloc(c->im->arena, (size_t)n_out * sizeof *out);
  wk_make_n(c, op, attrs, c->in, c->n_in, out, n_out);
  for (int i = 0; i < n_out; i++) wk_onnx_result(c, i, out[i]);
  return c->status;
}
