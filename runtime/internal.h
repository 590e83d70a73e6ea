/* SPDX-License-Identifier: Apache-2.0
 * internal: what the runtime's files share. Private to runtime. */
#ifndef WICK_INTERNAL_H
#define WICK_INTERNAL_H

#include <stdbool.h>

#include "crc32c.h"
#include "wick.h"

#define WICK_COUNTOF(a) (sizeof(a) / sizeof((a)[0]))

/* ---- features.c ---- */

/* The machine that this runtime was built for, WICK_MACHINE_…; 0: another one. */
uint32_t wick_machine_host(void);
const char *wick_machine_name(uint32_t machine);
/* Processors that this process may use, 1 .. WICK_MAX_THREADS. */
uint32_t wick_processors(void);
/* Checks a list of names with one blank between two, and asks the system for what needs asking
 * (AMX). The names that are missing or unknown go to `missing` (size bytes, cut when longer). */
bool wick_cpu_require(const char *features, char *missing, size_t size);

/* ---- model ---- */

typedef struct {
  uint64_t code; /* offsets in CODE */
  uint32_t first_step;
  size_t arena_align;
} wick_entry_code;

struct wick_model {
  wick_model_info info;
  wick_entry_info *entries;
  wick_entry_code *entry_code;
  wick_tensor_info *tensors;
  wick_step_info *steps;
  uint64_t *step_code;
  const wick_pkg_symbol *symbols; /* in tables */
  uint32_t symbol_count;
  const char *strings; /* in tables */

  const uint8_t *code;   /* executable */
  const uint8_t *consts; /* 64-byte aligned */

  uint8_t *tables;   /* own copy of the file from 0 to the end of STRINGS */
  const uint8_t *file;
  void *file_map;    /* NULL: the file is the caller's memory */
  size_t file_size;
  void *code_map;    /* NULL: code lies in file_map */
  size_t code_map_size;
  void *const_copy;  /* NULL: weights lie in the file */
  void *gdb;         /* registration, or NULL */
  bool describe_only;
};

/* Writes a formatted line to options->detail, if there is one, and returns `status`. */
wick_status wick_fail(const wick_load_options *options, wick_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- verify.c: header and sections of model->file; fills info.sections and tables ---- */
wick_status wick_model_verify(wick_model *model, const wick_load_options *options);

/* ---- decode.c: checks every row of model->tables and turns it into what wick.h returns ---- */
wick_status wick_model_decode(wick_model *model, const wick_load_options *options);

/* ---- perfmap.c, gdb.c: names of the generated functions for tools ---- */
wick_status wick_perf_map_write(const wick_model *model, const wick_load_options *options);
wick_status wick_gdb_register(wick_model *model);
void wick_gdb_unregister(wick_model *model);

#endif
