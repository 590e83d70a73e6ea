/* SPDX-License-Identifier: Apache-2.0
 * The walk over the nodes of one ONNX graph. A node that cannot be imported is reported and its
 * results become unknown; what depends on them is passed over in silence, so that one run reports
 * every node that is unsupported in itself. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/labels.h"
#include "compiler/onnx/import/schema.h"

const char *wk_onnx_domain(const char *domain) {
  return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

int64_t wk_frame_opset(const wk_frame *f, const char *domain) {
  for (size_t i = 0; i < f->n_opsets; i++) {
    const Onnx__OperatorSetIdProto *o = f->opsets[i];
    if (strcmp(wk_onnx_domain(o->domain), domain) == 0) return o->has_version ? o->version : 1;
  }
  return 0;
}

/* ---- report -------------------------------------------------------------------------------- */

const char *wk_import_shapes(wk_importer *im, const wk_onnx_node *c) {
  wk_str b = {0};
  for (int i = 0; i < c->n_in; i++) {
    if (i) wk_str_add(&b, " ");
    wk_bound_kind kind = c->bound[i].kind;
    bool labelled = kind == WK_BOUND_LABELLED;
    bool maps = labelled && c->bound[i].labels->kind == WK_LABELS_COLUMNS;
    if (kind == WK_BOUND_STRINGS || labelled) wk_str_add(&b, maps ? "maps" : "strings");
    else if (c->in[i] == WK_NONE) wk_str_add(&b, kind == WK_BOUND_UNKNOWN ? "?" : "-");
    else wk_type_print(&b, wk_onnx_type(c, c->in[i]));
  }
  const char *s = wk_arena_strdup(im->rep->arena, b.s ? b.s : "");
  wk_str_free(&b);
  return s;
}

static bool is_newer(const wk_onnx_node *c) {
  int64_t newest = wk_onnx_newest_opset(wk_onnx_domain(c->proto->domain));
  return newest > 0 && c->opset > newest;
}

static void report_unsupported(wk_importer *im, const wk_onnx_node *c, const char *reason) {
  wk_arena *a = im->rep->arena;
  wk_unsupported u = {.node = wk_arena_strdup(a, c->name),
                      .op = wk_arena_strdup(a, c->proto->op_type),
                      .domain = wk_arena_strdup(a, wk_onnx_domain(c->proto->domain)),
                      .shapes = wk_import_shapes(im, c),
                      .reason = wk_arena_strdup(a, reason),
                      .opset = c->opset,
                      .is_node = true,
                      .is_newer = is_newer(c)};
  wk_vec_push(&im->rep->unsupported, u);
}

static void report_initialiser(wk_importer *im, const char *name, const char *reason) {
  uint32_t ignored;
  if (!wk_map_get(im->used, name, &ignored)) return;
  wk_arena *a = im->rep->arena;
  wk_unsupported u = {.node = wk_arena_strdup(a, name), .op = "initializer", .domain = "",
                      .shapes = "", .reason = wk_arena_strdup(a, reason)};
  wk_vec_push(&im->rep->unsupported, u);
}

/* ---- one node ------------------------------------------------------------------------------ */

typedef struct {
  wk_value_id in[WK_ONNX_SMALL];
  wk_bound bound[WK_ONNX_SMALL], out[WK_ONNX_SMALL];
} operands;

/* Points c at room for its operands: the caller's, or the arena's when there are many. */
static void make_room(wk_onnx_node *c, operands *small) {
  size_t n_in = c->proto->n_input, n_out = c->proto->n_output;
  memset(small, 0, sizeof *small);
  wk_arena *a = c->im->arena;
  c->in = n_in <= WK_ONNX_SMALL ? small->in : wk_arena_alloc(a, n_in * sizeof *c->in);
  c->bound = n_in <= WK_ONNX_SMALL ? small->bound : wk_arena_alloc(a, n_in * sizeof *c->bound);
  c->out = n_out <= WK_ONNX_SMALL ? small->out : wk_arena_alloc(a, n_out * sizeof *c->out);
  for (size_t i = 0; i < n_in || i < WK_ONNX_SMALL; i++) {
    c->in[i] = WK_NONE;
    c->bound[i] = (wk_bound){.kind = WK_BOUND_NOTHING, .value = WK_NONE};
  }
  for (size_t i = 0; i < n_out || i < WK_ONNX_SMALL; i++) c->out[i] = wk_bound_tensor(WK_NONE);
}

/* Looks up the inputs; *unknown when one of them could not be imported. */
static wk_status find_inputs(wk_onnx_node *c, bool *unknown) {
  *unknown = false;
  for (size_t i = 0; i < c->proto->n_input; i++) {
    const char *name = c->proto->input[i];
    if (!*name) continue;
    wk_bound b;
    if (!wk_scope_find(c->im, c->scope, name, &b)) {
      return wk_error_at(WK_INPUT, c->name, "reads tensor '%s', which no node produces", name);
    }
    c->bound[i] = b;
    if (b.kind == WK_BOUND_TENSOR) c->in[i] = b.value;
    if (b.kind == WK_BOUND_UNKNOWN) *unknown = true;
    if (b.kind != WK_BOUND_NOTHING) c->n_in = (int)i + 1;
  }
  return NULL;
}

/* Puts on record that operators of this domain are read by older definitions than the model's. */
static void note_newer(wk_onnx_node *c) {
  for (size_t i = 0; i < c->im->newer.n; i++)
    if (strcmp(c->im->newer.data[i].domain, c->row->domain) == 0) return;
  const wk_newer fresh = {c->row->domain, c->opset};
  wk_vec_push(&c->im->newer, fresh);
}

static bool check_row(wk_onnx_node *c) {
  const wk_onnx_row *r = c->row;
  if (!r) {
    wk_onnx_fail(c, WK_UNSUPPORTED, "%s",
                 wk_onnx_refusal_find(wk_onnx_domain(c->proto->domain), c->proto->op_type));
  } else if (c->opset == 0) {
    wk_onnx_fail(c, WK_UNSUPPORTED, "the model does not say which opset of '%s' it uses "
                 "(opset_import)", *r->domain ? r->domain : "ai.onnx");
  } else if (c->opset < r->since) {
    wk_onnx_fail(c, WK_UNSUPPORTED, "supported from opset %lld on", (long long)r->since);
  } else if (c->opset > r->known) {
    int64_t newest = wk_onnx_newest_opset(r->domain);
    bool has_ended = r->known < newest;
    if (r->known == newest && !c->im->opt->strict_opset) note_newer(c);
    else
      wk_onnx_fail(c, WK_UNSUPPORTED, "its definition is known up to opset %lld%s",
                   (long long)r->known, has_ended ? "; later opsets no longer have it" : "");
  }
  if (wk_onnx_ok(c)) c->is_malformed = !wk_onnx_check_schema(c);
  return wk_onnx_ok(c);
}

static bool check_operands(wk_onnx_node *c) {
  const wk_onnx_row *r = c->row;
  int given = c->n_in; /* of what is no tensor, an optional without element counts */
  for (size_t i = 0; i < c->proto->n_input && r->dtypes == 0; i++)
    if (*c->proto->input[i] && (int)i >= given) given = (int)i + 1;
  if (given < r->min_in || (r->max_in >= 0 && c->n_in > r->max_in)) {
    wk_onnx_fail(c, WK_INPUT, "%s takes %d to %d inputs, not %d", r->name, r->min_in,
                 r->max_in < 0 ? INT32_MAX : r->max_in, c->n_in);
  }
  for (int i = 0; i < r->min_in && i < c->n_in; i++) {
    wk_onnx_valid(c, c->bound[i].kind != WK_BOUND_NOTHING || c->row->dtypes == 0,
                  "input %d is missing", i);
  }
  if (!wk_onnx_ok(c) || c->in[0] == WK_NONE) return wk_onnx_ok(c);
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  return wk_onnx_need(c, r->dtypes == 0 || (r->dtypes >> t & 1), "element type %s is not supported",
                      wk_dtype_name(t));
}

static void rename_value(wk_graph *g, wk_value_id v, const char *name) {
  uint32_t taken;
  wk_arena *a = g->module->arena;
  if (!strcmp(wk_val(g, v)->name, name)) return;
  const char *own = wk_arena_strdup(a, name);
  if (wk_map_get(g->names, own, &taken)) own = wk_arena_printf(a, "%s.%u", name, v);
  while (wk_map_get(g->names, own, &taken)) own = wk_arena_printf(a, "%s.", own);
  wk_val(g, v)->name = own;
  wk_map_put(g->names, own, v);
}

/* Binds the output names. Values older than `first_new` have their names already. */
static wk_status bind_outputs(wk_onnx_node *c, size_t first_new, bool unknown) {
  const wk_bound nothing = {.kind = WK_BOUND_UNKNOWN, .value = WK_NONE};
  for (int i = 0; i < c->n_out; i++) {
    const char *name = c->proto->output[i];
    if (!*name) continue;
    if (wk_scope_has(c->scope, name)) {
      return wk_error_at(WK_INPUT, c->name, "tensor '%s' is produced twice", name);
    }
    wk_bound b = unknown ? nothing : c->out[i];
    if (b.kind == WK_BOUND_TENSOR && b.value == WK_NONE) {
      b = nothing;
      if (wk_onnx_wants(c, i)) {
        report_unsupported(c->im, c,
                           wk_arena_printf(c->im->arena, "output %d is not supported", i));
      }
    }
    bool has_value = b.kind == WK_BOUND_TENSOR || b.kind == WK_BOUND_LABELLED;
    bool is_new = has_value && b.value >= first_new;
    for (int k = 0; k < i; k++) is_new = is_new && c->out[k].value != b.value;
    if (is_new) rename_value(c->g, b.value, name);
    wk_scope_bind(c->scope, name, b);
  }
  return NULL;
}

/* An unsupported node is put on record and leaves unknown results; other errors end the import. */
static wk_status settle(wk_onnx_node *c, size_t first_new, bool unknown) {
  wk_status s = c->status;
  if (s && s->code != WK_UNSUPPORTED) {
    if (!wk_import_function(c->im, wk_onnx_domain(c->proto->domain), c->proto->op_type) &&
        c->row->op != WK_OP_IF && c->row->op != WK_OP_LOOP) {
      c->im->is_misshapen = s->code == WK_INPUT && !c->is_malformed;
    }
    s = wk_status_note(s, "while importing %s '%s'", c->proto->op_type, c->name);
    return wk_status_place(s, c->name);
  }
  bool is_refused = s != NULL;
  if (s) {
    report_unsupported(c->im, c, s->message);
    wk_survey_node(c, WK_SURVEY_REFUSED, s->message, first_new);
    wk_status_free(s);
    unknown = true;
  }
  WK_TRY(bind_outputs(c, first_new, unknown));
  if (!is_refused)
    wk_survey_node(c, unknown ? WK_SURVEY_UNKNOWN : WK_SURVEY_TAKEN, NULL, first_new);
  return NULL;
}

const char *wk_onnx_node_name(wk_arena *a, const Onnx__NodeProto *p) {
  if (p->name && *p->name) return wk_arena_strdup(a, p->name);
  return wk_arena_printf(a, "%s_%s", p->op_type ? p->op_type : "node",
                         p->n_output ? p->output[0] : "");
}

static const char *name_of(wk_importer *im, const wk_scope *s, const Onnx__NodeProto *p) {
  bool is_named = p->name && *p->name;
  return s->frame->call && !is_named ? s->frame->call : wk_onnx_node_name(im->m->arena, p);
}

static wk_status import_node(wk_importer *im, wk_scope *s, const Onnx__NodeProto *p) {
  operands small;
  bool unknown;
  if (!p->op_type || !*p->op_type) return wk_error(WK_INPUT, "a node has no operator");
  if (im->nodes_left-- <= 0) return wk_error(WK_RESOURCE, "the model has too many nodes");
  wk_onnx_node c = {.im = im, .scope = s, .g = s->g, .proto = p, .n_out = (int)p->n_output,
                    .name = name_of(im, s, p)};
  const char *domain = wk_onnx_domain(p->domain);
  c.opset = wk_frame_opset(s->frame, domain);
  c.row = wk_onnx_row_find(domain, p->op_type);
  make_room(&c, &small);
  WK_TRY(find_inputs(&c, &unknown));
  size_t first_new = s->g->values.n;
  const Onnx__FunctionProto *fn = wk_import_function(im, domain, p->op_type);
  if (fn) {
    if (!unknown) wk_onnx_latch(&c, wk_import_call(&c, fn));
  } else if (check_row(&c) && wk_label_inputs(&c) && !unknown && check_operands(&c)) {
    wk_training_operands(&c);
    wk_status st = wk_extent_concerns(&c) ? wk_extent_node(&c) : c.row->handler(&c);
    if (st != c.status) wk_onnx_latch(&c, st);
    wk_extent_bound_results(&c);
    wk_extent_propose(&c);
    wk_label_results(&c);
  }
  return settle(&c, first_new, unknown);
}

wk_status wk_import_nodes(wk_importer *im, wk_scope *s, Onnx__NodeProto **nodes, size_t n) {
  uint32_t *order;
  s->nodes = nodes;
  s->n_nodes = n;
  WK_TRY(wk_onnx_sort(s, nodes, n, im->arena, &order));
  for (size_t i = 0; i < n; i++) WK_TRY(import_node(im, s, nodes[order[i]]));
  return NULL;
}

static wk_status make_initialiser(wk_importer *im, wk_scope *s, const Onnx__TensorProto *t,
                                  const Onnx__SparseTensorProto *sparse, wk_bound *out) {
  uint32_t ignored;
  const char *name = wk_map_get(s->g->names, t->name, &ignored) ? NULL : t->name;
  wk_status st;
  if (sparse) return wk_onnx_sparse_constant(im, s->g, name, sparse, &out->value);
  if (t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
    return wk_label_tensor(im, s->g, name, t, out);
  if (s->parent && wk_training_hoist(im, s, t, out, &st)) return st;
  return wk_onnx_tensor_constant(im, s->g, name, t, &out->value);
}

static wk_status import_initialiser(wk_importer *im, wk_scope *s, const Onnx__TensorProto *t,
                                    const Onnx__SparseTensorProto *sparse) {
  const char *name = t && t->name ? t->name : "";
  uint32_t ignored;
  if (!*name) return wk_error(WK_INPUT, "an initialiser has no name");
  if (!s->parent && wk_map_get(im->fixed, name, &ignored)) return NULL;
  if (wk_scope_has(s, name)) return wk_error_at(WK_INPUT, name, "this tensor is defined twice");
  wk_bound b = wk_bound_tensor(WK_NONE);
  wk_status st = make_initialiser(im, s, t, sparse, &b);
  if (st && st->code != WK_UNSUPPORTED) return wk_status_place(st, name);
  if (st) {
    report_initialiser(im, name, st->message);
    wk_status_free(st);
    b.kind = WK_BOUND_UNKNOWN;
  }
  bool is_kept = !sparse || im->opt->purpose == WK_FOR_DERIVATIVES; /* not written back */
  if (!s->parent && is_kept && b.kind == WK_BOUND_TENSOR)
    wk_training_weight(im, s->g, b.value, false);
  wk_scope_bind(s, name, b);
  return NULL;
}

wk_status wk_import_initialisers(wk_importer *im, wk_scope *s, const Onnx__GraphProto *p) {
  for (size_t i = 0; i < p->n_initializer; i++) {
    WK_TRY(import_initialiser(im, s, p->initializer[i], NULL));
  }
  for (size_t i = 0; i < p->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = p->sparse_initializer[i];
    WK_TRY(import_initialiser(im, s, sparse->values, sparse));
  }
  return NULL;
}
