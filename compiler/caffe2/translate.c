/* SPDX-License-Identifier: Apache-2.0
 * One translation from end to end: the init net, then the predict net, operator by operator. */
#include "compiler/caffe2/translate.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/export/export.h"
#include "compiler/onnx/import/model.h"
#include "compiler/onnx/wire/message.h"

/* Arguments that say how something is computed, not what. */
static const char *const hints[] = {
    "algo", "convolution_transform_strategy", "cudnn_exhaustive_search", "cudnn_state",
    "device_id", "enable_tensor_core", "exhaustive_search", "fix_parallel_part", "float16_compute",
    "followed_by", "init_params", "is_test", "momentum", "net_pos", "no_gradient_to",
    "reset_output", "shared_buffer", "use_cudnn", "ws_nbytes_limit"};

/* ---- blobs --------------------------------------------------------------------------------- */

static wk_c2_slot *get_slot(wk_c2 *c, const char *name) {
  uint32_t i;
  if (wk_map_get(c->slots, name, &i)) return &c->slot.data[i];
  wk_c2_slot fresh = {.name = name};
  wk_map_put(c->slots, name, (uint32_t)c->slot.n);
  wk_map_put(c->taken, name, 1);
  wk_vec_push(&c->slot, fresh);
  return &c->slot.data[c->slot.n - 1];
}

static const wk_value_info *find_info(const wk_c2 *c, const char *name) {
  for (size_t i = 0; i < c->infos.n; i++)
    if (strcmp(c->infos.data[i].name, name) == 0) return &c->infos.data[i];
  return NULL;
}

/* Init nets fill the inputs, too, with a number that stands for one. */
static bool is_filler(const Caffe2__OperatorDef *op) {
  return op->type && !strcmp(op->type, "ConstantFill") && !op->n_input && op->n_output == 1;
}

/* What the user describes is an input for all that, and the operator that fills it is passed
 * over. */
static bool is_fed(const wk_c2 *c, const Caffe2__OperatorDef *op) {
  const wk_import_options *o = c->opt;
  if (!c->is_init || !is_filler(op)) return false;
  bool is_named = find_info(c, op->output[0]) != NULL;
  for (size_t i = 0; i < o->n_values; i++)
    is_named = is_named || !strcmp(o->values[i].input, op->output[0]);
  for (size_t i = 0; i < o->n_shapes; i++)
    is_named = is_named || !strcmp(o->shapes[i].input, op->output[0]);
  return is_named;
}

static void count_blobs(wk_c2 *c, const Caffe2__NetDef *net) {
  for (size_t i = 0; i < net->n_op; i++) {
    const Caffe2__OperatorDef *op = net->op[i];
    if (is_fed(c, op)) continue;
    for (size_t k = 0; k < op->n_input; k++) get_slot(c, op->input[k]);
    for (size_t k = 0; k < op->n_output; k++) get_slot(c, op->output[k])->writes++;
  }
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* The element type of an input that options alone describe; 0: no option names it. */
static int32_t option_type(const wk_c2 *c, const char *name, int32_t by_use) {
  const wk_import_options *o = c->opt;
  for (size_t i = 0; i < o->n_values; i++)
    if (strcmp(o->values[i].input, name) == 0)
      return wk_onnx_elem_number(o->values[i].value.type.dtype);
  for (size_t i = 0; i < o->n_shapes; i++)
    if (strcmp(o->shapes[i].input, name) == 0) return by_use;
  return c->is_lenient ? by_use : 0;
}

/* A blob that nobody makes before it is read: an input of the model, if its shape is given. */
static void add_input(wk_c2 *c, wk_c2_slot *s, int32_t by_use) {
  const wk_value_info *info = find_info(c, s->name);
  int32_t elem_type = info ? info->elem_type : option_type(c, s->name, by_use);
  s->is_external_in = true;
  s->now = (wk_c2_blob){.value = s->name};
  if (!elem_type) {
    wk_vec_push(&c->missing, s->name);
    return;
  }
  Onnx__ValueInfoProto *v = wk_message_value(c->arena, s->name, elem_type);
  if (info) wk_message_shape(c->arena, v, info->rank, info->dims);
  wk_vec_push(&c->inputs, v);
}

/* The element type that an operator wants as its input i. */
static int32_t wanted_type(const wk_c2_row *row, int i) {
  char t = row && (size_t)i < strlen(row->types) ? row->types[i] : 'f';
  return t == 'i' ? ONNX__TENSOR_PROTO__DATA_TYPE__INT32
         : t == 'l' ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
         : t == 'b' ? ONNX__TENSOR_PROTO__DATA_TYPE__UINT8
                    : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

/* ---- one operator -------------------------------------------------------------------------- */

static const char *name_of(wk_c2 *c, const Caffe2__OperatorDef *op) {
  bool has_output = op->n_output && *op->output[0];
  const char *name = op->name && *op->name ? op->name : has_output ? op->output[0] : op->type;
  char *shown = wk_arena_strdup(c->rep->arena, name ? name : "");
  wk_text_clean(shown);
  return shown;
}

/* FILE: OPERATOR */
static const char *place_of(const wk_c2 *c, const char *name) {
  return wk_arena_printf(c->rep->arena, "%s: %s", c->file, name);
}

static void refuse(wk_c2 *c, const Caffe2__OperatorDef *op, const char *reason) {
  wk_unsupported u = {.node = name_of(c, op), .domain = WK_C2_REFUSED, .shapes = "",
                      .op = wk_arena_strdup(c->rep->arena, op->type ? op->type : ""),
                      .reason = wk_arena_strdup(c->rep->arena, reason)};
  if (op->domain && *op->domain) u.domain = wk_arena_strdup(c->rep->arena, op->domain);
  wk_vec_push(&c->rep->unsupported, u);
  wk_vec_push(&c->refused, op);
  for (size_t i = 0; i < op->n_output; i++) { /* so that what follows is looked at */
    wk_c2_slot *s = get_slot(c, op->output[i]);
    s->now = (wk_c2_blob){.value = s->name};
  }
}

static bool reads_int8(const wk_c2_row *r) {
  return strncmp(r->type, "Int8", 4) == 0 || r->handler == wk_c2_nothing;
}

static void refuse_unknown(wk_c2 *c, const Caffe2__OperatorDef *op) {
  bool has_domain = op->domain && *op->domain;
  size_t n = wk_caffe2_op_count();
  const char **names = wk_xmalloc(n * sizeof *names);
  for (size_t i = 0; i < n; i++) names[i] = wk_caffe2_op_get(i).type;
  const char *near = has_domain ? NULL : wk_nearest(op->type, names, n);
  free(names);
  refuse(c, op, has_domain ? "the domain is not known"
                : near ? wk_arena_printf(c->arena, "is not known; did you mean '%s'?", near)
                       : "is not known");
}

/* In a survey the operator stays, for the importer to list: it knows none of this domain. */
static void keep_refused(wk_c2_op *o) {
  if (!o->c->opt->survey) return;
  const char **in = wk_arena_alloc(o->c->arena, (size_t)o->n_in * sizeof *in);
  const char **out = wk_arena_alloc(o->c->arena, (size_t)o->n_out * sizeof *out);
  o->status = NULL;
  for (int i = 0; i < o->n_in; i++) in[i] = o->in[i].value ? o->in[i].value : "";
  for (int i = 0; i < o->n_out; i++) out[i] = wk_c2_out(o, i);
  Onnx__NodeProto *n = wk_c2_node(o, o->def->type, in, o->n_in, out, o->n_out);
  n->domain = wk_arena_strdup(o->c->arena, WK_C2_REFUSED);
  n->name = wk_arena_strdup(o->c->arena, o->name);
}

static void read_inputs(wk_c2_op *o) {
  wk_c2 *c = o->c;
  o->n_in = (int)o->def->n_input;
  o->in = wk_arena_alloc(c->arena, (size_t)o->n_in * sizeof *o->in);
  for (int i = 0; i < o->n_in; i++) {
    wk_c2_slot *s = get_slot(c, o->def->input[i]);
    if (!wk_c2_valid(o, *s->name, "input %d has no name", i)) continue;
    if (!s->now.value && !s->now.maker) add_input(c, s, wanted_type(o->row, i));
    o->in[i] = s->now;
    wk_c2_need(o, !s->now.maker, "reads '%s', an output of %s that is not made", s->name,
               s->now.maker ? s->now.maker : "");
    wk_c2_need(o, !s->now.is_int8 || !o->row || reads_int8(o->row),
               "reads '%s', which an Int8 operator made", s->name);
  }
}

/* What the handler has not read is an argument that the operator does not have, or a hint. */
static void check_arguments(wk_c2_op *o) {
  for (size_t i = 0; i < o->def->n_arg && i < 64; i++) {
    const char *name = o->def->arg[i]->name ? o->def->arg[i]->name : "";
    bool is_hint = o->args_read >> i & 1;
    for (size_t k = 0; k < WK_COUNTOF(hints); k++) is_hint = is_hint || !strcmp(name, hints[k]);
    if (!is_hint) wk_c2_note(o->c, "argument '%s' of %s is not known and has no effect", name,
                             o->row->type);
  }
}

static const char *inputs_taken(wk_arena *a, const wk_c2_row *r) {
  if (r->max_in < 0) return wk_arena_printf(a, "at least %d", r->min_in);
  if (r->max_in == r->min_in) return wk_arena_printf(a, "%d", r->min_in);
  return wk_arena_printf(a, "%d to %d", r->min_in, r->max_in);
}

static void check_counts(wk_c2_op *o) {
  const wk_c2_row *r = o->row;
  wk_c2_valid(o, o->n_in >= r->min_in && (r->max_in < 0 || o->n_in <= r->max_in),
              "has %d input%s, and takes %s", o->n_in, o->n_in == 1 ? "" : "s",
              inputs_taken(o->c->arena, r));
  wk_c2_valid(o, o->n_out >= 1 || !r->max_out, "has no output");
}

/* In-place operators read what they overwrite, so the outputs begin after the inputs are read. */
static void begin_outputs(wk_c2_op *o) {
  o->n_out = (int)o->def->n_output;
  for (int i = 0; i < o->n_out; i++) {
    wk_c2_slot *s = get_slot(o->c, o->def->output[i]);
    wk_c2_valid(o, *s->name, "output %d has no name", i);
    wk_c2_valid(o, s->now.maker != o->def->type, "has the output '%s' twice", s->name);
    if (s->now.constant && !o->n_in)
      wk_c2_note(o->c, "blob '%s' is filled more than once; the last time counts", s->name);
    s->written++;
    s->now = (wk_c2_blob){.maker = o->def->type};
  }
}

static wk_status translate_op(wk_c2 *c, const Caffe2__OperatorDef *op) {
  wk_c2_op o = {.c = c, .def = op, .name = name_of(c, op)};
  if (!op->type || !*op->type)
    return wk_error_at(WK_INPUT, place_of(c, o.name), "the operator has no type");
  o.row = op->domain && *op->domain ? NULL : wk_c2_row_find(op->type);
  size_t nodes = c->nodes.n, constants = c->constants.n;
  read_inputs(&o);
  begin_outputs(&o);
  if (!o.row) {
    wk_status_free(o.status);
    refuse_unknown(c, op);
    keep_refused(&o);
    return NULL;
  }
  check_counts(&o);
  if (!o.status) o.row->handler(&o);
  if (!o.status) check_arguments(&o);
  if (!o.status) return NULL;
  if (o.status->code != WK_UNSUPPORTED)
    return wk_status_place(wk_status_note(o.status, "Caffe2 %s", op->type), place_of(c, o.name));
  c->nodes.n = nodes;
  c->constants.n = constants;
  refuse(c, op, o.status->message);
  wk_status_free(o.status);
  keep_refused(&o);
  return NULL;
}

static wk_status translate_net(wk_c2 *c, const Caffe2__NetDef *net, const char *file) {
  c->file = file;
  for (size_t i = 0; i < net->n_op; i++)
    if (!is_fed(c, net->op[i])) WK_TRY(wk_status_place(translate_op(c, net->op[i]), file));
  return NULL;
}

/* ---- which net is which -------------------------------------------------------------------- */

/* The first operator that computes something from blobs; NULL: the net only fills. */
static const Caffe2__OperatorDef *first_computing(const Caffe2__NetDef *net) {
  for (size_t i = 0; i < net->n_op; i++)
    if (net->op[i]->n_input) return net->op[i];
  return NULL;
}

static wk_status check_roles(const char *path, const Caffe2__NetDef *predict, const char *init_path,
                             const Caffe2__NetDef *init) {
  if (!predict->n_op) return wk_error_at(WK_INPUT, path, "the net has no operators");
  const Caffe2__OperatorDef *computes = init ? first_computing(init) : NULL;
  bool only_fills = !first_computing(predict);
  if (only_fills && computes)
    return wk_error_at(WK_INPUT, path, "this net only fills blobs with weights, and %s computes: "
                       "the nets are swapped", init_path);
  if (only_fills)
    return wk_error_at(WK_INPUT, path, "this net only fills blobs with weights: it is an init net; "
                       "give the net that computes, and this one as --init-net");
  return NULL;
}

/* An init net reads nothing but what it makes itself. */
static wk_status check_init(wk_c2 *c, const char *path) {
  if (!c->inputs.n && !c->missing.n) return NULL;
  const char *blob = c->missing.n ? c->missing.data[0] : c->inputs.data[0]->name;
  return wk_error_at(WK_INPUT, path, "an operator of the init net reads '%s', which no operator "
                     "before it makes: this is no init net", blob);
}

/* Where a net's first input is a number that the init net fills in, most likely no constant is
 * meant. */
static void note_constant_input(wk_c2 *c, const Caffe2__NetDef *predict,
                                const Caffe2__NetDef *init) {
  const char *input = predict->n_external_input ? predict->external_input[0] : "";
  for (size_t i = 0; i < init->n_op; i++) {
    const Caffe2__OperatorDef *op = init->op[i];
    bool is_it = is_filler(op) && strcmp(op->output[0], input) == 0 && !is_fed(c, op);
    if (is_it) wk_c2_note(c, "'%s' is a constant, which the init net fills in: to make it an "
                          "input, give its shape (--shape %s=...)", input, input);
  }
}

/* ---- the model ----------------------------------------------------------------------------- */

static wk_status missing_blobs(const wk_c2 *c) {
  size_t n = c->missing.n;
  wk_status s = wk_error(WK_INPUT, "%zu blob%s neither made by an operator nor %s: "
                         "for an input, give its shape (--shape %s=... or --value-info FILE); for "
                         "weights, %s", n, n == 1 ? " is" : "s are",
                         c->opt->init_net ? "in the init net" : "given by an init net",
                         c->missing.data[0],
                         c->opt->init_net ? "the init net may be another model's"
                                          : "give --init-net FILE");
  for (size_t i = 0; i < n; i++) {
    char *shown = wk_xstrdup(c->missing.data[i]);
    wk_text_clean(shown);
    s = wk_status_item(s, "%s", shown);
    free(shown);
  }
  return s;
}

/* Options that name what is no input of this net are for the importer to refuse; infos are not. */
static wk_status check_infos(const wk_c2 *c) {
  for (size_t i = 0; i < c->infos.n; i++) {
    const char *name = c->infos.data[i].name;
    bool found = false;
    for (size_t k = 0; k < c->inputs.n; k++)
      found = found || strcmp(c->inputs.data[k]->name, name) == 0;
    if (found) continue;
    const char *near = wk_nearest(name, c->missing.data, c->missing.n);
    if (near)
      return wk_error_at(WK_INPUT, c->opt->value_info, "'%s' is no input of the net; did you mean "
                         "'%s'?", name, near);
    if (c->missing.n)
      return wk_error_at(WK_INPUT, c->opt->value_info, "'%s' is no input of the net; '%s' is one",
                         name, c->missing.data[0]);
    return wk_error_at(WK_INPUT, c->opt->value_info, "'%s' is no input of the net", name);
  }
  return NULL;
}

static wk_status add_outputs(wk_c2 *c, const Caffe2__NetDef *net, Onnx__GraphProto *g) {
  g->output = wk_arena_alloc(c->arena, net->n_external_output * sizeof *g->output);
  for (size_t i = 0; i < net->n_external_output; i++) {
    const wk_c2_slot *s = get_slot(c, net->external_output[i]);
    if (!s->now.value)
      return wk_error_at(WK_INPUT, place_of(c, s->name), s->now.maker
                         ? "this output of the net is one that its operator does not make here"
                         : "no operator makes this output of the net");
    g->output[g->n_output++] = wk_message_value(c->arena, s->now.value, 0);
  }
  if (!g->n_output) return wk_error(WK_INPUT, "the net has no external_output");
  return NULL;
}

/* An output that is an input or a constant is copied. */
static void separate_outputs(wk_c2 *c, const Caffe2__NetDef *net) {
  for (size_t i = 0; i < net->n_external_output; i++) {
    wk_c2_slot *s = get_slot(c, net->external_output[i]);
    bool is_made = s->now.value && (s->now.constant || s->is_external_in);
    if (!is_made) continue;
    const Caffe2__OperatorDef def = {.n_output = 1, .output = (char **)(uintptr_t)&s->name};
    wk_c2_op o = {.c = c, .def = &def};
    s->now.value = wk_c2_make(&o, "Identity", wk_c2_fresh(&o, "out"), s->now.value, NULL, NULL);
  }
}

/* Constants that something reads. */
static void keep_used(wk_c2 *c) {
  wk_map *used = wk_map_new();
  size_t kept = 0;
  uint32_t ignored;
  for (size_t i = 0; i < c->nodes.n; i++)
    for (size_t k = 0; k < c->nodes.data[i]->n_input; k++)
      wk_map_put(used, c->nodes.data[i]->input[k], 1);
  for (size_t i = 0; i < c->constants.n; i++)
    if (wk_map_get(used, c->constants.data[i]->name, &ignored))
      c->constants.data[kept++] = c->constants.data[i];
  c->constants.n = kept;
  wk_map_free(used);
}

static void *copied(wk_arena *a, const void *list, size_t n) {
  return wk_arena_memdup(a, list, n * sizeof(void *));
}

static void add_opset(wk_c2 *c, Onnx__ModelProto *m, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *x = wk_arena_alloc(c->arena, sizeof *x);
  onnx__operator_set_id_proto__init(x);
  x->domain = wk_arena_strdup(c->arena, domain);
  x->has_version = true;
  x->version = version;
  m->opset_import[m->n_opset_import++] = x;
}

static void add_opsets(wk_c2 *c, Onnx__ModelProto *m) {
  bool uses_own = false;
  for (size_t i = 0; i < c->nodes.n; i++) {
    const char *domain = c->nodes.data[i]->domain;
    uses_own = uses_own || (domain && !strcmp(domain, WK_ONNX_OWN_DOMAIN));
  }
  m->opset_import = wk_arena_alloc(c->arena, 3 * sizeof(void *));
  add_opset(c, m, "", WK_C2_OPSET);
  if (c->functions.n) add_opset(c, m, WK_C2_DOMAIN, 1);
  if (uses_own) add_opset(c, m, WK_ONNX_OWN_DOMAIN, 1);
}

static wk_status make_model(wk_c2 *c, const Caffe2__NetDef *net, Onnx__ModelProto *m) {
  wk_arena *a = c->arena;
  Onnx__GraphProto *g = wk_arena_alloc(a, sizeof *g);
  onnx__graph_proto__init(g);
  onnx__model_proto__init(m);
  m->graph = g;
  m->has_ir_version = true;
  m->ir_version = 7; /* that of the opset */
  m->producer_name = wk_arena_strdup(a, "wick");
  g->name = wk_arena_strdup(a, net->name && *net->name ? net->name : "net");
  separate_outputs(c, net);
  add_opsets(c, m);
  WK_TRY(add_outputs(c, net, g));
  keep_used(c);
  g->node = copied(a, c->nodes.data, g->n_node = c->nodes.n);
  g->initializer = copied(a, c->constants.data, g->n_initializer = c->constants.n);
  g->input = copied(a, c->inputs.data, g->n_input = c->inputs.n);
  m->functions = copied(a, c->functions.data, m->n_functions = c->functions.n);
  return wk_model_check(m);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static wk_status translate_init(wk_c2 *c, const Caffe2__NetDef *predict,
                                const Caffe2__NetDef *init) {
  WK_TRY(translate_net(c, init, c->opt->init_net));
  WK_TRY(check_init(c, c->opt->init_net));
  note_constant_input(c, predict, init);
  return NULL;
}

static wk_status run(wk_c2 *c, const char *path, const wk_net *predict, const wk_net *init,
                     Onnx__ModelProto *m) {
  const char *init_path = c->opt->init_net;
  WK_TRY(check_roles(path, predict->def, init_path, init->def));
  WK_TRY(wk_c2_cut(c, predict->def, init->def));
  count_blobs(c, predict->def);
  c->is_init = true;
  if (init->def) count_blobs(c, init->def);
  if (init->def) WK_TRY(translate_init(c, predict->def, init->def));
  c->is_init = false;
  WK_TRY(translate_net(c, predict->def, path));
  if (!c->is_lenient && !c->opt->n_cut) WK_TRY(check_infos(c));
  if (c->missing.n) return missing_blobs(c);
  wk_c2_find_cut(c, predict->def, init->def);
  if (!c->opt->survey) WK_TRY(wk_model_refusal(c->rep, c->opt->list_all));
  return make_model(c, predict->def, m);
}

static wk_status read_and_run(wk_c2 *c, const char *path, wk_net *predict, wk_net *init,
                              wk_onnx_model *out) {
  WK_TRY(wk_net_read(path, predict));
  if (c->opt->init_net) WK_TRY(wk_net_read(c->opt->init_net, init));
  if (c->opt->value_info) WK_TRY(wk_value_info_read(c->opt->value_info, c->arena, &c->infos));
  out->size = predict->size + init->size;
  Onnx__ModelProto *m = wk_arena_alloc(c->arena, sizeof *m);
  out->model = m;
  return wk_status_place(run(c, path, predict, init, m), path);
}

wk_status wk_c2_translate(const char *path, const wk_import_options *o, bool is_lenient,
                          wk_import_report *rep, wk_onnx_model *out) {
  wk_net predict = {0}, init = {0};
  wk_onnx_model_start(out, path);
  wk_c2 c = {.opt = o, .rep = rep, .arena = out->arena, .slots = wk_map_new(),
             .taken = wk_map_new(), .noted = wk_map_new(), .is_lenient = is_lenient};
  wk_status s = read_and_run(&c, path, &predict, &init, out);
  wk_map_free(c.slots);
  wk_map_free(c.taken);
  wk_map_free(c.noted);
  wk_vec_free(&c.slot);
  wk_vec_free(&c.infos);
  wk_vec_free(&c.nodes);
  wk_vec_free(&c.functions);
  wk_vec_free(&c.constants);
  wk_vec_free(&c.inputs);
  wk_vec_free(&c.missing);
  wk_vec_free(&c.refused);
  out->nets[0] = predict.arena; /* the weights still lie there */
  out->nets[1] = init.arena;
  if (s) wk_onnx_model_close(out);
  return s;
}
