/* SPDX-License-Identifier: Apache-2.0
 * The float model of `wick quantize`, and samples that fit its inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/calibrate/quantize.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"

void wk_quantize_job_free(wk_quantize_job *j) {
  for (size_t v = 0; v < j->n_ranges; v++) wk_range_free(&j->ranges[v]);
  for (size_t i = 0; i < j->own.n; i++) wk_tensor_free(&j->own.data[i]);
  for (size_t i = 0; i < j->want.n; i++) wk_tensor_free(&j->want.data[i]);
  wk_vec_free(&j->own);
  wk_vec_free(&j->want);
  wk_quantize_plan_free(&j->plan);
  wk_module_free(j->m);
  wk_calibration_free(&j->data);
  wk_notes_free(&j->notes);
  wk_arena_free(j->arena);
}

/* ---- import ---------------------------------------------------------------------------------- */

/* Samples are for inputs that are tensors each. */
static wk_status refuse_lists(const wk_quantize_job *j) {
  const wk_onnx_info *info = &j->data.info;
  for (size_t i = 0; i < info->inputs.n; i++) {
    const wk_onnx_io *io = &info->inputs.data[i];
    if (io->is_sequence || io->is_optional)
      return wk_error_at(WK_UNSUPPORTED, j->path,
                         "input %s is a sequence or optional, for which there are no samples",
                         io->name);
  }
  return NULL;
}

/* Operators that only quantised models have. */
static wk_status refuse_quantised(const wk_quantize_job *j) {
  static const char *const marks[] = {"QLinear",       "QuantizeLinear",  "DequantizeLinear",
                                      "DynamicQuant",  "ConvInteger",     "MatMulInteger",
                                      "QGemm",         "QAttention"};
  const wk_onnx_info *info = &j->data.info;
  for (size_t i = 0; i < info->ops.n; i++)
    for (size_t k = 0; k < WK_COUNTOF(marks); k++)
      if (!strncmp(info->ops.data[i].op, marks[k], strlen(marks[k])))
        return wk_error_at(WK_INPUT, j->path, "the model is already quantised: it has %s nodes",
                           info->ops.data[i].op);
  return NULL;
}

/* Shapes that the model leaves open are those of the first sample; several rows of an open batch
 * are several samples. */
static void bind_open_shapes(const wk_quantize_job *j, wk_binding_set *b) {
  const wk_onnx_info *info = &j->data.info;
  if (!j->data.groups.n || b->binds.n || b->shapes.n) return;
  for (size_t i = 0; i < info->inputs.n; i++) {
    const wk_onnx_io *io = &info->inputs.data[i];
    const wk_type *t = &j->data.groups.data[0].in[i].type;
    wk_bind_shape s = {.input = io->name, .rank = t->rank};
    bool open = false;
    for (int k = 0; k < io->rank; k++) open |= io->dims[k] < 0;
    if (!open || io->has_default || io->rank != t->rank) continue;
    memcpy(s.dims, t->dims, sizeof s.dims);
    if (io->dims[0] < 0 && info->inputs.n == 1) s.dims[0] = 1;
    wk_vec_push(&b->shapes, s);
  }
}

static wk_status import_bound(wk_quantize_job *j, wk_binding_set *b) {
  size_t n = j->data.groups.n ? j->data.info.inputs.n : 0, given = 0;
  wk_bind_value *data = wk_arena_alloc(j->arena, n * sizeof *data);
  bool *fixed = wk_arena_alloc(j->arena, n);
  wk_import_report report = {0};
  bind_open_shapes(j, b);
  for (size_t i = 0; i < n; i++)
    if (j->data.groups.data[0].path[i])
      data[given++] = (wk_bind_value){.input = j->data.info.inputs.data[i].name,
                                      .value = j->data.groups.data[0].in[i]};
  const wk_import_options o = wk_binding_import_options(b, j->opts->verbose);
  wk_status s = wk_model_import_fed(j->path, &o, data, fixed, given, &report, &j->m);
  if (!s) wk_model_notes(&j->notes, j->path, &o, &report, j->m);
  if (!s) s = wk_status_place(wk_module_no_open(j->m, "quantisation"), j->path);
  wk_import_report_free(&report);
  return s;
}

static wk_status import(wk_quantize_job *j) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  size_t n;
  WK_TRY(wk_binding_sets_parse(&j->opts->binding, sets, WK_MAX_BINDINGS, &n));
  wk_status s = n > 1 ? wk_error(WK_USAGE,
                                 "only one binding can be quantised at a time: give --bind and "
                                  "--shape only once")
                      : import_bound(j, &sets[0]);
  for (size_t i = 0; i < n; i++) wk_binding_set_free(&sets[i]);
  return s;
}

/* Those that keep to operators which ONNX has. */
static wk_status run_passes(wk_module *m) {
  enum { ROUNDS = 8 };
  static const char *const names[] = {"fold-constants", "simplify",   "merge-movement",
                                      "fuse-pad",       "recognise",  "fold-scale",
                                      "common-subexpressions", "dead-code"};
  int64_t total = 1;
  for (int round = 0; round < ROUNDS && total; round++) {
    total = 0;
    for (size_t i = 0; i < WK_COUNTOF(names); i++) {
      const wk_pass *p = wk_pass_find(names[i]);
      int64_t changes = 0;
      if (!p) return wk_error(WK_INTERNAL, "no pass %s", names[i]);
      WK_TRY(wk_pass_run_one(m, p, NULL, &changes));
      total += changes;
    }
  }
  return NULL;
}

/* Weights that stand transposed in the file, those of one direction, and rows of a table that
 * always are the same ones: the pass leaves large ones to the target. */
static wk_status fold_weights(wk_module *m) {
  wk_graph *g = m->main;
  m->constant_bytes_left = m->fold_work_left = INT64_MAX;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    bool moves = n->op == WK_OP_TRANSPOSE || n->op == WK_OP_RESHAPE || n->op == WK_OP_SLICE ||
                 (n->op == WK_OP_GATHER && wk_is_const(g, n->in[1]));
    bool folded;
    if (n->dead || !moves || !wk_is_const(g, n->in[0]) || !wk_eval_is_foldable(g, n)) continue;
    WK_TRY(wk_eval_fold(g, (wk_node_id)i, INT64_MAX, &folded));
  }
  return wk_module_normalise(m);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A mask may be infinite. */
static wk_status refuse_nan(const wk_quantize_job *j, const wk_tensor *t, const char *path) {
  int64_t n = wk_type_count(&t->type);
  for (int64_t i = 0; wk_dtype_is_float(t->type.dtype) && i < n; i++) {
    double v = wk_load_f64(t->data, t->type.dtype, i);
    if (!isnan(v)) continue;
    return wk_error_at(WK_INPUT, path, "element %lld of the %s calibration data is NaN",
                       (long long)i, wk_type_text(j->arena, &t->type));
  }
  return NULL;
}

/* How many samples the tensor holds for an input of this type: rows of a larger batch. */
static wk_status rows_of(const wk_quantize_job *j, const wk_value *input, const wk_tensor *t,
                         const char *path, int64_t *rows) {
  const wk_type *want = &input->type, *got = &t->type;
  bool fits = want->dtype == got->dtype && want->rank == got->rank;
  for (int i = 1; i < want->rank && fits; i++) fits = want->dims[i] == got->dims[i];
  if (fits && want->rank > 0)
    fits = want->dims[0] ? got->dims[0] > 0 && got->dims[0] % want->dims[0] == 0
                         : got->dims[0] == 0;
  if (!fits)
    return wk_error_at(WK_INPUT, path, "input %s is %s but the calibration file has %s",
                       input->name, wk_type_text(j->arena, want), wk_type_text(j->arena, got));
  *rows = want->rank > 0 && want->dims[0] ? got->dims[0] / want->dims[0] : 1;
  return refuse_nan(j, t, path);
}

static int source_of(const wk_quantize_job *j, size_t input) {
  const char *name = wk_val(j->m->main, j->m->main->inputs.data[input])->name;
  for (size_t i = 0; i < j->data.info.inputs.n; i++)
    if (!strcmp(j->data.info.inputs.data[i].name, name)) return (int)i;
  return -1;
}

typedef WK_VEC(wk_tensor *) sample_list;

static wk_status add_group(wk_quantize_job *j, const wk_calibration_group *c, sample_list *out) {
  const wk_graph *g = j->m->main;
  int64_t rows = 1;
  for (size_t i = 0; i < g->inputs.n; i++) {
    int k = source_of(j, i);
    int64_t mine = 1;
    if (k < 0 || !c->path[k])
      return wk_error_at(WK_INPUT, c->place, "no file for input '%s'",
                         wk_val(g, g->inputs.data[i])->name);
    WK_TRY(rows_of(j, wk_val(g, g->inputs.data[i]), &c->in[k], c->path[k], &mine));
    if (mine != rows && i > 0)
      return wk_error_at(WK_INPUT, c->path[k], "has %lld samples where another input has %lld",
                         (long long)mine, (long long)rows);
    rows = mine;
  }
  for (int64_t r = 0; r < rows; r++) {
    wk_tensor *in = wk_arena_alloc(j->arena, g->inputs.n * sizeof *in);
    for (size_t i = 0; i < g->inputs.n; i++) {
      in[i].type = wk_val(g, g->inputs.data[i])->type;
      in[i].data = (char *)c->in[source_of(j, i)].data + r * wk_type_bytes(&in[i].type);
    }
    wk_vec_push(out, in);
  }
  return NULL;
}

static wk_status add_random(wk_quantize_job *j, sample_list *out) {
  const wk_graph *g = j->m->main;
  wk_rng rng = {.s = (uint64_t)j->opts->seed};
  for (int64_t r = 0; r < j->opts->random; r++) {
    wk_tensor *in = wk_arena_alloc(j->arena, g->inputs.n * sizeof *in);
    for (size_t i = 0; i < g->inputs.n; i++) {
      WK_TRY(wk_tensor_random(&wk_val(g, g->inputs.data[i])->type, &rng, &in[i]));
      wk_vec_push(&j->own, in[i]);
    }
    wk_vec_push(out, in);
  }
  return NULL;
}

static wk_status make_samples(wk_quantize_job *j) {
  sample_list list = {0};
  wk_status s = NULL;
  for (size_t i = 0; i < j->data.groups.n && !s; i++)
    s = add_group(j, &j->data.groups.data[i], &list);
  if (!s) s = add_random(j, &list);
  j->n_samples = list.n;
  j->samples = wk_arena_memdup(j->arena, list.data, list.n * sizeof *list.data);
  wk_vec_free(&list);
  return s;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static wk_status make_plan(wk_quantize_job *j) {
  const wk_strings *keep = &j->opts->keep_float;
  j->plan = wk_quantize_plan_make(j->m);
  for (size_t i = 0; i < keep->n; i++)
    for (const char *p = keep->data[i]; *p;) {
      size_t n = strcspn(p, ",");
      if (n) WK_TRY(wk_quantize_keep(&j->plan, wk_arena_strndup(j->arena, p, n)));
      p += n + (p[n] != 0);
    }
  if (wk_quantize_settle(&j->plan)) return NULL;
  return wk_error_at(WK_UNSUPPORTED, j->path, "nothing to quantise: the model has no %sconvolution "
                     "or product in f32", keep->n ? "other " : "");
}

wk_status wk_quantize_load(wk_quantize_job *j) {
  const wk_import_options o = {.init_net = j->opts->binding.init_net,
                               .value_info = j->opts->binding.value_info};
  WK_TRY(wk_calibration_read(j->path, &o, &j->opts->calibration, &j->data));
  WK_TRY(import(j));
  return wk_quantize_prepare(j);
}

static bool is_kept(const wk_quantize_job *j, const wk_node *n) {
  const wk_strings *keep = &j->opts->keep_float;
  for (size_t k = 0; k < keep->n; k++)
    for (const char *p = keep->data[k]; *p; p += *p == ',') {
      const char *name = wk_arena_strndup(j->arena, p, strcspn(p, ","));
      if (!strcasecmp(name, wk_op_get(n->op)->name) || (n->name && !strcmp(name, n->name)))
        return true;
      p += strlen(name);
    }
  return false;
}

/* All but recurrent layers of constant weights: their product with the input of all steps, a layer
 * of its own, comes before a loop that has the state. */
static bool stays(void *ctx, const wk_graph *g, const wk_node *n) {
  return wk_op_get(n->op)->cls != WK_CLASS_RECURRENT || n->predicate != WK_NONE ||
         g != g->module->main || !wk_is_const(g, n->in[1]) || is_kept(ctx, n);
}

wk_status wk_quantize_prepare(wk_quantize_job *j) {
  int64_t changes = 0;
  WK_TRY(refuse_quantised(j));
  WK_TRY(refuse_lists(j));
  WK_TRY(make_samples(j));
  WK_TRY(wk_lower_nodes(j->m, stays, j));
  WK_TRY(run_passes(j->m));
  WK_TRY(fold_weights(j->m));
  WK_TRY(wk_quantize_norms(j->m, &changes));
  WK_TRY(wk_quantize_split_attention(j->m, &changes));
  WK_TRY(wk_quantize_given_masks(j));
  WK_TRY(wk_choose_masks(j->m, &changes));
  if (j->opts->equalise) WK_TRY(wk_quantize_equalise(j->m, &j->pairs));
  wk_module_trim(j->m, j->m);
  WK_TRY(make_plan(j));
  j->n_ranges = j->m->main->values.n;
  j->ranges = wk_arena_alloc(j->arena, j->n_ranges * sizeof *j->ranges);
  j->drift = wk_arena_alloc(j->arena, j->plan.layers.n * sizeof *j->drift);
  j->alone = wk_arena_alloc(j->arena, j->plan.layers.n * sizeof *j->alone);
  return NULL;
}
