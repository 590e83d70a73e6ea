/* SPDX-License-Identifier: Apache-2.0
 * The public interface. A compiler keeps everything that it was told and everything that it has
 * found out until it is freed. */
#include "compiler/compile/wick_compile.h"

#include <dlfcn.h>
#include <errno.h>
#include <llvm-c/ErrorHandling.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/compile/compile.h"
#include "compiler/pipeline/runner.h"

struct wick_compiler {
  wk_arena *arena;
  const char *path, *name; /* of the model; name: what messages call it */
  bool is_in_memory;       /* then path is where it is put while it is read */
  const void *data;
  size_t bytes;
  const char *folder;      /* for files while it runs; NULL: not yet */
  wk_compile_options o;
  wk_option *rows;           /* options, with those of all targets */
  wick_compile_option shown; /* of wick_compiler_option */
  void (*end)(void *ctx, const char *why);
  void *ctx;
  locale_t host; /* the thread's own, while it is in here */
  bool has_run;
  WK_VEC(wick_compile_message) messages;
  WK_VEC(wick_compile_output) outputs;
  char *report;
};

static const wk_option options[] = {WK_COMPILE_OUTPUT_OPTIONS(wk_compile_options,),
                                    WK_COMPILE_TEXT_OPTIONS(wk_compile_options,), {0}};
static const wk_command command = {.options = options};

/* ---- the thread that is in here -------------------------------------------------------------- */

static void leave(wick_compiler *c) {
  wk_end_by(NULL, NULL);
  uselocale(c->host);
}

static void end_of_thread(void *ctx, const char *why) {
  wick_compiler *c = ctx;
  uselocale(c->host);
  if (c->end) c->end(c->ctx, why);
}

/* The host's locale, which may have commas in its numbers, is not that of models and texts. */
static void enter(wick_compiler *c) {
  locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc has it: nothing to free */
  c->host = uselocale(own);
  wk_end_by(end_of_thread, c);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Text as the user knows it: without the folder of a run. */
static const char *kept(wick_compiler *c, const char *text) {
  wk_str b = {0};
  size_t n = c->folder ? strlen(c->folder) : 0;
  if (!text || !*text) return NULL;
  for (const char *at; n && (at = strstr(text, c->folder)); text = at + n + (at[n] == '/'))
    wk_str_addn(&b, text, (size_t)(at - text));
  wk_str_add(&b, text);
  const char *out = wk_arena_strdup(c->arena, b.s);
  wk_str_free(&b);
  return out;
}

static void add_message(wick_compiler *c, int code, const char *place, const char *text,
                        const char *details) {
  const wick_compile_message m = {sizeof m, code, kept(c, place), *text ? kept(c, text) : "",
                                  kept(c, details)};
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

static void take_notes(wick_compiler *c, const wk_notes *notes) {
  for (size_t i = 0; i < notes->n; i++)
    add_message(c, WICK_COMPILE_OK, notes->data[i].place, notes->data[i].text, NULL);
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
  c->is_in_memory = true;
  c->data = data;
  c->bytes = size;
  return c;
}

static const wk_option *option_at(const wick_compiler *c, size_t i) {
  for (const wk_option *o = c->rows; o->name || o->kind == WK_OPTION_GROUP; o++)
    if (o->kind != WK_OPTION_GROUP && i-- == 0) return o;
  return NULL;
}

static const wk_option *row_of(const wick_compiler *c, const char *name) {
  const wk_option *o = NULL;
  for (size_t i = 0; (o = option_at(c, i)) && strcmp(o->name, name) != 0;) i++;
  return o;
}

/* Plugins that were loaded since may have brought it. */
static const wk_option *find_option(wick_compiler *c, const char *name) {
  const wk_option *o = row_of(c, name);
  if (o) return o;
  free(c->rows);
  c->rows = wk_option_rows(options, true);
  return row_of(c, name);
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

static wk_status set(wick_compiler *c, const char *name, const char *value) {
  const wk_option *o = find_option(c, name);
  if (!o) return no_option(c, name);
  if (!value && o->kind != WK_OPTION_FLAG && *o->arg != '[')
    return wk_error(WK_USAGE, "option '%s' needs a value: %s", name, o->arg);
  if (value && o->kind == WK_OPTION_FLAG)
    return wk_error(WK_USAGE, "option '%s' takes no value", name);
  WK_TRY(wk_option_store(o, wk_arena_strdup(c->arena, value ? value : ""), &c->o));
  if (strcmp(name, WK_PLUGIN_OPTION) != 0) return NULL;
  wk_status failed = wk_plugins_load(&c->o.target.plugins);
  if (failed) c->o.target.plugins.n--;
  return failed;
}

int wick_compiler_set(wick_compiler *c, const char *option, const char *value) {
  enter(c);
  int code = take_status(c, set(c, option, value));
  leave(c);
  return code;
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

/* Targets write files, and what reads a model reads one: in a folder that goes with the run. */
static wk_status make_folder(wick_compiler *c) {
  const char *under = getenv("TMPDIR");
  char *folder = wk_arena_printf(c->arena, "%s/wick-XXXXXX", under && *under ? under : "/tmp");
  if (!mkdtemp(folder))
    return wk_error_at(WK_IO, folder, "cannot make a folder: %s", strerror(errno));
  c->folder = folder;
  return NULL;
}

/* name: as the command would call the output, which goes to a folder of its own. */
static wk_status name_output(wick_compiler *c, wk_compilation *x, const char **name) {
  WK_TRY(wk_compilation_name_output(x, NULL));
  *name = strcmp(x->output, "-") ? wk_arena_strdup(c->arena, base_of(x->output)) : NULL;
  const char *folder = wk_arena_printf(c->arena, "%s/out", c->folder);
  if (mkdir(folder, 0700) != 0)
    return wk_error_at(WK_IO, folder, "cannot make a folder: %s", strerror(errno));
  return wk_compilation_name_output(
      x, wk_arena_printf(c->arena, "%s/%s", folder, *name ? *name : x->emit.name));
}

static wk_status write_outputs(wick_compiler *c, wk_compilation *x) {
  const char *name; /* NULL: of text */
  WK_TRY(name_output(c, x, &name));
  wk_status s = wk_compilation_run(x, NULL);
  take_notes(c, &x->notes);
  for (size_t i = 0; i < x->files.n; i++) {
    if (!s) s = take_file(c, x->files.path[i]);
    unlink(x->files.path[i]);
    x->files.path[i] = wk_arena_strdup(x->arena, base_of(x->files.path[i]));
  }
  x->output = name ? name : "-"; /* as the command reports it */
  if (!name) x->files.n = 0;
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

static void end_of_llvm(const char *why) {
  wk_end(why);
  abort();
}

static void end_of_memory(void *ctx, const char *why, bool diagnose) {
  (void)ctx, (void)why, (void)diagnose;
  wk_no_memory();
}

/* C++'s operator new has one handler in the process, too: the host's stays what it is for threads
 * that are not in here. */
static struct {
  void (*host)(void); /* NULL: none */
  void (*fail)(void); /* throws std::bad_alloc, as operator new does without a handler */
} in_new;

static void end_of_new(void) {
  wk_end("out of memory");
  if (in_new.host) in_new.host();
  else if (in_new.fail) in_new.fail();
  else abort();
}

/* Those of LLVM and C++, once for the process; what has no name in C is looked for. */
static void install(void) {
  void (*of_llvm)(void (*)(void *, const char *, bool), void *);
  void (*(*of_new)(void))(void), (*set_new)(void (*)(void));
  LLVMInstallFatalErrorHandler(end_of_llvm);
  *(void **)&of_llvm =
      dlsym(RTLD_DEFAULT, "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");
  *(void **)&of_new = dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv");
  *(void **)&set_new = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
  *(void **)&in_new.fail = dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv");
  if (of_llvm) of_llvm(end_of_memory, NULL);
  if (of_new) in_new.host = of_new();
  if (set_new) set_new(end_of_new);
}

static wk_status compile(wick_compiler *c) {
  wk_compilation x;
  wk_status s = wk_compilation_open(&c->o, c->path, &x);
  if (c->is_in_memory) x.name = wk_model_name(x.arena, c->name);
  if (!s) s = write_outputs(c, &x);
  x.model = c->name;
  if (!s) s = take_report(c, &x);
  wk_compilation_close(&x);
  return s;
}

static wk_status put_model(wick_compiler *c) {
  if (!c->is_in_memory) return NULL;
  c->path = wk_arena_printf(c->arena, "%s/%s", c->folder, base_of(c->name));
  return wk_write_file(c->path, c->data, c->bytes);
}

static void remove_folder(wick_compiler *c) {
  if (c->is_in_memory) unlink(c->path);
  rmdir(wk_arena_printf(c->arena, "%s/out", c->folder));
  rmdir(c->folder);
}

static int run(wick_compiler *c) {
  wk_status s = make_folder(c);
  if (s) return take_status(c, s);
  s = put_model(c);
  if (!s) s = compile(c);
  remove_folder(c);
  return take_status(c, s);
}

int wick_compiler_run(wick_compiler *c) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  if (c->has_run)
    return take_status(c, wk_error(WK_USAGE, "it has run: a compiler compiles once"));
  c->has_run = true;
  enter(c);
  int code = run(c);
  leave(c);
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
