/* SPDX-License-Identifier: Apache-2.0
 * package: collects what targets made and writes the package file of runtime/abi.h (rank 3).
 *
 *   wk_package *p = wk_package_new(&meta);
 *   what a target made:   u = wk_package_add_unit(p, &unit)
 *     offsets of weights: wk_package_add_const(p, u, data, size)    before code generation
 *     generated code:     base = wk_package_add_code(p, u, blob, size)
 *     names of functions: wk_package_add_symbol(p, u, name, base + offset, size)
 *     or its own things:  wk_package_add_section(p, u, name, align, data, size)
 *     one per piece:      wk_package_add_part(p, &part)
 *   memory between runs:  wk_package_add_state(p, &state)           before code generation
 *   one per binding:      wk_package_add_entry(p, &entry), or wk_package_add_whole(p, name, part)
 *   wk_package_write(p, out) or wk_package_bytes(p, &data, &size);  wk_package_free(p);
 *
 * The same calls in the same order give the same bytes. Texts are copied; NULL is the empty text.
 * Everything else is copied as well, unless it says `borrowed`: that stays until the package is
 * freed. What does not fit together is found by write. */
#ifndef WICK_PACKAGE_H
#define WICK_PACKAGE_H

#include "compiler/support/support.h"
#include "runtime/abi.h"

typedef struct wk_package wk_package;

typedef struct {
  const char *model;    /* name */
  const char *compiler; /* version */
  const char *flags;    /* the compiler's options */
  uint64_t input_hash;
} wk_package_meta;

typedef struct {
  const char *target;    /* "cpu" */
  const char *spec;      /* what of it: "avx512" */
  const char *features;  /* "cpu": LLVM's names, one blank between two */
  uint32_t machine;      /* WICK_MACHINE_…, or 0 */
  uint64_t machine_hash; /* 0: none */
} wk_package_unit;

/* What the numbers of an output stand for: see wick_pkg_labels in abi.h. */
typedef struct {
  uint32_t kind, flags; /* wick_labels_kind, WICK_LABELS_… */
  const char *const *texts;
  size_t n;
} wk_package_labels;

/* Bytes are worked out from the rest. */
typedef struct {
  const char *name;
  uint32_t dtype; /* wick_dtype */
  int rank;
  const int64_t *dims;
  uint32_t align;         /* that the code needs; 0: the element's size */
  const int64_t *strides; /* elements; NULL: row-major without gaps */
  uint32_t flags;         /* WICK_TENSOR_… */
  uint32_t place, index;  /* wick_place, 0: of the caller; see abi.h */
  int64_t offset;         /* bytes */
  const wk_package_labels *labels; /* outputs of wk_package_add_entry: or NULL */
} wk_package_tensor;

typedef struct {
  const char *node, *op, *text;
  uint64_t code; /* of its wick_step_fn, the target's number, or WICK_NO_CODE */
  uint64_t macs, bytes;
  const wk_package_tensor *tensors; /* that it leaves */
  size_t n_tensors;
} wk_package_step;

typedef struct {
  const char *name;
  uint32_t unit;
  const wk_package_tensor *inputs, *outputs;
  const wk_package_step *steps;
  size_t n_inputs, n_outputs, n_steps;
  uint64_t code; /* of its wick_entry_fn, or the target's number */
  uint64_t arena_bytes, arena_bound, scratch_bytes; /* of host memory */
  uint32_t arena_align; /* power of two, WICK_ALIGN .. WICK_PAGE; 0: WICK_ALIGN */
  uint32_t state_use;   /* WICK_ENTRY_…_STATE: of every entry that runs it */
} wk_package_part;

/* A row of a plan; what its kind does not have is 0. See wick_pkg_row in abi.h. */
typedef struct {
  uint32_t kind; /* wick_row_kind */
  uint32_t part;
  const uint32_t *tensors; /* numbers among the entry's: inputs, outputs, edges; or WICK_NONE */
  const uint32_t *waits;   /* numbers of the entry's rows */
  size_t n_tensors, n_waits;
  uint32_t body_count, else_count; /* rows */
  int64_t trip;
  uint64_t bytes;
  int64_t source_offset, source_step, destination_offset, destination_step;
} wk_package_row;

/* A size that a run decides: see wick_pkg_extent in abi.h. */
typedef struct {
  uint32_t tensor, axis, size, stage; /* numbers among the entry's tensors; stage: or WICK_NONE */
  const char *name;
  int64_t least;
} wk_package_extent;

typedef struct {
  const char *name; /* the binding: "batch=1" */
  const wk_package_tensor *inputs, *outputs, *edges;
  const wk_package_row *rows;
  const wk_package_extent *extents; /* (tensor, axis) ascends */
  size_t n_inputs, n_outputs, n_edges, n_rows, n_extents;
  uint64_t edge_bytes;
  uint32_t edge_align; /* as arena_align */
  uint32_t flags;      /* WICK_ENTRY_…, beside what its parts say of the state */
} wk_package_entry;

typedef struct {
  const char *name;
  uint32_t dtype;
  int rank;
  const int64_t *dims;
  bool is_public;
  const void *initial; /* borrowed; NULL: zero */
} wk_package_state;

wk_package *wk_package_new(const wk_package_meta *meta);
void wk_package_free(wk_package *p); /* NULL ok */

/* These return the number of what was added. */
uint32_t wk_package_add_unit(wk_package *p, const wk_package_unit *unit);
uint32_t wk_package_add_part(wk_package *p, const wk_package_part *part);
void wk_package_add_entry(wk_package *p, const wk_package_entry *entry);
/* An entry that is one part. */
void wk_package_add_whole(wk_package *p, const char *name, uint32_t part);

/* Reserves `size` bytes of the unit's CONST at a multiple of WICK_ALIGN. Equal contents get the
 * same offset. `data` is borrowed. */
uint64_t wk_package_add_const(wk_package *p, uint32_t unit, const void *data, uint64_t size);
/* Position-independent code, relocations resolved; returns where it starts in the unit's CODE, a
 * multiple of WICK_PAGE (so code may rely on any alignment up to a page). */
uint64_t wk_package_add_code(wk_package *p, uint32_t unit, const void *blob, uint64_t size);
void wk_package_add_symbol(wk_package *p, uint32_t unit, const char *name, uint64_t offset,
                           uint64_t size);
/* A section of the target's own; align: power of two, WICK_ALIGN .. WICK_PAGE. `data` is
 * borrowed. */
void wk_package_add_section(wk_package *p, uint32_t unit, const char *name, uint32_t align,
                            const void *data, uint64_t size);
/* A copy of these bytes that lives as long as the package, for what is borrowed. */
const void *wk_package_keep(wk_package *p, const void *data, uint64_t size);
/* The arena is the package's from now on: it lives as long, for what is borrowed. */
void wk_package_keep_arena(wk_package *p, wk_arena *a);
/* Returns where the state starts in STATE memory, a multiple of WICK_ALIGN. */
uint64_t wk_package_add_state(wk_package *p, const wk_package_state *state);

/* WK_INTERNAL when the pieces don't fit together. Errors of `out` come from wk_out_commit. */
wk_status wk_package_write(const wk_package *p, wk_out *out) WK_MUST_CHECK;
/* The file's bytes in memory, 64-byte aligned; free() them. */
wk_status wk_package_bytes(const wk_package *p, void **data, size_t *size) WK_MUST_CHECK;

#endif
