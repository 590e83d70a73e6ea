/* SPDX-License-Identifier: Apache-2.0
 * What commands say of files and of the runtime's errors: which files are the same, whoever names
 * them how, and which exit status and text belongs to each status of the runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/paths.h"
#include "compiler/pipeline/runner.h"

/* ---- what is written over what --------------------------------------------------------------- */

enum { MOST = 4 };

/* "r:what:path" or "w:what:path". In the folder there are a, b, sub/a, hard (a by another name),
 * soft (a link to a), linked (a link to sub), ahead (a link to sub/new, which does not exist) and
 * gone (a link into a folder that does not exist). */
static const struct {
  const char *uses[MOST];
  const char *said; /* PLACE: MESSAGE; NULL: nothing is wrong */
} paths[] = {
    {{"r:the model:a", "w:--output:b"}, NULL},
    {{"r:the model:a", "w:--output:a"}, "a: --output would overwrite the model"},
    {{"w:--output:a", "r:the model:a"}, "a: --output would overwrite the model"},
    {{"r:--input:a", "w:--output:a"}, "a: --output would overwrite the file of --input"},
    {{"w:--output:a", "r:--input:a"}, "a: --output would overwrite the file of --input"},
    {{"r:--input:a", "r:--value:a"}, NULL},
    {{"r:--input:a", "r:--input:a"}, NULL},
    {{"w:--output:a", "w:--report:a"}, "a: --report would overwrite the file of --output"},
    {{"w:--output:new", "w:--report:new"}, "new: --report would overwrite the file of --output"},
    {{"w:--output:new", "w:--report:newer"}, NULL},
    {{"w:--output:new", "w:--output:new"}, NULL}, /* of one option: looked at elsewhere */
    {{"w:--output:a", "w:--output:a"}, NULL},
    {{"w:the output:new", "w:--report:new"}, "new: --report would overwrite the output"},
    {{"w:--output:new", "w:the report:new"}, "new: the report would overwrite the "
     "file of --output"},
    {{"r:--input:new", "w:--output:new"}, NULL}, /* reading fails, and says so */
    /* the same by another name */
    {{"r:--input:a", "w:--output:./a"}, "./a: --output would overwrite the file of --input"},
    {{"r:--input:a", "w:--output:sub/../a"}, "sub/../a: --output would overwrite the file of "
     "--input"},
    {{"r:--input:a", "w:--output:hard"}, "hard: --output would overwrite the file of --input"},
    {{"r:--input:a", "w:--output:soft"}, "soft: --output would overwrite the file of --input"},
    {{"r:--input:sub/a", "w:--output:linked/a"}, "linked/a: --output would overwrite the file of "
     "--input"},
    {{"w:--output:sub/new", "w:--report:linked/new"}, "linked/new: --report would overwrite the "
     "file of --output"},
    {{"w:--output:ahead", "w:--report:sub/new"}, "sub/new: --report would overwrite the file of "
     "--output"},
    {{"w:--output:ahead", "w:--report:linked/new"}, "linked/new: --report would overwrite the file "
     "of --output"},
    /* of one name, in different folders */
    {{"r:--input:a", "w:--output:sub/a"}, NULL},
    {{"w:--output:new", "w:--report:sub/new"}, NULL},
    {{"w:--output:ahead", "w:--report:new"}, NULL},
    /* no files, or none that can be */
    {{"w:--output:-", "w:--report:-"}, NULL},
    {{"r:--input:", "w:--output:"}, NULL},
    {{"r:--input:sub", "w:--output:sub"}, "sub: cannot write: Is a directory"},
    {{"w:--output:/dev/null", "w:--report:/dev/null"}, NULL},
    {{"r:--input:/dev/null", "w:--output:/dev/null"}, NULL},
    {{"w:--output:none/x", "w:--report:none/x"}, "none/x: cannot write: No such file or "
     "directory"},
    {{"w:--output:new", "w:--report:none/x"}, "none/x: cannot write: No such file or directory"},
    {{"w:--output:a/x"}, "a/x: cannot write: Not a directory"},
    {{"w:--output:gone", "w:--report:gone"}, "gone: cannot write: No such file or directory"},
    /* which of several */
    {{"r:--input:b", "r:--value:a", "w:--output:a"}, "a: --output would overwrite the file of "
     "--value"},
    {{"w:--output:new", "r:--input:a", "w:--report:a"}, "a: --report would overwrite the file of "
     "--input"},
    {{"w:--output:new", "r:--input:a", "w:--report:new"}, "new: --report would overwrite the file "
     "of --output"},
    {{"r:--input:a", "w:--output:new", "w:--report:newer", "w:--trace:new"}, "new: --trace would "
     "overwrite the file of --output"},
    {{"r:--input:a", "w:--output:b", "w:--report:new", "w:--trace:newer"}, NULL},
};

static void make_file(const char *path) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(path, f);
  fclose(f);
}

static void nothing_is_written_over_another(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(paths); i++) {
    wk_paths p = {0};
    char text[MOST][80];
    for (size_t k = 0; k < MOST && paths[i].uses[k]; k++) {
      snprintf(text[k], sizeof *text, "%s", paths[i].uses[k]);
      char *path = strchr(text[k] + 2, ':');
      *path++ = 0;
      (*text[k] == 'r' ? wk_paths_read : wk_paths_write)(&p, text[k] + 2, path);
    }
    wk_status s = wk_paths_check(&p);
    char said[160] = "nothing";
    if (s) snprintf(said, sizeof said, "%s: %s", s->place, s->message);
    if (s) assert_int_equal(s->code, strstr(said, "cannot write") ? WK_IO : WK_USAGE);
    if (strcmp(said, paths[i].said ? paths[i].said : "nothing") != 0)
      fail_msg("%s %s: %s", paths[i].uses[0], paths[i].uses[1], said);
    assert_int_equal(p.uses.n + p.files.n, 0);
    wk_status_free(s);
  }
}

static void a_missing_path_is_none(void **state) {
  (void)state;
  wk_paths p = {0};
  wk_paths_read(&p, "--input", NULL);
  wk_paths_write(&p, "--output", NULL);
  assert_int_equal(p.uses.n, 0);
  assert_null(wk_paths_check(&p));
}

/* NAME=FILE; what has no name has no file. */
static void named_files_are_read(void **state) {
  (void)state;
  static const struct {
    const char *args[3];
    bool is_read;
  } cases[] = {{{"x=a", "y=b", "z=b"}, true},
               {{"y=b", "x=a", "z=b"}, true},
               {{"y=b", "z=b", "x=a"}, true},
               {{"y=b", "a", "z=b"}, false},
               {{"y=b", "a=", "z=b"}, false},
               {{"y=b", "=a", "z=b"}, true}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_paths p = {0};
    const char *args[3];
    memcpy(args, cases[i].args, sizeof args);
    wk_paths_read_named(&p, "--value", &(wk_strings){args, 3, 3});
    wk_paths_write(&p, "--output", "a");
    wk_status s = wk_paths_check(&p);
    assert_int_equal(s != NULL, cases[i].is_read);
    if (s) assert_string_equal(s->message, "--output would overwrite the file of --value");
    wk_status_free(s);
  }
}

/* ---- errors of the runtime ------------------------------------------------------------------- */

static void each_status_has_its_code(void **state) {
  (void)state;
  static const struct {
    wick_status from;
    wk_code to;
  } codes[] = {
      {WICK_BAD_ARGUMENT, WK_INTERNAL},   {WICK_CANNOT_READ, WK_IO},
      {WICK_NOT_PACKAGE, WK_INPUT},       {WICK_BAD_VERSION, WK_INPUT},
      {WICK_CORRUPT, WK_INPUT},           {WICK_BAD_MACHINE, WK_UNSUPPORTED},
      {WICK_NO_MEMORY, WK_RESOURCE},      {WICK_NO_THREAD, WK_RESOURCE},
      {WICK_NO_ENTRY, WK_INTERNAL},       {WICK_NO_STEPS, WK_UNSUPPORTED},
      {WICK_BUSY, WK_INTERNAL},           {WICK_RUN_FAILED, WK_INPUT},
      {WICK_CANNOT_WRITE, WK_IO},         {WICK_NO_DEVICE, WK_UNSUPPORTED},
      {WICK_NO_STATE, WK_INTERNAL},       {WICK_BAD_STATE, WK_INPUT},
      {WICK_DEVICE_FAILED, WK_IO},
  };
  assert_null(wk_wick_error(WICK_OK, "detail", "place"));
  for (size_t i = 0; i < WK_COUNTOF(codes); i++) {
    wk_status s = wk_wick_error(codes[i].from, NULL, "place");
    if (s->code != codes[i].to) fail_msg("%s: code %d", s->message, s->code);
    assert_string_equal(s->message, wick_status_text(codes[i].from));
    assert_string_equal(s->place, "place");
    wk_status_free(s);
  }
}

/* The detail follows the text, unless it is the text; a path that it begins with is the place. */
static void details_are_said_once(void **state) {
  (void)state;
  static const struct {
    const char *detail, *what, *message;
  } cases[] = {
      {NULL, "net.wick", "package is damaged"},
      {"", "net.wick", "package is damaged"},
      {"section 3 is short", "net.wick", "package is damaged: section 3 is short"},
      {"package is damaged", "net.wick", "package is damaged"},
      {"package is damaged here", "net.wick", "package is damaged: package is damaged here"},
      {"net.wick: section 3", "net.wick", "package is damaged: section 3"},
      {"net.wick: package is damaged", "net.wick", "package is damaged"},
      {"net.wick: ", "net.wick", "package is damaged"},
      {"net.wick section 3", "net.wick", "package is damaged: net.wick section 3"},
      {"net.wick:3", "net.wick", "package is damaged: net.wick:3"},
      {"net.wicked: section 3", "net.wick", "package is damaged: net.wicked: section 3"},
      {"a net.wick: section 3", "net.wick", "package is damaged: a net.wick: section 3"},
      {"net.wick: section 3", NULL, "package is damaged: net.wick: section 3"},
      {": section 3", "", "package is damaged: : section 3"},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_status s = wk_wick_error(WICK_CORRUPT, cases[i].detail, cases[i].what);
    assert_string_equal(s->message, cases[i].message);
    wk_status_free(s);
  }
}

static void packages_are_known_by_their_beginning(void **state) {
  (void)state;
  unsigned char bytes[sizeof WICK_MAGIC + 4] = {0};
  memcpy(bytes, WICK_MAGIC, sizeof WICK_MAGIC);
  for (size_t n = 0; n <= sizeof bytes; n++)
    assert_int_equal(wk_is_package(&(wk_file){.data = bytes, .size = n}), n >= sizeof WICK_MAGIC);
  for (size_t i = 0; i < sizeof WICK_MAGIC; i++) {
    bytes[i] ^= 1;
    assert_false(wk_is_package(&(wk_file){.data = bytes, .size = sizeof bytes}));
    bytes[i] ^= 1;
  }
}

/* Which file of a folder is the model, and what belongs to it. */
static void folders_have_one_model(void **state) {
  (void)state;
  static const struct {
    const char *files[4], *model, *init_net, *value_info;
  } cases[] = {
      {{NULL}, NULL, NULL, NULL},
      {{"net.onnx", "init_net.pb", "value_info.json"}, NULL, NULL, NULL},
      {{"model.onnx", "model.onnxtxt", "predict_net.pb", "init_net.pb"}, "model.onnx", NULL, NULL},
      {{"model.textproto", "model.onnxtxt", "value_info.json"}, "model.onnxtxt", NULL, NULL},
      {{"model.pbtxt", "model.textproto", "init_net.pb"}, "model.textproto", NULL, NULL},
      {{"model.pbtxt", "predict_net.pb", "init_net.pb", "value_info.json"}, "model.pbtxt", NULL,
       NULL},
      {{"predict_net.pb"}, "predict_net.pb", NULL, NULL},
      {{"predict_net.pbtxt", "predict_net.pb", "init_net.pbtxt"}, "predict_net.pb",
       "init_net.pbtxt", NULL},
      {{"predict_net.pbtxt", "init_net.pb", "init_net.pbtxt", "value_info.json"},
       "predict_net.pbtxt", "init_net.pb", "value_info.json"},
  };
  wk_arena *a = wk_arena_new();
  assert_int_equal(mkdir("models", 0777), 0);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const char *want[] = {cases[i].model, cases[i].init_net, cases[i].value_info};
    for (int k = 0; k < 4 && cases[i].files[k]; k++)
      make_file(wk_arena_printf(a, "models/%s", cases[i].files[k]));
    wk_import_options o = {.init_net = NULL};
    const char *model = wk_model_in_folder(a, "models", &o);
    const char *got[] = {model, o.init_net, o.value_info};
    for (int k = 0; k < 3; k++) {
      const char *path = want[k] ? wk_arena_printf(a, "models/%s", want[k]) : NULL;
      if (!got[k] != !path || (path && strcmp(got[k], path) != 0))
        fail_msg("folder %zu, file %d: %s", i, k, got[k] ? got[k] : "none");
    }
    for (int k = 0; k < 4 && cases[i].files[k]; k++)
      unlink(wk_arena_printf(a, "models/%s", cases[i].files[k]));
  }
  wk_arena_free(a);
}

/* ---- main ------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/wick-files-XXXXXX";

/* ---- files of numpy -------------------------------------------------------------------------- */

static wk_tensor three(wk_dtype dtype, int64_t a, int64_t b, int64_t c) {
  const int64_t values[] = {a, b, c}, dims[] = {3};
  wk_type type = wk_type_make(dtype, 1, dims);
  wk_tensor t;
  assert_null(wk_tensor_alloc(&type, &t));
  for (int64_t i = 0; i < 3; i++) wk_store_i64(t.data, dtype, i, values[i]);
  return t;
}

/* Elements of 4 and of 2 bits are bytes there, bf16 is u16: those that fit are taken for what the
 * model wants, wherever in the file the one is that does not. */
static void bytes_are_adopted_when_they_fit(void **state) {
  (void)state;
  static const struct {
    wk_dtype of, want;
    int64_t least, most;
  } types[] = {{WK_I8, WK_I4, -8, 7}, {WK_U8, WK_U4, 0, 15},
               {WK_I8, WK_I2, -2, 1}, {WK_U8, WK_U2, 0, 3}};
  static const wk_dtype others[] = {WK_I8, WK_U8, WK_I16, WK_U16, WK_I32, WK_F16, WK_BOOL};
  for (size_t i = 0; i < WK_COUNTOF(types); i++) {
    wk_dtype of = types[i].of, want = types[i].want;
    int64_t least = types[i].least, most = types[i].most;
    const struct {
      int64_t v[3];
      bool fits;
    } cases[] = {{{least, 0, most}, true},         {{most, least, least}, true},
                 {{most + 1, 0, 0}, false},        {{0, most + 1, 0}, false},
                 {{0, 1, most + 1}, false},        {{least - 1, 0, 0}, false},
                 {{0, 0, least - 1}, false}};
    for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
      const int64_t *v = cases[k].v;
      if (of == WK_U8 && (v[0] < 0 || v[2] < 0)) continue;
      wk_tensor t = three(of, v[0], v[1], v[2]);
      assert_int_equal(wk_tensor_adopt(&t, want), cases[k].fits);
      assert_int_equal(t.type.dtype, cases[k].fits ? want : of);
      wk_tensor_free(&t);
    }
    for (size_t k = 0; k < WK_COUNTOF(others); k++) {
      wk_tensor t = three(others[k], 0, 1, 1);
      assert_int_equal(wk_tensor_adopt(&t, want), others[k] == of);
      wk_tensor_free(&t);
    }
  }
  for (size_t k = 0; k < WK_COUNTOF(others); k++) {
    wk_tensor t = three(others[k], 0, 1, 1);
    assert_int_equal(wk_tensor_adopt(&t, WK_BF16), others[k] == WK_U16);
    assert_int_equal(t.type.dtype, others[k] == WK_U16 ? WK_BF16 : others[k]);
    assert_false(wk_tensor_adopt(&t, WK_F32));
    wk_tensor_free(&t);
  }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What a model is called, and so the files that are written of it. */
static void models_are_named_after_their_files(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"net.onnx", "net"},           {"a/b/net.onnx", "net"},       {"net", "net"},
      {"net.int8.onnx", "net.int8"}, {".onnx", ".onnx"},            {"a/.onnx", ".onnx"},
      {"a.b/net", "net"},            {"a/model.onnx", "a"},         {"a/b/model.onnx", "b"},
      {"/b/model.onnx", "b"},        {"model.onnx", "model"},       {"/model.onnx", "model"},
      {"./model.onnx", "model"},     {"../model.onnx", "model"},    {"a/../model.onnx", "model"},
      {"a/.b/model.onnx", "model"},  {"a//model.onnx", "model"},    {"a/models.onnx", "models"},
      {"a/my_model.onnx", "my_model"}, {"net.onnx.", "net.onnx"},   {"a/model", "model"},
      {"a/model.bin", "model"},      {"a/model.onnxtxt", "a"},      {"a/model.textproto", "a"},
      {"a/model.pbtxt", "a"},        {"a/predict_net.pb", "a"},     {"a/predict_net.pbtxt", "a"},
      {"a/init_net.pb", "init_net"}, {"predict_net.pb", "predict_net"},
  };
  wk_arena *a = wk_arena_new();
  for (size_t i = 0; i < WK_COUNTOF(names); i++) {
    const char *got = wk_model_name(a, names[i][0]);
    if (strcmp(got, names[i][1]) != 0) fail_msg("%s: %s", names[i][0], got);
  }
  wk_arena_free(a);
  static const char *const models[] = {"a.onnx", "a.onnxtxt", "a.textproto", "a.pb", "a.pbtxt",
                                       "a.b.onnx", "/onnx.pb"};
  static const char *const others[] = {"", "onnx", ".onnx", ".onnxtxt", ".pb", "a.onnx.", "a.npy",
                                       "aonnx", "a.wick", "a.onnx.gz", "a.ONNX"};
  for (size_t i = 0; i < WK_COUNTOF(models); i++) assert_true(wk_is_model_name(models[i]));
  for (size_t i = 0; i < WK_COUNTOF(others); i++) assert_false(wk_is_model_name(others[i]));
}

static void remove_folder(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -r %s", folder);
  (void)!system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_written_over_another),
      cmocka_unit_test(a_missing_path_is_none),
      cmocka_unit_test(named_files_are_read),
      cmocka_unit_test(each_status_has_its_code),
      cmocka_unit_test(details_are_said_once),
      cmocka_unit_test(packages_are_known_by_their_beginning),
      cmocka_unit_test(bytes_are_adopted_when_they_fit),
      cmocka_unit_test(models_are_named_after_their_files),
      cmocka_unit_test(folders_have_one_model),
  };
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  atexit(remove_folder);
  make_file("a");
  make_file("b");
  if (mkdir("sub", 0777) || link("a", "hard") || symlink("a", "soft") || symlink("sub", "linked") ||
      symlink("sub/new", "ahead") || symlink("none/x", "gone"))
    return 1;
  make_file("sub/a");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
