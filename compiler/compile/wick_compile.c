/* SPDX-License-Identifier: Apache-2.0
 * The public interface. A compiler keeps everything that it was told and everything that it has
 * found out until it is freed. */
#include "compiler/compile/wick_compile.h"

#include <llvm-c/ErrorHandling.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compile/compile.h"
#include "compiler/pipeline/runner.h"

struct wick_compiler {
  wk_arena *arena;
  const char *path, *name; /* of the model; name: what messages call it */
  const void *data;        /* NULL: the model is in a file */
  size_t bytes;
  wk_compile_options o;
  wk_option *rows;           /* options, with those of all targets */
  wick_compile_option shown; /* of wick_compiler_option */
  void (*end)(void *ctx, const char *why);
  void *ctx;
  bool has_run;
  WK_VEC(wick_compile_message) messages;
  WK_VEC(wick_compile_output) outputs;
  char *report;
};

static const wk_option options[] = {WK_COMPILE_OUTPUT_OPTIONS(wk_compile_options,),
                                    WK_COMPILE_TEXT_OPTIONS(wk_compile_options,), {0}};
static const wk_command command = {.options = options};

/* ---- messages -------------------------------------------------------------------------------- */

static const char *kept(wick_compiler *c, const char *text) {
  return text && *text ? wk_arena_strdup(c->arena, text) : NULL;
}

static const char *shown_path(const wick_compiler *c, const char *path) {
  return path && c->path && !strcmp(path, c->path) ? c->name : path;
}

static void add_message(wick_compiler *c, int code, const char *place, const char *text,
                        const char *details) {
  const wick_compile_message m = {sizeof m, code, kept(c, shown_path(c, place)),
                                  wk_arena_strdup(c->arena, text), kept(c, details)};
  wk_vec_push(&c->messages, m);
}

/* Frees the status. */
static int take_status(wick_compiler *c, wk_status s) {
  if (!s) return WICK_COMPILE_OK;
  int code = (int)s->code;
  add_message(c, code, s->place, s->message, s->notes);
  wk_status_free(s);
  return code;
}

/* Lines "wick: PATH: text". */
static void take_notes(wick_compiler *c, const wk_str *notes) {
  static const char prefix[] = "wick: ";
  const char *line = notes->n ? notes->s : "";
  while (*line) {
    const char *end = line + strcspn(line, "\n"), *text = line + sizeof prefix - 1;
    size_t n = strlen(c->path);
    const char *place = !strncmp(text, c->path, n) && !strncmp(text + n, ": ", 2) ? c->path : NULL;
    if (place) text += n + 2;
    add_message(c, WICK_COMPILE_OK, place, wk_arena_strndup(c->arena, text, (size_t)(end - text)),
                NULL);
    line = *end ? end + 1 : end;
  }
}

const wick_compile_message *wick_compiler_message(const wick_compiler *c, size_t i) {
  return i < c->messages.n ? &c->messages.data[i] : NULL;
}

/* ---- what it is told ------------------------------------------------------------------------- */

static wick_compiler *compiler_new(const char *name) {
  wick_compiler *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->arena = wk_arena_new();
  c->name = wk_arena_strdup(c->arena, name);
  c->rows = wk_option_rows(options, true);
  return c;
}

wick_compiler *wick_compiler_new(const char *path) {
  wick_compiler *c = compiler_new(path);
  if (c) c->path = c->name;
  return c;
}

wick_compiler *wick_compiler_new_memory(const char *name, const void *data, size_t size) {
  wick_compiler *c = compiler_new(name);
  if (!c) return NULL;
  c->data = data;
  c->bytes = size;
  return c;
}

static const wk_option *option_at(const wick_compiler *c, size_t i) {
  for (const wk_option *o = c->rows; o->name || o->kind == WK_OPTION_GROUP; o++)
    if (o->kind != WK_OPTION_GROUP && i-- == 0) return o;
  return NULL;
}

static const wk_option *find_option(const wick_compiler *c, const char *name) {
  const wk_option *o = NULL;
  for (size_t i = 0; (o = option_at(c, i)) && strcmp(o->name, name) != 0;) i++;
  return o;
}

static wk_status no_option(const wick_compiler *c, const char *name) {
  WK_VEC(const char *) names = {0};
  const wk_option *o;
  for (size_t i = 0; (o = option_at(c, i)); i++) wk_vec_push(&names, o->name);
  const char *near = wk_nearest(name, names.data, names.n);
  wk_vec_free(&names);
  return near ? wk_error(WK_USAGE, "there is no option '%s'; did you mean '%s'?", name, near)
              : wk_error(WK_USAGE, "there is no option '%s'", name);
}

/* Their targets may have settings of their own. */
static wk_status load_plugins(wick_compiler *c) {
  WK_TRY(wk_plugins_load(&c->o.target.plugins));
  free(c->rows);
  c->rows = wk_option_rows(options, true);
  return NULL;
}

static wk_status set(wick_compiler *c, const char *name, const char *value) {
  const wk_option *o = find_option(c, name);
  if (!o) return no_option(c, name);
  if (!value && o->kind != WK_OPTION_FLAG)
    return wk_error(WK_USAGE, "option '%s' needs a value: %s", name, o->arg);
  if (value && o->kind == WK_OPTION_FLAG)
    return wk_error(WK_USAGE, "option '%s' takes no value", name);
  WK_TRY(wk_option_store(o, wk_arena_strdup(c->arena, value ? value : ""), &c->o));
  return strcmp(name, WK_PLUGIN_OPTION) ? NULL : load_plugins(c);
}

int wick_compiler_set(wick_compiler *c, const char *option, const char *value) {
  return take_status(c, set(c, option, value));
}

const wick_compile_option *wick_compiler_option(wick_compiler *c, size_t i) {
  const wk_option *o = option_at(c, i);
  if (!o) return NULL;
  c->shown = (wick_compile_option){sizeof c->shown, o->name, o->arg, o->help};
  return &c->shown;
}

void wick_compiler_on_end(wick_compiler *c, void (*end)(void *ctx, const char *why), void *ctx) {
  c->end = end;
  c->ctx = ctx;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static wk_status take_file(wick_compiler *c, const char *path) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  char *data = wk_arena_alloc_aligned(c->arena, f.size + 1, 64);
  memcpy(data, f.data, f.size);
  const wick_compile_output y = {sizeof y, wk_arena_strdup(c->arena, base_of(path)), data, f.size};
  wk_vec_push(&c->outputs, y);
  wk_file_unmap(&f);
  return NULL;
}

/* Targets write files: into a folder of their own, which is gone when they have been read. */
static wk_status write_outputs(wick_compiler *c, wk_compilation *x) {
  const char *under = getenv("TMPDIR");
  char *folder = wk_arena_printf(c->arena, "%s/wick-XXXXXX", under && *under ? under : "/tmp");
  WK_TRY(wk_compilation_name_output(x, NULL));
  const char *name = strcmp(x->output, "-") ? x->output : x->emit.name;
  if (!mkdtemp(folder))
    return wk_error_at(WK_IO, folder, "cannot make a folder for the output");
  wk_status s = wk_compilation_name_output(x, wk_arena_printf(c->arena, "%s/%s", folder, name));
  if (!s) s = wk_compilation_write(x);
  for (size_t i = 0; i < x->files.n; i++) {
    if (!s) s = take_file(c, x->files.path[i]);
    unlink(x->files.path[i]);
    x->files.path[i] = wk_arena_strdup(x->arena, base_of(x->files.path[i]));
  }
  rmdir(folder);
  x->output = wk_arena_strdup(x->arena, name);
  return s;
}

const wick_compile_output *wick_compiler_output(const wick_compiler *c, size_t i) {
  return i < c->outputs.n ? &c->outputs.data[i] : NULL;
}

static wk_status take_report(wick_compiler *c, const wk_compilation *x) {
  wk_nameless f;
  wk_out *out;
  wk_file text;
  WK_TRY(wk_nameless_open(&f));
  wk_status s = wk_out_open(f.path, &out);
  if (!s) wk_compile_json(out, x);
  if (!s) s = wk_out_commit(out);
  if (!s) s = wk_file_map(f.path, &text);
  if (!s) {
    c->report = wk_arena_strndup(c->arena, (const char *)text.data, text.size);
    wk_file_unmap(&text);
  }
  wk_nameless_close(&f);
  return wk_nameless_place(&f, s, NULL);
}

const char *wick_compiler_report(const wick_compiler *c) { return c->report; }

/* ---- the run --------------------------------------------------------------------------------- */

static void end_of_llvm(const char *why) { wk_end(why); }
static void install(void) { LLVMInstallFatalErrorHandler(end_of_llvm); }

static wk_status compile(wick_compiler *c) {
  wk_compilation x;
  wk_status s = wk_compilation_open(&c->o, c->path, &x);
  if (c->data) x.name = wk_model_name(x.arena, c->name);
  if (!s) s = wk_compilation_run(&x, NULL);
  take_notes(c, &x.notes);
  if (!s) s = write_outputs(c, &x);
  x.model = c->name;
  if (!s) s = take_report(c, &x);
  wk_compilation_close(&x);
  return s;
}

static wk_status compile_memory(wick_compiler *c) {
  wk_nameless f;
  WK_TRY(wk_nameless_open(&f));
  c->path = wk_arena_strdup(c->arena, f.path);
  wk_status s = wk_write_file(f.path, c->data, c->bytes);
  if (!s) s = compile(c);
  wk_nameless_close(&f);
  return s;
}

int wick_compiler_run(wick_compiler *c) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  if (c->has_run)
    return take_status(c, wk_error(WK_USAGE, "it has run: a compiler compiles once"));
  c->has_run = true;
  wk_end_by(c->end, c->ctx);
  int code = take_status(c, c->data ? compile_memory(c) : compile(c));
  wk_end_by(NULL, NULL);
  return code;
}

void wick_compiler_free(wick_compiler *c) {
  if (!c) return;
  wk_options_free(&command, &c->o);
  free(c->rows);
  wk_vec_free(&c->messages);
  wk_vec_free(&c->outputs);
  wk_arena_free(c->arena);
  free(c);
}
