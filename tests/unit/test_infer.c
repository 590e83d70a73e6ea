/* SPDX-License-Identifier: Apache-2.0 */
/* One table of cases for all inference rules: operator, attributes and operand types as text, and
 * the output types or part of the error message that must come. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/ir/graph.h"

typedef struct {
  wk_op op;
  const char *attrs; /* "name=value name=value"; an expression is {dtypes:text} without spaces */
  const char *in;    /* types; "-" is an operand left out */
  const char *want;  /* output types, as many as are asked for; "!..." part of the error message */
  uint32_t n_out;    /* for errors: outputs asked for (0: one) */
} infer_case;

static const infer_case all_cases[] = {
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want, 0},
#define CASE_N(op, attrs, in, want, n_out) {WK_OP_##op, attrs, in, want, n_out},
#include "tests/unit/infer_cases.def"
#include "tests/unit/infer_index_cases.def"
#include "tests/unit/infer_integer_cases.def"
#include "tests/unit/infer_window_cases.def"
#undef CASE
#undef CASE_N
};

/* ---- reading the table ----------------------------------------------------------------------- */

static size_t word(const char **s) {
  while (**s == ' ') (*s)++;
  return strcspn(*s, " ");
}

static wk_type read_type(wk_arena *a, const char *s) {
  size_t n = strcspn(s, "[<");
  wk_type t = {0};
  if (!wk_dtype_from_name(s, n, &t.dtype)) fail_msg("bad type in the table: %s", s);
  s += n;
  if (*s == '<') { /* per tensor <scale,zero>, or <axis> for a per-channel one with any values */
    wk_quant *q = wk_arena_alloc(a, sizeof *q);
    float *scale = wk_arena_alloc(a, 64 * sizeof *scale);
    int32_t *zero = wk_arena_alloc(a, 64 * sizeof *zero);
    for (int k = 0; k < 64; k++) scale[k] = 0.5f;
    *q = (wk_quant){.axis = strchr(s, ',') && strchr(s, ',') < strchr(s, '>') ? -1 : atoi(s + 1),
                    .n = 1, .scale = scale, .zero_point = zero};
    t.quant = q;
    s = strchr(s, '>') + 1;
  }
  for (s++; *s != ']'; s += *s == ',') t.dims[t.rank++] = strtoll(s, (char **)&s, 10);
  if (t.quant && t.quant->axis >= 0) ((wk_quant *)t.quant)->n = t.dims[t.quant->axis];
  return t;
}

static wk_ints read_ints(wk_arena *a, const char *s, size_t n) {
  int64_t v[32], count = 0;
  for (const char *end = s + n; s < end; s += *s == ',') v[count++] = strtoll(s, (char **)&s, 10);
  return wk_ints_dup(a, v, count);
}

static wk_floats read_floats(wk_arena *a, const char *s, size_t n) {
  double v[32];
  int64_t count = 0;
  for (const char *end = s + n; s < end; s += *s == ',') v[count++] = strtod(s, (char **)&s);
  return wk_floats_dup(a, v, count);
}

static wk_texts read_texts(wk_arena *a, const char *s, size_t n) {
  const char **v = wk_arena_alloc(a, 16 * sizeof *v);
  int64_t count = 0;
  for (const char *end = s + n; s < end; s += *s == ',') {
    size_t m = strcspn(s, ", ");
    v[count++] = wk_arena_strndup(a, s, m);
    s += m;
  }
  return (wk_texts){count, v};
}

static const wk_expr *read_expr(wk_arena *a, const char *s) {
  wk_dtype dtypes[8];
  int n = 0;
  for (s++; *s != ':'; s += *s == ',') {
    size_t m = strcspn(s, ",:");
    assert_true(wk_dtype_from_name(s, m, &dtypes[n++]));
    s += m;
  }
  char *text = wk_arena_strndup(a, s + 1, strcspn(s + 1, "}"));
  wk_expr *e = NULL;
  wk_status st = wk_expr_parse(a, text, dtypes, n, &e);
  if (st) fail_msg("%s: %s", text, st->message);
  return e;
}

static void read_attr(wk_arena *a, const wk_op_info *info, void *attrs, const char *s, size_t n) {
  size_t name = strcspn(s, "=");
  for (int k = 0; k < info->n_fields; k++) {
    const wk_field *f = &info->fields[k];
    if (strlen(f->name) != name || memcmp(f->name, s, name) != 0) continue;
    void *at = (char *)attrs + f->offset;
    const char *v = s + name + 1;
    size_t m = n - name - 1;
    wk_dtype t = WK_DTYPE_NONE;
    switch (f->kind) {
      case WK_FIELD_INT: *(int64_t *)at = strtoll(v, NULL, 10); break;
      case WK_FIELD_FLOAT: *(double *)at = strtod(v, NULL); break;
      case WK_FIELD_INTS: *(wk_ints *)at = read_ints(a, v, m); break;
      case WK_FIELD_FLOATS: *(wk_floats *)at = read_floats(a, v, m); break;
      case WK_FIELD_TEXT: *(const char **)at = wk_arena_strndup(a, v, m); break;
      case WK_FIELD_TEXTS: *(wk_texts *)at = read_texts(a, v, m); break;
      case WK_FIELD_DTYPE:
        wk_dtype_from_name(v, m, &t);
        *(int64_t *)at = t;
        break;
      case WK_FIELD_EXPR: *(const wk_expr **)at = read_expr(a, v); break;
    }
    return;
  }
  fail_msg("%s has no attribute %.*s", info->name, (int)name, s);
}

/* ---- running it ------------------------------------------------------------------------------ */

enum { MAX_OPERANDS = 80 };

static void run_case(const infer_case *c) {
  wk_arena *a = wk_arena_new();
  const wk_op_info *info = wk_op_get(c->op);
  void *attrs = wk_attrs_new(a, c->op);
  size_t n;
  for (const char *s = c->attrs; (n = word(&s)) > 0; s += n) read_attr(a, info, attrs, s, n);
  wk_type types[MAX_OPERANDS], out[MAX_OPERANDS];
  const wk_type *in[MAX_OPERANDS];
  wk_infer i = {.op = c->op, .attrs = attrs, .in = in, .out = out};
  for (const char *s = c->in; (n = word(&s)) > 0; s += n, i.n_in++) {
    in[i.n_in] = *s == '-' ? NULL : &types[i.n_in];
    if (*s != '-') types[i.n_in] = read_type(a, s);
  }
  bool fails = c->want[0] == '!';
  i.n_out = c->n_out ? c->n_out : 1;
  if (!fails) {
    i.n_out = 0;
    for (const char *s = c->want; (n = word(&s)) > 0; s += n) i.n_out++;
  }
  memset(out, 0xa5, sizeof out); /* what they were says nothing */
  wk_status st = wk_infer_node(&i);
  if (fails) {
    if (!st) fail_msg("%s(%s) %s: accepted", info->name, c->in, c->attrs);
    if (!strstr(st->message, c->want + 1) || strncmp(st->message, info->name, strlen(info->name)))
      fail_msg("%s(%s) %s: \"%s\" lacks \"%s\"", info->name, c->in, c->attrs, st->message,
               c->want + 1);
    assert_true(st->code == WK_INPUT || st->code == WK_UNSUPPORTED || st->code == WK_RESOURCE);
    wk_status_free(st);
  } else {
    if (st) fail_msg("%s(%s) %s: %s", info->name, c->in, c->attrs, st->message);
    wk_str got = {0};
    for (uint32_t k = 0; k < i.n_out; k++) {
      if (k) wk_str_add(&got, " ");
      wk_type_print(&got, &out[k]);
    }
    if (strcmp(got.s, c->want)) fail_msg("%s(%s) %s: %s", info->name, c->in, c->attrs, got.s);
    wk_str_free(&got);
  }
  wk_arena_free(a);
}

static void table(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(all_cases); k++) run_case(&all_cases[k]);
}

/* Attributes that say yes or no, by 1 or 0, in every operator that has them. */
static void flags_are_0_or_1(void **state) {
  static const char *const flags[] = {
      "input_forget", "linear_before_reset", "exclusive", "reverse", "largest", "sorted", "upper",
      "exclude_outside", "align_corners", "pixels", "half_pixel", "center_point", "centred",
      "keepdims", "select_last", "column_major", "taps"};
  static bool tried[WK_OP_COUNT][WK_COUNTOF(flags)];
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(all_cases); i++) {
    const wk_op_info *info = wk_op_get(all_cases[i].op);
    for (size_t k = 0; k < WK_COUNTOF(flags) && all_cases[i].want[0] != '!'; k++) {
      bool has = false;
      for (int f = 0; f < info->n_fields; f++)
        has |= info->fields[f].kind == WK_FIELD_INT && !strcmp(info->fields[f].name, flags[k]);
      if (!has || tried[all_cases[i].op][k]) continue;
      tried[all_cases[i].op][k] = true;
      char attrs[256], want[64];
      size_t n;
      snprintf(attrs, sizeof attrs, "%s %s=2", all_cases[i].attrs, flags[k]);
      snprintf(want, sizeof want, "!%s is 2, must be 0 or 1", flags[k]);
      infer_case c = all_cases[i];
      c.attrs = attrs;
      c.n_out = 0;
      for (const char *t = c.want; (n = word(&t)) > 0; t += n) c.n_out++;
      c.want = want;
      run_case(&c);
    }
  }
}

/* A case that succeeds and one that fails for every operator; bodies are tested below. */
static void every_operator_is_covered(void **state) {
  (void)state;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    bool good = info->kind == WK_KIND_INST || info->cls == WK_CLASS_CONTROL ||
                (wk_op)op == WK_OP_CUSTOM, /* test_custom */
         bad = good;
    for (size_t k = 0; k < WK_COUNTOF(all_cases); k++) {
      if (all_cases[k].op != (wk_op)op) continue;
      if (all_cases[k].want[0] == '!') bad = true;
      else good = true;
    }
    if (op == WK_OP_IDENTITY) bad = true; /* takes everything */
    if (!good || !bad) fail_msg("%s lacks a case that %s", info->name, good ? "fails" : "succeeds");
  }
}

/* No operator may crash on operands and attributes drawn at random. */
static void random_operands(void **state) {
  (void)state;
  wk_rng r = {2024};
  for (int round = 0; round < 20000; round++) {
    wk_arena *a = wk_arena_new();
    wk_op op = (wk_op)wk_rng_range(&r, 0, WK_OP_COUNT - 1);
    const wk_op_info *info = wk_op_get(op);
    char *attrs = wk_attrs_new(a, op);
    for (int k = 0; k < info->n_fields; k++) {
      const wk_field *f = &info->fields[k];
      int64_t v[6];
      double d[6];
      int64_t n = wk_rng_range(&r, 0, 6);
      for (int j = 0; j < 6; j++) {
        v[j] = wk_rng_range(&r, 0, 20) ? wk_rng_range(&r, -1, 4) : (int64_t)wk_rng_next(&r);
        d[j] = (double)v[j];
      }
      if (f->kind == WK_FIELD_INT || f->kind == WK_FIELD_DTYPE)
        *(int64_t *)(attrs + f->offset) = v[0];
      if (f->kind == WK_FIELD_INTS) *(wk_ints *)(attrs + f->offset) = wk_ints_dup(a, v, n);
      if (f->kind == WK_FIELD_FLOATS) *(wk_floats *)(attrs + f->offset) = wk_floats_dup(a, d, n);
    }
    wk_type types[8], out[8];
    const wk_type *in[8];
    wk_dtype t = (wk_dtype)wk_rng_range(&r, 1, WK_DTYPE_COUNT - 1);
    for (int k = 0; k < 8; k++) {
      int64_t dims[WK_MAX_RANK];
      for (int j = 0; j < WK_MAX_RANK; j++)
        dims[j] = wk_rng_range(&r, 0, 50) ? wk_rng_range(&r, 0, 4)
                                          : INT64_C(1) << wk_rng_range(&r, 20, 44);
      if (!wk_rng_range(&r, 0, 5)) t = (wk_dtype)wk_rng_range(&r, 1, WK_DTYPE_COUNT - 1);
      types[k] = wk_type_make(t, (int)wk_rng_range(&r, 0, 5), dims);
      wk_status bad = wk_type_check(&types[k]);
      if (bad) types[k] = (wk_type){.dtype = t};
      wk_status_free(bad);
      in[k] = wk_rng_range(&r, 0, 15) ? &types[k] : NULL;
    }
    wk_infer i = {.op = op, .attrs = attrs, .in = in, .out = out};
    i.n_in = (uint32_t)wk_rng_range(&r, info->min_in, info->max_in < 0 ? 8 : info->max_in);
    i.n_out = (uint32_t)wk_rng_range(&r, info->min_out, info->max_out < 0 ? 4 : info->max_out);
    wk_status s = wk_infer_node(&i);
    if (s) assert_true(s->code == WK_INPUT || s->code == WK_UNSUPPORTED || s->code == WK_RESOURCE);
    for (uint32_t k = 0; !s && k < i.n_out; k++) {
      wk_status checked = wk_type_check(&out[k]);
      assert_null(checked);
    }
    wk_status_free(s);
    wk_arena_free(a);
  }
}

/* What no text can ask for. */
static void incomplete_questions(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  wk_attr_scatter_nd *no_text = wk_attrs_new(a, WK_OP_SCATTER_ND);
  wk_type x = {.dtype = WK_F32, .rank = 1, .dims = {4}}, out[2];
  const wk_type *in[] = {&x, &x, &x};
  no_text->reduction = NULL;
  struct {
    int op;
    const void *attrs;
    uint32_t n_in, n_out;
    const char *want;
  } cases[] = {{WK_OP_COUNT, no_text, 1, 1, "unknown operator "},
               {-1, no_text, 1, 1, "unknown operator -1"},
               {WK_OP_RELU, NULL, 1, 1, "relu: attributes are missing"},
               {WK_OP_RELU, no_text, 1, 0, "relu: 0 outputs are asked for, it has (y)"},
               {WK_OP_RELU, no_text, 1, 2, "relu: 2 outputs are asked for, it has (y)"},
               {WK_OP_SCATTER_ND, no_text, 3, 1, "scatter_nd: attribute reduction is missing"}};
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_infer i = {.op = (wk_op)cases[k].op, .attrs = cases[k].attrs, .in = in,
                  .n_in = cases[k].n_in, .out = out, .n_out = cases[k].n_out};
    wk_status s = wk_infer_node(&i);
    assert_non_null(s);
    if (!strstr(s->message, cases[k].want)) fail_msg("%s, not %s", s->message, cases[k].want);
    assert_int_equal(s->code, WK_INPUT);
    wk_status_free(s);
  }
  wk_arena_free(a);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* A body graph with the given input and output types, enough for inference. */
static wk_graph *body(wk_arena *a, const char *ins, const char *outs) {
  wk_graph *g = wk_arena_alloc(a, sizeof *g);
  size_t n;
  for (int side = 0; side < 2; side++) {
    for (const char *s = side ? outs : ins; (n = word(&s)) > 0; s += n) {
      wk_value v = {.type = read_type(a, s), .kind = WK_VALUE_INPUT};
      wk_vec_push(&g->values, v);
      wk_value_id id = (wk_value_id)g->values.n - 1;
      if (side) wk_vec_push(&g->outputs, id);
      else wk_vec_push(&g->inputs, id);
    }
  }
  return g;
}

static void body_free(wk_graph *g) {
  wk_vec_free(&g->values);
  wk_vec_free(&g->inputs);
  wk_vec_free(&g->outputs);
}

static void run_bodies(wk_op op, const char *attrs, const char *ins, const char *bodies[4],
                       const char *want, uint32_t n_out) {
  wk_arena *a = wk_arena_new();
  void *at = wk_attrs_new(a, op);
  size_t n;
  for (const char *s = attrs; (n = word(&s)) > 0; s += n) read_attr(a, wk_op_get(op), at, s, n);
  wk_type types[8], out[8];
  const wk_type *in[8];
  wk_graph *g[2] = {body(a, bodies[0], bodies[1]), body(a, bodies[2], bodies[3])};
  wk_infer i = {.op = op, .attrs = at, .in = in, .out = out, .bodies = g, .n_out = n_out};
  i.n_bodies = op == WK_OP_IF ? 2 : 1;
  for (const char *s = ins; (n = word(&s)) > 0; s += n, i.n_in++) {
    in[i.n_in] = *s == '-' ? NULL : &types[i.n_in];
    if (*s != '-') types[i.n_in] = read_type(a, s);
  }
  wk_status st = wk_infer_node(&i);
  wk_str got = {0};
  wk_str_add(&got, st ? "!" : "");
  wk_str_add(&got, st ? st->message : "");
  for (uint32_t k = 0; !st && k < n_out; k++) {
    if (k) wk_str_add(&got, " ");
    wk_type_print(&got, &out[k]);
  }
  bool ok = want[0] == '!' ? st && strstr(st->message, want + 1) : strcmp(got.s, want) == 0;
  if (!ok) fail_msg("%s(%s) %s: %s, not %s", wk_op_get(op)->name, ins, attrs, got.s, want);
  wk_str_free(&got);
  wk_status_free(st);
  body_free(g[0]);
  body_free(g[1]);
  wk_arena_free(a);
}

static void branches(void **state) {
  (void)state;
  const char *same[] = {"f32[2]", "f32[3] i64[]", "f32[2]", "f32[3] i64[]"};
  run_bodies(WK_OP_IF, "", "bool[] f32[2]", same, "f32[3] i64[]", 2);
  run_bodies(WK_OP_IF, "", "bool[1] f32[2]", same, "f32[3] i64[]", 2);
  run_bodies(WK_OP_IF, "", "f32[] f32[2]", same, "!cond is f32[]", 2);
  run_bodies(WK_OP_IF, "", "bool[2] f32[2]", same, "!cond is bool[2]", 2);
  run_bodies(WK_OP_IF, "", "bool[]", same, "!has 1 inputs but 0 captures", 2);
  run_bodies(WK_OP_IF, "", "bool[] f32[4]", same, "!input of the then body 0 is f32[2]", 2);
  run_bodies(WK_OP_IF, "", "bool[] f32[2]", same, "!has 2 outputs but 1", 1);
  const char *other[] = {"", "f32[3]", "", "f32[4]"};
  run_bodies(WK_OP_IF, "", "bool[]", other, "!output of the else body 0 is f32[4]", 1);
}

static void loops(void **state) {
  (void)state;
  /* one state, one scan, one capture; one collected slice */
  const char *b[] = {"i64[] f32[2] i8[4] u8[]", "f32[2] f32[7]", "", ""};
  const char *attrs =
      "trip=5 n_state=1 n_scan=1 scan_reverse=0 scan_axes=1 out_reverse=0 out_axes=1";
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[4,5] u8[]", b, "f32[2] f32[7,5]", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[3] i8[4,5] u8[]", b, "!body input 1 is f32[2]", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[4,6] u8[]", b, "!runs 5 times", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[3,5] u8[]", b, "!body input 2 is i8[4]", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[4,5]", b, "!body has 4 inputs, needs 3", 2);
  run_bodies(WK_OP_LOOP, attrs, "bool[] f32[2] i8[4,5] u8[]", b, "!has_cond is 0", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[4,5] u8[]", b, "!out_reverse has 1 entries", 1);
  run_bodies(WK_OP_LOOP, "n_state=9", "- f32[2]", b, "!9 state and 0 scan operands", 1);
  run_bodies(WK_OP_LOOP, "trip=-1", "-", b, "!trip is -1", 1);
  const char *changes[] = {"i64[] f32[2]", "f32[3]", "", ""};
  run_bodies(WK_OP_LOOP, "trip=2 n_state=1", "- f32[2]", changes, "!state 0 is f32[3]", 1);
  const char *cond[] = {"i64[] f32[2]", "bool[] f32[2]", "", ""};
  run_bodies(WK_OP_LOOP, "trip=2 n_state=1 has_cond=1", "bool[] f32[2]", cond, "f32[2]", 1);
  const char *no[] = {"i64[] f32[2]", "i64[] f32[2]", "", ""};
  run_bodies(WK_OP_LOOP, "trip=2 n_state=1 has_cond=1", "bool[] f32[2]", no, "!one bool", 1);
  run_bodies(WK_OP_LOOP, "trip=2 n_state=0 has_cond=1", "bool[]", no, "!cannot be collected", 1);
}

/* Two states, two scans along other axes, two collected slices; one thing of it is changed. */
static void loop_rules(void **state) {
  static const char *const good[] = {
      "trip=5", "n_state=2", "n_scan=2", "has_cond=0", "scan_reverse=0,1",
      "scan_axes=1,0", "out_reverse=1,0", "out_axes=1,0"};
  static const struct {
    size_t which;
    const char *instead, *want;
  } cases[] = {
      {0, "trip=5", "f32[2] i8[3] f32[7,5,8] f16[5]"},
      {0, "trip=-1", "!trip is -1"},
      {0, "trip=6", "!runs 6 times"},
      {1, "n_state=-1", "!n_state is -1"},
      {1, "n_state=4", "!4 state and 2 scan operands but 5 inputs"},
      {1, "n_state=6", "!6 state and 2 scan operands but 5 inputs"},
      {2, "n_scan=-1", "!n_scan is -1"},
      {2, "n_scan=4", "!2 state and 4 scan operands but 5 inputs"},
      {3, "has_cond=2", "!has_cond is 2, must be 0 or 1"},
      {3, "has_cond=-1", "!has_cond is -1, must be 0 or 1"},
      {4, "scan_reverse=0", "!scan_reverse has 1 entries, needs 2"},
      {4, "scan_reverse=0,-1", "!scan_reverse[1] is -1"},
      {5, "scan_axes=1", "!scan_axes has 1 entries, needs 2"},
      {5, "scan_axes=-1,0", "!scan_axes[0] is -1"},
      {5, "scan_axes=2,0", "!scan_axes 2 is outside rank 2"},
      {5, "scan_axes=1,1", "!scan_axes 1 is outside rank 1"},
      {6, "out_reverse=0", "!out_reverse has 1 entries, needs 2"},
      {6, "out_reverse=-1,0", "!out_reverse[0] is -1"},
      {7, "out_axes=1", "!out_axes has 1 entries, needs 2"},
      {7, "out_axes=1,-1", "!out_axes[1] is -1"},
      {7, "out_axes=0,0", "f32[2] i8[3] f32[5,7,8] f16[5]"},
      {7, "out_axes=2,0", "f32[2] i8[3] f32[7,8,5] f16[5]"},
      {7, "out_axes=3,0", "!out_axes 3 is outside rank 3"},
      {7, "out_axes=0,1", "!out_axes 1 is outside rank 1"}};
  const char *b[] = {"i64[] f32[2] i8[3] i8[4] u8[] bool[]", "f32[2] i8[3] f32[7,8] f16[]", "", ""};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str attrs = {0};
    for (size_t k = 0; k < WK_COUNTOF(good); k++)
      wk_str_printf(&attrs, "%s ", k == cases[i].which ? cases[i].instead : good[k]);
    run_bodies(WK_OP_LOOP, attrs.s, "- f32[2] i8[3] i8[4,5] u8[5] bool[]", b, cases[i].want, 4);
    wk_str_free(&attrs);
  }
}

static void loop_bodies(void **state) {
  (void)state;
  const char *two[] = {"i64[] f32[2] i8[3]", "f32[2] i8[3]", "", ""};
  const char *attrs = "trip=2 n_state=2";
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[3]", two, "f32[2] i8[3]", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[4]", two, "!body input 2 is i8[3], needs i8[4]", 2);
  run_bodies(WK_OP_LOOP, attrs, "f32[] f32[2] i8[3]", two,
             "!cond is f32[], needs one element: bool[]", 2);
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[3]", two, "!2 states but 1 outputs", 1);
  const char *other[] = {"i64[] f32[2] i8[3]", "f32[2] i8[4]", "", ""};
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[3]", other, "!state 1 is i8[4], needs i8[3]", 2);
  const char *count[] = {"f32[] f32[2] i8[3]", "f32[2] i8[3]", "", ""};
  run_bodies(WK_OP_LOOP, attrs, "- f32[2] i8[3]", count, "!body input 0 is f32[], needs i64[]", 2);
  const char *slices[] = {"i64[]", "f32[1,1,1,1,1,1,2]", "", ""};
  attrs = "trip=3 out_reverse=0 out_axes=7";
  run_bodies(WK_OP_LOOP, attrs, "-", slices, "f32[1,1,1,1,1,1,2,3]", 1);
  slices[1] = "f32[1,1,1,1,1,1,1,2]";
  run_bodies(WK_OP_LOOP, attrs, "-", slices, "!collected slices have rank 8", 1);
}

static void missing_bodies(void **state) {
  static const struct {
    wk_op op;
    uint32_t n;
    const char *want;
  } cases[] = {{WK_OP_IF, 1, "if: has 1 bodies, needs 2"},     {WK_OP_IF, 3, "if: has 3 bodies"},
               {WK_OP_IF, 2, "if: body 1 is missing"},         {WK_OP_LOOP, 1, "loop: body 0 is"},
               {WK_OP_LOOP, 0, "loop: has 0 bodies, needs 1"}, {WK_OP_LOOP, 2, "loop: has 2"}};
  wk_arena *a = wk_arena_new();
  wk_type cond = {.dtype = WK_BOOL}, out[1];
  const wk_type *in[] = {&cond};
  wk_graph *g = body(a, "", "");
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_graph *bodies[3] = {cases[k].op == WK_OP_IF ? g : NULL, NULL, NULL};
    wk_infer i = {.op = cases[k].op, .attrs = wk_attrs_new(a, cases[k].op), .in = in, .n_in = 1,
                  .out = out, .bodies = bodies, .n_bodies = cases[k].n};
    wk_status s = wk_infer_node(&i);
    assert_non_null(s);
    assert_non_null(strstr(s->message, cases[k].want));
    wk_status_free(s);
  }
  body_free(g);
  wk_arena_free(a);
}

/* ---- table of operators, node expressions, work ---------------------------------------------- */

static void operator_table(void **state) {
  (void)state;
  char name[32];
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    wk_op back;
    assert_true(wk_op_from_name(info->name, strlen(info->name), &back));
    assert_int_equal(back, op);
    assert_true(info->max_in < 0 || info->max_in >= info->min_in);
    size_t next = 0;
    for (int k = 0; k < info->n_fields; k++) {
      assert_int_equal(info->fields[k].offset, next);
      wk_field_kind kind = info->fields[k].kind;
      bool list = kind == WK_FIELD_INTS || kind == WK_FIELD_FLOATS || kind == WK_FIELD_TEXTS;
      next += list ? 16 : 8;
    }
    if (info->n_fields) assert_int_equal(info->attr_size, next);
  }
  const wk_op_info *conv = wk_op_get(WK_OP_CONV), *nms = wk_op_get(WK_OP_NON_MAX_SUPPRESSION);
  assert_int_equal(conv->min_in, 2);
  assert_int_equal(conv->max_in, -1);
  assert_int_equal(nms->min_in, 2);
  assert_int_equal(nms->max_in, 5);
  assert_int_equal(wk_op_get(WK_OP_LSTM)->max_out, 3);
  assert_int_equal(wk_op_get(WK_OP_RANDOM_NORMAL)->max_in, 0);
  wk_op_operand_name(conv->inputs, 2, name);
  assert_string_equal(name, "b");
  wk_op_operand_name(conv->inputs, 9, name);
  assert_string_equal(name, "extra");
  wk_op none;
  assert_false(wk_op_from_name("con", 3, &none));
}

static void attributes(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  wk_attr_conv *x = wk_attrs_new(a, WK_OP_CONV);
  assert_int_equal(x->group, 1);
  x->strides = wk_ints_fill(a, 2, 3);
  x->epilogue = wk_expr_identity(a, WK_F32);
  wk_attr_conv *y = wk_attrs_clone(a, WK_OP_CONV, x);
  assert_ptr_not_equal(x->strides.v, y->strides.v);
  assert_true(wk_attrs_equal(WK_OP_CONV, x, y));
  assert_true(wk_attrs_hash(WK_OP_CONV, x, 5) == wk_attrs_hash(WK_OP_CONV, y, 5));
  ((int64_t *)y->strides.v)[1] = 2;
  assert_false(wk_attrs_equal(WK_OP_CONV, x, y));
  assert_true(wk_attrs_hash(WK_OP_CONV, x, 5) != wk_attrs_hash(WK_OP_CONV, y, 5));
  assert_true(wk_attrs_hash(WK_OP_ADD, NULL, 5) != wk_attrs_hash(WK_OP_MUL, NULL, 5));
  wk_attr_lstm *l = wk_attrs_new(a, WK_OP_LSTM);
  assert_string_equal(l->direction, "forward");
  l->activations = (wk_texts){2, (const char *[]){"Tanh", "Relu"}};
  wk_attr_lstm *m = wk_attrs_clone(a, WK_OP_LSTM, l);
  assert_true(wk_attrs_equal(WK_OP_LSTM, l, m));
  m->activations.n = 1;
  assert_false(wk_attrs_equal(WK_OP_LSTM, l, m));
  wk_arena_free(a);
}

/* Every elementwise operator has an expression for f32, i32, bool or i64. */
static void node_expressions(void **state) {
  (void)state;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    if (info->cls != WK_CLASS_ELEMENTWISE) continue;
    static const wk_dtype tries[] = {WK_F32, WK_I32, WK_BOOL, WK_I64};
    bool done = false;
    for (size_t k = 0; !done && k < WK_COUNTOF(tries); k++) {
      wk_arena *a = wk_arena_new();
      wk_type t = {.dtype = tries[k], .rank = 1, .dims = {4}}, cond = t, zero = t, out;
      cond.dtype = WK_BOOL;
      zero.dtype = WK_I8;
      const wk_type *in[3] = {&t, &t, &t};
      if (op == WK_OP_WHERE) in[0] = &cond;
      if (op == WK_OP_QUANTIZE) in[2] = &zero;
      if (op == WK_OP_DEQUANTIZE) in[0] = in[2] = &zero;
      if (op == WK_OP_RESCALE) in[0] = &zero;
      void *attrs = wk_attrs_new(a, (wk_op)op);
      if (op == WK_OP_QUANTIZE) ((wk_attr_quantize *)attrs)->to = WK_I8;
      wk_infer i = {.op = (wk_op)op, .attrs = attrs, .in = in, .out = &out, .n_out = 1};
      i.n_in = (uint32_t)info->min_in;
      wk_status s = wk_infer_node(&i);
      if (!s) {
        wk_graph g = {0};
        wk_value_id ids[3], y;
        for (uint32_t j = 0; j < i.n_in; j++) {
          wk_value v = {.type = *in[j]};
          wk_vec_push(&g.values, v);
          ids[j] = j;
        }
        wk_value v = {.type = out};
        wk_vec_push(&g.values, v);
        y = i.n_in;
        wk_node n = {.op = (wk_op)op, .attrs = attrs, .in = ids, .out = &y, .n_out = 1};
        n.n_in = i.n_in;
        wk_expr *e = NULL;
        assert_null(wk_node_expr(&g, &n, a, &e));
        assert_int_equal(e->n_results, 1);
        assert_int_equal(e->nodes[e->results[0]].dtype, out.dtype);
        assert_int_equal(wk_node_macs(&g, &n), 0);
        wk_vec_free(&g.values);
        done = true;
      }
      wk_status_free(s);
      wk_arena_free(a);
    }
    if (!done) fail_msg("%s has no usable definition", info->name);
  }
}

static int64_t macs(wk_op op, const char *types) {
  wk_arena *a = wk_arena_new();
  wk_graph g = {0};
  wk_value_id ids[8];
  uint32_t count = 0;
  size_t n;
  for (const char *s = types; (n = word(&s)) > 0; s += n) { /* the last one is the output */
    wk_value v = {.type = read_type(a, s)};
    wk_vec_push(&g.values, v);
    ids[count] = count;
    count++;
  }
  wk_node node = {.op = op, .in = ids, .out = &ids[count - 1], .n_in = count - 1, .n_out = 1};
  int64_t result = wk_node_macs(&g, &node);
  wk_vec_free(&g.values);
  wk_arena_free(a);
  return result;
}

static void work(void **state) {
  (void)state;
  assert_int_equal(macs(WK_OP_CONV, "f32[1,3,224,224] f32[64,3,7,7] f32[1,64,112,112]"), 118013952);
  assert_int_equal(macs(WK_OP_CONV, "f32[1,8,4,4] f32[8,1,3,3] f32[1,8,4,4]"), 8 * 16 * 9);
  assert_int_equal(macs(WK_OP_CONV_TRANSPOSE, "f32[1,4,5,5] f32[4,2,3,3] f32[1,2,7,7]"),
                   4 * 25 * 2 * 9);
  assert_int_equal(macs(WK_OP_MATMUL, "f32[2,3,4] f32[4,5] f32[2,3,5]"), 2 * 3 * 4 * 5);
  assert_int_equal(macs(WK_OP_ATTENTION, "f32[2,3,4] f32[2,5,4] f32[2,5,6] f32[2,3,6]"),
                   2 * 3 * 5 * (4 + 6));
  assert_int_equal(macs(WK_OP_LSTM, "f32[7,1,4] f32[1,20,4] f32[1,20,5] f32[7,1,1,5]"),
                   7 * (20 * 4 + 20 * 5));
  assert_int_equal(macs(WK_OP_SOFTMAX, "f32[2,3] f32[2,3]"), 0);
}

static void documentation(void **state) {
  (void)state;
  wk_str b = {0};
  wk_ops_markdown(&b);
  for (int op = 0; op < WK_OP_COUNT; op++) {
    wk_str row = {0};
    wk_str_printf(&row, "| `%s` |", wk_op_get((wk_op)op)->name);
    assert_non_null(strstr(b.s, row.s));
    wk_str_free(&row);
  }
  for (int op = 0; op < WK_EX_COUNT; op++)
    assert_non_null(strstr(b.s, wk_expr_op_name((wk_expr_op)op)));
  wk_str_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(table),          cmocka_unit_test(every_operator_is_covered),
      cmocka_unit_test(random_operands), cmocka_unit_test(branches),
      cmocka_unit_test(loops),          cmocka_unit_test(loop_rules),
      cmocka_unit_test(loop_bodies),    cmocka_unit_test(missing_bodies),
      cmocka_unit_test(operator_table),
      cmocka_unit_test(attributes),     cmocka_unit_test(node_expressions),
      cmocka_unit_test(work),           cmocka_unit_test(documentation),
      cmocka_unit_test(flags_are_0_or_1), cmocka_unit_test(incomplete_questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
