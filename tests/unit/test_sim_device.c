/* SPDX-License-Identifier: Apache-2.0
 * The accelerator's models as a device, on units made by hand: segments one larger than the other,
 * tensors with gaps, times of layers, observers, and what is said when something does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/device.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"

enum { PARTS = 3, STEPS = 3 };

/* What the runtime gives a device, of streams that are its parts. */
typedef struct {
  wk_stream *streams[PARTS];
  accel_unit_data data;
  wk_accel_section own[ACCEL_SECTIONS];
  void *exact[ACCEL_SECTIONS];
  wick_device_section sections[ACCEL_SECTIONS];
  wick_tensor_info inputs[PARTS][ACCEL_IO_MAX], outputs[PARTS][ACCEL_IO_MAX];
  wick_step_info steps[STEPS];
  uint64_t step_code[PARTS][STEPS];
  wick_part_info part_infos[PARTS];
  wick_device_part parts[PARTS];
  wick_unit_info info;
  wick_device_unit unit;
} fixture;

static wk_stream *assemble(const char *text) {
  wk_stream *s;
  wk_status status = wk_asm(text, strlen(text), "test.s", NULL, NULL, &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  return s;
}

static void fill_part(fixture *f, uint32_t i, uint32_t steps) {
  static const char *const names[PARTS] = {"first", "second", "third"};
  const accel_part_io *io = &f->data.io[i];
  wick_part_info *p = &f->part_infos[i];
  for (size_t k = 0; k < io->n_io; k++)
    *(k < io->n_in ? &f->inputs[i][k] : &f->outputs[i][k - io->n_in]) =
        (wick_tensor_info){.name = io->io[k].name, .dtype = WICK_I8, .rank = 1,
                           .dims = {(int64_t)io->io[k].bytes}, .strides = {1},
                           .bytes = (size_t)io->io[k].bytes, .bits = 8, .align = 1};
  *p = (wick_part_info){.name = names[i], .target = "accel", .input_count = (uint32_t)io->n_in,
                        .output_count = (uint32_t)(io->n_io - io->n_in), .step_count = steps,
                        .inputs = f->inputs[i], .outputs = f->outputs[i],
                        .steps = f->steps, .code = i};
  for (uint32_t k = 0; k < STEPS; k++) f->step_code[i][k] = k;
  f->parts[i] = (wick_device_part){.info = p, .code = i, .step_code = f->step_code[i]};
}

/* change: of the rows before the unit is made of them; NULL: none. */
static fixture *make_changed(const char *const *texts, uint32_t n, uint32_t steps,
                             void (*change)(accel_unit_data *u)) {
  fixture *f = calloc(1, sizeof *f);
  for (uint32_t i = 0; i < n; i++) {
    f->streams[i] = assemble(texts[i]);
    accel_add_part(&f->data, f->streams[i]);
    fill_part(f, i, steps);
  }
  if (change) change(&f->data);
  wk_machine_text(&f->data.machine_text, &f->data.machine);
  accel_list_sections(&f->data, f->own);
  for (int i = 0; i < ACCEL_SECTIONS; i++) { /* copies that end where they end */
    f->exact[i] = malloc(f->own[i].size ? f->own[i].size : 1);
    if (f->own[i].size) memcpy(f->exact[i], f->own[i].data, f->own[i].size);
    f->sections[i] = (wick_device_section){.name = f->own[i].name, .data = f->exact[i],
                                           .size = f->own[i].size};
  }
  f->info = (wick_unit_info){.target = "accel", .spec = "tiny", .machine = "", .features = "",
                             .machine_hash = wk_machine_hash(&f->data.machine), .part_count = n};
  f->unit = (wick_device_unit){.info = &f->info, .sections = f->sections,
                               .section_count = ACCEL_SECTIONS, .parts = f->parts, .part_count = n,
                               .memory_limit = UINT64_MAX};
  return f;
}

static fixture *make(const char *const *texts, uint32_t n, uint32_t steps) {
  return make_changed(texts, n, steps, NULL);
}

static void drop(fixture *f) {
  for (int i = 0; i < PARTS; i++) wk_stream_free(f->streams[i]);
  for (int i = 0; i < ACCEL_SECTIONS; i++) free(f->exact[i]);
  accel_unit_free(&f->data);
  free(f);
  wk_sim_device_configure(&(wk_sim_device_options){0});
}

typedef struct {
  void *loaded, *context;
} opened;

static opened open_parts(const fixture *f, const uint32_t *parts, uint32_t n) {
  const wick_device *d = wk_sim_device();
  wick_error_detail why = {""};
  opened y;
  if (d->probe(&f->unit, &why) != WICK_OK || d->load(&f->unit, &y.loaded, &why) != WICK_OK ||
      d->open(y.loaded, parts, n, 1, &y.context, &why) != WICK_OK)
    fail_msg("%s", why.text);
  return y;
}

static void close_parts(opened o) {
  wk_sim_device()->close(o.context);
  wk_sim_device()->unload(o.loaded);
}

static void submit(opened o, const wick_device_job *job) {
  wick_error_detail why = {""};
  uint64_t ticket = 77;
  if (wk_sim_device()->submit(o.context, job, &ticket, &why) != WICK_OK) fail_msg("%s", why.text);
  assert_int_equal(ticket, 0);
}

static void fill(uint8_t *x, size_t n, int seed) {
  for (size_t i = 0; i < n; i++) x[i] = (uint8_t)(seed + (int)i * 7);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Each transfer needs more of its segment than all of the one before has. */
#define GROWING                                                                                  \
  ".machine tiny\n.memory constants 0x4000 256\n.memory x 0x1000 64\n.memory work 0x5000 128\n"  \
  ".memory y 0x8000 512\n.random constants 5\n.output y\n"                                       \
  "a: ld.ld0 dram=x n0=64 spm=0 c0=64 op=1\nb: st dram=work+64 n0=64 spm=0 c0=64 op=1 wait a\n"  \
  "c: ld.ld0 dram=work+64 n0=64 spm=0x100 c0=64 op=2 wait b\n"                                   \
  "d: ld.ld0 dram=constants+192 n0=64 spm=0x200 c0=64\n"                                         \
  "   st dram=y+448 n0=64 spm=0x100 c0=64 op=2 wait c\n"                                         \
  "   st dram=y+384 n0=64 spm=0x200 c0=64 op=3 wait d\nend\n"
#define SMALL                                                                                    \
  ".machine tiny\n.memory x 0x1000 32\n.memory y 0x8000 32\n.output y\n"                         \
  "a: ld.ld0 dram=x n0=32 spm=0 c0=32 op=1\nst dram=y n0=32 spm=0 c0=32 op=1 wait a\nend\n"

static const wk_sim_kind in_c[] = {WK_SIM_FUNCTIONAL, WK_SIM_TIMING};

/* Parts of a unit in one context, whichever is named first, each with its own memory. */
static void parts_have_their_segments(void **state) {
  (void)state;
  static const uint32_t orders[][PARTS] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
  static const char *const texts[] = {SMALL, GROWING, SMALL};
  for (size_t k = 0; k < WK_COUNTOF(in_c); k++)
    for (size_t o = 0; o < WK_COUNTOF(orders); o++) {
      fixture *f = make(texts, PARTS, 0);
      wk_sim_device_configure(&(wk_sim_device_options){.model = in_c[k]});
      opened c = open_parts(f, orders[o], PARTS);
      for (uint32_t i = 0; i < 2 * PARTS; i++) {
        uint8_t x[64], y[512], want[512];
        uint32_t part = orders[o][i % PARTS];
        fill(x, sizeof x, (int)i);
        memset(y, 9, sizeof y);
        memset(want, in_c[k] == WK_SIM_FUNCTIONAL ? 9 : 0, sizeof want);
        if (part == 1) {
          memcpy(want + 448, x, 64);
          memcpy(want + 384, f->data.constants.data + 192, 64);
        } else {
          memset(want, 9, sizeof want);
          memcpy(want, x, 32);
        }
        submit(c, &(wick_device_job){.part = part, .io = (void *const[]){x, y}});
        assert_memory_equal(y, want, sizeof want);
      }
      close_parts(c);
      drop(f);
    }
}

/* ---- tensors with gaps ----------------------------------------------------------------------- */

/* Axes in any order, each with a gap of its own. */
static void draw_layout(wk_rng *rng, wick_tensor_info *t, size_t room) {
  static const struct {
    wick_dtype dtype;
    uint32_t bits;
  } types[] = {{WICK_I8, 8}, {WICK_I16, 16}, {WICK_F32, 32}, {WICK_F64, 64}};
  do {
    size_t k = (size_t)wk_rng_range(rng, 0, WK_COUNTOF(types) - 1);
    uint32_t order[4] = {0, 1, 2, 3};
    int64_t next = 1, last = 0;
    *t = (wick_tensor_info){.dtype = types[k].dtype, .bits = types[k].bits, .align = 1,
                            .rank = (uint32_t)wk_rng_range(rng, 0, 4)};
    for (uint32_t i = 1; i < t->rank; i++) {
      uint32_t j = (uint32_t)wk_rng_range(rng, 0, i), old = order[i];
      order[i] = order[j], order[j] = old;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
      uint32_t axis = order[i];
      t->dims[axis] = wk_rng_range(rng, 1, 4);
      t->strides[axis] = next + wk_rng_range(rng, 0, 3) / 2 * wk_rng_range(rng, 1, 3);
      last += (t->dims[axis] - 1) * t->strides[axis];
      next = t->dims[axis] * t->strides[axis];
    }
    t->bytes = (size_t)(last + 1) * (t->bits / 8);
  } while (t->bytes > room);
}

/* Whether the byte is one of an element. */
static bool has_byte(const wick_tensor_info *t, size_t byte) {
  int64_t p[4] = {0};
  size_t size = t->bits / 8;
  for (;;) {
    size_t at = 0;
    for (uint32_t i = 0; i < t->rank; i++) at += (size_t)(p[i] * t->strides[i]) * size;
    if (byte >= at && byte < at + size) return true;
    int d = (int)t->rank - 1;
    for (; d >= 0 && ++p[d] == t->dims[d]; d--) p[d] = 0;
    if (d < 0) return false;
  }
}

/* What a copy on the machine leaves: elements, and of the gaps what was there, on streams; the
 * model that works in place copies all bytes. */
static void gaps_are_left_alone(void **state) {
  (void)state;
  wk_rng rng = {21};
  int gaps = 0;
  for (int n = 0; n < 60; n++) {
    static const uint32_t part[] = {0};
    char text[300];
    wick_tensor_info t;
    uint8_t x[256], y[256 + 1];
    draw_layout(&rng, &t, sizeof x);
    snprintf(text, sizeof text, ".machine tiny\n.memory x 0x1000 %zu\n.memory y 0x8000 %zu\n"
             ".output y\na: ld.ld0 dram=x n0=%zu spm=0 c0=%zu\nst dram=y n0=%zu spm=0 c0=%zu "
             "wait a\nend\n", t.bytes, t.bytes, t.bytes, t.bytes, t.bytes, t.bytes);
    fixture *f = make((const char *const[]){text}, 1, 0);
    f->inputs[0][0] = f->outputs[0][0] = t;
    f->inputs[0][0].name = "x", f->outputs[0][0].name = "y";
    wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_TIMING});
    opened c = open_parts(f, part, 1);
    for (int again = 0; again < 2; again++) {
      fill(x, sizeof x, 100 + again);
      memset(y, 3, sizeof y);
      submit(c, &(wick_device_job){.io = (void *const[]){x, y}});
      bool is_dense = true;
      for (size_t i = 0; i < t.bytes; i++) is_dense = is_dense && has_byte(&t, i);
      gaps += !is_dense;
      for (size_t i = 0; i < sizeof y; i++)
        assert_int_equal(y[i], i < t.bytes && has_byte(&t, i) ? x[i] : 3);
    }
    close_parts(c);
    drop(f);
  }
  assert_true(gaps > 30);
}

/* Elements of less than a byte lie without gaps. */
static void packed_tensors_are_copied(void **state) {
  (void)state;
  static const uint32_t part[] = {0};
  static const char *const texts[] = {SMALL};
  fixture *f = make(texts, 1, 0);
  uint8_t x[32], y[33];
  for (int i = 0; i < 2; i++) {
    wick_tensor_info *t = i ? &f->outputs[0][0] : &f->inputs[0][0];
    t->bits = 4, t->rank = 2;
    t->dims[0] = 9, t->dims[1] = 7, t->strides[0] = 7, t->strides[1] = 1; /* 63 halves */
  }
  wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_TIMING});
  opened c = open_parts(f, part, 1);
  fill(x, sizeof x, 5);
  memset(y, 1, sizeof y);
  submit(c, &(wick_device_job){.io = (void *const[]){x, y}});
  assert_memory_equal(x, y, sizeof x);
  assert_int_equal(y[32], 1);
  close_parts(c);
  drop(f);
}

static void add_empty_input(accel_unit_data *u) { /* behind which the output moves */
  u->segments.data[1]++;
}

/* Tensors of no bytes have no memory anywhere. */
static void empty_tensors_are_passed_by(void **state) {
  (void)state;
  static const uint32_t part[] = {0};
  static const char *const texts[] = {SMALL};
  for (size_t k = 0; k < WK_COUNTOF(in_c); k++) {
    fixture *f = make_changed(texts, 1, 0, add_empty_input);
    uint8_t x[32], y[33] = {0};
    f->inputs[0][1] = f->outputs[0][1] = (wick_tensor_info){
        .name = "none", .dtype = WICK_I8, .rank = 2, .dims = {3, 0}, .strides = {1, 1},
        .bits = 8, .align = 1};
    f->part_infos[0].input_count = f->part_infos[0].output_count = 2;
    wk_sim_device_configure(&(wk_sim_device_options){.model = in_c[k]});
    opened c = open_parts(f, part, 1);
    for (int i = 0; i < 2; i++) {
      fill(x, sizeof x, i);
      submit(c, &(wick_device_job){.io = (void *const[]){x, NULL, y, NULL}});
      assert_memory_equal(x, y, sizeof x);
      assert_int_equal(y[32], 0);
    }
    close_parts(c);
    drop(f);
  }
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Guards before and behind rows of a profile. */
typedef struct {
  wick_step_profile before, rows[STEPS], behind;
} guarded;

static void functional_layers_have_their_time(void **state) {
  (void)state;
  static const char *const texts[] = {accel_product, GROWING};
  for (uint32_t part = 0; part < 2; part++)
    for (uint32_t steps = 1; steps <= 2; steps++) {
      fixture *f = make(texts, 2, steps);
      uint8_t x[1024], y[1024];
      guarded g = {.before = {7, 7}, .behind = {7, 7}};
      opened c = open_parts(f, &part, 1);
      fill(x, sizeof x, 3);
      double start = wk_clock();
      for (uint64_t i = 1; i <= 3; i++) {
        submit(c, &(wick_device_job){.part = part, .io = (void *const[]){x, y},
                                     .profile = g.rows});
        for (uint32_t k = 0; k < STEPS; k++) assert_int_equal(g.rows[k].calls, k < steps ? i : 0);
      }
      double most = 1e9 * (wk_clock() - start), sum = 0;
      for (uint32_t k = 0; k < STEPS; k++) {
        assert_int_equal(g.rows[k].nanoseconds > 0, k < steps);
        sum += (double)g.rows[k].nanoseconds;
      }
      assert_true(sum <= most);
      assert_true(g.before.nanoseconds == 7 && g.before.calls == 7);
      assert_true(g.behind.nanoseconds == 7 && g.behind.calls == 7);
      close_parts(c);
      drop(f);
    }
}

static struct {
  wk_sched_charge charges[STEPS + 1];
  wk_code fails; /* 0: it does not */
  int jobs;
} hook;

static wk_status run_in_stead(void *context, const wk_sim_device_job *job, wk_sim_run *out) {
  const wk_sim_run_options o = {.machine = &job->stream->machine};
  assert_ptr_equal(context, &hook);
  hook.jobs++;
  if (hook.fails) return wk_error(hook.fails, "it was told so");
  WK_TRY(wk_sim_run_stream(job->stream, &wk_sim_timing, &o, out));
  memset(hook.charges, 0, sizeof hook.charges);
  assert_null(wk_sim_charge(out, job->info->step_count, hook.charges));
  return NULL;
}

/* Cycles of the machine at its clock, whoever runs the stream. */
static void streams_have_the_machines_time(void **state) {
  (void)state;
  static const char *const texts[] = {accel_product};
  static const uint32_t part[] = {0};
  fixture *f = make(texts, 1, 2);
  uint8_t x[1024], y[1024];
  guarded by_hook = {.before = {7, 7}, .behind = {7, 7}}, by_model = by_hook;
  wk_sim_device_configure(&(wk_sim_device_options){.run = run_in_stead, .context = &hook,
                                                   .memory = "clock_mhz=700"});
  opened c = open_parts(f, part, 1);
  fill(x, sizeof x, 3);
  hook.jobs = 0;
  for (uint64_t i = 1; i <= 2; i++) {
    submit(c, &(wick_device_job){.io = (void *const[]){x, y}, .profile = by_hook.rows});
    for (int k = 0; k < 2; k++) {
      uint64_t ns = hook.charges[k + 1].cycles * 1000 / 700;
      assert_true(ns > 0);
      assert_int_equal(by_hook.rows[k].nanoseconds, i * ns);
      assert_int_equal(by_hook.rows[k].calls, i);
    }
  }
  submit(c, &(wick_device_job){.io = (void *const[]){x, y}});
  assert_int_equal(hook.jobs, 3);
  close_parts(c);
  wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_TIMING,
                                                   .memory = "clock_mhz=700"});
  c = open_parts(f, part, 1);
  for (int i = 0; i < 2; i++)
    submit(c, &(wick_device_job){.io = (void *const[]){x, y}, .profile = by_model.rows});
  assert_memory_equal(&by_model, &by_hook, sizeof by_hook);
  assert_true(by_hook.before.calls == 7 && by_hook.behind.calls == 7 && !by_hook.rows[2].calls);
  close_parts(c);
  drop(f);
}

/* ---- observers ------------------------------------------------------------------------------- */

static void observe(void *user, uint32_t step, int after, void *arena) {
  wk_str *text = user;
  assert_null(arena);
  wk_str_printf(text, "%u%s ", step, after ? "." : "");
}

static void layers_are_shown_in_order(void **state) {
  (void)state;
  static const char *const texts[] = {GROWING};
  static const uint32_t part[] = {0};
  fixture *f = make(texts, 1, 3);
  uint8_t x[64], y[512];
  guarded g = {0};
  wk_str text = {0};
  opened c = open_parts(f, part, 1);
  submit(c, &(wick_device_job){.io = (void *const[]){x, y}, .observer = observe, .user = &text});
  assert_string_equal(text.s, "0 0. 1 1. 2 2. ");
  text.n = 0;
  submit(c, &(wick_device_job){.io = (void *const[]){x, y}, .observer = observe, .user = &text,
                               .profile = g.rows});
  assert_string_equal(text.s, "0 0. 1 1. 2 2. ");
  for (int k = 0; k < 3; k++) assert_int_equal(g.rows[k].calls, 1);
  text.n = 0;
  submit(c, &(wick_device_job){.io = (void *const[]){x, y}, .user = &text});
  assert_int_equal(text.n, 0);
  wk_str_free(&text);
  close_parts(c);
  drop(f);
}

/* The first product's first 64 bytes are a tensor of layer 1. */
static void add_tensor(accel_unit_data *u) {
  static const wk_accel_window place = {.plane = 64, .scratchpad = 0x8000, .planes = 1, .rows = 1,
                                        .row = 64};
  static const wk_accel_value value = {.lane = WK_ACCEL_NO_LANE, .strides = {1}};
  wk_vec_push(&u->places, place);
  wk_vec_push(&u->pitches, place.row);
  wk_vec_push(&u->values, value);
  u->parts.data[0].tensor_bytes = 64;
  u->layers.data[0].values = 1;
  u->results.data[3] = 1; /* CONV */
}

/* Tensors are those of the last run that was observed. */
static void tensors_are_read(void **state) {
  (void)state;
  static const char *const texts[] = {accel_product};
  static const uint32_t part[] = {0};
  static const wick_tensor_info t = {.name = "t", .rank = 1, .dims = {64}, .strides = {1},
                                     .bytes = 64, .bits = 8};
  fixture *f = make_changed(texts, 1, 2, add_tensor);
  uint8_t x[1024], y[1024], first[64], got[64];
  wk_str text = {0};
  wick_error_detail why = {""};
  opened c = open_parts(f, part, 1);
  const wick_device_job plain = {.io = (void *const[]){x, y}};
  wick_device_job seen = plain;
  seen.observer = observe, seen.user = &text;
  for (int i = 0; i < STEPS; i++) f->steps[i].tensors = &t;
  for (int i = 0; i < 4; i++) {
    fill(x, sizeof x, 3 + 40 * i);
    submit(c, i % 2 ? &plain : &seen);
    if (i % 2) assert_memory_not_equal(first, y, sizeof first);
    else memcpy(first, y, sizeof first);
    memset(got, 0, sizeof got);
    assert_int_equal(wk_sim_device()->read(c.context, &seen, 0, 0, got, &why), WICK_OK);
    assert_memory_equal(got, first, sizeof got);
    assert_int_equal(wk_sim_device()->read(c.context, &seen, 1, 0, got, &why), WICK_CORRUPT);
    assert_string_equal(why.text, "section layers: layer 1 does not leave tensor 0");
  }
  wk_str_free(&text);
  close_parts(c);
  drop(f);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void failures_have_their_status(void **state) {
  (void)state;
  static const char *const texts[] = {SMALL};
  static const uint32_t part[] = {0};
  const wick_device *d = wk_sim_device();
  fixture *f = make(texts, 1, 1);
  uint8_t x[32], y[32];
  guarded g = {0};
  wick_error_detail why;
  uint64_t ticket;
  const wick_device_job job = {.io = (void *const[]){x, y}, .profile = g.rows},
                        shown = {.io = (void *const[]){x, y}, .observer = observe};
  /* no model is built where another one runs the jobs */
  wk_sim_device_configure(&(wk_sim_device_options){.run = run_in_stead, .context = &hook,
                                                   .model = WK_SIM_RTL});
  opened c = open_parts(f, part, 1);
  memset(y, 5, sizeof y);
  static const struct {
    wk_code code;
    wick_status status;
  } codes[] = {{WK_RESOURCE, WICK_NO_MEMORY}, {WK_FAILED, WICK_DEVICE_FAILED},
               {WK_INPUT, WICK_DEVICE_FAILED}, {WK_IO, WICK_DEVICE_FAILED}};
  for (size_t i = 0; i < WK_COUNTOF(codes); i++) {
    hook.fails = codes[i].code;
    assert_int_equal(d->submit(c.context, &job, &ticket, &why), codes[i].status);
    assert_string_equal(why.text, "it was told so");
    assert_int_equal(y[0], 5);
    assert_int_equal(g.rows[0].calls, 0);
  }
  hook.fails = 0;
  assert_int_equal(d->submit(c.context, &shown, &ticket, &why), WICK_NO_STEPS);
  assert_string_equal(why.text, "the chosen model does not show tensors of layers; the functional "
                                "model does");
  submit(c, &job);
  close_parts(c);
  wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_TIMING});
  c = open_parts(f, part, 1);
  assert_int_equal(d->submit(c.context, &shown, &ticket, &why), WICK_NO_STEPS);
  assert_string_equal(why.text, "the timing model does not show tensors of layers; the functional "
                                "model does");
  close_parts(c);
  drop(f);
}

/* A record in the input whose range holds no number; the command is the part's third. */
static void failing_commands_are_named(void **state) {
  (void)state;
  static const char *const texts[] = {
      SMALL, ".machine tiny\n.memory x 0x1000 96\n.memory y 0x3000 8\n.output y\n"
      "x: ld.ld0 dram=x n0=64 spm=0 c0=64\np: ld.ld1 dram=x+64 n0=32 spm=0x400 c0=32\n"
      "m: map fn=add a=0 b=8 out=0x800 par=0x400 wait x p\nst dram=y n0=8 spm=0x800 c0=8 wait m\n"
      "end\n"};
  static const uint32_t part[] = {1};
  uint8_t x[96] = {0}, y[8];
  x[64 + 8] = x[64 + 12] = 64, x[64 + 16] = 6, x[64 + 24] = 60, x[64 + 26] = 40;
  fixture *f = make(texts, 2, 0);
  for (size_t k = 0; k < WK_COUNTOF(in_c); k++) {
    wick_error_detail why;
    uint64_t ticket;
    wk_sim_device_configure(&(wk_sim_device_options){.model = in_c[k]});
    opened c = open_parts(f, part, 1);
    for (int i = 0; i < 2; i++) {
      const wick_device_job job = {.part = 1, .io = (void *const[]){x, y}};
      assert_int_equal(wk_sim_device()->submit(c.context, &job, &ticket, &why),
                       WICK_DEVICE_FAILED);
      assert_string_equal(why.text, "second: command 2 (MAP): the record at 0x400: lo2 is 60, "
                                    "above hi2, which is 40: its results are undefined");
    }
    x[64 + 24] = 30; /* and the next run is none the worse */
    submit(c, &(wick_device_job){.part = 1, .io = (void *const[]){x, y}});
    x[64 + 24] = 60;
    close_parts(c);
  }
  drop(f);
}

typedef struct {
  const char *what;
  int bad; /* which part */
  uint64_t code, step_code;
  uint32_t steps, first_bytes; /* of the part's input; 0: as it is */
  const char *memory;
  wk_sim_kind model;
  wick_status status;
  const char *want;
} refusal;

#define NO_ROOM "the part needs 67648 bytes of memory; machine tiny has 65536 (dram_size)"
static const char large[] =
    ".machine tiny\n.memory x 0x1000 64\n.memory work 0x4000 0xf000\n.memory y 0x2000 64\n"
    ".output y\na: ld.ld0 dram=x n0=64 spm=0 c0=64 op=1\nst dram=y n0=64 spm=0 c0=64 op=1 wait a\n"
    "st dram=work+0xefc0 n0=64 spm=0 c0=64 op=1 wait a\nend\n";

static const refusal refusals[] = {
    {"the first is none", 0, 3, 0, 1, 0, NULL, 0, WICK_CORRUPT,
     "section parts: there is no part 3"},
    {"the second is none", 1, 3, 0, 1, 0, NULL, 0, WICK_CORRUPT,
     "section parts: there is no part 3"},
    {"the last is none", 2, 3, 0, 1, 0, NULL, 0, WICK_CORRUPT, "section parts: there is no part 3"},
    {"as many steps as layers", 0, 0, 0, 3, 0, NULL, 0, WICK_OK, ""},
    {"one more", 1, 1, 0, 2, 0, NULL, 0, WICK_CORRUPT, "part 1 has more steps than layers"},
    {"steps in another order", 0, 0, 1, 3, 0, NULL, 0, WICK_CORRUPT, "step 0 is another layer"},
    {"an input that is too small", 1, 1, 0, 1, 31, NULL, 0, WICK_CORRUPT,
     "section commands: command 0 (LD): field 'dram': bytes up to 32 of a segment of 31"},
    {"no room for the last", 2, 2, 0, 1, 0, "size=65536", WK_SIM_TIMING, WICK_NO_MEMORY, NO_ROOM},
    {"no room for the first", 0, 2, 0, 1, 64, "size=65536", WK_SIM_TIMING, WICK_NO_MEMORY, NO_ROOM},
    {"which the functional model does not need", 2, 2, 0, 1, 0, "size=65536", 0, WICK_OK, ""},
};

static void what_does_not_fit_is_said(void **state) {
  (void)state;
  static const char *const texts[] = {GROWING, SMALL, large};
  const wick_device *d = wk_sim_device();
  for (size_t i = 0; i < WK_COUNTOF(refusals); i++) {
    const refusal *r = &refusals[i];
    fixture *f = make(texts, PARTS, 1);
    wick_error_detail why = {""};
    void *loaded = NULL;
    f->parts[r->bad].code = r->code;
    f->part_infos[r->bad].step_count = r->steps;
    f->step_code[r->bad][0] = r->step_code;
    if (r->first_bytes) f->inputs[r->bad][0].bytes = r->first_bytes;
    if (r->first_bytes == 64) { /* the first as the last, which becomes the second */
      f->outputs[r->bad][0] = f->outputs[2][0];
      f->inputs[2][0] = f->inputs[1][0], f->outputs[2][0] = f->outputs[1][0];
      f->parts[2].code = 1;
    }
    wk_sim_device_configure(&(wk_sim_device_options){.model = r->model, .memory = r->memory});
    wick_status s = d->load(&f->unit, &loaded, &why);
    if (s != r->status || strcmp(why.text, r->want))
      fail_msg("%s: %d, %s", r->what, (int)s, why.text);
    assert_true((loaded != NULL) == (s == WICK_OK));
    if (loaded) d->unload(loaded);
    drop(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_have_their_segments),
      cmocka_unit_test(gaps_are_left_alone),
      cmocka_unit_test(packed_tensors_are_copied),
      cmocka_unit_test(empty_tensors_are_passed_by),
      cmocka_unit_test(functional_layers_have_their_time),
      cmocka_unit_test(streams_have_the_machines_time),
      cmocka_unit_test(layers_are_shown_in_order),
      cmocka_unit_test(tensors_are_read),
      cmocka_unit_test(failures_have_their_status),
      cmocka_unit_test(failing_commands_are_named),
      cmocka_unit_test(what_does_not_fit_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
