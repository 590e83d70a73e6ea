/* SPDX-License-Identifier: Apache-2.0
 * Fields of unpacked protobuf messages, through protobuf-c's descriptors. */
#ifndef WICK_TEST_FIELDS_H
#define WICK_TEST_FIELDS_H

#include <protobuf-c/protobuf-c.h>

#include "compiler/support/support.h"

typedef struct {
  ProtobufCMessage *m;
  const ProtobufCFieldDescriptor *f;
} field;

static inline size_t *count_of(const field *x) {
  return (size_t *)(void *)((char *)x->m + x->f->quantifier_offset);
}

static inline void *member_of(const field *x) { return (char *)x->m + x->f->offset; }

static inline bool is_repeated(const field *x) { return x->f->label == PROTOBUF_C_LABEL_REPEATED; }

static inline bool is_pointer(const field *x) {
  return x->f->type == PROTOBUF_C_TYPE_STRING || x->f->type == PROTOBUF_C_TYPE_MESSAGE;
}

/* Has-flag, or for members of a union the number of the one that is there. */
static inline uint32_t *presence_of(const field *x) {
  return (uint32_t *)(void *)((char *)x->m + x->f->quantifier_offset);
}

static inline bool is_of_union(const field *x) { return x->f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF; }

static inline bool is_set(const field *x) {
  if (is_repeated(x)) return *count_of(x) > 0;
  if (is_of_union(x)) return *presence_of(x) == x->f->id;
  if (is_pointer(x)) return *(void **)member_of(x) != NULL;
  return *presence_of(x);
}

static inline size_t element_size(ProtobufCType t) {
  switch (t) {
  case PROTOBUF_C_TYPE_STRING: return sizeof(char *);
  case PROTOBUF_C_TYPE_MESSAGE: return sizeof(ProtobufCMessage *);
  case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_DOUBLE: return 8;
  default: return 4;
  }
}

/* A message as protobuf text, fields in the order of their numbers; strings without zero bytes are
 * expected, byte strings may hold any. */
void message_text(wk_str *out, ProtobufCMessage *m);

#endif
