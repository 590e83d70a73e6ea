/* SPDX-License-Identifier: Apache-2.0
 * protobuf-c unpacks nested messages recursively and copies every byte string. Both are harmful for
 * files of unknown origin and unknown size, so the bytes are rewritten first into a smaller message
 * of the same type, by a walk with an explicit stack and a depth limit:
 *   - fields that the importer never reads (documentation, value_info, unknown ones) are left out
 *   - raw_data of tensors is replaced by a private field that holds its address and length
 *   - numbers of a repeated field that stand one by one are packed: protobuf-c keeps a record of
 *     every field that it meets
 * The walk runs twice: the first time it measures every message (lengths come before contents on
 * the wire), the second time it writes. What protobuf-c then sees is small and known to be
 * shallow. */
#include "compiler/onnx/wire/wire.h"

#include <stdlib.h>
#include <string.h>

#define RAW_DATA 9          /* TensorProto.raw_data */
#define RAW_PLACE 1000      /* the private field instead of it */
#define RAW_PLACE_SIZE 16
#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_BYTES 2
#define WIRE_FIXED32 5

typedef struct {
  const ProtobufCMessageDescriptor *d;
  const uint8_t *end;
  uint64_t seen;   /* singular message fields met, by number */
  size_t index;    /* of this message in the order of their beginnings */
  uint64_t size;   /* rewritten length so far */
  uint32_t number; /* field of the parent that holds it */
} frame;

typedef struct {
  const uint8_t *begin, *p;
  WK_VEC(uint64_t) sizes; /* rewritten length of every message */
  size_t next;
  uint64_t memory, limit; /* bytes of the unpacked structs */
  frame stack[WK_WIRE_MAX_DEPTH];
  int depth;
  uint8_t *out;    /* NULL: measuring */
} walker;

static wk_status malformed(const walker *w) {
  return wk_error(WK_INPUT, "is not valid protobuf data (broken at byte %zu)",
                  (size_t)(w->p - w->begin));
}

bool wk_wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64 && *p < end; shift += 7) {
    uint8_t b = *(*p)++;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      *out = v;
      return true;
    }
  }
  return false;
}

static int varint_size(uint64_t v) {
  int n = 1;
  while (v >>= 7) n++;
  return n;
}

static void put_varint(walker *w, uint64_t v) {
  while (v > 0x7f) {
    *w->out++ = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  *w->out++ = (uint8_t)v;
}

static bool is_unread(const ProtobufCMessageDescriptor *d, uint32_t number) {
  static const struct { const ProtobufCMessageDescriptor *d; uint32_t number; } unread[] = {
    { &onnx__model_proto__descriptor, 6 },      /* doc_string */
    { &onnx__model_proto__descriptor, 14 },     /* metadata_props */
    { &onnx__model_proto__descriptor, 20 },     /* training_info */
    { &onnx__graph_proto__descriptor, 10 },     /* doc_string */
    { &onnx__graph_proto__descriptor, 13 },     /* value_info */
    { &onnx__graph_proto__descriptor, 14 },     /* quantization_annotation */
    { &onnx__node_proto__descriptor, 6 },       /* doc_string */
    { &onnx__attribute_proto__descriptor, 13 }, /* doc_string */
    { &onnx__value_info_proto__descriptor, 3 }, /* doc_string */
    { &onnx__tensor_proto__descriptor, 12 },    /* doc_string */
  };
  for (size_t i = 0; i < WK_COUNTOF(unread); i++) {
    if (unread[i].d == d && unread[i].number == number) return true;
  }
  return false;
}

static wk_status push(walker *w, const ProtobufCMessageDescriptor *d, uint32_t number,
                      const uint8_t *end) {
  if (w->depth == WK_WIRE_MAX_DEPTH) {
    return wk_error(WK_RESOURCE, "is nested more than %d messages deep", WK_WIRE_MAX_DEPTH);
  }
  w->memory += d->sizeof_message + 16;
  if (w->memory > w->limit) return wk_error(WK_RESOURCE, "holds too many messages");
  if (!w->out) wk_vec_push(&w->sizes, 0);
  w->stack[w->depth++] = (frame){.d = d, .end = end, .index = w->next++, .number = number};
  return NULL;
}

static void pop(walker *w) {
  frame *f = &w->stack[--w->depth];
  if (w->out) return;
  w->sizes.data[f->index] = f->size;
  if (w->depth == 0) return;
  frame *up = &w->stack[w->depth - 1];
  up->size += (uint64_t)(varint_size((uint64_t)f->number << 3) + varint_size(f->size)) + f->size;
}

static wk_status enter(walker *w, const ProtobufCFieldDescriptor *field, uint64_t length) {
  frame *f = &w->stack[w->depth - 1];
  if (field->label != PROTOBUF_C_LABEL_REPEATED && field->id < 64) {
    if (f->seen >> field->id & 1) return malformed(w);
    f->seen |= (uint64_t)1 << field->id;
  }
  if (w->out) {
    put_varint(w, (uint64_t)field->id << 3 | WIRE_BYTES);
    put_varint(w, w->sizes.data[w->next]);
  }
  return push(w, field->descriptor, field->id, w->p + length);
}

/* A field that is handed over as it is. */
static void copy_field(walker *w, const uint8_t *from) {
  size_t n = (size_t)(w->p - from);
  w->stack[w->depth - 1].size += n;
  if (!w->out) return;
  memcpy(w->out, from, n);
  w->out += n;
}

static void place_raw(walker *w, uint64_t length) {
  uint64_t tag = (uint64_t)RAW_PLACE << 3 | WIRE_BYTES;
  w->stack[w->depth - 1].size += (uint64_t)varint_size(tag) + 1 + RAW_PLACE_SIZE;
  if (!w->out) return;
  put_varint(w, tag);
  put_varint(w, RAW_PLACE_SIZE);
  memcpy(w->out, &w->p, 8);
  memcpy(w->out + 8, &length, 8);
  w->out += RAW_PLACE_SIZE;
}

static wk_status walk_bytes(walker *w, uint32_t number, const uint8_t *from) {
  const frame *f = &w->stack[w->depth - 1];
  uint64_t length;
  if (!wk_wire_varint(&w->p, f->end, &length) || length > (uint64_t)(f->end - w->p))
    return malformed(w);
  const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(f->d, number);
  /* protobuf-c may know an older FunctionProto: its attribute defaults are kept as unknown
   * field. */
  bool is_kept = field || f->d == &onnx__function_proto__descriptor;
  if (field && field->type == PROTOBUF_C_TYPE_MESSAGE && !is_unread(f->d, number)) {
    return enter(w, field, length);
  }
  if (f->d == &onnx__tensor_proto__descriptor && number == RAW_DATA) {
    place_raw(w, length);
    w->p += length;
    return NULL;
  }
  w->p += length;
  if (is_kept && !is_unread(f->d, number)) copy_field(w, from);
  return NULL;
}

/* The wire type that a field has; repeated numbers may also be packed. */
static uint32_t wire_type(const ProtobufCFieldDescriptor *f) {
  switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_FIXED32;
    default: return WIRE_VARINT;
  }
}

/* Passes one number of a wire type. */
static bool skip_number(const uint8_t **p, const uint8_t *end, int wire) {
  uint64_t value;
  size_t size = wire == WIRE_FIXED64 ? 8 : 4;
  if (wire == WIRE_VARINT) return wk_wire_varint(p, end, &value);
  if (size > (size_t)(end - *p)) return false;
  *p += size;
  return true;
}

/* The number at w->p, and those of the same field right behind it. */
static wk_status walk_run(walker *w, uint64_t tag) {
  frame *f = &w->stack[w->depth - 1];
  const uint8_t *first = w->p, *p;
  int wire = (int)(tag & 7);
  uint64_t bytes = 0, next = tag, packed = (tag & ~(uint64_t)7) | WIRE_BYTES;
  while (next == tag) {
    const uint8_t *number = w->p;
    if (!skip_number(&w->p, f->end, wire)) return malformed(w);
    bytes += (uint64_t)(w->p - number);
    p = w->p;
    if (p == f->end || !wk_wire_varint(&p, f->end, &next)) break;
    if (next == tag) w->p = p;
  }
  f->size += (uint64_t)(varint_size(packed) + varint_size(bytes)) + bytes;
  if (!w->out) return NULL;
  put_varint(w, packed);
  put_varint(w, bytes);
  for (p = first; p < w->p;) {
    const uint8_t *number = p;
    if (!skip_number(&p, w->p, wire)) return malformed(w);
    memcpy(w->out, number, (size_t)(p - number));
    w->out += p - number;
    if (p < w->p && !wk_wire_varint(&p, w->p, &next)) return malformed(w);
  }
  return NULL;
}

static wk_status walk_field(walker *w) {
  const frame *f = &w->stack[w->depth - 1];
  const uint8_t *from = w->p;
  uint64_t tag;
  if (!wk_wire_varint(&w->p, f->end, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return malformed(w);
  uint32_t number = (uint32_t)(tag >> 3);
  int wire = (int)(tag & 7);
  if (wire == WIRE_BYTES) return walk_bytes(w, number, from);
  if (wire != WIRE_VARINT && wire != WIRE_FIXED64 && wire != WIRE_FIXED32) return malformed(w);
  const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(f->d, number);
  if (field && field->label == PROTOBUF_C_LABEL_REPEATED && (uint32_t)wire == wire_type(field))
    return walk_run(w, tag);
  if (!skip_number(&w->p, f->end, wire)) return malformed(w);
  if (field) copy_field(w, from);
  return NULL;
}

static wk_status walk(walker *w, const ProtobufCMessageDescriptor *d, size_t n) {
  w->p = w->begin;
  w->next = 0;
  w->depth = 0;
  w->memory = 0;
  WK_TRY(push(w, d, 0, w->begin + n));
  while (w->depth > 0) {
    if (w->p == w->stack[w->depth - 1].end) pop(w);
    else WK_TRY(walk_field(w));
  }
  return NULL;
}

/* ---- a first look -------------------------------------------------------------------------- */

static bool is_plausible_field(const ProtobufCMessageDescriptor *d, uint64_t tag, uint64_t *seen) {
  enum { LAST_FIELD = 999 }; /* numbers that a later version may have */
  uint64_t number = tag >> 3;
  if (number == 0 || number > LAST_FIELD) return false;
  const ProtobufCFieldDescriptor *f =
      protobuf_c_message_descriptor_get_field(d, (unsigned)number);
  if (!f) return true;
  bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
  if ((tag & 7) != wire_type(f) && !(repeated && (tag & 7) == WIRE_BYTES)) return false;
  if (repeated || number > 63) return true;
  bool again = *seen >> number & 1;
  *seen |= (uint64_t)1 << number;
  return !again;
}

bool wk_wire_is_plausible(const ProtobufCMessageDescriptor *d, const uint8_t *data, size_t n) {
  const uint8_t *p = data, *end = data + n;
  uint64_t tag, length, seen = 0;
  while (p < end) {
    if (!wk_wire_varint(&p, end, &tag) || !is_plausible_field(d, tag, &seen)) return false;
    length = (tag & 7) == WIRE_FIXED64 ? 8 : (tag & 7) == WIRE_FIXED32 ? 4 : 0;
    if ((tag & 7) == WIRE_VARINT && !wk_wire_varint(&p, end, &length)) return false;
    if ((tag & 7) == WIRE_VARINT) continue;
    if ((tag & 7) == WIRE_BYTES && !wk_wire_varint(&p, end, &length)) return false;
    if (length == 0 && (tag & 7) != WIRE_BYTES) return false; /* no such wire type */
    if (length > (uint64_t)(end - p)) return false;
    p += length;
  }
  return true;
}

/* ---- unpacking ----------------------------------------------------------------------------- */

typedef struct { wk_arena *arena; size_t left; } budget;

static void *budget_alloc(void *ctx, size_t n) {
  budget *b = ctx;
  if (n > b->left) return NULL;
  b->left -= n;
  return wk_arena_alloc(b->arena, n);
}

static void budget_free(void *ctx, void *p) {
  (void)ctx;
  (void)p; /* dies with the arena */
}

static wk_status unpack(walker *w, const ProtobufCMessageDescriptor *d, size_t n, wk_arena *arena,
                        ProtobufCMessage **out) {
  WK_TRY(walk(w, d, n));
  size_t size = (size_t)w->sizes.data[0];
  void *small; /* protobuf-c copies what it keeps */
  WK_TRY(wk_try_malloc(size, &small));
  w->out = small;
  wk_status s = walk(w, d, n);
  if (s) {
    free(small);
    return s;
  }
  budget b = {.arena = arena, .left = ((size_t)128 << 20) + 8 * size};
  ProtobufCAllocator allocator = {.alloc = budget_alloc, .free = budget_free, .allocator_data = &b};
  *out = protobuf_c_message_unpack(d, &allocator, size, small);
  free(small);
  return *out ? NULL : wk_error(WK_INPUT, "is not valid protobuf data");
}

wk_status wk_wire_unpack(const ProtobufCMessageDescriptor *d, const uint8_t *data, size_t n,
                         wk_arena *arena, ProtobufCMessage **out) {
  *out = NULL;
  if (n == 0) return wk_error(WK_INPUT, "is empty");
  walker *w = wk_xcalloc(1, sizeof *w);
  w->begin = data;
  w->limit = ((uint64_t)64 << 20) + 16 * (uint64_t)n;
  wk_status s = unpack(w, d, n, arena, out);
  wk_vec_free(&w->sizes);
  free(w);
  return s;
}

bool wk_wire_raw(const Onnx__TensorProto *t, const uint8_t **data, size_t *n) {
  for (size_t i = t->base.n_unknown_fields; i-- > 0;) {
    const ProtobufCMessageUnknownField *u = &t->base.unknown_fields[i];
    if (u->tag != RAW_PLACE || u->len != 1 + RAW_PLACE_SIZE) continue;
    uint64_t length;
    memcpy(data, u->data + 1, 8); /* the field's data begins with its length byte */
    memcpy(&length, u->data + 9, 8);
    *n = (size_t)length;
    return true;
  }
  if (!t->has_raw_data) return false;
  *data = t->raw_data.data;
  *n = t->raw_data.len;
  return true;
}
