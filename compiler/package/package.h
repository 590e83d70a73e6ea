/* SPDX-License-Identifier: Apache-2.0
 * package: collects what a target made and writes the package file of runtime/abi.h (rank 3).
 *
 *   wk_package *p = wk_package_new(&meta);
 *   offsets of weights:  wk_package_add_const(p, data, size, &offset)   before code generation
 *   generated code:      base = wk_package_add_code(p, blob, size)
 *   names of functions:  wk_package_add_symbol(p, name, base + offset, size)
 *   one per binding:     wk_package_add_entry(p, &entry)
 *   wk_package_write(p, out) or wk_package_bytes(p, &data, &size);  wk_package_free(p);
 *
 * The same calls in the same order give the same bytes. */
#ifndef WICK_PACKAGE_H
#define WICK_PACKAGE_H

#include "compiler/support/support.h"
#include "runtime/abi.h"

typedef struct wk_package wk_package;

/* All texts are copied; NULL is the empty text. */
typedef struct {
  const char *model;    /* name */
  const char *compiler; /* version */
  const char *flags;    /* the compiler's options */
  const char *target;
  const char *features; /* LLVM's names, one blank between two */
  uint32_t machine;     /* WICK_MACHINE_… */
  uint64_t input_hash;
} wk_package_meta;

typedef struct {
  const char *name;
  uint32_t dtype; /* wick_dtype */
  int rank;
  const int64_t *dims;
  uint64_t bytes;
  uint32_t align; /* that generated code needs; at least the element's size */
} wk_package_tensor;

typedef struct {
  const char *node, *op, *text;
  uint64_t code; /* of its wick_step_fn, or WICK_NO_CODE */
  uint64_t macs, bytes;
} wk_package_step;

typedef struct {
  const char *name; /* the binding: "batch=1" */
  const wk_package_tensor *inputs, *outputs;
  const wk_package_step *steps;
  size_t n_inputs, n_outputs, n_steps;
  uint64_t code; /* of its wick_entry_fn */
  uint64_t arena_bytes, arena_bound, scratch_bytes;
  uint32_t arena_align; /* power of two, WICK_ALIGN .. WICK_PAGE */
} wk_package_entry;

wk_package *wk_package_new(const wk_package_meta *meta);
void wk_package_free(wk_package *p); /* NULL ok */

/* Reserves `size` bytes of CONST at a multiple of WICK_ALIGN. Equal contents get the same offset.
 * `data` is borrowed until the package is freed. */
uint64_t wk_package_add_const(wk_package *p, const void *data, uint64_t size);

/* Copies position-independent code, relocations resolved; returns where it starts in CODE, a
 * multiple of WICK_PAGE (so code may rely on any alignment up to a page). */
uint64_t wk_package_add_code(wk_package *p, const void *blob, uint64_t size);
void wk_package_add_symbol(wk_package *p, const char *name, uint64_t offset, uint64_t size);
/* Everything is copied. Code offsets are in CODE and checked by write. */
void wk_package_add_entry(wk_package *p, const wk_package_entry *entry);

/* WK_INTERNAL when the parts don't fit together. Errors of `out` come from wk_out_commit. */
wk_status wk_package_write(const wk_package *p, wk_out *out) WK_MUST_CHECK;
/* The file's bytes in memory, 64-byte aligned; free() them. */
wk_status wk_package_bytes(const wk_package *p, void **data, size_t *size) WK_MUST_CHECK;

#endif
