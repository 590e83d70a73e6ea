/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>

#include "compiler/compile/compile.h"

typedef enum { FROM_PARTS, FROM_MODULE, FROM_PROGRAM, FROM_TARGET } source;
typedef wk_status (*write_fn)(const wk_compile_options *o, const wk_compiled *bound,
                              const char *path);

/* ---- texts and models ------------------------------------------------------------------------ */

void wk_compile_print(wk_str *b, const wk_compile_options *o, const wk_module *m,
                      const wk_program *p) {
  wk_print_flags how = o->weights ? WK_PRINT_FULL : WK_PRINT_SHORT;
  if (p) wk_program_print(b, p, how);
  else wk_module_print(b, m, how);
}

static wk_status write_str(wk_str *b, const char *path) {
  wk_status s = wk_write_file(path, b->s, b->n);
  wk_str_free(b);
  return s;
}

static wk_status write_graph(const wk_compile_options *o, const wk_compiled *bound,
                             const char *path) {
  wk_str b = {0};
  bool parts = bound->parts && bound->parts->parts.n > 1;
  if (!parts) wk_compile_print(&b, o, bound->module, NULL);
  for (size_t i = 0; parts && i < bound->parts->parts.n; i++) {
    const wk_part *p = &bound->parts->parts.data[i];
    wk_str_printf(&b, "// part %s, %s\n", p->name, p->instance->target->name);
    wk_compile_print(&b, o, p->module, NULL);
  }
  return write_str(&b, path);
}

static wk_status write_program(const wk_compile_options *o, const wk_compiled *bound,
                               const char *path) {
  wk_str b = {0};
  if (!bound->parts || !bound->parts->parts.data[0].program)
    return wk_error(WK_USAGE, "--stop-after ends before there is a program to write");
  for (size_t i = 0; i < bound->parts->parts.n; i++) {
    const wk_part *p = &bound->parts->parts.data[i];
    if (bound->parts->parts.n > 1)
      wk_str_printf(&b, "// part %s, %s\n", p->name, p->instance->target->name);
    wk_compile_print(&b, o, NULL, p->program);
  }
  return write_str(&b, path);
}

static wk_status write_dot(const wk_compile_options *o, const wk_compiled *bound,
                           const char *path) {
  wk_str b = {0};
  const wk_parts *p = bound->parts;
  (void)o;
  wk_module_dot(&b, bound->module, p && p->parts.n > 1 ? wk_parts_colours(p, bound->arena) : NULL);
  return write_str(&b, path);
}

static wk_status write_onnx(const wk_compile_options *o, const wk_compiled *bound,
                            const char *path) {
  (void)o;
  WK_TRY(wk_module_no_open(bound->module, "--emit onnx"));
  return wk_export_onnx(bound->module, path);
}

/* What is written of every model; the rest are outputs of targets. */
static const struct {
  wk_emission e;
  write_fn write; /* NULL: a package */
} own[] = {
    {{.name = "package", .from = FROM_PARTS, .suffix = ".wick"}, NULL},
    {{.name = "graph", .from = FROM_MODULE}, write_graph},
    {{.name = "program", .from = FROM_PROGRAM}, write_program},
    {{.name = "dot", .from = FROM_MODULE}, write_dot},
    {{.name = "onnx", .from = FROM_MODULE, .suffix = ".optimised.onnx"}, write_onnx}};
enum { EMIT_PACKAGE, EMIT_GRAPH, EMIT_PROGRAM, MAX_EMISSIONS = 64 };

bool wk_emission_is_code(const wk_emission *e) {
  return e->from == FROM_PARTS || e->from == FROM_TARGET;
}
bool wk_emission_is_graph(const wk_emission *e) { return e->from == FROM_MODULE; }
bool wk_emission_is_program(const wk_emission *e) { return e->from == FROM_PROGRAM; }

/* ---- which one ------------------------------------------------------------------------------- */

void wk_compile_list_outputs(wk_str *out) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    for (const wk_target_output *x = t->outputs; x && x->name; x++)
      if (x == t->outputs) wk_str_printf(out, "; %s: %s", t->name, x->name);
      else wk_str_printf(out, ", %s", x->name);
}

/* With --stop-after alone, what there is then is shown as text. */
static wk_status default_emission(const wk_compile_options *o, wk_emission *out) {
  wk_step_kind kind = WK_ON_OUTPUT;
  if (o->stop_after) WK_TRY(wk_pipeline_find_step("--stop-after", o->stop_after, &kind));
  *out = own[kind == WK_ON_OUTPUT     ? EMIT_PACKAGE
             : kind == WK_ON_PROGRAMS ? EMIT_PROGRAM
                                      : EMIT_GRAPH].e;
  return NULL;
}

/* names[0 .. n) is added to. */
static const wk_target_output *find_output(const wk_target *t, const char *name,
                                           const char **names, size_t *n) {
  for (const wk_target_output *x = t->outputs; x && x->name && *n < MAX_EMISSIONS; x++) {
    names[(*n)++] = x->name;
    if (!strcmp(x->name, name)) return x;
  }
  return NULL;
}

/* Why there is none: it is another target's, or nobody's. */
static wk_status refuse_emission(const wk_compile_options *o, const char **names, size_t n) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    if (find_output(t, o->emit, names, &n))
      return wk_error(WK_USAGE, "--emit %s is what target %s writes: %s --target %s", o->emit,
                      t->name, o->target.target ? "it needs" : "add", t->name);
  const char *near = wk_nearest(o->emit, names, n);
  if (near)
    return wk_error(WK_USAGE, "--emit: no kind '%s'; did you mean '%s'?", o->emit, near);
  return wk_error(WK_USAGE, "--emit: no kind '%s'; --help says what there is", o->emit);
}

wk_status wk_emission_find(const wk_compile_options *o, const wk_targets *t, wk_emission *out) {
  const char *names[MAX_EMISSIONS];
  size_t n = 0;
  if (!o->emit) return default_emission(o, out);
  for (size_t i = 0; i < WK_COUNTOF(own); i++) {
    names[n++] = own[i].e.name;
    if (strcmp(own[i].e.name, o->emit) != 0) continue;
    *out = own[i].e;
    return NULL;
  }
  for (size_t i = 0; i < t->n; i++) {
    const wk_target_output *x = find_output(t->list[i]->target, o->emit, names, &n);
    if (!x) continue;
    *out = (wk_emission){.name = x->name, .from = FROM_TARGET, .suffix = x->suffix, .output = x,
                         .instance = t->list[i]};
    return NULL;
  }
  return refuse_emission(o, names, n);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void show_progress(const char *what) { wk_progress("%s", what); }

static wk_status write_code(wk_compilation *c, const char *path, wk_emit_result *result) {
  wk_emit_entry entries[WK_MAX_BINDINGS];
  const wk_emit_options eo = {.model_name = c->name, .command = c->command,
                              .input_hash = c->input_hash, .progress = show_progress,
                              .text = &c->told, .files = &c->files, .arena = c->arena};
  for (size_t i = 0; i < c->n; i++) {
    entries[i] = (wk_emit_entry){c->bound[i].binding.name, c->bound[i].parts};
    for (size_t k = 0; k < c->bound[i].parts->parts.n; k++) {
      wk_program *p = c->bound[i].parts->parts.data[k].program;
      p->name = wk_arena_strdup(p->arena, c->bound[i].binding.name);
    }
  }
  wk_progress("%s: code", c->name);
  return c->emit.from == FROM_PARTS
             ? wk_emit_package(&c->targets, entries, c->n, &eo, path, result)
             : wk_emit_output(c->emit.output, c->emit.instance, entries, c->n, &eo, path, result);
}

static int64_t file_bytes(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static void measure_output(wk_compilation *c) {
  for (size_t i = 0; i < c->files.n; i++) {
    int64_t bytes = file_bytes(c->files.path[i]);
    if (bytes >= 0) c->output_bytes = bytes + (c->output_bytes < 0 ? 0 : c->output_bytes);
  }
}

wk_status wk_compilation_name_output(wk_compilation *c, const char *path) {
  const wk_emission *e = &c->emit;
  if (!path) path = e->suffix ? wk_arena_printf(c->arena, "%s%s", c->name, e->suffix) : "-";
  c->output = path;
  c->files = (wk_emit_files){0};
  if (e->output && e->output->files) return e->output->files(path, c->arena, &c->files);
  if (strcmp(path, "-") != 0) c->files.path[c->files.n++] = path;
  return NULL;
}

static write_fn writer_of(const wk_emission *e) {
  size_t i = 0;
  while (i < WK_COUNTOF(own) && strcmp(own[i].e.name, e->name) != 0) i++;
  return i < WK_COUNTOF(own) ? own[i].write : NULL;
}

wk_status wk_compilation_write(wk_compilation *c) {
  double started = wk_clock();
  wk_emit_result result = {.scratch_bytes = -1};
  write_fn write = wk_emission_is_code(&c->emit) ? NULL : writer_of(&c->emit);
  wk_status s = write ? write(c->o, &c->bound[0], c->output) : write_code(c, c->output, &result);
  c->emit_seconds = wk_clock() - started;
  c->seconds = wk_clock() - c->began;
  c->scratch_bytes = result.scratch_bytes;
  c->predicted_cycles = result.predicted_cycles;
  if (!s) measure_output(c);
  return s;
}
