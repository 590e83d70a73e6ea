/* SPDX-License-Identifier: Apache-2.0
 * internal: what the runtime's files share. Private to runtime. */
#ifndef WICK_INTERNAL_H
#define WICK_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "crc32c.h"
#include "device.h"
#include "pool.h"
#include "wick.h"

#define WICK_COUNTOF(a) (sizeof(a) / sizeof((a)[0]))

static inline size_t wick_align_up(size_t n, size_t align) {
  return (n + align - 1) / align * align;
}

/* ---- features.c ---- */

/* The machine that this runtime was built for, WICK_MACHINE_…; 0: another one. */
uint32_t wick_machine_host(void);
const char *wick_machine_name(uint32_t machine);
/* Bytes of memory that the machine has; UINT64_MAX: it does not say. */
uint64_t wick_machine_memory(void);
/* Checks a list of names with one blank between two, and asks the system for what needs asking
 * (AMX). The names that are missing or unknown go to `missing` (size bytes, cut when longer). */
bool wick_cpu_require(const char *features, char *missing, size_t size);

/* Of x86-64: what a processor and its system say. */
typedef struct {
  bool (*ask)(uint32_t leaf, uint32_t subleaf, unsigned r[4]); /* cpuid: eax, ebx, ecx, edx */
  uint32_t (*saved_state)(void); /* XCR0; asked where the processor has OSXSAVE */
  bool (*allow_amx)(void);
} wick_processor;
int wick_processor_has(const wick_processor *p, const char *feature); /* as wick_cpu_has */

/* ---- model ---- */

enum {
  WICK_MAX_BYTES_LOG2 = 47, /* of one buffer: what a process can address */
  WICK_MAX_DEPTH = 32       /* of bodies in a plan */
};

/* Bytes of edge memory. */
typedef struct {
  int64_t first, end;
  uint32_t tensor; /* of the entry: whose they are */
} wick_span;

/* An entry's plan, verified. */
typedef struct {
  const wick_pkg_row *rows;
  uint32_t row_count;
  const uint32_t *refs;         /* of all entries */
  const uint32_t *parts;        /* per row that runs: its place among the entry's parts, else 0 */
  const wick_tensor_info *tensors; /* inputs, outputs, edges */
  uint32_t tensor_count;
  size_t edge_align;
  bool is_whole;  /* one part on the entry's inputs and outputs, in order */
  bool has_bound; /* some output's dims are a bound */
  const wick_pkg_extent *extents; /* those of inputs come first */
  uint32_t extent_count;
  const wick_span *given; /* what the session writes before a run, apart and ascending */
  uint32_t given_count;
} wick_plan;

typedef struct {
  const wick_device *device; /* NULL in models that are only described */
  void *loaded;              /* NULL: not */
  wick_device_unit unit;
} wick_loaded_unit;

typedef struct wick_block wick_block;

struct wick_model {
  wick_model_info info;
  wick_block *blocks; /* what wick_model_alloc gave */
  wick_entry_info *entries;
  wick_plan *plans;
  wick_tensor_info *tensors;
  wick_step_info *steps;
  uint64_t *step_code;
  wick_part_info *parts;
  uint32_t part_count;
  uint32_t *part_in_unit; /* a part's number within its unit */
  wick_section_info *sections;
  wick_state_info *states;
  wick_unit_info *unit_infos;
  wick_loaded_unit *units;
  const wick_pkg_section *section_rows; /* in tables, like the next two */
  const wick_pkg_unit *unit_rows;
  const wick_pkg_part *part_rows;
  const uint8_t *state_image;
  size_t state_image_bytes;

  uint8_t *tables; /* own copy of the file from 0 to the end of STRINGS */
  size_t tables_size;
  const uint8_t *file;
  void *file_map;   /* NULL: the file is the caller's memory, or file_copy */
  void *file_copy;  /* NULL: the caller's memory is aligned */
  size_t file_size;
  uint64_t memory_limit; /* never 0 */
  bool describe_only;
};

/* Zeroed memory for `count` things; free() it. NULL: there is none, never because count is 0. */
static inline void *wick_list(size_t count, size_t size) { return calloc(count ? count : 1, size); }

/* Zeroed memory that dies with the model; NULL: there is none. */
void *wick_model_alloc(wick_model *model, uint64_t count, size_t size);
void wick_model_release(wick_model *model); /* all of it */

/* Writes a formatted line to `detail`, if there is one, and returns `status`. */
wick_status wick_fail(wick_error_detail *detail, wick_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Options as this version knows them, `known` bytes: what `from` says that it has, then zeros; all
 * zeros for NULL. False: it says less than `least`, the size of the first version, and `to` is
 * zeros; or there is something behind what is known. options.c */
bool wick_options_read(void *to, size_t known, size_t least, const void *from);

/* WICK_NO_MEMORY: so many bytes are needed, and so many there may be. */
wick_status wick_fail_memory(wick_error_detail *detail, uint64_t needed, uint64_t limit);

/* The same of what a device said. Where there are several units it is told which one: its target,
 * and the part if there is one (NULL: none in particular); load.c. */
wick_status wick_fail_unit(const wick_model *model, const wick_unit_info *unit,
                           const wick_part_info *part, wick_status status,
                           const wick_error_detail *why, wick_error_detail *detail);
/* The unit's first part, which stands for it; NULL: it has none. */
const wick_part_info *wick_unit_first_part(const wick_model *model, const wick_unit_info *unit);

/* ---- verify.c: header, section table and sections of model->file; fills tables ---- */

/* Asks the verifier, if there is one. Options are never NULL from here on. */
wick_status wick_model_verify(wick_model *model, const wick_load_options *options);
/* The header of a file of `size` bytes, as its first bytes have it; `start` has as many of these as
 * there are of both. */
wick_status wick_header_read(const void *start, size_t size, wick_pkg_header *out,
                             wick_error_detail *detail);

/* ---- decode.c, decode_tensor.c, decode_entry.c, decode_labels.c, decode_extents.c ---- */

/* Checks every row of model->tables and turns it into what wick.h returns. */
wick_status wick_model_decode(wick_model *model, const wick_load_options *options);

typedef struct {
  wick_model *model;
  wick_error_detail *detail;
  const char *strings;
  uint64_t strings_size;
  const wick_pkg_unit *unit_rows;
  const wick_pkg_part *part_rows;
  const wick_pkg_entry *entry_rows;
  const wick_pkg_tensor *tensor_rows;
  const wick_pkg_row *rows;
  const uint32_t *refs;
  const wick_pkg_step *step_rows;
  const wick_pkg_state *state_rows;
  const wick_pkg_labels *label_rows;
  const wick_pkg_extent *extent_rows;
  const wick_pkg_symbol *symbol_rows;
  uint64_t unit_count, part_count, entry_count, tensor_count, row_count, ref_count, step_count,
      state_count, label_count, extent_count, symbol_count;
  /* Entries take theirs one after the other. */
  uint64_t next_row, next_ref, next_label, next_extent;
} wick_decoder;

/* The text at `offset`, or NULL when there is none. */
const char *wick_decoder_text(const wick_decoder *d, uint32_t offset);
/* Those of the entry, once its tensors and plan are known. */
wick_status wick_decode_labels(wick_decoder *d, uint64_t entry);
/* Those of the entry, once its tensors are known; sets what its plan has of them. */
wick_status wick_decode_extents(wick_decoder *d, uint64_t entry);
/* The session writes bytes of the edge before a run. */
bool wick_plan_is_given(const wick_plan *plan, const wick_tensor_info *edge);
wick_status wick_decoder_corrupt(const wick_decoder *d, const char *table, uint64_t row);
static inline bool wick_is_alignment(uint64_t align, uint64_t least) {
  return align >= least && align <= WICK_PAGE && (align & (align - 1)) == 0;
}
/* [first, first + count) is within [0, total). */
static inline bool wick_is_range(uint64_t first, uint64_t count, uint64_t total) {
  return first <= total && count <= total - first;
}

bool wick_decode_tensor(const wick_decoder *d, const wick_pkg_tensor *row, wick_tensor_info *out);
/* Offset of its first byte, which is that of element 0 unless strides are negative. */
int64_t wick_tensor_first_byte(const wick_tensor_info *tensor);
/* It lies within the `size` bytes of its place. */
bool wick_tensor_is_within(const wick_tensor_info *tensor, uint64_t size);
/* All strides are >= 0. */
bool wick_tensor_is_forward(const wick_tensor_info *tensor);

wick_status wick_decode_entries(wick_decoder *d);

/* ---- tensor.c: of tensors that are verified ---- */

/* Row-major without gaps; types of less than a byte always are. */
bool wick_tensor_is_dense(const wick_tensor_info *tensor);
/* Bytes that it takes so; below 2^WICK_MAX_BYTES_LOG2. */
size_t wick_tensor_dense_bytes(const wick_tensor_info *tensor);
/* Its elements so; element 0 is at `first`. */
void wick_tensor_gather(const wick_tensor_info *tensor, const uint8_t *first, uint8_t *dense);

/* ---- extents.c ---- */

/* Of the axis, or of the first axis behind that has one; NULL: none of the tensor. */
const wick_extent_info *wick_extent_from(const wick_entry_info *entry, uint32_t tensor,
                                         uint32_t axis);
/* Of just that axis; NULL: its size is the entry's. */
const wick_extent_info *wick_extent_of(const wick_entry_info *entry, uint32_t tensor,
                                       uint32_t axis);

/* ---- file.c ---- */

/* Sets model->file: maps the file, or reads it where it must not change. */
wick_status wick_file_open(wick_model *model, const char *path, const wick_load_options *options);
/* The same of the caller's memory. */
wick_status wick_file_of_memory(wick_model *model, const void *data, size_t size,
                                const wick_load_options *options);
void wick_file_close(wick_model *model);

/* ---- state.c ---- */

/* Before and after a run; false: somebody else is using it. */
bool wick_state_lock(wick_state *state, bool write);
void wick_state_unlock(wick_state *state, bool write);
uint8_t *wick_state_memory(wick_state *state);
const wick_model *wick_state_model(const wick_state *state);

/* ---- perfmap.c, gdb.c: names of the generated functions for tools; code: where CODE runs ---- */
wick_status wick_perf_map_write(const wick_device_unit *unit, const uint8_t *code,
                                wick_error_detail *error);
/* *entry is for wick_gdb_unregister, which takes NULL, too. */
wick_status wick_gdb_register(const wick_device_unit *unit, const uint8_t *code, size_t code_size,
                              void **entry);
void wick_gdb_unregister(void *entry);

#endif
