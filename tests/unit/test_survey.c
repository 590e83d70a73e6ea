/* SPDX-License-Identifier: Apache-2.0
 * What `wick ops --model` says of a survey that is written down here, every line of it, and what a
 * survey finds out about small models: who has which node, and why nobody of higher preference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/survey.h"
#include "tests/unit/captured.h"

static char folder[] = "/tmp/wick-survey-XXXXXX";

/* What a print leaves on standard output; to be freed. */
static char *shown(void (*print)(const wk_survey *, bool), const wk_survey *s, bool all_nodes) {
  wk_str text = {0};
  capture printed = capture_begin();
  print(s, all_nodes);
  capture_end(&printed, &text);
  return text.s;
}

static void check_text(const char *what, char *got, const char *want) {
  if (strcmp(got, want) != 0) {
    fprintf(stderr, "@@ %s\n%s@@ end\n", what, got);
    fail();
  }
  free(got);
}

/* ---- a survey that is written down ----------------------------------------------------------- */

#define NODE(name, type, dom, set, what, why) \
  {.node = name, .op = type, .domain = dom, .opset = set, .fate = what, .reason = why}
#define UNKNOWN_OP "this operator is not known"

enum { NODES = 11, ACCEL = 1, CPU = 2 };

static wk_surveyed nodes[NODES] = {
    NODE("c1", "Conv", "", 13, WK_SURVEY_TAKEN, NULL),
    NODE("r1", "Relu", "", 13, WK_SURVEY_NOTHING, NULL),
    NODE("f1", "Foo", "my.domain", 1, WK_SURVEY_REFUSED, UNKNOWN_OP),
    NODE("r2", "Relu", "", 6, WK_SURVEY_TAKEN, NULL),
    NODE("c2", "Conv", "", 13, WK_SURVEY_UNKNOWN, NULL),
    NODE("f2", "Foo", "my.domain", 1, WK_SURVEY_REFUSED, UNKNOWN_OP),
    NODE("f3", "Foo", "my.domain", 1, WK_SURVEY_REFUSED, UNKNOWN_OP),
    NODE("f4", "Foo", "my.domain", 1, WK_SURVEY_REFUSED, UNKNOWN_OP),
    NODE("f5", "Foo", "my.domain", 1, WK_SURVEY_REFUSED, "another reason"),
    NODE("n1", "Bar", "Caffe2", 0, WK_SURVEY_TAKEN, NULL),
    NODE("c3", "Conv", "", 13, WK_SURVEY_TAKEN, NULL),
};
static wk_unsupported besides[] = {
    {.node = "f1", .op = "Foo", .reason = UNKNOWN_OP, .is_node = true},
    {.node = "w", .op = "input", .reason = "complex numbers are not supported"},
};
static wk_survey_reason reasons[] = {{"conv", "too wide", 0}, {"map", "a float", 0},
                                     {"conv", "too wide", 1}};
static const char *mixed[] = {"accel:base", "cpu:x"}, *gpu[] = {"opencl:any", "cpu:x"},
                  *npu[] = {"npu:small"};

/* c1 on both, c3 on the host for two reasons, r1 nowhere, r2 and n1 on the accelerator. */
static wk_survey_place on_mixed[NODES] = {
    [0] = {.on = ACCEL | CPU, .reasons = {reasons, 1, 1}},
    [3] = {.on = ACCEL},
    [9] = {.on = ACCEL},
    [10] = {.on = CPU, .reasons = {reasons, 3, 3}}};
static wk_survey_place on_gpu[NODES] = {
    [0] = {.on = 1}, [3] = {.on = 3}, [9] = {.on = 2}, [10] = {.on = 1}};
static wk_survey_place nowhere[NODES];
static int64_t macs[] = {3000, 1000}, no_macs[] = {0, 0};

static wk_survey_run runs[] = {
    {.target = mixed, .names = "accel:base,cpu:x", .n = 2, .place = on_mixed, .macs = macs},
    {.target = gpu, .names = "opencl", .n = 2, .place = on_gpu, .macs = no_macs,
     .is_one_of_all = true},
    {.names = "none", .place = nowhere, .is_one_of_all = true, .error = "none: no such device",
     .code = WK_UNSUPPORTED},
    {.target = npu, .names = "npu:small", .n = 1, .place = nowhere, .macs = no_macs,
     .error = "nobody runs r2", .code = WK_UNSUPPORTED},
};

static wk_survey drawn(void) {
  wk_survey s = {.arena = wk_arena_new(), .path = "m.onnx", .refused = 5, .unknown = 1,
                 .refused_besides = 1};
  s.report.nodes.data = nodes;
  s.report.nodes.n = NODES;
  s.report.unsupported.data = besides;
  s.report.unsupported.n = 2;
  s.runs.data = runs;
  s.runs.n = WK_COUNTOF(runs);
  return s;
}

static void everything_is_printed(void **state) {
  (void)state;
  wk_survey s = drawn();
  check_text("the survey", shown(wk_survey_print, &s, true),
             "OPERATOR       OPSET  NODES  REFUSED  UNKNOWN  FOLDED  accel:base         cpu:x    "
             " opencl  npu:small\n"
             "Conv              13      3        -        1       -   1 in part  1, 1 in part    "
             "      2          ?\n"
             "Relu               6      1        -        -       -           1             -  1 "
             "in part          ?\n"
             "Relu              13      1        -        -       1           -             -    "
             "      -          ?\n"
             "Caffe2.Bar         -      1        -        -       -           1             -    "
             "      -          ?\n"
             "my.domain.Foo      1      5        5        -       -           -             -    "
             "      -          ?\n"
             "\n"
             "refused:\n"
             "  my.domain.Foo: this operator is not known (4 nodes: f1, f2, f3, …)\n"
             "  my.domain.Foo: another reason (1 node: f5)\n"
             "  input w: complex numbers are not supported\n"
             "\n"
             "multiply-accumulates: accel:base 3.00 k (75.0 %), cpu:x 1.00 k (25.0 %)\n"
             "not on accel:base:\n"
             "  Conv: conv: too wide (2 nodes: c1, c3)\n"
             "  Conv: map: a float (1 node: c3)\n"
             "not on cpu:x:\n"
             "  Conv: conv: too wide (1 node: c3)\n"
             "\n"
             "multiply-accumulates: opencl:any 0, cpu:x 0\n"
             "\n"
             "none: no such device\n"
             "\n"
             "npu:small: nobody runs r2\n"
             "\n"
             "NODE  OPERATOR       VERDICT   ON accel:base,cpu:x  ON opencl     ON npu:small\n"
             "c1    Conv           accepted  accel:base + cpu:x   opencl        -\n"
             "r1    Relu           accepted  -                    -             -\n"
             "f1    my.domain.Foo  refused   -                    -             -\n"
             "r2    Relu           accepted  accel:base           opencl + cpu  -\n"
             "c2    Conv           unknown   -                    -             -\n"
             "f2    my.domain.Foo  refused   -                    -             -\n"
             "f3    my.domain.Foo  refused   -                    -             -\n"
             "f4    my.domain.Foo  refused   -                    -             -\n"
             "f5    my.domain.Foo  refused   -                    -             -\n"
             "n1    Caffe2.Bar     accepted  accel:base           cpu           -\n"
             "c3    Conv           accepted  cpu:x                opencl        -\n");
  wk_arena_free(s.arena);
}

/* A model of which everything is taken has no columns for what is not, and no nodes unless they
 * are asked for. */
static void what_is_taken_is_printed(void **state) {
  (void)state;
  wk_survey s = drawn();
  s.report.nodes.n = 2;
  s.report.unsupported.n = s.runs.n = 1;
  s.refused = s.unknown = s.refused_besides = 0;
  check_text("what is taken", shown(wk_survey_print, &s, false),
             "OPERATOR  OPSET  NODES  FOLDED  accel:base      cpu:x\n"
             "Conv         13      1       -   1 in part  1 in part\n"
             "Relu         13      1       1           -          -\n"
             "\n"
             "multiply-accumulates: accel:base 3.00 k (75.0 %), cpu:x 1.00 k (25.0 %)\n"
             "not on accel:base:\n"
             "  Conv: conv: too wide (1 node: c1)\n");
  wk_arena_free(s.arena);
}

/* JSON without spaces, to be freed. */
static char *compact(char *text) {
  json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(o);
  free(text);
  text = json_dumps(o, JSON_COMPACT);
  json_decref(o);
  return text;
}

static void everything_is_in_the_json(void **state) {
  (void)state;
  wk_survey s = drawn();
  const wk_survey_run some[] = {runs[0], runs[1], runs[3]};
  s.report.nodes.n = 4;
  memcpy(s.runs.data = wk_arena_alloc(s.arena, sizeof some), some, sizeof some);
  s.runs.n = 3;
  check_text("JSON", compact(shown(wk_survey_print_json, &s, true)),
             "{\"wick\":\"ops\",\"version\":1,\"model\":\"m.onnx\",\"accepted\":false,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"accepted\":1,\"refused\":0,\"unknown\":0},{\"domain\":\"ai.onnx\","
             "\"operator\":\"Relu\",\"opset\":6,\"accepted\":1,\"refused\":0,\"unknown\":0},"
             "{\"domain\":\"ai.onnx\",\"operator\":\"Relu\",\"opset\":13,\"accepted\":1,"
             "\"refused\":0,\"unknown\":0},{\"domain\":\"my.domain\",\"operator\":\"Foo\","
             "\"opset\":1,\"accepted\":0,\"refused\":1,\"unknown\":0}],"
             "\"refused\":[{\"domain\":\"my.domain\",\"operator\":\"Foo\",\"reason\":\"this "
             "operator is not known\",\"nodes\":[\"f1\"]}],"
             "\"refused_besides\":[{\"kind\":\"input\",\"name\":\"w\",\"reason\":\"complex "
             "numbers are not supported\"}],\"cut\":[],"
             "\"runs\":[{\"name\":\"accel:base,cpu:x\","
             "\"targets\":[{\"target\":\"accel:base\",\"macs\":3000,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"whole\":0,\"in_part\":1},{\"domain\":\"ai.onnx\",\"operator\":\"Relu\","
             "\"opset\":6,\"whole\":1,\"in_part\":0}]},{\"target\":\"cpu:x\",\"macs\":1000,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"whole\":0,\"in_part\":1}]}],\"not_taken\":[{\"domain\":\"ai.onnx\","
             "\"operator\":\"Conv\",\"target\":\"accel:base\",\"step\":\"conv\",\"reason\":\"too "
             "wide\",\"nodes\":[\"c1\"]}]},{\"name\":\"opencl\","
             "\"targets\":[{\"target\":\"opencl:any\",\"macs\":0,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"whole\":1,\"in_part\":0},{\"domain\":\"ai.onnx\",\"operator\":\"Relu\","
             "\"opset\":6,\"whole\":0,\"in_part\":1}]},{\"target\":\"cpu:x\",\"macs\":0,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Relu\",\"opset\":6,"
             "\"whole\":0,\"in_part\":1}]}],\"not_taken\":[]},{\"name\":\"npu:small\","
             "\"error\":\"nobody runs r2\",\"targets\":[],\"not_taken\":[]}],"
             "\"nodes\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"node\":\"c1\","
             "\"verdict\":\"accepted\",\"on\":{\"accel:base,cpu:x\":[\"accel:base\",\"cpu:x\"],"
             "\"opencl\":[\"opencl:any\"],\"npu:small\":[]}},{\"domain\":\"ai.onnx\","
             "\"operator\":\"Relu\",\"node\":\"r1\",\"verdict\":\"accepted\","
             "\"on\":{\"accel:base,cpu:x\":[],\"opencl\":[],\"npu:small\":[]}},"
             "{\"domain\":\"my.domain\",\"operator\":\"Foo\",\"node\":\"f1\","
             "\"verdict\":\"refused\",\"reason\":\"this operator is not known\","
             "\"on\":{\"accel:base,cpu:x\":[],\"opencl\":[],\"npu:small\":[]}},"
             "{\"domain\":\"ai.onnx\",\"operator\":\"Relu\",\"node\":\"r2\","
             "\"verdict\":\"accepted\",\"on\":{\"accel:base,cpu:x\":[\"accel:base\"],"
             "\"opencl\":[\"opencl:any\",\"cpu:x\"],\"npu:small\":[]}}]}");
  s.report.nodes.n = 2;
  s.report.unsupported.n = s.runs.n = 1;
  s.refused = s.refused_besides = 0;
  check_text("JSON of what is taken", compact(shown(wk_survey_print_json, &s, false)),
             "{\"wick\":\"ops\",\"version\":1,\"model\":\"m.onnx\",\"accepted\":true,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"accepted\":1,\"refused\":0,\"unknown\":0},{\"domain\":\"ai.onnx\","
             "\"operator\":\"Relu\",\"opset\":13,\"accepted\":1,\"refused\":0,\"unknown\":0}],"
             "\"refused\":[],\"refused_besides\":[],\"cut\":[],"
             "\"runs\":[{\"name\":\"accel:base,cpu:x\","
             "\"targets\":[{\"target\":\"accel:base\",\"macs\":3000,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"whole\":0,\"in_part\":1}]},{\"target\":\"cpu:x\",\"macs\":1000,"
             "\"operators\":[{\"domain\":\"ai.onnx\",\"operator\":\"Conv\",\"opset\":13,"
             "\"whole\":0,\"in_part\":1}]}],\"not_taken\":[{\"domain\":\"ai.onnx\","
             "\"operator\":\"Conv\",\"target\":\"accel:base\",\"step\":\"conv\",\"reason\":\"too "
             "wide\",\"nodes\":[\"c1\"]}]}]}");
  wk_arena_free(s.arena);
}

/* Refused nodes make a model that is not accepted, and so does what is refused beside them. */
static void refusals_are_in_the_json(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    wk_survey s = drawn();
    s.refused = i & 1;
    s.refused_besides = i >> 1;
    char *text = shown(wk_survey_print_json, &s, false);
    assert_int_equal(strstr(text, "\"accepted\": true") != NULL, i == 0);
    free(text);
    wk_arena_free(s.arena);
  }
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Of what is wrong, what is refused counts first, then sizes, then targets in their order; a target
 * that is not there is no error where all were asked for. */
static void verdicts(void **state) {
  (void)state;
  static const char *need[] = {"--bind n=N"};
  static const struct {
    int64_t refused, besides;
    size_t unbound, from, n; /* runs */
    wk_code code;
    const char *text;
  } cases[] = {
      {5, 1, 1, 0, 4, WK_UNSUPPORTED, "6 parts of the model are not supported"},
      {0, 1, 1, 0, 4, WK_UNSUPPORTED, "1 part of the model is not supported"},
      {5, 0, 1, 0, 4, WK_UNSUPPORTED, "5 of 11 nodes are not supported"},
      {0, 0, 1, 0, 4, WK_USAGE, "--bind n=N"},
      {0, 0, 0, 0, 4, WK_UNSUPPORTED, "nobody runs r2"},
      {0, 0, 0, 3, 1, WK_UNSUPPORTED, "nobody runs r2"},
      {0, 0, 0, 0, 3, WK_OK, NULL},
      {0, 0, 0, 0, 0, WK_OK, NULL},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_survey s = drawn();
    s.refused = cases[i].refused;
    s.refused_besides = cases[i].besides;
    s.report.need_bind.data = need;
    s.report.need_bind.n = cases[i].unbound;
    s.runs.data = runs + cases[i].from;
    s.runs.n = cases[i].n;
    wk_status st = wk_survey_verdict(&s);
    assert_int_equal(st ? st->code : WK_OK, cases[i].code);
    if (st && !strstr(st->message, cases[i].text)) fail_msg("%zu: %s", i, st->message);
    wk_status_free(st);
    wk_arena_free(s.arena);
  }
}

/* ---- surveys of models ----------------------------------------------------------------------- */

#define OP(type, in, out) "node { op_type: \"" type "\" name: \"" out "_" type "\" input: \"" in \
  "\" output: \"" out "\" } "
#define OP2(type, in, in2, out) "node { op_type: \"" type "\" name: \"" out "_" type \
  "\" input: \"" in "\" input: \"" in2 "\" output: \"" out "\" } "
#define VALUE(kind, name, type) kind " { name: \"" name "\" type { tensor_type { elem_type: " type \
  " shape { dim { dim_value: 2 } dim { dim_value: 4 } } } } } "
#define IN(name, type) VALUE("input", name, type)
#define OUT(name, type) VALUE("output", name, type)
#define F32 "1"
#define I8 "3"
#define BOOL "9"

typedef struct {
  const char *what, *graph, *target, *places;
} surveyed;

/* Places are "NODE: TARGETS [STEP: REASON (WHO DID NOT)]" by the bits of a list accel, cpu. */
static const surveyed models[] = {
    {"floats are the host's", OP("Relu", "x", "a") OP("Sigmoid", "a", "y") IN("x", F32)
     OUT("y", F32), "accel:base",
     "a_Relu: 2 [map: the result is f32 (0)]; y_Sigmoid: 2 [map: the result is f32 (0)]"},
    {"integers are the accelerator's", OP("Relu", "x", "a") OP("Neg", "a", "y") IN("x", I8)
     OUT("y", I8), "accel:base",
     "a_Relu: 1; y_Neg: 1"},
    {"what nobody reads is nowhere", OP("Relu", "x", "y") OP("Neg", "x", "z") IN("x", F32)
     OUT("y", F32), "cpu",
     "z_Neg: 0; y_Relu: 1"},
    {"what is said twice is there once, for both", OP("Neg", "x", "a") OP("Neg", "x", "b")
     OP2("Add", "a", "b", "y") IN("x", F32) OUT("y", F32), "cpu",
     "a_Neg: 1; b_Neg: 1; y_Add: 1"},
    {"what leads to a value that stays belongs to it", OP("Identity", "x", "a")
     OP("Neg", "a", "b") OP("Neg", "b", "c") OP("Exp", "c", "y") IN("x", F32) OUT("y", F32),
     "cpu",
     "a_Identity: 0; b_Neg: 1; c_Neg: 1; y_Exp: 1"},
    {"operands of one step are not those of another", OP("Exp", "x", "a") OP("Log", "w", "b")
     OP2("Add", "a", "b", "c") OP("Softmax", "c", "d") OP2("Max", "d", "b", "y") IN("x", F32)
     IN("w", F32) OUT("y", F32), "accel:base",
     "a_Exp: 2 [map: the result is f32 (0)]; b_Log: 2 [map: the result is f32 (0)]; "
     "c_Add: 2 [map: the result is f32 (0)]; d_Softmax: 2 [map: the result is f32 (0)] "
     "[reduce: a fold that the vector unit does not have (0)]; y_Max: 2 [map: the result is f32 "
     "(0)] [reduce: a fold that the vector unit does not have (0)]"},
    {"a node in parts is on both", OP("Softmax", "x", "s") OP("Relu", "q", "r")
     OP2("Max", "q", "r", "y") IN("x", F32) IN("q", I8) OUT("s", F32) OUT("y", I8), "accel:base",
     "s_Softmax: 2 [map: the result is f32 (0)] [reduce: a fold that the vector unit "
     "does not have (0)]; r_Relu: 1; y_Max: 1"},
    {"bodies are their owner's", "node { op_type: \"If\" name: \"if\" input: \"c\" output: \"y\" "
     "attribute { name: \"then_branch\" type: GRAPH g { name: \"t\" " OP("Neg", "x", "t")
     "output { name: \"t\" } } } attribute { name: \"else_branch\" type: GRAPH g { name: \"e\" "
     OP("Exp", "x", "e0") OP("Sqrt", "e0", "e") "output { name: \"e\" } } } } input { name: \"c\" "
     "type { tensor_type { elem_type: 9 shape { } } } } " IN("x", F32) OUT("y", F32), "accel:base",
     "t_Neg: 2; e0_Exp: 2; e_Sqrt: 2; if: 2 [if: there is no command for if (0)]"},
    {"integers in a body are the accelerator's", "node { op_type: \"If\" name: \"if\" input: \"c\" "
     "output: \"y\" attribute { name: \"then_branch\" type: GRAPH g { name: \"t\" "
     OP("Neg", "x", "t") "output { name: \"t\" } } } attribute { name: \"else_branch\" type: GRAPH "
     "g { name: \"e\" " OP("Relu", "x", "e0") OP("Neg", "e0", "e") "output { name: \"e\" } } } } "
     "input { name: \"c\" type { tensor_type { elem_type: 9 shape { } } } } " IN("x", I8)
     OUT("y", I8), "accel:base",
     "t_Neg: 1; e0_Relu: 1; e_Neg: 1; if: 2"},
};

static void add_place(wk_str *b, const wk_survey *s, size_t i) {
  const wk_survey_place *p = &s->runs.data[0].place[i];
  wk_str_printf(b, "%s%s: %llu", b->n ? "; " : "", s->report.nodes.data[i].node,
                (unsigned long long)p->on);
  for (size_t k = 0; k < p->reasons.n; k++)
    wk_str_printf(b, " [%s: %s (%u)]", p->reasons.data[k].step, p->reasons.data[k].reason,
                  p->reasons.data[k].refused);
}

static const char *model_file(char path[static 80], const char *graph) {
  snprintf(path, 80, "%s/m.textproto", folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "ir_version: 8 opset_import { version: 13 } graph { name: \"g\" %s}\n", graph);
  fclose(f);
  return path;
}

static void nodes_have_places(void **state) {
  (void)state;
  bool is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(models); i++) {
    char path[80];
    wk_binding_set none = {0};
    wk_survey s;
    wk_str b = {0};
    const wk_target_args args = {.target = models[i].target};
    wk_status st = wk_survey_make(model_file(path, models[i].graph), &none, &args, false, &s);
    if (st) fail_msg("%s: %s", models[i].what, st->message);
    assert_int_equal(s.runs.n, 1);
    for (size_t k = 0; k < s.report.nodes.n; k++) add_place(&b, &s, k);
    if (strcmp(b.s, models[i].places) != 0) {
      fprintf(stderr, "@@ %s\n%s@@ end\n", models[i].what, b.s);
      is_wrong = true;
    }
    wk_str_free(&b);
    wk_survey_free(&s);
  }
  assert_false(is_wrong);
}

/* Every target by itself, or the list that is given; none while sizes are not known. */
static void targets_that_are_asked(void **state) {
  (void)state;
  static const struct {
    const char *target, *size;
    int refused, unknown;
    bool is_each;
    size_t runs;
  } cases[] = {{NULL, "dim_value: 2", 0, 0, true, 0},
               {"all", "dim_value: 2", 0, 0, true, 0},
               {"accel:base", "dim_value: 2", 0, 0, false, 1},
               {"cpu", "dim_value: 2", 1, 1, false, 1},
               {"cpu", "dim_param: \"n\"", 0, 2, false, 0}};
  setenv("WICK_OPENCL", "/nowhere/libOpenCL.so", 1);
  size_t all = 0;
  while (wk_target_at(all)) all++;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char path[80], graph[600];
    wk_binding_set none = {0};
    wk_survey s;
    const wk_target_args args = {.target = cases[i].target};
    snprintf(graph, sizeof graph, "%s input { name: \"x\" type { tensor_type { elem_type: 1 shape "
             "{ dim { %s } } } } } output { name: \"y\" type { tensor_type { elem_type: 1 } } } ",
             cases[i].refused ? OP("Neg", "x", "a") OP("Unheard", "a", "b") OP("Abs", "b", "y")
                              : OP("Neg", "x", "a") OP("Abs", "a", "y"), cases[i].size);
    assert_null(wk_survey_make(model_file(path, graph), &none, &args, false, &s));
    assert_int_equal(s.runs.n, cases[i].is_each ? all : cases[i].runs);
    assert_int_equal(s.refused, cases[i].refused);
    assert_int_equal(s.unknown, cases[i].unknown);
    for (size_t r = 0; r < s.runs.n; r++) {
      const wk_survey_run *run = &s.runs.data[r];
      assert_int_equal(run->is_one_of_all, cases[i].is_each);
      bool is_there = !cases[i].is_each || wk_target_at(r) == wk_target_host();
      if (is_there) assert_null(run->error);
      if (is_there) assert_true(run->place[0].on == UINT64_C(1) << (run->n - 1));
    }
    wk_status st = wk_survey_verdict(&s);
    assert_int_equal(st ? st->code : WK_OK, cases[i].refused ? WK_UNSUPPORTED
                                            : cases[i].runs || cases[i].is_each ? WK_OK : WK_USAGE);
    wk_status_free(st);
    wk_survey_free(&s);
  }
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_printed),
      cmocka_unit_test(what_is_taken_is_printed),
      cmocka_unit_test(everything_is_in_the_json),
      cmocka_unit_test(refusals_are_in_the_json),
      cmocka_unit_test(verdicts),
      cmocka_unit_test(nodes_have_places),
      cmocka_unit_test(targets_that_are_asked),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) || failed;
}
