/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "compiler/package/package.h"
#include "targets/cpu/llvm/blob.h"
#include "targets/cpu/llvm/module.h"
#include "targets/cpu/llvm/object.h"
#include "wick_version.h"

static wk_package_tensor *tensors(const wk_program_io *b, size_t n, wk_arena *a) {
  wk_package_tensor *t = wk_arena_alloc(a, (n + 1) * sizeof *t);
  for (size_t i = 0; i < n; i++) {
    const wk_type *type = &b[i].type;
    t[i] = (wk_package_tensor){.name = b[i].name, .dtype = (uint32_t)type->dtype,
                               .rank = type->rank, .dims = b[i].type.dims,
                               .bytes = (uint64_t)wk_type_bytes(type),
                               .align = (uint32_t)wk_dtype_size(type->dtype)};
  }
  return t;
}

/* Sums over the instruction and what it contains; loops count as often as they may run. */
static void count_work(const wk_inst *top, uint64_t *macs, uint64_t *bytes) {
  typedef struct {
    const wk_inst *inst;
    uint64_t times;
  } work;
  WK_VEC(work) todo = {0};
  wk_vec_push(&todo, ((work){top, 1}));
  *macs = *bytes = 0;
  while (todo.n > 0) {
    work w = todo.data[--todo.n];
    const wk_inst *i = w.inst;
    *macs += (uint64_t)wk_inst_macs(i) * w.times;
    *bytes += (uint64_t)wk_codegen_bytes(i) * w.times;
    if (i->op == WK_OP_LOOP) w.times *= (uint64_t)((const wk_attr_loop *)i->attrs)->trip;
    for (uint32_t b = 0; b < i->n_bodies; b++)
      for (size_t k = 0; k < i->bodies[b].insts.n; k++)
        wk_vec_push(&todo, ((work){i->bodies[b].insts.data[k], w.times}));
  }
  wk_vec_free(&todo);
}

static const char *step_text(const wk_program *p, const wk_inst *i, wk_arena *a) {
  wk_str t = {0};
  wk_inst_print(&t, p, i);
  const char *out = wk_arena_strdup(a, t.s);
  wk_str_free(&t);
  return out;
}

static wk_status add_steps(const wk_cpu_module *m, size_t at, const wk_blob *blob, uint64_t base,
                           wk_arena *a, wk_package_entry *out) {
  const wk_codegen_entry *e = &m->entries[at];
  wk_package_step *steps = wk_arena_alloc(a, (e->n_steps + 1) * sizeof *steps);
  for (size_t i = 0; i < e->n_steps; i++) {
    uint64_t offset;
    if (!wk_blob_find(blob, e->steps[i].name, &offset))
      return wk_error(WK_INTERNAL, "step '%s' has no code", e->steps[i].name);
    const wk_inst *inst = e->steps[i].inst;
    steps[i] = (wk_package_step){.node = inst->name, .op = wk_op_get(inst->op)->name,
                                 .text = step_text(m->programs[at], inst, a),
                                 .code = base + offset};
    count_work(inst, &steps[i].macs, &steps[i].bytes);
  }
  out->steps = steps;
  out->n_steps = e->n_steps;
  return NULL;
}

static wk_status add_entry(wk_package *pkg, const wk_cpu_module *m, size_t at,
                           const wk_blob *blob, uint64_t base) {
  const wk_program *p = m->programs[at];
  wk_arena *a = wk_arena_new();
  uint64_t code;
  wk_package_entry entry = {
      .name = p->name,
      .inputs = tensors(p->inputs.data, p->inputs.n, a), .n_inputs = p->inputs.n,
      .outputs = tensors(p->outputs.data, p->outputs.n, a), .n_outputs = p->outputs.n,
      .arena_bytes = (uint64_t)p->region_size[WK_REGION_ACT],
      .arena_bound = (uint64_t)p->act_bound,
      .scratch_bytes = (uint64_t)m->gen.scratch_bytes,
      .arena_align = wk_cpu_arena_align(p)};
  wk_status s = add_steps(m, at, blob, base, a, &entry);
  if (!s && !wk_blob_find(blob, m->entries[at].entry, &code))
    s = wk_error(WK_INTERNAL, "entry '%s' has no code", m->entries[at].entry);
  if (!s) {
    entry.code = base + code;
    wk_package_add_entry(pkg, &entry);
  }
  wk_arena_free(a);
  return s;
}

static wk_status fill(wk_package *pkg, const wk_cpu_module *m, const wk_blob *blob) {
  for (size_t k = 0; k < m->consts.n; k++) {
    const wk_cpu_const *c = &m->consts.data[k];
    if (wk_package_add_const(pkg, c->data, c->size) != c->offset)
      return wk_error(WK_INTERNAL, "the package places constants differently");
  }
  uint64_t base = wk_package_add_code(pkg, blob->code, blob->size);
  for (size_t k = 0; k < blob->symbols.n; k++) {
    const wk_blob_symbol *s = &blob->symbols.data[k];
    wk_package_add_symbol(pkg, s->name, base + s->offset, s->size);
  }
  for (size_t i = 0; i < m->n; i++) WK_TRY(add_entry(pkg, m, i, blob, base));
  return NULL;
}

static wk_status write_package(const wk_package *pkg, const char *path) {
  wk_out *out;
  WK_TRY(wk_out_open(path, &out));
  wk_status s = wk_package_write(pkg, out);
  if (!s) return wk_out_commit(out);
  wk_out_abort(out);
  return s;
}

wk_status wk_cpu_package_emit(wk_program *const *programs, size_t n, const wk_emit_options *o,
                              const wk_simd *simd, const char *path) {
  bool is_arm = strncmp(simd->triple, "aarch64", 7) == 0;
  uint32_t machine = is_arm ? WICK_MACHINE_AARCH64 : WICK_MACHINE_X86_64;
  const char *model = o->model_name && *o->model_name ? o->model_name : "model";
  wk_arena *a = wk_arena_new();
  wk_cpu_module m;
  wk_blob blob = {0};
  LLVMMemoryBufferRef object = NULL;
  wk_package *pkg = NULL;
  wk_status s = wk_cpu_module_build(programs, n, simd, wk_symbol_text(a, model, 64), true, &m);
  if (!s) s = wk_object_emit(simd, m.mod, LLVMObjectFile, &object);
  if (!s)
    s = wk_blob_link(LLVMGetBufferStart(object), LLVMGetBufferSize(object), machine, &blob);
  if (!s) {
    pkg = wk_package_new(&(wk_package_meta){.model = model,
                                            .compiler = WICK_VERSION,
                                            .flags = o->command,
                                            .target = "cpu",
                                            .features = simd->needs,
                                            .machine = machine,
                                            .input_hash = o->input_hash});
    s = fill(pkg, &m, &blob);
  }
  if (!s) s = write_package(pkg, path);
  wk_cpu_emit_result(&m, o);
  wk_package_free(pkg);
  if (blob.code) wk_blob_free(&blob);
  if (object) LLVMDisposeMemoryBuffer(object);
  wk_cpu_module_free(&m);
  wk_arena_free(a);
  return s;
}
