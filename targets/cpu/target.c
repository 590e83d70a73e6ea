/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/lower/lower.h"
#include "targets/cpu/codegen.h"
#include "targets/cpu/llvm/module.h"
#include "targets/cpu/predicates.h"
#include "targets/cpu/prepare.h"
#include "targets/cpu/skip_fills.h"

typedef struct {
  wk_instance base;
  const wk_simd *simd;
  wk_cpu_predicates predicates;
} cpu;

static const wk_simd *simd_of(const wk_instance *t) { return ((const cpu *)t)->simd; }

static wk_status open_cpu(const char *spec, wk_instance **out) {
  const wk_simd *simd;
  WK_TRY(wk_simd_find(spec ? spec : "native", &simd));
  cpu *t = wk_xcalloc(1, sizeof *t);
  *t = (cpu){{&wk_target_cpu, simd->name, wk_simd_runs_here(simd)}, simd,
             WK_CPU_PREDICATES_ON};
  *out = &t->base;
  return NULL;
}

static void close_cpu(wk_instance *t) { free(t); }

/* Movement becomes strides and copies before code is made of it. */
static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  (void)t;
  (void)a;
  *reason = NULL;
  switch (n->op) {
    case WK_OP_MAP:
    case WK_OP_REDUCE:
    case WK_OP_SEGMENT_REDUCE:
    case WK_OP_IDENTITY:
    case WK_OP_IF:
    case WK_OP_CUSTOM:
    case WK_OP_LOOP: return true;
    default: break;
  }
  if (wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT) return true;
  const wk_type *x = &wk_val(g, n->n_in ? n->in[0] : n->out[0])->type;
  *reason = wk_codegen_rare_refusal(n->op, x->dtype, x->rank);
  return !*reason;
}

static wk_wish wish(const wk_instance *t, const wk_graph *part) {
  (void)t;
  (void)part;
  return (wk_wish){.channels_last = true, .align = 64};
}

/* ---- passes ---------------------------------------------------------------------------------- */

static wk_status fuse_nests(const wk_instance *t, wk_program *p, wk_arena *scratch,
                            int64_t *changes) {
  (void)t;
  return wk_inst_fuse_nests(p, scratch, changes);
}

static wk_status skip_fills(const wk_instance *t, wk_program *p, wk_arena *scratch,
                            int64_t *changes) {
  (void)t;
  return wk_cpu_skip_fills(p, scratch, changes);
}

static wk_status prepare(const wk_instance *t, wk_program *p, wk_arena *scratch,
                         int64_t *changes) {
  (void)scratch;
  (void)changes;
  return wk_prepare_program(p, simd_of(t));
}

static wk_status predicates(const wk_instance *t, wk_program *p, wk_arena *scratch,
                            int64_t *changes) {
  return wk_cpu_set_predicates(p, ((const cpu *)t)->predicates, scratch, changes);
}

static const wk_target_pass passes[] = {
    {"predicates", "what is not needed, as --predicates says: left out, computed, or filled with "
     "what nothing may use", true, predicates},
    {"fuse-nests", "run chains of reduce and map row by row, rows in per-thread scratch", true,
     fuse_nests},
    {"skip-fills", "products read no zeros that a mask put where they do not sum", false,
     skip_fills},
    {"prepare", "weights packed, scratch buffers, what kernels cannot read copied", false, prepare},
    {0}};

/* ---- settings -------------------------------------------------------------------------------- */

static wk_status set_predicates(wk_instance *t, const char *value) {
  static const char *const names[] = {"on", "off", "poison"};
  for (int i = 0; i < (int)WK_COUNTOF(names); i++)
    if (!strcmp(value, names[i])) {
      ((cpu *)t)->predicates = (wk_cpu_predicates)i;
      return NULL;
    }
  return wk_error(WK_USAGE, "'%s' is none of on, off and poison", value);
}

static const wk_target_setting settings[] = {
    {.name = "predicates",
     .arg = "MODE",
     .values = "on, off or poison (default on)",
     .help = "setting of a target: whether the CPU leaves out what no size or predicate of a run "
             "needs",
     .doc = "rows that no size or predicate of a run needs: left out, computed, or filled with NaN "
            "before, to see that nothing uses them",
     .set = set_predicates},
    {0}};

/* ---- outputs --------------------------------------------------------------------------------- */

static wk_status write_asm(const wk_instance *t, const wk_target_part *parts, size_t n,
                           const wk_emit_options *o, const char *path, wk_emit_result *r) {
  return wk_cpu_code_emit(WK_CPU_ASM, parts, n, o, simd_of(t), path, r);
}

static wk_status write_object(const wk_instance *t, const wk_target_part *parts, size_t n,
                              const wk_emit_options *o, const char *path, wk_emit_result *r) {
  return wk_cpu_code_emit(WK_CPU_OBJECT, parts, n, o, simd_of(t), path, r);
}

static wk_status write_llvm_ir(const wk_instance *t, const wk_target_part *parts, size_t n,
                               const wk_emit_options *o, const char *path, wk_emit_result *r) {
  return wk_cpu_code_emit(WK_CPU_LLVM_IR, parts, n, o, simd_of(t), path, r);
}

static wk_status write_bundle(const wk_instance *t, const wk_target_part *parts, size_t n,
                              const wk_emit_options *o, const char *path, wk_emit_result *r) {
  return wk_cpu_bundle_emit(parts, n, o, simd_of(t), path, r);
}

static const wk_target_output outputs[] = {
    {"bundle", "", "object, header and weights to link into a program, no runtime needed",
     false, wk_cpu_bundle_files, write_bundle},
    {"object", ".o", "the bundle's object file", false, NULL, write_object},
    {"asm", ".s", "the object file as assembly", false, NULL, write_asm},
    {"llvm-ir", ".ll", "what LLVM is given, without the object's checks", false, NULL,
     write_llvm_ir},
    {0}};

static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *r) {
  return wk_cpu_compile(parts, n, o, simd_of(t), pkg, row, r);
}

/* Rates of one core, as docs/benchmarks.md has them in round numbers. */
const wk_target wk_target_cpu = {
    .name = "cpu",
    .doc = "native code for x86-64 and AArch64 through LLVM",
    .spec_doc = "a processor or instruction set: native (default), x86-64-v3, avx512-vnni, …",
    .passes = passes,
    .outputs = outputs,
    .settings = settings,
    .rows_from = 1 << 18, /* a list takes a microsecond */
    .cost = {.per_mac = 15, .per_byte = 100, .per_edge_byte = 0, .per_part = 100000},
    .open = open_cpu,
    .close = close_cpu,
    .supports = supports,
    .wish = wish,
    .compile = compile};
