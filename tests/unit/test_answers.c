/* SPDX-License-Identifier: Apache-2.0
 * What is said of texts that are nearly right: rows of the tables of operators, drawn graphs, drawn
 * and written programs, and expressions, of which one token each is left out, doubled, moved by one
 * or taken from elsewhere. Whether the text is taken, as what, and with which message it is refused
 * is summed up for each kind of text. After a change that is meant,
 *   test_answers says NAME      all texts of one row and their answers: compare with those before
 *   test_answers rows >tests/unit/answers.def */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random_control.h"
#include "tests/random_middle.h"
#include "tests/unit/figures_tables.h"
#include "tests/unit/inst_c_cases.h"
#include "tests/unit/inst_c_index_cases.h"
#include "tests/unit/text_samples.h"

typedef struct {
  const char *name;
  int64_t tried, taken;
  uint32_t answers; /* hash of the texts that are taken as printed, and of messages and places */
} answer_row;

static const answer_row expected[] = {
#define ROW(name, tried, taken, answers) {name, tried, taken, answers},
#include "tests/unit/answers.def"
#undef ROW
};

static WK_VEC(answer_row) found;
static const char *shown; /* answers of this row are printed */

/* ---- answers --------------------------------------------------------------------------------- */

typedef wk_status (*reader)(const char *text, wk_str *again);

static wk_status read_module(const char *text, wk_str *again) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "text", &m);
  if (!s) s = wk_module_verify(m);
  if (!s) wk_module_print(again, m, WK_PRINT_SHORT);
  wk_module_free(m);
  return s;
}

static wk_status read_program(const char *text, wk_str *again) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "text", &p);
  if (!s) s = wk_program_verify(p);
  if (!s) wk_program_print(again, p, WK_PRINT_SHORT);
  wk_program_free(p);
  return s;
}

static wk_status read_expression(const char *text, wk_str *again) {
  static const wk_dtype in[] = {WK_F32, WK_I32, WK_U8, WK_BOOL, WK_F16};
  wk_arena *a = wk_arena_new();
  wk_expr *e = NULL;
  wk_status s = wk_expr_parse(a, text, in, WK_COUNTOF(in), &e);
  if (!s) wk_expr_print(again, e);
  wk_arena_free(a);
  return s;
}

static answer_row *row_named(const char *name) {
  for (size_t i = found.n; i-- > 0;)
    if (!strcmp(found.data[i].name, name)) return &found.data[i];
  wk_vec_push(&found, ((answer_row){.name = name}));
  return &found.data[found.n - 1];
}

static void ask(const char *name, const char *text, reader read) {
  answer_row *x = row_named(name);
  wk_str answer = {0};
  wk_status s = read(text, &answer);
  x->tried++;
  x->taken += s == NULL;
  if (s) wk_str_printf(&answer, "%d %s: %s", (int)s->code, s->place ? s->place : "", s->message);
  wk_status_free(s);
  x->answers = (uint32_t)wk_hash64(answer.s, answer.n, x->answers);
  if (shown && !strcmp(shown, name)) printf("%s\n-> %s\n\n", text, answer.s);
  wk_str_free(&answer);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static size_t token(const char *s) {
  size_t n = 1;
  if (is_word(*s) || ((*s == '%' || *s == '@') && is_word(s[1]))) while (is_word(s[n])) n++;
  return n;
}

static void spread(const char *text, const char **tokens, size_t *n, size_t most) {
  for (*n = 0; *text && *n < most; text += token(text))
    if (!isspace((unsigned char)*text)) tokens[(*n)++] = text;
}

static void add_number(wk_str *b, const char *at, wk_rng *rng) {
  static const char *const extremes[] = {"-1", "0", "9223372036854775807", "70368744177664", "1.5"};
  int64_t v = strtoll(at, NULL, 10);
  switch (wk_rng_range(rng, 0, 5)) {
    case 0: wk_str_printf(b, "%lld", (long long)((uint64_t)v - 1)); break;
    case 1: wk_str_printf(b, "%lld,%lld", (long long)v, (long long)v); break;
    case 2: wk_str_add(b, extremes[wk_rng_range(rng, 0, WK_COUNTOF(extremes) - 1)]); break;
    default: wk_str_printf(b, "%lld", (long long)((uint64_t)v + 1)); break;
  }
}

static bool is_dtype(const char *at) {
  wk_dtype t;
  return wk_dtype_from_name(at, token(at), &t);
}

static void add_dtype(wk_str *b, wk_rng *rng) {
  static const wk_dtype types[] = {WK_F32, WK_F16, WK_F64, WK_I8, WK_U8, WK_I32, WK_I64, WK_BOOL};
  wk_str_add(b, wk_dtype_name(types[wk_rng_range(rng, 0, WK_COUNTOF(types) - 1)]));
}

/* Token k is left out (an element of a list with its comma), doubled, followed by another one or
 * replaced; numbers and types most often become others. */
static void edited(wk_str *b, const char *text, const char *const *tokens, size_t n, size_t k,
                   wk_rng *rng) {
  const char *at = tokens[k], *other = tokens[wk_rng_range(rng, 0, (int64_t)n - 1)];
  size_t size = token(at);
  int64_t how = wk_rng_range(rng, 0, 7);
  wk_str_printf(b, "%.*s", (int)(at - text), text);
  if (how == 0 && at[size] == ',') size++;
  if (isdigit((unsigned char)*at) && how > 1) add_number(b, at, rng);
  else if (is_dtype(at) && how > 1) add_dtype(b, rng);
  else if (how == 1) wk_str_printf(b, "%.*s %.*s", (int)size, at, (int)size, at);
  else if (how == 2) wk_str_printf(b, "%.*s %.*s", (int)size, at, (int)token(other), other);
  else if (how > 2) wk_str_printf(b, "%.*s", (int)token(other), other);
  wk_str_add(b, at + size);
}

/* The text as it is, and with `each` edits of each token. */
static void ask_near(const char *name, const char *text, reader read, int each, uint64_t seed) {
  enum { MOST = 4000 };
  static const char *tokens[MOST];
  wk_rng rng = {seed};
  size_t n;
  spread(text, tokens, &n, MOST);
  ask(name, text, read);
  for (size_t k = 0; k < n; k++)
    for (int i = 0; i < each; i++) {
      wk_str b = {0};
      edited(&b, text, tokens, n, k, &rng);
      ask(name, b.s, read);
      wk_str_free(&b);
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void near_rows(void) {
  for (size_t i = 0; i < WK_COUNTOF(table); i++) {
    wk_module *m = table_module(&table[i], false);
    wk_str text = {0};
    if (!m) continue;
    wk_module_print(&text, m, WK_PRINT_SHORT);
    drop_types(&text);
    ask_near(wk_op_get(table[i].op)->name, text.s, read_module, 2, table_seed(&table[i]));
    wk_str_free(&text);
    wk_module_free(m);
  }
}

/* Rows of test_infer.c, with types that are quantised; of those that are refused the message. */
static const struct {
  wk_op op;
  const char *attrs, *in, *want;
  uint32_t n_out;
} inferred[] = {
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want, 0},
#define CASE_N(op, attrs, in, want, n_out) {WK_OP_##op, attrs, in, want, n_out},
#include "tests/unit/infer_cases.def"
#undef CASE
#undef CASE_N
};

/* dtype[dims], dtype<scale,zero point>[dims] or, with one for each element, dtype<axis>[dims] */
static wk_type inferred_type(wk_arena *a, const char *s) {
  char plain[96];
  size_t name = strcspn(s, "[<"), whole = strcspn(s, "["), word = strcspn(s, " ");
  snprintf(plain, sizeof plain, "%.*s%.*s", (int)name, s, (int)(word - whole), s + whole);
  wk_type t = case_type(plain);
  if (name == whole) return t;
  int axis = memchr(s, ',', whole) ? -1 : atoi(s + name + 1);
  int64_t n = axis < 0 ? 1 : t.dims[axis];
  float *scale = wk_arena_alloc(a, (size_t)(n + 1) * sizeof *scale);
  int32_t *zero = wk_arena_alloc(a, (size_t)(n + 1) * sizeof *zero);
  for (int64_t k = 0; k < n; k++) scale[k] = 0.5f + (float)k, zero[k] = 3 - (int32_t)k;
  wk_quant *q = wk_arena_alloc(a, sizeof *q);
  *q = (wk_quant){.axis = axis, .n = n, .scale = scale, .zero_point = zero};
  t.quant = q;
  return t;
}

static uint32_t inferred_outputs(size_t i) {
  const char *s = inferred[i].want;
  uint32_t n = 0;
  if (*s == '!') return inferred[i].n_out ? inferred[i].n_out : 1;
  for (size_t k; (k = case_word(&s)) > 0; s += k) n++;
  return n;
}

/* NULL: it is refused, which answers. */
static wk_module *inferred_module(size_t i) {
  wk_module *m = wk_module_new("row");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id in[16], out[16];
  uint32_t n = 0, n_out = inferred_outputs(i);
  const char *s = inferred[i].in;
  for (size_t k; (k = case_word(&s)) > 0; s += k) {
    wk_type t = *s == '-' ? (wk_type){0} : inferred_type(m->arena, s);
    in[n++] = *s == '-' ? WK_NONE : wk_graph_input(g, NULL, &t);
  }
  wk_node_desc d = {.op = inferred[i].op, .name = "node", .in = in, .n_in = n, .n_out = n_out,
                    .attrs = case_attrs(m->arena, inferred[i].op, inferred[i].attrs)};
  wk_status st = wk_graph_add(g, &d, out);
  for (uint32_t k = 0; k < n_out && !st; k++) wk_graph_output(g, NULL, out[k]);
  if (!st) return m;
  answer_row *x = row_named("inference");
  x->tried++;
  x->answers = (uint32_t)wk_hash64(st->message, strlen(st->message), x->answers);
  if (shown && !strcmp(shown, x->name)) printf("-> %s\n", st->message);
  wk_status_free(st);
  wk_module_free(m);
  return NULL;
}

static void near_inferred(void) {
  for (size_t i = 0; i < WK_COUNTOF(inferred); i++) {
    wk_str text = {0};
    wk_module *m = inferred_module(i);
    if (!m) continue;
    wk_module_print(&text, m, WK_PRINT_SHORT);
    drop_types(&text);
    ask_near("inference", text.s, read_module, 1, i + 1);
    wk_str_free(&text);
    wk_module_free(m);
  }
}

static void near_module(const char *name, wk_module *m, uint64_t seed) {
  wk_str text = {0};
  wk_program *p;
  wk_module_print(&text, m, WK_PRINT_FULL);
  ask_near(name, text.s, read_module, 1, seed);
  text.n = 0;
  assert_null(wk_lower_nodes(m, NULL, NULL));
  assert_null(wk_generate(m, 1, &p));
  wk_program_print(&text, p, WK_PRINT_FULL);
  ask_near("program of a drawn graph", text.s, read_program, 1, seed);
  wk_str_free(&text);
  wk_program_free(p);
  wk_module_free(m);
}

static void near_modules(void) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    near_module("branches and loops", random_control(seed), seed);
    near_module("drawn graph", random_middle_graph(seed, 8), seed);
  }
}

static void near_programs(void) {
  for (size_t i = 0; i < WK_COUNTOF(inst_c_cases) + WK_COUNTOF(inst_c_index_cases); i++) {
    const char *body = i < WK_COUNTOF(inst_c_cases)
                           ? inst_c_cases[i].text
                           : inst_c_index_cases[i - WK_COUNTOF(inst_c_cases)].text;
    wk_str text = {0};
    wk_str_printf(&text, "program \"p\" {\n%s\n}\n", body);
    ask_near(i < WK_COUNTOF(inst_c_cases) ? "program" : "program that indexes", text.s,
             read_program, 1, i + 1);
    wk_str_free(&text);
  }
}

static const char *const expressions[] = {
    "add(%0, 1.5f32)", "sat<u8>(add(rescale(%1, 12345678i64, 18i64), 100i32))",
    "select(lt(%0, 0.0f32), neg(%0), exp(%0))", "cast<f32>(%2)", "bits<f32>(%1)",
    "and(not(%3), gt(%1, -7i32))", "pow(max(%0, 1e-05f32), -inff32)", "sub(%0, %0), mul(%0, %0)",
    "cast<i8>(shr_round(mul(cast<i32>(%2), 77i32), 9i32))", "fmod(%0, nanf32)", "add(%4, 0.5f16)",
    "index<1>", "shl(%1, 3i32)", "eq(%2, 255u8)", "tanh(erf(floor(%0)))",
};

static void near_expressions(void) {
  for (size_t i = 0; i < WK_COUNTOF(expressions); i++)
    ask_near("expression", expressions[i], read_expression, 12, i + 1);
}

static void ask_all(void) {
  near_rows();
  near_inferred();
  near_modules();
  near_programs();
  near_expressions();
  char *sample = full_sample();
  ask_near("sample of a module", sample, read_module, 4, 1);
  free(sample);
  ask_near("sample of a program", sample_program, read_program, 4, 1);
}

/* ---- the test -------------------------------------------------------------------------------- */

static void print_row(const answer_row *x) {
  printf("ROW(\"%s\", %lld, %lld, 0x%08x)\n", x->name, (long long)x->tried, (long long)x->taken,
         x->answers);
}

static void answers(void **state) {
  (void)state;
  int differ = 0;
  ask_all();
  for (size_t i = 0; i < found.n; i++) {
    const answer_row *got = &found.data[i], *want = i < WK_COUNTOF(expected) ? &expected[i] : NULL;
    if (want && !strcmp(want->name, got->name) && want->tried == got->tried &&
        want->taken == got->taken && want->answers == got->answers)
      continue;
    differ++;
    print_row(got);
  }
  assert_int_equal(differ, 0);
  assert_int_equal(found.n, WK_COUNTOF(expected));
  wk_vec_free(&found);
}

static int print_rows(void) {
  ask_all();
  printf("/* SPDX-License-Identifier: Apache-2.0\n"
         " * What test_answers.c is told: kind of text, texts, how many are taken, hash. */\n");
  for (size_t i = 0; i < found.n; i++) print_row(&found.data[i]);
  wk_vec_free(&found);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers)};
  if (argc == 2 && !strcmp(argv[1], "rows")) return print_rows();
  shown = argc == 3 && !strcmp(argv[1], "says") ? argv[2] : NULL;
  if (shown) ask_all();
  return shown ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
