/* SPDX-License-Identifier: Apache-2.0
 * Steps: the rows that a package gets of a program, and a device that runs them one by one with
 * what runtime/device.h has for that. Its steps are instructions, run by the evaluator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/cgen/inst_c.h"
#include "compiler/eval/eval.h"
#include "compiler/package/program.h"
#include "runtime/device.h"

static const char text[] =
    "program \"p\" {\n"
    "  region act 192\n"
    "  bound 192\n"
    "  buffer input 0 %x : f32[2,3]\n"
    "  buffer output 0 %y : f32[3,2]\n"
    "  buffer output 1 %m : f32[2,2]\n"
    "  buffer const %w : 24 = splat(63)\n"
    "  buffer act %a : 24 offset 64\n"
    "  buffer act %b : 24 offset 128\n"
    "  buffer scratch %s : 4 offset 0\n"
    "  map(@out %a[3,2]:f32 *(1,3); @in %x[3,2]:f32 *(1,3)) {body=\"neg(%0)\"} \"negate\"\n"
    "  copy(@out %b[3]:f32; @in %a[3]:f32) \"halves\"\n"
    "  copy(@out %b[3]:f32 +12; @in %x[3]:f32 +12) \"halves\"\n"
    "  nest() do {\n"
    "    reduce(@out %s[2,3]:f32 *(0,0); @in %b[2,3]:f32) {axes=[1]}\n"
    "    map(@out %y[2,3]:f32 *(1,2); @in %b[2,3]:f32, @in %s[2,3]:f32 *(0,0))"
    " {body=\"sub(%0, %1)\"}\n"
    "  }\n"
    "  loop(; -, -) {trip=5} \"again\" do {\n"
    "    matmul(@out %m[2,2]:f32; @in %x[2,3]:f32, @in %w[3,2]:f32, -)\n"
    "  }\n"
    "}\n";

static wk_program *program(void) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "t", &p);
  if (!s) s = wk_program_verify(p);
  if (s) fail_msg("%s", s->message);
  return p;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void rows_say_what_steps_do(void **state) {
  static const struct {
    const char *node, *op;
    uint64_t macs, bytes;
    size_t n_tensors;
  } want[] = {{"negate", "map", 0, 48, 1},
              {"halves", "copy", 0, 24, 1},
              {"halves", "copy", 0, 24, 1},
              {"", "nest", 0, 24 + 4 + 24 + 24 + 4, 1}, /* %s has one element, and is no one's */
              {"again", "loop", 5 * 12, 5 * (16 + 24 + 24), 0}};
  wk_program *p = program();
  wk_arena *a = wk_arena_new();
  size_t n;
  (void)state;
  const wk_package_step *s = wk_package_steps_of(p, a, &n);
  assert_int_equal(n, WK_COUNTOF(want));
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(s[i].node ? s[i].node : "", want[i].node);
    assert_string_equal(s[i].op, want[i].op);
    assert_int_equal(strncmp(s[i].text, want[i].op, strlen(want[i].op)), 0);
    assert_int_equal(s[i].code, i);
    assert_int_equal(s[i].macs, want[i].macs);
    assert_int_equal(s[i].bytes, want[i].bytes);
    assert_int_equal(s[i].n_tensors, want[i].n_tensors);
  }
  assert_string_equal(s[0].tensors->name, "a");
  assert_string_equal(s[1].tensors->name, ""); /* a piece */
  assert_int_equal(s[2].tensors->offset, 128 + 12);
  assert_int_equal(s[2].tensors->place, WICK_PLACE_ARENA);
  assert_string_equal(s[3].tensors->name, "y"); /* as it is bound, not as the map sees it */
  assert_true(s[3].tensors->rank == 2 && s[3].tensors->dims[0] == 3 && !s[3].tensors->strides);
  assert_int_equal(s[3].tensors->place, WICK_PLACE_OUTPUT);
  assert_int_equal(s[3].tensors->index, 0);
  wk_arena_free(a);
  wk_program_free(p);
}

/* ---- everything that rows say ---------------------------------------------------------------- */

static const char kinds[] =
    "program \"k\" {\n"
    "  region act 704\n"
    "  region state 48\n"
    "  bound 704\n"
    "  buffer const %v : 8 = splat(1)\n"
    "  buffer input 0 %x : f32[2,3]\n"
    "  buffer const %w : 24 = splat(63)\n"
    "  buffer output 0 %y : f32[2,3]\n"
    "  buffer output 1 %z : f32[3,2]\n"
    "  buffer act %a : 24 align 256 offset 256\n"
    "  buffer act %b : 24 align 128 offset 640\n"
    "  buffer act %c : 16 align 32 offset 672\n"
    "  buffer state 0 %s : f32[2,3] align 64 offset 0 = splat(0)\n"
    "  buffer scratch %t : 24 align 4096 offset 0\n"
    "  map(@out %a[2,3]:f32; @in %x[2,3]:f32, @in %v[2,3]:f32 *(0,0)) "
    "{body=\"add(%0, %1)\"} \"n\"\n"
    "  copy(@out %y[3]:f32 +12; @in %a[3]:f32)\n"
    "  copy(@out %y[3]:f32; @in %a[3]:f32 +12)\n"
    "  map(@out %z[2,3]:f32 *(1,2); @in %w[2,3]:f32) {body=\"neg(%0)\"}\n"
    "  reduce(@out %b[2,3]:f32 *(1,0); @in %a[2,3]:f32) {axes=[1]}\n"
    "  map(@out %s[2,3]:f32; @in %s[2,3]:f32) {body=\"neg(%0)\"}\n"
    "  loop(; -, -) {trip=3} do {\n"
    "    matmul(@out %c[2,2]:f32; @in %x[2,3]:f32, @in %w[3,2]:f32, -)\n"
    "    loop(; -, -) {trip=4} do {\n"
    "      matmul(@out %c[2,2]:f32; @in %x[2,3]:f32, @in %w[3,2]:f32, -)\n"
    "    }\n"
    "    matmul(@out %c[2,2]:f32; @in %x[2,3]:f32, @in %w[3,2]:f32, -)\n"
    "  }\n"
    "}\n";

static wk_program *program_of(const char *what) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(what, "t", &p);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  return p;
}

static void add_numbers(wk_str *b, const char *what, const int64_t *v, int n) {
  if (v) wk_str_add(b, what);
  for (int k = 0; v && k < n; k++) wk_str_printf(b, k ? ",%d" : "%d", (int)v[k]);
}

static void every_figure_of_rows(void **state) {
  static const char want[] =
      "n map 0 52: 'a' 1 [2,3 strides 3,1 place 4 index 0 offset 256\n"
      " copy 0 24: '' 1 [3 strides 1 place 3 index 0 offset 12\n"
      " copy 0 24: '' 1 [3 strides 1 place 3 index 0 offset 0\n"
      " map 0 48: 'z' 1 [3,2 place 3 index 1 offset 0\n"
      " reduce 0 32: '' 1 [2,1 strides 1,0 place 4 index 0 offset 640\n"
      " map 0 48: 's' 1 [2,3 strides 3,1 place 5 index 0 offset 0\n"
      " loop 216 1152:\n";
  wk_program *p = program_of(kinds);
  wk_arena *a = wk_arena_new();
  wk_str b = {0};
  size_t n;
  (void)state;
  const wk_package_step *s = wk_package_steps_of(p, a, &n);
  for (size_t i = 0; i < n; i++) {
    wk_str_printf(&b, "%s %s %d %d:", s[i].node ? s[i].node : "", s[i].op, (int)s[i].macs,
                  (int)s[i].bytes);
    for (size_t k = 0; k < s[i].n_tensors; k++) {
      const wk_package_tensor *t = &s[i].tensors[k];
      wk_str_printf(&b, " '%s' %u", t->name, t->dtype);
      add_numbers(&b, " [", t->dims, t->rank);
      add_numbers(&b, " strides ", t->strides, t->rank);
      wk_str_printf(&b, " place %u index %u offset %d", t->place, t->index, (int)t->offset);
    }
    wk_str_add(&b, "\n");
  }
  assert_string_equal(b.s, want);
  wk_str_free(&b);
  wk_arena_free(a);
  wk_program_free(p);
}

/* Constants are the first buffer and a later one; what is no activation asks for more alignment. */
static void what_a_part_needs(void **state) {
  static const struct {
    const char *inst;
    uint32_t use;
  } rows[] = {
      {"copy(@out %y[2,3]:f32; @in %x[2,3]:f32)", 0},
      {"copy(@out %y[2,3]:f32; @in %s[2,3]:f32)", WICK_ENTRY_READS_STATE},
      {"copy(@out %s[2,3]:f32; @in %x[2,3]:f32)",
       WICK_ENTRY_READS_STATE | WICK_ENTRY_WRITES_STATE}};
  wk_arena *a = wk_arena_new();
  wk_program *p = program_of(kinds);
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m"});
  uint32_t unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = "stepper"});
  (void)state;
  const uint64_t *at = wk_package_add_consts(pkg, unit, p, a);
  for (size_t k = 0; k < p->buffers.n; k++) assert_int_equal(at[k], k == 2 ? 64 : 0);
  assert_int_equal(wk_package_add_const(pkg, unit, "", 0), 128); /* behind both */
  assert_int_equal(wk_program_arena_align(p), 256);
  const wk_package_part x = wk_package_part_of(p, "name", 7, a);
  assert_string_equal(x.name, "name");
  assert_true(x.unit == 7 && x.code == 0 && x.n_steps == 0 && x.scratch_bytes == 0);
  assert_true(x.arena_bytes == 704 && x.arena_bound == 704 && x.arena_align == 256);
  assert_true(x.n_inputs == 1 && x.n_outputs == 2);
  assert_string_equal(x.outputs[0].name, "y");
  assert_string_equal(x.outputs[1].name, "z");
  assert_true(x.outputs[1].rank == 2 && x.outputs[1].dims[0] == 3 && x.outputs[1].dims[1] == 2);
  for (size_t b = 0; b < p->buffers.n; b++)
    if (p->buffers.data[b].region == WK_REGION_ACT) p->buffers.data[b].align = 32;
  assert_int_equal(wk_program_arena_align(p), WICK_ALIGN);
  p->buffers.data[p->buffers.n - 1].region = WK_REGION_ACT;
  assert_int_equal(wk_program_arena_align(p), 4096);
  p->buffers.data[p->buffers.n - 1].region = WK_REGION_SCRATCH;
  wk_package_free(pkg);
  wk_program_free(p);
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    char all[1024];
    snprintf(all, sizeof all,
             "program \"u\" {\n  region state 24\n  buffer input 0 %%x : f32[2,3]\n"
             "  buffer output 0 %%y : f32[2,3]\n"
             "  buffer state 0 %%s : f32[2,3] align 64 offset 0 = splat(0)\n  %s\n}\n",
             rows[i].inst);
    p = program_of(all);
    assert_int_equal(wk_package_part_of(p, "u", 0, a).state_use, rows[i].use);
    wk_program_free(p);
  }
  wk_arena_free(a);
}

/* ---- as C ------------------------------------------------------------------------------------ */

static void steps_are_cases_of_a_switch(void **state) {
  static const char *const want[] = {"io[0]", "io[1]", "io[2]", "consts + 704", "arena + 64"};
  static const uint64_t const_at[8] = {[3] = 704};
  wk_program *p = program();
  wk_arena *a = wk_arena_new();
  wk_str b = {0};
  (void)state;
  const char *const *base = wk_inst_c_bases(p, const_at, a);
  for (size_t k = 0; k < WK_COUNTOF(want); k++) assert_string_equal(base[k], want[k]);
  wk_status s = wk_inst_c_cases(&b, a, p, base, 40);
  assert_string_equal(s->message, "instruction 4, loop: there are no loops for it");
  assert_non_null(strstr(b.s, "case 42:\n"));
  wk_status_free(s);
  size_t all = p->body.insts.n;
  p->body.insts.n = 3;
  assert_null(wk_inst_c_cases(&b, a, p, base, 0));
  wk_str_free(&b);
  wk_arena_free(a);
  p->body.insts.n = all; /* so that they are freed */
  wk_program_free(p);
}

/* ---- a device -------------------------------------------------------------------------------- */

/* A unit's one part is the program above; a context is the bytes of its activations. */
typedef struct {
  const wick_device_unit *unit;
  wk_program *program;
  float arena[64];
} stepper;

static int fails_at = -1; /* a step that does */

static wick_status probe(const wick_device_unit *unit, wick_error_detail *error) {
  (void)unit, (void)error;
  return WICK_OK;
}

static wick_status load(const wick_device_unit *unit, void **loaded, wick_error_detail *error) {
  (void)error;
  *loaded = (void *)(uintptr_t)unit;
  return WICK_OK;
}

static void unload(void *loaded) { (void)loaded; }

static wick_status open_context(void *loaded, const uint32_t *parts, uint32_t n, uint32_t threads,
                                void **context, wick_error_detail *error) {
  stepper *c = calloc(1, sizeof *c);
  (void)parts, (void)n, (void)threads, (void)error;
  c->unit = loaded;
  c->program = program();
  *context = c;
  return WICK_OK;
}

static void close_context(void *context) {
  wk_program_free(((stepper *)context)->program);
  free(context);
}

static wick_status run_step(void *context, const wick_device_job *job, uint32_t step,
                            wick_error_detail *error) {
  stepper *c = context;
  const wk_program *p = c->program;
  float scratch[16];
  void *bases[8];
  for (size_t k = 0; k < p->buffers.n; k++) {
    const wk_buffer *b = &p->buffers.data[k];
    bases[k] = b->region == WK_REGION_INPUT    ? job->io[b->io]
               : b->region == WK_REGION_OUTPUT ? job->io[p->inputs.n + b->io]
               : b->region == WK_REGION_ACT    ? (char *)c->arena + b->offset
               : b->region == WK_REGION_CONST  ? (void *)(uintptr_t)b->data
                                               : scratch;
  }
  if ((int)step == fails_at) {
    strcpy(error->text, "this step does not work");
    return WICK_DEVICE_FAILED;
  }
  uint64_t number = c->unit->parts[job->part].step_code[step];
  assert_null(wk_eval_inst(p, p->body.insts.data[number], bases, 0));
  return WICK_OK;
}

static wick_status submit(void *context, const wick_device_job *job, uint64_t *ticket,
                          wick_error_detail *error) {
  stepper *c = context;
  *ticket = 0;
  return wick_device_run_steps(c->unit, job, c->arena, run_step, c, error);
}

static wick_status read_tensor(void *context, const wick_device_job *job, uint32_t step,
                               uint32_t tensor, void *dense, wick_error_detail *error) {
  const stepper *c = context;
  (void)error;
  wick_device_gather(c->unit, job, c->arena, step, tensor, dense);
  return WICK_OK;
}

static const wick_device device = {
    .size = sizeof device, .version = WICK_DEVICE_VERSION, .target = "stepper", .doc = "steps",
    .probe = probe, .load = load, .unload = unload, .open = open_context, .close = close_context,
    .submit = submit, .read = read_tensor};

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct {
  void *data;
  wick_model *model;
  wick_session *session;
  float y[6], m[4];
} run;

static int begin(void **state) {
  run *r = calloc(1, sizeof *r);
  size_t size;
  wk_program *p = program();
  wk_arena *a = wk_arena_new();
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m"});
  uint32_t unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = "stepper"});
  wk_package_part part = wk_package_part_of(p, "part", unit, a);
  part.steps = wk_package_steps_of(p, a, &part.n_steps);
  wk_package_add_whole(pkg, "", wk_package_add_part(pkg, &part));
  assert_null(wk_package_bytes(pkg, &r->data, &size));
  wk_package_free(pkg);
  wk_arena_free(a);
  wk_program_free(p);
  *state = r;
  fails_at = -1;
  return wick_device_register(&device) != WICK_OK ||
         wick_model_load_memory(r->data, size, NULL, &r->model) != WICK_OK ||
         wick_session_create(r->model, 0, 1, &r->session) != WICK_OK;
}

static int end(void **state) {
  run *r = *state;
  wick_session_free(r->session);
  wick_model_free(r->model);
  free(r->data);
  free(r);
  return 0;
}

static float x[] = {1, 2, 3, 4, 5, 6};
static const void *const inputs[] = {x};

static void steps_are_run_in_order(void **state) {
  static const float want[] = {5, -11, 4, -10, 3, -9};
  run *r = *state;
  assert_int_equal(wick_session_run(r->session, inputs, (void *[]){r->y, r->m}), WICK_OK);
  assert_memory_equal(r->y, want, sizeof want);
}

static void steps_are_timed(void **state) {
  run *r = *state;
  wick_step_profile profile[5] = {{0, 0}};
  for (int k = 0; k < 3; k++)
    assert_int_equal(wick_session_run_profiled(r->session, inputs, (void *[]){r->y, r->m},
                                               profile), WICK_OK);
  for (int k = 0; k < 5; k++) assert_true(profile[k].calls == 3 && profile[k].nanoseconds > 0);
}

typedef struct {
  run *run;
  uint32_t calls;
} watcher;

/* What each step leaves, dense; what is a piece or an activation as its own axes have it. */
static void watch(void *user, uint32_t step, int after, void *arena) {
  static const float want[][6] = {
      {-1, -4, -2, -5, -3, -6}, {-1, -2, -3}, {4, 5, 6}, {5, -11, 4, -10, 3, -9}};
  static const size_t count[] = {6, 3, 3, 6};
  watcher *w = user;
  float got[6];
  assert_int_equal(step, w->calls / 2);
  assert_int_equal(after, w->calls++ % 2);
  assert_non_null(arena);
  if (!after || step == 4 || (int)step == fails_at) return;
  assert_int_equal(wick_session_read_tensor(w->run->session, step, 0, got,
                                            count[step] * sizeof *got), WICK_OK);
  assert_memory_equal(got, want[step], count[step] * sizeof *got);
}

static void steps_are_observed(void **state) {
  run *r = *state;
  watcher w = {.run = r};
  assert_int_equal(wick_session_run_observed(r->session, inputs, (void *[]){r->y, r->m}, watch, &w),
                   WICK_OK);
  assert_int_equal(w.calls, 10);
}

static void failure_ends_the_job(void **state) {
  run *r = *state;
  watcher w = {.run = r};
  fails_at = 2;
  assert_int_equal(wick_session_run_observed(r->session, inputs, (void *[]){r->y, r->m}, watch, &w),
                   WICK_DEVICE_FAILED);
  assert_string_equal(wick_session_error(r->session), "this step does not work");
  assert_int_equal(w.calls, 6);
}

#define RUN_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_say_what_steps_do), cmocka_unit_test(every_figure_of_rows),
      cmocka_unit_test(what_a_part_needs), cmocka_unit_test(steps_are_cases_of_a_switch),
      RUN_TEST(steps_are_run_in_order), RUN_TEST(steps_are_timed), RUN_TEST(steps_are_observed),
      RUN_TEST(failure_ends_the_job)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
