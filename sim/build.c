/* SPDX-License-Identifier: Apache-2.0
 * From RTL to a shared library: a key over everything that goes in, and when the cache has no
 * library of that key, Verilator and a C++ compiler in a folder beside it, which is locked while
 * they work; the library is renamed into place when all is done. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/trusted.h"
#include "sim/build.h"
#include "sim/tool.h"
#include "targets/accel/isa/isa.h"

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

static const char *const bench_files[] = {
#define SIM_FILE(path) path,
#include "sim/files.def"
#undef SIM_FILE
};

/* A model runs as quickly as it can: those of clang++ are a fifth quicker. One that counts what it
 * covers has ten times the code, of which g++ makes something in minutes if functions are small; it
 * counts by module, and looks at assertions. */
typedef struct {
  const char *compilers[4], *optimisation, *arguments[6];
} build_kind;

typedef struct {
  const wk_sim_build_options *o;
  const build_kind *kind;
  const char *root, *rtl; /* wk_sim_root; the RTL, there or elsewhere */
  char *library, *work; /* the result; a folder to work in */
  names sources;
} job;

static const char *const verilator[] = {
    "verilator", "--cc", "--exe", "--build", "-j", "2", "-Wall", "-Wno-fatal",
    "-Werror-USERERROR", "--top-module", "wick_accel", "-O3", "--x-assign", "fast",
    "--x-initial", "unique", "+define+WICK_WIDE", "--output-split", "20000"};

static const build_kind quick = {
    {"clang++-19", "clang++", "g++"},
    "OPT_FAST='-O3 -march=native' OPT_SLOW=-O1 OPT_GLOBAL='-O2 -march=native'",
    {"--output-split-cfuncs", "20000", "--noassert", "--flatten"}};
static const build_kind tuned = {
    {"clang++-19"},
    "OPT_FAST='-O2 -march=native' OPT_SLOW=-O1 OPT_GLOBAL='-O2 -march=native'",
    {"--output-split-cfuncs", "20000", "--noassert", "--flatten"}};
static const build_kind counting = {
    {"g++", "clang++-19", "clang++"},
    "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1",
    {"--output-split-cfuncs", "500", "--assert", "--coverage-line", "--coverage-toggle"}};

/* Of the two times that a tuned model is compiled. LLVM has the pass that makes branches of selects
 * where the profile says so, but leaves it out unless it is asked for. */
static const char counting_flags[] = "-fprofile-generate -DWICK_PROFILE",
                  profile_flags[] = "-mllvm -disable-select-optimize=false -fprofile-use=",
                  profile_tool[] = "llvm-profdata-19";

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

/* The first that is installed. */
static const char *compiler(const build_kind *kind) {
  const char *const *name = kind->compilers;
  while (name[1] && !is_installed(*name)) name++;
  return *name;
}

static wk_status hash_tuning(const wk_machine *m, uint64_t *key) {
  wk_str text = {0};
  WK_TRY(wk_sim_training_text(m, &text));
  wk_str_printf(&text, "%s %s", counting_flags, profile_flags);
  *key = wk_hash64(text.s, text.n, *key);
  wk_str_free(&text);
  return NULL;
}

static wk_status key_of(const job *j, uint64_t *key) {
  const wk_sim_build_options *o = j->o;
  char flags[256];
  *key = wk_machine_hash(o->machine);
  for (size_t i = 0; i < j->sources.n; i++) WK_TRY(hash_file(j->sources.data[i], key));
  for (size_t i = 0; i < WK_COUNTOF(bench_files); i++) {
    wk_str path = {0};
    wk_str_printf(&path, "%s/%s", j->root, bench_files[i]);
    wk_status s = hash_file(path.s, key);
    wk_str_free(&path);
    WK_TRY(s);
  }
  int n = snprintf(flags, sizeof flags, "abi %d waves %d coverage %d probe %d %s %s", WK_SIM_ABI,
                   o->waves, o->coverage, o->probe, compiler(j->kind), j->kind->optimisation);
  *key = wk_hash64(flags, (size_t)n, *key);
  for (size_t i = 0; i < WK_COUNTOF(verilator); i++)
    *key = wk_hash64(verilator[i], strlen(verilator[i]), *key);
  for (const char *const *arg = j->kind->arguments; *arg; arg++)
    *key = wk_hash64(*arg, strlen(*arg), *key);
  hash_processor(key);
  return j->kind == &tuned ? hash_tuning(o->machine, key) : NULL;
}

/* ---- folders --------------------------------------------------------------------------------- */

static wk_status make_folder(const char *path) {
  char *copy = wk_xstrdup(path);
  bool ok = true;
  for (char *p = copy + 1; ok && *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    ok = mkdir(copy, 0700) == 0 || errno == EEXIST;
    *p = '/';
  }
  ok = ok && (mkdir(copy, 0700) == 0 || errno == EEXIST);
  free(copy);
  return ok ? NULL : wk_error_at(WK_IO, path, "cannot make the folder: %s", strerror(errno));
}

/* What is in it becomes code of this process. */
static wk_status cache_folder(wk_str *out) {
  char path[PATH_MAX];
  int reason;
  const char *why = wick_cache_folder(NULL, path, sizeof path, &reason);
  if (!why) {
    wk_str_add(out, path);
    return NULL;
  }
  if (!*path) return wk_error(WK_IO, "no folder for built models: set WICK_CACHE");
  if (reason) return wk_error_at(WK_IO, path, "%s: %s", why, strerror(reason));
  return wk_error_at(WK_IO, path, "the folder of built models is not used: %s; set WICK_CACHE to "
                     "a folder that nobody else can write, or chmod go-w it", why);
}

/* ---- building -------------------------------------------------------------------------------- */

static void report(const job *j, const char *what, int percent) {
  char text[128];
  if (!j->o->progress) return;
  snprintf(text, sizeof text, "%s '%s'", what, j->o->machine->name);
  j->o->progress(j->o->context, text, percent);
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

/* One translation and compilation of the RTL. */
typedef struct {
  const job *j;
  const char *what;   /* for whoever waits */
  const char *folder; /* of its files, the model.so among them */
  const char *flags;  /* of compiler and linker, besides the kind's; "" */
} step;

static void report_files(const void *context) {
  const step *x = context;
  int sources = count_files(x->folder, ".cpp"), objects = count_files(x->folder, ".o");
  int percent = sources ? 1 + 98 * objects / (sources + 2) : -1; /* some have sources elsewhere */
  report(x->j, x->what, percent > 99 ? 99 : percent);
}

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
static wk_status verilate(const step *x) {
  const job *j = x->j;
  const build_kind *kind = j->kind;
  wk_arena *a = wk_arena_new();
  WK_VEC(const char *) argv = {0};
  for (size_t i = 0; i < WK_COUNTOF(verilator); i++) wk_vec_push(&argv, verilator[i]);
  for (size_t i = 0; i < WK_COUNTOF(kind->arguments) && kind->arguments[i]; i++)
    wk_vec_push(&argv, kind->arguments[i]);
  if (j->o->waves) wk_vec_push(&argv, "--trace-fst");
  wk_vec_push(&argv, "-MAKEFLAGS");
  wk_vec_push(&argv, wk_arena_printf(a, "CXX=%s LINK=%s %s", compiler(kind),
                                     compiler(kind), kind->optimisation));
  wk_vec_push(&argv, "-CFLAGS");
  wk_vec_push(&argv, wk_arena_printf(a, "-fPIC -fvisibility=hidden -I%s -I%s%s%s %s", j->work,
                                     j->root, j->o->probe ? " -DWICK_PROBE" : "",
                                     kind == &tuned ? " -DWICK_TUNED" : "", x->flags));
  wk_vec_push(&argv, "-LDFLAGS");
  wk_vec_push(&argv, wk_arena_printf(a, "-shared %s", x->flags));
  wk_vec_push(&argv, "-Mdir");
  wk_vec_push(&argv, x->folder);
  wk_vec_push(&argv, "-o");
  wk_vec_push(&argv, "model.so");
  wk_vec_push(&argv, wk_arena_printf(a, "%s/wick_pkg.sv", j->work));
  for (size_t i = 0; i < j->sources.n; i++) wk_vec_push(&argv, j->sources.data[i]);
  if (j->o->probe)
    wk_vec_push(&argv, wk_arena_printf(a, "%s/sim/verilated/spm_probe.sv", j->root));
  wk_vec_push(&argv, wk_arena_printf(a, "%s/sim/verilated/bench.cpp", j->root));
  wk_vec_push(&argv, NULL);
  report(j, x->what, 0); /* once; what follows is more */
  wk_status s = wk_sim_tool_run(argv.data, wk_arena_printf(a, "%s/log", j->work), report_files, x);
  if (s) s = wk_status_place(s, j->rtl);
  wk_vec_free(&argv);
  wk_arena_free(a);
  return s;
}

static void report_nothing(const void *context) { (void)context; }

/* The arena holds *made, the library. */
static wk_status make_tuned(const job *j, wk_arena *a, const char **made) {
  const char *counts = wk_arena_printf(a, "%s/counts", j->work);
  const char *profile = wk_arena_printf(a, "%s/profile", j->work);
  const char *const merge[] = {profile_tool, "merge", "-o", profile, counts, NULL};
  const step first = {j, "building a cycle model that counts",
                      wk_arena_printf(a, "%s/counting", j->work), counting_flags};
  const step second = {j, "building the tuned cycle model", wk_arena_printf(a, "%s/tuned", j->work),
                       wk_arena_printf(a, "%s%s", profile_flags, profile)};
  if (!is_installed(compiler(&tuned)) || !is_installed(profile_tool))
    return wk_error(WK_IO, "a tuned model needs '%s' and '%s' (scripts/install)",
                    compiler(&tuned), profile_tool);
  WK_TRY(verilate(&first));
  WK_TRY(wk_sim_train(wk_arena_printf(a, "%s/model.so", first.folder), j->o->machine, counts));
  WK_TRY(wk_sim_tool_run(merge, wk_arena_printf(a, "%s/log", j->work), report_nothing, NULL));
  *made = wk_arena_printf(a, "%s/model.so", second.folder);
  return verilate(&second);
}

static wk_status make_once(const job *j, wk_arena *a, const char **made) {
  const step only = {j, "building the cycle model", j->work, ""};
  *made = wk_arena_printf(a, "%s/model.so", j->work);
  return verilate(&only);
}

/* Makes the folder to work in and locks it; who comes second waits until the first has removed
 * it. */
static wk_status lock_folder(const job *j, int *lock) {
  struct stat st;
  for (;;) {
    WK_TRY(make_folder(j->work));
    *lock = open(j->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*lock < 0 && errno == ENOENT) continue; /* removed just now */
    if (*lock < 0) return wk_error_at(WK_IO, j->work, "cannot open: %s", strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0) {
      report(j, "waiting for another build of the cycle model", 0);
      report(j, "waiting for another build of the cycle model", -1);
      flock(*lock, LOCK_EX);
    }
    if (fstat(*lock, &st) == 0 && st.st_nlink > 0) return NULL;
    close(*lock);
  }
}

static wk_status build(const job *j) {
  const char *const empty[] = {"find", j->work, "-mindepth", "1", "-delete", NULL};
  const char *const remove[] = {"rm", "-rf", "--", j->work, NULL};
  const char *made = NULL;
  wk_status s;
  int lock;
  WK_TRY(lock_folder(j, &lock));
  if (!j->o->rebuild && access(j->library, R_OK) == 0) { /* another one built it */
    wk_sim_tool_run_quietly(remove);
    close(lock);
    return NULL;
  }
  wk_sim_tool_run_quietly(empty); /* of what a build left that was killed */
  wk_arena *a = wk_arena_new();
  s = write_generated(j);
  if (!s) s = j->kind == &tuned ? make_tuned(j, a, &made) : make_once(j, a, &made);
  if (!s && (chmod(made, 0700) != 0 || rename(made, j->library) != 0)) /* whatever the umask */
    s = wk_error_at(WK_IO, j->library, "cannot write: %s", strerror(errno));
  wk_arena_free(a);
  wk_sim_tool_run_quietly(remove);
  close(lock);
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
    wk_str_printf(&library, "%s/%s-%016llx%s.so", cache.s, j->o->machine->name,
                  (unsigned long long)key, j->kind == &tuned ? "-tuned" : "");
    wk_str_printf(&work, "%s.build", library.s);
    j->library = library.s;
    j->work = work.s;
  }
  wk_str_free(&cache);
  return s;
}

/* *path: NULL, without an error, when the cache does not have it and may_build is not set. */
static wk_status get(const wk_sim_build_options *o, const build_kind *kind, bool may_build,
                     char **path) {
  wk_str root = {0}, rtl = {0};
  wk_sim_root(&root);
  wk_str_printf(&rtl, "%s/sim/rtl", root.s);
  job j = {.o = o, .kind = kind, .root = root.s, .rtl = o->rtl ? o->rtl : rtl.s};
  wk_status s = prepare(&j);
  bool is_there = !s && access(j.library, R_OK) == 0;
  if (!s && (may_build ? o->rebuild || !is_there : o->rebuild && is_there)) s = build(&j);
  free_names(&j.sources);
  free(j.work);
  wk_str_free(&root);
  wk_str_free(&rtl);
  *path = !s && (may_build || is_there) ? j.library : NULL;
  if (!*path) free(j.library);
  return s;
}

wk_status wk_sim_build(const wk_sim_build_options *o, char **path) {
  const build_kind *plain = o->coverage ? &counting : &quick;
  bool may_be_tuned = !o->waves && !o->coverage && !o->probe;
  *path = NULL;
  if (may_be_tuned && o->tune != WK_SIM_TUNE_NEVER)
    WK_TRY(get(o, &tuned, o->tune == WK_SIM_TUNE_NOW, path));
  return *path ? NULL : get(o, plain, true, path);
}
