/* SPDX-License-Identifier: Apache-2.0
 *
 * Models without a runtime: an object file, a header that says how to call it, and the constants as
 * one file. The same code is what `object`, `asm` and `llvm-ir` show. */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/memory/memory.h"
#include "compiler/package/program.h"
#include "runtime/abi.h"
#include "targets/cpu/llvm/module.h"
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

/* "_train" or "_2" behind the names of part k; nothing when it is the only one. */
static const char *part_suffix(const wk_cpu_module *m, size_t k, wk_arena *a) {
  if (m->n == 1) return "";
  return are_words(m) ? wk_arena_printf(a, "_%s", m->parts[k].name)
                      : wk_arena_printf(a, "_%zu", k + 1);
}

/* NAME_run, and what tells the part from the others. */
static const char *function_name(const wk_cpu_module *m, size_t k, const char *what, wk_arena *a) {
  return wk_arena_printf(a, "%s_%s%s", m->name, what, part_suffix(m, k, a));
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
  const char *name = function_name(m, k, with_exec ? "run_with" : "run", m->gen.arena);
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

/* ---- header --------------------------------------------------------------------------------- */

/* Text that may stand in a comment or between quotes, on one line. */
static const char *plain_text(const char *s, wk_arena *a) {
  char *out = wk_arena_strdup(a, s ? s : "");
  for (char *p = out; *p; p++)
    if (!isprint((unsigned char)*p) || *p == '"' || *p == '\\' || *p == '?' ||
        (p[0] == '*' && p[1] == '/'))
      *p = '_';
  return out;
}

static void print_tensor(FILE *f, const char *name, const wk_program_io *b, wk_arena *a) {
  const wk_type *t = &b->type;
  fprintf(f, "#define %s_NAME \"%s\"\n", name, plain_text(b->name, a));
  fprintf(f, "#define %s_DTYPE %d /* %s */\n", name, (int)t->dtype, wk_dtype_name(t->dtype));
  fprintf(f, "#define %s_RANK %d\n#define %s_DIMS {", name, t->rank, name);
  for (int k = 0; k < t->rank; k++)
    fprintf(f, "%s%lld", k ? ", " : "", (long long)t->dims[k]);
  fprintf(f, "%s}\n#define %s_COUNT %lld\n#define %s_BYTES %lld\n", t->rank ? "" : "1", name,
          (long long)wk_type_count(t), name, (long long)wk_type_bytes(t));
}

/* Between quotes; what is no plain ASCII in octal. */
static void print_text(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    bool plain = isprint((unsigned char)*s) && !strchr("\"\\?", *s);
    if (plain) fputc(*s, f);
    else fprintf(f, "\\%03o", (unsigned char)*s);
  }
  fputc('"', f);
}

/* What the numbers of outputs stand for, of those that have it. */
static void print_labels(FILE *f, const char *macro, const wk_target_part *part, wk_arena *a) {
  const wk_module *m = part->graph ? part->graph->module : NULL;
  bool any = false;
  for (size_t i = 0; m && i < part->program->outputs.n; i++) {
    const wk_labels *l = wk_module_labels(m, part->program->outputs.data[i].name);
    const char *name = wk_arena_printf(a, "%s_OUTPUT_%zu_LABELS", macro, i);
    if (!l) continue;
    any = true;
    fprintf(f, "#define %s_COUNT %lld /* what %s stand for */\n#define %s {", name,
            (long long)l->texts.n,
            l->kind == WK_LABELS_COLUMNS ? "positions along its last axis" : "its elements", name);
    for (int64_t k = 0; k < l->texts.n; k++) {
      fputs(k ? ", " : "", f);
      print_text(f, l->texts.v[k]);
    }
    fputs("}\n", f);
  }
  if (any) fputc('\n', f);
}

static void print_tensors(FILE *f, const char *macro, const char *kind, const wk_program_io *b,
                          size_t n, wk_arena *a) {
  fprintf(f, "#define %s_%sS %zu\n", macro, kind, n);
  for (size_t i = 0; i < n; i++)
    print_tensor(f, wk_arena_printf(a, "%s_%s_%zu", macro, kind, i), &b[i], a);
  fprintf(f, "\n");
}

static char *upper(wk_arena *a, const char *s) {
  char *out = wk_arena_strdup(a, s);
  for (char *p = out; *p; p++) *p = (char)toupper((unsigned char)*p);
  return out;
}

static void print_program(FILE *f, const wk_cpu_module *m, size_t k, wk_arena *a) {
  const wk_program *p = m->parts[k].program;
  const char *macro = upper(a, wk_arena_printf(a, "%s%s", m->name, part_suffix(m, k, a)));
  uint64_t arena = wk_align_up((uint64_t)p->region_size[WK_REGION_ACT], WICK_ALIGN);
  fprintf(f, "\n/* ---- %s ---- */\n\n", plain_text(*p->name ? p->name : m->name, a));
  print_tensors(f, macro, "INPUT", p->inputs.data, p->inputs.n, a);
  print_tensors(f, macro, "OUTPUT", p->outputs.data, p->outputs.n, a);
  print_labels(f, macro, &m->parts[k], a);
  fprintf(f, "#define %s_ARENA_ALIGN %u\n", macro, wk_program_arena_align(p));
  fprintf(f, "#define %s_SCRATCH_BYTES %lld /* of each thread */\n", macro,
          (long long)m->gen.scratch_bytes);
  fprintf(f, "#define %s_ARENA_BYTES %llu /* for %s, scratch of one thread included */\n\n", macro,
          (unsigned long long)(arena + (uint64_t)m->gen.scratch_bytes),
          function_name(m, k, "run", a));
  fprintf(f,
          "int %s(const void *weights, const void *const *inputs, void *const *outputs,\n"
          "    void *arena%s);\n"
          "int %s(%s_exec *exec, const void *weights, const void *const *inputs,\n"
          "    void *const *outputs, void *arena);\n",
          function_name(m, k, "run", a), p->states.n ? ", void *state" : "",
          function_name(m, k, "run_with", a), m->name);
}

static void print_exec(FILE *f, const char *name, bool has_state) {
  fprintf(f,
          "\n/* For %s_run_with: a parallel loop of the caller's. fn(ctx, begin, end, scratch)\n"
          " * does a piece of [0, n); pieces are independent, each gets the scratch of the thread\n"
          " * that runs it. parallel_for returns when all are done; NULL: one thread. */\n"
          "typedef void (*%s_task)(void *ctx, int64_t begin, int64_t end, void *scratch);\n"
          "typedef struct %s_exec {\n"
          "  void (*parallel_for)(struct %s_exec *exec, %s_task fn, void *ctx, int64_t n,\n"
          "                       int64_t grain);\n"
          "  void *scratch;     /* of the calling thread, aligned to 64 */\n"
          "  int64_t threads;   /* at least 1 */\n"
          "  uint64_t *profile; /* NULL */\n"
          "  void *owner;       /* for parallel_for */\n"
          "  int64_t error;     /* 0 before a run */\n"
          "  void *state;          /* %s */\n"
          "  int64_t *output_dims; /* NULL */\n"
          "} %s_exec;\n",
          name, name, name, name, name, has_state ? "as below" : "NULL", name);
}

/* The state of all parts, in the order of their places; what it is at first is behind the weights.
 */
typedef struct {
  wk_state *list;
  size_t n;
  uint64_t bytes, at; /* at: in the file of weights */
} bundle_state;

static wk_status find_state(const wk_cpu_module *m, wk_arena *a, bundle_state *out) {
  wk_program **programs = wk_arena_alloc(a, m->n * sizeof *programs);
  size_t n = 0;
  for (size_t k = 0; k < m->n; k++)
    if (m->parts[k].program->states.n) programs[n++] = m->parts[k].program;
  *out = (bundle_state){0};
  if (!n) return NULL;
  WK_TRY(wk_place_states(programs, n, a, &out->list, &out->n));
  out->bytes = (uint64_t)programs[0]->region_size[WK_REGION_STATE];
  out->at = wk_align_up(m->const_bytes, WICK_ALIGN);
  return NULL;
}

static uint64_t weights_bytes(const wk_cpu_module *m, const bundle_state *s) {
  return s->n ? s->at + s->bytes : m->const_bytes;
}

static void print_state(FILE *f, const char *macro, const bundle_state *s, wk_arena *a) {
  fprintf(f, "\n/* ---- state ----\n"
             " * Memory that stays from run to run; one run at a time, unless all only read it.\n"
             " * At first it is a copy of STATE_BYTES bytes of the weights from STATE_AT on. */\n\n"
             "#define %s_STATE_BYTES %llu\n#define %s_STATE_ALIGN %d\n"
             "#define %s_STATE_AT %llu\n#define %s_STATES %zu\n",
          macro, (unsigned long long)s->bytes, macro, WICK_ALIGN, macro,
          (unsigned long long)s->at, macro, s->n);
  for (size_t i = 0; i < s->n; i++) {
    const char *name = wk_arena_printf(a, "%s_STATE_%zu", macro, i);
    print_tensor(f, name, s->list[i].io, a);
    fprintf(f, "#define %s_OFFSET %lld\n", name, (long long)s->list[i].offset);
  }
}

static void print_header(FILE *f, const wk_cpu_module *m, const bundle_state *state,
                         const wk_emit_options *o) {
  wk_arena *a = wk_arena_new();
  const char *macro = upper(a, m->name);
  fprintf(f, "/* %s, compiled by wick for %s", m->name, m->simd->name);
  if (o->command && *o->command) fprintf(f, " (%s)", plain_text(o->command, a));
  fprintf(f, ".\n"
             " *   weights  contents of %s.weights, aligned to %d bytes\n"
             " *   inputs, outputs  one pointer per tensor, row-major, aligned to their elements\n"
             " *   arena    ARENA_BYTES bytes, aligned to ARENA_ALIGN, any contents; one per run\n"
             " *            at a time\n"
             "%s"
             " * Functions return 0, or not 0 when the inputs hold values that the model cannot\n"
             " * take (an index out of range). They allocate nothing and keep nothing. */\n",
          m->name, WICK_ALIGN,
          state->n ? " *   state    STATE_BYTES bytes, aligned to STATE_ALIGN: see below\n" : "");
  fprintf(f, "#ifndef %s_BUNDLE_H\n#define %s_BUNDLE_H\n\n#include <stdint.h>\n\n", macro, macro);
  fprintf(f, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  fprintf(f, "#define %s_ABI_VERSION %d\n", macro, WICK_ABI_VERSION);
  fprintf(f, "#define %s_WEIGHTS_BYTES %llu\n", macro,
          (unsigned long long)weights_bytes(m, state));
  fprintf(f, "#define %s_WEIGHTS_ALIGN %d\n", macro, WICK_ALIGN);
  print_exec(f, m->name, state->n > 0);
  if (state->n) print_state(f, macro, state, a);
  for (size_t k = 0; k < m->n; k++) print_program(f, m, k, a);
  fprintf(f, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  wk_arena_free(a);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void write_piece(wk_out *out, uint64_t *at, uint64_t offset, const void *data,
                        uint64_t size) {
  static const uint8_t zeros[WICK_ALIGN];
  wk_out_write(out, zeros, offset - *at);
  wk_out_write(out, data, size);
  *at = offset + size;
}

static void write_weights(wk_out *out, const wk_cpu_module *m, const bundle_state *s) {
  uint64_t at = 0;
  for (size_t k = 0; k < m->consts.n; k++) {
    const wk_cpu_const *c = &m->consts.data[k];
    write_piece(out, &at, c->offset, c->data, c->size);
  }
  for (size_t i = 0; i < s->n; i++)
    write_piece(out, &at, s->at + (uint64_t)s->list[i].offset, s->list[i].initial,
                (uint64_t)wk_type_bytes(&s->list[i].io->type));
}

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

static wk_status write_bundle(const wk_cpu_module *m, const bundle_state *state,
                              const wk_emit_options *o, const wk_emit_files *files,
                              LLVMMemoryBufferRef object) {
  wk_out *out[FILES] = {0};
  wk_status s = NULL;
  for (int k = 0; k < FILES && !s; k++) s = wk_out_open(files->path[k], &out[k]);
  if (!s) {
    wk_out_write(out[OBJECT], LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    print_header(wk_out_stdio(out[HEADER]), m, state, o);
    write_weights(out[WEIGHTS], m, state);
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
  bundle_state state;
  LLVMMemoryBufferRef object = NULL;
  wk_status s = wk_cpu_bundle_files(path, a, &files);
  if (s) {
    wk_arena_free(a);
    return s;
  }
  s = build(parts, n, simd, name_of(stem_of(path, a), a), &m);
  if (!s) s = wk_object_emit(simd, m.mod, LLVMObjectFile, &object);
  if (!s) s = find_state(&m, a, &state);
  if (!s) s = write_bundle(&m, &state, o, &files, object);
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
    s = wk_object_emit(simd, m.mod, kind == WK_CPU_ASM ? LLVMAssemblyFile : LLVMObjectFile, &code);
    if (!s) s = wk_write_file(path, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
  }
  result->scratch_bytes = m.gen.scratch_bytes;
  if (code) LLVMDisposeMemoryBuffer(code);
  wk_cpu_module_free(&m);
  wk_arena_free(a);
  return s;
}
