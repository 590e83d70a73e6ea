/* SPDX-License-Identifier: Apache-2.0
 * Encoders of ai.onnx.ml: numbers for numbers, missing values, categories, names of columns. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/domains/ml.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/labels.h"

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

/* ---- LabelEncoder -------------------------------------------------------------------------- */

/* Keys or values: a vector, or strings, whose numbers are 0, 1, … */
typedef struct {
  wk_value_id numbers;
  const wk_labels *labels; /* NULL: no strings */
  int64_t n;
} list;

static list list_of_bound(wk_onnx_node *c, wk_bound b) {
  if (c->status) return (list){0};
  int64_t n = wk_type_count(wk_onnx_type(c, b.value));
  return (list){wk_make_reshape(c, b.value, 1, &n), b.labels, n};
}

static list list_of_texts(wk_onnx_node *c, wk_texts texts) {
  const wk_labels labels = {.kind = WK_LABELS_ELEMENTS, .texts = texts};
  if (!wk_onnx_valid(c, texts.n > 0, "a list of strings is empty")) return (list){0};
  return list_of_bound(c, wk_label_bound(c->im, wk_make_iota(c, texts.n), &labels));
}

/* The tensor; NOTHING: it is not there. */
static wk_bound tensor_attribute(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  wk_bound b = {.kind = WK_BOUND_NOTHING, .value = WK_NONE};
  if (!a || !a->t || c->status) return b;
  b.kind = WK_BOUND_TENSOR;
  bool is_text = a->t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  wk_onnx_latch(c, is_text ? wk_label_tensor(c->im, c->g, name, a->t, &b)
                           : wk_onnx_tensor_constant(c->im, c->g, name, a->t, &b.value));
  return b;
}

/* The one of `what`_int64s, `what`_floats, `what`_strings and `what`_tensor that is there. */
static list list_attribute(wk_onnx_node *c, const char *what) {
  wk_arena *a = c->im->arena;
  wk_ints ints = wk_onnx_ints(c, wk_arena_printf(a, "%s_int64s", what));
  wk_floats floats = wk_onnx_floats(c, wk_arena_printf(a, "%s_floats", what));
  wk_texts texts = wk_onnx_texts(c, wk_arena_printf(a, "%s_strings", what));
  wk_bound tensor = tensor_attribute(c, wk_arena_printf(a, "%s_tensor", what));
  int given = (ints.n >= 0) + (floats.n >= 0) + (texts.n >= 0) + (tensor.kind != WK_BOUND_NOTHING);
  if (!wk_onnx_valid(c, given == 1, "%s_… is given %s", what, given ? "twice" : "nowhere"))
    return (list){0};
  if (texts.n >= 0) return list_of_texts(c, texts);
  if (ints.n >= 0) tensor.value = wk_make_i64s(c, ints.v, ints.n);
  if (floats.n >= 0) tensor.value = wk_make_f64s(c, WK_F32, floats.v, 1, &floats.n);
  return list_of_bound(c, tensor);
}

/* Version 1 has one list: numbers 0, 1, … stand for its strings, or the other way round. */
static void list_of_classes(wk_onnx_node *c, list *keys, list *values) {
  wk_texts texts = wk_onnx_texts(c, "classes_strings");
  bool from_text = c->bound[0].kind == WK_BOUND_LABELLED;
  if (!wk_onnx_valid(c, texts.n > 0, "it has no classes_strings")) return;
  *(from_text ? keys : values) = list_of_texts(c, texts);
  *(from_text ? values : keys) = (list){wk_make_iota(c, texts.n), NULL, texts.n};
}

/* What stands for an element that is no key: a vector of one. */
static wk_value_id default_number(wk_onnx_node *c, wk_dtype t) {
  wk_bound b = tensor_attribute(c, "default_tensor");
  wk_value_id v = b.value;
  if (v == WK_NONE && t == WK_I64)
    return wk_make_i64s(c, (const int64_t[]){wk_onnx_int(c, "default_int64", -1)}, 1);
  if (v == WK_NONE)
    v = wk_make_scalar(c, t, t == WK_F32 ? wk_onnx_float(c, "default_float", -0.0)
                                         : wk_dtype_is_float(t) ? -0.0 : -1);
  const wk_type *have = wk_onnx_type(c, v);
  if (!wk_onnx_ok(c)) return WK_NONE;
  wk_onnx_valid(c, !b.labels && have->dtype == t && wk_type_count(have) == 1,
                "default_tensor is not one %s", wk_dtype_name(t));
  return wk_make_reshape(c, v, 1, (const int64_t[]){1});
}

static const char *default_text(wk_onnx_node *c) {
  wk_bound b = tensor_attribute(c, "default_tensor");
  if (b.kind == WK_BOUND_NOTHING) return wk_onnx_text(c, "default_string", "_Unused");
  bool is_one = wk_onnx_ok(c) && b.labels && b.labels->texts.n == 1;
  wk_onnx_valid(c, is_one, "default_tensor is not one string");
  return is_one ? b.labels->texts.v[0] : "";
}

/* The position of each element of x among the keys, from 1 on; 0: nowhere. The first of equal keys
 * counts, as in ONNX Runtime. */
static wk_value_id positions(wk_onnx_node *c, wk_value_id x, const list *keys) {
  int rank = wk_onnx_type(c, x)->rank;
  int64_t *number = wk_arena_alloc(c->im->arena, (size_t)(keys->n + 1) * sizeof *number);
  for (int64_t i = 0; i < keys->n; i++) number[i] = keys->n - i;
  wk_value_id from_end = wk_make_where(c, same(c, with_last_axis(c, x), keys->numbers),
                                       wk_make_i64s(c, number, keys->n),
                                       wk_make_scalar(c, WK_I64, 0));
  from_end = wk_make_reduce(c, WK_OP_REDUCE_MAX, from_end, wk_make_axes(c, rank, rank + 1), false);
  number[0] = 0;
  for (int64_t i = 1; i <= keys->n; i++) number[i] = keys->n + 1 - i;
  return wk_make_gather(c, wk_make_i64s(c, number, keys->n + 1), from_end, 0);
}

/* The same of strings, which are known here: a table by the number of the string. */
static wk_value_id text_positions(wk_onnx_node *c, const wk_bound *x, const list *keys) {
  const wk_texts have = x->labels->texts, want = keys->labels->texts;
  int64_t *table = wk_arena_alloc(c->im->arena, (size_t)have.n * sizeof *table);
  wk_map *known = wk_map_new();
  for (int64_t k = want.n; k-- > 0;) wk_map_put(known, want.v[k], (uint32_t)k + 1);
  for (int64_t i = 0; i < have.n; i++) {
    uint32_t at = 0;
    wk_map_get(known, have.v[i], &at);
    table[i] = at;
  }
  wk_map_free(known);
  return wk_make_gather(c, wk_make_i64s(c, table, have.n), x->value, 0);
}

/* Strings by position; what is no key has the number behind them. */
static wk_status return_texts(wk_onnx_node *c, const list *values, wk_value_id at) {
  int64_t n = values->n, *table = wk_arena_alloc(c->im->arena, (size_t)(n + 1) * sizeof *table);
  const char **texts = wk_arena_alloc(c->im->m->arena, (size_t)(n + 1) * sizeof *texts);
  for (int64_t i = 0; i <= n; i++) table[i] = i ? i - 1 : n;
  for (int64_t i = 0; i < n; i++) texts[i] = values->labels->texts.v[i];
  texts[n] = default_text(c);
  const wk_labels names = {.kind = WK_LABELS_ELEMENTS, .texts = {.n = n + 1, .v = texts}};
  c->out[0] = wk_label_bound(c->im, wk_make_gather(c, wk_make_i64s(c, table, n + 1), at, 0),
                             &names);
  return c->status;
}

static const char *type_of_list(const list *l, wk_onnx_node *c) {
  return l->labels ? "strings" : wk_dtype_name(wk_onnx_type(c, l->numbers)->dtype);
}

wk_status wk_onnx_label_encoder(wk_onnx_node *c) {
  list keys = {0}, values = {0};
  const wk_bound *x = &c->bound[0];
  if (c->opset < 2) {
    list_of_classes(c, &keys, &values);
  } else {
    keys = list_attribute(c, "keys");
    values = list_attribute(c, "values");
  }
  if (!wk_onnx_ok(c)) return c->status;
  bool is_text = x->kind == WK_BOUND_LABELLED;
  bool fits = is_text == (keys.labels != NULL) &&
              (is_text ||
               wk_onnx_type(c, x->value)->dtype == wk_onnx_type(c, keys.numbers)->dtype);
  wk_onnx_valid(c, keys.n == values.n && keys.n > 0, "%lld keys for %lld values",
                (long long)keys.n, (long long)values.n);
  wk_onnx_valid(c, fits, "its keys are %s, its input is %s", type_of_list(&keys, c),
                is_text ? "strings" : wk_dtype_name(wk_onnx_type(c, x->value)->dtype));
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id at = is_text ? text_positions(c, x, &keys) : positions(c, x->value, &keys);
  if (values.labels) return return_texts(c, &values, at);
  wk_value_id table[] = {default_number(c, wk_onnx_type(c, values.numbers)->dtype),
                         values.numbers};
  return wk_onnx_return(c, wk_make_gather(c, wk_make_concat(c, table, 2, 0), at, 0));
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
  if (!wk_onnx_has_list(c, name, n)) return WK_NONE;
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
  wk_value_id *parts = wk_arena_alloc(c->im->arena, (size_t)c->n_in * sizeof *parts);
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
  if (!wk_onnx_need(c, wk_onnx_texts(c, "cats_strings").n < 0,
                    "strings (cats_strings) are not supported")) return c->status;
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

static wk_texts decimals(wk_onnx_node *c, wk_ints ints) {
  const char **v = wk_arena_alloc(c->im->m->arena, (size_t)ints.n * sizeof *v);
  for (int64_t i = 0; i < ints.n; i++)
    v[i] = wk_arena_printf(c->im->m->arena, "%lld", (long long)ints.v[i]);
  return (wk_texts){.n = ints.n, .v = v};
}

/* Maps are for the reader: the tensor itself is what the model gives. */
wk_status wk_onnx_zip_map(wk_onnx_node *c) {
  wk_ml_labels labels;
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  if (!wk_ml_labels_read(c, "classlabels_int64s", "classlabels_strings", &labels)) return c->status;
  if (!wk_onnx_need(c, is_model_output(c), "maps are not supported but as outputs of the model"))
    return c->status;
  if (!wk_onnx_ok(c)) return c->status;
  int64_t columns = wk_onnx_type(c, x)->dims[1];
  wk_onnx_valid(c, columns == labels.n, "%lld labels for %lld columns", (long long)labels.n,
                (long long)columns);
  bool are_numbers = labels.ints.n >= 0;
  const wk_labels names = {.kind = WK_LABELS_COLUMNS, .are_numbers = are_numbers,
                           .texts = are_numbers ? decimals(c, labels.ints) : labels.strings};
  c->out[0] = wk_label_bound(c->im, x, &names);
  return c->status;
}
