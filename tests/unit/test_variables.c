/* SPDX-License-Identifier: Apache-2.0
 * Variables from the graph to a session: what a run leaves in them is what the next one finds. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/runner.h"
#include "tests/random_graph.h"
#include "tests/random_middle.h"
#include "tests/unit/line_package.h"
#include "tests/unit/middle.h"

static const wk_type i64_scalar = {.dtype = WK_I64};

/* ---- the evaluator --------------------------------------------------------------------------- */

static wk_tensor i64_tensor(int64_t v) {
  wk_tensor t;
  must(wk_tensor_alloc(&i64_scalar, &t));
  *(int64_t *)t.data = v;
  return t;
}

static int64_t i64_of(const wk_tensor *t) { return *(const int64_t *)t->data; }

/* A counter and a sum: what they become is given back, and taken again. */
static void graphs_give_back(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  static const int64_t one = 1, ten = 10;
  wk_value_id x = wk_graph_input(g, "x", &i64_scalar);
  wk_value_id k = wk_graph_variable(g, "count", &i64_scalar, &one, false);
  wk_value_id sum = wk_graph_variable(g, "sum", &i64_scalar, &ten, false);
  wk_value_id next = wk_build(g, WK_OP_ADD, NULL, 2, k, wk_graph_scalar(g, WK_I64, 1));
  wk_graph_update(g, k, next);
  wk_value_id product = wk_build(g, WK_OP_MUL, NULL, 2, x, k);
  wk_graph_update(g, sum, wk_build(g, WK_OP_ADD, NULL, 2, sum, product));
  wk_graph_output(g, "before", sum);
  wk_tensor in[3] = {i64_tensor(5)}, out[3], again[3];
  must(wk_eval_graph(g, in, out, NULL, NULL));
  assert_int_equal(i64_of(&out[0]), 10);
  assert_int_equal(i64_of(&out[1]), 2);
  assert_int_equal(i64_of(&out[2]), 15);
  in[1] = out[1];
  in[2] = out[2];
  must(wk_eval_graph(g, in, again, NULL, NULL));
  assert_int_equal(i64_of(&again[0]), 15);
  assert_int_equal(i64_of(&again[1]), 3);
  assert_int_equal(i64_of(&again[2]), 25);
  assert_int_equal(one, 1);
  assert_int_equal(i64_of(&out[2]), 15);
  in[2] = i64_tensor(1);
  in[2].type.dtype = WK_F64;
  wk_tensor none[3];
  wk_status s = wk_eval_graph(g, in, none, NULL, NULL);
  assert_string_equal(s->message, "input is f64[], the graph wants i64[]");
  wk_status_free(s);
  wk_tensor_free(&in[0]);
  wk_tensor_free(&in[2]);
  for (size_t i = 0; i < 3; i++) {
    wk_tensor_free(&out[i]);
    wk_tensor_free(&again[i]);
  }
  wk_module_free(m);
}

/* ---- random graphs --------------------------------------------------------------------------- */

/* A value of the variable's type, if there is one beside it. */
static wk_value_id alike(const wk_graph *g, wk_value_id variable, wk_rng *rng) {
  wk_value_id found = variable;
  int64_t n = 0;
  for (wk_value_id v = 0; v < g->values.n; v++) {
    const wk_value *x = wk_val(g, v);
    bool fits = x->kind != WK_VALUE_DEAD && wk_type_equal(&x->type, &wk_val(g, variable)->type);
    if (fits && wk_rng_range(rng, 0, n++) == 0) found = v;
  }
  return found;
}

/* The variable with one of its first rows replaced by the first row of v, of its type. */
static wk_value_id with_row(wk_graph *g, wk_value_id variable, wk_value_id v, wk_rng *rng) {
  const wk_type t = wk_val(g, variable)->type;
  wk_attr_slice *a = wk_attrs_new(g->module->arena, WK_OP_SLICE);
  a->starts = wk_ints_fill(g->module->arena, t.rank, 0);
  a->steps = wk_ints_fill(g->module->arena, t.rank, 1);
  int64_t sizes[WK_MAX_RANK];
  memcpy(sizes, t.dims, sizeof sizes);
  sizes[0] = 1;
  a->sizes = wk_ints_dup(g->module->arena, sizes, t.rank);
  static const int64_t ones[] = {1, 1};
  const wk_type at = wk_type_make(WK_I64, 2, ones);
  int64_t *row = wk_arena_alloc(g->module->arena, sizeof *row);
  *row = wk_rng_range(rng, -t.dims[0], t.dims[0] - 1);
  return wk_build(g, WK_OP_SCATTER_ND, NULL, 3, variable, wk_graph_constant(g, NULL, &at, row),
                  wk_build(g, WK_OP_SLICE, a, 1, v));
}

/* Most of them are computed from the variable itself, so that they may happen in place. */
static wk_value_id new_value(wk_graph *g, wk_value_id variable, wk_rng *rng) {
  wk_value_id v = alike(g, variable, rng);
  const wk_type *t = &wk_val(g, variable)->type;
  if (t->rank > 0 && wk_type_count(t) > 0 && wk_rng_range(rng, 0, 2) == 0)
    return with_row(g, variable, v, rng);
  bool is_float = wk_dtype_is_float(wk_val(g, variable)->type.dtype);
  if (!is_float || wk_rng_range(rng, 0, 1)) return v;
  wk_value_id half = wk_graph_scalar(g, wk_val(g, variable)->type.dtype, 0.5);
  return wk_build(g, WK_OP_SUB, NULL, 2, wk_build(g, WK_OP_MUL, NULL, 2, variable, half), v);
}

/* Inputs from a random one on become variables, which begin with what `in` has for them. */
static void make_variables(wk_module *m, const wk_tensor *in, uint64_t seed) {
  wk_graph *g = m->main;
  wk_rng rng = {seed};
  size_t first = (size_t)wk_rng_range(&rng, 0, (int64_t)g->inputs.n);
  for (size_t i = first; i < g->inputs.n; i++) {
    wk_value *v = wk_val(g, g->inputs.data[i]);
    v->initial = wk_arena_memdup(m->arena, in[i].data, (size_t)wk_type_bytes(&v->type));
  }
  for (size_t i = first; i < g->inputs.n; i++) {
    wk_value_id v = g->inputs.data[i];
    wk_graph_update(g, v, new_value(g, v, &rng));
  }
}

static void random_programs_update(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    wk_str why = {0};
    middle_options o = {.order = seed % 3 > 0, .passes = seed % 5 < 2,
                        .rtol = random_middle_is_coarse(seed) ? 1e30 : 1e-6};
    wk_module *m = random_middle_graph(seed, 4 + (int)(seed % 16));
    wk_tensor *in = random_middle_inputs(m->main, seed);
    size_t n_in = m->main->inputs.n;
    make_variables(m, in, seed);
    bool ok = middle_ok(wk_module_verify(m), "graph", &why) && middle_agrees(m, in, &o, NULL, &why);
    middle_free(in, n_in);
    wk_module_free(m);
    if (!ok) fail_msg("seed %llu: %s", (unsigned long long)seed, why.s);
  }
}

static wk_runner *runner_of(const wk_module *m, const char *target, int64_t threads) {
  wk_runner *r;
  const wk_runner_options o = {.target = {.target = target}, .threads = threads,
                               .model_name = "variables"};
  must(wk_runner_of_module(wk_module_clone(m), &o, &r));
  return r;
}

static void run_tensors(wk_runner *r, const wk_tensor *in, wk_tensor *out) {
  must(wk_runner_run(r, in, out));
}

/* Their states as well, by name: what a compiled model does not mention is all the same there. */
static void compare_runners(const wk_runner *got, const wk_runner *want, const wk_tensor *a,
                            const wk_tensor *b, uint64_t seed) {
  const wk_tolerance tol = {1e-4, 1e-6, 1e-4};
  for (size_t i = 0; i < wk_runner_outputs(want); i++)
    if (!wk_tensor_diff(&a[i], &b[i], &tol).equal)
      fail_msg("seed %llu: output %zu differs", (unsigned long long)seed, i);
  for (size_t i = 0; i < wk_runner_states(got); i++)
    for (size_t k = 0; k < wk_runner_states(want); k++) {
      const char *name = wk_runner_state_name(got, i);
      wk_tensor x = {*wk_runner_state_type(want, k), wk_runner_state_data(got, i)};
      wk_tensor y = {*wk_runner_state_type(want, k), wk_runner_state_data(want, k)};
      if (strcmp(name, wk_runner_state_name(want, k)) != 0) continue;
      if (!wk_tensor_diff(&x, &y, &tol).equal)
        fail_msg("seed %llu: variable %s differs", (unsigned long long)seed, name);
    }
}

/* Three runs, one after the other. */
static void update_by(const char *target, uint64_t seed) {
  wk_module *m = random_middle_graph(seed, 4 + (int)(seed % 8));
  wk_tensor *in = random_middle_inputs(m->main, seed);
  size_t n_in = m->main->inputs.n, n_out = m->main->outputs.n;
  make_variables(m, in, seed);
  wk_runner *got = runner_of(m, target, 1 + (int64_t)(seed % 2)), *want = runner_of(m, "eval", 1);
  wk_tensor *a = wk_xcalloc(n_out + 1, sizeof *a), *b = wk_xcalloc(n_out + 1, sizeof *b);
  for (int step = 0; step < 3; step++) {
    run_tensors(got, in, a);
    run_tensors(want, in, b);
    compare_runners(got, want, a, b, seed);
  }
  middle_free(a, n_out);
  middle_free(b, n_out);
  middle_free(in, n_in);
  wk_runner_free(got);
  wk_runner_free(want);
  wk_module_free(m);
}

static void random_sessions_update(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) update_by("cpu", seed);
}

/* In parts of two targets, of which the host has the variables. */
static void random_parts_update(void **state) {
  (void)state;
  wk_targets t;
  wk_status s = wk_targets_open(&(wk_target_args){.target = "opencl"}, &t);
  wk_targets_close(&t);
  wk_status_free(s);
  if (s) skip();
  for (uint64_t seed = 1; seed <= RANDOM_COUNT(60); seed++) update_by("opencl", seed);
}

/* ---- a package that learns ------------------------------------------------------------------- */

static wick_session *session_of(const wick_model *m, uint32_t entry, uint32_t threads,
                                wick_state *state) {
  wick_session *s;
  assert_int_equal(wick_session_create(m, entry, threads, &s), WICK_OK);
  assert_int_equal(wick_session_bind_state(s, state), WICK_OK);
  return s;
}

static float run_samples(wick_session *s, const samples *data) {
  float out;
  assert_int_equal(wick_session_run(s, (const void *[]){data->x, data->y}, (void *[]){&out}),
                   WICK_OK);
  return out;
}

static uint32_t state_called(const wick_model *m, const char *name) {
  const wick_model_info *info = wick_model_describe(m);
  for (uint32_t i = 0; i < info->state_count; i++)
    if (!strcmp(info->states[i].tensor->name, name)) return i;
  fail_msg("no state %s", name);
  return 0;
}

static void assert_same_state(const wick_model *m, wick_state *a, wick_state *b) {
  const wick_model_info *info = wick_model_describe(m);
  for (uint32_t i = 0; i < info->state_count; i++)
    assert_memory_equal(wick_state_data(a, i), wick_state_data(b, i),
                        info->states[i].tensor->bytes);
}

static wick_state *trained(const wick_model *m, uint32_t threads, int steps, const samples *data,
                           wick_state *from) {
  wick_state *state = from;
  if (!state) assert_int_equal(wick_state_new(m, &state), WICK_OK);
  wick_session *s = session_of(m, TRAIN, threads, state);
  for (int i = 0; i < steps; i++) run_samples(s, data);
  wick_session_free(s);
  return state;
}

static void compare_with_evaluator(const wick_model *m, wick_state *state, const samples *data) {
  wk_module *module;
  must(wk_module_parse(line_texts[TRAIN], "train", &module));
  wk_runner *r = runner_of(module, "eval", 1);
  wk_tensor in[] = {{*wk_runner_input_type(r, 0), (void *)(uintptr_t)data->x},
                    {*wk_runner_input_type(r, 1), (void *)(uintptr_t)data->y}}, out = {0};
  for (int i = 0; i < 100; i++) run_tensors(r, in, &out);
  for (size_t i = 0; i < wk_runner_states(r); i++) {
    const wk_tolerance tol = {1e-5, 1e-6, 1e-6};
    wk_tensor want = {*wk_runner_state_type(r, i), wk_runner_state_data(r, i)}, got = want;
    got.data = wick_state_data(state, state_called(m, wk_runner_state_name(r, i)));
    assert_true(wk_tensor_diff(&got, &want, &tol).equal);
  }
  wk_tensor_free(&out);
  wk_runner_free(r);
  wk_module_free(module);
}

/* A line through each of 64 pairs of samples, which no sum goes through: the same bits. */
static const char slopes_text[] =
    "module \"slopes\" { graph @main(%x: f32[64], %y: f32[64]) {\n"
    "  variable %w: f32[64] trainable = splat(0.5)\n"
    "  variable %m: f32[64] = splat(0.0)\n"
    "  %p = mul(%x, %w)\n  %d = sub(%p, %y)\n  %g = mul(%d, %x)\n"
    "  %m2 = map(%m, %g) {body=\"add(mul(%0, 0.9f32), %1)\"}\n"
    "  %w2 = map(%w, %m2) {body=\"sub(%0, mul(%1, 0.05f32))\"}\n"
    "  output %d\n  update %w = %w2\n  update %m = %m2\n}}";

static void sums_aside_bits_agree(void **state) {
  (void)state;
  samples data;
  draw_samples(&data);
  wk_module *m;
  must(wk_module_parse(slopes_text, "slopes", &m));
  wk_runner *r[] = {runner_of(m, "cpu", 1), runner_of(m, "cpu", 2), runner_of(m, "eval", 1)};
  wk_tensor in[] = {{*wk_runner_input_type(r[0], 0), data.x},
                    {*wk_runner_input_type(r[0], 1), data.y}};
  for (size_t i = 0; i < WK_COUNTOF(r); i++) {
    wk_tensor out = {0};
    for (int step = 0; step < 100; step++) run_tensors(r[i], in, &out);
    wk_tensor_free(&out);
    for (size_t k = 0; k < 2; k++)
      assert_memory_equal(wk_runner_state_data(r[i], k), wk_runner_state_data(r[0], k), 64 * 4);
  }
  for (size_t i = 0; i < WK_COUNTOF(r); i++) wk_runner_free(r[i]);
  wk_module_free(m);
}

static void packages_learn(void **state) {
  (void)state;
  samples data;
  draw_samples(&data);
  wick_model *m = line_package();
  const wick_model_info *info = wick_model_describe(m);
  assert_int_equal(info->state_count, 3);
  assert_true(info->states[state_called(m, "w")].is_public);
  assert_false(info->states[state_called(m, "m")].is_public);
  assert_true(wick_model_entry(m, TRAIN)->writes_state);
  assert_true(wick_model_entry(m, INFER)->reads_state);
  assert_false(wick_model_entry(m, INFER)->writes_state);
  wick_state *one = trained(m, 1, 100, &data, NULL), *two = trained(m, 2, 100, &data, NULL);
  assert_same_state(m, one, two);
  assert_int_equal(*(int64_t *)wick_state_data(one, state_called(m, "step")), 100);
  compare_with_evaluator(m, one, &data);

  wick_session *s = session_of(m, EVALUATE, 1, one);
  assert_true(run_samples(s, &data) < 1e-3f);
  wick_session_free(s);
  s = session_of(m, INFER, 1, one);
  const float x[5] = {0, 0, 0, 0, 1};
  float y[3];
  assert_int_equal(wick_session_run(s, (const void *[]){x}, (void *[]){y}), WICK_OK);
  for (int j = 0; j < 3; j++) /* a row of w */
    assert_true(y[j] == ((float *)wick_state_data(one, state_called(m, "w")))[12 + j]);
  wick_session_free(s);
  wick_state_free(one);
  wick_state_free(two);
  wick_model_free(m);
}

/* A package in memory, aligned or not, has the initial state of its file. */
static void packages_lie_in_memory(void **state) {
  (void)state;
  char path[32];
  wk_file f;
  wick_model *of_file, *in_memory;
  wick_state *a, *b;
  line_file(path);
  assert_int_equal(wick_model_load(path, NULL, &of_file), WICK_OK);
  assert_int_equal(wick_state_new(of_file, &a), WICK_OK);
  must(wk_file_map(path, &f));
  unlink(path);
  uint8_t *room = aligned_alloc(4096, (f.size + 2 * 4096) / 4096 * 4096);
  for (size_t at = 0; at < 128; at += at ? 63 : 1) { /* 0, 1, 64, 127 */
    memcpy(room + at, f.data, f.size);
    assert_int_equal(wick_model_load_memory(room + at, f.size, NULL, &in_memory), WICK_OK);
    assert_int_equal(wick_state_new(in_memory, &b), WICK_OK);
    assert_same_state(of_file, a, b);
    wick_state_free(b);
    wick_model_free(in_memory);
  }
  free(room);
  wk_file_unmap(&f);
  wick_state_free(a);
  wick_model_free(of_file);
}

static void states_are_resumed(void **state) {
  (void)state;
  samples data;
  draw_samples(&data);
  wick_model *m = line_package();
  wick_state *whole = trained(m, 1, 100, &data, NULL), *half = trained(m, 2, 50, &data, NULL);
  char path[] = "/tmp/wick-variables-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(wick_state_save(half, path, NULL), WICK_OK);
  wick_state_free(half);
  assert_int_equal(wick_state_load(m, path, NULL, &half), WICK_OK);
  unlink(path);
  trained(m, 1, 50, &data, half);
  assert_same_state(m, whole, half);
  wick_session *s;
  float out;
  assert_int_equal(wick_session_create(m, TRAIN, 1, &s), WICK_OK);
  assert_int_equal(wick_session_run(s, (const void *[]){data.x, data.y}, (void *[]){&out}),
                   WICK_NO_STATE);
  wick_session_free(s);
  wick_state_free(whole);
  wick_state_free(half);
  wick_model_free(m);
}

typedef struct {
  wick_session *session;
  const samples *data;
  int done; /* runs that were not told WICK_BUSY */
} turns;

static void *take_turns(void *ctx) {
  turns *t = ctx;
  float out;
  for (int i = 0; i < 2000; i++) {
    wick_status s = wick_session_run(t->session, (const void *[]){t->data->x, t->data->y},
                                     (void *[]){&out});
    if (s != WICK_OK && s != WICK_BUSY) return t;
    t->done += s == WICK_OK;
  }
  return NULL;
}

/* Two that train and one that reads: each run happens as a whole or not at all. */
static void one_trains_at_a_time(void **state) {
  (void)state;
  enum { THREADS = 3 };
  samples data;
  draw_samples(&data);
  wick_model *m = line_package();
  wick_state *shared;
  pthread_t threads[THREADS];
  turns t[THREADS];
  assert_int_equal(wick_state_new(m, &shared), WICK_OK);
  for (int i = 0; i < THREADS; i++) {
    t[i] = (turns){session_of(m, i < 2 ? TRAIN : EVALUATE, 1, shared), &data, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &t[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
    wick_session_free(t[i].session);
  }
  assert_int_equal(*(int64_t *)wick_state_data(shared, state_called(m, "step")),
                   t[0].done + t[1].done);
  wick_state *alone = trained(m, 1, t[0].done + t[1].done, &data, NULL);
  assert_same_state(m, shared, alone);
  wick_state_free(alone);
  wick_state_free(shared);
  wick_model_free(m);
}

/* ---- bundles --------------------------------------------------------------------------------- */

static void in_folder(const char *folder, const char *format) {
  char command[400];
  snprintf(command, sizeof command, format, folder);
  assert_int_equal(system(command), 0);
}

/* What the header says of the bundle's state, as a program of its own would use it. */
static const char learner[] =
    "#include \"line.h\"\n#include <string.h>\n#include <stdlib.h>\n"
    "_Static_assert(LINE_STATES == 3 && LINE_STATE_2_DTYPE == 8, \"states\");\n"
    "int learn(const char *weights, const float *x, const float *y, char *state, int steps) {\n"
    "  static char arena[LINE_TRAIN_ARENA_BYTES] __attribute__((aligned(4096)));\n"
    "  float loss;\n"
    "  const void *in[] = {x, y};\n  void *out[] = {&loss};\n  int bad = 0;\n"
    "  memcpy(state, weights + LINE_STATE_AT, LINE_STATE_BYTES);\n"
    "  for (int i = 0; i < steps; i++)\n"
    "    bad |= line_run_train(weights, in, out, arena, state);\n"
    "  line_exec exec = {.threads = 1, .state = state, .scratch = aligned_alloc(64, 1 << 20)};\n"
    "  bad |= line_run_with_train(&exec, weights, in, out, arena);\n"
    "  free(exec.scratch);\n"
    "  return bad;\n}\n"
    "long weights_bytes(void) { return LINE_WEIGHTS_BYTES; }\n";

static void bundles_learn(void **state) {
  (void)state;
  samples data;
  draw_samples(&data);
  char folder[] = "/tmp/wick-variables-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/line", folder);
  emit_line("bundle", path);
  snprintf(path, sizeof path, "%s/learn.c", folder);
  must(wk_write_file(path, learner, strlen(learner)));
  in_folder(folder, "cd %s && cc -Wall -Werror -fPIC -shared -o learn.so learn.c line.o");
  in_folder(folder, "! nm -u %s/line.o | grep -vE ' (memcpy|memmove|memset)$'");
  snprintf(path, sizeof path, "%s/learn.so", folder);
  void *library = dlopen(path, RTLD_NOW), *symbol = library ? dlsym(library, "learn") : NULL;
  assert_non_null(symbol);
  int (*learn)(const char *, const float *, const float *, char *, int);
  memcpy(&learn, &symbol, sizeof learn);
  wk_file weights;
  snprintf(path, sizeof path, "%s/line.weights", folder);
  must(wk_file_map(path, &weights));
  symbol = dlsym(library, "weights_bytes");
  long (*weights_bytes)(void);
  assert_non_null(symbol);
  memcpy(&weights_bytes, &symbol, sizeof weights_bytes);
  assert_int_equal(weights_bytes(), weights.size);
  char *memory = aligned_alloc(64, 4096);
  assert_int_equal(learn((const char *)weights.data, data.x, data.y, memory, 99), 0);
  wick_model *m = line_package();
  wick_state *want = trained(m, 1, 100, &data, NULL);
  assert_memory_equal(memory, wick_state_data(want, 0), wick_model_describe(m)->state_bytes);
  wick_state_free(want);
  wick_model_free(m);
  free(memory);
  wk_file_unmap(&weights);
  dlclose(library);
  in_folder(folder, "rm -r %s");
}

/* ---- models ---------------------------------------------------------------------------------- */

/* A variable is an input with a default; its update is an output. */
static void exports_have_defaults(void **state) {
  (void)state;
  samples data;
  draw_samples(&data);
  char folder[] = "/tmp/wick-variables-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/line.onnx", folder);
  wk_module *m, *back;
  must(wk_module_parse(line_texts[TRAIN], "train", &m));
  must(wk_export_onnx(m, path));
  must(wk_import_onnx(path, NULL, NULL, &back));
  assert_int_equal(back->main->inputs.n, 2);
  assert_int_equal(back->main->outputs.n, 4);
  assert_string_equal(back->main->output_names.data[1], "w.updated");
  wk_tensor in[5], got[4], want[4];
  memset(in, 0, sizeof in);
  for (int i = 0; i < 2; i++)
    in[i] = (wk_tensor){wk_val(m->main, m->main->inputs.data[i])->type, i ? data.y : data.x};
  must(wk_eval_graph(m->main, in, want, NULL, NULL));
  must(wk_eval_graph(back->main, in, got, NULL, NULL));
  for (int i = 0; i < 4; i++) {
    const wk_tolerance tol = {1e-6, 1e-6, 1e-6};
    assert_true(wk_tensor_diff(&got[i], &want[i], &tol).equal);
    wk_tensor_free(&got[i]);
    wk_tensor_free(&want[i]);
  }
  wk_module_free(back);
  wk_module_free(m);
  in_folder(folder, "rm -r %s");
}

/* ---- what does not fit ----------------------------------------------------------------------- */

/* Cut for a target that takes integers alone: the host has the variables, whatever comes of it. */
static void random_graphs_are_cut(void **state) {
  (void)state;
  wk_targets t;
  must(wk_targets_open(&(wk_target_args){.target = "accel"}, &t));
  for (uint64_t seed = 1; seed <= 40; seed++) {
    wk_module *m = random_middle_graph(seed, 4 + (int)(seed % 16));
    wk_tensor *in = random_middle_inputs(m->main, seed);
    size_t n_in = m->main->inputs.n;
    make_variables(m, in, seed);
    wk_parts *parts = NULL;
    wk_pipeline_report report;
    const wk_pipeline_options po = {.targets = &t, .convert = seed % 8 ? WK_DTYPE_NONE : WK_F16};
    must(wk_pipeline_run(m, &po, &report, &parts));
    for (size_t i = 0; i < parts->parts.n; i++) {
      const wk_graph *g = parts->parts.data[i].module->main;
      if (parts->parts.data[i].target + 1 < t.n)
        assert_int_equal(wk_graph_plain_inputs(g), g->inputs.n);
    }
    wk_pipeline_report_free(&report);
    wk_parts_free(parts);
    middle_free(in, n_in);
    wk_module_free(m);
  }
  wk_targets_close(&t);
}

/* Whatever comes before it. */
static void the_host_has_variables(void **state) {
  (void)state;
  static const char why[] = "the model has variables that training changes, which are the host's";
  for (int no_host = 0; no_host < 2; no_host++) {
    wk_targets t;
    wk_module *m;
    wk_parts *parts = NULL;
    wk_pipeline_report report;
    const wk_pipeline_options po = {.targets = &t};
    must(wk_targets_open(&(wk_target_args){.target = "accel", .no_host = no_host}, &t));
    must(wk_module_parse(line_texts[TRAIN], "train", &m));
    wk_status s = wk_pipeline_run(m, &po, &report, &parts);
    if (no_host) {
      assert_int_equal(s->code, WK_UNSUPPORTED);
      assert_non_null(strstr(s->message, why));
    } else {
      must(s);
      assert_int_equal(parts->parts.n, 1);
      assert_int_equal(parts->parts.data[0].target, t.n - 1);
      assert_true(parts->reasons.n > 0);
      assert_string_equal(parts->reasons.data[0].reason, why);
    }
    wk_status_free(s);
    wk_pipeline_report_free(&report);
    wk_parts_free(parts);
    wk_module_free(m);
    wk_targets_close(&t);
  }
}

static void programs_share_states(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } others[] = {
      {"module \"m\" {graph @main(%x: f32[2]){variable %w: f32[2] = {1.0, 2.0} output %w}}", NULL},
      {"module \"m\" {graph @main(%x: f32[2]){variable %w: f32[1] = {1.0} output %w}}",
       "a variable is f32[2] in one program, f32[1] in another"},
      {"module \"m\" {graph @main(%x: f32[2]){variable %w: f32[2] = {1.0, 3.0} output %w}}",
       "a variable begins differently in two programs"},
  };
  for (size_t k = 0; k < WK_COUNTOF(others); k++) {
    wk_module *m[2];
    wk_program *p[2];
    must(wk_module_parse(others[0].text, "t", &m[0]));
    must(wk_module_parse(others[k].text, "t", &m[1]));
    for (int i = 0; i < 2; i++) must(wk_generate(m[i], 1, &p[i]));
    wk_status s = wk_place_states(p, 2, NULL, NULL, NULL);
    assert_int_equal(s != NULL, others[k].message != NULL);
    if (s) {
      assert_string_equal(s->message, others[k].message);
      assert_string_equal(s->place, "w");
      assert_int_equal(s->code, WK_INPUT);
    }
    wk_status_free(s);
    for (int i = 0; i < 2; i++) {
      wk_program_free(p[i]);
      wk_module_free(m[i]);
    }
  }
}

static void places_are_checked(void **state) {
  (void)state;
  wk_module *m;
  wk_program *p;
  must(wk_module_parse(line_texts[TRAIN], "train", &m));
  must(wk_lower_nodes(m, NULL, NULL));
  must(wk_generate(m, 1, &p));
  must(wk_place(p, 64));
  must(wk_place_check(p));
  int64_t *offset = &p->buffers.data[p->states.data[1].buffer].offset;
  assert_int_equal(*offset, 64);
  for (int64_t wrong = -1; wrong <= 128; wrong += wrong < 0 ? 1 : 128) { /* nowhere, w, step */
    *offset = wrong;
    wk_status s = wk_place_check(p);
    assert_non_null(s);
    assert_int_equal(s->code, WK_INTERNAL);
    wk_status_free(s);
  }
  *offset = 64;
  p->region_size[WK_REGION_STATE]--;
  wk_status s = wk_place_check(p);
  assert_non_null(s);
  wk_status_free(s);
  wk_program_free(p);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_give_back),
      cmocka_unit_test(random_programs_update),
      cmocka_unit_test(random_sessions_update),
      cmocka_unit_test(random_parts_update),
      cmocka_unit_test(sums_aside_bits_agree),
      cmocka_unit_test(packages_learn),
      cmocka_unit_test(packages_lie_in_memory),
      cmocka_unit_test(states_are_resumed),
      cmocka_unit_test(one_trains_at_a_time),
      cmocka_unit_test(bundles_learn),
      cmocka_unit_test(exports_have_defaults),
      cmocka_unit_test(the_host_has_variables),
      cmocka_unit_test(random_graphs_are_cut),
      cmocka_unit_test(programs_share_states),
      cmocka_unit_test(places_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
