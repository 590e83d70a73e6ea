/* SPDX-License-Identifier: Apache-2.0
 * Packages with parts for the accelerator: read and verified, as streams, and run by sessions on
 * all models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "runtime/wick.h"
#include "sim/build.h"
#include "sim/device.h"
#include "targets/accel/check/check.h"
#include "targets/accel/isa/unit_emit.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"

enum { BYTES = 1024 };

typedef struct {
  wk_stream *streams[2];
  accel_unit_data unit;
  void *data;
  size_t size;
} fixture;

static void expect_good(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  fail();
}

static wk_stream *assemble(const char *text) {
  wk_stream *s;
  expect_good(wk_asm(text, strlen(text), "test.s", NULL, NULL, &s));
  return s;
}

/* What streams have no rows for, so that the reader has some to look at. */
static void add_results(fixture *f) {
  const wk_accel_window place = {.plane = 32, .planes = 2, .rows = 2, .row = 16};
  const wk_accel_value value = {.lane = 0};
  wk_isa_command c = {0};
  uint32_t i = 0;
  wk_vec_push(&f->unit.places, place);
  wk_vec_push(&f->unit.pitches, place.row);
  wk_vec_push(&f->unit.values, value);
  f->unit.parts.data[0].tensor_bytes = 64;
  while (c.opcode != WK_CMD_CONV) (void)wk_stream_get(f->streams[0], i++, &c);
  f->unit.results.data[i - 1] = 1;
}

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->streams[0] = assemble(accel_product);
  f->streams[1] = assemble(accel_copy);
  expect_good(accel_package_bytes(&f->unit, f->streams, 2, &f->data, &f->size));
  add_results(f);
  *state = f;
  return wick_device_register(wk_sim_device()) != WICK_OK;
}

static int teardown(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 2; i++) wk_stream_free(f->streams[i]);
  accel_unit_free(&f->unit);
  free(f->data);
  free(f);
  return 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void fill(uint8_t *x, uint64_t seed) {
  wk_rng r = {.s = seed};
  for (int i = 0; i < BYTES; i++) x[i] = (uint8_t)wk_rng_range(&r, 0, 255);
}

/* What the product gives, from a run of the stream itself. */
static void expected(const fixture *f, const uint8_t *x, uint8_t *y) {
  wk_sim_run run;
  uint8_t *data;
  const wk_sim_run_options o = {.machine = &f->streams[0]->machine};
  expect_good(wk_region_fill(wk_stream_find(f->streams[0], "x"), &data));
  memcpy(data, x, BYTES);
  expect_good(wk_sim_run_stream(f->streams[0], &wk_sim_functional, &o, &run));
  expect_good(wk_sim_verdict(f->streams[0], &f->streams[0]->machine, &run));
  memcpy(y, run.memory + wk_stream_find(f->streams[0], "y")->address, BYTES);
  wk_sim_run_free(&run);
}

static void run_sessions(const fixture *f, const wk_sim_device_options *o) {
  wick_model *model;
  wick_session *s[2];
  uint8_t x[BYTES], got[BYTES], want[BYTES];
  wk_sim_device_configure(o);
  assert_int_equal(wick_model_load_memory(f->data, f->size, NULL, &model), WICK_OK);
  for (int i = 0; i < 2; i++)
    assert_int_equal(wick_session_create(model, 0, 1, &s[i]), WICK_OK);
  for (uint64_t seed = 1; seed <= 4; seed++) {
    const void *in[] = {x};
    void *out[] = {got};
    fill(x, seed);
    expected(f, x, want);
    memset(got, 0, sizeof got);
    assert_int_equal(wick_session_run(s[seed % 2], in, out), WICK_OK);
    assert_memory_equal(got, want, BYTES);
  }
  for (int i = 0; i < 2; i++) wick_session_free(s[i]);
  wick_model_free(model);
  wk_sim_device_configure(&(wk_sim_device_options){0});
}

static void functional_model_runs_packages(void **state) {
  run_sessions(*state, &(wk_sim_device_options){0});
}

static void timing_model_runs_packages(void **state) {
  run_sessions(*state, &(wk_sim_device_options){.model = WK_SIM_TIMING,
                                                .memory = "latency=300,size=1048576"});
}

static void rtl_runs_packages(void **state) {
  wk_machine tiny;
  expect_good(wk_machine_read("tiny", &tiny));
  run_sessions(*state, &(wk_sim_device_options){.model = WK_SIM_RTL, .find = wk_sim_find_rtl,
                                                .machine = &tiny});
}

/* The hook of `wick sim`. */
static wk_status count_jobs(void *context, const wk_sim_device_job *job, wk_sim_run *out) {
  int *jobs = context;
  const wk_sim_run_options o = {.machine = &job->stream->machine};
  assert_int_equal(job->info->code, *jobs % 2);
  assert_string_equal(job->info->name, *jobs % 2 ? "part1" : "part0");
  for (size_t i = 0; i < job->stream->regions.n; i++) /* what is an output has no bytes before */
    assert_true(!job->stream->regions.data[i].is_output || !job->stream->regions.data[i].data);
  (*jobs)++;
  return wk_sim_run_stream(job->stream, &wk_sim_functional, &o, out);
}

static void callers_may_run_jobs(void **state) {
  int jobs = 0;
  run_sessions(*state, &(wk_sim_device_options){.run = count_jobs, .context = &jobs});
  assert_int_equal(jobs, 8);
}

static void contexts_have_the_parts_that_are_asked_for(void **state) {
  const fixture *f = *state;
  const wick_device *device = wk_sim_device();
  const uint32_t parts[] = {1, UINT32_MAX};
  for (int kind = WK_SIM_FUNCTIONAL; kind <= WK_SIM_TIMING; kind++) {
    wick_model *model;
    wick_error_detail why;
    void *context;
    wk_sim_device_configure(&(wk_sim_device_options){.model = (wk_sim_kind)kind});
    assert_int_equal(wick_model_load_memory(f->data, f->size, NULL, &model), WICK_OK);
    assert_int_equal(device->open(model->units[0].loaded, parts, 1, 1, &context, &why), WICK_OK);
    device->close(context);
    wick_model_free(model);
  }
  wk_sim_device_configure(&(wk_sim_device_options){0});
}

/* A stream of two commands that ends with memory, too early, or behind all or half of one. */
static void streams_may_be_the_last_of_memory(void **state) {
  static const struct {
    uint32_t halves, count, error; /* halves of commands that there is room for */
  } cases[] = {{4, 2, 0}, {4, 1, WK_ERROR_fetch}, {2, 3, WK_ERROR_fetch}, {3, 2, WK_ERROR_fetch}};
  const uint64_t size = 0x4000;
  wk_stream *s = assemble(".machine tiny\nfill.ld1 spm=0 c0=64\nend\n");
  uint8_t *memory = calloc(1, size);
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    uint64_t at = size - cases[i].halves * (uint64_t)WK_COMMAND_BYTES / 2;
    const wk_sim_options o = {.machine = &s->machine, .memory = memory, .dram.size = size};
    wk_sim_result r;
    memcpy(memory + at, s->bytes.data, (size_t)(size - at));
    void *model = wk_sim_functional.open(&o);
    wk_sim_functional.run(model, &(wk_sim_job){.base = (uint32_t)at, .count = cases[i].count},
                          &r);
    wk_sim_functional.close(model);
    assert_int_equal(r.status, cases[i].error ? 4 : 2);
    assert_int_equal(r.error, cases[i].error ? cases[i].error | 1 << 8 : 0);
  }
  free(memory);
  wk_stream_free(s);
}

/* Rows of 8 bytes, 12 from one to the next, whose gaps the part leaves alone: on all models. */
static void gaps_stay_as_they_are(void **state) {
  static const int64_t dims[] = {4, 8}, strides[] = {12, 1};
  static const char text[] = ".machine tiny\n.memory x 0x1000 44\n.memory y 0x2000 44\n.output y\n"
                             "a: ld.ld0 dram=x n0=8 n1=4 s1=12 spm=0 c0=32 op=1\n"
                             "st dram=y n0=8 n1=4 s1=12 spm=0 c0=32 op=1 wait a\nend\n";
  accel_unit_data u = {0};
  uint32_t row;
  wick_model *model;
  wick_session *session;
  void *data;
  size_t size;
  (void)state;
  wk_stream *s = assemble(text);
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "gaps"});
  accel_add_part(&u, s);
  uint32_t unit = accel_put_unit(&u, p, &row);
  wk_package_tensor t[] = {
      {.name = "x", .dtype = WICK_I8, .rank = 2, .dims = dims, .strides = strides},
      {.name = "y", .dtype = WICK_I8, .rank = 2, .dims = dims, .strides = strides}};
  row = wk_package_add_part(p, &(wk_package_part){.name = "gaps", .unit = unit, .inputs = t,
                                                  .n_inputs = 1, .outputs = t + 1,
                                                  .n_outputs = 1});
  const int64_t all[] = {44};
  const wk_package_tensor in = {.name = "x", .dtype = WICK_I8, .rank = 1, .dims = all},
                          out = {.name = "y", .dtype = WICK_I8, .rank = 1, .dims = all};
  wk_package_tensor edges[] = {t[0], t[1]};
  edges[0].place = WICK_PLACE_INPUT;
  edges[1].place = WICK_PLACE_OUTPUT;
  wk_package_add_entry(
      p, &(wk_package_entry){.inputs = &in, .n_inputs = 1, .outputs = &out, .n_outputs = 1,
                             .edges = edges, .n_edges = 2, .n_rows = 1,
                             .rows = &(wk_package_row){.kind = WICK_ROW_RUN, .part = row,
                                                       .tensors = (uint32_t[]){2, 3},
                                                       .n_tensors = 2}});
  expect_good(wk_package_bytes(p, &data, &size));
  for (int kind = WK_SIM_FUNCTIONAL; kind <= WK_SIM_RTL; kind++) {
    uint8_t x[44], y[44];
    wk_sim_device_configure(&(wk_sim_device_options){(wk_sim_kind)kind, .find = wk_sim_find_rtl});
    assert_int_equal(wick_model_load_memory(data, size, NULL, &model), WICK_OK);
    assert_int_equal(wick_session_create(model, 0, 1, &session), WICK_OK);
    for (int i = 0; i < 44; i++) x[i] = (uint8_t)(100 + i), y[i] = (uint8_t)i;
    assert_int_equal(wick_session_run(session, (const void *[]){x}, (void *[]){y}), WICK_OK);
    for (int i = 0; i < 44; i++) assert_int_equal(y[i], i % 12 < 8 ? 100 + i : i);
    wick_session_free(session);
    wick_model_free(model);
  }
  wk_sim_device_configure(&(wk_sim_device_options){0});
  wk_package_free(p);
  wk_stream_free(s);
  accel_unit_free(&u);
  free(data);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static wick_status load(const fixture *f, wick_error_detail *why) {
  wick_model *model;
  const wick_load_options o = {.size = sizeof o, .flags = WICK_LOAD_UNCHECKED, .detail = why};
  wick_status s = wick_model_load_memory(f->data, f->size, &o, &model);
  if (s == WICK_OK) wick_model_free(model);
  return s;
}

static void other_machines_are_named(void **state) {
  wick_error_detail why;
  wk_machine base;
  expect_good(wk_machine_read("base", &base));
  wk_sim_device_configure(&(wk_sim_device_options){.machine = &base});
  assert_int_equal(load(*state, &why), WICK_BAD_MACHINE);
  const char *want = "compiled for machine 'tiny', this is 'base': array is 8, not 16, ";
  assert_memory_equal(why.text, want, strlen(want));
  wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_TIMING, .memory = "size=65536"});
  assert_int_equal(load(*state, &why), WICK_OK);
  wk_sim_device_configure(&(wk_sim_device_options){.memory = "sizes=65536"});
  assert_int_equal(load(*state, &why), WICK_BAD_MACHINE);
  wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_RTL});
  assert_int_equal(load(*state, &why), WICK_DEVICE_FAILED);
  assert_string_equal(why.text, "this program has no RTL model");
  wk_sim_device_configure(&(wk_sim_device_options){0});
}

static void other_versions_are_named(void **state) {
  fixture *f = *state;
  wick_error_detail why;
  uint64_t hash = wk_machine_hash(&f->unit.machine);
  uint8_t *at = memmem(f->data, f->size, &hash, sizeof hash);
  assert_non_null(at);
  *at ^= 1;
  assert_int_equal(load(f, &why), WICK_BAD_MACHINE);
  static const char want[] = "compiled for machine 'tiny' of another version of Wick (hash ";
  assert_memory_equal(why.text, want, strlen(want));
  *at ^= 1;
  assert_int_equal(load(f, &why), WICK_OK);
}

/* A package whose only part is `code` of the unit. */
static void parts_that_are_none_are_refused(void **state) {
  wick_error_detail why;
  accel_unit_data u = {0};
  uint32_t rows[1];
  fixture f;
  (void)state;
  wk_stream *s = assemble(accel_copy);
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "none"});
  accel_add_part(&u, s);
  uint32_t unit = accel_put_unit(&u, p, rows);
  wk_package_tensor t[2];
  int64_t dims[2][1];
  for (int i = 0; i < 2; i++) accel_fill_tensor(&t[i], dims[i], &u.io[0].io[i]);
  (void)wk_package_add_part(p, &(wk_package_part){.name = "none", .unit = unit, .code = 5,
                                                  .inputs = t, .n_inputs = 1, .outputs = t + 1,
                                                  .n_outputs = 1});
  accel_put_chain(&u, p, rows);
  expect_good(wk_package_bytes(p, &f.data, &f.size));
  assert_int_equal(load(&f, &why), WICK_CORRUPT);
  assert_string_equal(why.text, "section " WK_ACCEL_PARTS ": there is no part 5");
  free(f.data);
  wk_package_free(p);
  wk_stream_free(s);
  accel_unit_free(&u);
}

/* A record that comes with the input, whose range holds no number: the run says which command has
 * it, on the model in place and on streams. */
static void a_failing_command_is_named(void **state) {
  static const char text[] =
      ".machine tiny\n.memory x 0x1000 96\n.memory y 0x3000 8\n.output y\n"
      "x: ld.ld0 dram=x n0=64 spm=0 c0=64 op=1\np: ld.ld1 dram=x+64 n0=32 spm=0x400 c0=32 op=1\n"
      "m: map fn=add a=0 b=8 out=0x800 par=0x400 op=1  wait x p\n"
      "   st dram=y n0=8 spm=0x800 c0=8 op=1  wait m\nend\n";
  static const char record[] = ".machine tiny\n.memory r 0 32\n.record r 0 ma=64 mb=64 shift=6 "
                               "lo2=-50 hi2=40\nend\n";
  accel_unit_data u = {0};
  wk_stream *s = assemble(text), *r = assemble(record);
  wick_model *model;
  wick_session *session;
  void *data;
  size_t size;
  uint8_t x[96] = {20, 30}, y[8];
  (void)state;
  expect_good(accel_package_bytes(&u, &s, 1, &data, &size));
  for (int kind = WK_SIM_FUNCTIONAL; kind <= WK_SIM_TIMING; kind++) {
    wk_sim_device_configure(&(wk_sim_device_options){.model = (wk_sim_kind)kind});
    assert_int_equal(wick_model_load_memory(data, size, NULL, &model), WICK_OK);
    assert_int_equal(wick_session_create(model, 0, 1, &session), WICK_OK);
    memcpy(x + 64, r->regions.data[0].data, 32);
    assert_int_equal(wick_session_run(session, (const void *[]){x}, (void *[]){y}), WICK_OK);
    assert_int_equal(y[0], 20);
    x[64 + 24] = 60, x[64 + 25] = 0; /* lo2 */
    assert_int_not_equal(wick_session_run(session, (const void *[]){x}, (void *[]){y}), WICK_OK);
    if (!strstr(wick_session_error(session), "command 2 (MAP): the record at 0x400: lo2 is 60, "
                                             "above hi2, which is 40: its results are undefined"))
      fail_msg("model %d says: %s", kind, wick_session_error(session));
    wick_session_free(session);
    wick_model_free(model);
  }
  wk_sim_device_configure(&(wk_sim_device_options){0});
  wk_stream_free(r);
  wk_stream_free(s);
  accel_unit_free(&u);
  free(data);
}

/* Every byte of the unit's sections turned over, one after the other: either the same is loaded or
 * one line says what is wrong. What is loaded runs to its end or says why not. */
static void flipped_bytes_are_refused_or_harmless(void **state) {
  fixture *f = *state;
  static const char *const names[] = {WK_ACCEL_MACHINE, WK_ACCEL_COMMANDS, WK_ACCEL_SEGMENTS,
                                      WK_ACCEL_PARTS, WK_ACCEL_LAYERS, WK_ACCEL_TEXTS};
  int refused[WK_COUNTOF(names)] = {0};
  uint8_t *bytes = f->data;
  wick_model *model;
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_DESCRIBE};
  assert_int_equal(wick_model_load_memory(f->data, f->size, &lo, &model), WICK_OK);
  const wick_model_info *info = wick_model_describe(model);
  for (uint32_t i = 0; i < info->section_count; i++)
    for (size_t k = 0; k < WK_COUNTOF(names); k++) {
      const wick_section_info *x = &info->sections[i];
      if (strcmp(x->name, names[k]) != 0) continue;
      for (uint64_t at = x->offset; at < x->offset + x->bytes; at++) {
        wick_error_detail why = {{0}};
        bytes[at] ^= 0xff;
        wick_status s = load(f, &why);
        bytes[at] ^= 0xff;
        refused[k] += s != WICK_OK;
        assert_true(s == WICK_OK || (*why.text && !strchr(why.text, '\n')));
      }
    }
  for (size_t k = 0; k < WK_COUNTOF(names) - 1; k++) assert_true(refused[k] > 0);
  wick_model_free(model);
}

/* ---- the reader ------------------------------------------------------------------------------ */

/* Whole rows of a copy that a test may change. */
typedef struct {
  wk_accel_section list[ACCEL_SECTIONS];
  uint64_t memory[ACCEL_SECTIONS][256];
} sections_of;

static void copy_sections(const fixture *f, sections_of *s) {
  wk_accel_section from[ACCEL_SECTIONS];
  accel_list_sections(&f->unit, from);
  for (int i = 0; i < ACCEL_SECTIONS; i++) {
    assert_true(from[i].size <= sizeof s->memory[i]);
    memcpy(s->memory[i], from[i].data, from[i].size);
    s->list[i] = (wk_accel_section){from[i].name, s->memory[i], from[i].size};
  }
}

typedef struct {
  int section;
  uint32_t at, value; /* bytes; of a byte, or below: */
  enum { BYTE, WORD, CUT, GONE } kind;
  const char *want;
} reader_case;

#define NONE "section parts: there is no part 2" /* which comes last */
#define OUTSIDE "section places: row 0: it lies outside of the scratchpad or of the part's tensors"
#define AT(type, index, member) ((index) * sizeof(type) + offsetof(type, member))

static const reader_case reader_cases[] = {
#include "tests/unit/accel_reader_cases.def"
};

static wk_status read_and_check(const sections_of *s, size_t n) {
  wk_accel_unit u;
  const wk_accel_io io[] = {{"x", BYTES, false}, {"y", BYTES, true}};
  WK_TRY(wk_accel_unit_read(s->list, n, "tiny", &u));
  for (uint32_t i = 0; i < 2; i++) WK_TRY(wk_accel_part_check(&u, i, io, 2));
  return wk_accel_part_check(&u, 2, io, 2);
}

/* As near to what is refused as can be: two words of a section are others. */
static const struct {
  int section;
  uint32_t at[2], value[2];
  const char *want; /* NULL: it is taken */
} near_cases[] = {
    {3, {0}, {0x00040101}, NULL}, /* of an output, whose bytes are read */
    {4, {AT(wk_accel_part, 0, layers)}, {3}, NULL},
    {4, {AT(wk_accel_part, 0, tensor_bytes) + 4}, {0xff}, NULL},
    {4, {AT(wk_accel_part, 0, work_bytes) + 4}, {0xff}, NULL},
    {4, {AT(wk_accel_part, 0, marks)}, {3}, NULL},
    {5, {AT(wk_accel_layer, 1, mark)}, {1}, NULL},
    {5, {AT(wk_accel_layer, 1, mark)}, {UINT32_MAX}, NULL},
    {5, {AT(wk_accel_layer, 2, mark)}, {0}, "section layers: layer 2: its mark is row 0 of 0"},
    {5, {AT(wk_accel_layer, 1, values)}, {1}, NULL},
    {5, {AT(wk_accel_layer, 1, values), AT(wk_accel_layer, 1, first_value)}, {0, 1}, NULL},
    {5, {AT(wk_accel_layer, 1, values), AT(wk_accel_layer, 1, first_value)}, {1, 1},
     "section layers: layer 1: its values are not all there"},
    {8, {AT(wk_accel_window, 0, plane)}, {31}, NULL},
    {8, {AT(wk_accel_window, 0, row)}, {15}, NULL},
    {8, {AT(wk_accel_window, 0, rows)}, {1}, NULL},
    {8, {AT(wk_accel_window, 0, at), AT(wk_accel_window, 0, planes)}, {32, 1}, NULL},
    {8, {AT(wk_accel_window, 0, at), AT(wk_accel_window, 0, planes)}, {33, 1}, OUTSIDE},
    {8, {AT(wk_accel_window, 0, scratchpad)}, {(64 << 10) - 64}, NULL},
    {12, {0}, {15}, NULL},
    {12, {0}, {17}, OUTSIDE},
    {12, {0}, {UINT32_MAX}, OUTSIDE},
    {9, {AT(wk_accel_value, 0, lane)}, {7}, NULL},
    {9, {AT(wk_accel_value, 0, lane)}, {WK_ACCEL_NO_LANE}, NULL},
    {9, {AT(wk_accel_value, 0, first)}, {7}, NULL},
    {9, {AT(wk_accel_value, 0, strides[7]) + 4}, {INT32_MAX}, NULL},
};

static void expect_status(wk_status s, const char *want) {
  char text[300];
  assert_non_null(s);
  snprintf(text, sizeof text, "%s%s%s", s->place ? s->place : "", s->place ? ": " : "",
           s->message);
  wk_status_free(s);
  assert_string_equal(text, want);
}

static void reader_names_the_section(void **state) {
  sections_of s;
  copy_sections(*state, &s);
  expect_status(read_and_check(&s, ACCEL_SECTIONS), NONE);
  for (size_t i = 0; i < WK_COUNTOF(reader_cases); i++) {
    const reader_case *c = &reader_cases[i];
    copy_sections(*state, &s);
    wk_accel_section *x = &s.list[c->section];
    uint8_t *bytes = (uint8_t *)s.memory[c->section] + c->at;
    if (c->kind == BYTE) *bytes = (uint8_t)c->value;
    if (c->kind == WORD) memcpy(bytes, &c->value, 4);
    if (c->kind == CUT) x->size -= c->value;
    if (c->kind == GONE) x->name = "";
    expect_status(read_and_check(&s, ACCEL_SECTIONS), c->want);
  }
}

static void put_words(sections_of *s, int section, const uint32_t at[2], const uint32_t value[2]) {
  for (int k = 0; k < 2; k++)
    if (!k || at[k]) memcpy((uint8_t *)s->memory[section] + at[k], &value[k], 4);
}

static void reader_takes_what_just_fits(void **state) {
  const fixture *f = *state;
  sections_of s;
  for (size_t i = 0; i < WK_COUNTOF(near_cases); i++) {
    copy_sections(f, &s);
    put_words(&s, near_cases[i].section, near_cases[i].at, near_cases[i].value);
    expect_status(read_and_check(&s, ACCEL_SECTIONS),
                  near_cases[i].want ? near_cases[i].want : NONE);
  }
  for (uint32_t more = 0; more < 2; more++) { /* texts, and cycles of a part's layers */
    const uint32_t text[2] = {AT(wk_accel_layer, 1, op)}, name[2] = {AT(wk_accel_layer, 1, name)},
                   at[2] = {AT(wk_accel_layer, 0, predicted), AT(wk_accel_layer, 1, predicted)};
    copy_sections(f, &s);
    put_words(&s, 5, text, (uint32_t[]){(uint32_t)f->unit.texts.n - 1 + more, 0});
    expect_status(read_and_check(&s, ACCEL_SECTIONS),
                  more ? "section layers: layer 1: a text lies outside of section texts" : NONE);
    copy_sections(f, &s);
    put_words(&s, 5, name, (uint32_t[]){(uint32_t)f->unit.texts.n - 1 + more, 0});
    expect_status(read_and_check(&s, ACCEL_SECTIONS),
                  more ? "section layers: layer 1: a text lies outside of section texts" : NONE);
    copy_sections(f, &s);
    put_words(&s, 4, (uint32_t[]){AT(wk_accel_part, 0, predicted), 0}, (uint32_t[]){7, 0});
    put_words(&s, 5, at, (uint32_t[]){3, 4 + more});
    expect_status(read_and_check(&s, ACCEL_SECTIONS),
                  more ? "section layers: layer 1: more cycles than are left of the part's" : NONE);
  }
}

/* ---- as streams ------------------------------------------------------------------------------ */

static void parts_are_streams(void **state) {
  sections_of x;
  wk_accel_unit u;
  wk_stream *s;
  uint32_t *regions;
  const wk_accel_io io[] = {{"/a.b/N:0", BYTES, false}, {"_a_b_N_0", BYTES, true}, {"N", 0, true}};
  copy_sections(*state, &x);
  expect_good(wk_accel_unit_read(x.list, ACCEL_SECTIONS, "tiny", &u));
  const wk_accel_placement at = {.source = "p", .address = 0x10000};
  expect_good(wk_accel_part_stream(&u, 0, io, 3, &at, &s, &regions));
  assert_int_equal(s->regions.n, 3);
  assert_string_equal(s->regions.data[0].name, "constants");
  assert_int_equal(s->regions.data[0].address, 0x10000);
  assert_string_equal(s->regions.data[regions[0]].name, "_a_b_N_0");
  assert_int_equal(s->regions.data[regions[0]].address, 0x11400);
  assert_string_equal(s->regions.data[regions[1]].name, "_a_b_N_0_2");
  assert_true(s->regions.data[regions[1]].is_output);
  assert_int_equal(regions[2], WK_ACCEL_NO_REGION);
  expect_good(wk_stream_validate(s));
  expect_good(wk_check(s, &s->machine, NULL));
  wk_stream_free(s);
  free(regions);
  wk_machine small = u.machine;
  small.dram_size = 65536;
  const wk_accel_placement high = {.machine = &small, .address = 0xf000};
  expect_status(wk_accel_part_stream(&u, 0, io, 3, &high, &s, NULL),
                "the part needs 71680 bytes of memory; machine tiny has 65536 (dram_size)");
}

/* ---- --emit stream --------------------------------------------------------------------------- */

static const char wanted_map[] =
    "# test:part0 for machine tiny, hash %016llx\n"
    "# register NAME VALUE; all others: what NAME ADDRESS BYTES; of a tensor also TYPE SHAPE "
    "LAYOUT SCALE ZERO, and to the end of the line its name in the model\n"
    "register  BASE 0x00021000\n"
    "register  COUNT 11\n"
    "register  MARK_BASE 0x00022000\n"
    "image     - 0x00020000 4800\n"
    "constants constants 0x00020000 160\n"
    "input     x 0x00021400 1024 i8 [1,20,9,3] 0,1/8,2,3,1%%8 0.25 -3 a b \n"
    "output    y 0x00021800 1024 u8 [16,64] 1,0 - - /y\n"
    "commands  - 0x00021000 704\n"
    "marks     - 0x00022000 2048\n";

static void check_image(const wk_file *f, const wk_stream *s) {
  const wk_image *constants = wk_stream_find(s, "constants");
  assert_int_equal(f->size, 4800);
  assert_memory_equal(f->data, constants->data, constants->size);
  for (size_t i = constants->size; i < 4096; i++) assert_int_equal(f->data[i], 0);
  assert_memory_equal(f->data + 4096, s->bytes.data, s->bytes.n);
}

static void parts_are_emitted(void **state) {
  char folder[] = "/tmp/wick-emit-XXXXXX";
  sections_of x;
  wk_accel_unit u;
  wk_stream *again;
  wk_file f;
  wk_arena *arena = wk_arena_new();
  char map[sizeof wanted_map + 16];
  const wk_accel_io io[] = {{"x", BYTES, false}, {"y", BYTES, true}};
  copy_sections(*state, &x);
  expect_good(wk_accel_unit_read(x.list, ACCEL_SECTIONS, "tiny", &u));
  const wk_accel_placement at = {.source = "test:part0", .address = 0x20000};
  const wk_value_scale scale = {"a", 0.25, -3};
  const wk_target_tensor tensors[] = {
      {"a b\n", wk_type_make(WK_I8, 4, (int64_t[]){1, 20, 9, 3}), {1, 8, {0, 1, 2, 3, 4}}, &scale},
      {"/y", wk_type_make(WK_U8, 2, (int64_t[]){16, 64}), {-1, 0, {1, 0}}, NULL}};
  const wk_graph graph = {.inputs.n = 1, .outputs.n = 1};
  const wk_target_part part = {.graph = &graph, .tensors = tensors};
  wk_accel_emission e = {.part = &part};
  expect_good(wk_accel_part_stream(&u, 0, io, 2, &at, &e.stream, &e.regions));
  assert_true(mkdtemp(folder) && !chdir(folder));
  expect_good(wk_accel_emit_streams(&e, 1, "net.wcs", arena, &(wk_emit_files){0}));
  expect_good(wk_stream_load("net.wcs", NULL, &again));
  expect_good(wk_check(again, &again->machine, NULL));
  assert_memory_equal(again->bytes.data, e.stream->bytes.data, e.stream->bytes.n);
  wk_stream_free(again);
  expect_good(wk_file_map("net.bin", &f));
  check_image(&f, e.stream);
  wk_file_unmap(&f);
  snprintf(map, sizeof map, wanted_map, (unsigned long long)wk_machine_hash(&u.machine));
  expect_good(wk_file_map("net.map", &f));
  assert_int_equal(f.size, strlen(map));
  assert_memory_equal(f.data, map, f.size);
  wk_file_unmap(&f);
  expect_status(wk_accel_emit_streams(&e, 1, "-", arena, &(wk_emit_files){0}),
                "a stream is several files here: give it a name with -o");
  assert_true(!unlink("net.wcs") && !unlink("net.bin") && !unlink("net.map") && !rmdir(folder));
  wk_stream_free(e.stream);
  wk_arena_free(arena);
  free(e.regions);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functional_model_runs_packages),
      cmocka_unit_test(timing_model_runs_packages),
      cmocka_unit_test(rtl_runs_packages),
      cmocka_unit_test(callers_may_run_jobs),
      cmocka_unit_test(contexts_have_the_parts_that_are_asked_for),
      cmocka_unit_test(streams_may_be_the_last_of_memory),
      cmocka_unit_test(gaps_stay_as_they_are),
      cmocka_unit_test(other_machines_are_named),
      cmocka_unit_test(other_versions_are_named),
      cmocka_unit_test(parts_that_are_none_are_refused),
      cmocka_unit_test(a_failing_command_is_named),
      cmocka_unit_test(flipped_bytes_are_refused_or_harmless),
      cmocka_unit_test(reader_names_the_section),
      cmocka_unit_test(reader_takes_what_just_fits),
      cmocka_unit_test(parts_are_streams),
      cmocka_unit_test(parts_are_emitted),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
