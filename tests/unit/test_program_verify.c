/* SPDX-License-Identifier: Apache-2.0
 * What the verifier says of a program with one thing wrong: the whole message, and the name of the
 * instruction. What differs from it in one thing and is right is taken. */
#include "compiler/ir/program.h"
#include "tests/unit/case_text.h"

static const char text[] =
    "program \"p\" {\nbuffer input 0 %x : f32[2,3]\nbuffer output 0 %y : f32[2,3]\n"
    "buffer const %w : 4 = {1, 2, 3, 4}\nbuffer act %t : 64\nbuffer act %e : 0\n"
    "buffer state 0 %v : f32[1] = {0, 0, 0, 0}\nbuffer state 1 %u : f32[1] = {0, 0, 0, 0}\n"
    "buffer state 2 %s : f32[1] = {0, 0, 0, 0}\n"
    "map(@out %t[2,3]:f32; @in %x[2,3]:f32) {body=\"neg(%0)\"} \"first\"\n"
    "copy(@out %y[2,3]:f32; @in %t[2,3]:f32) \"second\"\n}\n";

static uint32_t id(const wk_program *p, const char *name) {
  for (uint32_t i = 0; i < p->buffers.n; i++)
    if (!strcmp(p->buffers.data[i].name, name)) return i;
  fail_msg("no buffer %s", name);
  return 0;
}

static wk_buffer *buffer(wk_program *p, const char *name) {
  return &p->buffers.data[id(p, name)];
}

static wk_inst *inst(wk_program *p, int k) { return p->body.insts.data[k]; }

/* One thing that is changed, and how the message begins; NULL: it is taken. */
typedef struct {
  void (*change)(wk_program *p);
  const char *message, *place;
} change_case;

static void check(const change_case *cases, size_t n) {
  for (size_t k = 0; k < n; k++) {
    wk_program *p = NULL;
    wk_status s = wk_program_parse(text, "t", &p);
    if (s) fail_msg("%s: %s", s->place, s->message);
    cases[k].change(p);
    s = wk_program_verify(p);
    const char *got = s ? s->message : "taken", *want = cases[k].message;
    if (!want) want = "taken";
    if (strncmp(got, want, strlen(want))) fail_msg("case %zu: \"%s\", not \"%s\"", k, got, want);
    assert_string_equal(s && s->place ? s->place : "", cases[k].place ? cases[k].place : "");
    if (s) assert_int_equal(s->code, WK_INTERNAL);
    wk_status_free(s);
    wk_program_free(p);
  }
}
#define CHECK(cases) check(cases, WK_COUNTOF(cases))

static void nothing(wk_program *p) { (void)p; }

/* ---- buffers --------------------------------------------------------------------------------- */

enum { LONG = 46 }; /* a size has fewer bits */

static void no_name(wk_program *p) { buffer(p, "t")->name = NULL; }
static void empty_name(wk_program *p) { buffer(p, "t")->name = ""; }
static void same_name(wk_program *p) { buffer(p, "t")->name = "x"; }
static void no_region(wk_program *p) { buffer(p, "e")->region = WK_REGION_COUNT; }
static void size_below(wk_program *p) { buffer(p, "e")->size = -1; }
static void size_most(wk_program *p) { buffer(p, "e")->size = (INT64_C(1) << LONG) - 1; }
static void size_above(wk_program *p) { buffer(p, "e")->size = INT64_C(1) << LONG; }
static void align_0(wk_program *p) { buffer(p, "e")->align = 0; }
static void align_1(wk_program *p) { buffer(p, "e")->align = 1; }
static void align_48(wk_program *p) { buffer(p, "e")->align = 48; }
static void align_4096(wk_program *p) { buffer(p, "e")->align = 4096; }
static void align_8192(wk_program *p) { buffer(p, "e")->align = 8192; }
static void align_below(wk_program *p) { buffer(p, "e")->align = INT64_MIN; }
static void offset_0(wk_program *p) { buffer(p, "e")->offset = 0; }
static void offset_1(wk_program *p) { buffer(p, "e")->offset = 1; }
static void offset_64(wk_program *p) { buffer(p, "e")->offset = 64; }
static void offset_below(wk_program *p) { buffer(p, "e")->offset = -2; }
static void offset_most(wk_program *p) { buffer(p, "e")->offset = (INT64_C(1) << LONG) - 64; }
static void offset_above(wk_program *p) { buffer(p, "e")->offset = INT64_C(1) << LONG; }
static void no_contents(wk_program *p) { buffer(p, "w")->data = NULL; }
static void no_byte(wk_program *p) {
  buffer(p, "w")->data = NULL;
  buffer(p, "w")->size = 1;
}
static void empty_constant(wk_program *p) {
  buffer(p, "w")->data = NULL;
  buffer(p, "w")->size = 0;
}
static void no_state(wk_program *p) { buffer(p, "u")->data = NULL; }

static void buffers(void **state) {
  static const change_case cases[] = {
      {nothing, NULL, NULL},
      {no_name, "buffer 3 has no name", NULL},
      {empty_name, "buffer 3 has no name", NULL},
      {same_name, "two buffers are called %x", NULL},
      {no_region, "buffer %e is in region ", NULL},
      {size_below, "buffer %e has size -1", NULL},
      {size_most, NULL, NULL},
      {size_above, "buffer %e has size 70368744177664", NULL},
      {align_0, "buffer %e has alignment 0", NULL},
      {align_1, NULL, NULL},
      {align_48, "buffer %e has alignment 48", NULL},
      {align_4096, NULL, NULL},
      {align_8192, "buffer %e has alignment 8192", NULL},
      {align_below, "buffer %e has alignment -9223372036854775808", NULL},
      {offset_0, NULL, NULL},
      {offset_1, "buffer %e lies at 1", NULL},
      {offset_64, NULL, NULL},
      {offset_below, "buffer %e lies at -2", NULL},
      {offset_most, NULL, NULL},
      {offset_above, "buffer %e lies at 70368744177664", NULL},
      {no_contents, "constant buffer %w has no contents", NULL},
      {no_byte, "constant buffer %w has no contents", NULL},
      {empty_constant, NULL, NULL},
      {no_state, "state buffer %u has no contents", NULL}};
  (void)state;
  CHECK(cases);
}

/* ---- bindings -------------------------------------------------------------------------------- */

static void next_io(wk_program *p) { buffer(p, "x")->io = 1; }
static void other_buffer(wk_program *p) { p->inputs.data[0].buffer = id(p, "t"); }
static void no_binding_name(wk_program *p) { p->inputs.data[0].name = NULL; }
static void empty_binding_name(wk_program *p) { p->inputs.data[0].name = ""; }
static void another_output(wk_program *p, uint32_t b) {
  wk_program_io io = p->outputs.data[0];
  io.name = "z";
  io.buffer = b;
  wk_vec_push(&p->outputs, io);
}
static void output_of_none(wk_program *p) { another_output(p, WK_NONE); }
static void output_of_input(wk_program *p) { another_output(p, id(p, "x")); }
static void output_of_first(wk_program *p) { another_output(p, id(p, "y")); }
static void output_behind_last(wk_program *p) {
  wk_buffer copy = *buffer(p, "y");
  copy.io = 1;
  wk_vec_push(&p->buffers, copy);
  another_output(p, (uint32_t)--p->buffers.n);
}
static void short_output(wk_program *p) { buffer(p, "y")->size = 20; }
static void same_states(wk_program *p) { p->states.data[1].name = p->states.data[0].name; }
static void same_last_states(wk_program *p) { p->states.data[2].name = p->states.data[1].name; }

static void bindings(void **state) {
  static const change_case cases[] = {
      {next_io, "buffer %x is not bound to input 1", NULL},
      {other_buffer, "buffer %x is not bound to input 0", NULL},
      {no_binding_name, "binding 0 has no name", NULL},
      {empty_binding_name, "binding 0 has no name", NULL},
      {output_of_none, "output 1 (z) has no buffer of its own", NULL},
      {output_of_input, "output 1 (z) has no buffer of its own", NULL},
      {output_of_first, "output 1 (z) has no buffer of its own", NULL},
      {output_behind_last, "output 1 (z) has no buffer of its own", NULL},
      {short_output, "output y needs 24 bytes, its buffer has 20", NULL},
      {same_states, "two states are called v", NULL},
      {same_last_states, "two states are called u", NULL}};
  (void)state;
  CHECK(cases);
  wk_program *p = NULL;
  assert_null(wk_program_parse(text, "t", &p));
  p->outputs.data[0].type.dims[0] = p->outputs.data[0].type.dims[1] = -1; /* bytes that would do */
  buffer(p, "y")->size = 4;
  inst(p, 1)->operands[0].rank = inst(p, 1)->operands[1].rank = 0;
  wk_status s = wk_program_verify(p);
  assert_non_null(strstr(s->message, "negative"));
  wk_status_free(s);
  wk_program_free(p);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void no_op(wk_program *p) { inst(p, 0)->op = WK_OP_COUNT; }
static void graph_op(wk_program *p) { inst(p, 0)->op = WK_OP_RELU; }
static void unnamed_graph_op(wk_program *p) {
  inst(p, 0)->op = WK_OP_RELU;
  inst(p, 0)->name = NULL;
}
static void no_attrs(wk_program *p) { inst(p, 1)->attrs = NULL; }
static void many_outputs(wk_program *p) { inst(p, 1)->n_out = 3; }
static void behind_last(wk_program *p) {
  wk_buffer copy = *buffer(p, "t");
  wk_vec_push(&p->buffers, copy);
  inst(p, 1)->operands[1].buffer = (uint32_t)--p->buffers.n;
}
static void rank_below(wk_program *p) { inst(p, 1)->operands[1].rank = -1; }
static void rank_above(wk_program *p) { inst(p, 1)->operands[1].rank = WK_MAX_RANK + 1; }
static void other_dims(wk_program *p) { inst(p, 1)->operands[1].dims[0] = 1; }
static void other_dims_unnamed(wk_program *p) {
  other_dims(p);
  inst(p, 1)->name = NULL;
}
static void other_dims_empty_name(wk_program *p) {
  other_dims(p);
  inst(p, 1)->name = "";
}
static void reads_output(wk_program *p) { inst(p, 1)->operands[0].role = WK_ROLE_IN; }
static void writes_input(wk_program *p) {
  inst(p, 0)->operands[0].buffer = id(p, "x");
  inst(p, 0)->operands[1].buffer = id(p, "t");
}
static void past_end(wk_program *p) { inst(p, 1)->operands[1].offset = 44; }
static void at_end(wk_program *p) { inst(p, 1)->operands[1].offset = 40; }

static void instructions(void **state) {
  static const change_case cases[] = {
      {no_op, "unknown operator: not an instruction", "first"},
      {graph_op, "relu: not an instruction", "first"},
      {unnamed_graph_op, "relu: not an instruction", NULL},
      {no_attrs, "copy: attributes are missing", "second"},
      {many_outputs, "copy: more outputs than operands", "second"},
      {behind_last, "copy: operand 1 has no buffer", "second"},
      {rank_below, "copy: operand 1 has rank -1", "second"},
      {rank_above, "copy: operand 1 has rank 9", "second"},
      {other_dims, "copy: operand 1 is f32[1,3], needs f32[2,3]", "second"},
      {other_dims_unnamed, "copy: operand 1 is f32[1,3], needs f32[2,3]", NULL},
      {other_dims_empty_name, "copy: operand 1 is f32[1,3], needs f32[2,3]", NULL},
      {reads_output, "copy: operand 0 has the wrong role", "second"},
      {writes_input, "map: operand 0 writes the input buffer %x", "first"},
      {past_end, "copy: operand 1 touches bytes [44, 68) of buffer %t of 64", "second"},
      {at_end, NULL, NULL}};
  (void)state;
  CHECK(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(buffers), cmocka_unit_test(bindings),
                                     cmocka_unit_test(instructions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
