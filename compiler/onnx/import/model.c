/* SPDX-License-Identifier: Apache-2.0
 * One import from end to end. */
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/labels.h"
#include "compiler/onnx/import/model.h"
#include "compiler/onnx/import/source.h"

#include <stdlib.h>
#include <string.h>

/* Budgets grow with the file, so that a small file cannot cost much. */
#define NODES_MAX 1000000
#define NODES_BASE 20000
#define NODES_PER_NODE 16
#define FOLD_BYTES ((int64_t)96 << 20)
#define FOLD_WORK ((int64_t)1 << 26)
#define COMPILE_BYTES ((int64_t)192 << 20) /* for what passes compute */
#define COMPILE_WORK ((int64_t)1 << 26)
#define SPLAT_BYTES ((int64_t)64 << 20) /* constants of one repeated element: for any model, */
#define SPLAT_PER_BYTE ((int64_t)128 << 10) /* for each byte of the file, */
#define SPLAT_MOST ((int64_t)8 << 30)   /* and at most */

/* What cannot be a model is refused by its first bytes: it may be large. */
static wk_status check_kind(const uint8_t *data, size_t n) {
  const char *kind = wk_file_kind(data, n);
  if (wk_wire_is_plausible(&onnx__model_proto__descriptor, data, n)) return NULL;
  if (!kind && wk_wire_is_plausible(&onnx__tensor_proto__descriptor, data, n))
    kind = "a tensor (TensorProto)";
  if (kind) return wk_error(WK_INPUT, "is %s, not an ONNX model", kind);
  return wk_error(WK_INPUT, "is not a valid ONNX model: damaged, cut off, or another format");
}

wk_status wk_model_parse(const uint8_t *data, size_t n, wk_arena *arena,
                         const Onnx__ModelProto **out) {
  ProtobufCMessage *message;
  if (n == 0) return wk_error(WK_INPUT, "is empty");
  WK_TRY(check_kind(data, n));
  WK_TRY(wk_wire_unpack(&onnx__model_proto__descriptor, data, n, arena, &message));
  WK_TRY(wk_model_check((const Onnx__ModelProto *)message));
  *out = (const Onnx__ModelProto *)message;
  return NULL;
}

wk_status wk_model_check(const Onnx__ModelProto *m) {
  if (!m->graph) return wk_error(WK_INPUT, "is not an ONNX model: it has no graph");
  for (size_t i = 0; i < m->graph->n_input; i++) {
    if (!m->graph->input[i]->name) return wk_error(WK_INPUT, "a model input has no name");
  }
  return NULL;
}

/* ---- names that are used ------------------------------------------------------------------- */

typedef WK_VEC(const Onnx__GraphProto *) graph_list;

static void use_nodes(wk_importer *im, graph_list *list, Onnx__NodeProto *const *nodes,
                      size_t n) {
  wk_onnx_names named = {0};
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < nodes[i]->n_input; k++) wk_map_put(im->used, nodes[i]->input[k], 1);
    wk_onnx_named(nodes[i], im->arena, &named);
    for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
      const Onnx__AttributeProto *a = nodes[i]->attribute[k];
      if (a->g) wk_vec_push(list, a->g);
      for (size_t j = 0; j < a->n_graphs; j++) wk_vec_push(list, a->graphs[j]);
    }
  }
  for (size_t i = 0; i < named.n; i++) wk_map_put(im->used, named.data[i], 1);
  wk_vec_free(&named);
}

/* Names used anywhere; also counts the nodes. */
static int64_t collect_used(wk_importer *im, const Onnx__ModelProto *m) {
  wk_map *used = im->used;
  graph_list list = {0};
  int64_t n_nodes = 0;
  wk_vec_push(&list, m->graph);
  for (size_t i = 0; i < m->n_functions; i++) {
    const Onnx__FunctionProto *f = m->functions[i];
    use_nodes(im, &list, f->node, f->n_node);
    for (size_t k = 0; k < f->n_output; k++) wk_map_put(used, f->output[k], 1);
    n_nodes += (int64_t)f->n_node;
  }
  for (size_t i = 0; i < list.n; i++) {
    const Onnx__GraphProto *g = list.data[i];
    use_nodes(im, &list, g->node, g->n_node);
    for (size_t k = 0; k < g->n_output; k++) {
      if (g->output[k]->name) wk_map_put(used, g->output[k]->name, 1);
    }
    n_nodes += (int64_t)g->n_node;
  }
  wk_vec_free(&list);
  return n_nodes;
}

/* ---- marks --------------------------------------------------------------------------------- */

wk_import_mark wk_import_mark_take(const wk_importer *im) {
  return (wk_import_mark){.unsupported = im->rep->unsupported.n,
                          .need_value = im->rep->need_value.n,
                          .graphs = im->m->graphs.n};
}

void wk_import_mark_return(wk_importer *im, const wk_import_mark *mark) {
  im->rep->unsupported.n = mark->unsupported;
  im->rep->need_value.n = mark->need_value;
  wk_module_drop_graphs(im->m, mark->graphs);
}

/* ---- outputs ------------------------------------------------------------------------------- */

static void note_shape(wk_importer *im, const wk_declared *d, const char *name,
                       const wk_type *made) {
  wk_str b = {0};
  wk_str_printf(&b, "output '%s' is declared [", name);
  for (int i = 0; i < d->rank; i++) {
    wk_str_add(&b, i ? "," : "");
    if (d->dims[i] >= 0) wk_str_printf(&b, "%lld", (long long)d->dims[i]);
    else wk_str_add(&b, d->symbols[i] ? d->symbols[i] : "?");
  }
  wk_str_add(&b, "], but its node produces ");
  wk_type_print(&b, made);
  wk_vec_push(&im->rep->notes, wk_arena_strdup(im->rep->arena, b.s));
  wk_str_free(&b);
}

/* Exporters get shapes of outputs wrong: what the node makes counts, and a note says so. */
static wk_status check_output_type(wk_importer *im, const wk_declared *d, const char *name,
                                   const wk_graph *g, wk_value_id v) {
  const wk_type *made = &wk_val(g, v)->type;
  const wk_sized *sized = wk_extent_find(im, g, v);
  bool is_text = d->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  if (is_text || (d->dtype != WK_DTYPE_NONE && d->dtype != made->dtype))
    return wk_error_at(WK_INPUT, name, "is declared %s, but its node produces %s",
                       is_text ? "strings" : wk_dtype_name(d->dtype), wk_dtype_name(made->dtype));
  bool fits = d->rank < 0 || d->rank == made->rank;
  for (int i = 0; fits && i < d->rank; i++)
    fits = d->dims[i] < 0 || d->dims[i] == made->dims[i] ||
           (sized && sized->dims[i] && d->dims[i] < made->dims[i]);
  if (!fits) note_shape(im, d, name, made);
  return NULL;
}

/* made: the value of each output so far, by name. A tensor may be listed twice; an element of a
 * sequence and a tensor must not share a name. */
static wk_status add_tensor(wk_importer *im, wk_scope *s, wk_map *made, const char *name,
                            const wk_declared *d, wk_value_id v) {
  uint32_t other;
  WK_TRY(check_output_type(im, d, name, s->g, v));
  if (wk_map_get(made, name, &other) && other != v)
    return wk_error_at(WK_INPUT, name, "two outputs, or elements of outputs, have this name");
  wk_map_put(made, name, v);
  wk_graph_output(s->g, name, v);
  return NULL;
}

static void refuse_output(wk_importer *im, const char *name, const char *reason) {
  wk_arena *a = im->rep->arena;
  wk_unsupported u = {.node = wk_arena_strdup(a, name), .op = "output", .domain = "",
                      .shapes = "", .reason = wk_arena_strdup(a, reason)};
  wk_vec_push(&im->rep->unsupported, u);
}

/* An element of a sequence is an output of its own. */
static wk_status add_output(wk_importer *im, wk_scope *s, wk_map *made,
                            const Onnx__ValueInfoProto *v) {
  wk_bound b;
  if (!v->name || !wk_scope_find(im, s, v->name, &b)) {
    return wk_error_at(WK_INPUT, v->name ? v->name : "output",
                       "no node produces this model output");
  }
  if (b.kind == WK_BOUND_UNKNOWN) return NULL; /* reported with the node that could not make it */
  if (b.kind == WK_BOUND_LABELLED) return wk_label_output(im, s->g, v, &b);
  wk_declared d;
  wk_status st = wk_model_declared(v, &d);
  bool is_tensor = !st && b.kind == WK_BOUND_TENSOR && b.value != WK_NONE && !d.is_sequence;
  bool is_sequence = !st && b.kind == WK_BOUND_SEQUENCE && (d.is_sequence || !v->type);
  bool is_nothing = !st && b.kind == WK_BOUND_NOTHING && d.is_optional;
  const char *reason = b.kind == WK_BOUND_STRINGS ? "strings (STRING) are not supported"
                       : st ? st->message : "is not of the declared type";
  if (!is_tensor && !is_sequence && !is_nothing) refuse_output(im, v->name, reason);
  wk_status_free(st);
  if (is_tensor) return add_tensor(im, s, made, v->name, &d, b.value);
  for (uint32_t k = 0; is_sequence && k < b.n; k++)
    WK_TRY(add_tensor(im, s, made, wk_arena_printf(im->m->arena, "%s[%u]", v->name, k), &d,
                      b.items[k]));
  return NULL;
}

static wk_status add_outputs(wk_importer *im, wk_scope *s, const Onnx__GraphProto *g) {
  wk_map *made = wk_map_new();
  wk_status st = NULL;
  for (size_t i = 0; !st && i < g->n_output; i++) st = add_output(im, s, made, g->output[i]);
  wk_map_free(made);
  return st;
}

/* One note for all operator sets that are newer than what is known of them. */
static void note_newer(wk_importer *im) {
  wk_str b = {0};
  for (size_t i = 0; i < im->newer.n; i++) {
    const char *domain = im->newer.data[i].domain;
    wk_str_printf(&b, "%sopset %lld%s%s is newer than %lld, the newest that is known",
                  i ? ", " : "",
                  (long long)im->newer.data[i].version, *domain ? " of " : "", domain,
                  (long long)wk_onnx_newest_opset(domain));
  }
  if (b.n) {
    wk_str_add(&b, ": operators are read by their newest known definitions");
    wk_vec_push(&im->rep->notes, wk_arena_strdup(im->rep->arena, b.s));
  }
  wk_str_free(&b);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Of the model, and of the files that its tensors are in. */
static int64_t bytes_of_files(const wk_importer *im) {
  int64_t n = (int64_t)im->src.n, sum;
  for (size_t i = 0; i < im->m->files.n; i++)
    n = wk_add_ok(n, (int64_t)im->m->files.data[i].size, &sum) ? sum : INT64_MAX;
  return n < INT64_MAX / 128 ? n : INT64_MAX / 128;
}

static wk_status build(wk_importer *im, wk_scope *s) {
  const Onnx__GraphProto *g = im->model->graph;
  if (g->n_output == 0) return wk_error(WK_INPUT, "the model has no outputs");
  WK_TRY(wk_model_inputs(im, s));
  WK_TRY(wk_import_initialisers(im, s, g));
  WK_TRY(wk_import_nodes(im, s, g->node, g->n_node));
  WK_TRY(add_outputs(im, s, g));
  wk_training_finish(im, s->g);
  WK_TRY(wk_extents_finish(im, s));
  wk_model_find_cut(im, s);
  if (im->opt->survey) wk_survey_outputs(im, s->g);
  else WK_TRY(wk_model_refusal(im->rep, im->opt->list_all));
  if (s->g->outputs.n == 0 && !im->opt->survey)
    return wk_error(WK_INPUT, "nothing to compute: all outputs are empty sequences or optionals "
                              "without an element");
  note_newer(im);
  im->m->constant_bytes_left = COMPILE_BYTES + 16 * bytes_of_files(im);
  im->m->fold_work_left = COMPILE_WORK + 64 * bytes_of_files(im);
  WK_TRY(wk_module_normalise(im->m));
  wk_survey_finish(im);
  return wk_module_verify(im->m);
}

/* Networks without trained weights have a hundred kilobytes of them for each byte of the file. */
static int64_t splat_budget(int64_t file_bytes) {
  if (file_bytes > (SPLAT_MOST - SPLAT_BYTES) / SPLAT_PER_BYTE) return SPLAT_MOST;
  return SPLAT_BYTES + SPLAT_PER_BYTE * file_bytes;
}

static void set_up(wk_importer *im) {
  const Onnx__ModelProto *p = im->model;
  wk_arena *a = im->m->arena;
  for (size_t i = p->n_functions; i-- > 0;) {
    if (p->functions[i]->name) wk_map_put(im->functions, p->functions[i]->name, (uint32_t)i);
  }
  wk_model_leave_unused(im);
  int64_t n_nodes = collect_used(im, p), limit = NODES_BASE + NODES_PER_NODE * n_nodes;
  im->nodes_left = limit < NODES_MAX ? limit : NODES_MAX;
  im->fold_bytes_left = FOLD_BYTES + (int64_t)im->src.n;
  im->fold_work_left = FOLD_WORK + (int64_t)im->src.n;
  im->splat_left = splat_budget((int64_t)im->src.n);
  if (p->producer_name) im->m->producer = wk_arena_strdup(a, p->producer_name);
  const wk_frame frame = {.opsets = p->opset_import, .n_opsets = p->n_opset_import};
  im->m->opset = wk_frame_opset(&frame, "");
}

/* Imports the model in im->src into im->m. */
static wk_status import(wk_importer *im) {
  im->model = im->src.model;
  if (!im->model) WK_TRY(wk_model_parse(im->src.data, im->src.n, im->arena, &im->model));
  WK_TRY(wk_model_cut(im->model, im->opt, im->arena));
  set_up(im);
  const Onnx__ModelProto *p = im->model;
  bool is_old = p->ir_version == 1 || p->ir_version == 2; /* when there was only one opset */
  if (p->n_opset_import == 0 && !is_old)
    return wk_error(WK_INPUT, "the model does not say which opset it uses (opset_import)");
  static const Onnx__OperatorSetIdProto first = ONNX__OPERATOR_SET_ID_PROTO__INIT;
  static Onnx__OperatorSetIdProto *const oldest[] = {(Onnx__OperatorSetIdProto *)(uintptr_t)&first};
  const wk_frame frame = {.opsets = p->n_opset_import ? p->opset_import : oldest,
                          .n_opsets = p->n_opset_import ? p->n_opset_import : 1};
  const char *name = p->graph->name && *p->graph->name ? p->graph->name : "main";
  wk_scope *s = wk_scope_new(NULL, false, wk_graph_new(im->m, name), &frame);
  wk_status st = build(im, s);
  wk_scope_free(s);
  return st;
}

static wk_status import_source(wk_module *m, const wk_onnx_source *src, const wk_import_options *o,
                               wk_import_report *report) {
  static const wk_import_options none = {0};
  wk_importer im = {.opt = o ? o : &none,
                    .rep = report,
                    .m = m,
                    .arena = wk_arena_new(),
                    .src = *src,
                    .functions = wk_map_new(),
                    .fixed = wk_map_new(),
                    .used = wk_map_new(),
                    .external = wk_map_new(),
                    .entered = wk_map_new(),
                    .drawn = wk_map_new(),
                    .surveyed = wk_map_new(),
                    .key = WK_NONE,
                    .extents = wk_extents_new()};
  if (im.opt->purpose != WK_FOR_INFERENCE) im.weights = wk_map_new();
  wk_status s = import(&im);
  wk_importer_close_patterns(&im);
  wk_extents_free(im.extents);
  wk_vec_free(&im.newer);
  wk_vec_free(&im.loose);
  wk_vec_free(&im.moved);
  wk_arena_free(im.arena);
  wk_map_free(im.functions);
  wk_map_free(im.fixed);
  wk_map_free(im.used);
  wk_map_free(im.external);
  wk_map_free(im.entered);
  wk_map_free(im.drawn);
  wk_vec_free(&im.seeds);
  wk_map_free(im.surveyed);
  wk_map_free(im.weights);
  wk_map_free(im.quantised);
  return s;
}

static wk_status import_bytes(wk_module *m, const wk_onnx_source *src, const wk_import_options *o,
                              wk_import_report *report, wk_module **out) {
  wk_import_report own = {0}, *rep = report ? report : &own;
  *rep = (wk_import_report){.arena = wk_arena_new()};
  wk_status s = import_source(m, src, o, rep);
  if (!report) wk_import_report_free(&own);
  if (s) wk_module_free(m);
  else *out = m;
  return s;
}

wk_status wk_onnx_model_import(wk_onnx_model *m, const wk_import_options *o,
                               wk_import_report *report, wk_module **out) {
  *out = NULL;
  if (report) *report = (wk_import_report){0};
  wk_module *module = wk_module_new(m->name);
  const wk_onnx_source src = {.data = m->bytes ? m->bytes : m->file.data, .n = m->size,
                              .dir = wk_arena_strdup(module->arena, m->dir),
                              .home = m->home ? wk_arena_strdup(module->arena, m->home) : NULL,
                              .model = m->model, .is_translated = m->nets[0] != NULL};
  if (m->file.size) wk_vec_push(&module->files, m->file);
  if (m->bytes) wk_vec_push(&module->blobs, m->bytes);
  m->file = (wk_file){0};
  m->bytes = NULL;
  wk_status s = wk_status_place(import_bytes(module, &src, o, report, out), m->path);
  wk_onnx_model_close(m);
  return s;
}

wk_status wk_import_onnx(const char *path, const wk_import_options *o, wk_import_report *report,
                         wk_module **out) {
  wk_onnx_model m;
  *out = NULL;
  if (report) *report = (wk_import_report){0};
  WK_TRY(wk_onnx_model_open(path, &m));
  return wk_onnx_model_import(&m, o, report, out);
}

wk_status wk_import_onnx_memory(const void *data, size_t n, const wk_import_options *o,
                                wk_import_report *report, wk_module **out) {
  void *copy;
  *out = NULL;
  if (report) *report = (wk_import_report){0};
  WK_TRY(wk_try_malloc(n, &copy));
  if (n > 0) memcpy(copy, data, n);
  wk_module *m = wk_module_new("memory");
  wk_vec_push(&m->blobs, copy);
  const wk_onnx_source src = {.data = copy, .n = n};
  return import_bytes(m, &src, o, report, out);
}

void wk_import_report_free(wk_import_report *r) {
  wk_vec_free(&r->unsupported);
  wk_vec_free(&r->cut);
  wk_vec_free(&r->need_value);
  wk_vec_free(&r->need_bind);
  wk_vec_free(&r->notes);
  wk_vec_free(&r->weights);
  wk_vec_free(&r->moved);
  for (size_t i = 0; i < r->nodes.n; i++) wk_vec_free(&r->nodes.data[i].out);
  wk_vec_free(&r->nodes);
  wk_arena_free(r->arena);
  *r = (wk_import_report){0};
}
