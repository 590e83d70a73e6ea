/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ops_page.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/pipeline/targets.h"

void wk_ops_add_opsets(wk_str *b, const wk_onnx_op *op) {
  if (op->known == op->since) wk_str_printf(b, "%lld", (long long)op->since);
  else wk_str_printf(b, "%lld-%lld", (long long)op->since, (long long)op->known);
}

void wk_ops_add_types(wk_str *b, uint32_t bits) {
  int n = 0;
  for (int t = 1; t < WK_DTYPE_COUNT; t++)
    if (bits & (1u << t)) wk_str_printf(b, "%s%s", n++ ? " " : "", wk_dtype_name((wk_dtype)t));
  if (!n) wk_str_add(b, "-");
}

/* ---- types by families ----------------------------------------------------------------------- */

enum { FAMILIES = 4 };
static const char *const family_names[FAMILIES] = {"float", "int", "narrow float", "narrow int"};

/* Bit per type of a family; bool is of none. */
static uint32_t family(int k) {
  uint32_t bits = 0;
  for (int t = 1; t < WK_DTYPE_COUNT; t++) {
    wk_dtype d = (wk_dtype)t;
    bool is_narrow = wk_dtype_is_narrow(d), is_int = wk_dtype_is_int(d);
    if (d != WK_BOOL && is_narrow == (k >= 2) && is_int == (k % 2 == 1)) bits |= 1u << t;
  }
  return bits;
}

static void add_families(wk_str *b, uint32_t bits) {
  int n = 0;
  if (!bits) wk_str_add(b, "–");
  for (int k = 0; k < FAMILIES && bits; k++) {
    uint32_t all = family(k);
    if ((bits & all) != all) continue;
    wk_str_printf(b, "%s%s", n++ ? ", " : "", family_names[k]);
    bits &= ~all;
  }
  if (!bits) return;
  wk_str_add(b, n ? ", " : "");
  wk_ops_add_types(b, bits);
}

static void add_legend(wk_str *b) {
  for (int k = 0; k < FAMILIES; k++) {
    wk_str_printf(b, "%s**%s**: ", k ? "; " : "", family_names[k]);
    wk_ops_add_types(b, family(k));
  }
  wk_str_add(b, ".\n");
}

/* ---- targets --------------------------------------------------------------------------------- */

static bool covers(const wk_target *t, wk_op op, const char **note) {
  *note = "";
  return !t->covers || t->covers(op, note);
}

static const char *host_reason(const wk_onnx_op *op, const wk_target *t) {
  const wk_onnx_limit *x;
  for (size_t i = 0; (x = wk_onnx_limit_get(op, i)); i++)
    if (x->target && strcmp(x->target, t->name) == 0) return x->limit;
  return NULL;
}

/* "" runs there; else why the host does it. */
static const char *where(const wk_onnx_op *op, const wk_target *t) {
  const char *note, *host = host_reason(op, t);
  if (host) return host;
  return covers(t, op->op, &note) ? "" : note;
}

static void add_cell(wk_str *b, const char *s) {
  for (; *s; s++) wk_str_addn(b, *s == '|' ? "\\|" : s, *s == '|' ? 2 : 1);
}

static void add_where(wk_str *b, const wk_onnx_op *op) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)) && t != wk_target_host(); i++) {
    const char *reason = where(op, t);
    wk_str_add(b, *reason ? " | host: " : " | yes");
    add_cell(b, reason);
  }
}

static void add_target_heads(wk_str *b, const char *rest) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)) && t != wk_target_host(); i++)
    wk_str_printf(b, " %s |", t->name);
  wk_str_printf(b, "%s\n|", rest);
}

/* A line for each thing that a target asks for, or says of what it does not have. */
static void add_asked(wk_str *b, const wk_target *t, bool has_it) {
  const char *note, *other;
  for (int first = 0; first < WK_OP_COUNT; first++) {
    bool is_new = covers(t, (wk_op)first, &note) == has_it && *note;
    for (int op = 0; op < first; op++)
      is_new = is_new && !(covers(t, (wk_op)op, &other) == has_it && strcmp(note, other) == 0);
    if (!is_new) continue;
    wk_str_printf(b, "| %s | %s", t->name, has_it ? "" : "host: ");
    add_cell(b, note);
    wk_str_add(b, " |");
    for (int op = first; op < WK_OP_COUNT; op++)
      if (covers(t, (wk_op)op, &other) == has_it && strcmp(note, other) == 0)
        wk_str_printf(b, " `%s`", wk_op_get((wk_op)op)->name);
    wk_str_add(b, " |\n");
  }
}

static void add_targets(wk_str *b) {
  const wk_target *t;
  wk_str_add(b, "\n## Targets\n\nWhat they ask for of the operators of graphs, and what they leave "
                "to the host; the others they take as they are.\n\n"
                "| target | asks for | operators |\n|---|---|---|\n");
  for (size_t i = 0; (t = wk_target_at(i)) && t != wk_target_host(); i++) {
    add_asked(b, t, true);
    add_asked(b, t, false);
  }
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

static void add_limits(wk_str *b, const wk_onnx_op *op) {
  const wk_onnx_limit *x;
  int n = 0;
  for (size_t i = 0; (x = wk_onnx_limit_get(op, i)); i++) {
    if (x->target) continue;
    wk_str_add(b, n++ ? "; " : "");
    add_cell(b, x->limit);
  }
}

static void add_onnx(wk_str *b, const char *domain) {
  wk_str_printf(b, "\n### %s\n\n| operator | opsets | types | becomes |",
                *domain ? domain : "ai.onnx");
  add_target_heads(b, " limits |");
  wk_str_add(b, "---|---|---|---|---|");
  for (size_t i = 0; wk_target_at(i) != wk_target_host(); i++) wk_str_add(b, "---|");
  wk_str_add(b, "\n");
  for (size_t i = 0; i < wk_onnx_op_count(); i++) {
    wk_onnx_op op = wk_onnx_op_get(i);
    if (strcmp(op.domain, domain) != 0) continue;
    wk_str_printf(b, "| `%s` | ", op.name);
    wk_ops_add_opsets(b, &op);
    wk_str_add(b, " | ");
    add_families(b, op.dtypes);
    wk_str_printf(b, " | `%s`", wk_op_get(op.op)->name);
    add_where(b, &op);
    wk_str_add(b, " | ");
    add_limits(b, &op);
    wk_str_add(b, " |\n");
  }
}

static void add_domains(wk_str *b) {
  const char *last = NULL;
  for (size_t i = 0; i < wk_onnx_op_count(); i++) {
    const char *domain = wk_onnx_op_get(i).domain;
    if (!last || strcmp(last, domain) != 0) add_onnx(b, domain);
    last = domain;
  }
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char intro[] =
    "# Operators\n\n"
    "What is read, and who runs it. `wick ops --model FILE` says it of one model "
    "([ops-model.md](ops-model.md)). Generated from the tables of the compiler ("
    "`compiler/onnx/import/import_ops.def`, `schemas.def` and `limits.def`, `compiler/ir/ops.def` "
    "and `expr.def`, "
    "`wk_target.covers` of the targets); do not edit. Operators of Caffe2 become these: "
    "[caffe2-ops.md](caffe2-ops.md).\n\n"
    "## ONNX operators\n\n"
    "* **opsets**: all definitions from the first to the last are read; a later opset is read by "
    "the newest definition known, with a note.\n"
    "* **types**: of input 0, or –: it may be absent, or no tensor. ";

static const char columns[] =
    "* **becomes**: the operator of the graph that it is, or the most part of it ([below]"
    "(#operators-of-graphs)).\n"
    "* Every operator runs on the host, the CPU. A column for each other target: **yes**, it has "
    "code for what becomes of the operator, of types that suit it; otherwise the host does it. "
    "opencl: devices without 64-bit floats leave these to the host. accel: between tensors that "
    "are quantised to 8 bits. What they ask for beside that stands in [Targets](#targets).\n"
    "* **limits**: what is taken; the rest is refused by name. For all: shapes are known at "
    "compile time, tensors have at most 8 dimensions, and strings are labels of outputs at most. "
    "What must be *known at compile time* is a constant or fixed with `--value`.\n";

void wk_ops_page(void) {
  wk_str b = {0};
  wk_str_add(&b, intro);
  add_legend(&b);
  wk_str_add(&b, columns);
  add_domains(&b);
  add_targets(&b);
  wk_ops_markdown(&b);
  fputs(b.s, stdout);
  wk_str_free(&b);
}
