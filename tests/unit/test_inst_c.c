/* SPDX-License-Identifier: Apache-2.0
 * Instructions printed as C, compiled by the C compiler, against the evaluator; OpenCL C takes the
 * same text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/cgen/expr_c.h"
#include "compiler/cgen/inst_c.h"
#include "compiler/eval/eval.h"
#include "tests/unit/compiled.h"
#include "tests/unit/inst_c_cases.h"
#include "tests/unit/inst_c_index_cases.h"

typedef void (*compiled)(char **m);

enum { N_FIRST = WK_COUNTOF(inst_c_cases), N_CASES = N_FIRST + WK_COUNTOF(inst_c_index_cases) };

static const inst_c_case *case_at(size_t k) {
  return k < N_FIRST ? &inst_c_cases[k] : &inst_c_index_cases[k - N_FIRST];
}

static wk_program *program(wk_arena *a, size_t number) {
  wk_program *p = NULL;
  const char *text = wk_arena_printf(a, "program \"p\" {\n%s\n}\n", case_at(number)->text);
  wk_status s = wk_program_parse(text, "case", &p);
  if (!s) s = wk_program_verify(p);
  if (s) fail_msg("%s\n%s", text, s->message);
  return p;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Bytes of buffer k are at `format` of k; scratch is the printer's or as others are. */
static const char *const *bases(wk_arena *a, const wk_program *p, const char *format,
                                bool has_scratch) {
  const char **base = wk_arena_alloc(a, (p->buffers.n + 1) * sizeof *base);
  for (size_t k = 0; k < p->buffers.n; k++)
    if (p->buffers.data[k].region != WK_REGION_SCRATCH || has_scratch)
      base[k] = wk_arena_printf(a, format, (int)k);
  return base;
}

static void add_body(wk_str *text, wk_arena *a, const wk_program *p, const char *const *base) {
  for (size_t k = 0; k < p->body.insts.n; k++)
    assert_true(wk_inst_c_print(text, a, p->body.insts.data[k], base));
  wk_str_add(text, "}\n");
}

/* g: with scratch of the caller's. */
static void add_functions(wk_str *text, wk_arena *a, const wk_program *p, size_t number) {
  for (int k = 0; k < 2; k++) {
    wk_str_printf(text, "void %c%zu(char **m) {\n", "fg"[k], number);
    add_body(text, a, p, bases(a, p, "m[%d]", k));
  }
}

static void add_kernels(wk_str *text, wk_arena *a, const wk_program *p, size_t number) {
  for (int k = 0; k < 2; k++) {
    wk_str_printf(text, "kernel void %c%zu(global int *bad", "fg"[k], number);
    for (size_t b = 0; b < p->buffers.n; b++) wk_str_printf(text, ", global char *m%zu", b);
    wk_str_add(text, ") {\n");
    add_body(text, a, p, bases(a, p, "m%d", k));
  }
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Floats are multiples of a half, so that their sums are exact in any order. */
static void draw(wk_rng *r, const inst_c_case *c, const wk_tensor *t) {
  bool is_ranged = c->least || c->most;
  wk_dtype d = t->type.dtype;
  for (int64_t k = 0; k < wk_type_count(&t->type); k++) {
    if (wk_dtype_is_float(d) && wk_rng_unit(r) < c->nans) wk_store_f64(t->data, d, k, NAN);
    else if (wk_dtype_is_float(d))
      wk_store_f64(t->data, d, k, (double)wk_rng_range(r, -6, 6) / 2);
    else
      wk_store_i64(t->data, d, k, wk_rng_range(r, is_ranged ? c->least : -100,
                                               is_ranged ? c->most : 100));
  }
}

typedef struct {
  char **data; /* of each buffer */
  const void **in;
  void **out, **want;
} memory;

static memory prepare(wk_arena *a, wk_rng *r, const wk_program *p, const inst_c_case *c) {
  memory m = {wk_arena_alloc(a, (p->buffers.n + 1) * sizeof *m.data),
              wk_arena_alloc(a, (p->inputs.n + 1) * sizeof *m.in),
              wk_arena_alloc(a, (p->outputs.n + 1) * sizeof *m.out),
              wk_arena_alloc(a, (p->outputs.n + 1) * sizeof *m.want)};
  for (size_t k = 0; k < p->buffers.n; k++) {
    const wk_buffer *b = &p->buffers.data[k];
    size_t bytes = (size_t)b->size;
    m.data[k] = memset(wk_arena_alloc(a, bytes + 1), 0x55, bytes + 1);
    if (b->region == WK_REGION_CONST) memcpy(m.data[k], b->data, bytes);
    if (b->region == WK_REGION_INPUT) {
      m.in[b->io] = m.data[k];
      draw(r, c, &(wk_tensor){p->inputs.data[b->io].type, m.data[k]});
    } else if (b->region == WK_REGION_OUTPUT) {
      m.out[b->io] = m.data[k];
      m.want[b->io] = wk_arena_alloc(a, bytes + 1);
    }
  }
  return m;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void compare(const wk_program *p, const memory *m, size_t number) {
  const inst_c_case *c = case_at(number);
  const wk_tolerance tolerance = {c->is_rounded ? 1e-3 : 0, c->is_rounded ? 1e-5 : 0, 0};
  for (size_t k = 0; k < p->outputs.n; k++) {
    const wk_tensor got = {p->outputs.data[k].type, m->out[k]},
                    want = {p->outputs.data[k].type, m->want[k]};
    wk_diff d = wk_tensor_diff(&got, &want, &tolerance);
    if (!d.equal)
      fail_msg("case %zu, output %zu: element %lld is %g, not %g\n%s", number, k,
               (long long)d.worst, d.got, d.want, c->text);
  }
}

static void run(wk_rng *r, void *library, size_t number) {
  wk_arena *a = wk_arena_new();
  wk_program *p = program(a, number);
  const inst_c_case *c = case_at(number);
  int *bad = dlsym(library, "bad");
  for (int times = 0; times < 6; times++) {
    memory m = prepare(a, r, p, c);
    *bad = 0;
    ((compiled)(uintptr_t)compiled_symbol(library, "fg"[times % 2], number))(m.data);
    wk_status s = wk_eval_program(p, m.in, m.want, NULL, NULL);
    assert_int_equal(*bad, c->is_out_of_range);
    assert_int_equal(s != NULL, c->is_out_of_range);
    wk_status_free(s);
    if (!*bad) compare(p, &m, number);
  }
  wk_program_free(p);
  wk_arena_free(a);
}

static void as_the_evaluator(void **state) {
  wk_arena *a = wk_arena_new();
  wk_str text = {0};
  wk_rng r = {3};
  (void)state;
  wk_str_add(&text, "int bad;\n#define WK_BAD_INDEX() (bad = 1)\n");
  wk_expr_c_prelude(&text);
  for (size_t k = 0; k < N_CASES; k++) {
    wk_program *p = program(a, k);
    add_functions(&text, a, p, k);
    wk_program_free(p);
  }
  void *library = compiled_load(&text, a);
  for (size_t k = 0; k < N_CASES; k++) run(&r, library, k);
  dlclose(library);
  wk_str_free(&text);
  wk_arena_free(a);
}

static void opencl(void **state) {
  wk_arena *a = wk_arena_new();
  wk_str text = {0};
  (void)state;
  wk_str_add(&text, "#define WK_BAD_INDEX() (*bad = 1)\n");
  wk_expr_c_prelude(&text);
  for (size_t k = 0; k < N_CASES; k++) {
    wk_program *p = program(a, k);
    add_kernels(&text, a, p, k);
    wk_program_free(p);
  }
  compiled_opencl(&text, "");
  compiled_opencl(&text, "-Xclang -cl-ext=-cl_khr_fp64"); /* a device without doubles */
  wk_str_free(&text);
  wk_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_evaluator), cmocka_unit_test(opencl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
