/* SPDX-License-Identifier: Apache-2.0
 * The machines that made.c makes texts for: every instruction set, and devices for OpenCL that
 * differ in what tiles and vectors are chosen by. */
#ifndef WICK_TESTS_CHECKSUMS_MADE_MACHINES_H
#define WICK_TESTS_CHECKSUMS_MADE_MACHINES_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/package/package.h"
#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "targets/opencl/description.h"
#include "tests/checksums/table.h"

static const struct {
  const char *name, *cpu; /* cpu: NULL, for OpenCL: */
  wick_opencl_type type;
  uint32_t units, max_group, float_width, half_width, subgroup, local_kib;
  int has_dot, has_f64;
} made_machines[] = {
    {"x86-64", "x86-64", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"avx2", "avx2", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"avx512", "avx512", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"avx512-vnni", "avx512-vnni", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"aarch64", "aarch64", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"large-gpu", NULL, WICK_OPENCL_GPU, 80, 1024, 1, 2, 32, 48, 1, 1},
    {"medium-gpu", NULL, WICK_OPENCL_GPU, 16, 256, 4, 8, 0, 32, 0, 0},
    {"small-gpu", NULL, WICK_OPENCL_GPU, 2, 64, 4, 0, 16, 8, 1, 0},
    {"wide-cpu", NULL, WICK_OPENCL_CPU, 64, 8192, 16, 0, 0, 1024, 0, 1},
    {"small-cpu", NULL, WICK_OPENCL_CPU, 2, 1024, 4, 4, 0, 32, 0, 0},
    {"plain-cpu", NULL, WICK_OPENCL_CPU, 8, 256, 8, 0, 0, 32, 0, 0},
    {"tiny-gpu", NULL, WICK_OPENCL_GPU, 1, 64, 1, 0, 0, 4, 0, 1}, /* too small for tiles */
};
/* Those that suites use; the last two are for few of them. */
enum { MADE_MACHINES = 10, MADE_ALL = WK_COUNTOF(made_machines) };

typedef struct {
  char folder[32], path[64]; /* path: for what is written */
  wk_targets targets[MADE_ALL];
} made_place;

static inline void made_must(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  exit(2);
}

static inline void made_open(made_place *p) {
  strcpy(p->folder, "/tmp/wick-made-XXXXXX");
  if (!mkdtemp(p->folder)) exit(2);
  snprintf(p->path, sizeof p->path, "%s/text", p->folder);
  setenv("WICK_CACHE", p->folder, 1); /* where tiles that were measured would be */
  for (size_t i = 0; i < MADE_ALL; i++) {
    char target[96];
    wick_opencl_info d = {
        .name = "a device", .vendor = "nobody", .platform = "none", .driver = "1",
        .version = "OpenCL 3.0", .type = made_machines[i].type, .units = made_machines[i].units,
        .clock_mhz = 1000, .max_group = made_machines[i].max_group, .base_align = 128,
        .float_width = made_machines[i].float_width, .half_width = made_machines[i].half_width,
        .subgroup = made_machines[i].subgroup, .memory = UINT64_C(8) << 30,
        .max_alloc = UINT64_C(2) << 30, .local_memory = made_machines[i].local_kib << 10,
        .has_f64 = made_machines[i].has_f64, .has_f16 = made_machines[i].half_width > 0,
        .has_dot = made_machines[i].has_dot};
    for (int k = 0; k < 3; k++) d.max_items[k] = k < 2 || d.max_group < 64 ? d.max_group : 64;
    snprintf(target, sizeof target, "opencl:%s/%s.json", p->folder, made_machines[i].name);
    if (made_machines[i].cpu) {
      made_must(wk_targets_open(&(wk_target_args){.cpu = made_machines[i].cpu}, &p->targets[i]));
      continue;
    }
    json_t *o = wk_opencl_describe_json(&d);
    if (json_dump_file(o, target + strlen("opencl:"), 0)) exit(2);
    json_decref(o);
    made_must(wk_targets_open(&(wk_target_args){.target = target, .cpu = "x86-64"},
                              &p->targets[i]));
  }
}

static inline int made_remove(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  return remove(path);
}

static inline void made_close(made_place *p) {
  for (size_t i = 0; i < MADE_ALL; i++) wk_targets_close(&p->targets[i]);
  nftw(p->folder, made_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* What the first target writes besides packages: LLVM IR, OpenCL C. */
static inline const wk_target_output *made_output(const wk_instance *t) {
  const wk_target_output *o = t->target->outputs;
  while (strcmp(o->name, "llvm-ir") != 0 && strcmp(o->name, "opencl-c") != 0) o++;
  return o;
}

/* What a package has of a device's parts: launches, arguments, buffers, weights. Of code for the
 * CPU that would be LLVM's work. */
static inline wk_status made_package(const wk_instance *t, const wk_target_part *parts, size_t n,
                                     wk_str *text) {
  const wk_emit_options o = {.model_name = "made", .command = "made"};
  wk_emit_result result = {.scratch_bytes = -1};
  void *data = NULL;
  size_t size = 0;
  if (strcmp(t->target->name, "opencl") != 0 || n == 0) return NULL;
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "made"});
  uint32_t *row = wk_xcalloc(n, sizeof *row);
  wk_status s = t->target->compile(t, parts, n, &o, pkg, row, &result);
  for (size_t i = 0; i < n && !s; i++) wk_package_add_whole(pkg, parts[i].name, row[i]);
  if (!s) s = wk_package_bytes(pkg, &data, &size);
  if (!s)
    wk_str_printf(text, "package: %zu, %08x\n", size, (unsigned)wk_hash64(data, size, 0));
  free(data);
  free(row);
  wk_package_free(pkg);
  return s;
}

/* A cell of the programs' texts and of what was written. The CPU has code for everything; what
 * OpenCL has none for is a cell, too. Takes over s and the text. */
static inline void made_written(made_table *t, const made_place *p, size_t machine, wk_status s,
                                wk_str *text) {
  wk_file f;
  if (!s) s = wk_file_map(p->path, &f);
  if (!s) {
    wk_str_addn(text, (const char *)f.data, f.size);
    wk_file_unmap(&f);
    remove(p->path);
  } else if (made_machines[machine].cpu) {
    made_must(s);
  }
  made_cell(t, made_machines[machine].name, "", s ? NULL : text->s, text->n);
  wk_status_free(s);
  wk_str_free(text);
}

/* All passes of the target; then buffers have places. */
static inline wk_status made_finish(const wk_instance *t, wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  wk_status s = NULL;
  for (const wk_target_pass *pass = t->target->passes; pass && pass->name && !s; pass++) {
    int64_t changes = 0;
    if (pass->is_portable) s = pass->run(t, p, scratch, &changes);
  }
  wk_arena_free(scratch);
  return s ? s : wk_pipeline_finish(p, t);
}

/* A cell of the program as the target has rewritten and placed it, and of what was written. Frees
 * the program. */
static inline void made_program(made_table *t, const made_place *place, size_t machine,
                                wk_program *p) {
  const wk_instance *target = place->targets[machine].list[0];
  const wk_target_part part = {.name = "0", .program = p};
  const wk_emit_options o = {.model_name = "made", .command = "made"};
  wk_emit_result result = {.scratch_bytes = -1};
  wk_str text = {0};
  wk_status s = made_finish(target, p);
  if (!s) wk_program_print(&text, p, WK_PRINT_SHORT);
  if (!s) s = made_output(target)->write(target, &part, 1, &o, place->path, &result);
  if (!s) s = made_package(target, &part, 1, &text);
  made_written(t, place, machine, s, &text);
  wk_program_free(p);
}

#endif
