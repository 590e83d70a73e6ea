/* SPDX-License-Identifier: Apache-2.0
 * wick ops: what is supported, from the tables that the compiler works with, or of one model. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/ops_page.h"
#include "cli/survey.h"
#include "cli/text.h"
#include "compiler/caffe2/caffe2.h"
#include "compiler/grad/grad.h"
#include "compiler/onnx/onnx.h"

typedef struct {
  bool markdown, onnx, caffe2, ir, gradients, passes;
  const char *model;
  wk_binding_args binding;
  wk_target_args targets; /* plugins: whose passes are listed, too */
  bool json, verbose, parts;
} ops_opts;

static const wk_option options[] = {
    {"onnx", 0, NULL, "the ONNX operators that can be imported (default)", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, onnx)},
    {"caffe2", 0, NULL, "the operators of Caffe2, and what they become in ONNX",
     .kind = WK_OPTION_FLAG, .offset = offsetof(ops_opts, caffe2)},
    {"ir", 0, NULL, "the operators of the intermediate representation", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, ir)},
    {"gradients", 0, NULL, "how the operators of the intermediate representation are "
     "differentiated", .kind = WK_OPTION_FLAG, .offset = offsetof(ops_opts, gradients)},
    {"passes", 0, NULL, "the passes in the order in which they run", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, passes)},
    {"markdown", 0, NULL, "everything as Markdown: docs/ops.md; with --caffe2, "
     "docs/caffe2-ops.md", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, markdown)},
    {.kind = WK_OPTION_GROUP, .help = "Of one model"},
    {"model", 0, "FILE", "the operators of this model: which are refused, and who would run the "
     "others", .kind = WK_OPTION_STRING, .offset = offsetof(ops_opts, model)},
    {"target", 0, "TARGET,…", "who is asked, in order of preference ('wick targets' lists them); "
     "all: every target by itself (default)", .kind = WK_OPTION_STRING,
     .offset = offsetof(ops_opts, targets.target)},
    {"parts", 0, NULL, "targets also look at what would be theirs as a whole, which may not fit "
     "where every operator does; takes as long as compiling", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, parts)},
    {"json", 0, NULL, "as JSON (docs/ops-model.md)", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, json)},
    {"verbose", 'v', NULL, "every node, too", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, verbose)},
    WK_PLUGIN_ROW(ops_opts, targets.plugins),
    WK_BINDING_OPTIONS(ops_opts, binding),
    {0}};

static void print_onnx(void) {
  wk_table t = {0};
  wk_str b = {0};
  wk_table_row(&t, "OPERATOR\tOPSETS\tINPUT TYPES");
  for (size_t i = 0; i < wk_onnx_op_count(); i++) {
    wk_onnx_op op = wk_onnx_op_get(i);
    b.n = 0;
    wk_str_printf(&b, "%s%s%s\t", op.domain, *op.domain ? "." : "", op.name);
    wk_ops_add_opsets(&b, &op);
    wk_str_add(&b, "\t");
    wk_ops_add_types(&b, op.dtypes);
    wk_table_row(&t, "%s", b.s);
  }
  wk_table_print(stdout, &t, "lll");
  wk_str_free(&b);
}

/* What targets have to have code for: each more of them is work for all. */
static void print_primitives(void) {
  int primitives = wk_op_count(WK_KIND_BOTH), all = primitives + wk_op_count(WK_KIND_GRAPH);
  printf("\n%d operators of graphs, of which %d are primitives: lowering leaves these and views\n",
         all, primitives);
}

/* What an operator of Caffe2 becomes, in one line. */
static void add_caffe2(wk_str *b, const wk_caffe2_op *op, const char *quote) {
  if (op->is_int8) wk_str_printf(b, "8-bit %s%s%s", quote, op->as, quote);
  else if (op->is_function) wk_str_printf(b, "%s%s%s", quote, op->as, quote);
  else wk_str_add(b, op->as);
}

static void print_caffe2(void) {
  wk_table t = {0};
  wk_str b = {0};
  wk_table_row(&t, "OPERATOR\tIN ONNX");
  for (size_t i = 0; i < wk_caffe2_op_count(); i++) {
    wk_caffe2_op op = wk_caffe2_op_get(i);
    b.n = 0;
    if (op.reason) wk_str_printf(&b, "refused: %s", op.reason);
    else add_caffe2(&b, &op, "");
    wk_table_row(&t, "%s\t%s", op.type, b.s);
  }
  wk_table_print(stdout, &t, "ll");
  wk_str_free(&b);
}

static const char caffe2_page[] =
    "# Operators of Caffe2\n\n"
    "Made by `wick ops --caffe2 --markdown` from `compiler/caffe2/caffe2_ops.def`. An operator\n"
    "becomes the ONNX operators named here, or a model-local function of the domain `caffe2`,\n"
    "whose body stands here: inputs are `a`, `b`, `c`, …, results are separated by commas, and\n"
    "`$name` is an argument. Where NHWC is the order, transpositions come before and after.\n\n"
    "An 8-bit operator dequantises its inputs, computes as the one on floats does, and quantises\n"
    "the result to `Y_scale` and `Y_zero_point`, to the nearest integer, ties to even, as\n"
    "`QuantizeLinear` does; [integers.md](integers.md) says how that is computed in integers, to\n"
    "the bit. Caffe2's own kernels round in fixed point, each in its way, so a result can be one\n"
    "step off theirs. An i32 bias has the step of the sums it is added to, whatever `Y_scale` it\n"
    "states.\n\n"
    "| operator | in ONNX |\n|---|---|\n";

static void print_caffe2_markdown(void) {
  wk_str b = {0}, refused = {0};
  for (size_t i = 0; i < wk_caffe2_op_count(); i++) {
    wk_caffe2_op op = wk_caffe2_op_get(i);
    wk_str_printf(op.reason ? &refused : &b, "| `%s` | ", op.type);
    if (op.reason) wk_str_add(&refused, op.reason);
    else add_caffe2(&b, &op, "`");
    wk_str_add(op.reason ? &refused : &b, " |\n");
  }
  printf("%s%s\n## Refused\n\nAll refusals of a net are reported together.\n\n"
         "| operator | why |\n|---|---|\n%s", caffe2_page, b.s, refused.s);
  wk_str_free(&b);
  wk_str_free(&refused);
}

static void print_ir(void) {
  static const char *const kinds[] = {"graph", "both", "instruction"};
  wk_table t = {0};
  wk_table_row(&t, "OPERATOR\tCLASS\tKIND\tINPUTS\tMEANING");
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *i = wk_op_get((wk_op)op);
    wk_table_row(&t, "%s\t%s\t%s\t%s\t%s", i->name, wk_op_class_name(i->cls), kinds[i->kind],
                 *i->inputs ? i->inputs : "-", i->doc);
  }
  wk_table_print(stdout, &t, "lllll");
}

static void print_passes(void) {
  wk_pipeline_step_list steps = wk_pipeline_steps();
  wk_table t = {0};
  wk_table_row(&t, "PASS\tON\tWHAT IT DOES");
  for (size_t i = 0; i < steps.n; i++) {
    const wk_pipeline_step *x = &steps.data[i];
    wk_table_row(&t, "%s\t%s%s%s%s\t%s", x->name, x->on, x->target ? " (" : "",
                 x->target ? x->target : "", x->target ? ")" : "", x->doc);
  }
  wk_table_print(stdout, &t, "lll");
  wk_vec_free(&steps);
}

/* ---- one model ------------------------------------------------------------------------------- */

static wk_status survey(const ops_opts *o) {
  wk_binding_set b;
  wk_survey s;
  size_t n;
  WK_TRY(wk_binding_sets_parse(&o->binding, &b, 1, &n));
  wk_status st = wk_survey_make(o->model, &b, &o->targets, o->parts, &s);
  if (!st) {
    wk_text_notes(stderr, s.notes.data, s.notes.n);
    (o->json ? wk_survey_print_json : wk_survey_print)(&s, o->verbose);
    st = wk_survey_verdict(&s);
  }
  wk_survey_free(&s);
  wk_binding_set_free(&b);
  return st;
}

static void print_gradients(void) {
  wk_table t = {0};
  int differentiable = 0, constant = 0, all = 0;
  wk_table_row(&t, "OPERATOR\tBY\tNOTE");
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const char *note;
    const wk_op_info *info = wk_op_get((wk_op)op);
    if (info->kind == WK_KIND_INST) continue;
    wk_adjoint_kind k = wk_adjoint_of((wk_op)op, &note);
    all++;
    differentiable += wk_adjoint_exists(k);
    constant += k == WK_ADJOINT_CONSTANT;
    wk_table_row(&t, "%s\t%s\t%s", info->name, wk_adjoint_kind_name(k), note);
  }
  wk_table_print(stdout, &t, "lll");
  printf("\n%d of %d operators are differentiable: %d have a derivative other than 0, %d are "
         "constant almost everywhere\n", differentiable, all, differentiable - constant, constant);
}

static wk_status run(const void *options_, const wk_strings *args) {
  const ops_opts *o = options_;
  (void)args;
  const char *binding = wk_binding_given(&o->binding);
  if (o->model && (o->markdown || o->onnx || o->caffe2 || o->ir || o->passes || o->gradients))
    return wk_error(WK_USAGE, "--model lists the operators of a model, and nothing else");
  if (o->model) return survey(o);
  if (o->json || o->verbose || o->parts || o->targets.target)
    return wk_error(WK_USAGE, "--target, --parts, --json and --verbose go with --model FILE");
  if (binding) return wk_error(WK_USAGE, "%s goes with --model FILE", binding);
  if (o->markdown && o->caffe2) print_caffe2_markdown();
  else if (o->markdown) wk_ops_page();
  else if (o->caffe2) print_caffe2();
  if (o->ir) print_ir();
  if (o->gradients) print_gradients();
  if (o->passes) print_passes();
  bool any = o->caffe2 || o->ir || o->passes || o->gradients;
  if (o->onnx || (!o->markdown && !any)) print_onnx();
  if (o->ir || o->onnx || (!o->markdown && !any)) print_primitives();
  return NULL;
}

const wk_cmd wk_cmd_ops = {
    .command = {.name = "ops", .synopsis = "", .summary = "list supported operators and passes",
                .options = options},
    .size = sizeof(ops_opts), .run = run};
