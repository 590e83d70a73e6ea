/* SPDX-License-Identifier: Apache-2.0
 * blob: a relocatable ELF object as one piece of position-independent code, relocations resolved.
 * Private to this folder. */
#ifndef WICK_CPU_BLOB_H
#define WICK_CPU_BLOB_H

#include "compiler/support/support.h"

typedef struct {
  const char *name; /* lives as long as the object's bytes */
  uint64_t offset, size;
} wk_blob_symbol;

typedef struct {
  uint8_t *code; /* malloc'ed */
  size_t size;
  WK_VEC(wk_blob_symbol) symbols; /* functions */
  wk_map *by_name;
} wk_blob;

/* `machine` is the ELF number that the object must have. The blob must be placed at a multiple of
 * 4096. WK_INTERNAL when the object needs what a blob cannot hold: an undefined symbol, writable
 * data, an absolute address. */
wk_status wk_blob_link(const void *object, size_t size, uint32_t machine,
                       wk_blob *out) WK_MUST_CHECK;
bool wk_blob_find(const wk_blob *b, const char *name, uint64_t *offset);
void wk_blob_free(wk_blob *b);

#endif
