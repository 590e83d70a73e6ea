/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "compiler/package/program.h"
#include "targets/cpu/cpu.h"
#include "targets/cpu/llvm/blob.h"
#include "targets/cpu/llvm/module.h"
#include "targets/cpu/llvm/object.h"

static wk_status add_steps(const wk_cpu_module *m, size_t at, const wk_blob *blob, uint64_t base,
                           wk_arena *a, wk_package_part *out) {
  const wk_codegen_entry *e = &m->entries[at];
  wk_package_step *steps = wk_package_steps_of(m->parts[at].program, a, &out->n_steps);
  out->steps = steps;
  for (size_t i = 0; i < e->n_steps; i++) {
    uint64_t offset;
    if (!wk_blob_find(blob, e->steps[i], &offset))
      return wk_error(WK_INTERNAL, "step '%s' has no code", e->steps[i]);
    steps[i].code = base + offset;
  }
  return NULL;
}

static wk_status add_part(wk_package *pkg, uint32_t unit, const wk_cpu_module *m, size_t at,
                          const wk_blob *blob, uint64_t base, uint32_t *number) {
  const wk_program *p = m->parts[at].program;
  wk_arena *a = wk_arena_new();
  uint64_t code;
  wk_package_part part = wk_package_part_of(p, m->parts[at].name, unit, a);
  part.scratch_bytes = (uint64_t)m->gen.scratch_bytes;
  wk_status s = add_steps(m, at, blob, base, a, &part);
  if (!s && !wk_blob_find(blob, m->entries[at].entry, &code))
    s = wk_error(WK_INTERNAL, "entry '%s' has no code", m->entries[at].entry);
  if (!s) {
    part.code = base + code;
    *number = wk_package_add_part(pkg, &part);
  }
  wk_arena_free(a);
  return s;
}

static void add_routines(wk_package *pkg, uint32_t unit, const wk_cpu_module *m) {
  wk_str names = {0};
  for (size_t k = 0; k < m->gen.routines.n; k++) {
    const char *name = m->gen.routines.data[k];
    wk_str_addn(&names, name, strlen(name) + 1);
  }
  if (names.n)
    wk_package_add_section(pkg, unit, WICK_SECTION_ROUTINES, WICK_ALIGN,
                           wk_package_keep(pkg, names.s, names.n), names.n);
  wk_str_free(&names);
}

static wk_status fill(wk_package *pkg, const wk_cpu_module *m, const wk_blob *blob,
                      uint32_t machine, uint32_t *row) {
  uint32_t unit = wk_package_add_unit(
      pkg, &(wk_package_unit){.target = wk_target_cpu.name, .spec = m->simd->name,
                              .features = m->simd->needs, .machine = machine});
  for (size_t k = 0; k < m->consts.n; k++) {
    const wk_cpu_const *c = &m->consts.data[k];
    if (wk_package_add_const(pkg, unit, c->data, c->size) != c->offset)
      return wk_error(WK_INTERNAL, "the package places constants differently");
  }
  uint64_t base = wk_package_add_code(pkg, unit, blob->code, blob->size);
  for (size_t k = 0; k < blob->symbols.n; k++) {
    const wk_blob_symbol *s = &blob->symbols.data[k];
    wk_package_add_symbol(pkg, unit, s->name, base + s->offset, s->size);
  }
  add_routines(pkg, unit, m);
  for (size_t i = 0; i < m->n; i++) WK_TRY(add_part(pkg, unit, m, i, blob, base, &row[i]));
  return NULL;
}

/* What code of packages cannot do is the fault of the bitcode that plugins have brought. */
static wk_status blame_bitcode(wk_status s, const wk_cpu_module *m) {
  if (!s || !m->gen.linked.n) return s;
  const wk_custom_op *op = m->gen.linked.data[0];
  wk_status why = wk_error(WK_INPUT, "%s.%s%s: its bitcode does what code in a package cannot: %s",
                           op->domain, op->name,
                           m->gen.linked.n > 1 ? ", or another operator" : "", s->message);
  wk_status_free(s);
  return why;
}

wk_status wk_cpu_compile(const wk_target_part *parts, size_t n, const wk_emit_options *o,
                         const wk_simd *simd, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  bool is_arm = strncmp(simd->triple, "aarch64", 7) == 0;
  uint32_t machine = is_arm ? WICK_MACHINE_AARCH64 : WICK_MACHINE_X86_64;
  const char *model = o->model_name && *o->model_name ? o->model_name : "model";
  wk_arena *a = wk_arena_new();
  wk_cpu_module m;
  wk_blob blob = {0};
  LLVMMemoryBufferRef object = NULL;
  wk_status s = wk_cpu_module_build(parts, n, simd, wk_symbol_text(a, model, 64), true, &m);
  if (!s) s = wk_object_emit(simd, m.mod, LLVMObjectFile, &object);
  if (!s)
    s = blame_bitcode(wk_blob_link(LLVMGetBufferStart(object), LLVMGetBufferSize(object), machine,
                                   &blob), &m);
  if (!s) s = fill(pkg, &m, &blob, machine, row);
  result->scratch_bytes = m.gen.scratch_bytes;
  if (blob.code) wk_blob_free(&blob);
  if (object) LLVMDisposeMemoryBuffer(object);
  wk_cpu_module_free(&m);
  wk_arena_free(a);
  return s;
}
