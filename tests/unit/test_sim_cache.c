/* SPDX-License-Identifier: Apache-2.0
 * The cache of cycle models once more, with files of the host and of the project that this test
 * chooses, and a library that is none: processors, the bench, tuned models from their first
 * compilation to the second, folders, and how far a build is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/sim_build.h"

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

static void refuse(const wk_sim_build_options *o, const char *message) {
  char *path;
  wk_status s = wk_sim_build(o, &path);
  assert_non_null(s);
  assert_string_equal(s->message, message);
  assert_null(path);
  wk_status_free(s);
}

/* ---- what stands before files of the host and the project (tests.cmake: --wrap) -------------- */

static const char *processor;        /* a file; NULL: none */
static const char *replaced, *by;    /* the end of a path, a file */
static char loaded_path[256];        /* the last that was loaded */
static const wk_sim_model *the_model; /* of libraries; NULL: they have none */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  if (strcmp(path, "/proc/cpuinfo") != 0) return __real_fopen(path, mode);
  return processor ? __real_fopen(processor, mode) : NULL;
}

wk_status __real_wk_file_map(const char *path, wk_file *out);
wk_status __wrap_wk_file_map(const char *path, wk_file *out);
wk_status __wrap_wk_file_map(const char *path, wk_file *out) {
  size_t n = strlen(path), end = replaced ? strlen(replaced) : 0;
  bool is_it = replaced && n > end && !strcmp(path + n - end, replaced);
  return __real_wk_file_map(is_it ? by : path, out);
}

void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode) {
  (void)mode;
  snprintf(loaded_path, sizeof loaded_path, "%s", path);
  return &the_model;
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
  assert_ptr_equal(library, &the_model);
  assert_string_equal(name, WK_SIM_RTL_SYMBOL);
  return (void *)(uintptr_t)the_model;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static char *path_of(const wk_machine *m) {
  bool built;
  return library((wk_sim_build_options){.machine = m, .tune = WK_SIM_TUNE_NEVER}, &built);
}

static void processors_have_models_of_their_own(void **state) {
  (void)state;
  static const struct {
    const char *text; /* NULL: no file */
    int like;         /* the one that has the same model; itself: it is new */
  } cases[] = {
      {"processor\t: 0\nmodel name\t: A\nMHz\t: 1\nflags\t\t: x y\n\nmodel name\t: B\nflags\t: z\n",
       0},
      {"processor\t: 0\nmodel name\t: A\nMHz\t: 2\nflags\t\t: x y\n\nmodel name\t: B\nflags\t: z\n",
       0},
      {"processor\t: 0\nmodel name\t: C\nMHz\t: 1\nflags\t\t: x y\n\nmodel name\t: B\nflags\t: z\n",
       2},
      {"processor\t: 0\nmodel name\t: A\nMHz\t: 1\nflags\t\t: x\n\nmodel name\t: B\nflags\t: z\n",
       3},
      {"processor\t: 0\nmodel name\t: A\nMHz\t: 1\nflags\t\t: x y\n\nmodel name\t: D\nflags\t: w\n",
       0},
      {"processor\t: 0\nmodel name\t: A\nflags\t\t: x y\n", 0},
      {"model name\t: A\n", 6},
      {"flags\t\t: x y\n", 7},
      {"the flags\t: x y\nno model name\t: A\n", 8},
      {"\n", 8},
      {NULL, 8},
  };
  char *paths[WK_COUNTOF(cases)];
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    if (cases[i].text) write_file("cpuinfo", cases[i].text);
    processor = cases[i].text ? in_folder("cpuinfo") : NULL;
    paths[i] = path_of(&tiny);
    for (size_t k = 0; k < i; k++)
      if (!strcmp(paths[i], paths[k]) != (cases[i].like == cases[k].like))
        fail_msg("processors %zu and %zu", k, i);
  }
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) free(paths[i]);
  processor = NULL;
}

/* Each file that is compiled besides the RTL; a file that is not there is an error. */
static void the_bench_is_in_the_key(void **state) {
  (void)state;
  static const char *const files[] = {"/verilated/bench.cpp", "/verilated/monitor.h",
                                      "/verilated/spm_probe.sv", "/sim/model.h",
                                      "/accel/model/dram.h"};
  char *paths[1 + WK_COUNTOF(files)];
  write_file("other", "something else");
  paths[0] = path_of(&tiny);
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    char nothing[256];
    replaced = files[i];
    by = in_folder("other");
    paths[i + 1] = path_of(&tiny);
    for (size_t k = 0; k <= i; k++) assert_string_not_equal(paths[k], paths[i + 1]);
    snprintf(nothing, sizeof nothing, "%s", in_folder("nothing"));
    by = nothing;
    refuse(&(wk_sim_build_options){.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER},
           "cannot open: No such file or directory");
    replaced = NULL;
    char *again = path_of(&tiny);
    assert_string_equal(again, paths[0]);
    free(again);
  }
  for (size_t i = 0; i <= WK_COUNTOF(files); i++) free(paths[i]);
}

/* ---- libraries ------------------------------------------------------------------------------- */

static struct {
  wk_machine machine;
  wk_dram_params dram;
  wk_sim_job job;
  int runs;
  uint32_t status; /* that a run ends with */
  char counts[256];
} trained;

static void *open_fake(const wk_sim_options *o) {
  trained.machine = *(const wk_machine *)o->machine;
  trained.dram = o->dram;
  return &trained;
}

static void run_fake(void *model, const wk_sim_job *job, wk_sim_result *r) {
  assert_ptr_equal(model, &trained);
  trained.job = *job;
  trained.runs++;
  *r = (wk_sim_result){.config = wk_machine_hash(&trained.machine), .status = trained.status,
                       .error = trained.status & 4 ? WK_ERROR_timeout : 0};
}

static void close_fake(void *model) { assert_ptr_equal(model, &trained); }

static void write_counts(const char *path) {
  snprintf(trained.counts, sizeof trained.counts, "%s", path);
  must(wk_write_file(path, "counts", 6));
}

static const wk_sim_model fake = {WK_SIM_ABI, "fake", "tuned", open_fake, run_fake, close_fake,
                                  write_counts},
                          newer = {WK_SIM_ABI + 1, "fake", NULL, open_fake, run_fake, close_fake,
                                   NULL},
                          older = {WK_SIM_ABI - 1, "fake", NULL, open_fake, run_fake, close_fake,
                                   NULL};

static void libraries_have_the_model_of_this_version(void **state) {
  (void)state;
  static const wk_sim_model *const bad[] = {NULL, &newer, &older};
  const wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER};
  const wk_sim_model *model;
  char *path = path_of(&tiny);
  the_model = &fake;
  must(wk_sim_model_of(WK_SIM_RTL, &o, &model));
  assert_ptr_equal(model, &fake);
  assert_string_equal(loaded_path, path);
  for (size_t i = 0; i < WK_COUNTOF(bad); i++) {
    the_model = bad[i];
    wk_status s = wk_sim_load(path, &model);
    assert_non_null(s);
    assert_string_equal(s->message, "this is no RTL model of this version of wick");
    assert_string_equal(s->place, path);
    assert_int_equal(s->code, WK_INPUT);
    wk_status_free(s);
  }
  loaded_path[0] = '\0';
  must(wk_sim_model_of(WK_SIM_FUNCTIONAL, NULL, &model));
  assert_ptr_equal(model, &wk_sim_functional);
  must(wk_sim_model_of(WK_SIM_TIMING, NULL, &model));
  assert_ptr_equal(model, &wk_sim_timing);
  assert_string_equal(loaded_path, "");
  free(path);
}

/* ---- tuned models ---------------------------------------------------------------------------- */

/* Each call's arguments in a line behind those of the calls before. */
#define EACH_CALL                                                                           \
  "#!/bin/sh\necho \"$@\" >>%s/calls\nwhile [ \"$1\" != -Mdir ]; do shift; done\n"           \
  "/bin/mkdir -p \"$2\"\necho \"${2##*/}\" >\"$2/model.so\"\n"
#define PROFDATA                                                                            \
  "#!/bin/sh\necho \"$@\" >>%s/calls\n[ -f \"$4\" ] && echo profile >\"$3\"\n"

static void write_tools(void) {
  char text[400];
  snprintf(text, sizeof text, EACH_CALL, folder);
  tool("verilator", text);
  snprintf(text, sizeof text, PROFDATA, folder);
  tool("llvm-profdata-19", text);
}

static char *calls(const char *work) {
  wk_file f;
  wk_str y = {0};
  must(wk_file_map(in_folder("calls"), &f));
  for (size_t i = 0; i < f.size; i++) {
    size_t n = strlen(work);
    bool is_work = f.size - i >= n && !memcmp(f.data + i, work, n);
    if (is_work) wk_str_add(&y, "WORK");
    else wk_str_addn(&y, (const char *)f.data + i, 1);
    if (is_work) i += n - 1;
  }
  wk_file_unmap(&f);
  return y.s;
}

static void contains(const char *text, const char *what) {
  if (!strstr(text, what)) fail_msg("no %s in\n%s", what, text);
}

/* Compiled to count, trained on a machine with the default memory, compiled with the profile. */
static void tuned_models_are_compiled_twice(void **state) {
  (void)state;
  wk_machine slow = tiny, defaults;
  wk_sim_build_options o = {.machine = &slow, .rtl = rtl, .tune = WK_SIM_TUNE_NOW};
  wk_str work = {0};
  wk_file f;
  char *path, *again;
  slow.dram_latency = 777;
  wk_machine_defaults(&defaults);
  write_tools();
  the_model = &fake;
  trained.status = 2;
  must(wk_sim_build(&o, &path));
  wk_str_printf(&work, "%s.build", path);
  contains(path, "/tiny-");
  contains(path, "-tuned.so");
  must(wk_file_map(path, &f));
  assert_int_equal(f.size, 6);
  assert_memory_equal(f.data, "tuned\n", 6);
  wk_file_unmap(&f);
  assert_int_not_equal(access(work.s, F_OK), 0);
  char *text = calls(work.s);
  static const char *const want[] = {
      "-DWICK_TUNED -fprofile-generate -DWICK_PROFILE -LDFLAGS -shared -fprofile-generate "
      "-DWICK_PROFILE -Mdir WORK/counting -o model.so WORK/wick_pkg.sv ",
      "\nmerge -o WORK/profile WORK/counts\n",
      "-DWICK_TUNED -mllvm -disable-select-optimize=false -fprofile-use=WORK/profile -LDFLAGS "
      "-shared -mllvm -disable-select-optimize=false -fprofile-use=WORK/profile -Mdir WORK/tuned "
      "-o model.so WORK/wick_pkg.sv "};
  for (size_t i = 0; i < WK_COUNTOF(want); i++) contains(text, want[i]);
  contains(text, "-MAKEFLAGS CXX=clang++-19 LINK=clang++-19 OPT_FAST='-O2 -march=native' "
                 "OPT_SLOW=-O1 OPT_GLOBAL='-O2 -march=native' ");
  free(text);
  assert_int_equal(strncmp(loaded_path, work.s, work.n), 0);
  assert_string_equal(loaded_path + work.n, "/counting/model.so");
  assert_int_equal(strncmp(trained.counts, work.s, work.n), 0);
  assert_string_equal(trained.counts + work.n, "/counts");
  assert_int_equal(trained.runs, 1);
  assert_int_equal(trained.job.max_cycles, 8000000);
  assert_string_equal(trained.machine.name, "tiny");
  assert_int_equal(wk_machine_hash(&trained.machine), wk_machine_hash(&tiny));
  assert_int_equal(trained.dram.latency, defaults.dram_latency);
  assert_int_equal(trained.machine.dram_size, defaults.dram_size);
  /* memory is nothing to it; what it is trained on is */
  o.machine = &tiny;
  must(wk_sim_build(&o, &again));
  assert_string_equal(again, path);
  assert_int_equal(trained.runs, 1);
  free(again);
  write_file("other.s", "end\n");
  replaced = "/training.s", by = in_folder("other.s");
  must(wk_sim_build(&o, &again));
  assert_string_not_equal(again, path);
  assert_int_equal(trained.runs, 2);
  assert_int_equal(trained.job.count, 1);
  replaced = NULL;
  free(again);
  unlink(path);
  free(path);
  wk_str_free(&work);
}

/* Nothing is left of one that fails, and there is no library. */
static void tuning_fails(void **state) {
  (void)state;
  wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NOW};
  trained.status = 4;
  refuse(&o, "command 0 (LD): no progress for TIMEOUT cycles; the index is that of the next "
             "command to dispatch; see `stuck` in STATUS");
  trained.status = 2;
  the_model = &newer;
  refuse(&o, "this is no RTL model of this version of wick");
  the_model = &fake;
  tool("llvm-profdata-19", "#!/bin/sh\necho no profile\nexit 1\n");
  refuse(&o, "llvm-profdata-19 failed:");
  write_tools();
  write_file("bad.s", "konv\n");
  replaced = "/training.s", by = in_folder("bad.s");
  refuse(&o, "unknown command 'konv'; did you mean 'conv'?");
  replaced = NULL;
  run("test \"$(ls cache | grep -c build)\" = 0");
  o.tune = WK_SIM_TUNE_CACHED;
  char *path;
  must(wk_sim_build(&o, &path));
  assert_null(strstr(path, "-tuned"));
  free(path);
}

/* ---- folders --------------------------------------------------------------------------------- */

static void folders_are_made(void **state) {
  (void)state;
  char here[256];
  struct stat st;
  char *path;
  umask(022);
  wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER};
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(folder), 0);
  static const char *const good[] = {"new/of/four/folders", "d/e", "n", "new/of/more"};
  for (size_t i = 0; i < WK_COUNTOF(good); i++) {
    setenv("WICK_CACHE", i % 2 ? good[i] : in_folder(good[i]), 1);
    must(wk_sim_build(&o, &path));
    assert_int_equal(stat(in_folder(good[i]), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700); /* ours alone */
    free(path);
  }
  assert_int_equal(stat(in_folder("new/of"), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0700);
  write_file("file", "");
  setenv("WICK_CACHE", in_folder("file/of/folders"), 1);
  refuse(&o, "cannot make the folder: Not a directory");
  setenv("WICK_CACHE", in_folder("cache"), 1);
  assert_int_equal(chdir(here), 0);
}

/* What is in them becomes code: nobody else may have written it. */
static void folders_and_models_are_ours(void **state) {
  (void)state;
  const wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER};
  const wk_sim_model *model;
  struct stat st;
  char *path;
  mode_t mask = umask(0); /* of people who trust their group, or everybody */
  setenv("WICK_CACHE", in_folder("alone"), 1);
  must(wk_sim_build(&o, &path));
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
  the_model = &wk_sim_timing;
  must(wk_sim_load(path, &model));
  static const struct {
    const char *command, *why;
  } files[] = {{"chmod 720 alone/*.so", "cannot load: others may write it"},
               {"chmod 702 alone/*.so", "cannot load: others may write it"},
               {"chmod 700 alone/*.so && mv alone/*.so . && ln -s ../$(ls *.so) alone/$(ls *.so)",
                "cannot load: it is a symbolic link"},
               {"rm alone/*.so && mkdir alone/$(ls *.so) && chmod 777 alone/*.so",
                "cannot load: others may write it"},
               {"rmdir alone/*.so && mv *.so alone && chown 12345 alone/*.so",
                "cannot load: it belongs to another user"}};
  for (size_t i = 0; i < WK_COUNTOF(files) - (geteuid() != 0); i++) {
    run(files[i].command);
    wk_status s = wk_sim_load(path, &model);
    assert_non_null(s);
    assert_string_equal(s->message, files[i].why);
    wk_status_free(s);
  }
  free(path);
  static const struct {
    const char *command, *why;
  } folders[] = {{"chmod 770 alone", "others may write it"},
                 {"chmod 703 alone", "others may write it"},
                 {"mv alone real && chmod 700 real && ln -s real alone", "it is a symbolic link"},
                 {"rm alone && mv real alone && chown 12345 alone", "it belongs to another user"}};
  for (size_t i = 0; i < WK_COUNTOF(folders) - (geteuid() != 0); i++) {
    char text[180];
    run(folders[i].command);
    snprintf(text, sizeof text, "the folder of built models is not used: %s; set WICK_CACHE to a "
             "folder that nobody else can write, or chmod go-w it", folders[i].why);
    refuse(&o, text);
  }
  run("rm -rf alone real");
  umask(mask);
  setenv("WICK_CACHE", in_folder("cache"), 1);
}

static void set(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

/* By three variables, of which empty ones do not count. */
static void folders_are_those_of_the_user(void **state) {
  (void)state;
  static const char *const names[] = {"WICK_CACHE", "XDG_CACHE_HOME", "HOME"};
  static const struct {
    const char *values[3], *wanted; /* NULL: nowhere */
  } cases[] = {
      {{"own", "xdg", "home"}, "own/"},       {{"", "xdg", "home"}, "xdg/wick/"},
      {{NULL, "xdg", NULL}, "xdg/wick/"},     {{NULL, "", "home"}, "home/.cache/wick/"},
      {{NULL, NULL, "home"}, "home/.cache/wick/"}, {{NULL, NULL, ""}, NULL},
      {{"", "", NULL}, NULL}};
  wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER};
  char here[256], *kept[3], *path;
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(folder), 0);
  for (int k = 0; k < 3; k++) kept[k] = getenv(names[k]) ? wk_xstrdup(getenv(names[k])) : NULL;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    for (int k = 0; k < 3; k++) set(names[k], cases[i].values[k]);
    errno = 0;
    if (cases[i].wanted) {
      must(wk_sim_build(&o, &path));
      assert_memory_equal(path, cases[i].wanted, strlen(cases[i].wanted));
      free(path);
    } else {
      refuse(&o, "no folder for built models: set WICK_CACHE");
    }
  }
  for (int k = 0; k < 3; k++) set(names[k], kept[k]), free(kept[k]);
  assert_int_equal(chdir(here), 0);
}

/* What a build that was killed has left is gone; a file where the folder should be is an error. */
static void the_folder_to_work_in_is_empty(void **state) {
  (void)state;
  wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER,
                            .rebuild = true};
  char script[400], command[600];
  wk_str want = {0};
  wk_file f;
  char *path = path_of(&tiny), *again;
  snprintf(script, sizeof script, "#!/bin/sh\nwhile [ \"$1\" != -Mdir ]; do shift; done\n"
           "(cd \"$2\" && /usr/bin/find . -type f | /usr/bin/sort) >%s/found\n"
           "/bin/cp \"$2/wick_pkg.sv\" \"$2/sim/verilated/registers.h\" %s\n: >\"$2/model.so\"\n",
           folder, folder);
  tool("verilator", script);
  snprintf(command, sizeof command, "mkdir -p %s.build/sub && touch %s.build/sub/old.o "
           "%s.build/old.cpp", path, path, path);
  run(command);
  must(wk_sim_build(&o, &again));
  must(wk_file_map(in_folder("found"), &f));
  static const char files[] = "./log\n./sim/verilated/registers.h\n./wick_pkg.sv\n";
  assert_int_equal(f.size, strlen(files));
  assert_memory_equal(f.data, files, f.size);
  wk_file_unmap(&f);
  wk_isa_systemverilog(&want, &tiny);
  must(wk_file_map(in_folder("wick_pkg.sv"), &f));
  assert_int_equal(f.size, want.n);
  assert_memory_equal(f.data, want.s, want.n);
  wk_file_unmap(&f);
  want.n = 0;
  wk_isa_registers_c(&want);
  must(wk_file_map(in_folder("registers.h"), &f));
  assert_int_equal(f.size, want.n);
  assert_memory_equal(f.data, want.s, want.n);
  wk_file_unmap(&f);
  wk_str_free(&want);
  free(again);
  snprintf(command, sizeof command, "touch %s.build", path);
  run(command);
  refuse(&o, "cannot open: Not a directory");
  snprintf(command, sizeof command, "rm %s.build", path);
  run(command);
  free(path);
}

/* ---- how far it is --------------------------------------------------------------------------- */

static struct {
  int list[64], n;
  char what[128];
} told;

static void tell(void *context, const char *what, int percent) {
  assert_ptr_equal(context, &told);
  snprintf(told.what, sizeof told.what, "%s", what);
  if (told.n && told.list[told.n - 1] == percent) return;
  if (told.n < (int)WK_COUNTOF(told.list)) told.list[told.n++] = percent;
  char name[16];
  snprintf(name, sizeof name, "told%d", percent);
  write_file(name, "");
}

static bool was_told(int percent) {
  for (int i = 0; i < told.n; i++)
    if (told.list[i] == percent) return true;
  return false;
}

/* Seven of eight files are compiled, then more than there are; files of other names do not count.
 * The tool goes on when each has been told, however slow or fast the machine is. */
#define UNTIL_TOLD(percent) "until [ -e %s" percent " ]; do sleep 0.01; done\n"
static void progress_is_told(void **state) {
  (void)state;
  wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .tune = WK_SIM_TUNE_NEVER,
                            .rebuild = true, .progress = tell, .context = &told};
  char *path, script[2048], at[256];
  snprintf(at, sizeof at, "%s", in_folder("told"));
  snprintf(script, sizeof script,
           "#!/bin/sh\nwhile [ \"$1\" != -Mdir ]; do shift; done\ncd \"$2\"\nPATH=/usr/bin:/bin\n"
           UNTIL_TOLD("-1")
           "touch .o .cpp a.obj cpp o 1.o 2.o 3.o 4.o 5.o 6.o 7.o\n"
           "touch 1.cpp 2.cpp 3.cpp 4.cpp 5.cpp 6.cpp 7.cpp 8.cpp\n"
           UNTIL_TOLD("69")
           "touch 8.o 9.o 10.o 11.o 12.o\n"
           UNTIL_TOLD("99")
           ": >model.so\n", at, at, at);
  tool("verilator", script);
  told.n = 0;
  must(wk_sim_build(&o, &path));
  assert_string_equal(told.what, "building the cycle model 'tiny'");
  assert_int_equal(told.list[0], 0);
  assert_true(was_told(-1)); /* no sources yet */
  assert_true(was_told(1 + 98 * 7 / 10));
  assert_int_equal(told.list[told.n - 1], 99);
  for (int i = 0; i < told.n; i++) assert_true(told.list[i] <= 99);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processors_have_models_of_their_own),
      cmocka_unit_test(the_bench_is_in_the_key),
      cmocka_unit_test(libraries_have_the_model_of_this_version),
      cmocka_unit_test(tuned_models_are_compiled_twice),
      cmocka_unit_test(tuning_fails),
      cmocka_unit_test(folders_are_made),
      cmocka_unit_test(folders_and_models_are_ours),
      cmocka_unit_test(folders_are_those_of_the_user),
      cmocka_unit_test(the_folder_to_work_in_is_empty),
      cmocka_unit_test(progress_is_told),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
