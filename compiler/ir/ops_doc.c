/* SPDX-License-Identifier: Apache-2.0 */
/* A part of docs/ops.md from the tables, so that it cannot go stale. */
#include <string.h>

#include "compiler/ir/ops.h"

static void add_default(wk_str *b, const wk_field *f) {
  switch (f->kind) {
    case WK_FIELD_INT: wk_str_printf(b, " = %lld", (long long)f->def_int); break;
    case WK_FIELD_FLOAT:
      wk_str_add(b, " = ");
      wk_str_f64(b, f->def_float);
      break;
    case WK_FIELD_TEXT: wk_str_printf(b, " = \"%s\"", f->def_text); break;
    case WK_FIELD_INTS: wk_str_add(b, ": ints"); break;
    case WK_FIELD_FLOATS: wk_str_add(b, ": floats"); break;
    case WK_FIELD_TEXTS: wk_str_add(b, ": texts"); break;
    case WK_FIELD_DTYPE: wk_str_add(b, ": element type"); break;
    case WK_FIELD_EXPR: wk_str_add(b, ": expression"); break;
  }
}

static void add_attributes(wk_str *b, const wk_op_info *info) {
  for (int k = 0; k < info->n_fields; k++) {
    wk_str_printf(b, "%s`%s", k ? ", " : "", info->fields[k].name);
    add_default(b, &info->fields[k]);
    wk_str_add(b, "`");
  }
  if (!info->n_fields) wk_str_add(b, "–");
}

/* A cell of a table: bars would end it. */
static void add_cell(wk_str *b, const char *s) {
  for (; *s; s++) wk_str_addn(b, *s == '|' ? "\\|" : s, *s == '|' ? 2 : 1);
}

static void add_code(wk_str *b, const char *s) {
  if (!*s) {
    wk_str_add(b, "–");
    return;
  }
  wk_str_add(b, "`");
  add_cell(b, s);
  wk_str_add(b, "`");
}

static const char *const view_names[] = {"", "view of all", "view", "of pieces", "with a border"};
static const char *const window_names[] = {"", "window (0 outside)", "window (the least outside)",
                                           "window", "window over y"};
static const char *const macs_names[] = {"", "macs of a product", "macs of a convolution",
                                         "macs of a transposed one", "macs of steps",
                                         "macs of two products"};
static const char *const order_names[] = {"", "order channels last", "order of the first",
                                          "order of the main", "order as reshaped",
                                          "order as transposed", "order as reduced",
                                          "order as gathered"};

/* The attribute at this offset. */
static const char *name_at(const wk_op_info *info, size_t offset) {
  for (int k = 0; k < info->n_fields; k++)
    if (info->fields[k].offset == offset) return info->fields[k].name;
  return "";
}

static void add_trait(wk_str *b, int *n, const char *name, const char *attribute) {
  if (!*name) return;
  wk_str_printf(b, "%s%s", (*n)++ ? ", " : "", name);
  if (*attribute) wk_str_printf(b, " `%s`", attribute);
}

static void add_traits(wk_str *b, const wk_op_info *info) {
  const wk_op_traits *t = &info->traits;
  bool named = t->window == WK_WINDOW_ATTRIBUTE;
  int n = 0;
  add_trait(b, &n, view_names[t->view], "");
  add_trait(b, &n, window_names[t->window], named ? name_at(info, t->outside) : "");
  add_trait(b, &n, t->has_epilogue ? "epilogue" : "",
            t->has_epilogue ? name_at(info, t->epilogue) : "");
  add_trait(b, &n, macs_names[t->macs], "");
  add_trait(b, &n, order_names[t->order], "");
  add_trait(b, &n, t->any_order ? "any order" : "", "");
  add_trait(b, &n, t->narrow ? "narrow" : "", "");
  if (!n) wk_str_add(b, "–");
}

static void add_row(wk_str *b, const wk_op_info *info) {
  static const char *const kinds[] = {"graph", "both", "instruction"};
  wk_str_printf(b, "| `%s` | ", info->name);
  add_code(b, info->inputs);
  wk_str_add(b, " | ");
  add_code(b, info->outputs);
  wk_str_add(b, " | ");
  add_attributes(b, info);
  wk_str_add(b, " | ");
  add_cell(b, info->doc);
  if (info->semantics[0]) {
    wk_str_add(b, ": ");
    add_code(b, info->semantics);
  }
  wk_str_printf(b, " | %s | ", kinds[info->kind]);
  add_traits(b, info);
  wk_str_add(b, " |\n");
}

static void add_class(wk_str *b, wk_op_class c) {
  wk_str_printf(b, "\n### %c%s\n\n", wk_op_class_name(c)[0] - 'a' + 'A', wk_op_class_name(c) + 1);
  wk_str_add(b, "| operator | inputs | outputs | attributes | meaning | kind | traits |\n"
                "|---|---|---|---|---|---|---|\n");
  for (int op = 0; op < WK_OP_COUNT; op++)
    if (wk_op_get((wk_op)op)->cls == c) add_row(b, wk_op_get((wk_op)op));
}

static void add_instructions(wk_str *b) {
  wk_str_add(b, "\n## Instructions\n\n"
                "What a program is made of: operands are views of buffers, outputs first. The "
                "attributes are those above.\n\n");
  int n = 0;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    if (info->kind == WK_KIND_GRAPH) continue;
    wk_str_printf(b, "%s`%s`", n++ ? ", " : "", info->name);
  }
  wk_str_add(b, ".\n");
}

static void add_expressions(wk_str *b) {
  static const struct {
    const char *name;
    int arity;
    const char *result, *doc;
  } rows[] = {
#define EXPR(e, name, arity, result, doc, derivative) {name, arity, #result, doc},
#include "compiler/expr/expr.def"
#undef EXPR
  };
  static const struct {
    const char *rule, *text;
  } results[] = {{"SAME", "as the arguments"},
                 {"BOOL", "bool"},
                 {"ARMS", "as the last two arguments"},
                 {"I32", "i32"},
                 {"ARG", "given with it"}};
  wk_str_add(b, "\n## Scalar expressions\n\n"
                "Bodies of `map`, `pre` and `post` of `reduce`, every epilogue, and the "
                "definitions of the elementwise operators above. `%k` is operand k; a node that is "
                "used twice is named: `a = sub(%0, %1); mul(a, a)`.\n\n"
                "| operation | arguments | type of the result | meaning |\n|---|---|---|---|\n");
  for (size_t k = 0; k < WK_COUNTOF(rows); k++) {
    const char *type = "";
    for (size_t r = 0; r < WK_COUNTOF(results); r++)
      if (strcmp(results[r].rule, rows[k].result) == 0) type = results[r].text;
    wk_str_printf(b, "| `%s` | %d | %s | ", rows[k].name, rows[k].arity, type);
    add_cell(b, rows[k].doc);
    wk_str_add(b, " |\n");
  }
}

static void add_counts(wk_str *b) {
  wk_str_printf(b, "\n%d operators of graphs; lowering replaces all but the %d primitives (kind "
                "`both`) and movement that is a view.\n",
                wk_op_count(WK_KIND_GRAPH) + wk_op_count(WK_KIND_BOTH), wk_op_count(WK_KIND_BOTH));
}

void wk_ops_markdown(wk_str *b) {
  wk_str_add(b,
             "\n## Operators of graphs\n\n"
             "An input or output marked `?` may be left out, one marked `*` may occur any number "
             "of times. Kind: `graph` operators are lowered before code is generated, `both` are "
             "also instructions of the same name, `instruction` occurs only in programs.\n\n"
             "Traits are what other code asks of operators (`compiler/ir/traits.h`): views that "
             "storage can save (*view of all*: x may be one of y as well), what windows see "
             "outside of x, the expression that makes each element of the result, what is "
             "multiplied, the memory order of results where it is not row-major, and whether "
             "elements of narrow types are taken as they are.\n");
  add_counts(b);
  for (int c = 0; c < WK_CLASS_COUNT; c++) add_class(b, (wk_op_class)c);
  add_instructions(b);
  add_expressions(b);
}
