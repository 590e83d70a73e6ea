/* SPDX-License-Identifier: Apache-2.0
 * Writing trained tensors back. The model is read twice: as messages, which say which tensors there
 * are and where raw and external data lies, and as bytes, for data in typed arrays, of which the
 * messages have copies. What changes is a list of patches per file; no length changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/onnx/import/importer.h"
#include "compiler/onnx/import/source.h"

typedef struct {
  uint64_t offset, size;
  const uint8_t *data;
} patch;

/* A file that is written: the model, or one of external data. */
typedef struct {
  const char *location; /* NULL: the model */
  char *from, *to;
  wk_file file;
  WK_VEC(patch) patches;
} target;

struct wk_write_back {
  wk_onnx_model m;
  WK_VEC(target) targets;
  const wk_rewrite *tensors; /* while it is opened */
  bool *found;
  size_t n;
};
typedef wk_write_back writer;

/* ---- bytes of messages ----------------------------------------------------------------------- */

enum { WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_T = 5, TENSOR_FLOATS = 4, TENSOR_DOUBLES = 10 };

typedef struct { const uint8_t *p, *end; } span;

/* The next field of a message: its number and what it holds. The bytes have been parsed before. */
static bool next_field(span *s, uint32_t *number, span *value) {
  uint64_t tag, size = 0;
  if (s->p == s->end || !wk_wire_varint(&s->p, s->end, &tag)) return false;
  *number = (uint32_t)(tag >> 3);
  value->p = s->p;
  switch (tag & 7) {
    case WIRE_FIXED64: size = 8; break;
    case WIRE_FIXED32: size = 4; break;
    case WIRE_BYTES:
      if (!wk_wire_varint(&s->p, s->end, &size)) return false;
      value->p = s->p;
      break;
    default:
      if (!wk_wire_varint(&s->p, s->end, &size)) return false;
      size = 0;
  }
  if (size > (uint64_t)(s->end - s->p)) return false;
  s->p += size;
  value->end = s->p;
  return true;
}

/* The k-th field of that number. */
static bool find_field(span s, uint32_t number, size_t k, span *value) {
  for (uint32_t have; next_field(&s, &have, value);)
    if (have == number && k-- == 0) return true;
  return false;
}

/* ---- patches --------------------------------------------------------------------------------- */

static wk_status bad_bytes(const char *name) {
  return wk_error(WK_INPUT, "the data of '%s' is not what was read before", name);
}

/* What is new of t->value, from `at` on, for the file's bytes p[0..size). */
static wk_status put(target *f, const wk_rewrite *t, size_t *at, const uint8_t *p, uint64_t size) {
  size_t bytes = (size_t)wk_packed_bytes(&t->value.type);
  if (size > bytes - *at || p < f->file.data || (size_t)(p - f->file.data) > f->file.size - size)
    return bad_bytes(t->name);
  const patch one = {(uint64_t)(p - f->file.data), size, (const uint8_t *)t->value.data + *at};
  wk_vec_push(&f->patches, one);
  *at += size;
  return NULL;
}

/* Packed, or one by one. */
static wk_status put_typed(target *f, const wk_rewrite *t, span tensor) {
  wk_dtype d = t->value.type.dtype;
  uint32_t number, field = d == WK_F32 ? TENSOR_FLOATS : d == WK_F64 ? TENSOR_DOUBLES : 0;
  size_t at = 0;
  span value;
  if (!field)
    return wk_error(WK_UNSUPPORTED, "'%s' (%s) is stored as numbers of varying lengths, which "
                    "cannot be replaced: store it as raw data", t->name, wk_dtype_name(d));
  while (next_field(&tensor, &number, &value))
    if (number == field) WK_TRY(put(f, t, &at, value.p, (uint64_t)(value.end - value.p)));
  return at == (size_t)wk_packed_bytes(&t->value.type) ? NULL : bad_bytes(t->name);
}

static target *target_of(writer *w, const char *location) {
  for (size_t i = 1; i < w->targets.n; i++)
    if (!strcmp(w->targets.data[i].location, location)) return &w->targets.data[i];
  return NULL;
}

static wk_status put_external(writer *w, const wk_rewrite *t, const Onnx__TensorProto *p) {
  const char *location = wk_onnx_external_location(p);
  uint64_t offset, length;
  size_t at = 0;
  target *f = location ? target_of(w, location) : NULL;
  if (!f || !wk_onnx_external_span(p, &t->value.type, f->file.size, &offset, &length) ||
      length != (uint64_t)wk_packed_bytes(&t->value.type))
    return bad_bytes(t->name);
  return put(f, t, &at, f->file.data + offset, length);
}

/* The tensor of that name, if it is to change; `bytes` is its message. */
static wk_status put_tensor(writer *w, const char *name, const Onnx__TensorProto *p, span bytes) {
  size_t i = 0, at = 0;
  const uint8_t *raw;
  size_t n;
  wk_type type;
  while (i < w->n && strcmp(w->tensors[i].name, name)) i++;
  if (i == w->n) return NULL;
  const wk_rewrite *t = &w->tensors[i];
  w->found[i] = true;
  WK_TRY(wk_onnx_tensor_type(p, &type));
  if (!wk_type_equal(&type, &t->value.type))
    return wk_error(WK_INTERNAL, "'%s' has another type than its new value", name);
  if (p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
    return put_external(w, t, p);
  if (!wk_wire_raw(p, &raw, &n)) return put_typed(&w->targets.data[0], t, bytes);
  return n == (size_t)wk_packed_bytes(&type) ? put(&w->targets.data[0], t, &at, raw, n)
                                           : bad_bytes(name);
}

static wk_status put_node(writer *w, const Onnx__NodeProto *p, span bytes) {
  span attribute, tensor;
  if (p->n_output != 1 || !p->op_type || strcmp(p->op_type, "Constant")) return NULL;
  for (size_t k = 0; k < p->n_attribute; k++) {
    const Onnx__AttributeProto *a = p->attribute[k];
    if (!a->name || strcmp(a->name, "value") || !a->t) continue;
    if (!find_field(bytes, NODE_ATTRIBUTE, k, &attribute) ||
        !find_field(attribute, ATTRIBUTE_T, 0, &tensor))
      return bad_bytes(p->output[0]);
    WK_TRY(put_tensor(w, p->output[0], a->t, tensor));
  }
  return NULL;
}

static wk_status put_all(writer *w) {
  const Onnx__GraphProto *g = w->m.model->graph;
  const wk_file *f = &w->m.file;
  span graph, value;
  uint32_t number;
  size_t node = 0, initializer = 0;
  if (!find_field((span){f->data, f->data + f->size}, MODEL_GRAPH, 0, &graph))
    return bad_bytes("the graph");
  while (next_field(&graph, &number, &value)) {
    if (number == GRAPH_NODE && node < g->n_node) {
      WK_TRY(put_node(w, g->node[node], value));
      node++;
    }
    if (number == GRAPH_INITIALIZER && initializer < g->n_initializer) {
      const Onnx__TensorProto *t = g->initializer[initializer++];
      WK_TRY(put_tensor(w, t->name ? t->name : "", t, value));
    }
  }
  for (size_t i = 0; i < w->n; i++)
    if (!w->found[i])
      return wk_error(WK_UNSUPPORTED, "'%s' is no initialiser and no constant of the model's main "
                      "graph, so its new value has no place", w->tensors[i].name);
  return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static wk_status add_external(void *ctx, const char *location) {
  writer *w = ctx;
  target f = {.location = location};
  if (target_of(w, location)) return NULL;
  WK_TRY(wk_file_map_beneath(w->m.dir, w->m.home, location, &f.file));
  wk_vec_push(&w->targets, f);
  return NULL;
}

static int by_offset(const void *a, const void *b) {
  const patch *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static wk_status check_patches(target *f) {
  if (f->patches.n) qsort(f->patches.data, f->patches.n, sizeof *f->patches.data, by_offset);
  for (size_t i = 1; i < f->patches.n; i++)
    if (f->patches.data[i - 1].offset + f->patches.data[i - 1].size > f->patches.data[i].offset)
      return wk_error_at(WK_UNSUPPORTED, f->location, "two of the new tensors share their bytes");
  return NULL;
}

static void write_patched(wk_out *o, const target *f) {
  uint64_t at = 0;
  for (size_t i = 0; i < f->patches.n; i++) {
    const patch *p = &f->patches.data[i];
    wk_out_write(o, f->file.data + at, (size_t)(p->offset - at));
    wk_out_write(o, p->data, (size_t)p->size);
    at = p->offset + p->size;
  }
  wk_out_write(o, f->file.data + at, (size_t)(f->file.size - at));
}

/* The folders between base and the last name of path. */
static wk_status make_folders(char *path, size_t base) {
  for (char *p = path + base; (p = strchr(p, '/')); p++) {
    *p = 0;
    int failed = mkdir(path, 0777) && errno != EEXIST;
    wk_status s = failed ? wk_error_at(WK_IO, path, "cannot make the folder: %s", strerror(errno))
                         : NULL;
    *p = '/';
    WK_TRY(s);
  }
  return NULL;
}

static bool is_same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The characters of a path up to its last name. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The name in the folder of a file. */
static char *beside(const char *path, const char *name) {
  wk_str b = {0};
  wk_str_addn(&b, path, folder_length(path));
  wk_str_add(&b, name);
  return b.s;
}

/* Where a file of external data comes from, and where it goes. */
static wk_status place(target *f, const char *from, const char *to) {
  f->from = beside(from, f->location);
  f->to = beside(to, f->location);
  if (!strcmp(to, "-"))
    return wk_error(WK_USAGE, "a model with external data cannot go to standard output");
  if (is_same_file(f->from, f->to))
    return wk_error_at(WK_USAGE, f->to, "holds the weights of the model that is read: write to "
                       "another folder");
  return NULL;
}

static wk_status place_all(writer *w, const char *from, const char *to) {
  w->targets.data[0].from = wk_xstrdup(from);
  w->targets.data[0].to = wk_xstrdup(to);
  for (size_t i = 1; i < w->targets.n; i++) WK_TRY(place(&w->targets.data[i], from, to));
  for (size_t i = 1; i < w->targets.n; i++)
    WK_TRY(make_folders(w->targets.data[i].to, folder_length(to)));
  return NULL;
}

static wk_status plan(writer *w, const char *from, const char *to) {
  const target model = {.file = w->m.file};
  if (!w->m.file.data || w->m.bytes)
    return wk_error(WK_UNSUPPORTED, "is no binary ONNX file, into which alone tensors are written "
                    "back");
  wk_vec_push(&w->targets, model);
  WK_TRY(wk_onnx_each_external(w->m.model, add_external, w));
  WK_TRY(put_all(w));
  for (size_t i = 0; i < w->targets.n; i++) WK_TRY(check_patches(&w->targets.data[i]));
  return place_all(w, from, to);
}

/* ---- the parts of writing -------------------------------------------------------------------- */

wk_status wk_onnx_write_back_open(const char *from, const char *to, const wk_rewrite *tensors,
                                  size_t n, wk_write_back **out) {
  writer *w = wk_xcalloc(1, sizeof *w);
  *out = NULL;
  *w = (writer){.tensors = tensors, .n = n};
  wk_status s = wk_onnx_model_open(from, &w->m);
  if (s) {
    free(w);
    return s;
  }
  w->found = wk_xcalloc(n, sizeof *w->found);
  s = wk_status_place(plan(w, from, to), from);
  free(w->found);
  w->found = NULL;
  w->tensors = NULL;
  if (s) wk_onnx_write_back_free(w);
  else *out = w;
  return s;
}

size_t wk_onnx_write_back_count(const wk_write_back *w) { return w->targets.n; }

wk_write_back_file wk_onnx_write_back_file(const wk_write_back *w, size_t i) {
  const target *f = &w->targets.data[i];
  return (wk_write_back_file){f->location, f->from, f->to};
}

wk_status wk_onnx_write_back_commit(const wk_write_back *w) {
  WK_VEC(wk_out *) outs = {0};
  wk_status s = NULL;
  for (size_t i = 0; !s && i < w->targets.n; i++) {
    wk_out *o = NULL;
    s = wk_out_open(w->targets.data[i].to, &o);
    if (s) break;
    wk_vec_push(&outs, o);
    write_patched(o, &w->targets.data[i]);
  }
  for (size_t i = 0; s && i < outs.n; i++) wk_out_abort(outs.data[i]);
  if (!s) s = wk_out_commit_all(outs.data, outs.n);
  wk_vec_free(&outs);
  return s;
}

void wk_onnx_write_back_free(wk_write_back *w) {
  if (!w) return;
  for (size_t i = 0; i < w->targets.n; i++) {
    target *f = &w->targets.data[i];
    wk_vec_free(&f->patches);
    free(f->from);
    free(f->to);
    if (i) wk_file_unmap(&f->file);
  }
  wk_vec_free(&w->targets);
  wk_onnx_model_close(&w->m);
  free(w);
}
