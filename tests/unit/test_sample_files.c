/* SPDX-License-Identifier: Apache-2.0
 * Files for `wick quantize --calibration`, `wick train --data` and `wick run --input`: which input
 * each belongs to, which make a sample together, and what is said of those that do not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/fit/train.h"
#include "cli/run.h"
#include "compiler/calibrate/quantize.h"

static char folder[] = "/tmp/wick-samples-XXXXXX";
static bool is_wrong;

/* ---- models and files ------------------------------------------------------------------------ */

#define IN(name) "input { name: \"" name "\" type { tensor_type { elem_type: 1 shape { dim { " \
  "dim_param: \"n\" } } } } } "
#define ADD(a, b, y) "node { op_type: \"Add\" input: \"" a "\" input: \"" b \
  "\" output: \"" y "\" } "
#define OUT "output { name: \"y\" type { tensor_type { elem_type: 1 } } } "
#define ONE ADD("x", "x", "y") IN("x") OUT
#define SUM ADD("x", "b", "p") ADD("p", "w", "y") IN("x") IN("b") IN("w") OUT
#define NAMES ADD("a/b", "c.d", "y") IN("a/b") IN("c.d") OUT
#define DEFAULT ADD("d", "x", "y") "initializer { name: \"d\" dims: 1 data_type: 1 " \
  "float_data: 7 } " IN("d") IN("x") OUT

static void write_pb(const char *path, int64_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  fprintf(f, "%c%c%c%c%c%c", 1 << 3, (int)n, 2 << 3, 1, 9 << 3 | 2, (int)(4 * n));
  for (int64_t i = 0; i < n; i++) fwrite(&(float){(float)n}, 4, 1, f);
  fclose(f);
}

/* N numbers, each of them N. */
static void write_file(const char *path, int64_t n) {
  char text[100];
  wk_tensor t;
  snprintf(text, sizeof text, "%s", path);
  for (char *slash = text; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    (void)mkdir(text, 0700);
  }
  if (strstr(path, ".pb")) {
    write_pb(path, n);
    return;
  }
  const wk_type type = wk_type_make(WK_F32, 1, &n);
  assert_null(wk_tensor_alloc(&type, &t));
  for (int64_t i = 0; i < n; i++) ((float *)t.data)[i] = (float)n;
  assert_null(wk_tensor_write_npy(path, &t));
  wk_tensor_free(&t);
}

/* Words of "f/x.npy=1 g.npy=2" as files; the model is m.textproto. */
static void make_files(const char *graph, const char *files) {
  char text[400], *rest = NULL;
  snprintf(text, sizeof text, "rm -rf %s/*", folder);
  assert_int_equal(system(text), 0);
  FILE *f = fopen("m.textproto", "w");
  assert_non_null(f);
  fprintf(f, "ir_version: 8 opset_import { version: 13 } graph { name: \"g\" %s}\n", graph);
  fclose(f);
  snprintf(text, sizeof text, "%s", files);
  for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
    char *eq = strrchr(w, '=');
    assert_non_null(eq);
    *eq = 0;
    write_file(w, strtoll(eq + 1, NULL, 10));
  }
}

enum { WORDS = 8 };
static size_t words(char *text, const char **out) {
  char *rest = NULL;
  size_t n = 0;
  for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) out[n++] = w;
  return n;
}

static void add_status(wk_str *b, const struct wk_status_rec *s) {
  wk_str_printf(b, "%s%s%s", s->place ? s->place : "", s->place ? ": " : "", s->message);
}

static void check(const char *what, const wk_str *b, const char *want) {
  const char *got = b->s ? b->s : "";
  if (strcmp(got, want) == 0) return;
  fprintf(stderr, "@@ %s\n%s@@ end\n", what, got);
  is_wrong = true;
}

/* ---- calibration ----------------------------------------------------------------------------- */

typedef struct {
  const char *what, *graph, *files, *args, *text;
} sample_case;

/* Samples as "PLACE{numbers of the inputs}". */
static const sample_case calibrations[] = {
    {"c: a file", ONE, "a.npy=1", "a.npy",
     "a.npy{1}"},
    {"c: files", ONE, "a.npy=1 b.npy=2", "b.npy x=a.npy",
     "b.npy{2} a.npy{1}"},
    {"c: a folder of files", ONE, "f/x.npy=1 f/y.npy=2 f/z.txt=3 f/input_0.pb=4 f/output_0.pb=5",
     "f",
     "f/input_0.pb{4} f/x.npy{1} f/y.npy{2}"},
    {"c: a folder of folders", ONE, "f/0/x.npy=1 f/1/any.npy=2 f/c.npy=3 f/1/z.txt=4", "f",
     "f/0{1} f/1{2} f/c.npy{3}"},
    {"c: two files of a folder", ONE, "f/0/x.npy=1 f/0/y.npy=2", "f",
     "f/0/y.npy: a second file for input 'x', which already has f/0/x.npy"},
    {"c: nothing in the folder", ONE, "f/.x.npy=1 f/npy=2 f/.npy=2 f/x.npy.txt=1 f/g/x=3", "f",
     "f: this calibration folder has no .npy and no input_K.pb file"},
    {"c: no file", ONE, "a.npy=1", "b.npy",
     "b.npy: cannot read the calibration data: No such file or directory"},
    {"c: no input of the name", ONE, "a.npy=1", "y=a.npy",
     "y=a.npy: cannot read the calibration data: No such file or directory"},
    {"c: a file with =", ONE, "q=a.npy=1", "q=a.npy",
     "q=a.npy{1}"},
    {"c: a named file with =", ONE, "q=a.npy=1", "x=q=a.npy",
     "q=a.npy{1}"},
    {"c: each named", SUM, "a.npy=1 b.npy=2 c.npy=3", "x=a.npy b=b.npy w=c.npy",
     "calibration sample 1{1 2 3}"},
    {"c: n-th of each", SUM, "a.npy=1 b.npy=2 c.npy=3", "x=a.npy b=b.npy w=c.npy w=a.npy x=c.npy "
     "b=a.npy",
     "calibration sample 1{1 2 3} calibration sample 2{3 1 1}"},
    {"c: one is missing", SUM, "a.npy=1", "x=a.npy b=a.npy w=a.npy x=a.npy w=a.npy",
     "calibration sample 2: no file for input 'b'"},
    {"c: a folder is a sample", SUM, "f/x.npy=1 f/b.npy=2 f/w.npy=3 g/w.npy=4 g/b.npy=5 g/x.npy=6",
     "f g",
     "f{1 2 3} g{6 5 4}"},
    {"c: suffixes", SUM, "f/x.1.npy=1 f/b.1.npy=2 f/w.1.npy=3 f/x.a.2.npy=4 f/b.a.2.npy=5 "
     "f/w.a.2.npy=6", "f",
     "f/1{1 2 3} f/a.2{4 5 6}"},
    {"c: by number", SUM, "f/input_0.pb=1 f/input_2.pb=3 f/input_1.pb=2", "f",
     "f{1 2 3}"},
    {"c: a number of nobody", SUM, "f/input_0.pb=1 f/input_3.pb=3 f/input_1.pb=2", "f",
     "f/input_3.pb: which of the model's 3 inputs it is for is not clear: give NAME=FILE"},
    {"c: folders in a folder", SUM, "f/0/input_0.pb=1 f/0/b.npy=2 f/0/w.npy=3 f/1/x.npy=4 "
     "f/1/input_1.pb=5 f/1/input_2.pb=6", "f",
     "f/0{1 2 3} f/1{4 5 6}"},
    {"c: whose is not clear", SUM, "a.npy=1", "a.npy",
     "a.npy: which of the model's 3 inputs it is for is not clear: give NAME=FILE"},
    {"c: a name of nobody", SUM, "f/x.npy=1 f/b.npy=2 f/w.npy=3 f/z.npy=4", "f",
     "f/z.npy: which of the model's 3 inputs it is for is not clear: give NAME=FILE"},
    {"c: a folder twice", SUM, "f/x.npy=1 f/b.npy=2 f/w.npy=3", "f f",
     "f/b.npy: a second file for input 'b', which already has f/b.npy"},
    {"c: two for one", SUM, "f/x.npy=1 f/b.npy=2 f/w.npy=3 f/input_1.pb=4", "f",
     "f/input_1.pb: a second file for input 'b', which already has f/b.npy"},
    {"c: names as files have them", NAMES, "f/a%2Fb.npy=1 f/c.d.npy=2 g/a%2Fb.1.npy=3 "
     "g/c.d.1.npy=4", "f g",
     "f{1 2} g/1{3 4}"},
    {"c: a default needs none", DEFAULT, "a.npy=1 b.npy=2", "a.npy x=b.npy",
     "a.npy{- 1} b.npy{- 2}"},
    {"c: a default by name", DEFAULT, "f/0/x.npy=1 f/0/d.npy=2 f/1/x.npy=3 f/1/d.npy=4", "f",
     "f/0{2 1} f/1{4 3}"},
};

static void add_groups(wk_str *b, const wk_calibration *c) {
  for (size_t i = 0; i < c->groups.n; i++) {
    const wk_calibration_group *g = &c->groups.data[i];
    wk_str_printf(b, "%s%s{", i ? " " : "", g->place);
    for (size_t k = 0; k < c->info.inputs.n; k++) {
      if (g->path[k]) wk_str_printf(b, "%s%g", k ? " " : "", ((const float *)g->in[k].data)[0]);
      else wk_str_printf(b, "%s-", k ? " " : "");
    }
    wk_str_add(b, "}");
  }
}

static void samples_of_calibration(void **state) {
  (void)state;
  is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(calibrations); i++) {
    const sample_case *x = &calibrations[i];
    const char *args[WORDS];
    char text[200];
    wk_str b = {0};
    wk_calibration c;
    const wk_import_options o = {0};
    make_files(x->graph, x->files);
    snprintf(text, sizeof text, "%s", x->args);
    size_t n = words(text, args);
    wk_status s = wk_calibration_read("m.textproto", &o, &(wk_strings){args, n, n}, &c);
    if (s) add_status(&b, s);
    else add_groups(&b, &c);
    check(x->what, &b, x->text);
    wk_status_free(s);
    wk_str_free(&b);
    wk_calibration_free(&c);
  }
  assert_false(is_wrong);
}

/* ---- training -------------------------------------------------------------------------------- */

/* "SAMPLES: INPUT=FILE …"; the first word of the arguments are the labels, "-": there are none. */
static const sample_case trainings[] = {
    {"t: a file", ONE, "a.npy=4", "- a.npy",
     "4: x=a.npy(4444)"},
    {"t: a named file", ONE, "a.npy=4", "- x=a.npy",
     "4: x=a.npy(4444)"},
    {"t: labels", ONE, "a.npy=4 l.npy=4", "l.npy a.npy",
     "4: x=a.npy(4444) labels=l.npy(4444)"},
    {"t: in order", SUM, "a.npy=4 b.npy=4 c.npy=4", "- a.npy b.npy c.npy",
     "4: x=a.npy(4444) b=b.npy(4444) w=c.npy(4444)"},
    {"t: around a named one", SUM, "a.npy=4 b.npy=4 c.npy=4", "- b=a.npy b.npy c.npy",
     "4: x=b.npy(4444) b=a.npy(4444) w=c.npy(4444)"},
    {"t: a name later", SUM, "a.npy=4 b.npy=4 c.npy=4", "- a.npy x=b.npy c.npy",
     "--data: two files for the input x"},
    {"t: one is missing", SUM, "a.npy=4 b.npy=4", "- a.npy w=b.npy",
     "no samples for the input b: give --data b=FILE.npy"},
    {"t: too many", ONE, "a.npy=4 b.npy=4", "- a.npy b.npy",
     "--data b.npy: every input already has a file"},
    {"t: others have been given", ONE, "a.npy=4", "- a.npy y=a.npy",
     "--data y=a.npy: there is no input 'y'"},
    {"t: another number", SUM, "a.npy=4 b.npy=3 c.npy=4", "- a.npy b.npy c.npy",
     "b.npy: has 3 samples, a.npy has 4"},
    {"t: other labels", ONE, "a.npy=4 l.npy=5", "l.npy a.npy",
     "l.npy: has 5 samples, a.npy has 4"},
    {"t: no samples", ONE, "a.npy=0", "- a.npy",
     "a.npy: holds no samples"},
    {"t: no such input", SUM, "a.npy=4", "- wx=a.npy",
     "--data wx=a.npy: there is no input 'wx'; did you mean 'x'?"},
    {"t: nothing like it", SUM, "a.npy=4", "- frobnicate=a.npy",
     "--data frobnicate=a.npy: there is no input 'frobnicate'"},
    {"t: no name of a file", ONE, "a.npy=4", "- x=",
     "--data x=: the file name is empty"},
    {"t: a file with =", ONE, "q=a.npy=4", "- q=a.npy",
     "4: x=q=a.npy(4444)"},
    {"t: a default", DEFAULT, "a.npy=4", "- a.npy",
     "4: x=a.npy(4444)"},
    {"t: a default has a value", DEFAULT, "a.npy=4", "- a.npy d=a.npy",
     "--data d=a.npy: the input 'd' takes no samples, it has a value"},
    {"t: a folder of sets", SUM, "f/test_data_set_0/input_0.pb=2 f/test_data_set_0/input_1.pb=2 "
     "f/test_data_set_0/input_2.pb=2 f/test_data_set_1/input_0.pb=3 f/test_data_set_1/input_1.pb=3 "
     "f/test_data_set_1/input_2.pb=3", "- f",
     "5: x=f(22333) b=f(22333) w=f(22333)"},
    {"t: outputs of sets", ONE, "f/test_data_set_0/input_0.pb=2 f/test_data_set_0/output_0.pb=2 "
     "f/test_data_set_1/input_0.pb=3 f/test_data_set_1/output_0.pb=3", "- f",
     "5: x=f(22333) labels=f(22333)"},
    {"t: labels before outputs", ONE, "f/test_data_set_0/input_0.pb=2 l.npy=2 "
     "f/test_data_set_0/output_0.pb=2", "l.npy f",
     "2: x=f(22) labels=l.npy(22)"},
    {"t: a set without", ONE, "f/test_data_set_0/input_0.pb=2 f/test_data_set_1/output_0.pb=3",
     "- f",
     "f: test_data_set_1: input_0.pb does not fit that of test_data_set_0"},
    {"t: a folder without", ONE, "f/input_0.pb=2", "- f",
     "f: holds no folder test_data_set_K"},
    {"t: a folder too late", ONE, "a.npy=2 f/test_data_set_0/input_0.pb=2", "- a.npy f",
     "f: the input x already has a file"},
    {"t: a folder without one", SUM, "f/test_data_set_0/input_0.pb=2 "
     "f/test_data_set_0/input_2.pb=2", "- f",
     "no samples for the input b, nor in f: give --data b=FILE.npy"},
    {"t: a file beside a folder", SUM, "f/test_data_set_0/input_0.pb=2 b.npy=2 "
     "f/test_data_set_0/input_2.pb=2", "- f b=b.npy",
     "2: x=f(22) b=b.npy(22) w=f(22)"},
};

static void add_column(wk_str *b, const wk_column *c, const char *name) {
  wk_str_printf(b, " %s=%s(", name, c->path);
  for (int64_t i = 0; i < c->t.type.dims[0]; i++)
    wk_str_printf(b, "%g", ((const float *)c->t.data)[i]);
  wk_str_add(b, ")");
}

static void samples_of_training(void **state) {
  (void)state;
  is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(trainings); i++) {
    const sample_case *x = &trainings[i];
    const char *args[WORDS];
    char text[200];
    wk_str b = {0};
    wk_train_data d;
    const wk_import_options o = {0};
    const wk_binding_set none = {0};
    make_files(x->graph, x->files);
    snprintf(text, sizeof text, "%s", x->args);
    size_t n = words(text, args) - 1;
    wk_status s = wk_train_data_read("m.textproto", &o, &none, &(wk_strings){args + 1, n, n},
                                     strcmp(args[0], "-") ? args[0] : NULL, &d);
    if (s) add_status(&b, s);
    if (!s) wk_str_printf(&b, "%lld:", (long long)d.n);
    for (size_t k = 0; !s && k < d.columns.n; k++)
      add_column(&b, &d.columns.data[k], d.columns.data[k].name);
    if (!s && d.labels.t.data) add_column(&b, &d.labels, "labels");
    check(x->what, &b, x->text);
    wk_status_free(s);
    wk_str_free(&b);
    wk_train_data_free(&d);
  }
  assert_false(is_wrong);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Numbers of the inputs, and what is noted; "random" for those that are made up. */
static const sample_case runs[] = {
    {"r: a file", ONE, "a.npy=3", "a.npy",
     "x=333"},
    {"r: a named file", ONE, "a.npy=3", "x=a.npy",
     "x=333"},
    {"r: in order", SUM, "a.npy=2 b.npy=2 c.npy=2", "a.npy b.npy c.npy",
     "x=22 b=22 w=22"},
    {"r: around a named one", SUM, "a.npy=2 b.npy=2", "b=a.npy b.npy",
     "x=22 b=22 w=random(2); wick: 1 of 3 inputs are random, seed 5"},
    {"r: one is made up", SUM, "a.npy=2", "b=a.npy w=a.npy",
     "x=random(2) b=22 w=22; wick: 1 of 3 inputs are random, seed 5"},
    {"r: of other sizes", SUM, "a.npy=2 b.npy=3", "x=a.npy b=b.npy",
     "--input b=b.npy: axis 0 of input b is 'n', which is 2 already; 3 is given"},
    {"r: too many", ONE, "a.npy=2", "a.npy a.npy",
     "--input a.npy: every input already has a file"},
    {"r: two of a name", SUM, "a.npy=2", "b=a.npy b=a.npy",
     "--input: two files for input b"},
    {"r: a name later", SUM, "a.npy=2", "a.npy x=a.npy",
     "--input: two files for input x"},
    {"r: no file", ONE, "a.npy=2", "b.npy",
     "b.npy: cannot open: No such file or directory"},
    {"r: no name of a file", ONE, "a.npy=2", "x=",
     "--input x=: the file name is empty"},
    {"r: no such input", SUM, "a.npy=2", "wx=a.npy",
     "--input wx=a.npy: there is no input 'wx'; did you mean 'x'?"},
    {"r: nothing like it", SUM, "a.npy=2", "frobnicate=a.npy",
     "--input frobnicate=a.npy: there is no input 'frobnicate'"},
    {"r: a file with =", ONE, "q=a.npy=2", "q=a.npy",
     "x=22"},
    {"r: a named file with =", ONE, "q=a.npy=2", "x=q=a.npy",
     "x=22"},
    {"r: a name with =", ADD("a=b", "c", "y") IN("c") IN("a=b") OUT, "a.npy=2 c.npy=2",
     "a=b=a.npy c=c.npy",
     "c=22 a=b=22"},
    {"r: a default comes last", DEFAULT, "a.npy=1 b.npy=1", "b.npy a.npy",
     "x=1"},
    {"r: a default needs none", DEFAULT, "a.npy=1", "a.npy",
     "x=1"},
    {"r: of a file of one tensor", ONE, "input_0.pb=2", "input_0.pb",
     "x=22"},
    {"r: a size that is given", ONE, "a.npy=2", "a.npy --shape x=3",
     "--input a.npy: input x is f32[3] but f32[2] was given"},
    {"r: two sizes", ONE, "a.npy=2", "a.npy --shape x=2 --shape x=3",
     "one binding at a time: give --bind and --shape once"},
    {"r: only a size", SUM, "a.npy=2", "--shape x=3",
     "x=random(3) b=random(3) w=random(3); wick: 3 of 3 inputs are random, seed 5"},
};

static void add_run(wk_str *b, const wk_run_job *job) {
  for (size_t i = 0; i < wk_runner_inputs(job->runner); i++) {
    wk_str_printf(b, "%s%s=", i ? " " : "", wk_runner_input_name(job->runner, i));
    int64_t n = wk_type_count(&job->in[i].type);
    if (job->is_own[i]) wk_str_printf(b, "random(%lld)", (long long)n);
    for (int64_t k = 0; !job->is_own[i] && k < n; k++)
      wk_str_printf(b, "%g", ((const float *)job->in[i].data)[k]);
  }
  if (job->notes.n) wk_str_add(b, "; ");
  for (size_t i = 0; i < job->notes.n; i++)
    wk_str_printf(b, "%swick: %s%s%s", i ? "\n" : "",
                  job->notes.data[i].place ? job->notes.data[i].place : "",
                  job->notes.data[i].place ? ": " : "", job->notes.data[i].text);
}

static void inputs_of_runs(void **state) {
  (void)state;
  is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(runs); i++) {
    const sample_case *x = &runs[i];
    const char *args[WORDS], *shapes[WORDS], *inputs[WORDS];
    char text[200];
    wk_str b = {0};
    wk_run_job job;
    size_t n_shapes = 0, n_inputs = 0;
    make_files(x->graph, x->files);
    snprintf(text, sizeof text, "%s", x->args);
    size_t n = words(text, args);
    for (size_t k = 0; k < n; k++) {
      if (strcmp(args[k], "--shape") == 0) shapes[n_shapes++] = args[++k];
      else inputs[n_inputs++] = args[k];
    }
    const wk_run_opts o = {.target = {.target = WK_TARGET_EVAL}, .random = 5, .repeat = 1,
                           .input = {inputs, n_inputs, n_inputs},
                           .binding = {.shape = {shapes, n_shapes, n_shapes}}};
    wk_status s = wk_run_load(&o, "m.textproto", &job);
    if (s) add_status(&b, s);
    else add_run(&b, &job);
    check(x->what, &b, x->text);
    wk_status_free(s);
    wk_str_free(&b);
    wk_run_job_free(&job);
  }
  assert_false(is_wrong);
}

int main(void) {
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_of_calibration),
      cmocka_unit_test(samples_of_training),
      cmocka_unit_test(inputs_of_runs),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) || failed;
}
