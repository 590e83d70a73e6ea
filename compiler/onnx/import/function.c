/* SPDX-License-Identifier: Apache-2.0
 * Model-local functions: a call is replaced by the function's nodes in a scope of their own that
 * sees the inputs only. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"

#define FUNCTION_ATTRIBUTE_PROTO 11 /* attribute defaults, a field newer than some onnx.proto */

const Onnx__FunctionProto *wk_import_function(const wk_importer *im, const char *domain,
                                              const char *name) {
  uint32_t first;
  if (!wk_map_get(im->functions, name, &first)) return NULL;
  for (size_t i = first; i < im->model->n_functions; i++) {
    const Onnx__FunctionProto *f = im->model->functions[i];
    if (f->name && strcmp(f->name, name) == 0 && strcmp(wk_onnx_domain(f->domain), domain) == 0) {
      return f;
    }
  }
  return NULL;
}

static wk_status check_call(const wk_onnx_node *c, const Onnx__FunctionProto *fn) {
  if (c->scope->depth + 1 >= WK_GRAPH_MAX_DEPTH) {
    return wk_error(WK_RESOURCE, "functions are nested more than %d deep", WK_GRAPH_MAX_DEPTH);
  }
  for (const wk_frame *f = c->scope->frame; f; f = f->caller) {
    if (f->function == fn) return wk_error(WK_INPUT, "function '%s' calls itself", fn->name);
  }
  if ((size_t)c->n_in > fn->n_input || (size_t)c->n_out > fn->n_output) {
    return wk_error(WK_INPUT, "function '%s' has %zu inputs and %zu outputs", fn->name, fn->n_input,
                    fn->n_output);
  }
  return NULL;
}

static bool has_attribute(const wk_frame_attribute *a, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(a[i].name, name) == 0) return true;
  }
  return false;
}

/* Attributes of the call, then the function's defaults. */
static wk_status resolve_attributes(const wk_onnx_node *c, const Onnx__FunctionProto *fn,
                                    wk_frame *frame) {
  wk_arena *arena = c->im->arena;
  size_t max = c->proto->n_attribute + fn->base.n_unknown_fields, n = 0;
  wk_frame_attribute *list = wk_arena_alloc(arena, max * sizeof *list);
  for (size_t i = 0; i < c->proto->n_attribute; i++) {
    const char *name = c->proto->attribute[i]->name;
    const Onnx__AttributeProto *value = name ? wk_onnx_attr(c, name) : NULL;
    if (value) list[n++] = (wk_frame_attribute){name, value};
  }
  for (size_t i = 0; i < fn->base.n_unknown_fields; i++) {
    const ProtobufCMessageUnknownField *u = &fn->base.unknown_fields[i];
    if (u->tag != FUNCTION_ATTRIBUTE_PROTO ||
        u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
      continue;
    }
    size_t prefix = 0;
    while (prefix < u->len && u->data[prefix] & 0x80) prefix++;
    ProtobufCMessage *message;
    if (prefix + 1 >= u->len) continue;
    WK_TRY(wk_wire_unpack(&onnx__attribute_proto__descriptor, u->data + prefix + 1,
                          u->len - prefix - 1, arena, &message));
    const Onnx__AttributeProto *a = (const Onnx__AttributeProto *)message;
    if (a->name && !has_attribute(list, n, a->name)) list[n++] = (wk_frame_attribute){a->name, a};
  }
  frame->attributes = list;
  frame->n_attributes = n;
  return NULL;
}

static wk_status inline_call(wk_onnx_node *c, const Onnx__FunctionProto *fn, wk_scope *s) {
  for (size_t i = 0; i < fn->n_input; i++) {
    const wk_bound nothing = {.kind = WK_BOUND_NOTHING, .value = WK_NONE};
    if (wk_scope_has(s, fn->input[i]))
      return wk_error_at(WK_INPUT, fn->input[i], "two inputs of the function have this name");
    wk_scope_bind(s, fn->input[i], i < c->proto->n_input ? c->bound[i] : nothing);
  }
  WK_TRY(wk_import_nodes(c->im, s, fn->node, fn->n_node));
  for (int i = 0; i < c->n_out; i++) {
    if (!wk_scope_find(c->im, s, fn->output[i], &c->out[i])) {
      return wk_error_at(WK_INPUT, fn->output[i], "no node of function '%s' produces this output",
                         fn->name);
    }
  }
  return NULL;
}

wk_status wk_import_call(wk_onnx_node *c, const Onnx__FunctionProto *fn) {
  WK_TRY(check_call(c, fn));
  const wk_frame *caller = c->scope->frame;
  wk_frame *frame = wk_arena_alloc(c->im->arena, sizeof *frame);
  *frame = (wk_frame){.opsets = fn->n_opset_import ? fn->opset_import : caller->opsets,
                      .n_opsets = fn->n_opset_import ? fn->n_opset_import : caller->n_opsets,
                      .function = fn, .call = c->name, .caller = caller};
  WK_TRY(resolve_attributes(c, fn, frame));
  wk_scope *s = wk_scope_new(c->scope, true, c->g, frame);
  wk_scope_enter(c->im, s, c->proto, fn);
  wk_status st = inline_call(c, fn, s);
  wk_scope_free(s);
  return wk_status_note(st, "in function '%s'", fn->name);
}
