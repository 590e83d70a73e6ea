/* SPDX-License-Identifier: Apache-2.0
 * Encoders of ai.onnx.ml: numbers for numbers, missing values, categories, names of columns. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/handlers.h"
#include "compiler/onnx/ml.h"

/* x with another axis of size 1 at its end. */
static wk_value_id with_last_axis(wk_onnx_node *c, wk_value_id x) {
  const int64_t axis = wk_onnx_type(c, x)->rank;
  return wk_make_unsqueeze(c, x, (wk_ints){.n = 1, .v = &axis});
}

/* True where they are equal; NaN equals NaN. */
static wk_value_id same(wk_onnx_node *c, wk_value_id x, wk_value_id y) {
  wk_value_id equal = wk_make_2(c, WK_OP_EQUAL, x, y);
  if (!wk_dtype_is_float(wk_onnx_type(c, x)->dtype)) return equal;
  wk_value_id nan = wk_make_2(c, WK_OP_AND, wk_make_1(c, WK_OP_IS_NAN, x),
                              wk_make_1(c, WK_OP_IS_NAN, y));
  return wk_make_2(c, WK_OP_OR, equal, nan);
}

static bool no_strings(wk_onnx_node *c, const char *name) {
  return wk_onnx_need(c, wk_onnx_texts(c, name).n < 0, WK_ONNX_NO_STRINGS);
}

/* ---- LabelEncoder -------------------------------------------------------------------------- */

static wk_value_id tensor_attribute(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  wk_value_id v = WK_NONE;
  if (!a || !a->t || c->status) return WK_NONE;
  bool is_number = a->t->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  if (!wk_onnx_need(c, is_number, WK_ONNX_NO_STRINGS)) return WK_NONE;
  wk_onnx_latch(c, wk_onnx_tensor_constant(c->im, c->g, name, a->t, &v));
  return c->status ? WK_NONE : v;
}

/* The one of `what`_int64s, `what`_floats and `what`_tensor that is there, as a vector. */
static wk_value_id list_attribute(wk_onnx_node *c, const char *what) {
  wk_arena *a = c->im->arena;
  if (!no_strings(c, wk_arena_printf(a, "%s_strings", what))) return WK_NONE;
  wk_ints ints = wk_onnx_ints(c, wk_arena_printf(a, "%s_int64s", what));
  wk_floats floats = wk_onnx_floats(c, wk_arena_printf(a, "%s_floats", what));
  wk_value_id tensor = tensor_attribute(c, wk_arena_printf(a, "%s_tensor", what));
  int given = (ints.n >= 0) + (floats.n >= 0) + (tensor != WK_NONE);
  if (!wk_onnx_valid(c, given == 1, "%s_… is given %s", what, given ? "twice" : "nowhere"))
    return WK_NONE;
  if (ints.n >= 0) return wk_make_i64s(c, ints.v, ints.n);
  if (floats.n >= 0) return wk_make_f64s(c, WK_F32, floats.v, 1, &floats.n);
  int64_t n = wk_type_count(wk_onnx_type(c, tensor));
  return wk_make_reshape(c, tensor, 1, &n);
}

/* What stands for an element that is no key: a vector of one. */
static wk_value_id default_of(wk_onnx_node *c, wk_dtype t) {
  wk_value_id v = tensor_attribute(c, "default_tensor");
  if (v == WK_NONE && t == WK_I64)
    return wk_make_i64s(c, (const int64_t[]){wk_onnx_int(c, "default_int64", -1)}, 1);
  if (v == WK_NONE)
    v = wk_make_scalar(c, t, t == WK_F32 ? wk_onnx_float(c, "default_float", -0.0)
                                         : wk_dtype_is_float(t) ? -0.0 : -1);
  const wk_type *have = wk_onnx_type(c, v);
  if (!wk_onnx_ok(c)) return WK_NONE;
  wk_onnx_valid(c, have->dtype == t && wk_type_count(have) == 1,
                "default_tensor is not one %s", wk_dtype_name(t));
  return wk_make_reshape(c, v, 1, (const int64_t[]){1});
}

/* The position of each element of x among the keys, from 1 on; 0: nowhere. The last of equal keys
 * counts. */
static wk_value_id positions(wk_onnx_node *c, wk_value_id x, wk_value_id keys) {
  int64_t n = wk_onnx_type(c, keys)->dims[0];
  int rank = wk_onnx_type(c, x)->rank;
  int64_t *number = wk_arena_alloc(c->im->arena, (size_t)(n + 1) * sizeof *number);
  for (int64_t i = 0; i < n; i++) number[i] = i + 1;
  wk_value_id at = wk_make_where(c, same(c, with_last_axis(c, x), keys),
                                 wk_make_i64s(c, number, n), wk_make_scalar(c, WK_I64, 0));
  return wk_make_reduce(c, WK_OP_REDUCE_MAX, at, wk_make_axes(c, rank, rank + 1), false);
}

wk_status wk_onnx_label_encoder(wk_onnx_node *c) {
  if (!wk_onnx_need(c, c->opset >= 2, WK_ONNX_NO_STRINGS)) return c->status; /* on one side */
  wk_value_id keys = list_attribute(c, "keys"), values = list_attribute(c, "values");
  if (!wk_onnx_ok(c)) return c->status;
  const wk_type x = *wk_onnx_type(c, c->in[0]), k = *wk_onnx_type(c, keys);
  const wk_type v = *wk_onnx_type(c, values);
  wk_onnx_valid(c, k.dims[0] == v.dims[0] && k.dims[0] > 0, "%lld keys for %lld values",
                (long long)k.dims[0], (long long)v.dims[0]);
  wk_onnx_valid(c, k.dtype == x.dtype, "its keys are %s, its input is %s",
                wk_dtype_name(k.dtype), wk_dtype_name(x.dtype));
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id table = wk_make_concat(c, (const wk_value_id[]){default_of(c, v.dtype), values}, 2,
                                     0);
  return wk_onnx_return(c, wk_make_gather(c, table, positions(c, c->in[0], keys), 0));
}

/* ---- Imputer ------------------------------------------------------------------------------- */

/* One number for all features or one for each, in the type of x. */
static wk_value_id imputed(wk_onnx_node *c, const wk_type *x) {
  bool is_float = wk_dtype_is_float(x->dtype);
  const char *name = is_float ? "imputed_value_floats" : "imputed_value_int64s";
  wk_floats floats = wk_onnx_floats(c, "imputed_value_floats");
  wk_ints ints = wk_onnx_ints(c, "imputed_value_int64s");
  int64_t n = is_float ? floats.n : ints.n;
  bool each = x->rank > 0 && n == x->dims[x->rank - 1];
  if (!wk_onnx_valid(c, n == 1 || (n > 0 && each),
                     "%s has %lld numbers: neither one nor one for each feature", name,
                     (long long)n)) return WK_NONE;
  wk_value_id v = is_float ? wk_make_f64s(c, x->dtype, floats.v, 1, &n)
                           : wk_make_cast(c, wk_make_i64s(c, ints.v, n), x->dtype);
  return n == 1 ? wk_make_reshape(c, v, 0, NULL) : v;
}

wk_status wk_onnx_imputer(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_value_id instead = imputed(c, &x), missing;
  if (!wk_onnx_ok(c)) return c->status;
  if (wk_dtype_is_float(x.dtype)) {
    double value = wk_onnx_float(c, "replaced_value_float", 0);
    missing = isnan(value) ? wk_make_1(c, WK_OP_IS_NAN, c->in[0])
                           : wk_make_2(c, WK_OP_EQUAL, c->in[0], wk_make_scalar(c, x.dtype, value));
  } else {
    const int64_t value = wk_onnx_int(c, "replaced_value_int64", 0);
    wk_value_id v = wk_make_reshape(c, wk_make_i64s(c, &value, 1), 0, NULL);
    missing = wk_make_2(c, WK_OP_EQUAL, wk_make_cast(c, c->in[0], WK_I64), v);
  }
  return wk_onnx_return(c, wk_make_where(c, missing, instead, c->in[0]));
}

/* ---- vectors ------------------------------------------------------------------------------- */

wk_status wk_onnx_feature_vectorizer(wk_onnx_node *c) {
  wk_ints sizes = wk_onnx_ints(c, "inputdimensions");
  wk_value_id *parts = wk_arena_alloc(c->im->arena, (size_t)(c->n_in + 1) * sizeof *parts);
  wk_onnx_valid(c, sizes.n < 0 || sizes.n == c->n_in, "%lld inputdimensions for %d inputs",
                (long long)sizes.n, c->n_in);
  for (int i = 0; i < c->n_in && wk_onnx_ok(c); i++) {
    if (!wk_onnx_valid(c, c->in[i] != WK_NONE, "input %d is missing", i)) break;
    parts[i] = wk_make_cast(c, wk_ml_rows(c, c->in[i]), WK_F32);
    if (!wk_onnx_ok(c)) break;
    int64_t have = wk_onnx_type(c, parts[i])->dims[1];
    wk_onnx_need(c, sizes.n < 0 || sizes.v[i] == have,
                 "input %d with %lld features where inputdimensions says %lld is not supported", i,
                 (long long)have, (long long)(sizes.n < 0 ? 0 : sizes.v[i]));
  }
  if (!wk_onnx_ok(c)) return c->status;
  return wk_onnx_return(c, wk_make_concat(c, parts, c->n_in, 1));
}

/* An unknown category is all zeros: `zeros` = 0, which makes it an error, has nowhere to go. */
wk_status wk_onnx_one_hot_encoder(wk_onnx_node *c) {
  if (!no_strings(c, "cats_strings")) return c->status;
  wk_ints cats = wk_onnx_ints(c, "cats_int64s");
  if (!wk_onnx_valid(c, cats.n > 0, "it has no cats_int64s")) return c->status;
  wk_value_id x = with_last_axis(c, wk_make_cast(c, c->in[0], WK_I64));
  wk_value_id hit = wk_make_2(c, WK_OP_EQUAL, x, wk_make_i64s(c, cats.v, cats.n));
  return wk_onnx_return(c, wk_make_cast(c, hit, WK_F32));
}

/* ---- ZipMap -------------------------------------------------------------------------------- */

static bool is_model_output(const wk_onnx_node *c) {
  const Onnx__GraphProto *g = c->im->model->graph;
  bool is_top = !c->scope->parent && !c->scope->frame->function;
  for (size_t i = 0; is_top && i < g->n_output; i++)
    if (g->output[i]->name && strcmp(g->output[i]->name, c->proto->output[0]) == 0) return true;
  return false;
}

static void note_columns(wk_onnx_node *c, const wk_ml_labels *labels) {
  wk_str b = {0};
  wk_str_printf(&b, "output '%s' is a tensor, not a list of maps; its columns are",
                c->proto->output[0]);
  for (int64_t i = 0; i < labels->n; i++) {
    wk_str_add(&b, i ? ", " : " ");
    if (labels->ints.n < 0) wk_str_printf(&b, "'%s'", labels->strings.v[i]);
    else wk_str_printf(&b, "%lld", (long long)labels->ints.v[i]);
  }
  wk_vec_push(&c->im->rep->notes, wk_arena_strdup(c->im->rep->arena, b.s));
  wk_str_free(&b);
}

/* Maps of names are for the reader: the tensor itself is what the model gives. */
wk_status wk_onnx_zip_map(wk_onnx_node *c) {
  wk_ml_labels labels;
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  if (!wk_ml_labels_read(c, "classlabels_int64s", "classlabels_strings", &labels)) return c->status;
  if (!wk_onnx_need(c, is_model_output(c), "maps are not supported but as outputs of the model"))
    return c->status;
  if (!wk_onnx_ok(c)) return c->status;
  int64_t columns = wk_onnx_type(c, x)->dims[1];
  if (wk_onnx_valid(c, columns == labels.n, "%lld labels for %lld columns", (long long)labels.n,
                    (long long)columns)) note_columns(c, &labels);
  return wk_onnx_return(c, x);
}
