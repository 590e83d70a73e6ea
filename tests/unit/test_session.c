/* SPDX-License-Identifier: Apache-2.0
 * Sessions on the devices of toy_device.h: arguments that are missing, buffers at each place that
 * are, what a session that runs refuses, what observers may read, and what parts a device is asked
 * to open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "tests/unit/toy_model.h"

static wick_session *session_of(void **state, uint32_t entry) {
  wick_session *s;
  assert_int_equal(wick_session_create(*state, entry, 1, &s), WICK_OK);
  return s;
}

/* Room for all inputs and outputs of an entry. */
typedef struct {
  _Alignas(64) uint8_t memory[8][64];
  const void *inputs[4];
  void *outputs[4];
} buffers;

static void fill(buffers *b, const wick_session *s) {
  const wick_entry_info *e = wick_session_entry(s);
  memset(b, 0, sizeof *b);
  for (uint32_t i = 0; i < e->input_count; i++) b->inputs[i] = b->memory[i];
  for (uint32_t i = 0; i < e->output_count; i++) b->outputs[i] = b->memory[4 + i];
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void expect_refused(wick_session *s, const buffers *b, const char *what, uint32_t i) {
  wick_step_profile profile[8] = {{0, 0}};
  wick_status status = wick_session_run(s, b->inputs, b->outputs);
  if (status != WICK_BAD_ARGUMENT) fail_msg("%s %u: %s", what, i, wick_status_text(status));
  assert_string_equal(wick_session_error(s), "");
  assert_int_equal(wick_session_run_profiled(s, b->inputs, b->outputs, profile),
                   WICK_BAD_ARGUMENT);
  assert_int_equal(profile[0].calls, 0);
}

/* Each of them alone; the session works again with all of them there. */
static void each_buffer_is_checked(void **state) {
  static const uint32_t entries[] = {TOY_PLAN, TOY_COUNTS, TOY_CHAIN, TOY_UNTIL, TOY_COUNT_ENTRY};
  for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
    wick_session *s = session_of(state, entries[k]);
    const wick_entry_info *e = wick_session_entry(s);
    buffers b;
    for (uint32_t i = 0; i < e->input_count + e->output_count; i++) {
      bool is_input = i < e->input_count;
      uint32_t place = is_input ? i : i - e->input_count;
      const wick_tensor_info *t = is_input ? &e->inputs[place] : &e->outputs[place];
      for (size_t shift = 0; shift <= t->align; shift = shift ? 2 * shift : 1) {
        uint8_t *at = b.memory[is_input ? place : 4 + place] + shift;
        fill(&b, s);
        if (is_input) b.inputs[place] = at;
        else b.outputs[place] = at;
        if (shift % t->align) expect_refused(s, &b, "shifted", i);
        else assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
      }
      fill(&b, s);
      if (is_input) b.inputs[place] = NULL;
      else b.outputs[place] = NULL;
      expect_refused(s, &b, "missing", i);
    }
    fill(&b, s);
    assert_int_equal(wick_session_run(s, NULL, b.outputs), WICK_BAD_ARGUMENT);
    assert_int_equal(wick_session_run(s, b.inputs, NULL), WICK_BAD_ARGUMENT);
    assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
    wick_session_free(s);
  }
}

static void never(void *user, uint32_t step, int after, void *arena) {
  (void)user, (void)step, (void)after, (void)arena;
  fail_msg("nobody asked for it");
}

static void arguments_are_checked(void **state) {
  wick_session *s = session_of(state, TOY_PLAN), *none = NULL;
  wick_step_profile profile[8] = {{0, 0}};
  buffers b;
  float data[4];
  void *memory;
  fill(&b, s);
  assert_int_equal(wick_session_create(NULL, 0, 1, &none), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_create(*state, 0, 1, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_create(*state, TOY_ENTRIES, 1, &none), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_create(*state, 0, WICK_MAX_THREADS + 1, &none),
                   WICK_BAD_ARGUMENT);
  assert_null(none);
  assert_int_equal(wick_session_run(NULL, b.inputs, b.outputs), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_profiled(NULL, b.inputs, b.outputs, profile),
                   WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_profiled(s, b.inputs, b.outputs, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_counted(s, b.inputs, b.outputs, profile, NULL),
                   WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_observed(NULL, b.inputs, b.outputs, never, NULL),
                   WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_observed(s, b.inputs, b.outputs, NULL, NULL),
                   WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_observed(s, NULL, b.outputs, never, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(NULL, 0, 0, data, 16), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, 0, 0, data, 16), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_import(NULL, data, 16), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_import(s, NULL, 16), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_bind_state(NULL, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_bind_state(s, NULL), WICK_OK);
  assert_int_equal(wick_session_allocate(NULL, 0, &memory), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_allocate(s, 0, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_allocate(s, 2, &memory), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_upload(NULL, data, data, 4), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_upload(s, NULL, data, 4), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_download(s, data, NULL, 1), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_download(s, data, NULL, 0), WICK_OK);
  assert_int_equal(wick_session_upload(s, data, data, 0), WICK_OK);
  assert_int_equal(wick_session_upload(s, data, data, 1), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), "there is no such memory of a device");
  assert_null(wick_session_output_dims(NULL, 0));
  assert_null(wick_session_output_dims(s, 1));
  assert_int_equal(wick_session_output_dims(s, 0)[0], 4);
  assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
  assert_string_equal(wick_session_error(s), "");
  wick_session_free(s);
  wick_session_free(NULL);
}

/* ---- memory of devices ----------------------------------------------------------------------- */

/* Of two: each is found, none goes beyond its end, and what goes up comes down. */
static void memories_are_found(void **state) {
  wick_session *s = session_of(state, TOY_CHAIN);
  float up[4] = {1, 2, 3, 4}, down[4] = {0};
  void *on[3];
  assert_int_equal(wick_session_allocate(s, 0, &on[0]), WICK_OK);
  assert_int_equal(wick_session_allocate(s, 2, &on[1]), WICK_OK);
  assert_int_equal(wick_session_allocate(s, 2, &on[2]), WICK_OK);
  for (int k = 0; k < 3; k++) {
    up[0] = (float)k;
    assert_int_equal(wick_session_upload(s, on[k], up, sizeof up), WICK_OK);
  }
  for (int k = 0; k < 3; k++) {
    assert_int_equal(wick_session_download(s, on[k], down, 1), WICK_OK);
    assert_int_equal(wick_session_download(s, on[k], down, sizeof down), WICK_OK);
    assert_true(down[0] == (float)k && down[3] == 4);
    assert_int_equal(wick_session_download(s, on[k], down, sizeof down + 1), WICK_BAD_ARGUMENT);
    assert_int_equal(wick_session_upload(s, (char *)on[k] + 1, up, 1), WICK_BAD_ARGUMENT);
  }
  wick_session_free(s);
}

/* What went well has no error of what did not. */
static void errors_are_of_the_last_call(void **state) {
  wick_session *s = session_of(state, TOY_CHAIN);
  float data[4] = {0};
  void *on, *none;
  buffers b;
  fill(&b, s);
  assert_int_equal(wick_session_allocate(s, 0, &on), WICK_OK);
  for (int k = 0; k < 5; k++) {
    assert_int_equal(wick_session_import(s, data, 7), WICK_BAD_ARGUMENT);
    assert_string_equal(wick_session_error(s), "target 'async': seven bytes are too odd");
    wick_status status = k == 0   ? wick_session_import(s, data, 8)
                         : k == 1 ? wick_session_allocate(s, 0, &none)
                         : k == 2 ? wick_session_upload(s, on, data, 4)
                         : k == 3 ? wick_session_download(s, on, data, 4)
                                  : wick_session_run(s, b.inputs, b.outputs);
    assert_int_equal(status, WICK_OK);
    assert_string_equal(wick_session_error(s), "");
  }
  wick_session_free(s);
}

/* ---- within a run ---------------------------------------------------------------------------- */

typedef struct {
  wick_session *session;
  buffers b;
  wick_state *state;
  void *memory;
  int calls;
} meanwhile;

/* Whatever else is asked of a session that runs: it is busy. */
static void ask_all(void *user, uint32_t step, int after, void *arena) {
  meanwhile *m = user;
  wick_session *s = m->session;
  wick_step_profile profile[8] = {{0, 0}};
  void *memory;
  float data[4] = {0};
  (void)step, (void)arena;
  m->calls++;
  assert_int_equal(wick_session_run(s, m->b.inputs, m->b.outputs), WICK_BUSY);
  assert_int_equal(wick_session_run_profiled(s, m->b.inputs, m->b.outputs, profile), WICK_BUSY);
  assert_int_equal(wick_session_run_observed(s, m->b.inputs, m->b.outputs, never, m), WICK_BUSY);
  assert_int_equal(wick_session_import(s, data, sizeof data), WICK_BUSY);
  assert_int_equal(wick_session_bind_state(s, m->state), WICK_BUSY);
  assert_int_equal(wick_session_allocate(s, 0, &memory), WICK_BUSY);
  assert_int_equal(wick_session_upload(s, m->memory, data, 4), WICK_BUSY);
  assert_int_equal(wick_session_download(s, m->memory, data, 4), WICK_BUSY);
  if (!after) return;
  const wick_step_info *info = &wick_session_entry(s)->steps[step];
  size_t size = info->tensors[0].bytes;
  char read[64];
  if (info->tensors[0].dtype == WICK_BOOL) return;
  assert_int_equal(wick_session_read_tensor(s, step, 0, read, size), WICK_OK);
  assert_int_equal(wick_session_read_tensor(s, step + 1, 0, read, size), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, step - 1, 0, read, size), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, step, info->tensor_count, read, size),
                   WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, step, 0, read, size + 1), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, step, 0, read, size - 1), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, step, 0, NULL, size), WICK_BAD_ARGUMENT);
}

static void sessions_that_run_are_busy(void **state) {
  static const uint32_t entries[] = {TOY_CHAIN, TOY_COUNTS, TOY_KEEP_ENTRY, TOY_PEEK};
  static const int calls[] = {4, 4, 2, 2};
  for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
    meanwhile m = {.session = session_of(state, entries[k])};
    fill(&m.b, m.session);
    assert_int_equal(wick_state_new(*state, &m.state), WICK_OK);
    assert_int_equal(wick_session_bind_state(m.session, m.state), WICK_OK);
    assert_int_equal(wick_session_allocate(m.session, 0, &m.memory),
                     entries[k] == TOY_COUNTS ? WICK_BAD_ARGUMENT : WICK_OK);
    if (!m.memory) m.memory = &m;
    for (int again = 1; again <= 2; again++) {
      assert_int_equal(
          wick_session_run_observed(m.session, m.b.inputs, m.b.outputs, ask_all, &m), WICK_OK);
      assert_int_equal(m.calls, again * calls[k]);
      assert_int_equal(wick_session_read_tensor(m.session, 0, 0, &m, 16), WICK_BAD_ARGUMENT);
      assert_int_equal(wick_session_run(m.session, m.b.inputs, m.b.outputs), WICK_OK);
    }
    wick_session_free(m.session);
    wick_state_free(m.state);
  }
}

/* ---- what is waited for ---------------------------------------------------------------------- */

static uint64_t waited_for;
static uint32_t waits;

/* Ends of other jobs were waited for before: they need not be waited for again. */
static wick_status note_wait(void *context, uint64_t ticket, wick_error_detail *error) {
  if (ticket <= waited_for) fail_msg("waits for %d after %d", (int)ticket, (int)waited_for);
  waited_for = ticket;
  waits++;
  return toy_wait(context, ticket, error);
}

static void tickets_are_waited_for_once(void **state) {
  static const struct {
    uint32_t entry, waits; /* of two runs */
  } cases[] = {{TOY_PLAN, 8}, {TOY_CHAIN, 2}, {TOY_COUNTS, 2}, {TOY_UNTIL, 22}};
  const wick_model *model = *state;
  static wick_device noted;
  noted = toy_async;
  noted.wait = note_wait;
  model->units[0].device = &noted;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wick_session *s = session_of(state, cases[i].entry);
    buffers b;
    fill(&b, s);
    waited_for = waits = 0;
    for (int again = 0; again < 2; again++)
      assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
    assert_int_equal(waits, cases[i].waits);
    wick_session_free(s);
  }
  model->units[0].device = &toy_async;
}

/* ---- what devices are asked to open ---------------------------------------------------------- */

static char opened[64];

static wick_status note_open(void *loaded, const uint32_t *parts, uint32_t n, uint32_t threads,
                             void **context, wick_error_detail *error) {
  size_t used = strlen(opened);
  used += (size_t)snprintf(opened + used, sizeof opened - used, "%u:", threads);
  for (uint32_t i = 0; i < n; i++)
    used += (size_t)snprintf(opened + used, sizeof opened - used, " %u", parts[i]);
  snprintf(opened + used, sizeof opened - used, "; ");
  return toy_open_sync(loaded, parts, n, threads, context, error);
}

/* Each part of the entry once, by its number in the unit, in the order in which they come; and no
 * device whose parts the entry does not have. */
static void parts_are_opened_once(void **state) {
  static const struct {
    uint32_t entry;
    const char *wanted;
  } cases[] = {{TOY_PLAN, "3: 0 1; 3: 0; "}, {TOY_FAIL_ENTRY, "3: 0 5; 3: 0; "},
               {TOY_UNTIL, "3: 1 0; "},      {TOY_BOTH, "3: 5; 3: 2; "},
               {TOY_MEET_ENTRY, "3: 4; 3: 1; "}, {TOY_COUNTS, "3: 8; 3: 0; "}};
  const wick_model *model = *state;
  static wick_device noted[2];
  for (uint32_t u = 0; u < 2; u++) {
    noted[u] = *model->units[u].device;
    noted[u].open = note_open;
    model->units[u].device = &noted[u];
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wick_session *s;
    opened[0] = '\0';
    assert_int_equal(wick_session_create(model, cases[i].entry, 3, &s), WICK_OK);
    wick_session_free(s);
    assert_string_equal(opened, cases[i].wanted);
  }
  char wanted[64]; /* as many threads as there are processors, where nobody says how many */
  wick_session *s;
  opened[0] = '\0';
  assert_int_equal(wick_session_create_with(model, TOY_UNTIL, NULL, &s), WICK_OK);
  wick_session_free(s);
  snprintf(wanted, sizeof wanted, "%u: 1 0; ", wick_processors());
  assert_string_equal(opened, wanted);
  model->units[0].device = &toy_async;
  model->units[1].device = &toy_sync;
}

/* ---- packages of a test's own ---------------------------------------------------------------- */

typedef struct {
  void *data;
  wick_model *model;
  wick_session *session;
} opened_package;

static opened_package open_package(wk_package *p) {
  opened_package o;
  size_t size;
  assert_null(wk_package_bytes(p, &o.data, &size));
  wk_package_free(p);
  assert_int_equal(wick_model_load_memory(o.data, size, NULL, &o.model), WICK_OK);
  assert_int_equal(wick_session_create(o.model, 0, 1, &o.session), WICK_OK);
  return o;
}

static void close_package(opened_package *o) {
  wick_session_free(o->session);
  wick_model_free(o->model);
  free(o->data);
}

/* ---- dims that are known afterwards ---------------------------------------------------------- */

/* y is i64[n, m, …], of a bound of [4, 300, 1, …] of as many dims as there can be, and a copy is
 * beside it, which has dims of its own. */
static wk_package *bound_package(void) {
  static const int64_t dims[WICK_MAX_RANK] = {4, 300, 1, 1, 1, 1, 1, 1};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "bound"});
  uint32_t unit = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1);
  wk_package_tensor y = toy_tensor("y", WICK_I64, WICK_MAX_RANK);
  y.dims = dims;
  y.flags = WICK_TENSOR_BOUND;
  const wk_package_tensor io[] = {x, y}, out[] = {y, toy_tensor("z", WICK_F32, 1)};
  uint32_t part = toy_add_part(p, "count", unit, TOY_COUNTING, io, 1, 1);
  const wk_package_row rows[] = {{.kind = WICK_ROW_RUN, .part = part, TOY_ON(0, 1)},
                                 {.kind = WICK_ROW_COPY, TOY_ON(0, 2), .bytes = 16}};
  wk_package_add_entry(p, &(wk_package_entry){.name = "bound", .inputs = &x, .n_inputs = 1,
                                              .outputs = out, .n_outputs = 2, .rows = rows,
                                              .n_rows = 2});
  return p;
}

/* The toy says that n is 3, and nothing of m. */
static void dims_are_the_parts(void **state) {
  static _Alignas(64) int64_t y[4 * 300];
  _Alignas(64) float x[4] = {1, 2, 3, 4}, z[4] = {0};
  const void *inputs[] = {x};
  void *outputs[] = {y, z};
  (void)state;
  opened_package o = open_package(bound_package());
  wick_session *s = o.session;
  for (int k = 0; k < 2; k++) {
    assert_int_equal(wick_session_output_dims(s, 0)[1], k ? 0 : 300);
    assert_int_equal(wick_session_run(s, inputs, outputs), WICK_OK);
    assert_int_equal(wick_session_output_dims(s, 0)[0], 3);
    assert_int_equal(wick_session_output_dims(s, 0)[1], 0);
    assert_int_equal(wick_session_output_dims(s, 1)[0], 4);
    assert_memory_equal(z, x, sizeof z);
  }
  close_package(&o);
}

/* Without another side, what the branch passes by leaves the bound; it is the first part. */
static wk_package *either_package(bool has_else) {
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "either"});
  uint32_t unit = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  const wk_package_tensor in[] = {toy_tensor("x", WICK_F32, 1), toy_tensor("c", WICK_BOOL, 0)};
  wk_package_tensor y = toy_tensor("y", WICK_I64, 1), i = toy_tensor("i", WICK_I64, 1);
  y.flags = i.flags = WICK_TENSOR_BOUND;
  const wk_package_tensor one[] = {in[0], y}, two[] = {in[0], y, i}, out[] = {y, i};
  uint32_t first = toy_add_part(p, "count", unit, TOY_COUNTING, one, 1, 1);
  uint32_t second = toy_add_part(p, "twice", unit, TOY_COUNTING_TWICE, two, 1, 2);
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_IF, TOY_ON(1), .body_count = 1, .else_count = has_else},
      {.kind = WICK_ROW_RUN, .part = first, TOY_ON(0, 2)},
      {.kind = WICK_ROW_RUN, .part = second, TOY_ON(0, 2, 3)}};
  wk_package_add_entry(p, &(wk_package_entry){.name = "either", .inputs = in, .n_inputs = 2,
                                              .outputs = out, .n_outputs = has_else ? 2 : 1,
                                              .rows = rows, .n_rows = has_else ? 3 : 2});
  return p;
}

static void dims_are_of_the_side_that_ran(void **state) {
  static const uint8_t sides[] = {1, 0, 1, 1, 0, 0, 1};
  (void)state;
  for (int has_else = 0; has_else < 2; has_else++) {
    _Alignas(64) float x[4] = {1, 2, 3, 4};
    _Alignas(64) int64_t y[4], i[4];
    _Alignas(64) uint8_t c = 0;
    void *outputs[] = {y, i};
    opened_package o = open_package(either_package(has_else));
    wick_session *s = o.session;
    for (size_t k = 0; k < sizeof sides; k++) {
      c = sides[k];
      assert_int_equal(wick_session_run(s, (const void *[]){x, &c}, outputs), WICK_OK);
      assert_int_equal(wick_session_output_dims(s, 0)[0], c ? 3 : has_else ? 2 : 4);
      if (has_else) assert_int_equal(wick_session_output_dims(s, 1)[0], c ? 4 : 3);
    }
    close_package(&o);
  }
}

/* ---- more plans ------------------------------------------------------------------------------ */

/* Three inputs and outputs: a part works with the odd elements of the first ones, and the host
 * copies the last ones. */
static void memory_is_of_whole_tensors(void **state) {
  static const int64_t two[] = {2}, stride[] = {2};
  enum { X, U, V, Y, Z, W, ODD_X, ODD_Y };
  (void)state;
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "views"});
  uint32_t unit = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  const wk_package_tensor f = toy_tensor("", WICK_F32, 1), one[] = {f, f, f};
  wk_package_tensor odd = f, edges[2];
  odd.dims = two, odd.strides = stride;
  edges[0] = edges[1] = odd;
  edges[0].offset = edges[1].offset = 4;
  edges[0].place = WICK_PLACE_INPUT, edges[1].place = WICK_PLACE_OUTPUT;
  const wk_package_tensor halves[] = {odd, odd};
  uint32_t whole = toy_add_part(p, "plus", unit, TOY_PLUS, one, 1, 1);
  uint32_t half = toy_add_part(p, "half", unit, TOY_PLUS, halves, 1, 1);
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_RUN, .part = whole, TOY_ON(X, Y)},
      {.kind = WICK_ROW_RUN, .part = whole, TOY_ON(U, Z)},
      {.kind = WICK_ROW_RUN, .part = half, TOY_ON(ODD_X, ODD_Y), TOY_AFTER(0)},
      {.kind = WICK_ROW_RUN, .part = whole, TOY_ON(V, W)},
      {.kind = WICK_ROW_COPY, TOY_ON(V, W), TOY_AFTER(3), .bytes = 4}};
  wk_package_add_entry(p, &(wk_package_entry){.name = "views", .inputs = one, .n_inputs = 3,
                                              .outputs = one, .n_outputs = 3, .edges = edges,
                                              .n_edges = 2, .rows = rows, .n_rows = 5});
  opened_package o = open_package(p);
  static const char *const why[] = {
      "input 0 is not one device's alone",  NULL, "input 2 is not one device's alone",
      "output 0 is not one device's alone", NULL, "output 2 is not one device's alone"};
  for (uint32_t i = 0; i < 6; i++) {
    void *memory;
    assert_int_equal(wick_session_allocate(o.session, i, &memory),
                     why[i] ? WICK_BAD_ARGUMENT : WICK_OK);
    assert_string_equal(wick_session_error(o.session), why[i] ? why[i] : "");
  }
  close_package(&o);
}

/* What a copy waits for may fail: then the run has. */
static void copies_wait_for_what_fails(void **state) {
  enum { X, Y, Z };
  (void)state;
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "late"});
  uint32_t unit = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  const wk_package_tensor f = toy_tensor("", WICK_F32, 1), one[] = {f, f};
  uint32_t part = toy_add_part(p, "fail", unit, TOY_FAILING, one, 1, 1);
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_RUN, .part = part, TOY_ON(X, Y)},
      {.kind = WICK_ROW_COPY, TOY_ON(X, Z), TOY_AFTER(0), .bytes = 16}};
  wk_package_add_entry(p, &(wk_package_entry){.name = "late", .inputs = one, .n_inputs = 1,
                                              .outputs = one, .n_outputs = 2, .rows = rows,
                                              .n_rows = 2});
  opened_package o = open_package(p);
  _Alignas(64) float x[4] = {1, 2, 3, 4}, y[4], z[4] = {0};
  for (int k = 0; k < 2; k++) {
    assert_int_equal(wick_session_run(o.session, (const void *[]){x}, (void *[]){y, z}),
                     WICK_DEVICE_FAILED);
    assert_string_equal(wick_session_error(o.session), "part 'fail' does not work");
    assert_true(z[0] == 0);
  }
  close_package(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_buffer_is_checked),
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(memories_are_found),
      cmocka_unit_test(errors_are_of_the_last_call),
      cmocka_unit_test(sessions_that_run_are_busy),
      cmocka_unit_test(tickets_are_waited_for_once),
      cmocka_unit_test(parts_are_opened_once),
      cmocka_unit_test(dims_are_the_parts),
      cmocka_unit_test(dims_are_of_the_side_that_ran),
      cmocka_unit_test(memory_is_of_whole_tensors),
      cmocka_unit_test(copies_wait_for_what_fails),
  };
  return cmocka_run_group_tests(tests, load_toy, free_toy);
}
