/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hostile/hostile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/onnx/onnx.h"
#include "runtime/abi.h"
#include "runtime/crc32c.h"
#include "runtime/wick.h"
#include "sim/device.h"

bool feed_status(feed_run *r, wk_status s, const char *what) {
  if (!s) return true;
  if (s->code == WK_INTERNAL)
    wk_str_printf(&r->complaint, "%s: internal error at %s:%d: %s: %s", what, s->file, s->line,
                  s->place ? s->place : "", s->message);
  if (s->code == WK_OK || strchr(s->message, '\n') || (s->place && strchr(s->place, '\n')))
    wk_str_printf(&r->complaint, "%s: the error is not one line: %s", what, s->message);
  wk_status_free(s);
  return false;
}

static wk_status import(const wk_str *input, const wk_bind *bind, wk_import_report *report,
                        wk_module **m) {
  const wk_import_options o = {.binds = bind, .n_binds = bind ? 1 : 0};
  return wk_import_onnx_memory(input->s, input->n, &o, report, m);
}

void feed_onnx(feed_run *r, const wk_str *input) {
  static const wk_bind bind = {.symbol = "N", .value = 2}; /* the symbol of the seeds */
  wk_import_report report;
  wk_module *m = NULL;
  wk_status s = import(input, NULL, &report, &m);
  if (s && s->code == WK_USAGE) {
    wk_status_free(s);
    wk_import_report_free(&report);
    s = import(input, &bind, &report, &m);
  }
  if (s && s->code == WK_UNSUPPORTED && report.unsupported.n == 0)
    wk_str_printf(&r->complaint, "refused without a reason: %s", s->message);
  wk_import_report_free(&report);
  if (feed_status(r, s, "import")) feed_module(r, m);
}

void feed_with_file(const wk_str *input, char path[64], int *fd) {
  *fd = memfd_create("hostile", MFD_CLOEXEC);
  if (*fd < 0 || write(*fd, input->n ? input->s : "", input->n) != (ssize_t)input->n) abort();
  snprintf(path, 64, "/proc/self/fd/%d", *fd);
}

void feed_inspect(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_onnx_info info;
  feed_with_file(input, path, &fd);
  r->accepted = feed_status(r, wk_onnx_inspect(path, &info), "inspection");
  if (r->accepted) wk_onnx_info_free(&info);
  close(fd);
}

/* ---- packages -------------------------------------------------------------------------------- */

/* Everything that the runtime hands out is read. */
static size_t read_text(const char *s) { return s ? strlen(s) : 0; }

static size_t read_tensors(const wick_tensor_info *t, uint32_t n) {
  size_t sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum += read_text(t[i].name) + t[i].rank + t[i].align;
    for (uint32_t k = 0; k < t[i].rank; k++) sum += (size_t)t[i].dims[k];
  }
  return sum;
}

static size_t read_model(const wick_model *m) {
  const wick_model_info *info = wick_model_describe(m);
  size_t sum = read_text(info->name) + read_text(info->compiler) + read_text(info->flags);
  for (uint32_t i = 0; i < info->unit_count; i++)
    sum += read_text(info->units[i].target) + read_text(info->units[i].spec) +
           read_text(info->units[i].machine) + read_text(info->units[i].features);
  for (uint32_t i = 0; i < info->section_count; i++) sum += read_text(info->sections[i].name);
  for (uint32_t i = 0; i < info->state_count; i++) sum += read_tensors(info->states[i].tensor, 1);
  for (uint32_t i = 0; i < info->entry_count; i++) {
    const wick_entry_info *e = wick_model_entry(m, i);
    sum += read_text(e->name) + read_tensors(e->inputs, e->input_count) +
           read_tensors(e->outputs, e->output_count) + read_tensors(e->edges, e->edge_count);
    for (uint32_t k = 0; k < e->part_count; k++)
      sum += read_text(e->parts[k]->name) + read_text(e->parts[k]->target) +
             read_tensors(e->parts[k]->inputs, e->parts[k]->input_count) +
             read_tensors(e->parts[k]->outputs, e->parts[k]->output_count);
    for (uint32_t k = 0; k < e->step_count; k++)
      sum += read_text(e->steps[k].node) + read_text(e->steps[k].op) +
             read_text(e->steps[k].text) +
             read_tensors(e->steps[k].tensors, e->steps[k].tensor_count);
  }
  return sum;
}

static void load_package(feed_run *r, const wk_str *input, wick_load_options o) {
  wick_error_detail detail = {{0}};
  o.size = sizeof o;
  o.detail = &detail;
  o.memory_limit = UINT64_C(256) << 20; /* tables may ask for what the machine has; a fuzzer not */
  void *aligned = NULL;
  wick_model *m = NULL;
  if (wick_device_register(wk_sim_device()) != WICK_OK) abort();
  if (posix_memalign(&aligned, 64, input->n + 1) != 0) return;
  if (input->n) memcpy(aligned, input->s, input->n);
  wick_status s = wick_model_load_memory(aligned, input->n, &o, &m);
  if (strchr(detail.text, '\n')) wk_str_add(&r->complaint, "the error is not one line");
  if (s != WICK_OK && m) wk_str_add(&r->complaint, "an error and a model");
  r->accepted = s == WICK_OK;
  if (s == WICK_OK) {
    wick_session *session;
    volatile size_t sum = read_model(m);
    (void)sum;
    /* Memory as large as a table says may be refused, no more. */
    if (wick_model_describe(m)->entry_count > 0 && wick_model_entry(m, 0)->arena_bytes < 1 << 24 &&
        wick_session_create(m, 0, 1, &session) == WICK_OK)
      wick_session_free(session);
    wick_model_free(m);
  }
  free(aligned);
}

void feed_package(feed_run *r, const wk_str *input) {
  load_package(r, input, (wick_load_options){0});
}
void feed_package_unchecked(feed_run *r, const wk_str *input) {
  uint32_t more = wk_rng_next(&r->rng) % 2 ? WICK_LOAD_DESCRIBE : 0;
  load_package(r, input, (wick_load_options){.flags = WICK_LOAD_UNCHECKED | more});
}

/* Checksums become those of what is there, of all sections that are within the file. */
static void seal(wk_str *b) {
  wick_pkg_header h;
  wick_pkg_section s;
  if (b->n < sizeof h) return;
  memcpy(&h, b->s, sizeof h);
  if (h.section_count > (b->n - sizeof h) / sizeof s) return;
  for (uint32_t i = 0; i < h.section_count; i++) {
    char *row = b->s + sizeof h + i * sizeof s;
    memcpy(&s, row, sizeof s);
    if (s.offset > b->n || s.size > b->n - s.offset) continue;
    s.crc = wick_crc32c(0, b->s + s.offset, s.size);
    memcpy(row, &s, sizeof s);
  }
  h.crc = 0;
  memcpy(b->s, &h, sizeof h);
  h.crc = wick_crc32c(0, b->s, sizeof h + h.section_count * sizeof s);
  memcpy(b->s, &h, sizeof h);
}

static wick_status agree(void *user, const wick_piece *pieces, uint32_t count,
                         wick_error_detail *detail) {
  size_t sum = 0;
  (void)user, (void)detail;
  for (uint32_t i = 0; i < count; i++)
    for (size_t k = 0; k < pieces[i].size; k++) sum += ((const uint8_t *)pieces[i].data)[k];
  return sum == SIZE_MAX ? WICK_REFUSED : WICK_OK;
}

/* As whoever trusts nobody loads it. */
void feed_package_verified(feed_run *r, const wk_str *input) {
  uint64_t dice = wk_rng_next(&r->rng);
  wk_str sealed = {0};
  wk_str_addn(&sealed, input->s ? input->s : "", input->n);
  seal(&sealed);
  load_package(r, &sealed,
               (wick_load_options){.flags = (dice & 3 ? WICK_LOAD_VERIFY : 0) |
                                            (dice & 4 ? WICK_LOAD_NO_NATIVE_CODE : 0),
                                   .verifier = dice & 8 ? agree : NULL,
                                   .memory_limit = dice & 16 ? 1 << 16 : 0});
  wk_str_free(&sealed);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void read_tensor(feed_run *r, const wk_str *input, bool is_npy) {
  char path[64], *name = NULL;
  int fd;
  wk_tensor t = {0};
  feed_with_file(input, path, &fd);
  wk_status s = is_npy ? wk_tensor_read_npy(path, &t) : wk_tensor_read_pb(path, &t, &name);
  if (feed_status(r, s, "tensor")) {
    r->accepted = true;
    for (int64_t i = 0, n = wk_type_count(&t.type); i < n; i += 1 + n / 16)
      (void)wk_load_f64(t.data, t.type.dtype, i);
    wk_tensor_free(&t);
  }
  free(name);
  close(fd);
}

/* By chance as what a sequence, an optional or an optional sequence has. */
void feed_list(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_tensor_list l;
  uint64_t kind = wk_rng_next(&r->rng) % 3;
  const wk_onnx_io io = {.is_sequence = kind != 1, .is_optional = kind > 0};
  feed_with_file(input, path, &fd);
  if (feed_status(r, wk_tensor_list_read_pb(path, &io, &l), "list")) {
    r->accepted = true;
    for (int64_t k = 0; k < l.n; k++)
      if (wk_type_count(&l.items[k].type) > 0)
        (void)wk_load_f64(l.items[k].data, l.items[k].type.dtype, 0);
    wk_tensor_list_free(&l);
  }
  close(fd);
}

void feed_npy(feed_run *r, const wk_str *input) { read_tensor(r, input, true); }
void feed_tensor(feed_run *r, const wk_str *input) { read_tensor(r, input, false); }

/* ---- texts ----------------------------------------------------------------------------------- */

void feed_plan(feed_run *r, const wk_str *input) {
  wk_plan_table t;
  wk_plan_result result;
  const wk_plan_options o = {.effort = 200};
  if (!feed_status(r, wk_plan_table_parse("plan", input->s, input->n, &t), "plan")) return;
  r->accepted = true;
  if (feed_status(r, wk_plan(t.items, t.n, &o, &result), "placement")) {
    wk_str text = {0};
    feed_status(r, wk_plan_check(t.items, t.n, 0), "check");
    wk_plan_table_format(&t, &text);
    wk_str_free(&text);
  }
  wk_plan_table_free(&t);
}

/* The parsers take C strings: what follows a zero is not theirs. */
static const char *as_text(const wk_str *input) { return input->s ? input->s : ""; }

void feed_graph_text(feed_run *r, const wk_str *input) {
  wk_module *m;
  wk_str text = {0};
  if (!feed_status(r, wk_module_parse(as_text(input), "hostile", &m), "parse")) return;
  wk_module_print(&text, m, WK_PRINT_SHORT);
  wk_str_free(&text);
  feed_module(r, m);
}

void feed_expression(feed_run *r, const wk_str *input) {
  static const wk_dtype dtypes[] = {WK_F32, WK_F32, WK_I32, WK_I64, WK_BOOL, WK_U8, WK_F16};
  wk_arena *a = wk_arena_new();
  wk_expr *e;
  wk_str text = {0};
  wk_status s = wk_expr_parse(a, as_text(input), dtypes, WK_COUNTOF(dtypes), &e);
  if (feed_status(r, s, "expression")) {
    wk_scalar in[WK_COUNTOF(dtypes)] = {{.f = 1.5}, {.f = -2}, {.i = -3}, {.i = INT64_MIN},
                                        {.i = 1}, {.i = 255}, {.f = 0.25}};
    int64_t index[WK_MAX_RANK] = {1, 2, 3};
    wk_scalar *scratch = wk_arena_alloc(a, (e->n + 1) * sizeof *scratch);
    wk_scalar *results = wk_arena_alloc(a, (e->n_results + 1) * sizeof *results);
    wk_expr *again;
    r->accepted = true;
    wk_expr_eval(e, in, index, scratch, results);
    wk_expr_print(&text, e);
    if (!feed_status(r, wk_expr_parse(a, text.s, dtypes, WK_COUNTOF(dtypes), &again), "again") ||
        !wk_expr_equal(e, again))
      wk_str_printf(&r->complaint, "prints as %.200s, which reads differently", text.s);
  }
  wk_str_free(&text);
  wk_arena_free(a);
}
