/* SPDX-License-Identifier: Apache-2.0
 * The header of a bundle: C and C++. */
#include "targets/cpu/bundle.h"

#include <ctype.h>
#include <string.h>

#include "compiler/package/program.h"
#include "runtime/abi.h"

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
  const char *macro = upper(a, wk_arena_printf(a, "%s%s", m->name, wk_bundle_suffix(m, k, a)));
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
          wk_bundle_function(m, k, "run", a));
  fprintf(f,
          "int %s(const void *weights, const void *const *inputs, void *const *outputs,\n"
          "    void *arena%s);\n"
          "int %s(%s_exec *exec, const void *weights, const void *const *inputs,\n"
          "    void *const *outputs, void *arena);\n",
          wk_bundle_function(m, k, "run", a), p->states.n ? ", void *state" : "",
          wk_bundle_function(m, k, "run_with", a), m->name);
}

static void print_codes(FILE *f, const char *macro, const wk_cpu_module *m) {
  fprintf(f,
          "\n/* What functions return. A run first asks the processor, once, and looks if the\n"
          " * last bytes of the weights are this object's. WEIGHTS_BYTES bytes are read: that a\n"
          " * file is shorter is for the caller to notice. */\n"
          "#define %s_OK %d\n"
          "#define %s_BAD_INPUT %d   /* it holds what the model cannot take: a wrong index */\n"
          "#define %s_BAD_WEIGHTS %d /* of another object, damaged, or not aligned */\n"
          "#define %s_BAD_CPU %d     /* it, or its system, has not all of CPU_FEATURES */\n",
          macro, GUARD_OK, macro, GUARD_BAD_INPUT, macro, GUARD_BAD_WEIGHTS, macro,
          GUARD_BAD_CPU);
  fprintf(f,
          "#define %s_CPU_FEATURES \"%s\"\n\n"
          "/* For when weights have been loaded: reads each byte of them; OK: runs can begin. */\n"
          "int %s_check(const void *weights);\n",
          macro, m->simd->needs, m->name);
}

/* What the program has to define. */
static void print_routines(FILE *f, const char *macro, const wk_cpu_module *m) {
  if (!m->gen.routines.n) return;
  fprintf(f, "#define %s_FAILED %d      /* a routine of the program did not return 0 */\n\n"
             "/* Custom operators call these, which the program defines; wick_call is that of\n"
             " * runtime/abi.h. */\nstruct wick_call;\n", macro, WICK_ERROR_ROUTINE);
  for (size_t k = 0; k < m->gen.routines.n; k++)
    fprintf(f, "int32_t %s(const struct wick_call *call);\n", m->gen.routines.data[k]);
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
          "  uint64_t *work;    /* NULL */\n"
          "  void *owner;       /* for parallel_for */\n"
          "  int64_t error;     /* 0 before a run */\n"
          "  void *state;          /* %s */\n"
          "  int64_t *output_dims; /* NULL */\n"
          "} %s_exec;\n",
          name, name, name, name, name, has_state ? "as below" : "NULL", name);
}

static void print_state(FILE *f, const char *macro, const wk_bundle_weights *w, wk_arena *a) {
  fprintf(f, "\n/* ---- state ----\n"
             " * Memory that stays from run to run; one run at a time, unless all only read it.\n"
             " * At first it is a copy of STATE_BYTES bytes of the weights from STATE_AT on. */\n\n"
             "#define %s_STATE_BYTES %llu\n#define %s_STATE_ALIGN %d\n"
             "#define %s_STATE_AT %llu\n#define %s_STATES %zu\n",
          macro, (unsigned long long)w->state_bytes, macro, WICK_ALIGN, macro,
          (unsigned long long)w->state_at, macro, w->n_states);
  for (size_t i = 0; i < w->n_states; i++) {
    const char *name = wk_arena_printf(a, "%s_STATE_%zu", macro, i);
    print_tensor(f, name, w->states[i].io, a);
    fprintf(f, "#define %s_OFFSET %lld\n", name, (long long)w->states[i].offset);
  }
}

void wk_bundle_header(FILE *f, const wk_cpu_module *m, const wk_bundle_weights *w,
                      const wk_emit_options *o) {
  wk_arena *a = wk_arena_new();
  const char *macro = upper(a, m->name);
  fprintf(f, "/* %s, compiled by wick for %s", m->name, m->simd->name);
  if (o->command && *o->command) fprintf(f, " (%s)", plain_text(o->command, a));
  fprintf(f, ".\n"
             " *   weights  contents of %s.weights, aligned to %d bytes%s\n"
             " *   inputs, outputs  one pointer per tensor, row-major, aligned to their elements\n"
             " *   arena    ARENA_BYTES bytes, aligned to ARENA_ALIGN, any contents; one per run\n"
             " *            at a time\n"
             "%s"
             " * Functions return %s_OK or a code below. They allocate nothing, and keep nothing\n"
             " * but what the processor has answered. */\n",
          m->name, WICK_ALIGN, w->bytes ? "" : "; there are none: NULL will do",
          w->n_states ? " *   state    STATE_BYTES bytes, aligned to STATE_ALIGN: see below\n" : "",
          macro);
  fprintf(f, "#ifndef %s_BUNDLE_H\n#define %s_BUNDLE_H\n\n#include <stdint.h>\n\n", macro, macro);
  fprintf(f, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  fprintf(f, "#define %s_ABI_VERSION %d\n", macro, WICK_ABI_VERSION);
  fprintf(f, "#define %s_WEIGHTS_BYTES %llu\n", macro,
          (unsigned long long)(w->bytes + sizeof w->seal));
  fprintf(f, "#define %s_WEIGHTS_ALIGN %d\n", macro, WICK_ALIGN);
  print_codes(f, macro, m);
  print_routines(f, macro, m);
  print_exec(f, m->name, w->n_states > 0);
  if (w->n_states) print_state(f, macro, w, a);
  for (size_t k = 0; k < m->n; k++) print_program(f, m, k, a);
  fprintf(f, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  wk_arena_free(a);
}
