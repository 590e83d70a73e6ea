/* SPDX-License-Identifier: Apache-2.0 */
/* The text forms: print, parse, print is the identity for everything that can be printed; whatever
 * else is parsed is refused at its place; no text crashes or takes long. */
#include <time.h>

#include "tests/unit/case_text.h"
#include "tests/unit/text_samples.h"

typedef struct {
  wk_op op;
  const char *attrs, *in, *want;
} infer_case;

static const infer_case cases[] = {
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want},
#define CASE_N(op, attrs, in, want, n_out) {WK_OP_##op, attrs, in, want},
#include "tests/unit/infer_cases.def"
#undef CASE
#undef CASE_N
};

static wk_module *module_of(const char *text) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "t", &m);
  if (s) fail_msg("%s: %s\n%s", s->place, s->message, text);
  return m;
}

static wk_program *program_of(const char *text) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "t", &p);
  if (s) fail_msg("%s: %s\n%s", s->place, s->message, text);
  return p;
}

static char *printed(const wk_module *m, wk_print_flags flags) {
  wk_str b = {0};
  wk_module_print(&b, m, flags);
  return b.s;
}

/* Prints, parses, prints: the two texts must be the same. Returns the text. */
static char *module_identity(const wk_module *m) {
  char *first = printed(m, WK_PRINT_FULL);
  wk_module *copy = module_of(first);
  char *second = printed(copy, WK_PRINT_FULL);
  assert_string_equal(first, second);
  free(second);
  wk_module_free(copy);
  return first;
}

static char *program_identity(const wk_program *p) {
  wk_str first = {0}, second = {0};
  wk_program_print(&first, p, WK_PRINT_FULL);
  wk_program *copy = program_of(first.s);
  wk_program_print(&second, copy, WK_PRINT_FULL);
  assert_string_equal(first.s, second.s);
  wk_program_free(copy);
  wk_str_free(&second);
  return first.s;
}

/* ---- identity ------------------------------------------------------------------------------ */

static void samples_are_printed_as_written(void **state) {
  (void)state;
  char *text = full_sample();
  wk_module *m = module_of(text);
  char *again = module_identity(m);
  assert_string_equal(text, again);
  wk_module_free(m);
  free(text);
  free(again);
  wk_program *p = program_of(sample_program);
  again = program_identity(p);
  assert_string_equal(sample_program, again);
  wk_program_free(p);
  free(again);
}

static void run_row(const infer_case *c) {
  wk_str head = {0};
  uint32_t n_in = 0, n_out = 0;
  size_t n;
  wk_str_add(&head, "module \"row\" { graph @main(");
  for (const char *s = c->in; (n = case_word(&s)) > 0; s += n, n_in++) {
    if (*s == '-') continue;
    wk_str_printf(&head, "%s%%i%u: %.*s", head.s[head.n - 1] == '(' ? "" : ", ", n_in, (int)n, s);
  }
  wk_str_add(&head, ") {} }");
  for (const char *s = c->want; (n = case_word(&s)) > 0; s += n) n_out++;
  wk_module *m = module_of(head.s);
  wk_value_id in[80], out[80];
  assert_true(n_in <= 80 && n_out <= 80);
  for (uint32_t k = 0; k < n_in; k++) {
    char name[16];
    snprintf(name, sizeof name, "i%u", k);
    if (!wk_map_get(m->main->names, name, &in[k])) in[k] = WK_NONE;
  }
  wk_node_desc d = {.op = c->op, .name = "row", .attrs = case_attrs(m->arena, c->op, c->attrs),
                    .in = in, .n_in = n_in, .n_out = n_out};
  wk_status s = wk_graph_add(m->main, &d, out);
  if (s) fail_msg("%s: %s", wk_op_get(c->op)->name, s->message);
  for (uint32_t k = 0; k < n_out; k++) wk_graph_output(m->main, NULL, out[k]);
  char *text = module_identity(m);
  free(text);
  wk_str_free(&head);
  wk_module_free(m);
}

/* The table has a case for every operator (test_infer.c sees to that). Its short form of
 * per-channel types, <axis>, is not the printed one. */
static void every_operator_reads_back(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    const infer_case *c = &cases[k];
    const char *quant = strchr(c->in, '<');
    if (c->want[0] == '!' || (quant && quant[2] == '>')) continue;
    run_row(c);
  }
}

static void constants_of_every_dtype(void **state) {
  (void)state;
  wk_rng r = {5};
  for (int t = WK_F32; t < WK_DTYPE_COUNT; t++) {
    for (int64_t n = 0; n < 40; n += n < 3 ? 1 : 12) {
      wk_module *m = wk_module_new("c");
      wk_graph *g = wk_graph_new(m, "main");
      wk_type type = wk_type_make((wk_dtype)t, 1, &n);
      wk_value_id v;
      uint8_t *data;
      assert_null(wk_graph_constant_alloc(g, "v", &type, &v, (void **)&data));
      for (int64_t i = 0; i < wk_type_bytes(&type); i++)
        data[i] = t == WK_BOOL ? (uint8_t)(wk_rng_next(&r) & 1) : (uint8_t)wk_rng_next(&r);
      uint8_t packed[40] = {0}; /* narrow types do not have all bytes */
      for (int64_t i = 0; i < n && wk_dtype_is_narrow(type.dtype); i++) packed[i] = data[i];
      if (wk_dtype_is_narrow(type.dtype)) wk_unpack(&type, packed, data);
      wk_graph_output(g, "v", v);
      char *text = module_identity(m);
      wk_module *copy = module_of(text);
      if (n) assert_memory_equal(wk_val(copy->main, 0)->data, data, (size_t)wk_type_bytes(&type));
      wk_module_free(copy);
      free(text);
      wk_module_free(m);
    }
  }
}

static void long_constants_are_elided(void **state) {
  (void)state;
  wk_module *m = wk_module_new("c"), *again;
  wk_graph *g = wk_graph_new(m, "main");
  int64_t n = 17;
  wk_type t = wk_type_make(WK_I32, 1, &n);
  wk_value_id v;
  int32_t *data;
  assert_null(wk_graph_constant_alloc(g, "v", &t, &v, (void **)&data));
  for (int i = 0; i < 17; i++) data[i] = i;
  char *text = printed(m, WK_PRINT_SHORT);
  assert_non_null(strstr(text, "%v = constant i32[17] elided("));
  wk_status s = wk_module_parse(text, "t", &again);
  assert_non_null(s);
  assert_non_null(strstr(s->message, "left out"));
  wk_status_free(s);
  free(text);
  text = printed(m, WK_PRINT_FULL);
  assert_non_null(strstr(text, "hex(\"00000000010000000200"));
  free(text);
  wk_module_free(m);
}

/* Comments, free line breaks, types left to inference. */
/* Digits of bytes, large and small. */
static void bytes_in_hex(void **state) {
  (void)state;
  const uint8_t want[] = {0xAB, 0xCD, 0xEF, 0x90, 0xFA, 0x9F};
  wk_module *m = module_of("module \"m\" {\n  graph @main() {\n"
                           "    %w = constant u8[6] hex(\"ABCDEF90Fa9f\")\n"
                           "    output %w\n  }\n}\n");
  assert_memory_equal(wk_val(m->main, m->main->outputs.data[0])->data, want, sizeof want);
  wk_module_free(m);
  for (const char *bad = "gG@`/:"; *bad; bad++) {
    char text[128];
    snprintf(text, sizeof text, "module \"m\" {\n  graph @main() {\n"
             "    %%w = constant u8[1] hex(\"0%c\")\n    output %%w\n  }\n}\n", *bad);
    m = NULL;
    wk_status s = wk_module_parse(text, "t", &m);
    assert_non_null(s);
    assert_string_equal(s->message, "bad byte 0");
    wk_status_free(s);
  }
}

static void hand_written_text(void **state) {
  (void)state;
  wk_module *m = module_of(
      "module \"m\" { # a comment\n"
      "graph @main(%x:f32[2]){%y=relu(%x)%z=add(%y,\n%x)  output %z as \"o\"}}");
  char *text = printed(m, WK_PRINT_SHORT);
  assert_string_equal(text,
                      "module \"m\" {\n"
                      "  graph @main(%x: f32[2]) {\n"
                      "    %y = relu(%x) : f32[2]\n"
                      "    %z = add(%y, %x) : f32[2]\n"
                      "    output %z as \"o\"\n"
                      "  }\n"
                      "}\n");
  free(text);
  wk_module_free(m);
}

/* ---- errors -------------------------------------------------------------------------------- */

typedef struct {
  const char *text, *place, *message;
} bad_text;

#define G(body) "module \"m\" {\n  graph @main(%x: f32[2,3]) {\n" body "\n  }\n}\n"
#define CHANNELS "%w = constant i8<axis=0,{1.0, 2.0},{0, 0}>[2] {1, 2}\n"
#define P(body) "program \"p\" {\n  buffer act %t : 64 align 64\n" body "\n}\n"

static const bad_text bad_modules[] = {
    {"", "t:1:1", "'module' expected, not end of text"},
    {"module m {}", "t:1:8", "string expected, not 'm'"},
    {"module \"m\" {}", "t:1:13", "no graph"},
    {"module \"m\" {\n graph @a() {", "t:2:13", "'{' has no '}'"},
    {"module \"m\" {graph @a(){} graph @a(){}}", "t:1:32", "a second graph @a"},
    {"module \"m\" {graph @a(){}} x", "t:1:27", "end of text expected"},
    {"module \"m", "t:1:8", "does not end on its line"},
    {"module \"\\q\"", "t:1:8", "bad escape"},
    {"module \"m\" \x01", "t:1:12", "unexpected byte 0x01"},
    {G("%y = rleu(%x)"), "t:3:6", "unknown operator 'rleu'"},
    {G("%y = relu(%z)"), "t:3:11", "%z is not defined before its use"},
    {G("%y = relu(%x, %x)"), "t:3:6", "relu"},
    {G("%x = relu(%x)"), "t:3:1", "%x is defined twice"},
    {G("%a, %a = split(%x) {axis=1, sizes=[1,2]}"), "t:3:5", "%a is defined twice"},
    {G("%y = relu(%x) : f32[2,4]"), "t:3:17", "%y is f32[2,3]"},
    {G("%y = relu(%x) : f32[2,-4]"), "t:3:17", "negative"},
    {G("%y = relu(%x) : f99[2]"), "t:3:17", "type expected, not 'f99'"},
    {G("%y = relu(%x) : f32[2,3]@(0,0)"), "t:3:25", "not a permutation"},
    {G("%y = relu(%x) {alpha=1}"), "t:3:16", "no attribute 'alpha'"},
    {G("%y = elu(%x) {alhpa=1}"), "t:3:15", "did you mean alpha?"},
    {G("%y = elu(%x) {alpha=1, alpha=2}"), "t:3:24", "given twice"},
    {G("%y = softmax(%x) {axis=1.5}"), "t:3:24", "integer expected"},
    {G("%y = softmax(%x) {axis=99999999999999999999}"), "t:3:24", "out of range"},
    {G("%y = map(%x) {body=\"add(%0, %7)\"}"), "t:3:20", "body: expression column 9"},
    {G("%y = relu(%x) when %x"), "t:3:20", "not bool"},
    {G("%w = constant f32[2] {1.0}"), "t:3:26", "',' expected"},
    {G("%w = constant i8[1] {128}"), "t:3:22", "128 does not fit i8"},
    {G("%w = constant i8<0.5,3000000000>[2] {1, 2}"), "t:3:22", "zero point is out of range"},
    {G("%w = constant i8<axis=1,{1.0},{0}>[2] {1, 2}"), "t:3:15", "axis 1 is outside rank 1"},
    {G(CHANNELS "%v = slice(%w) {starts=[1], sizes=[2], steps=[-1]}"), "t:4:6", "which moves"},
    {G(CHANNELS "%v = pad(%w) {before=[1], after=[-1]}"), "t:4:6", "which moves"},
    {G("%y = cast(%x) {to=5}"), "t:3:19", "element type expected, not '5'"},
    {G("%y = map(%x) {body=\"\"}"), "t:3:20", "body"},
    {G("%w = constant f32[2] hex(\"00\")"), "t:3:26", "2 digits, needs 16"},
    {G("%w = constant f32[99999999] {1.0}"), "t:3:29", "the text ends before"},
    {G("%w = constant f32[99999999999] splat(1.0)"), "t:3:32", "splats"},
    {G("%w = constant f32[9999999,9999999,99999999] {}"), "t:3:15", "larger than 2^46"},
    {G("%w = constant f32[1,1,1,1,1,1,1,1,1] {1.0}"), "t:3:15", "rank 9"},
    {G("%w = constant i8<axis=0,{1.0},{0}>[2] {1, 2}"), "t:3:15", "1 scales where 2"},
    {G("%w = constant i8<axis=99999999999,{1.0},{0}>[2] {1, 2}"), "t:3:43", "axis"},
    {G("%w, %v = constant f32[1] {1.0}"), "t:3:10", "one value"},
    {G("output %y"), "t:3:8", "%y is not defined"},
    {G("output %x columns {}"), "t:3:20", "string expected"},
    {G("output %x columns {\"a\" \"b\"}"), "t:3:24", "'}' expected"},
    {G("output %x columns {\"a\", \"b\"}"), "t", "labels of output 'x' do not fit"},
    {G("output %x elements {\"a\"}"), "t", "labels of output 'x' do not fit"},
    {G("output %x columns numbers {\"1\", \"2\", \"3x\"}"), "t", "do not fit"},
    {G("variable %x: f32[1] = {1.0}"), "t:3:10", "%x is defined twice"},
    {G("variable %v: f32[1]"), "t:4:3", "'=' expected"},
    {G("variable %v: f32[2] = {1.0}"), "t:3:27", "',' expected"},
    {G("variable %v: f32[99999999] = {1.0}"), "t:3:30", "the text ends before"},
    {G("variable %v: i8[1] trainable = {1}"), "t", "%v is trainable but no variable of floats"},
    {G("update %v = %x"), "t:3:8", "%v is not defined"},
    {G("update %x = %x"), "t:3:8", "%x is no variable"},
    {G("variable %v: f32[1] = {1.0} update %v = %x"), "t", "is f32[1], its update %x is f32[2,3]"},
    {G("variable %v: f32[1] = {1.0} update %v = %v update %v = %v"), "t", "%v has two updates"},
    {"module \"m\" {graph @a(){} graph @b(){variable %v: f32[1] = {1.0}}}", "t",
     "only the main graph has variables"},
    {"module \"m\" {graph @a(){} graph @b(%x: f32[1]){output %x columns {\"a\"}}}", "t:1:65",
     "only outputs of the first graph"},
    {G("%y = if(%x) then @a else @a"), "t:3:18", "no graph @a"},
    {G("%y = if(%x) then @main else @main"), "t:3:18", "@main contains itself"},
    {G("%y = 5"), "t:3:6", "word expected, not '5'"},
    {G("%\"\\x4A\\x4f\" = relu(%y)"), "t:3:20", "%y is not defined"},
    {G("%\"\\x4G\" = relu(%x)"), "t:3:1", "bad escape"},
    {G("%\"\" = relu(%x)"), "t:3:1", "the name is empty"},
    {G("relu(%x)"), "t:3:1", "relu has 1 results, 0 are named"},
};

static const bad_text bad_programs[] = {
    {"program p", "t:1:9", "string expected"},
    {P("buffer act %t : 4"), "t:3:12", "a second buffer %t"},
    {P("buffer const %w : -4"), "t:3:19", "out of range"},
    {P("buffer heap %w : 4"), "t:3:8", "region expected"},
    {P("buffer input 0 %a : f32[1]\nbuffer input 0 %b : f32[1]"), "t:4:14", "bound twice"},
    {P("buffer input 99999999 %a : f32[1]"), "t:3:14", "too large"},
    {P("buffer state 0 %a : f32[1]"), "t", "state buffer %a has no contents"},
    {P("buffer state 1 %a : f32[1] = splat(0)"), "t", "binding 0 has no name"},
    {P("buffer state 0 %a : f32[0] \"s\"\nbuffer state 1 %b : f32[0] \"s\""), "t",
     "two states are called s"},
    {P("relu(@out %t[16]:f32)"), "t:3:1", "unknown instruction 'relu'"},
    {P("fill(%t[16]:f32)"), "t:3:6", "@in, @out, @inout or - expected"},
    {P("fill(@out %u[16]:f32)"), "t:3:11", "no buffer %u"},
    {P("fill(@out %t[16,-1]:f32)"), "t:3:13", "negative"},
    {P("fill(@out %t[1,1,1,1,1,1,1,1,1]:f32)"), "t:3:13", "rank 9 is above 8"},
    {P("fill(@out %t[16]:f32 *(1,1))"), "t:3:23", "2 strides for rank 1"},
    {P("fill(@out %t[16]:f32) {value=x}"), "t:3:30", "number expected"},
    {P("nest()"), "t:4:1", "'do' expected"},
    {P("nest() do {"), "t:5:1", "not end of text"},
};

static void check_bad(const bad_text *b, wk_status s) {
  if (!s) fail_msg("accepted: %s", b->text);
  if (strcmp(s->place ? s->place : "", b->place) || !strstr(s->message, b->message))
    fail_msg("%s: %s\nfor %s\nwhere %s: %s is wanted", s->place, s->message, b->text, b->place,
             b->message);
  if (s->code != WK_INPUT && s->code != WK_RESOURCE && s->code != WK_UNSUPPORTED)
    fail_msg("code %d for %s", (int)s->code, b->text);
  wk_status_free(s);
}

static void errors_have_places(void **state) {
  (void)state;
  wk_module *m;
  wk_program *p;
  for (size_t k = 0; k < WK_COUNTOF(bad_modules); k++)
    check_bad(&bad_modules[k], wk_module_parse(bad_modules[k].text, "t", &m));
  for (size_t k = 0; k < WK_COUNTOF(bad_programs); k++)
    check_bad(&bad_programs[k], wk_program_parse(bad_programs[k].text, "t", &p));
}

/* ---- hostile text -------------------------------------------------------------------------- */

static const char *const pieces[] = {
    "%x", "%", "@", "-", "(", ")", "{", "}", "[", "]", ",", "=", ":", "\"", "#", "\n", "<", ">",
    "*", "+4", "-1", "0", "9223372036854775807", "-9223372036854775808", "1e999", "nan", "inf",
    "0.5",
    "axis=", "f32", "i8", "bool", "[0]", "[1,2]", "output ", "graph @g", "public ", "constant ",
    "splat(1)", "hex(\"00\")", "@in ", "@out ", "step 1", "do {", "then @left", " else ", "when %t",
    "\\", "\\x00", "_12", "4294967296", "@main", "\"%0\"", "\xff", "axes=[1]"};

/* One to three edits: a byte changed, a part removed, repeated or moved, a piece put in. */
static char *mutant(wk_rng *r, const char *text) {
  wk_str b = {0};
  wk_str_add(&b, text);
  for (int64_t edits = wk_rng_range(r, 1, 3); edits > 0; edits--) {
    size_t from = (size_t)wk_rng_range(r, 0, (int64_t)b.n - 1);
    size_t n = (size_t)wk_rng_range(r, 1, wk_rng_range(r, 0, 3) ? 6 : 60);
    size_t to = (size_t)wk_rng_range(r, 0, (int64_t)b.n - 1);
    if (n > b.n - from) n = b.n - from;
    wk_str next = {0};
    switch (wk_rng_range(r, 0, 3)) {
      case 0: b.s[from] = (char)wk_rng_range(r, 1, 255); continue;
      case 1:
        wk_str_addn(&next, b.s, from);
        wk_str_add(&next, b.s + from + n);
        break;
      case 2:
        wk_str_addn(&next, b.s, to);
        wk_str_addn(&next, b.s + from, n);
        wk_str_add(&next, b.s + to);
        break;
      default:
        wk_str_addn(&next, b.s, from);
        wk_str_add(&next, pieces[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(pieces) - 1)]);
        wk_str_add(&next, b.s + from);
    }
    wk_str_free(&b);
    b = next;
    if (b.n == 0) wk_str_add(&b, " ");
  }
  return b.s;
}

static void mutants_do_not_crash(void **state) {
  (void)state;
  char *module_text = full_sample();
  wk_rng r = {99};
  int accepted[2] = {0};
  for (int k = 0; k < 4000; k++) {
    wk_module *m;
    wk_program *p;
    char *text = mutant(&r, module_text);
    wk_status s = wk_module_parse(text, "t", &m);
    if (!s) {
      accepted[0]++;
      free(module_identity(m));
      wk_module_free(m);
    }
    wk_status_free(s);
    free(text);
    text = mutant(&r, sample_program);
    s = wk_program_parse(text, "t", &p);
    if (!s) {
      accepted[1]++;
      free(program_identity(p));
      wk_program_free(p);
    }
    wk_status_free(s);
    free(text);
  }
  free(module_text);
  assert_true(accepted[0] > 20 && accepted[1] > 20); /* mutants that get past the parser */
}

/* head, then unit until there are 64 KiB, then tail; %u in unit counts. */
typedef struct {
  const char *head, *unit, *tail;
  bool is_program;
} hostile;

static const hostile floods[] = {
    {"", "(", "", false},
    {"module \"m\" {", "graph @g%u(){}", "}", false},
    {"module \"m\" {graph @main(){", "{", "", false},
    {"module \"m\" {", "graph @g%u(%%c: bool[1]){%%y=if(%%c,%%c)then@g%u else@h}", "", false},
    {"module \"m\" {graph @main(%a:f32[2]){", "%%v%u=relu(%%a)", "}}", false},
    {"module \"m\" {graph @main(%a:f32[2]){", "%%v%u=relu(%%a)\n", "", false},
    {"module \"m\" {graph @main(%a:f32[2]){%b=concat(%a", ",%%a", "){axis=0} output %b}}", false},
    {"module \"m\" {graph @main(%a:f32[2]){%b=map(%a){body=\"", "neg(", "\"}}}", false},
    {"module \"m\" {graph @main(%a:f32[2]){%b=map(%a){body=\"", "a%u=neg(%%0);", "%0\"}}}", false},
    {"module \"m\" {graph @main(%a:f32[2]){%b=split(%a){sizes=[2", ",0", "]}}}", false},
    {"module \"m\" {graph @main(){", "%%c%u=constant f32[1000000] splat(1.0)", "}}", false},
    {"module \"m\" {graph @main(", "%%x%u: f32[1],", "", false},
    {"program \"p\" {", "nest() do {", "}", true},
    {"program \"p\" {buffer act %t : 64 ", "copy(@out %%t[4]:f32;@in %%t[4]:f32+16)", "}", true},
    {"program \"p\" {", "buffer act %%t%u : 1\n", "}", true},
    {"program \"p\" {buffer act %t : 64 map(@out %t[2]:f32", ",@out %%t[2]:f32+8*(2)", ")}", true},
    {"program \"p\" {buffer act %t : 9999999 map(@out %t[]:u8", ",@out %%t[]:u8+%u8", ")}", true},
};

static void floods_end_soon(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(floods); k++) {
    const hostile *h = &floods[k];
    wk_str b = {0};
    wk_str_add(&b, h->head);
    for (unsigned i = 0; b.n < 65536; i++) {
      const char *s = h->unit;
      for (; *s; s++) {
        if (*s != '%') wk_str_addn(&b, s, 1);
        else if (*++s == 'u') wk_str_printf(&b, "%u", i);
        else wk_str_add(&b, "%");
      }
    }
    wk_str_add(&b, h->tail);
    wk_module *m = NULL;
    wk_program *p = NULL;
    clock_t start = clock();
    wk_status s = h->is_program ? wk_program_parse(b.s, "t", &p) : wk_module_parse(b.s, "t", &m);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    /* 1 s is the aim; sanitizers and a busy machine get more */
    if (seconds > 5) fail_msg("%s%s: %.1f s", h->head, h->unit, seconds);
    wk_status_free(s);
    wk_module_free(m);
    wk_program_free(p);
    wk_str_free(&b);
  }
}

/* Bodies nested as deep as the limit, and one deeper. */
static void nesting_is_limited(void **state) {
  (void)state;
  for (int depth = 64; depth <= 65; depth++) {
    wk_str m = {0}, p = {0};
    wk_module *module = NULL;
    wk_program *program = NULL;
    wk_str_add(&m, "module \"m\" {");
    for (int k = 0; k < depth; k++)
      wk_str_printf(&m, "graph @g%d(%%c:bool[]){%%y=if(%%c,%%c)then @g%d else @g%d output %%y}", k,
                    k + 1, k + 1);
    wk_str_printf(&m, "graph @g%d(%%c:bool[]){output %%c}}", depth);
    wk_str_add(&p, "program \"p\" {");
    for (int k = 0; k < depth; k++) wk_str_add(&p, "loop(;-,-) do {");
    for (int k = 0; k <= depth; k++) wk_str_add(&p, "}");
    wk_status s = wk_module_parse(m.s, "t", &module), t = wk_program_parse(p.s, "t", &program);
    assert_int_equal(s == NULL, depth == 64);
    assert_int_equal(t == NULL, depth == 64);
    if (s) assert_non_null(strstr(s->message, "more than 64 deep"));
    if (t) assert_non_null(strstr(t->message, "more than 64 deep"));
    wk_status_free(s);
    wk_status_free(t);
    wk_module_free(module);
    wk_program_free(program);
    wk_str_free(&m);
    wk_str_free(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_printed_as_written),
      cmocka_unit_test(every_operator_reads_back),
      cmocka_unit_test(constants_of_every_dtype),
      cmocka_unit_test(long_constants_are_elided),
      cmocka_unit_test(bytes_in_hex), cmocka_unit_test(hand_written_text),
      cmocka_unit_test(errors_have_places),
      cmocka_unit_test(mutants_do_not_crash),
      cmocka_unit_test(floods_end_soon),
      cmocka_unit_test(nesting_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
