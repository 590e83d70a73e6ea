/* SPDX-License-Identifier: Apache-2.0
 * Model files of any form, as the driver opens them. */
#include "compiler/caffe2/caffe2.h"

#include <string.h>

#include "compiler/caffe2/translate.h"
#include "compiler/onnx/import/model.h"

static const wk_import_options no_options;

static wk_status open(const char *path, const wk_import_options *o, bool is_lenient,
                      wk_import_report *rep, wk_onnx_model *out) {
  bool is_net;
  WK_TRY(wk_net_is_net(path, &is_net));
  if (is_net) return wk_c2_translate(path, o, is_lenient, rep, out);
  WK_TRY(wk_onnx_model_open(path, out));
  const char *option = o->init_net ? "--init-net" : o->value_info ? "--value-info" : NULL;
  if (!option) return NULL;
  wk_onnx_model_close(out);
  return wk_error_at(WK_USAGE, path, "%s goes with a Caffe2 net, and this is an ONNX model",
                     option);
}

/* ---- hash ---------------------------------------------------------------------------------- */

/* Protobuf-c writes in small pieces. The hash of each block is the seed of the next one. */
typedef struct {
  ProtobufCBuffer base;
  uint64_t hash;
  size_t n;
  uint8_t block[1 << 16];
} hasher;

static void hash_block(hasher *h) {
  h->hash = wk_hash64(h->block, h->n, h->hash);
  h->n = 0;
}

static void append(ProtobufCBuffer *b, size_t n, const uint8_t *data) {
  hasher *h = (hasher *)(void *)b;
  while (n > 0) {
    size_t part = sizeof h->block - h->n < n ? sizeof h->block - h->n : n;
    memcpy(h->block + h->n, data, part);
    h->n += part;
    data += part;
    n -= part;
    if (h->n == sizeof h->block) hash_block(h);
  }
}

/* What was read as the wire format is at hand; what a front door has made is packed again. */
static uint64_t hash_model(const wk_onnx_model *m) {
  hasher h = {.base = {.append = append}};
  if (m->file.size) return wk_hash64(m->file.data, m->file.size, 0);
  if (m->bytes) return wk_hash64(m->bytes, m->size, 0);
  onnx__model_proto__pack_to_buffer(m->model, &h.base);
  hash_block(&h);
  return h.hash;
}

/* ---- the front door ------------------------------------------------------------------------ */

/* Why the nodes are refused that a survey keeps, in the order of the net. */
static void explain_refused(const wk_import_report *before, wk_import_report *rep) {
  wk_map *taken = wk_map_new();
  for (size_t k = 0; k < rep->nodes.n; k++) {
    wk_surveyed *n = &rep->nodes.data[k];
    uint32_t from = 0;
    if (strcmp(n->domain, WK_C2_REFUSED) != 0) continue;
    wk_map_get(taken, n->node, &from);
    while (from < before->unsupported.n &&
           strcmp(before->unsupported.data[from].node, n->node) != 0)
      from++;
    if (from == before->unsupported.n) continue;
    n->reason = wk_arena_strdup(rep->arena, before->unsupported.data[from].reason);
    wk_map_put(taken, n->node, from + 1);
  }
  wk_map_free(taken);
}

wk_status wk_net_import(const char *path, const wk_import_options *o, wk_import_report *report,
                        wk_module **out) {
  wk_onnx_model m;
  wk_import_report own = {0}, *rep = report ? report : &own;
  const wk_import_report seen = {.arena = wk_arena_new()};
  wk_import_report before = seen;
  *rep = (wk_import_report){0};
  *out = NULL;
  wk_status s = open(path, o ? o : &no_options, false, &before, &m);
  if (s) {
    *rep = before;
    if (!report) wk_import_report_free(&own);
    return s;
  }
  uint64_t hash = o && o->is_hashed ? hash_model(&m) : 0;
  wk_import_options rest = o ? *o : no_options;
  if (m.nets[0]) rest.n_cut = 0; /* the net has been cut */
  s = wk_onnx_model_import(&m, &rest, rep, out);
  rep->hash = hash;
  for (size_t i = 0; i < before.notes.n; i++)
    wk_vec_push(&rep->notes, wk_arena_strdup(rep->arena, before.notes.data[i]));
  for (size_t i = 0; i < before.cut.n; i++)
    wk_vec_push(&rep->cut, wk_arena_strdup(rep->arena, before.cut.data[i]));
  explain_refused(&before, rep);
  wk_import_report_free(&before);
  if (!report) wk_import_report_free(&own);
  return s;
}

wk_status wk_net_inspect(const char *path, const wk_import_options *o, wk_onnx_info *out) {
  wk_onnx_model m;
  wk_import_report rep = {.arena = wk_arena_new()};
  *out = (wk_onnx_info){0};
  wk_status s = open(path, o ? o : &no_options, true, &rep, &m);
  wk_import_report_free(&rep);
  if (s) return s;
  if (o && !m.nets[0]) s = wk_status_place(wk_model_cut(m.model, o, m.arena), path);
  if (!s) wk_onnx_model_inspect(&m, out);
  wk_onnx_model_close(&m);
  return s;
}

wk_status wk_model_kind_of(const char *path, wk_model_kind *out) {
  wk_file f;
  bool is_net;
  *out = WK_MODEL_NET;
  WK_TRY(wk_net_is_net(path, &is_net));
  if (is_net) return NULL;
  WK_TRY(wk_file_map(path, &f));
  *out = wk_onnx_is_text(f.data, f.size) ? WK_MODEL_TEXT : WK_MODEL_ONNX;
  wk_file_unmap(&f);
  return NULL;
}
