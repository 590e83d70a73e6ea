/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/model.h"

#include "compiler/integer/integer.h"
#include "compiler/pipeline/runner.h"
#include "compiler/pipeline/state.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- bindings -------------------------------------------------------------------------------- */

static wk_status parse_count(const char *text, const char *end, const char *option, int64_t *out) {
  char *stop;
  errno = 0;
  long long v = strtoll(text, &stop, 10);
  if (stop != end || text == end || v < 0 || errno)
    return wk_error_at(WK_USAGE, option, "'%.*s' is not a size (an integer of at least 0)",
                       (int)(end - text), text);
  *out = v;
  return NULL;
}

/* N, or LEAST..MOST: what a run says. */
static wk_status parse_range(const char *text, const char *end, const char *option, int64_t *least,
                             int64_t *most) {
  const char *dots = strstr(text, "..");
  bool is_range = dots && dots < end;
  WK_TRY(parse_count(text, is_range ? dots : end, option, least));
  *most = *least;
  if (is_range) WK_TRY(parse_count(dots + 2, end, option, most));
  if (*most >= *least) return NULL;
  return wk_error_at(WK_USAGE, option, "'%.*s' has no size in it", (int)(end - text), text);
}

static wk_status add_binds(wk_binding_set *b, const char *text) {
  for (const char *p = text; p;) {
    const char *eq = strchr(p, '='), *end = p + strcspn(p, ",");
    if (!eq || eq > end || eq == p)
      return wk_error(WK_USAGE, "--bind %s: must be SYMBOL=N, several joined by commas", text);
    wk_bind bind = {.symbol = wk_arena_strndup(b->arena, p, (size_t)(eq - p))};
    bool is_formula = eq + 1 < end && !isdigit((unsigned char)eq[1]) && eq[1] != '-';
    if (is_formula) bind.formula = wk_arena_strndup(b->arena, eq + 1, (size_t)(end - eq - 1));
    else
      WK_TRY(parse_range(eq + 1, end, wk_arena_printf(b->arena, "--bind %s", text), &bind.least,
                         &bind.value));
    bind.is_open = true;
    for (size_t i = 0; i < b->binds.n; i++)
      if (!strcmp(b->binds.data[i].symbol, bind.symbol))
        return wk_error(WK_USAGE, "--bind %s: '%s' is bound twice", text, bind.symbol);
    wk_vec_push(&b->binds, bind);
    p = *end ? end + 1 : NULL;
  }
  return NULL;
}

static wk_status add_shape(wk_binding_set *b, const char *text) {
  const char *eq = strrchr(text, '=');
  wk_bind_shape s = {.option = wk_arena_printf(b->arena, "--shape %s", text)};
  if (!eq || eq == text)
    return wk_error_at(WK_USAGE, s.option, "must be INPUT=SIZES, such as image=1x3x224x224");
  s.input = wk_arena_strndup(b->arena, text, (size_t)(eq - text));
  for (const char *p = eq + 1; eq[1] && p;) { /* nothing behind the '=': a scalar */
    const char *end = p + strcspn(p, "x,");
    if (s.rank == WK_MAX_RANK)
      return wk_error_at(WK_USAGE, s.option, "more than %d dimensions", WK_MAX_RANK);
    WK_TRY(parse_range(p, end, s.option, &s.least[s.rank], &s.dims[s.rank]));
    s.is_open = true;
    s.rank++;
    p = *end ? end + 1 : NULL;
  }
  wk_vec_push(&b->shapes, s);
  return NULL;
}

static wk_status add_length(wk_binding_set *b, const char *text) {
  const char *eq = strrchr(text, '=');
  wk_bind_length l = {.option = wk_arena_printf(b->arena, "--length %s", text)};
  if (!eq || eq == text)
    return wk_error_at(WK_USAGE, l.option, "must be INPUT=N or INPUT=none");
  l.input = wk_arena_strndup(b->arena, text, (size_t)(eq - text));
  if (!strcmp(eq + 1, "none")) l.n = WK_NO_ELEMENT;
  else WK_TRY(parse_count(eq + 1, text + strlen(text), l.option, &l.n));
  for (size_t i = 0; i < b->lengths.n; i++)
    if (!strcmp(b->lengths.data[i].input, l.input))
      return wk_error_at(WK_USAGE, l.option, "input %s has a length already", l.input);
  wk_vec_push(&b->lengths, l);
  return NULL;
}

static wk_status parse_number(const char *text, const char *end, const char *option,
                              int64_t *out) {
  char *stop;
  errno = 0;
  long long v = strtoll(text, &stop, 10);
  if (stop != end || text == end || errno)
    return wk_error_at(WK_USAGE, option, "'%.*s' is not a whole number", (int)(end - text), text);
  *out = v;
  return NULL;
}

/* VALUE=N, from 0, or VALUE=M..N. */
static wk_status add_bound(wk_binding_set *b, const char *text) {
  const char *eq = strrchr(text, '=');
  const char *option = wk_arena_printf(b->arena, "--bound %s", text);
  wk_bind_bound x = {0};
  if (!eq || eq == text) return wk_error_at(WK_USAGE, option, "must be VALUE=N or VALUE=M..N");
  x.value = wk_arena_strndup(b->arena, text, (size_t)(eq - text));
  const char *dots = strstr(eq, ".."), *end = text + strlen(text);
  if (dots) WK_TRY(parse_number(eq + 1, dots, option, &x.least));
  WK_TRY(parse_number(dots ? dots + 2 : eq + 1, end, option, &x.most));
  if (x.most < x.least || x.most > INT32_MAX || x.least < INT32_MIN)
    return wk_error_at(WK_USAGE, option, "'%s' has no number in it, or too large ones", eq + 1);
  for (size_t i = 0; i < b->bounds.n; i++)
    if (!strcmp(b->bounds.data[i].value, x.value))
      return wk_error_at(WK_USAGE, option, "value %s has a bound already", x.value);
  wk_vec_push(&b->bounds, x);
  return NULL;
}

static wk_status add_value(wk_binding_set *b, const char *text) {
  const char *eq = strchr(text, '=');
  wk_bind_value v = {.option = wk_arena_printf(b->arena, "--value %s", text)};
  if (!eq || eq == text) return wk_error_at(WK_USAGE, v.option, "must be INPUT=FILE");
  if (!eq[1]) return wk_error_at(WK_USAGE, v.option, "the file name is empty");
  v.input = wk_arena_strndup(b->arena, text, (size_t)(eq - text));
  WK_TRY(wk_tensor_read(eq + 1, &v.value, NULL));
  wk_vec_push(&b->values, v);
  return NULL;
}

static wk_status add_cut(wk_binding_set *b, const char *text) {
  for (const char *p = text; p;) {
    const char *end = p + strcspn(p, ",");
    if (end == p)
      return wk_error(WK_USAGE, "--cut %s: must be names of tensors, several joined by commas",
                      text);
    wk_vec_push(&b->cut, wk_arena_strndup(b->arena, p, (size_t)(end - p)));
    p = *end ? end + 1 : NULL;
  }
  return NULL;
}

void wk_binding_set_free(wk_binding_set *b) {
  for (size_t i = 0; i < b->values.n; i++) wk_tensor_free(&b->values.data[i].value);
  wk_vec_free(&b->binds);
  wk_vec_free(&b->shapes);
  wk_vec_free(&b->lengths);
  wk_vec_free(&b->values);
  wk_vec_free(&b->bounds);
  wk_vec_free(&b->cut);
  wk_arena_free(b->arena);
  *b = (wk_binding_set){0};
}

wk_import_options wk_binding_import_options(const wk_binding_set *b, bool list_all) {
  return (wk_import_options){.binds = b->binds.data, .n_binds = b->binds.n,
                             .shapes = b->shapes.data, .n_shapes = b->shapes.n,
                             .lengths = b->lengths.data, .n_lengths = b->lengths.n,
                             .values = b->values.data, .n_values = b->values.n,
                             .bounds = b->bounds.data, .n_bounds = b->bounds.n,
                             .cut = b->cut.data, .n_cut = b->cut.n,
                             .strict_opset = b->strict_opset, .list_all = list_all,
                             .init_net = b->init_net, .value_info = b->value_info,
                             .keeps = b->state ? wk_state_keeps : NULL, .state = b->state};
}

static size_t shape_name_length(const char *shape) {
  const char *eq = strrchr(shape, '=');
  return eq ? (size_t)(eq - shape) : strlen(shape);
}

/* How often the input of --shape number i is shaped by those in [0, end). */
static size_t count_shapes(const wk_strings *shapes, size_t i, size_t end) {
  size_t n = shape_name_length(shapes->data[i]), count = 0;
  for (size_t k = 0; k < end; k++)
    count += shape_name_length(shapes->data[k]) == n &&
             !strncmp(shapes->data[k], shapes->data[i], n);
  return count;
}

static wk_status count_sets(const wk_binding_args *a, size_t max, size_t *out) {
  size_t sets = a->bind.n ? a->bind.n : 1;
  for (size_t i = 0; i < a->shape.n; i++) {
    size_t n = count_shapes(&a->shape, i, a->shape.n);
    sets = n > sets ? n : sets;
  }
  *out = sets;
  if (sets > max) return wk_error(WK_USAGE, "more than %zu bindings", max);
  if (a->bind.n > 1 && a->bind.n != sets)
    return wk_error(WK_USAGE, "--bind is given %zu times, for %zu bindings", a->bind.n, sets);
  for (size_t i = 0; i < a->shape.n; i++) {
    size_t n = count_shapes(&a->shape, i, a->shape.n);
    if (n > 1 && n != sets)
      return wk_error(WK_USAGE, "--shape %.*s is given %zu times, for %zu bindings",
                      (int)shape_name_length(a->shape.data[i]), a->shape.data[i], n, sets);
  }
  return NULL;
}

static void add_to_name(wk_binding_set *b, const char *text) {
  b->name = *b->name ? wk_arena_printf(b->arena, "%s,%s", b->name, text)
                     : wk_arena_strdup(b->arena, text);
}

static wk_status fill_set(const wk_binding_args *a, size_t set, wk_binding_set *b) {
  b->arena = wk_arena_new();
  b->name = "";
  b->strict_opset = a->strict_opset;
  b->init_net = a->init_net;
  b->value_info = a->value_info;
  for (size_t i = 0; i < a->bind.n; i++) {
    if (a->bind.n > 1 && i != set) continue;
    WK_TRY(add_binds(b, a->bind.data[i]));
    add_to_name(b, a->bind.data[i]);
  }
  for (size_t i = 0; i < a->shape.n; i++) {
    bool is_for_all = count_shapes(&a->shape, i, a->shape.n) == 1;
    if (!is_for_all && count_shapes(&a->shape, i, i) != set) continue;
    WK_TRY(add_shape(b, a->shape.data[i]));
    add_to_name(b, a->shape.data[i]);
  }
  for (size_t i = 0; i < a->length.n; i++) {
    WK_TRY(add_length(b, a->length.data[i]));
    add_to_name(b, a->length.data[i]);
  }
  for (size_t i = 0; i < a->value.n; i++) WK_TRY(add_value(b, a->value.data[i]));
  for (size_t i = 0; i < a->bound.n; i++) WK_TRY(add_bound(b, a->bound.data[i]));
  for (size_t i = 0; i < a->cut.n; i++) WK_TRY(add_cut(b, a->cut.data[i]));
  return NULL;
}

wk_status wk_binding_sets_parse(const wk_binding_args *a, wk_binding_set *out, size_t max,
                                size_t *n) {
  size_t sets;
  *n = 0;
  WK_TRY(count_sets(a, max, &sets));
  *n = sets;
  for (size_t i = 0; i < sets; i++) out[i] = (wk_binding_set){0};
  for (size_t i = 0; i < sets; i++) {
    wk_status s = fill_set(a, i, &out[i]);
    if (!s) continue;
    for (size_t k = 0; k <= i; k++) wk_binding_set_free(&out[k]);
    *n = 0;
    return s;
  }
  return NULL;
}

const char *wk_binding_given(const wk_binding_args *a) {
  return a->bind.n         ? "--bind"
         : a->shape.n      ? "--shape"
         : a->length.n     ? "--length"
         : a->value.n      ? "--value"
         : a->bound.n      ? "--bound"
         : a->cut.n        ? "--cut"
         : a->strict_opset ? "--strict-opset"
         : a->init_net     ? "--init-net"
         : a->value_info   ? "--value-info"
                           : NULL;
}

/* ---- import ---------------------------------------------------------------------------------- */

/* True when the report asks for a value that is there and was not given yet: also what has been
 * imported without is imported anew, for sizes that are right. */
static bool fix_needed(const wk_import_report *r, const wk_bind_value *data, bool *fixed,
                       size_t n) {
  bool any = false;
  for (size_t i = 0; i < r->need_value.n; i++)
    for (size_t k = 0; k < n; k++) {
      if (fixed[k] || strcmp(data[k].input, r->need_value.data[i]) != 0) continue;
      fixed[k] = any = true;
    }
  return any;
}

wk_status wk_model_convert(wk_module **m) {
  int64_t changes;
  wk_status s = wk_integer_convert(*m, &changes);
  if (!s) return NULL;
  wk_module_free(*m);
  *m = NULL;
  return s;
}

wk_status wk_model_import_real(const char *path, const wk_import_options *o,
                               const wk_bind_value *data, bool *fixed, size_t n,
                               wk_import_report *report, wk_module **out) {
  WK_VEC(wk_bind_value) values = {0};
  for (;;) {
    wk_import_options with = *o;
    values.n = 0;
    for (size_t i = 0; i < o->n_values; i++) wk_vec_push(&values, o->values[i]);
    for (size_t i = 0; i < n; i++)
      if (fixed[i]) wk_vec_push(&values, data[i]);
    with.values = values.data;
    with.n_values = values.n;
    wk_status s = wk_net_import(path, &with, report, out);
    if ((s && s->code != WK_UNSUPPORTED) || !fix_needed(report, data, fixed, n)) {
      wk_vec_free(&values);
      return wk_status_place(s, path);
    }
    if (!s) wk_module_free(*out);
    wk_status_free(s);
    wk_import_report_free(report);
  }
}

wk_status wk_model_import_fed(const char *path, const wk_import_options *o,
                              const wk_bind_value *data, bool *fixed, size_t n,
                              wk_import_report *report, wk_module **out) {
  WK_TRY(wk_model_import_real(path, o, data, fixed, n, report, out));
  return wk_status_place(wk_model_convert(out), path);
}

static bool uses_input(const wk_module *m) {
  const wk_graph *g = m->main;
  wk_arena *scratch = wk_arena_new();
  wk_uses u = wk_graph_uses(g, scratch);
  bool found = false;
  for (size_t i = 0; i < g->inputs.n; i++) found |= wk_use_count(&u, g->inputs.data[i]) > 0;
  wk_arena_free(scratch);
  return found;
}

void wk_model_notes(wk_notes *n, const char *path, const wk_import_options *o,
                    const wk_import_report *report, const wk_module *m) {
  for (size_t i = 0; i < report->notes.n; i++) wk_model_add_note(n, path, report->notes.data[i]);
  if (o->n_values && !uses_input(m))
    wk_model_add_note(n, path, "--value leaves no input that is used: all outputs are constants");
}

wk_status wk_model_import(const char *path, const wk_binding_set *b, bool list_all, wk_notes *notes,
                          uint64_t *hash, wk_module **out) {
  static const wk_binding_set none = {0};
  wk_import_options o = wk_binding_import_options(b ? b : &none, list_all);
  wk_import_report report = {0};
  o.is_hashed = hash != NULL;
  wk_status s = wk_net_import(path, &o, &report, out);
  if (!s) wk_model_notes(notes, path, &o, &report, *out);
  if (hash) *hash = report.hash;
  wk_import_report_free(&report);
  return wk_status_place(s, path);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* What a file is that somebody took for a tensor, NULL when nothing is known of it. */
static const char *other_kind(const char *path, const wk_file *f) {
  wk_onnx_info info;
  const char *kind = wk_file_kind(f->data, f->size);
  if (kind) return kind;
  wk_status s = wk_net_inspect(path, NULL, &info);
  if (!s) wk_onnx_info_free(&info);
  wk_status_free(s);
  return s ? NULL : "an ONNX model";
}

wk_status wk_tensor_read(const char *path, wk_tensor *out, char **name) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  bool npy = f.size >= 6 && !memcmp(f.data, "\x93NUMPY", 6);
  if (name) *name = NULL;
  wk_status s = npy ? wk_tensor_read_npy(path, out) : wk_tensor_read_pb(path, out, name);
  const char *kind = s && !npy ? other_kind(path, &f) : NULL;
  wk_file_unmap(&f);
  if (!kind) return s;
  wk_status_free(s);
  return wk_error_at(WK_INPUT, path, "is %s, not a tensor file (.npy or .pb)", kind);
}

bool wk_tensor_adopt(wk_tensor *t, wk_dtype want) {
  if (want == WK_BF16 && t->type.dtype == WK_U16) {
    t->type.dtype = WK_BF16;
    return true;
  }
  if (!wk_dtype_is_narrow(want) || t->type.dtype != wk_dtype_storage(want)) return false;
  int64_t n = wk_type_count(&t->type), most = (1 << wk_dtype_bits(want)) - 1, least = 0;
  if (wk_dtype_is_signed(want)) least = -(most + 1) / 2, most = -least - 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = wk_load_i64(t->data, t->type.dtype, i);
    if (v < least || v > most) return false;
  }
  t->type.dtype = want;
  return true;
}

wk_status wk_tensor_random(const wk_type *t, wk_rng *rng, wk_tensor *out) {
  WK_TRY(wk_tensor_alloc(t, out));
  int64_t n = wk_type_count(t);
  for (int64_t i = 0; i < n; i++) {
    if (wk_dtype_is_float(t->dtype)) wk_store_f64(out->data, t->dtype, i, wk_rng_normal(rng));
    else wk_store_i64(out->data, t->dtype, i, wk_rng_range(rng, 0, 1));
  }
  return NULL;
}

char *wk_range_text(wk_arena *a, const wk_type *t, const int64_t *least) {
  wk_str s = {0};
  wk_str_printf(&s, "%s[", wk_dtype_name(t->dtype));
  for (int k = 0; k < t->rank; k++) {
    wk_str_add(&s, k ? "," : "");
    if (least[k] > 0 && least[k] < t->dims[k]) wk_str_printf(&s, "%lld", (long long)least[k]);
    if (least[k] < t->dims[k]) wk_str_add(&s, "..");
    wk_str_printf(&s, "%lld", (long long)t->dims[k]);
  }
  wk_str_add(&s, "]");
  char *out = wk_arena_strdup(a, s.s);
  wk_str_free(&s);
  return out;
}

char *wk_type_text(wk_arena *a, const wk_type *t) {
  wk_str s = {0};
  wk_type_print(&s, t);
  char *out = wk_arena_strdup(a, s.s);
  wk_str_free(&s);
  return out;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const folder_names[] = {"model.onnx", "model.onnxtxt", "model.textproto",
                                           "model.pbtxt", "predict_net.pb", "predict_net.pbtxt"};
enum { FIRST_NET = 4 };

static const char *file_in(wk_arena *a, const char *dir, const char *name) {
  const char *path = wk_arena_printf(a, "%s/%s", dir, name);
  return access(path, F_OK) == 0 ? path : NULL;
}

const char *wk_model_in_folder(wk_arena *a, const char *dir, wk_import_options *files) {
  const char *model = NULL;
  size_t i = 0;
  for (; i < WK_COUNTOF(folder_names) && !model; i++) model = file_in(a, dir, folder_names[i]);
  if (!model || i <= FIRST_NET) return model;
  files->init_net = file_in(a, dir, "init_net.pb");
  if (!files->init_net) files->init_net = file_in(a, dir, "init_net.pbtxt");
  files->value_info = file_in(a, dir, "value_info.json");
  return model;
}

bool wk_is_model_name(const char *path) {
  static const char *const endings[] = {".onnx", ".onnxtxt", ".textproto", ".pb", ".pbtxt"};
  size_t n = strlen(path);
  for (size_t i = 0; i < WK_COUNTOF(endings); i++) {
    size_t m = strlen(endings[i]);
    if (n > m && strcmp(path + n - m, endings[i]) == 0) return true;
  }
  return false;
}

char *wk_model_name(wk_arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  bool is_folders = false;
  for (size_t i = 0; i < WK_COUNTOF(folder_names) && slash; i++)
    is_folders = is_folders || strcmp(base, folder_names[i]) == 0;
  if (is_folders) {
    const char *begin = slash;
    while (begin > path && begin[-1] != '/') begin--;
    if (begin < slash && *begin != '.') return wk_arena_strndup(a, begin, (size_t)(slash - begin));
  }
  const char *dot = strrchr(base, '.');
  return wk_arena_strndup(a, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}
