/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/llvm/module.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/abi.h"
#include "targets/cpu/custom_link.h"
#include "targets/cpu/llvm/object.h"
#include "targets/cpu/rare/rare_link.h"

/* ---- constants ------------------------------------------------------------------------------ */

typedef struct {
  wk_cpu_module *m;
  wk_map *by_contents;
  wk_arena *keys;
} const_index;

static uint64_t add_const(const_index *x, const void *data, uint64_t size) {
  wk_cpu_module *m = x->m;
  const char *key = wk_arena_printf(x->keys, "%016llx %llx",
                                    (unsigned long long)wk_hash64(data, size, 0),
                                    (unsigned long long)size);
  uint32_t index;
  bool known = wk_map_get(x->by_contents, key, &index);
  if (known && memcmp(m->consts.data[index].data, data, size) == 0)
    return m->consts.data[index].offset;
  wk_cpu_const c = {data, wk_align_up(m->const_bytes, WICK_ALIGN), size};
  if (!known) wk_map_put(x->by_contents, key, (uint32_t)m->consts.n);
  wk_vec_push(&m->consts, c);
  m->const_bytes = c.offset + size;
  return c.offset;
}

static uint64_t *place_consts(const_index *x, const wk_program *p) {
  uint64_t *at = wk_arena_alloc(x->m->gen.arena, p->buffers.n * sizeof *at);
  for (size_t b = 0; b < p->buffers.n; b++) {
    const wk_buffer *buffer = &p->buffers.data[b];
    if (buffer->region == WK_REGION_CONST && buffer->size > 0)
      at[b] = add_const(x, buffer->data, (uint64_t)buffer->size);
  }
  return at;
}

/* ---- code ----------------------------------------------------------------------------------- */

static wk_status check_placed(const wk_program *p) {
  for (size_t b = 0; b < p->buffers.n; b++) {
    const wk_buffer *x = &p->buffers.data[b];
    bool is_given = x->region != WK_REGION_ACT && x->region != WK_REGION_SCRATCH &&
                    x->region != WK_REGION_STATE;
    if (!is_given && x->offset < 0 && x->size > 0)
      return wk_error_at(WK_INTERNAL, x->name, "buffer is not placed");
    if (x->align > WICK_PAGE) return wk_error_at(WK_INTERNAL, x->name, "alignment beyond a page");
  }
  return NULL;
}

static wk_status emit_programs(wk_cpu_module *m) {
  const_index x = {.m = m, .by_contents = wk_map_new(), .keys = wk_arena_new()};
  wk_status s = NULL;
  for (size_t i = 0; i < m->n && !s; i++) {
    const char *prefix =
        m->n == 1 ? m->name : wk_arena_printf(m->gen.arena, "%s.%zu", m->name, i + 1);
    s = check_placed(m->parts[i].program);
    if (!s)
      s = wk_codegen_program(&m->gen, m->parts[i].program, place_consts(&x, m->parts[i].program),
                             prefix, &m->entries[i]);
  }
  wk_map_free(x.by_contents);
  wk_arena_free(x.keys);
  return s;
}

/* Jump tables are lists of addresses or distances in a section of their own: a blob has neither. */
static void forbid_jump_tables(LLVMContextRef ctx, LLVMModuleRef mod) {
  static const char key[] = "no-jump-tables";
  LLVMAttributeRef a = LLVMCreateStringAttribute(ctx, key, sizeof key - 1, "true", 4);
  for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f))
      LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

wk_status wk_cpu_module_build(const wk_target_part *parts, size_t n, const wk_simd *simd,
                              const char *name, bool complete, wk_cpu_module *m) {
  memset(m, 0, sizeof *m);
  m->simd = simd;
  m->parts = parts;
  m->n = n;
  m->ctx = wk_object_context(&m->error);
  m->mod = LLVMModuleCreateWithNameInContext(name, m->ctx);
  wk_codegen_begin(&m->gen, m->ctx, m->mod, simd);
  m->gen.has_names = !complete;
  m->name = wk_arena_strdup(m->gen.arena, name);
  m->entries = wk_arena_alloc(m->gen.arena, n * sizeof *m->entries);
  LLVMTargetMachineRef machine;
  WK_TRY(wk_object_target(simd, m->mod, &machine)); /* triple and layout, for what is linked */
  LLVMDisposeTargetMachine(machine);
  WK_TRY(emit_programs(m));
  for (size_t i = 0; i < m->gen.linked.n; i++)
    WK_TRY(wk_custom_link(&m->gen.e, m->gen.linked.data[i], complete));
  if (m->gen.rare) WK_TRY(wk_rare_link(m->ctx, m->mod, simd, m->gen.rare));
  if (complete && wk_rare_needs_memory(m->mod))
    WK_TRY(wk_rare_link(m->ctx, m->mod, simd, UINT32_C(1) << WK_RARE_memory));
  forbid_jump_tables(m->ctx, m->mod);
  return wk_object_error(m->ctx);
}

void wk_cpu_module_free(wk_cpu_module *m) {
  wk_codegen_end(&m->gen);
  if (m->mod) LLVMDisposeModule(m->mod);
  if (m->ctx) LLVMContextDispose(m->ctx);
  wk_status_free(m->error);
  wk_vec_free(&m->consts);
  memset(m, 0, sizeof *m);
}
