/* SPDX-License-Identifier: Apache-2.0
 *
 * Models without a runtime. The object file is what `object` and `asm` show, and `llvm-ir` without
 * what is asked before the code runs. */
#include "targets/cpu/bundle.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/abi.h"
#include "targets/cpu/llvm/object.h"

/* ---- entry points --------------------------------------------------------------------------- */

/* Modules that share a state are called something; shapes ("batch=1") are numbers. */
static bool are_words(const wk_cpu_module *m) {
  for (size_t k = 0; k < m->n; k++) {
    const char *s = m->parts[k].name;
    if (!isalpha((unsigned char)*s)) return false;
    while (isalnum((unsigned char)*s) || *s == '_') s++;
    if (*s) return false;
  }
  return true;
}

const char *wk_bundle_suffix(const wk_cpu_module *m, size_t k, wk_arena *a) {
  if (m->n == 1) return "";
  return are_words(m) ? wk_arena_printf(a, "_%s", m->parts[k].name)
                      : wk_arena_printf(a, "_%zu", k + 1);
}

const char *wk_bundle_function(const wk_cpu_module *m, size_t k, const char *what, wk_arena *a) {
  return wk_arena_printf(a, "%s_%s%s", m->name, what, wk_bundle_suffix(m, k, a));
}

static void copy_pointers(wk_llvm *e, wk_ssa from, wk_ssa to, size_t at, size_t n) {
  for (size_t k = 0; k < n; k++) {
    wk_ssa p = wk_llvm_load(e, e->ptr, wk_llvm_off(e, from, (int64_t)k * 8));
    wk_llvm_store(e, p, wk_llvm_off(e, to, (int64_t)(at + k) * 8));
  }
}

/* Of one thread, with the caller's state: what the entry makes itself has none. */
static wk_ssa exec_with_state(wk_cpu_module *m, const wk_program *p, wk_ssa arena, wk_ssa state) {
  wk_llvm *e = &m->gen.e;
  wk_ssa exec = LLVMBuildAlloca(e->b, LLVMArrayType2(e->i64, sizeof(wick_exec) / 8), "");
  int64_t behind = (int64_t)wk_align_up((uint64_t)p->region_size[WK_REGION_ACT], WICK_ALIGN);
  for (size_t at = 0; at < sizeof(wick_exec); at += 8) {
    wk_ssa v = LLVMConstNull(e->ptr);
    if (at == offsetof(wick_exec, scratch)) v = wk_llvm_off(e, arena, behind);
    if (at == offsetof(wick_exec, threads)) v = wk_llvm_int(e, 1);
    if (at == offsetof(wick_exec, state)) v = state;
    wk_llvm_store(e, v, wk_llvm_off(e, exec, (int64_t)at));
  }
  return exec;
}

/* int run(weights, inputs, outputs, arena), with `state` behind that where the model has variables,
 * and int run_with(exec, weights, inputs, outputs, arena). */
static void add_run(wk_cpu_module *m, size_t k, bool with_exec) {
  wk_llvm *e = &m->gen.e;
  const wk_program *p = m->parts[k].program;
  LLVMTypeRef params[] = {e->ptr, e->ptr, e->ptr, e->ptr, e->ptr};
  bool takes_state = p->states.n && !with_exec;
  unsigned n = with_exec || takes_state ? 5 : 4, at = with_exec ? 1 : 0;
  const char *name = wk_bundle_function(m, k, with_exec ? "run_with" : "run", m->gen.arena);
  wk_ssa fn = LLVMAddFunction(e->mod, name, LLVMFunctionType(e->i32, params, n, 0));
  wk_llvm_attributes(e, fn);
  e->fn = fn;
  LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, fn, ""));
  size_t n_in = p->inputs.n, n_out = p->outputs.n;
  wk_ssa io = LLVMBuildAlloca(e->b, LLVMArrayType2(e->ptr, n_in + n_out + 1), "");
  copy_pointers(e, LLVMGetParam(fn, at + 1), io, 0, n_in);
  copy_pointers(e, LLVMGetParam(fn, at + 2), io, n_in, n_out);
  wk_ssa exec = with_exec ? LLVMGetParam(fn, 0) : LLVMConstNull(e->ptr);
  if (takes_state) exec = exec_with_state(m, p, LLVMGetParam(fn, 3), LLVMGetParam(fn, 4));
  wk_ssa args[] = {exec, LLVMGetParam(fn, at), io, LLVMGetParam(fn, at + 3)};
  wk_ssa entry = LLVMGetNamedFunction(e->mod, m->entries[k].entry);
  LLVMBuildRet(e->b,
               LLVMBuildCall2(e->b, LLVMGlobalGetValueType(entry), entry, args, 4, ""));
  LLVMSetLinkage(entry, LLVMInternalLinkage);
}

/* "path/name", without an ending that names one of the files. */
static char *stem_of(const char *path, wk_arena *a) {
  static const char *const endings[] = {".o", ".h", ".weights", ".bundle"};
  size_t n = strlen(path);
  for (size_t k = 0; k < WK_COUNTOF(endings); k++) {
    size_t m = strlen(endings[k]);
    if (n > m && strcmp(path + n - m, endings[k]) == 0) return wk_arena_strndup(a, path, n - m);
  }
  return wk_arena_strdup(a, path);
}

static const char *name_of(const char *stem, wk_arena *a) {
  const char *slash = strrchr(stem, '/');
  char *name = wk_symbol_text(a, slash ? slash + 1 : stem, 64);
  if (!*name) return "model";
  return isdigit((unsigned char)*name) ? wk_arena_printf(a, "m%s", name) : name;
}

static wk_status build(const wk_target_part *parts, size_t n, const wk_simd *simd, const char *name,
                       wk_cpu_module *m) {
  WK_TRY(wk_cpu_module_build(parts, n, simd, name, false, m));
  for (size_t k = 0; k < n; k++) {
    add_run(m, k, false);
    add_run(m, k, true);
  }
  return NULL;
}

static wk_status guard(wk_cpu_module *m, wk_arena *a, wk_bundle_weights *w) {
  WK_TRY(wk_bundle_weights_of(m, a, w));
  return wk_bundle_guard(m, w);
}

/* ---- files ---------------------------------------------------------------------------------- */

enum { OBJECT, HEADER, WEIGHTS, FILES };

wk_status wk_cpu_bundle_files(const char *path, wk_arena *a, wk_emit_files *out) {
  static const char *const endings[FILES] = {".o", ".h", ".weights"};
  const char *stem = stem_of(path, a);
  struct stat st;
  if (strcmp(path, "-") == 0)
    return wk_error(WK_USAGE, "a bundle is several files: give it a name with -o");
  if (stat(stem, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return wk_error_at(WK_USAGE, stem, "is no regular file, and a bundle is several files: give it "
                                       "another name with -o");
  for (out->n = 0; out->n < FILES; out->n++)
    out->path[out->n] = wk_arena_printf(a, "%s%s", stem, endings[out->n]);
  return NULL;
}

static wk_status write_bundle(const wk_cpu_module *m, const wk_bundle_weights *w,
                              const wk_emit_options *o, const wk_emit_files *files,
                              LLVMMemoryBufferRef object) {
  wk_out *out[FILES] = {0};
  wk_status s = NULL;
  for (int k = 0; k < FILES && !s; k++) s = wk_out_open(files->path[k], &out[k]);
  if (!s) {
    wk_out_write(out[OBJECT], LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    wk_bundle_header(wk_out_stdio(out[HEADER]), m, w, o);
    wk_bundle_weights_write(out[WEIGHTS], m, w);
    return wk_out_commit_all(out, FILES);
  }
  for (int k = 0; k < FILES; k++) wk_out_abort(out[k]);
  return s;
}

wk_status wk_cpu_bundle_emit(const wk_target_part *parts, size_t n, const wk_emit_options *o,
                             const wk_simd *simd, const char *path, wk_emit_result *result) {
  wk_arena *a = wk_arena_new();
  wk_cpu_module m;
  wk_emit_files files;
  wk_bundle_weights w;
  LLVMMemoryBufferRef object = NULL;
  wk_status s = wk_cpu_bundle_files(path, a, &files);
  if (s) {
    wk_arena_free(a);
    return s;
  }
  s = build(parts, n, simd, name_of(stem_of(path, a), a), &m);
  if (!s) s = guard(&m, a, &w);
  if (!s) s = wk_object_emit(simd, m.mod, LLVMObjectFile, &object);
  if (!s) s = write_bundle(&m, &w, o, &files, object);
  result->scratch_bytes = m.gen.scratch_bytes;
  if (object) LLVMDisposeMemoryBuffer(object);
  wk_cpu_module_free(&m);
  wk_arena_free(a);
  return s;
}

wk_status wk_cpu_code_emit(wk_cpu_code kind, const wk_target_part *parts, size_t n,
                           const wk_emit_options *o, const wk_simd *simd, const char *path,
                           wk_emit_result *result) {
  wk_arena *a = wk_arena_new();
  const char *name = strcmp(path, "-") == 0 ? o->model_name : path;
  wk_cpu_module m;
  wk_bundle_weights w;
  LLVMMemoryBufferRef code = NULL;
  char *text = NULL;
  char *stem = stem_of(name ? name : "model", a), *dot = strrchr(stem, '.');
  if (dot && dot > stem && !strchr(dot, '/')) *dot = '\0';
  wk_status s = build(parts, n, simd, name_of(stem, a), &m);
  if (!s && kind == WK_CPU_LLVM_IR) {
    text = LLVMPrintModuleToString(m.mod);
    s = wk_write_file(path, text, strlen(text));
    LLVMDisposeMessage(text);
  } else if (!s) {
    s = guard(&m, a, &w);
    if (!s)
      s = wk_object_emit(simd, m.mod, kind == WK_CPU_ASM ? LLVMAssemblyFile : LLVMObjectFile,
                         &code);
    if (!s) s = wk_write_file(path, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
  }
  result->scratch_bytes = m.gen.scratch_bytes;
  if (code) LLVMDisposeMemoryBuffer(code);
  wk_cpu_module_free(&m);
  wk_arena_free(a);
  return s;
}
