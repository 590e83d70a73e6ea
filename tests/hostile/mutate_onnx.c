/* SPDX-License-Identifier: Apache-2.0 */
/* Changes single fields of an unpacked model, found through protobuf-c's descriptors, and packs it
 * again. Messages may end up in several places (packing only reads them); all of them live in one
 * arena. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "caffe2.pb-c.h"
#include "onnx.pb-c.h"
#include "tests/hostile/fields.h"
#include "tests/hostile/mutate.h"

typedef struct {
  wk_rng *rng;
  wk_arena *arena;
  WK_VEC(field) fields;         /* that hold something */
  WK_VEC(ProtobufCMessage *) others; /* messages of the second seed */
} editor;

static size_t below(wk_rng *rng, size_t n) { return n ? (size_t)(wk_rng_next(rng) % n) : 0; }

static void *arena_alloc(void *arena, size_t n) { return wk_arena_alloc(arena, n ? n : 1); }
static void arena_keep(void *arena, void *p) {
  (void)arena;
  (void)p;
}

/* The list of messages grows while it is walked. */
static void collect(editor *e, ProtobufCMessage *root, bool is_other) {
  WK_VEC(ProtobufCMessage *) work = {0};
  wk_vec_push(&work, root);
  for (size_t i = 0; i < work.n && i < 20000; i++) {
    ProtobufCMessage *m = work.data[i];
    if (is_other) wk_vec_push(&e->others, m);
    for (unsigned k = 0; k < m->descriptor->n_fields; k++) {
      field x = {m, &m->descriptor->fields[k]};
      if (!is_set(&x)) continue;
      if (!is_other) wk_vec_push(&e->fields, x);
      if (x.f->type != PROTOBUF_C_TYPE_MESSAGE) continue;
      size_t n = is_repeated(&x) ? *count_of(&x) : 1;
      ProtobufCMessage **subs = is_repeated(&x) ? *(ProtobufCMessage ***)member_of(&x)
                                                : (ProtobufCMessage **)member_of(&x);
      for (size_t j = 0; j < n; j++) wk_vec_push(&work, subs[j]);
    }
  }
  wk_vec_free(&work);
}

/* ---- contents -------------------------------------------------------------------------------- */

static int64_t some_int(editor *e) {
  static const int64_t values[] = {0, 1, -1, 2, 3, 4, 5, 7, 8, 9, -2, -3, 16, 17, 100, 255, 1000,
                                   65536, 1 << 20, INT32_MAX, INT32_MIN, INT64_C(1) << 32,
                                   INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX, INT64_MIN,
                                   INT64_MAX - 1, -65536};
  if (below(e->rng, 2)) return (int64_t)below(e->rng, 10) - 1;
  return values[below(e->rng, WK_COUNTOF(values))];
}

static float some_float(editor *e) {
  static const float values[] = {0, -0.0f, 1, -1, 0.5f, 1e-30f, 1e30f, -1e30f, 3e38f, 1e10f};
  size_t i = below(e->rng, WK_COUNTOF(values) + 3);
  return i < WK_COUNTOF(values) ? values[i] : i % 3 == 0 ? INFINITY : i % 3 == 1 ? -INFINITY : NAN;
}

/* Another string of the model, an operator's name, or something odd. */
static char *some_text(editor *e) {
  static const char *const odd[] = {"", "x", "If", "Loop", "Scan", "Conv", "Reshape", "Expand",
                                    "Tile", "Gather", "Resize", "Range", "ConstantOfShape", "Pad",
                                    "Slice", "Concat", "MatMul", "LSTM", "Einsum", "TopK", "%s%n",
                                    "NOTSET", "SAME_UPPER", "ai.onnx", "order", "NHWC", "kernel",
                                    "legacy_pad", "values", "GivenTensorFill", "../../etc/passwd",
                                    "\xff",
                                    "two\nlines", "\x1b[31m"};
  for (int tries = 0; tries < 16 && below(e->rng, 3); tries++) {
    const field *x = &e->fields.data[below(e->rng, e->fields.n)];
    if (x->f->type != PROTOBUF_C_TYPE_STRING || !is_set(x)) continue;
    if (!is_repeated(x)) return *(char **)member_of(x);
    return (*(char ***)member_of(x))[below(e->rng, *count_of(x))];
  }
  return wk_arena_strdup(e->arena, odd[below(e->rng, WK_COUNTOF(odd))]);
}

static void edit_bytes(editor *e, ProtobufCBinaryData *b) {
  static const uint8_t sizes[] = {1, 2, 4, 8};
  uint8_t *copy = wk_arena_alloc(e->arena, b->len + 64);
  if (b->len) memcpy(copy, b->data, b->len);
  b->data = copy;
  size_t size = sizes[below(e->rng, 4)];
  if (below(e->rng, 4) == 0) {
    b->len = below(e->rng, b->len + 64);
  } else if (b->len >= size) {
    int64_t i = some_int(e);
    float f = some_float(e);
    bool as_float = size == 4 && below(e->rng, 2);
    memcpy(copy + below(e->rng, b->len / size) * size, as_float ? (void *)&f : (void *)&i, size);
  }
}

static ProtobufCMessage *some_message(editor *e, const ProtobufCMessageDescriptor *d) {
  for (int tries = 0; tries < 64; tries++) {
    ProtobufCMessage *m = e->others.data[below(e->rng, e->others.n)];
    if (m->descriptor == d) return m;
  }
  ProtobufCMessage *m = wk_arena_alloc(e->arena, d->sizeof_message);
  protobuf_c_message_init(d, m);
  return m;
}

static void set_element(editor *e, const field *x, void *p) {
  switch (x->f->type) {
  case PROTOBUF_C_TYPE_STRING: *(char **)p = some_text(e); break;
  case PROTOBUF_C_TYPE_MESSAGE: *(ProtobufCMessage **)p = some_message(e, x->f->descriptor); break;
  case PROTOBUF_C_TYPE_BYTES: edit_bytes(e, p); break;
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64: *(int64_t *)p = some_int(e); break;
  case PROTOBUF_C_TYPE_DOUBLE: *(double *)p = (double)some_float(e); break;
  case PROTOBUF_C_TYPE_FLOAT: *(float *)p = some_float(e); break;
  default: *(int32_t *)p = (int32_t)some_int(e); break;
  }
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void remove_from(editor *e, char *data, size_t size, size_t *n) {
  size_t at = below(e->rng, *n);
  memmove(data + at * size, data + (at + 1) * size, (*n - at - 1) * size);
  --*n;
}

/* Adds a copy of one element, in front of another. */
static void add_to(editor *e, const field *x, char *data, size_t size, size_t *n) {
  size_t at = below(e->rng, *n), from = below(e->rng, *n);
  char *copy = wk_arena_alloc(e->arena, (*n + 1) * size);
  memcpy(copy, data, at * size);
  memcpy(copy + at * size, data + from * size, size);
  memcpy(copy + (at + 1) * size, data + at * size, (*n - at) * size);
  if (below(e->rng, 2)) set_element(e, x, copy + at * size);
  *(char **)member_of(x) = copy;
  ++*n;
}

static void swap_two(editor *e, char *data, size_t size, size_t n) {
  char kept[16];
  char *a = data + below(e->rng, n) * size, *b = data + below(e->rng, n) * size;
  memcpy(kept, a, size);
  memmove(a, b, size);
  memcpy(b, kept, size);
}

static const char *edit_repeated(editor *e, const field *x) {
  size_t size = element_size(x->f->type), *n = count_of(x);
  char *data = *(char **)member_of(x);
  switch (below(e->rng, 6)) {
  case 0: remove_from(e, data, size, n); return "remove";
  case 1: add_to(e, x, data, size, n); return "add";
  case 2: swap_two(e, data, size, *n); return "swap";
  default: set_element(e, x, data + below(e->rng, *n) * size); return "set";
  }
}

static const char *edit_single(editor *e, const field *x) {
  if (below(e->rng, 6)) {
    set_element(e, x, member_of(x));
    return "set";
  }
  if (is_pointer(x) && !is_of_union(x)) *(void **)member_of(x) = NULL;
  else *presence_of(x) = 0;
  return "drop";
}

/* Where the message of the field stands in for another one of its type, cycles could arise: only
 * messages of the second seed are put anywhere, and those contain none of the first. */
static void edit(editor *e, wk_str *note) {
  const field *x = &e->fields.data[below(e->rng, e->fields.n)];
  if (!is_set(x)) return; /* an earlier edit emptied it */
  const char *what = is_repeated(x) ? edit_repeated(e, x) : edit_single(e, x);
  wk_str_printf(note, " %s:%s.%s", what, x->m->descriptor->short_name, x->f->name);
}

static void mutate(const ProtobufCMessageDescriptor *d, wk_rng *rng, wk_str *b,
                   const wk_str *other, wk_str *note) {
  wk_arena *arena = wk_arena_new();
  editor e = {.rng = rng, .arena = arena};
  ProtobufCAllocator a = {arena_alloc, arena_keep, arena};
  ProtobufCMessage *m = protobuf_c_message_unpack(d, &a, b->n, (const uint8_t *)b->s);
  ProtobufCMessage *o = protobuf_c_message_unpack(d, &a, other->n, (const uint8_t *)other->s);
  if (m) collect(&e, m, false);
  if (o) collect(&e, o, true);
  if (e.fields.n && e.others.n) {
    for (size_t times = 1 + below(rng, 4) / 2; times > 0; times--) edit(&e, note);
    size_t size = protobuf_c_message_get_packed_size(m);
    if (size <= WK_MUTANT_MAX) {
      uint8_t *packed = wk_arena_alloc(arena, size + 1);
      wk_str_free(b);
      wk_str_addn(b, (char *)packed, protobuf_c_message_pack(m, packed));
    }
  } else {
    mutate_bytes(rng, b, other, note);
  }
  wk_vec_free(&e.fields);
  wk_vec_free(&e.others);
  wk_arena_free(arena);
}

void mutate_onnx(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note) {
  mutate(&onnx__model_proto__descriptor, rng, b, other, note);
}

void mutate_net(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note) {
  mutate(&caffe2__net_def__descriptor, rng, b, other, note);
}
