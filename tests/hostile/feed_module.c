/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/eval/eval.h"
#include "compiler/onnx/onnx.h"
#include "runtime/wick.h"
#include "targets/cpu/cpu.h"
#include "tests/hostile/hostile.h"
#include "tests/plain_target.h"

#define EVAL_WORK 1000000       /* elements and multiply-accumulates */
#define EVAL_BYTES (4 << 20)
#define MAX_TEXT (1 << 20)

/* ---- cost ------------------------------------------------------------------------------------ */

static int64_t capped(int64_t a, int64_t b) {
  int64_t x;
  return wk_mul_ok(a, b, &x) ? x : INT64_MAX / 4;
}

static int64_t view_count(const wk_view *v) {
  int64_t n = 1;
  for (int i = 0; i < v->rank; i++) n = capped(n, v->dims[i]);
  return n;
}

/* Products of the largest operands stand for the work of a contraction. */
static int64_t inst_work(const wk_inst *i) {
  int64_t most = 1, sum = 0;
  for (uint32_t k = 0; k < i->n_operands; k++) {
    if (i->operands[k].buffer == WK_NONE) continue;
    int64_t n = view_count(&i->operands[k]);
    if (n > most) most = n;
    if (!wk_add_ok(sum, n, &sum)) return INT64_MAX / 4;
  }
  wk_op_class cls = wk_op_get(i->op)->cls;
  bool is_simple = i->op == WK_OP_MAP || i->op == WK_OP_COPY || i->op == WK_OP_FILL ||
                   i->op == WK_OP_REDUCE || cls == WK_CLASS_MOVEMENT;
  if (is_simple) return sum;
  return capped(most, 64) < capped(sum, sum) ? capped(most, 64) : capped(sum, sum);
}

static bool is_cheap(const wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *flat;
  size_t n = wk_program_flatten(p, scratch, &flat);
  int64_t work = 0, bytes = 0;
  for (size_t i = 0; i < n && work < EVAL_WORK; i++) {
    bool nested = flat[i].depth > 2; /* loops in loops: their product is not known here */
    int64_t trip = nested ? EVAL_WORK : flat[i].trip > 0 ? flat[i].trip : 1;
    if (!wk_add_ok(work, capped(inst_work(flat[i].inst), trip), &work)) work = EVAL_WORK;
  }
  for (size_t i = 0; i < p->buffers.n && bytes < EVAL_BYTES; i++) bytes += p->buffers.data[i].size;
  wk_arena_free(scratch);
  return work < EVAL_WORK && bytes < EVAL_BYTES;
}

/* ---- execution ------------------------------------------------------------------------------- */

typedef struct {
  void **in, **out;
  size_t n_in, n_out;
} ports;

/* Inputs of any value: indices outside, huge counts, NaN. */
static void fill(feed_run *r, void *data, size_t bytes) {
  uint8_t *p = data;
  uint64_t kind = wk_rng_next(&r->rng) % 4;
  for (size_t i = 0; i < bytes; i++)
    p[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)(i % 4 == 0) : (uint8_t)wk_rng_next(&r->rng);
}

/* States, behind both lists, are none: they begin as they do and are left there. */
static ports ports_of(feed_run *r, const wk_program *p) {
  ports x = {.n_in = p->inputs.n, .n_out = p->outputs.n};
  x.in = wk_xcalloc(x.n_in + p->states.n + 1, sizeof *x.in);
  x.out = wk_xcalloc(x.n_out + p->states.n + 1, sizeof *x.out);
  for (size_t i = 0; i < x.n_in; i++) {
    const wk_type *t = &p->inputs.data[i].type;
    size_t bytes = (size_t)wk_type_bytes(t);
    x.in[i] = aligned_alloc(64, wk_align_up(bytes + 1, 64));
    if (!x.in[i]) abort();
    fill(r, x.in[i], bytes);
    if (t->dtype == WK_BOOL) /* a contract of the caller's: 0 or 1 */
      for (size_t k = 0; k < bytes; k++) ((uint8_t *)x.in[i])[k] &= 1;
  }
  for (size_t i = 0; i < x.n_out; i++) {
    size_t bytes = (size_t)wk_type_bytes(&p->outputs.data[i].type);
    x.out[i] = aligned_alloc(64, wk_align_up(bytes + 1, 64));
    if (!x.out[i]) abort();
  }
  return x;
}

static void ports_free(ports *x) {
  for (size_t i = 0; i < x->n_in; i++) free(x->in[i]);
  for (size_t i = 0; i < x->n_out; i++) free(x->out[i]);
  free(x->in);
  free(x->out);
}

static void evaluate(feed_run *r, const wk_program *p) {
  ports x = ports_of(r, p);
  wk_status s = wk_eval_program(p, (const void *const *)x.in, x.out, NULL, NULL);
  feed_status(r, s, "evaluation");
  r->evaluated = true;
  ports_free(&x);
}

static void run_package(feed_run *r, const wk_program *p, const char *path) {
  wick_model *m;
  wick_session *session;
  wick_error_detail detail = {{0}};
  const wick_load_options o = {.size = sizeof o, .detail = &detail};
  wick_status s = wick_model_load(path, &o, &m);
  if (s != WICK_OK) {
    wk_str_printf(&r->complaint, "own package: %s: %s", wick_status_text(s), detail.text);
    return;
  }
  s = wick_session_create(m, 0, 1, &session);
  if (s == WICK_OK) {
    ports x = ports_of(r, p);
    wick_state *state = NULL;
    if (wick_model_describe(m)->state_count) s = wick_state_new(m, &state);
    if (state) s = wick_session_bind_state(session, state);
    if (s == WICK_OK) s = wick_session_run(session, (const void *const *)x.in, x.out);
    if (s != WICK_OK && s != WICK_RUN_FAILED)
      wk_str_printf(&r->complaint, "own package: run: %s", wick_status_text(s));
    r->ran = true;
    ports_free(&x);
    wick_session_free(session);
    wick_state_free(state);
  }
  wick_model_free(m);
}

static void make_native(feed_run *r, const wk_targets *t, wk_parts *parts) {
  const wk_emit_options emit = {.model_name = "hostile", .command = ""};
  const wk_emit_entry entry = {"", parts};
  wk_emit_result result = {0};
  wk_arena *a = wk_arena_new();
  const char *path = wk_arena_printf(a, "%s/own.wick", r->folder);
  wk_status s = wk_emit_package(t, &entry, 1, &emit, path, &result);
  if (feed_status(r, s, "code generation"))
    run_package(r, parts->parts.data[0].program, path);
  (void)unlink(path);
  wk_arena_free(a);
}

/* ---- other forms ----------------------------------------------------------------------------- */

/* What is printed parses back to what prints the same. */
static void print_and_parse(feed_run *r, const wk_module *m) {
  wk_str one = {0}, two = {0};
  wk_module *again;
  wk_module_print(&one, m, WK_PRINT_FULL);
  wk_status s = one.n < MAX_TEXT ? wk_module_parse(one.s, "own", &again) : NULL;
  if (s) wk_str_printf(&r->complaint, "own text: %s: %s", s->place ? s->place : "", s->message);
  if (!s && one.n < MAX_TEXT) {
    wk_module_print(&two, again, WK_PRINT_FULL);
    if (strcmp(one.s, two.s) != 0) wk_str_add(&r->complaint, "text prints differently again");
    wk_module_free(again);
  }
  wk_status_free(s);
  wk_str_free(&one);
  wk_str_free(&two);
}

static void print_and_parse_program(feed_run *r, const wk_program *p) {
  wk_str one = {0}, two = {0};
  wk_program *again;
  wk_program_print(&one, p, WK_PRINT_FULL);
  wk_status s = one.n < MAX_TEXT ? wk_program_parse(one.s, "own", &again) : NULL;
  if (s) wk_str_printf(&r->complaint, "own text: %s: %s", s->place ? s->place : "", s->message);
  if (!s && one.n < MAX_TEXT) {
    wk_program_print(&two, again, WK_PRINT_FULL);
    if (strcmp(one.s, two.s) != 0) wk_str_add(&r->complaint, "program prints differently again");
    wk_program_free(again);
  }
  wk_status_free(s);
  wk_str_free(&one);
  wk_str_free(&two);
}

/* An exported module is read again. */
static void export_and_import(feed_run *r, const wk_module *m) {
  wk_arena *a = wk_arena_new();
  const char *path = wk_arena_printf(a, "%s/own.onnx", r->folder);
  wk_module *again;
  if (feed_status(r, wk_export_onnx(m, path), "export")) {
    wk_status s = wk_import_onnx(path, NULL, NULL, &again);
    if (s)
      wk_str_printf(&r->complaint, "own export: %s: %s", s->place ? s->place : "", s->message);
    else wk_module_free(again);
    wk_status_free(s);
  }
  (void)unlink(path);
  wk_arena_free(a);
}

static void write_other_forms(feed_run *r, const wk_module *m) {
  wk_str dot = {0};
  switch (wk_rng_next(&r->rng) % 12) {
    case 0: print_and_parse(r, m); break;
    case 1: export_and_import(r, m); break;
    case 2: wk_module_dot(&dot, m, NULL); break;
    default: break;
  }
  wk_str_free(&dot);
}

/* ---- compilation ----------------------------------------------------------------------------- */

static void compile(feed_run *r, wk_module *m, const wk_targets *t, bool native) {
  const wk_pipeline_options o = {.targets = t};
  wk_pipeline_report report;
  wk_parts *parts = NULL;
  wk_status s = wk_pipeline_run(m, &o, &report, &parts);
  wk_pipeline_report_free(&report);
  if (feed_status(r, s, "compilation")) {
    const wk_program *p = parts->parts.data[0].program;
    bool cheap = is_cheap(p);
    if (wk_rng_next(&r->rng) % 8 == 0) print_and_parse_program(r, p);
    if (cheap && !native) evaluate(r, p);
    if (cheap && native && !r->complaint.n) make_native(r, t, parts);
  }
  wk_parts_free(parts);
}

void feed_module(feed_run *r, wk_module *m) {
  bool native = r->native && wk_rng_next(&r->rng) % r->native == 0;
  r->accepted = true;
  write_other_forms(r, m);
  if (native || wk_rng_next(&r->rng) % 2) {
    wk_targets t;
    wk_status s = wk_targets_open(&(wk_target_args){.cpu = native ? "native" : "x86-64-v3"}, &t);
    if (feed_status(r, s, "opening the CPU")) compile(r, m, &t, native);
    wk_targets_close(&t);
  } else {
    compile(r, m, &plain_targets, false);
  }
  wk_module_free(m);
}

void feed_program_text(feed_run *r, const wk_str *input) {
  wk_program *p;
  wk_str text = {0};
  if (!feed_status(r, wk_program_parse(input->s ? input->s : "", "hostile", &p), "parse")) return;
  r->accepted = true;
  wk_program_print(&text, p, WK_PRINT_SHORT);
  wk_str_free(&text);
  wk_status s = wk_program_verify(p);
  /* What the verifier refuses in a text is the text's fault. */
  bool fits = !s;
  wk_status_free(s);
  if (fits && feed_status(r, wk_place(p, 64), "placement") && is_cheap(p)) evaluate(r, p);
  wk_program_free(p);
}
