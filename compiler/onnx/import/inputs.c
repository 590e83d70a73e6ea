/* SPDX-License-Identifier: Apache-2.0
 * Model inputs: declared shapes, symbols bound by --bind, whole shapes by --shape, values by
 * --value. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/model.h"

/* The type of an element, of what may be an optional, a sequence, or an optional sequence. */
static const Onnx__TypeProto *element_type(const Onnx__TypeProto *t, wk_declared *out) {
  if (t && t->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE) {
    out->is_optional = true;
    t = t->optional_type->elem_type;
  }
  if (t && t->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE) {
    out->is_sequence = true;
    t = t->sequence_type->elem_type;
  }
  return t;
}

static bool has_letter(const char *text) {
  for (; *text; text++)
    if (isalpha((unsigned char)*text) || *text == '_' || (unsigned char)*text >= 0x80) return true;
  return false;
}

/* Exporters write these, and what is no identifier, for a size that has no name: two of them need
 * not be the same. */
static bool is_anonymous(const char *symbol) {
  static const char *const fillers[] = {"none", "null", "nan"};
  if (!has_letter(symbol)) return true;
  symbol += strspn(symbol, " ");
  for (size_t i = 0; i < WK_COUNTOF(fillers); i++) {
    size_t n = strlen(fillers[i]);
    if (!strncasecmp(symbol, fillers[i], n) && symbol[n + strspn(symbol + n, " ")] == '\0')
      return true;
  }
  return false;
}

static void declare_dim(const Onnx__TensorShapeProto__Dimension *d, int i, wk_declared *out) {
  bool is_number = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
  bool is_symbol = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
  out->dims[i] = is_number && d->dim_value >= 0 ? d->dim_value : -1;
  if (out->is_sequence || out->is_optional) return;
  if (is_symbol && d->dim_param && !is_anonymous(d->dim_param)) out->symbols[i] = d->dim_param;
}

wk_status wk_model_declared(const Onnx__ValueInfoProto *v, wk_declared *out) {
  *out = (wk_declared){.rank = -1};
  const Onnx__TypeProto *type = element_type(v->type, out);
  if (!type || type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET) return NULL;
  if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
    bool is_part = out->is_sequence || out->is_optional;
    return wk_error_at(WK_UNSUPPORTED, v->name, "%s",
                       is_part ? "its elements are no tensors" : "is a map or sparse tensor");
  }
  const Onnx__TypeProto__Tensor *t = type->tensor_type;
  out->elem_type = t->elem_type;
  out->dtype = wk_onnx_elem_type(t->elem_type);
  if (!t->shape || (t->shape->n_dim == 0 && (out->is_sequence || out->is_optional))) return NULL;
  if (t->shape->n_dim > WK_MAX_RANK) {
    return wk_error_at(WK_UNSUPPORTED, v->name, "rank %zu exceeds %d", t->shape->n_dim,
                       WK_MAX_RANK);
  }
  out->rank = (int)t->shape->n_dim;
  for (int i = 0; i < out->rank; i++) declare_dim(t->shape->dim[i], i, out);
  return NULL;
}

/* ---- symbols ------------------------------------------------------------------------------- */

/* What is given for an input, and how. */
typedef struct {
  const char *input, *option, *file; /* option: NULL when a file gives it */
  const wk_declared *declared;
  int rank;
  const int64_t *dims, *least; /* least: NULL, or where a run decides */
} sizes;

static wk_status refuse_given(const sizes *x, const char *fmt, ...) WK_PRINTF(2, 3);
static wk_status refuse_given(const sizes *x, const char *fmt, ...) {
  wk_str b = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&b, fmt, ap);
  va_end(ap);
  wk_status s = x->option ? wk_error_at(WK_USAGE, x->option, "%s", b.s)
                          : wk_status_place(wk_error(WK_INPUT, "%s", b.s), x->file);
  wk_str_free(&b);
  return s;
}

/* Checks one size against what is declared; a symbol takes the size on. */
static wk_status match_dim(const sizes *x, int axis, wk_symbols *s) {
  const wk_declared *d = x->declared;
  long long size = x->dims[axis];
  if (size < 0)
    return refuse_given(x, "axis %d of input %s has the negative size %lld", axis, x->input, size);
  if (d->dims[axis] >= 0 && d->dims[axis] != size)
    return refuse_given(x, "axis %d of input %s has size %lld in the model, %lld is given", axis,
                        x->input, (long long)d->dims[axis], size);
  if (!d->symbols[axis]) return NULL;
  wk_symbol *known = wk_symbol_find(s, d->symbols[axis]);
  if (!known) {
    wk_symbol fresh = {.name = d->symbols[axis], .value = size,
                    .least = x->least ? x->least[axis] : size};
    wk_vec_push(s, fresh);
  } else if (known->least < known->value && (size < known->least || size > known->value)) {
    return refuse_given(x, "axis %d of input %s is '%s', from %lld to %lld; %lld is given", axis,
                        x->input, known->name, (long long)known->least, (long long)known->value,
                        size);
  } else if (known->least == known->value && known->value != size) {
    return refuse_given(x, "axis %d of input %s is '%s', which is %lld already; %lld is given",
                        axis, x->input, known->name, (long long)known->value, size);
  }
  return NULL;
}

static wk_status match_shape(const sizes *x, wk_symbols *s) {
  const wk_declared *d = x->declared;
  if (d->rank >= 0 && d->rank != x->rank)
    return refuse_given(x, "input %s has rank %d in the model, rank %d is given", x->input,
                        d->rank, x->rank);
  for (int i = 0; i < x->rank && d->rank >= 0; i++) WK_TRY(match_dim(x, i, s));
  return NULL;
}

/* ---- options for an input ------------------------------------------------------------------ */

static const wk_bind_shape *shape_option(const wk_import_options *o, const char *name) {
  for (size_t i = 0; i < o->n_shapes; i++) {
    if (strcmp(o->shapes[i].input, name) == 0) return &o->shapes[i];
  }
  return NULL;
}

static const wk_bind_value *value_option(const wk_import_options *o, const char *name) {
  for (size_t i = 0; i < o->n_values; i++) {
    if (strcmp(o->values[i].input, name) == 0) return &o->values[i];
  }
  return NULL;
}

static const wk_bind_length *length_option(const wk_import_options *o, const char *name) {
  for (size_t i = 0; i < o->n_lengths; i++) {
    if (strcmp(o->lengths[i].input, name) == 0) return &o->lengths[i];
  }
  return NULL;
}

static const Onnx__ValueInfoProto *find_input(const Onnx__GraphProto *g, const char *name,
                                              size_t n) {
  for (size_t i = 0; i < g->n_input; i++) {
    const char *known = g->input[i]->name;
    if (known && strlen(known) == n && strncmp(known, name, n) == 0) return g->input[i];
  }
  return NULL;
}

static bool is_made_of(const Onnx__ValueInfoProto *v, bool sequences_alone) {
  wk_declared d;
  wk_status_free(wk_model_declared(v, &d));
  return d.is_sequence || (d.is_optional && !sequences_alone);
}

/* NAME[k] of a sequence NAME; *element is k. */
static const Onnx__ValueInfoProto *find_sequence(const Onnx__GraphProto *g, const char *name,
                                                 int64_t *element) {
  const char *bracket = strrchr(name, '[');
  char *end = NULL;
  if (!bracket || bracket[1] < '0' || bracket[1] > '9') return NULL;
  if (bracket[1] == '0' && bracket[2] != ']') return NULL; /* elements have one name */
  *element = strtoll(bracket + 1, &end, 10);
  if (strcmp(end, "]") != 0) return NULL;
  const Onnx__ValueInfoProto *v = find_input(g, name, (size_t)(bracket - name));
  return v && is_made_of(v, true) ? v : NULL;
}

static wk_status check_option_name(const wk_import_options *o, const char *option,
                                   const char *name, const Onnx__GraphProto *g) {
  int64_t element;
  if (find_input(g, name, strlen(name))) return NULL;
  const Onnx__ValueInfoProto *sequence = find_sequence(g, name, &element);
  const wk_bind_length *length = sequence ? length_option(o, sequence->name) : NULL;
  if (length && element >= length->n)
    return wk_error(WK_USAGE, "%s %s: the sequence has %lld elements", option, name,
                    (long long)(length->n < 0 ? 0 : length->n));
  if (sequence) return NULL;
  const char **names = wk_xmalloc(g->n_input * sizeof *names);
  size_t n = 0;
  for (size_t i = 0; i < g->n_input; i++)
    if (g->input[i]->name) names[n++] = g->input[i]->name;
  const char *near = wk_nearest(name, names, n);
  free(names);
  return near ? wk_error(WK_USAGE, "%s %s: the model has no such input; did you mean '%s'?", option,
                         name, near)
              : wk_error(WK_USAGE, "%s %s: the model has no such input", option, name);
}

static wk_status check_length(const wk_bind_length *l, const Onnx__GraphProto *g) {
  enum { LONGEST = 256 }; /* as many inputs as a package has */
  const char *option = l->option ? l->option : "--length";
  const Onnx__ValueInfoProto *v = find_input(g, l->input, strlen(l->input));
  wk_declared d;
  if (!v)
    return wk_error_at(WK_USAGE, option, "%s is an element of a sequence, not one", l->input);
  wk_status_free(wk_model_declared(v, &d));
  if (!d.is_sequence && !d.is_optional)
    return wk_error_at(WK_USAGE, option, "input %s is neither a sequence nor optional", l->input);
  if (l->n == WK_NO_ELEMENT && !d.is_optional)
    return wk_error_at(WK_USAGE, option, "input %s is a sequence: it has a length", l->input);
  if (l->n != 1 && l->n != WK_NO_ELEMENT && !d.is_sequence)
    return wk_error_at(WK_USAGE, option, "input %s is an optional tensor: 1 or none", l->input);
  if (l->n > LONGEST)
    return wk_error_at(WK_USAGE, option, "more than %d elements are not supported", LONGEST);
  return NULL;
}

static wk_status check_options(const wk_import_options *o, const Onnx__GraphProto *g) {
  for (size_t i = 0; i < o->n_lengths; i++) {
    WK_TRY(check_option_name(o, "--length", o->lengths[i].input, g));
    WK_TRY(check_length(&o->lengths[i], g));
  }
  for (size_t i = 0; i < o->n_shapes; i++) {
    WK_TRY(check_option_name(o, "--shape", o->shapes[i].input, g));
    if (o->shapes[i].rank < 0 || o->shapes[i].rank > WK_MAX_RANK) {
      return wk_error(WK_USAGE, "--shape %s: rank %d is not supported", o->shapes[i].input,
                      o->shapes[i].rank);
    }
  }
  for (size_t i = 0; i < o->n_values; i++) {
    const wk_bind_value *v = &o->values[i];
    WK_TRY(check_option_name(o, "--value", v->input, g));
    const Onnx__ValueInfoProto *whole = find_input(g, v->input, strlen(v->input));
    if (whole && is_made_of(whole, true))
      return wk_error(WK_USAGE, "--value %s: is a sequence: give its elements, %s[0] …", v->input,
                      v->input);
  }
  return NULL;
}

/* ---- building ------------------------------------------------------------------------------ */

/* A symbol with a formula, its own or what it is bound to. */
static wk_status bind_formula(wk_importer *im, wk_symbols *s, wk_symbol x, const char *text) {
  wk_formula f;
  const char *missing;
  if (!wk_formula_parse(im->arena, text, &f))
    return wk_error(WK_USAGE, "--bind %s=%s: must be a number, a range, or sums of products of "
                    "symbols and numbers", x.name, text);
  x.formula = wk_arena_memdup(im->arena, &f, sizeof f);
  if (!wk_symbol_measure(s, &x, &missing) && missing)
    return wk_error(WK_USAGE, "--bind %s=%s: '%s' is not bound to a number or range", x.name, text,
                    missing);
  if (x.value < x.least)
    return wk_error(WK_USAGE, "--bind %s=%s: has no size in it", x.name, text);
  wk_vec_push(s, x);
  return NULL;
}

/* A range for a formula of other symbols: they go no further than it says. */
static void bound_formula(wk_importer *im, wk_symbols *s, wk_symbol *x) {
  wk_formula f;
  wk_symbol by = *x;
  const char *missing;
  if (x->least == x->value || !wk_formula_parse(im->arena, x->name, &f) ||
      !wk_formula_computes(&f)) return;
  by.formula = wk_arena_memdup(im->arena, &f, sizeof f);
  if (!wk_symbol_measure(s, &by, &missing)) return;
  by.is_bounded = x->value < by.value;
  if (by.is_bounded) by.value = x->value;
  *x = by;
}

static wk_status collect_binds(wk_importer *im, wk_symbols *s) {
  const wk_import_options *o = im->opt;
  for (size_t i = 0; i < o->n_binds; i++) {
    const wk_bind *b = &o->binds[i];
    if (b->formula) continue;
    if (b->value < 0) return wk_error(WK_USAGE, "--bind %s: the size is negative", b->symbol);
    wk_symbol given = {b->symbol, b->value, b->is_open ? b->least : b->value, NULL, false};
    wk_vec_push(s, given);
  }
  for (size_t i = 0; i < s->n; i++) bound_formula(im, s, &s->data[i]);
  for (size_t i = 0; i < o->n_binds; i++) {
    wk_symbol given = {.name = o->binds[i].symbol};
    if (o->binds[i].formula) WK_TRY(bind_formula(im, s, given, o->binds[i].formula));
  }
  return NULL;
}

/* Symbols from --bind, then from the shapes and values given. */
static wk_status collect_symbols(wk_importer *im, wk_symbols *s) {
  const wk_import_options *o = im->opt;
  const Onnx__GraphProto *g = im->model->graph;
  WK_TRY(collect_binds(im, s));
  for (size_t i = 0; i < g->n_input; i++) {
    const char *name = g->input[i]->name;
    wk_declared d;
    if (!name) return wk_error(WK_INPUT, "a model input has no name");
    const wk_bind_value *value = value_option(o, name);
    const wk_bind_shape *shape = shape_option(o, name);
    if (!value && !shape) continue;
    WK_TRY(wk_model_declared(g->input[i], &d));
    if (d.is_sequence || d.is_optional) continue; /* each element on its own */
    if (shape) {
      sizes x = {name, shape->option, shape->file, &d, shape->rank, shape->dims,
               shape->is_open ? shape->least : NULL};
      WK_TRY(match_shape(&x, s));
    }
    if (value) {
      const wk_type *t = &value->value.type;
      sizes x = {name, value->option, value->file, &d, t->rank, t->dims, NULL};
      WK_TRY(match_shape(&x, s));
    }
  }
  return NULL;
}

static void need_bind(wk_importer *im, const char *text) {
  for (size_t i = 0; i < im->rep->need_bind.n; i++) {
    if (strcmp(im->rep->need_bind.data[i], text) == 0) return;
  }
  wk_vec_push(&im->rep->need_bind, wk_arena_strdup(im->rep->arena, text));
}

/* A symbol, or those that it is a formula of. */
static void ask_for_symbol(wk_importer *im, wk_symbols *s, const char *symbol) {
  wk_formula f;
  if (wk_symbol_resolve(im->arena, s, symbol)) return;
  if (!wk_formula_parse(im->arena, symbol, &f) || !wk_formula_computes(&f)) {
    need_bind(im, wk_arena_printf(im->arena, "--bind %s=N", symbol));
    return;
  }
  for (int i = 0; i < f.n; i++)
    for (int k = 0; k < f.terms[i].n; k++)
      if (!wk_symbol_find(s, f.terms[i].symbols[k]))
        need_bind(im, wk_arena_printf(im->arena, "--bind %s=N", f.terms[i].symbols[k]));
}

/* What to type for an input whose sizes are not all known: --bind for symbols, else --shape. */
static void ask_for_shape(wk_importer *im, const char *name, const wk_declared *d, wk_symbols *s) {
  bool all_symbols = d->rank >= 0;
  for (int i = 0; i < d->rank; i++) all_symbols = all_symbols && (d->dims[i] >= 0 || d->symbols[i]);
  wk_str b = {0};
  for (size_t i = 0; i < im->opt->n_binds && all_symbols; i++) { /* all go into one --bind */
    const wk_bind *given = &im->opt->binds[i];
    b.n = 0;
    wk_str_printf(&b, "--bind %s=", given->symbol);
    if (given->formula) wk_str_add(&b, given->formula);
    else if (given->least < given->value) wk_str_printf(&b, "%lld..", (long long)given->least);
    if (!given->formula) wk_str_printf(&b, "%lld", (long long)given->value);
    need_bind(im, b.s);
  }
  for (int i = 0; i < d->rank && all_symbols; i++) {
    if (d->dims[i] < 0) ask_for_symbol(im, s, d->symbols[i]);
  }
  if (!all_symbols) {
    b.n = 0;
    wk_str_printf(&b, "--shape %s=", name);
    for (int i = 0; i < d->rank; i++) {
      if (i) wk_str_add(&b, "x");
      if (d->dims[i] >= 0) wk_str_printf(&b, "%lld", (long long)d->dims[i]);
      else wk_str_add(&b, "N");
    }
    if (d->rank < 0) wk_str_add(&b, "…");
    need_bind(im, b.s);
  }
  wk_str_free(&b);
}

static wk_status add_value(wk_importer *im, wk_scope *s, const char *name, const wk_declared *d,
                           const wk_bind_value *b, wk_bound *out) {
  const wk_tensor *v = &b->value;
  if (d->dtype != WK_DTYPE_NONE && d->dtype != v->type.dtype) {
    sizes x = {.input = name, .option = b->option, .file = b->file};
    return refuse_given(&x, "input %s is %s in the model, %s is given", name,
                        wk_dtype_name(d->dtype), wk_dtype_name(v->type.dtype));
  }
  wk_value_id id;
  void *data;
  WK_TRY(wk_graph_constant_alloc(s->g, name, &v->type, &id, &data));
  if (wk_type_bytes(&v->type) > 0) memcpy(data, v->data, (size_t)wk_type_bytes(&v->type));
  wk_map_put(im->fixed, name, 1);
  if (im->opt->purpose == WK_FOR_DERIVATIVES) wk_training_weight(im, s->g, id, false);
  *out = wk_bound_tensor(id);
  return NULL;
}

/* What nothing uses is left out. */
static void refuse_input(wk_importer *im, wk_scope *s, const char *name, const char *reason) {
  wk_arena *a = im->rep->arena;
  wk_unsupported u = {.node = wk_arena_strdup(a, name), .op = "input", .domain = "", .shapes = "",
                      .reason = wk_arena_strdup(a, reason)};
  uint32_t ignored;
  if (wk_map_get(im->used, name, &ignored)) wk_vec_push(&im->rep->unsupported, u);
  else
    wk_vec_push(&im->rep->notes,
                wk_arena_printf(a, "input %s is left out, since nothing uses it: %s", name,
                                reason));
  wk_scope_bind(s, name, (wk_bound){.kind = WK_BOUND_UNKNOWN, .value = WK_NONE});
}

static const wk_bound unknown_input = {.kind = WK_BOUND_UNKNOWN, .value = WK_NONE};

static bool is_kept(const wk_importer *im, const char *name) {
  const wk_import_options *o = im->opt;
  const Onnx__GraphProto *g = im->model->graph;
  wk_strings outputs = {0};
  if (!o->keeps) return false;
  for (size_t i = 0; i < g->n_output; i++) wk_vec_push(&outputs, g->output[i]->name);
  bool kept = o->keeps(o->state, name, &outputs);
  wk_vec_free(&outputs);
  return kept;
}

/* Axes of an input whose sizes runs decide: symbols, or axes without a name. */
static void open_axes(wk_importer *im, wk_scope *s, wk_value_id input, const wk_declared *d,
                      const wk_bind_shape *shape, wk_symbols *sym) {
  const wk_value v = *wk_val(s->g, input);
  for (int i = 0; i < v.type.rank; i++) {
    wk_symbol *x = d->symbols[i] ? wk_symbol_resolve(im->arena, sym, d->symbols[i]) : NULL;
    wk_open_input open = {.input = input, .axis = i, .most = v.type.dims[i],
                          .is_kept = is_kept(im, v.name)};
    if (x && x->least < x->value) {
      open.symbol = x->name;
      open.least = x->least;
      open.formula = x->formula;
      open.is_bounded = x->is_bounded;
    } else if (!x && shape && shape->is_open && shape->least[i] < shape->dims[i]) {
      open.symbol = wk_arena_printf(im->arena, "%s.%d", v.name, i);
      open.least = shape->least[i];
    }
    if (open.symbol) wk_vec_push(&im->extents->inputs, open);
  }
}

/* One tensor; shape: what is given for it, or NULL. */
static wk_status add_tensor(wk_importer *im, wk_scope *s, const char *name, const wk_declared *d,
                            const wk_bind_shape *shape, wk_symbols *sym, wk_bound *out) {
  const wk_bind_value *value = value_option(im->opt, name);
  *out = unknown_input;
  if (value) return add_value(im, s, name, d, value, out);
  int64_t dims[WK_MAX_RANK] = {0};
  int rank = shape ? shape->rank : d->rank;
  bool known = rank >= 0;
  for (int i = 0; i < rank; i++) {
    wk_symbol *bound = d->symbols[i] ? wk_symbol_resolve(im->arena, sym, d->symbols[i]) : NULL;
    bool is_open = bound && bound->least < bound->value;
    dims[i] = shape && !is_open ? shape->dims[i] : bound ? bound->value : d->dims[i];
    known = known && dims[i] >= 0;
  }
  if (!known) {
    ask_for_shape(im, name, d, sym);
    return NULL;
  }
  wk_type t = wk_type_make(d->dtype, rank, dims);
  WK_TRY(wk_status_place(wk_type_check(&t), shape && shape->option ? shape->option : name));
  *out = wk_bound_tensor(wk_graph_input(s->g, name, &t));
  open_axes(im, s, out->value, d, shape, sym);
  return NULL;
}

/* Element `name` of the sequence or optional `whole`. */
static wk_status add_element(wk_importer *im, wk_scope *s, const char *name, const char *whole,
                             const wk_declared *d, wk_symbols *sym, wk_bound *out) {
  const wk_bind_shape *shape = shape_option(im->opt, name);
  const wk_bind_value *value = value_option(im->opt, name);
  uint32_t ignored;
  bool is_own = strcmp(name, whole) == 0;
  bool is_input = find_input(im->model->graph, name, strlen(name)) != NULL;
  if (!is_own && (is_input || wk_map_get(s->g->names, name, &ignored)))
    return wk_error_at(WK_UNSUPPORTED, name, "another input has the name of this element");
  if (!shape) shape = shape_option(im->opt, whole);
  if (shape) {
    sizes x = {name, shape->option, shape->file, d, shape->rank, shape->dims,
               shape->is_open ? shape->least : NULL};
    WK_TRY(match_shape(&x, sym));
  }
  if (value) {
    const wk_type *t = &value->value.type;
    sizes x = {name, value->option, value->file, d, t->rank, t->dims, NULL};
    WK_TRY(match_shape(&x, sym));
  }
  return add_tensor(im, s, name, d, shape, sym, out);
}

/* Sequences and optionals exist at import alone: their tensors are the inputs. */
static wk_status add_elements(wk_importer *im, wk_scope *s, const char *whole,
                              const wk_declared *d, wk_symbols *sym, wk_bound *out) {
  const wk_bind_length *l = length_option(im->opt, whole);
  wk_bound element;
  *out = unknown_input;
  if (!l && d->is_sequence) {
    wk_str b = {0};
    wk_str_printf(&b, "--length %s=N", whole);
    need_bind(im, b.s);
    wk_str_free(&b);
    return NULL;
  }
  if (l && l->n == WK_NO_ELEMENT) {
    *out = (wk_bound){.kind = WK_BOUND_NOTHING, .value = WK_NONE};
    return NULL;
  }
  if (!d->is_sequence) return add_element(im, s, whole, whole, d, sym, out);
  wk_value_id *items = wk_arena_alloc(im->arena, (size_t)l->n * sizeof *items);
  bool known = true;
  for (int64_t k = 0; k < l->n; k++) {
    const char *name = wk_arena_printf(im->arena, "%s[%lld]", whole, (long long)k);
    WK_TRY(add_element(im, s, name, whole, d, sym, &element));
    items[k] = element.value;
    known = known && element.kind == WK_BOUND_TENSOR;
  }
  if (known)
    *out = (wk_bound){.kind = WK_BOUND_SEQUENCE, .value = WK_NONE, .dtype = d->dtype,
                      .n = (uint32_t)l->n, .items = items};
  return NULL;
}

static wk_status add_input(wk_importer *im, wk_scope *s, const Onnx__ValueInfoProto *v,
                           wk_symbols *sym) {
  wk_declared d;
  wk_bound b;
  if (wk_scope_has(s, v->name))
    return wk_error_at(WK_INPUT, v->name, "this input is declared twice");
  wk_status st = wk_model_declared(v, &d);
  if (st && st->code == WK_UNSUPPORTED) {
    refuse_input(im, s, v->name, st->message);
    wk_status_free(st);
    return NULL;
  }
  WK_TRY(st);
  uint32_t ignored;
  bool is_text = d.elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  if (is_text && wk_map_get(im->used, v->name, &ignored)) {
    b = (wk_bound){.kind = WK_BOUND_STRINGS, .value = WK_NONE};
  } else if (d.dtype == WK_DTYPE_NONE && (is_text || !value_option(im->opt, v->name))) {
    refuse_input(im, s, v->name, wk_onnx_elem_refusal(im->rep->arena, d.elem_type));
    return NULL;
  } else if (d.is_sequence || d.is_optional) {
    WK_TRY(add_elements(im, s, v->name, &d, sym, &b));
  } else {
    WK_TRY(add_tensor(im, s, v->name, &d, shape_option(im->opt, v->name), sym, &b));
  }
  wk_scope_bind(s, v->name, b);
  return NULL;
}

/* The text is the symbol, or a formula of it. */
static bool mentions(wk_importer *im, const char *text, const char *symbol) {
  wk_formula f;
  if (strcmp(text, symbol) == 0) return true;
  if (!wk_formula_parse(im->arena, text, &f)) return false;
  for (int i = 0; i < f.n; i++)
    for (int k = 0; k < f.terms[i].n; k++)
      if (!strcmp(f.terms[i].symbols[k], symbol)) return true;
  return false;
}

static bool is_mentioned(wk_importer *im, const char *symbol) {
  const Onnx__GraphProto *g = im->model->graph;
  for (size_t i = 0; i < g->n_input; i++) {
    wk_declared d;
    wk_status_free(wk_model_declared(g->input[i], &d));
    for (int k = 0; k < d.rank; k++)
      if (d.symbols[k] && mentions(im, d.symbols[k], symbol)) return true;
  }
  for (size_t i = 0; i < im->opt->n_binds; i++)
    if (im->opt->binds[i].formula && mentions(im, im->opt->binds[i].formula, symbol)) return true;
  return false;
}

static wk_status check_binds(wk_importer *im) {
  const wk_import_options *o = im->opt;
  for (size_t k = 0; k < o->n_binds; k++) {
    bool known = is_mentioned(im, o->binds[k].symbol);
    if (!known && is_anonymous(o->binds[k].symbol))
      return wk_error(WK_USAGE, "--bind %s: this names no size; what has no name is given by "
                      "--shape INPUT=…", o->binds[k].symbol);
    if (!known)
      return wk_error(WK_USAGE, "--bind %s: no input has this symbol", o->binds[k].symbol);
  }
  return NULL;
}

static wk_status add_inputs(wk_importer *im, wk_scope *s, const wk_map *initialisers,
                            wk_symbols *sym) {
  const Onnx__GraphProto *g = im->model->graph;
  WK_TRY(check_options(im->opt, g));
  WK_TRY(wk_extents_check_bounds(im->opt, im->model));
  WK_TRY(check_binds(im));
  WK_TRY(collect_symbols(im, sym));
  for (size_t i = 0; i < g->n_input; i++) {
    const char *name = g->input[i]->name;
    uint32_t ignored;
    if (wk_map_get(initialisers, name, &ignored) && !value_option(im->opt, name)) continue;
    WK_TRY(add_input(im, s, g->input[i], sym));
  }
  return NULL;
}

wk_status wk_model_inputs(wk_importer *im, wk_scope *s) {
  const Onnx__GraphProto *g = im->model->graph;
  wk_map *initialisers = wk_map_new();
  for (size_t i = 0; i < g->n_initializer; i++) {
    if (g->initializer[i]->name) wk_map_put(initialisers, g->initializer[i]->name, 0);
  }
  for (size_t i = 0; i < g->n_sparse_initializer; i++) {
    const Onnx__TensorProto *t = g->sparse_initializer[i]->values;
    if (t && t->name) wk_map_put(initialisers, t->name, 0);
  }
  wk_status st = add_inputs(im, s, initialisers, &im->extents->symbols);
  if (!st) st = wk_extents_begin(im, s);
  wk_map_free(initialisers);
  return st;
}
