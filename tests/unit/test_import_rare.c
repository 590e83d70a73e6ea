/* SPDX-License-Identifier: Apache-2.0
 * Forms of operators and of nets that few files have: what numbers come out, or what is said. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/hostile.h"
#include "tests/hostile/model_text.h"

#include "compiler/caffe2/caffe2.h"
#include "compiler/eval/eval.h"

/* "f32[2] 1 2", for all outputs, of a module that has no inputs. */
static void print_outputs(wk_str *b, const wk_module *m) {
  size_t n = m->main->outputs.n;
  wk_tensor *out = wk_xcalloc(n, sizeof *out);
  assert_int_equal(m->main->inputs.n, 0);
  wk_status s = wk_eval_graph(m->main, NULL, out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  for (size_t i = 0; i < n; i++) {
    const wk_type *t = &out[i].type;
    wk_str_printf(b, "%s%s[", i ? "; " : "", wk_dtype_name(t->dtype));
    for (int k = 0; k < t->rank; k++)
      wk_str_printf(b, "%s%lld", k ? "," : "", (long long)t->dims[k]);
    wk_str_add(b, "]");
    for (int64_t k = 0; k < wk_type_count(t); k++)
      wk_str_printf(b, " %g", wk_load_f64(out[i].data, t->dtype, k));
    wk_tensor_free(&out[i]);
  }
  free(out);
}

/* ---- operators ------------------------------------------------------------------------------- */

#define UP "init x f32[1,1,2,2]={1,2,3,4}; init w f32[1,1,2,2]={1}; ConvTranspose x,w -> y "
#define SKIPPED "import com.microsoft 1; init x f16[1,2,1,2]={1,2,3,4}; init g f32[2]={1}; " \
  "init b f32[2]={0}; init s f16[1,2]={10,20}; init e f16[2]={100,200}; " \
  "com.microsoft.SkipGroupNorm x,g,b,s"
#define OWN "init x f32[2]={-4,4}; import wick 1; wick.leaky_relu x -> y {"
#define CODES(scale, more) "opset 21; init x f32[4]={1,2,3,4}; init s f32" scale "={0.5}; " more
static const struct {
  const char *text, *want;
} rows[] = {
    {UP "{strides=[2,2] output_shape=[4,3]}; out y",
     "f32[1,1,4,3] 1 2 2 1 2 2 3 4 4 3 4 4"},
    {UP "{strides=[2,2] output_shape=[1,1,4,3]}; out y",
     "f32[1,1,4,3] 1 2 2 1 2 2 3 4 4 3 4 4"},
    {SKIPPED " -> y,z {groups=1 activation=0 channels_last=0}; out z",
     "f16[1,2,1,2] 11 12 23 24"},
    {SKIPPED ",e -> y,z {groups=1 activation=0 channels_last=0}; out z",
     "f16[1,2,1,2] 111 112 223 224"},
    {OWN "}; out y", "f32[2] -0.04 4"},
    {OWN "alpha=tensor v f64[1]={0.5}}; out y", "f32[2] -2 4"},
    {OWN "alpha=tensor v f32[]={0.25}}; out y", "f32[2] -1 4"},
    {OWN "alpha=tensor v f64[1]=raw 12}; out y",
     "tensor 'v' has 12 bytes of data, its shape needs 8 (while importing leaky_relu "
     "'leaky_relu_y') "},
    {CODES("[]", "QuantizeLinear x,s -> y {block_size=2}; out y"),
     "u8[4] 2 4 6 8"},
    {CODES("[1]", "QuantizeLinear x,s -> y {block_size=2}; out y"),
     "u8[4] 2 4 6 8"},
};

static void numbers(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str model = {0}, got = {0};
    wk_module *m = NULL;
    model_text(rows[i].text, &model);
    wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
    if (s) wk_str_printf(&got, "%s %s", s->message, s->notes ? s->notes : "");
    else print_outputs(&got, m);
    if (strcmp(got.s, rows[i].want)) {
      print_error("%s\n  is '%s', not '%s'\n", rows[i].text, got.s, rows[i].want);
      bad++;
    }
    wk_status_free(s);
    wk_module_free(m);
    wk_str_free(&model);
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

static wk_module *import_text(const char *text) {
  wk_str model = {0};
  wk_module *m = NULL;
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  if (s) fail_msg("%s: %s", text, s->message);
  wk_str_free(&model);
  return m;
}

/* ---- large constants ------------------------------------------------------------------------- */

static int next_descriptor(void) {
  int fd = open("/dev/null", O_RDONLY);
  assert_true(fd >= 0);
  close(fd);
  return fd;
}

/* A constant of one repeated element for each number up to n; each has the elements it should. How
 * many are left to compute at run time. */
static size_t repeated(int n, int64_t elements) {
  wk_str text = {0};
  wk_str_printf(&text, "init s i64[1]={%lld}; ", (long long)elements);
  for (int i = 0; i < n; i++)
    wk_str_printf(&text, "ConstantOfShape s -> y%d {value=tensor v f32[1]={%d}}; out y%d; ", i,
                  i + 1, i);
  wk_module *m = import_text(text.s);
  wk_tensor *out = wk_xcalloc((size_t)n, sizeof *out);
  wk_status s = wk_eval_graph(m->main, NULL, out, NULL, NULL);
  assert_null(s);
  for (int i = 0; i < n; i++) {
    assert_int_equal(wk_type_count(&out[i].type), elements);
    for (int64_t k = 0; k < elements; k++)
      if (((float *)out[i].data)[k] != (float)(i + 1)) fail_msg("element %lld", (long long)k);
    wk_tensor_free(&out[i]);
  }
  size_t left = 0;
  for (size_t i = 0; i < m->main->nodes.n; i++) left += !m->main->nodes.data[i].dead;
  free(out);
  wk_module_free(m);
  wk_str_free(&text);
  return left;
}

/* The same numbers come out where the system gives no memory to map over and over. */
static void large_constants(void **state) {
  enum { MAPPED = 1 << 18, PATTERNS = 8 };
  static const int limits[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
  const int fd = next_descriptor();
  (void)state;
  assert_int_equal(repeated(2, MAPPED - 1), 0);
  assert_int_equal(repeated(PATTERNS, MAPPED), 0);
  assert_int_equal(repeated(2, 2 * MAPPED + 5), 0);
  assert_int_equal(repeated(PATTERNS + 2, MAPPED), 2);
  assert_int_equal(next_descriptor(), fd);
  void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 2; i++) {
    struct rlimit old, low;
    assert_int_equal(getrlimit((__rlimit_resource_t)limits[i], &old), 0);
    low = (struct rlimit){i ? 1 << 16 : (rlim_t)fd, old.rlim_max};
    assert_int_equal(setrlimit((__rlimit_resource_t)limits[i], &low), 0);
    size_t left = repeated(3, MAPPED);
    assert_int_equal(setrlimit((__rlimit_resource_t)limits[i], &old), 0);
    assert_int_equal(left, 3);
    assert_int_equal(next_descriptor(), fd);
  }
  signal(SIGXFSZ, before);
}

/* ---- external data --------------------------------------------------------------------------- */

/* Two tensors in one file, which is mapped once. */
static void one_file_of_two(void **state) {
  static const float data[] = {1, 2, 3, 4};
  char dir[] = "/tmp/wick_rare_XXXXXX", file[64], model_file[64];
  wk_str model = {0}, got = {0};
  wk_module *m = NULL;
  (void)state;
  assert_non_null(mkdtemp(dir));
  snprintf(file, sizeof file, "%s/w", dir);
  snprintf(model_file, sizeof model_file, "%s/m.onnx", dir);
  model_text("init v f32[2]=external \"w\" 8 8; init w f32[2]=external \"w\" 0 8; "
             "Concat v,w -> y {axis=0}; out y", &model);
  assert_null(wk_write_file(file, data, sizeof data));
  assert_null(wk_write_file(model_file, model.s, model.n));
  assert_null(wk_import_onnx(model_file, NULL, NULL, &m));
  print_outputs(&got, m);
  assert_string_equal(got.s, "f32[4] 3 4 1 2");
  wk_module_free(m);
  wk_str_free(&model);
  wk_str_free(&got);
  assert_int_equal(remove(model_file) | remove(file) | rmdir(dir), 0);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* What is differentiated reads a sequence among the inputs. */
static void gradient_of_sequence(void **state) {
  static const char text[] =
      "in q sequence f32[2]; in x f32[2]; init i i64[]={0}; SequenceAt q,i -> e; Mul x,e -> y; "
      "ai.onnx.preview.training.Gradient x -> d {xs=[\"x\"] y=\"y\"}; out d";
  (void)state;
  for (int64_t n = 1; n <= 2; n++) {
    const wk_bind_length length = {.input = "q", .n = n};
    const wk_import_options o = {.lengths = &length, .n_lengths = 1};
    wk_str model = {0};
    wk_module *m = NULL;
    model_text(text, &model);
    wk_status s = wk_import_onnx_memory(model.s, model.n, &o, NULL, &m);
    assert_non_null(s);
    if (!strstr(s->message, "'y' depends on 'q', which is neither in xs nor in zs"))
      fail_msg("%s", s->message);
    wk_status_free(s);
    wk_str_free(&model);
  }
}

/* ---- surveys --------------------------------------------------------------------------------- */

/* Node by node what becomes of it, then the outputs of the module. */
static const struct {
  const char *text, *want;
} surveys[] = {
    {"in x f32[2]; Relu x -> y; out y",
     "Relu taken y; y"},
    {"in x f32[2]; Identity x -> y; Relu y -> z; out z",
     "Identity nothing, Relu taken z; z"},
    {"in x f32[2]; Relu x -> y; Nonesuch y -> z; Exp z -> v; Abs y -> a; out v; out a",
     "Relu taken y, Nonesuch refused (this operator is not known), Exp unknown, Abs taken a; "
     "a y"},
    {"in x f32[2]; Relu x -> y; Nonesuch y -> z; out y; out z",
     "Relu taken y, Nonesuch refused (this operator is not known); y"},
    {"in x f32[2]; Nonesuch x -> z; out z",
     "Nonesuch refused (this operator is not known);"},
    {"in x f32[2]; in c bool[]; If c -> y {then_branch=(Relu x -> t; Nonesuch t -> u; out u) "
     "else_branch=(Exp x -> e; out e)}; Neg y -> z; out z",
     "Relu unknown t, Nonesuch refused (this operator is not known), Exp unknown e, If "
     "unknown, Neg unknown;"},
    {"in x f32[2]; fun F a -> b (Relu a -> c; Nonesuch c -> b); local.F x -> y; out y",
     "Relu taken c, Nonesuch refused (this operator is not known); c"},
    {"in x f32[2]; fun F a -> b (Relu a -> b); local.F x -> y; local.F y -> z; out z",
     "Relu taken b b.2; z"},
    {"in x f32[2]; fun F a -> b (Relu a -> b); local.F x -> y; Nonesuch y -> z; local.F z -> w; "
     "out w",
     "Relu taken b, Nonesuch refused (this operator is not known); y"},
    {"in x f32[2]; fun F a -> b (Relu a -> b); Nonesuch x -> z; local.F z -> w; local.F x -> y; "
     "out w; out y",
     "Nonesuch refused (this operator is not known), Relu taken b; y"},
    {"in x f32[2]; init k f32[2]; fun F a -> b (Relu a -> b); local.F k -> y; local.F x -> z; "
     "out y; out z",
     "Relu taken b.3; y z"},
};

static void survey(void **state) {
  static const char *const fates[] = {"taken", "nothing", "refused", "unknown"};
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(surveys); i++) {
    const wk_import_options o = {.survey = true};
    wk_import_report r;
    wk_str model = {0}, got = {0};
    wk_module *m = NULL;
    model_text(surveys[i].text, &model);
    wk_status s = wk_import_onnx_memory(model.s, model.n, &o, &r, &m);
    if (s) wk_str_printf(&got, "%s; ", s->message);
    for (size_t k = 0; k < r.nodes.n; k++) {
      const wk_surveyed *n = &r.nodes.data[k];
      wk_str_printf(&got, "%s%s %s", k ? ", " : "", n->op, fates[n->fate]);
      for (size_t j = 0; j < n->out.n; j++) wk_str_printf(&got, " %s", n->out.data[j].name);
      if (n->reason) wk_str_printf(&got, " (%s)", n->reason);
    }
    wk_str_add(&got, ";");
    for (size_t k = 0; m && k < m->main->outputs.n; k++)
      wk_str_printf(&got, " %s", m->main->output_names.data[k]);
    if (strcmp(got.s, surveys[i].want)) {
      print_error("%s\n  is '%s', not '%s'\n", surveys[i].text, got.s, surveys[i].want);
      bad++;
    }
    wk_import_report_free(&r);
    wk_status_free(s);
    wk_module_free(m);
    wk_str_free(&model);
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

/* ---- operators of nets ----------------------------------------------------------------------- */

/* Scales for each group, of which there may be one. */
static void groups_of_integers(void **state) {
  static const char *const arguments[][2] = {{"0", "1"}, {"0", "2"}, {"1", "1"},
                                             {"1", "2"}, {"1", "0"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(arguments); i++) {
    wk_bind_shape shape = {.input = "x", .rank = 2, .dims = {2, 3}};
    const wk_import_options o = {.shapes = &shape, .n_shapes = 1};
    wk_str text = {0}, all = {0};
    wk_module *m = NULL;
    char path[64];
    int fd;
    wk_str_printf(&text,
                  "op { type: \"Int8Quantize\" input: \"x\" output: \"q\" "
                  "arg { name: \"Y_scale\" f: 0.5 } arg { name: \"Y_zero_point\" i: 3 } }\n"
                  "op { type: \"Int8Relu\" input: \"q\" output: \"r\" "
                  "arg { name: \"Y_scale\" f: 0.5 } arg { name: \"Y_zero_point\" i: 3 } "
                  "arg { name: \"quantize_groupwise\" i: %s } arg { name: \"group\" i: %s } }\n"
                  "op { type: \"Int8Dequantize\" input: \"r\" output: \"y\" }\n"
                  "external_output: \"y\"\n", arguments[i][0], arguments[i][1]);
    feed_with_file(&text, path, &fd);
    wk_status s = wk_net_import(path, &o, NULL, &m);
    wk_str_printf(&all, "%s %s", s ? s->message : "", s && s->notes ? s->notes : "");
    bool says = strstr(all.s, "a scale for each group is not supported") != NULL;
    if (says != (i >= 3) || says != (s != NULL)) fail_msg("%zu: %s", i, all.s);
    wk_str_free(&all);
    wk_str_free(&text);
    wk_status_free(s);
    wk_module_free(m);
    close(fd);
  }
}

/* ---- inputs of nets -------------------------------------------------------------------------- */

#define SUM "op { type: \"Add\" input: \"a\" input: \"b\" output: \"y\" }\nexternal_output: \"y\"\n"
#define FILLS "op { type: \"ConstantFill\" output: \"a\" arg { name: \"shape\" ints: 2 } " \
  "arg { name: \"value\" f: 8 } }\n"
#define LIST "op { type: \"GivenTensorFill\" output: \"b\" arg { name: \"shape\" ints: 2 } " \
  "arg { name: \"values\" floats: [1, 2] } }\n"

/* What options give a value or a shape is an input, whatever fills it in the init net. */
static void bound_inputs(void **state) {
  static const struct {
    const char *value, *shape, *init, *want;
  } nets[] = {
      {NULL, NULL, FILLS LIST, "f32[2] 9 10"},
      {"a", NULL, FILLS LIST, "f32[2] 4 6"}, /* a is 3 and 4 */
      {"c", NULL, FILLS LIST,
       "--value c: the model has no such input "},
      {"b", NULL, FILLS, "f32[2] 11 12"},
      {"b", NULL, FILLS LIST,
       "--value b: the model has no such input "},
      {NULL, "a", FILLS LIST, "input a"},
      {NULL, "b", FILLS, "input b"},
      {NULL, NULL, LIST,
       "1 blob is neither made by an operator nor in the init net: for an input, give its shape "
       "(--shape a=... or --value-info FILE); for weights, the init net may be another model's "
       "a\n"},
  };
  float values[] = {3, 4};
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(nets); i++) {
    wk_str predict = {0}, init = {0}, got = {0};
    char path[64], init_path[64];
    int fd, init_fd;
    wk_str_add(&predict, SUM);
    wk_str_add(&init, nets[i].init);
    feed_with_file(&predict, path, &fd);
    feed_with_file(&init, init_path, &init_fd);
    const int64_t two = 2;
    wk_bind_value v = {.input = nets[i].value, .value = {wk_type_make(WK_F32, 1, &two), values}};
    wk_bind_shape shape = {.input = nets[i].shape, .rank = 1, .dims = {2}};
    const wk_import_options o = {.values = &v, .n_values = nets[i].value != NULL,
                                 .shapes = &shape, .n_shapes = nets[i].shape != NULL,
                                 .init_net = init_path};
    wk_module *m = NULL;
    wk_status s = wk_net_import(path, &o, NULL, &m);
    if (s) wk_str_printf(&got, "%s %s", s->message, s->notes ? s->notes : "");
    else if (m->main->inputs.n)
      wk_str_printf(&got, "input %s", wk_val(m->main, m->main->inputs.data[0])->name);
    else print_outputs(&got, m);
    if (strcmp(got.s, nets[i].want)) {
      print_error("net %zu is '%s', not '%s'\n", i, got.s, nets[i].want);
      bad++;
    }
    wk_status_free(s);
    wk_module_free(m);
    close(fd);
    close(init_fd);
    wk_str_free(&predict);
    wk_str_free(&init);
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

/* ---- hashes ---------------------------------------------------------------------------------- */

enum { WEIGHTS = 40000 }; /* more than two blocks of the hash */

/* Of the net a + b whose weights are b, all of them 1 but this one, which is 2. */
static uint64_t hash_with(int at, const char *net, bool is_hashed) {
  wk_str predict = {0}, init = {0};
  char path[64], init_path[64];
  int fd, init_fd;
  wk_str_add(&predict, net);
  wk_str_printf(&init,
                "op { type: \"GivenTensorFill\" output: \"b\" arg { name: \"shape\" ints: %d } "
                "arg { name: \"values\" floats: [", WEIGHTS + 1);
  for (int i = 0; i < WEIGHTS; i++) wk_str_add(&init, i == at ? "2, " : "1, ");
  wk_str_add(&init, "1] } }\n");
  feed_with_file(&predict, path, &fd);
  feed_with_file(&init, init_path, &init_fd);
  wk_bind_shape shape = {.input = "a", .rank = 1, .dims = {WEIGHTS + 1}};
  const wk_import_options o = {.shapes = &shape, .n_shapes = 1, .init_net = init_path,
                               .is_hashed = is_hashed};
  wk_import_report r;
  wk_module *m = NULL;
  wk_status s = wk_net_import(path, &o, &r, &m);
  if (s) fail_msg("%s %s", s->message, s->notes ? s->notes : "");
  uint64_t hash = r.hash;
  wk_import_report_free(&r);
  wk_module_free(m);
  close(fd);
  close(init_fd);
  wk_str_free(&predict);
  wk_str_free(&init);
  return hash;
}

/* Each weight counts, whichever block it is in, and what is computed. */
static void hashes(void **state) {
  static const int at[] = {-1, 0, 5000, 16000, 17000, 33000, WEIGHTS - 1};
  uint64_t hash[WK_COUNTOF(at) + 1];
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(at); i++) hash[i] = hash_with(at[i], SUM, true);
  hash[WK_COUNTOF(at)] =
      hash_with(-1, "op { type: \"Mul\" input: \"a\" input: \"b\" output: \"y\" }\n"
                    "external_output: \"y\"\n", true);
  for (size_t i = 0; i < WK_COUNTOF(hash); i++) {
    assert_true(hash[i] != 0);
    for (size_t k = 0; k < i; k++) assert_true(hash[i] != hash[k]);
  }
  assert_true(hash_with(5000, "# the same\n" SUM, true) == hash[2]);
  assert_true(hash_with(5000, SUM, false) == 0);
}

/* Of an ONNX model it is that of its bytes. */
static void hash_of_model(void **state) {
  wk_str model = {0};
  char path[64];
  int fd;
  const wk_import_options o = {.is_hashed = true};
  wk_import_report r;
  wk_module *m = NULL;
  (void)state;
  model_text("in x f32[2]; Relu x -> y; out y", &model);
  feed_with_file(&model, path, &fd);
  wk_status s = wk_net_import(path, &o, &r, &m);
  assert_null(s);
  assert_true(r.hash == wk_hash64(model.s, model.n, 0));
  wk_import_report_free(&r);
  wk_module_free(m);
  close(fd);
  wk_str_free(&model);
}

/* ---- what a file declares -------------------------------------------------------------------- */

static void print_io(wk_str *b, wk_arena *a, const char *mark, const wk_onnx_io *io) {
  wk_str_printf(b, "%s %s: %s%s%s%s\n", mark, io->name, wk_onnx_io_text(a, io),
                io->has_default ? ", default" : "", io->is_sequence ? ", sequence" : "",
                io->is_optional ? ", optional" : "");
}

static const struct {
  const char *text, *want;
} declared[] = {
    {"opset 17; in x f32[1,N,4]; in w f32[2,2]; in q sequence f16[_,3]; in o optional i64[2]; "
     "in c bool[]; in u f64; "
     "init w f32[2,2]={1}; init v i64[3]=external \"w.bin\" 0 24; "
     "init e f16[2]=external \"w.bin\" 24 4; init k u8[5]=external \"sub/k.bin\"; "
     "Relu x -> y; Relu y -> z; Add z,z -> a; "
     "If c -> d {then_branch=(Relu x -> t; Nonesuch t -> r; out r) "
     "else_branch=(Neg x -> f; out f)}; com.microsoft.Gelu a -> g; import com.microsoft 1; "
     "out g f32[1,N,_]; out d",
     "in x: f32[1,N,4]\nin w: f32[2,2], default\nin q: sequence of f16[?,3], sequence\n"
     "in o: optional i64[2], optional\nin c: bool[]\nin u: f64 of any shape\n"
     "out g: f32[1,N,?]\nout d: its type is not declared\n"
     "opset 17, Add 1, Gelu 1, If 1, Neg 1, Nonesuch 1, Relu 3, 8 nodes, 14 parameters, 49 bytes, "
     "/w.bin, /sub/k.bin"},
    {"opset 9; init x f64[7]={1}; Exp x -> y; out y f64[7]",
     "out y: f64[7]\nopset 9, Exp 1, 1 nodes, 7 parameters, 56 bytes"},
    {"fun F a -> b (Relu a -> c; Relu c -> b); in x f32[]; local.F x -> y; out y",
     "in x: f32[]\nout y: its type is not declared\n"
     "opset 17, F 1, Relu 2, 3 nodes, 0 parameters, 0 bytes"},
};

static void inspections(void **state) {
  char dir[] = "/tmp/wick_rare_XXXXXX", file[64];
  int bad = 0;
  (void)state;
  assert_non_null(mkdtemp(dir));
  snprintf(file, sizeof file, "%s/m.onnx", dir);
  for (size_t i = 0; i < WK_COUNTOF(declared); i++) {
    wk_str model = {0}, b = {0};
    wk_onnx_info info;
    wk_arena *a = wk_arena_new();
    model_text(declared[i].text, &model);
    assert_null(wk_write_file(file, model.s, model.n));
    assert_null(wk_onnx_inspect(file, &info));
    for (size_t k = 0; k < info.inputs.n; k++) print_io(&b, a, "in", &info.inputs.data[k]);
    for (size_t k = 0; k < info.outputs.n; k++) print_io(&b, a, "out", &info.outputs.data[k]);
    assert_string_equal(info.opsets.data[0].domain, "");
    wk_str_printf(&b, "opset %lld, ", (long long)info.opsets.data[0].version);
    for (size_t k = 0; k < info.ops.n; k++)
      wk_str_printf(&b, "%s %lld, ", info.ops.data[k].op, (long long)info.ops.data[k].count);
    wk_str_printf(&b, "%lld nodes, %lld parameters, %lld bytes", (long long)info.nodes,
                  (long long)info.parameters, (long long)info.parameter_bytes);
    for (size_t k = 0; k < info.external.n; k++) {
      assert_memory_equal(info.external.data[k], dir, strlen(dir));
      wk_str_printf(&b, ", %s", info.external.data[k] + strlen(dir));
    }
    if (strcmp(b.s, declared[i].want)) {
      print_error("%s\n  is '%s', not '%s'\n", declared[i].text, b.s, declared[i].want);
      bad++;
    }
    wk_onnx_info_free(&info);
    wk_arena_free(a);
    wk_str_free(&model);
    wk_str_free(&b);
  }
  assert_int_equal(remove(file) | rmdir(dir), 0);
  assert_int_equal(bad, 0);
}

/* Who made it, and of what version; what is not said is empty. */
static void producers(void **state) {
  static const struct {
    const char *text, *producer, *version, *graph;
    int64_t ir;
  } files[] = {
      {"ir_version: 8 producer_name: 'p' producer_version: '1.2' graph { name: 'g' } "
       "opset_import { version: 17 }", "p", "1.2", "g", 8},
      {"ir_version: 3 graph { node { op_type: 'Exp' } }", "", "", "", 3},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    wk_str text = {0};
    wk_onnx_info info;
    char path[64];
    int fd;
    wk_str_add(&text, files[i].text);
    feed_with_file(&text, path, &fd);
    wk_status s = wk_onnx_inspect(path, &info);
    if (s) fail_msg("%s", s->message);
    assert_string_equal(info.producer, files[i].producer);
    assert_string_equal(info.producer_version, files[i].version);
    assert_string_equal(info.graph_name, files[i].graph);
    assert_int_equal(info.ir_version, files[i].ir);
    assert_int_equal(info.opsets.n, i == 0);
    wk_onnx_info_free(&info);
    close(fd);
    wk_str_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),
      cmocka_unit_test(large_constants),
      cmocka_unit_test(one_file_of_two),
      cmocka_unit_test(gradient_of_sequence),
      cmocka_unit_test(survey),
      cmocka_unit_test(groups_of_integers),
      cmocka_unit_test(bound_inputs),
      cmocka_unit_test(hashes),
      cmocka_unit_test(inspections),
      cmocka_unit_test(producers),
      cmocka_unit_test(hash_of_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
