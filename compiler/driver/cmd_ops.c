/* SPDX-License-Identifier: Apache-2.0
 * wick ops: what is supported, from the tables that the compiler works with. */
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/command.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/targets.h"
#include "compiler/driver/text.h"
#include "compiler/onnx/onnx.h"

typedef struct {
  bool markdown, onnx, ir, passes;
  wk_strings plugins; /* whose passes are listed, too */
} ops_opts;

static const wk_option options[] = {
    {"onnx", 0, NULL, "the ONNX operators that can be imported (default)", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, onnx)},
    {"ir", 0, NULL, "the operators of the intermediate representation", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, ir)},
    {"passes", 0, NULL, "the passes in the order in which they run", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, passes)},
    {"markdown", 0, NULL, "everything as Markdown: docs/ops.md", .kind = WK_OPTION_FLAG,
     .offset = offsetof(ops_opts, markdown)},
    WK_PLUGIN_ROW(ops_opts, plugins),
    {0}};

static void add_dtypes(wk_str *b, uint32_t bits) {
  int n = 0;
  for (int t = 1; t < WK_DTYPE_COUNT; t++)
    if (bits & (1u << t)) wk_str_printf(b, "%s%s", n++ ? " " : "", wk_dtype_name((wk_dtype)t));
  if (!n) wk_str_add(b, "-");
}

static void add_opsets(wk_str *b, const wk_onnx_op *op) {
  if (op->known == op->since) wk_str_printf(b, "%lld", (long long)op->since);
  else wk_str_printf(b, "%lld-%lld", (long long)op->since, (long long)op->known);
}

static void print_onnx(void) {
  wk_table t = {0};
  wk_str b = {0};
  wk_table_row(&t, "OPERATOR\tOPSETS\tINPUT TYPES");
  for (size_t i = 0; i < wk_onnx_op_count(); i++) {
    wk_onnx_op op = wk_onnx_op_get(i);
    b.n = 0;
    wk_str_printf(&b, "%s%s%s\t", op.domain, *op.domain ? "." : "", op.name);
    add_opsets(&b, &op);
    wk_str_add(&b, "\t");
    add_dtypes(&b, op.dtypes);
    wk_table_row(&t, "%s", b.s);
  }
  wk_table_print(stdout, &t, "lll");
  wk_str_free(&b);
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

static void print_markdown(void) {
  wk_str b = {0};
  wk_ops_markdown(&b);
  wk_str_add(&b, "\n## ONNX operators\n\n"
                 "What the importer reads. A later opset is read by the newest definition "
                 "known, with a note.\n\n"
                 "| operator | opsets | types of input 0 |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_onnx_op_count(); i++) {
    wk_onnx_op op = wk_onnx_op_get(i);
    wk_str_printf(&b, "| `%s%s%s` | ", op.domain, *op.domain ? "." : "", op.name);
    add_opsets(&b, &op);
    wk_str_add(&b, " | ");
    add_dtypes(&b, op.dtypes);
    wk_str_add(&b, " |\n");
  }
  fputs(b.s, stdout);
  wk_str_free(&b);
}

static wk_status run(const void *options_, const wk_strings *args) {
  const ops_opts *o = options_;
  (void)args;
  if (o->markdown) print_markdown();
  if (o->ir) print_ir();
  if (o->passes) print_passes();
  if (o->onnx || (!o->markdown && !o->ir && !o->passes)) print_onnx();
  return NULL;
}

const wk_cmd wk_cmd_ops = {
    .command = {.name = "ops", .synopsis = "", .summary = "list supported operators and passes",
                .options = options},
    .size = sizeof(ops_opts), .run = run};
