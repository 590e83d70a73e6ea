/* SPDX-License-Identifier: Apache-2.0
 * From RTL to a shared library: a key over everything that goes in, and when the cache has no
 * library of that key, Verilator and a C++ compiler in a folder beside it, renamed into place when
 * all is done. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sim.h"
#include "targets/accel/isa/isa.h"

extern char **environ;

/* ---- what goes in ---------------------------------------------------------------------------- */

static bool is_package(const char *path) {
  size_t n = strlen(path);
  return n > 7 && !strcmp(path + n - 7, "_pkg.sv");
}

/* Packages first: whoever uses one must come behind it. */
static int by_name(const void *a, const void *b) {
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  return is_package(x) != is_package(y) ? is_package(y) - is_package(x) : strcmp(x, y);
}

typedef WK_VEC(char *) names;

static void free_names(names *v) {
  for (size_t i = 0; i < v->n; i++) free(v->data[i]);
  wk_vec_free(v);
}

/* The .sv files of a folder, sorted, as paths. */
static wk_status list_rtl(const char *dir, names *out) {
  struct dirent *e;
  DIR *d = opendir(dir);
  if (!d) return wk_error_at(WK_IO, dir, "cannot open the folder: %s", strerror(errno));
  while ((e = readdir(d))) {
    size_t n = strlen(e->d_name);
    wk_str path = {0};
    if (n < 4 || strcmp(e->d_name + n - 3, ".sv") != 0) continue;
    wk_str_printf(&path, "%s/%s", dir, e->d_name);
    wk_vec_push(out, path.s);
  }
  closedir(d);
  if (!out->n) return wk_error_at(WK_INPUT, dir, "no .sv files here");
  qsort(out->data, out->n, sizeof *out->data, by_name);
  return NULL;
}

static wk_status hash_file(const char *path, uint64_t *hash) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  *hash = wk_hash64(f.data, f.size, *hash);
  wk_file_unmap(&f);
  return NULL;
}

/* What this processor can run: a library built for another one is not taken. */
static void hash_processor(uint64_t *hash) {
  char line[4096];
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, "flags", 5) || !strncmp(line, "model name", 10))
      *hash = wk_hash64(line, strlen(line), *hash);
    else if (line[0] == '\n') break;
  if (f) fclose(f);
}

static const char *const bench_files[] = {"verilated/bench.cpp", "verilated/monitor.h", "model.h",
                                          "dram.h"};

typedef struct {
  const wk_sim_build_options *o;
  const char *rtl;
  char *library, *work; /* the result; a folder to work in */
  names sources;
} job;

static const char *const verilator[] = {
    "verilator", "--cc", "--exe", "--build", "-j", "2", "-Wall", "-Wno-fatal", "--top-module",
    "wick_accel", "-O3", "--x-assign", "fast", "--x-initial", "unique", "--noassert",
    "--output-split", "20000", "--output-split-cfuncs", "20000"};
static const char optimisation[] =
    "OPT_FAST='-O3 -march=native' OPT_SLOW=-O1 OPT_GLOBAL='-O2 -march=native'";

static bool is_installed(const char *tool) {
  const char *path = getenv("PATH");
  bool found = false;
  for (const char *p = path; p && *p && !found; p += strcspn(p, ":"), p += *p == ':') {
    wk_str file = {0};
    wk_str_printf(&file, "%.*s/%s", (int)strcspn(p, ":"), p, tool);
    found = access(file.s, X_OK) == 0;
    wk_str_free(&file);
  }
  return found;
}

/* The first that is installed; the models of the first are the quickest (1.2 x). */
static const char *compiler(void) {
  static const char *const compilers[] = {"clang++-19", "clang++", "g++"};
  for (size_t i = 0; i + 1 < WK_COUNTOF(compilers); i++)
    if (is_installed(compilers[i])) return compilers[i];
  return compilers[WK_COUNTOF(compilers) - 1];
}

static wk_status key_of(const job *j, uint64_t *key) {
  const wk_sim_build_options *o = j->o;
  char flags[256];
  *key = wk_machine_hash(o->machine);
  for (size_t i = 0; i < j->sources.n; i++) WK_TRY(hash_file(j->sources.data[i], key));
  for (size_t i = 0; i < WK_COUNTOF(bench_files); i++) {
    wk_str path = {0};
    wk_str_printf(&path, "%s/%s", WICK_SIM_DIR, bench_files[i]);
    wk_status s = hash_file(path.s, key);
    wk_str_free(&path);
    WK_TRY(s);
  }
  int n = snprintf(flags, sizeof flags, "abi %d waves %d coverage %d %s %s", WK_SIM_ABI, o->waves,
                   o->coverage, compiler(), optimisation);
  *key = wk_hash64(flags, (size_t)n, *key);
  for (size_t i = 0; i < WK_COUNTOF(verilator); i++)
    *key = wk_hash64(verilator[i], strlen(verilator[i]), *key);
  hash_processor(key);
  return NULL;
}

/* ---- folders --------------------------------------------------------------------------------- */

static wk_status make_folder(const char *path) {
  char *copy = wk_xstrdup(path);
  bool ok = true;
  for (char *p = copy + 1; ok && *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
    *p = '/';
  }
  ok = ok && (mkdir(copy, 0777) == 0 || errno == EEXIST);
  free(copy);
  return ok ? NULL : wk_error_at(WK_IO, path, "cannot make the folder: %s", strerror(errno));
}

static wk_status cache_folder(wk_str *out) {
  const char *own = getenv("WICK_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own && *own) wk_str_add(out, own);
  else if (xdg && *xdg) wk_str_printf(out, "%s/wick", xdg);
  else if (home && *home) wk_str_printf(out, "%s/.cache/wick", home);
  else return wk_error(WK_IO, "no folder for built models: set WICK_CACHE");
  return make_folder(out->s);
}

/* ---- running tools --------------------------------------------------------------------------- */

static wk_status start(const char *const *argv, const char *log, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log, 1 | 0100 | 02000, 0666); /* WRONLY CREAT APPEND */
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  int e = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (e == ENOENT)
    return wk_error(WK_IO, "'%s' is not installed; the RTL model needs it (scripts/install)", argv[0]);
  return e ? wk_error(WK_IO, "cannot start '%s': %s", argv[0], strerror(e)) : NULL;
}

static int count_files(const char *dir, const char *suffix) {
  int n = 0;
  size_t end = strlen(suffix);
  struct dirent *e;
  DIR *d = opendir(dir);
  while (d && (e = readdir(d))) {
    size_t length = strlen(e->d_name);
    n += length > end && !strcmp(e->d_name + length - end, suffix);
  }
  if (d) closedir(d);
  return n;
}

static void report(const job *j, const char *what, int percent) {
  if (j->o->progress) j->o->progress(j->o->context, what, percent);
}

/* The last lines of a log, as items of the message. */
static wk_status with_log(wk_status s, const char *log) {
  wk_file f;
  wk_status unread = wk_file_map(log, &f);
  if (unread) {
    wk_status_free(unread);
    return s;
  }
  size_t from = f.size;
  for (int lines = 0; from > 0 && lines < 12; from--) lines += f.data[from - 1] == '\n';
  while (from < f.size) {
    const uint8_t *end = memchr(f.data + from, '\n', f.size - from);
    size_t n = end ? (size_t)(end - f.data) - from : f.size - from;
    s = wk_status_item(s, "%.*s", (int)n, (const char *)f.data + from);
    from += n + 1;
  }
  wk_file_unmap(&f);
  return s;
}

static wk_status run_tool(const job *j, const char *const *argv, const char *what) {
  wk_str log = {0};
  pid_t pid;
  int state = 0;
  wk_str_printf(&log, "%s/log", j->work);
  wk_status s = start(argv, log.s, &pid);
  if (!s) {
    report(j, what, 0); /* once; what follows is more */
    while (waitpid(pid, &state, WNOHANG) == 0) {
      int sources = count_files(j->work, ".cpp"), objects = count_files(j->work, ".o");
      report(j, what, sources ? 1 + 98 * objects / (sources + 2) : -1);
      usleep(100000);
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
      s = with_log(wk_error_at(WK_INPUT, j->rtl, "%s: %s failed:", what, argv[0]), log.s);
  }
  wk_str_free(&log);
  return s;
}

/* ---- building -------------------------------------------------------------------------------- */

static wk_status write_text(const job *j, const char *file, wk_str *text) {
  wk_str path = {0};
  wk_str_printf(&path, "%s/%s", j->work, file);
  wk_status s = wk_write_file(path.s, text->s, text->n);
  wk_str_free(&path);
  wk_str_free(text);
  return s;
}

static wk_status write_generated(const job *j) {
  wk_str package = {0}, registers = {0};
  wk_isa_systemverilog(&package, j->o->machine);
  WK_TRY(write_text(j, "wick_pkg.sv", &package));
  wk_isa_registers_c(&registers);
  wk_str path = {0};
  wk_str_printf(&path, "%s/sim/verilated", j->work);
  wk_status s = make_folder(path.s);
  wk_str_free(&path);
  return s ? s : write_text(j, "sim/verilated/registers.h", &registers);
}

/* One command line of Verilator: translate, and make with the machine's own compiler. */
static wk_status verilate(const job *j) {
  wk_arena *a = wk_arena_new();
  WK_VEC(const char *) argv = {0};
  for (size_t i = 0; i < WK_COUNTOF(verilator); i++) wk_vec_push(&argv, verilator[i]);
  wk_vec_push(&argv, "-MAKEFLAGS");
  wk_vec_push(&argv, wk_arena_printf(a, "CXX=%s LINK=%s %s", compiler(), compiler(), optimisation));
  if (!j->o->coverage) wk_vec_push(&argv, "--flatten"); /* coverage is counted by module */
  if (j->o->waves) wk_vec_push(&argv, "--trace-fst");
  if (j->o->coverage) {
    wk_vec_push(&argv, "--coverage-line");
    wk_vec_push(&argv, "--coverage-toggle");
  }
  wk_vec_push(&argv, "-CFLAGS");
  wk_vec_push(&argv, wk_arena_printf(a, "-fPIC -fvisibility=hidden -I%s -I%s/..", j->work, WICK_SIM_DIR));
  wk_vec_push(&argv, "-LDFLAGS");
  wk_vec_push(&argv, "-shared");
  wk_vec_push(&argv, "-Mdir");
  wk_vec_push(&argv, j->work);
  wk_vec_push(&argv, "-o");
  wk_vec_push(&argv, "model.so");
  wk_vec_push(&argv, wk_arena_printf(a, "%s/wick_pkg.sv", j->work));
  for (size_t i = 0; i < j->sources.n; i++) wk_vec_push(&argv, j->sources.data[i]);
  wk_vec_push(&argv, wk_arena_printf(a, "%s/verilated/bench.cpp", WICK_SIM_DIR));
  wk_vec_push(&argv, NULL);
  wk_status s = run_tool(j, argv.data, "building the cycle model");
  wk_vec_free(&argv);
  wk_arena_free(a);
  return s;
}

static void remove_folder(const char *path) {
  const char *const argv[] = {"rm", "-rf", "--", path, NULL};
  pid_t pid;
  wk_status s = start(argv, "/dev/null", &pid);
  if (!s) waitpid(pid, NULL, 0);
  wk_status_free(s);
}

static wk_status build(const job *j) {
  wk_str made = {0};
  wk_status s = make_folder(j->work);
  if (!s) s = write_generated(j);
  if (!s) s = verilate(j);
  wk_str_printf(&made, "%s/model.so", j->work);
  if (!s && rename(made.s, j->library) != 0)
    s = wk_error_at(WK_IO, j->library, "cannot write: %s", strerror(errno));
  wk_str_free(&made);
  remove_folder(j->work);
  return s;
}

static wk_status prepare(job *j) {
  wk_str cache = {0};
  uint64_t key;
  wk_status s = list_rtl(j->rtl, &j->sources);
  if (!s) s = key_of(j, &key);
  if (!s) s = cache_folder(&cache);
  if (!s) {
    wk_str library = {0}, work = {0};
    wk_str_printf(&library, "%s/%s-%016llx.so", cache.s, j->o->machine->name, (unsigned long long)key);
    wk_str_printf(&work, "%s.build-%ld", library.s, (long)getpid());
    j->library = library.s;
    j->work = work.s;
  }
  wk_str_free(&cache);
  return s;
}

wk_status wk_sim_build(const wk_sim_build_options *o, char **path) {
  job j = {.o = o, .rtl = o->rtl ? o->rtl : WICK_SIM_DIR "/rtl"};
  wk_status s = prepare(&j);
  if (!s && (o->rebuild || access(j.library, R_OK) != 0)) s = build(&j);
  free_names(&j.sources);
  free(j.work);
  if (s) free(j.library);
  else *path = j.library;
  return s;
}

/* ---- models ---------------------------------------------------------------------------------- */

static wk_status load(const char *path, const wk_sim_model **model) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return wk_error_at(WK_IO, path, "cannot load: %s", dlerror());
  *model = dlsym(library, WK_SIM_RTL_SYMBOL);
  if (!*model || (*model)->abi != WK_SIM_ABI)
    return wk_error_at(WK_INPUT, path, "this is no RTL model of this version of wick");
  return NULL;
}

wk_status wk_sim_model_of(wk_sim_kind kind, const wk_sim_build_options *o,
                          const wk_sim_model **model) {
  static const wk_sim_model *const in_c[] = {[WK_SIM_FUNCTIONAL] = &wk_sim_functional,
                                             [WK_SIM_TIMING] = &wk_sim_timing};
  char *path;
  if (kind != WK_SIM_RTL) {
    *model = in_c[kind];
    return NULL;
  }
  WK_TRY(wk_sim_build(o, &path));
  wk_status s = load(path, model);
  free(path);
  return s;
}
