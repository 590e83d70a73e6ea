/* SPDX-License-Identifier: Apache-2.0
 * The CPU target from instructions to results: programs made by hand are compiled to packages for
 * every instruction set that this machine runs, loaded by the runtime and compared with the
 * evaluator; two threads give the bits that one gives. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/memory/memory.h"
#include "runtime/wick.h"
#include "targets/cpu/cpu.h"
#include "targets/cpu/simd.h"
#include "tests/unit/program_cases.h"
#include "tests/unit/program_conv_cases.h"
#include "tests/unit/program_drawn_cases.h"

/* Two of each kind, and of some that round. */
#define DRAWN_PROGRAMS(X, Y)                                                                     \
  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) Y(105) Y(107) Y(108) \
  Y(110)
#define X(seed) \
  static void drawn_program_##seed(wk_program *p) { drawn_program(p, seed); }
DRAWN_PROGRAMS(X, X)
#undef X
#define X(seed) {"drawn_" #seed, drawn_program_##seed, 0, NULL},
#define Y(seed) {"drawn_" #seed, drawn_program_##seed, 0.01, NULL},
static const program_case drawn_cases[] = {DRAWN_PROGRAMS(X, Y) {0}};
#undef X
#undef Y

static void check(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  fail_msg("%s", s->message);
}

static void check_run(wick_status s) { assert_string_equal(wick_status_text(s), "ok"); }

enum { MAX_IO = 16 }; /* inputs, and outputs, of a case */

typedef struct {
  size_t n;
  wk_tensor t[MAX_IO];
} tensors;

static tensors allocate(const wk_program_io *b, size_t n) {
  tensors x = {.n = n};
  assert_true(n <= WK_COUNTOF(x.t));
  for (size_t i = 0; i < n; i++) check(wk_tensor_alloc(&b[i].type, &x.t[i]));
  return x;
}

static void release(tensors *x) {
  for (size_t i = 0; i < x->n; i++) wk_tensor_free(&x->t[i]);
}

static void pointers(const tensors *x, void **out) {
  for (size_t i = 0; i < x->n; i++) out[i] = x->t[i].data;
}

static tensors inputs_for(const program_case *c, const wk_program *p) {
  tensors x = allocate(p->inputs.data, p->inputs.n);
  wk_rng rng = {42};
  for (size_t i = 0; i < x.n; i++) program_case_fill(c, &rng, (int)i, &x.t[i]);
  return x;
}

static const wk_emit_options emit_options = {.model_name = "case", .command = "test"};

static wk_instance *opened(const char *cpu) {
  wk_instance *t;
  check(wk_target_cpu.open(cpu, &t));
  return t;
}

static wk_program *prepared(const program_case *c, const wk_instance *t) {
  wk_program *p = program_case_build(c);
  check(wk_program_verify(p));
  check(wk_pipeline_finish(p, t));
  return p;
}

/* kind: NULL for a package, else an output of the target. */
static void emit(const wk_instance *t, const char *kind, wk_program **p, size_t n,
                 const char *path) {
  wk_target_part parts[2];
  wk_emit_result result;
  const wk_target_output *output = t->target->outputs;
  for (size_t i = 0; i < n; i++) parts[i] = (wk_target_part){.name = "", .program = p[i]};
  if (!kind) {
    check(wk_emit_programs(t, p, n, &emit_options, path));
    return;
  }
  while (strcmp(output->name, kind) != 0) output++;
  check(output->write(t, parts, n, &emit_options, path, &result));
}

static void compile(const program_case *c, const char *cpu, const char *kind, const char *path) {
  wk_instance *t = opened(cpu);
  wk_program *p = prepared(c, t);
  emit(t, kind, &p, 1, path);
  wk_program_free(p);
  t->target->close(t);
}

/* A file in a fresh folder. */
typedef struct {
  char folder[32], path[64];
} place;

static place temporary(const char *file) {
  place p = {.folder = "/tmp/wick-cpu-XXXXXX"};
  assert_non_null(mkdtemp(p.folder));
  snprintf(p.path, sizeof p.path, "%s/%s", p.folder, file);
  return p;
}

static void run_command(const char *format, const char *folder) {
  char command[160];
  snprintf(command, sizeof command, format, folder);
  assert_int_equal(system(command), 0);
}

static void remove_folder(const place *p) { run_command("rm -r %s", p->folder); }

static void run(const wick_model *m, uint32_t threads, const tensors *in, tensors *out) {
  wick_session *s;
  void *inputs[MAX_IO], *outputs[MAX_IO];
  pointers(in, inputs);
  pointers(out, outputs);
  check_run(wick_session_create(m, 0, threads, &s));
  check_run(wick_session_run(s, (const void *const *)inputs, outputs));
  check_run(wick_session_run(s, (const void *const *)inputs, outputs)); /* nothing is left behind */
  wick_session_free(s);
}

static void compare(const program_case *c, const char *cpu, const tensors *got,
                    const tensors *want) {
  wk_tolerance tol = {1e-4, 1e-6, 1e-5};
  if (c->tolerance > 0) tol.rtol = tol.scale = c->tolerance;
  for (size_t i = 0; i < got->n; i++) {
    const wk_tolerance exact = {0};
    bool is_int = wk_dtype_is_int(got->t[i].type.dtype);
    wk_diff d = wk_tensor_diff(&got->t[i], &want->t[i], is_int ? &exact : &tol);
    if (!d.equal)
      fail_msg("%s on %s: output %zu: %lld differ, worst at %lld: got %g, want %g", c->name, cpu, i,
               (long long)d.mismatches, (long long)d.worst, d.got, d.want);
  }
}

static void test_case(const program_case *c) {
  wk_program *p = program_case_build(c);
  tensors in = inputs_for(c, p), want = allocate(p->outputs.data, p->outputs.n);
  void *inputs[MAX_IO], *outputs[MAX_IO];
  pointers(&in, inputs);
  pointers(&want, outputs);
  check(wk_eval_program(p, (const void *const *)inputs, outputs, NULL, NULL));
  for (int k = 0; wk_simd_row(k); k++) {
    const char *cpu = wk_simd_row(k)->name;
    if (!wk_simd_runs_here(wk_simd_row(k))) continue;
    place file = temporary("case.wick");
    compile(c, cpu, NULL, file.path);
    wick_model *m;
    check_run(wick_model_load(file.path, NULL, &m));
    remove_folder(&file);
    tensors one = allocate(p->outputs.data, p->outputs.n);
    tensors two = allocate(p->outputs.data, p->outputs.n);
    run(m, 1, &in, &one);
    run(m, 2, &in, &two);
    compare(c, cpu, &one, &want);
    for (size_t i = 0; i < one.n; i++)
      assert_memory_equal(one.t[i].data, two.t[i].data, wk_type_bytes(&one.t[i].type));
    release(&one);
    release(&two);
    wick_model_free(m);
  }
  release(&in);
  release(&want);
  wk_program_free(p);
}

static void test_all(void **state) {
  const char *only = getenv("WICK_CASE");
  (void)state;
  const program_case *const lists[] = {program_cases, conv_cases, drawn_cases};
  for (size_t k = 0; k < WK_COUNTOF(lists); k++)
    for (const program_case *c = lists[k]; c->name; c++)
      if (!only || strcmp(only, c->name) == 0) test_case(c);
}

/* ---- other outputs -------------------------------------------------------------------------- */

static const program_case *find_case(const char *name) {
  const program_case *c = program_cases;
  while (c->name && strcmp(c->name, name) != 0) c++;
  assert_non_null(c->name);
  return c;
}

typedef int (*bundle_fn)(const void *weights, const void *const *inputs, void *const *outputs,
                         void *arena);

static void check_bundle(const program_case *c) {
  place net = temporary("net");
  char path[64];
  compile(c, NULL, "bundle", net.path);
  run_command("cd %s && cc -shared -o net.so net.o && nm -u net.o >names", net.folder);
  run_command("! grep -vqE ' (memcpy|memmove|memset)$' %s/names", net.folder);
  snprintf(path, sizeof path, "%s/net.so", net.folder);
  void *lib = dlopen(path, RTLD_NOW);
  assert_non_null(lib);
  void *symbol = dlsym(lib, "net_run");
  bundle_fn run_bundle;
  assert_non_null(symbol);
  memcpy(&run_bundle, &symbol, sizeof run_bundle);
  wk_file weights;
  snprintf(path, sizeof path, "%s/net.weights", net.folder);
  check(wk_file_map(path, &weights));

  wk_program *p = program_case_build(c);
  tensors in = inputs_for(c, p), want = allocate(p->outputs.data, p->outputs.n);
  tensors got = allocate(p->outputs.data, p->outputs.n);
  void *inputs[MAX_IO], *outputs[MAX_IO], *arena = NULL;
  pointers(&in, inputs);
  pointers(&want, outputs);
  check(wk_eval_program(p, (const void *const *)inputs, outputs, NULL, NULL));
  pointers(&got, outputs);
  check(wk_try_malloc(16 << 20, &arena));
  assert_int_equal(run_bundle(weights.data, (const void *const *)inputs, outputs, arena), 0);
  compare(c, "bundle", &got, &want);
  free(arena);
  release(&in);
  release(&want);
  release(&got);
  wk_program_free(p);
  wk_file_unmap(&weights);
  dlclose(lib);
  remove_folder(&net);
}

static void test_bundles(void **state) {
  (void)state;
  static const char *const names[] = {"conv", "copy", "big_map", "loop", "top_k", "matmul_batch"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++) check_bundle(find_case(names[i]));
}

/* Two shape bindings in one package share their constants. */
static void test_bindings(void **state) {
  (void)state;
  place file = temporary("case.wick");
  wk_instance *t = opened(NULL);
  wk_program *p[] = {prepared(find_case("conv"), t), prepared(find_case("conv"), t)};
  wick_model *m;
  emit(t, NULL, p, 2, file.path);
  check_run(wick_model_load(file.path, NULL, &m));
  assert_int_equal(wick_model_describe(m)->entry_count, 2);
  const wick_section_info *consts = &wick_model_describe(m)->sections[WICK_TABLE_COUNT + 1];
  assert_string_equal(consts->name, "CONST");
  assert_in_range(consts->bytes, 1, (size_t)p[0]->region_size[WK_REGION_CONST]);
  for (uint32_t entry = 0; entry < 2; entry++) {
    wick_session *s;
    check_run(wick_session_create(m, entry, 2, &s));
    assert_true(wick_session_entry(s)->has_steps);
    wick_session_free(s);
  }
  wick_model_free(m);
  emit(t, "bundle", p, 2, file.path);
  t->target->close(t);
  run_command("cd %s && cc -Wall -Werror -fsyntax-only case.wick.h", file.folder);
  for (int i = 0; i < 2; i++) wk_program_free(p[i]);
  remove_folder(&file);
}

static void check_same_file(const char *a, const char *b) {
  wk_file x, y;
  check(wk_file_map(a, &x));
  check(wk_file_map(b, &y));
  assert_int_equal(x.size, y.size);
  assert_memory_equal(x.data, y.data, x.size);
  wk_file_unmap(&x);
  wk_file_unmap(&y);
}

static void test_same_bytes(void **state) {
  static const char *const kinds[] = {NULL, "object", "asm", "llvm-ir"};
  static const char *const cpus[] = {"x86-64", "aarch64"};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++)
    for (size_t k = 0; k < WK_COUNTOF(cpus); k++) {
      place one = temporary("net"), two = temporary("net");
      compile(find_case("conv"), cpus[k], kinds[i], one.path);
      compile(find_case("conv"), cpus[k], kinds[i], two.path);
      check_same_file(one.path, two.path);
      remove_folder(&one);
      remove_folder(&two);
    }
}

/* Adds a node and asks for it. */
static bool supported(const wk_instance *t, wk_module *m, wk_op op, void *attrs, wk_type x,
                      const char **reason) {
  wk_value_id in = wk_graph_input(m->main, NULL, &x), out[3];
  wk_node_desc d = {.op = op, .attrs = attrs, .in = &in, .n_in = 1};
  check(wk_graph_add(m->main, &d, out));
  return t->target->supports(t, m->main, &m->main->nodes.data[m->main->nodes.n - 1], m->arena,
                             reason);
}

static void test_supports(void **state) {
  (void)state;
  static const int64_t square[] = {2, 3, 3}, volume[] = {1, 1, 2, 2, 2, 2};
  wk_instance *t = opened(NULL);
  wk_module *m = wk_module_new("supports");
  wk_graph_new(m, "main");
  const char *reason;
  assert_true(supported(t, m, WK_OP_DET, NULL, wk_type_make(WK_F32, 3, square), &reason));
  assert_true(supported(t, m, WK_OP_IDENTITY, NULL, wk_type_make(WK_I32, 3, square), &reason));
  wk_attr_max_pool *pool = wk_attrs_new(m->arena, WK_OP_MAX_POOL);
  pool->kernel = pool->strides = pool->dilations = wk_ints_fill(m->arena, 4, 1);
  pool->pads = wk_ints_fill(m->arena, 8, 0);
  assert_false(supported(t, m, WK_OP_MAX_POOL, pool, wk_type_make(WK_F32, 6, volume), &reason));
  assert_string_equal(reason, "more than three spatial axes");
  wk_attr_cum_sum *sum = wk_attrs_new(m->arena, WK_OP_CUM_SUM);
  assert_true(supported(t, m, WK_OP_CUM_SUM, sum, wk_type_make(WK_I32, 3, square), &reason));
  assert_false(supported(t, m, WK_OP_SOFTMAX, NULL, wk_type_make(WK_F32, 3, square), &reason));
  assert_string_equal(reason, "no code for this operator");
  wk_module_free(m);
  t->target->close(t);
}

/* A package for another machine is refused by name; an index out of range ends the run. */
static void test_refusals(void **state) {
  (void)state;
  const program_case *c = find_case("bad_index");
  place file = temporary("case.wick");
  wick_model *m;
  wick_session *s;
  compile(c, "aarch64", NULL, file.path);
#if defined(__x86_64__)
  assert_int_equal(wick_model_load(file.path, NULL, &m), WICK_BAD_MACHINE);
#endif
  compile(c, NULL, NULL, file.path);
  check_run(wick_model_load(file.path, NULL, &m));
  check_run(wick_session_create(m, 0, 1, &s));
  for (int64_t index = -5; index <= 5; index++) {
    int64_t in[2] = {0, index};
    float data[4] = {1, 2, 3, 4}, out[2];
    const void *inputs[] = {data, in};
    void *outputs[] = {out};
    bool is_good = index >= -4 && index < 4;
    wick_status status = wick_session_run(s, inputs, outputs);
    assert_int_equal(status, is_good ? WICK_OK : WICK_RUN_FAILED);
    const char *why = wick_session_error(s);
    if (is_good) assert_string_equal(why, "");
    else assert_non_null(strstr(why, "(gather, step 0 of 1): index "));
    if (!is_good) assert_non_null(strstr(why, " is outside axis 0 of size 4"));
    if (is_good) assert_true(out[1] == data[index < 0 ? index + 4 : index]);
  }
  wick_session_free(s);
  wick_model_free(m);
  remove_folder(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_bundles),
                                     cmocka_unit_test(test_bindings),
                                     cmocka_unit_test(test_same_bytes),
                                     cmocka_unit_test(test_supports),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
