/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints: everything that a run needs to go on as if it had not ended.
 *
 *   8 bytes   "WICKRUN2": 2 is the version
 *   u64       steps done
 *   text      settings: lines "name value"
 *   u64 n     epochs, each 10 numbers (f64)
 *   10 numbers  the epoch that has begun, with sums instead of means
 *   u64 n     steps, each 4 numbers: all that are done, or none if nobody asked for them
 *   u64 n     variables: name (text), bytes (u64), contents
 *   u32       CRC-32C of all before
 *
 * A text is its length (u64) and its bytes; all is little endian. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/train.h"

static const char magic[8] = {'W', 'I', 'C', 'K', 'R', 'U', 'N', '2'};

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct {
  wk_out *out;
  uint32_t crc;
} writer;

static void put(writer *w, const void *p, size_t n) {
  w->crc = wk_crc32c(w->crc, p, n);
  wk_out_write(w->out, p, n);
}

static void put_number(writer *w, uint64_t v) { put(w, &v, sizeof v); }

static void put_text(writer *w, const char *s) {
  put_number(w, strlen(s));
  put(w, s, strlen(s));
}

static void put_epoch(writer *w, const wk_epoch *e) {
  const double v[] = {(double)e->epoch, (double)e->step, e->rate, e->loss, e->metric, e->held_loss,
                      e->held_metric, e->seconds, e->samples, 0};
  put(w, v, sizeof v);
}

static void put_step(writer *w, const wk_step_figures *f) {
  const double v[] = {f->rate, f->loss, f->metric, f->norm};
  put(w, v, sizeof v);
}

wk_status wk_checkpoint_save(const wk_train_run *r) {
  writer w = {0};
  WK_TRY(wk_out_open(r->checkpoint, &w.out));
  put(&w, magic, sizeof magic);
  put_number(&w, (uint64_t)r->done);
  put_text(&w, r->settings);
  put_number(&w, r->history.rows.n);
  for (size_t i = 0; i < r->history.rows.n; i++) put_epoch(&w, &r->history.rows.data[i]);
  put_epoch(&w, &r->running);
  put_number(&w, r->history.steps.n);
  for (size_t i = 0; i < r->history.steps.n; i++) put_step(&w, &r->history.steps.data[i]);
  put_number(&w, r->step.variables.n);
  for (size_t i = 0; i < r->step.variables.n; i++) {
    const wk_step_variable *v = &r->step.variables.data[i];
    size_t bytes = (size_t)wk_type_bytes(&v->type);
    put_text(&w, v->name);
    put_number(&w, bytes);
    put(&w, r->variables[i], bytes);
  }
  uint32_t crc = w.crc;
  wk_out_write(w.out, &crc, sizeof crc);
  return wk_out_commit(w.out);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct { const uint8_t *p, *end; } reader;

static bool take(reader *r, size_t n, const uint8_t **out) {
  if (n > (size_t)(r->end - r->p)) return false;
  *out = r->p;
  r->p += n;
  return true;
}

static bool take_number(reader *r, uint64_t *out) {
  const uint8_t *p;
  if (!take(r, sizeof *out, &p)) return false;
  memcpy(out, p, sizeof *out);
  return true;
}

static bool take_text(reader *r, const char **s, size_t *n) {
  uint64_t length;
  const uint8_t *p;
  if (!take_number(r, &length) || !take(r, length, &p)) return false;
  *s = (const char *)p;
  *n = length;
  return true;
}

static bool take_epoch(reader *r, wk_epoch *e) {
  const uint8_t *p;
  double v[10];
  if (!take(r, sizeof v, &p)) return false;
  memcpy(v, p, sizeof v);
  static const int counted[] = {0, 1, 7, 8}; /* epochs, steps, seconds, samples */
  for (size_t i = 0; i < WK_COUNTOF(counted); i++)
    if (!(v[counted[i]] >= 0 && v[counted[i]] < 0x1p53)) return false;
  *e = (wk_epoch){(int64_t)v[0], (int64_t)v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]};
  return true;
}

static bool take_step(reader *r, wk_step_figures *f) {
  const uint8_t *p;
  double v[4];
  if (!take(r, sizeof v, &p)) return false;
  memcpy(v, p, sizeof v);
  *f = (wk_step_figures){v[0], v[1], v[2], v[3]};
  return true;
}

/* Names the first line in which the settings differ. */
static wk_status compare_settings(const wk_train_run *r, const char *have, size_t n) {
  const char *want = r->settings, *end = have + n;
  if (n == strlen(want) && !memcmp(have, want, n)) return NULL;
  while (*want && have < end) {
    size_t a = strcspn(want, "\n"), b = 0;
    while (have + b < end && have[b] != '\n') b++;
    if (a != b || memcmp(want, have, a)) {
      if (!strncmp(want, "model ", 6))
        return wk_error_at(WK_USAGE, r->checkpoint, "is a checkpoint of another model");
      return wk_error_at(WK_USAGE, r->checkpoint, "is a checkpoint of another run: there it was "
                         "'%.*s', here it is '%.*s'", (int)(b < 80 ? b : 80), have,
                         (int)(a < 80 ? a : 80), want);
    }
    want += a + (want[a] != 0);
    have += b + (have + b < end);
  }
  return wk_error_at(WK_USAGE, r->checkpoint, "is a checkpoint of another run");
}

static bool take_variables(wk_train_run *r, reader *in) {
  uint64_t n, bytes;
  const char *name;
  const uint8_t *p;
  size_t length;
  if (!take_number(in, &n) || n != r->step.variables.n) return false;
  for (size_t i = 0; i < n; i++) {
    const wk_step_variable *v = &r->step.variables.data[i];
    if (!take_text(in, &name, &length) || length != strlen(v->name) ||
        memcmp(name, v->name, length) || !take_number(in, &bytes) ||
        bytes != (uint64_t)wk_type_bytes(&v->type) || !take(in, bytes, &p))
      return false;
    if (bytes) memcpy(r->variables[i], p, bytes);
  }
  return in->p == in->end;
}

static bool take_history(wk_train_run *r, reader *in, uint64_t done) {
  wk_history *h = &r->history;
  uint64_t epochs, steps;
  wk_step_figures f;
  wk_epoch e;
  bool ok = take_number(in, &epochs);
  for (uint64_t i = 0; ok && i < epochs; i++) {
    ok = take_epoch(in, &e);
    if (ok) wk_vec_push(&h->rows, e);
  }
  ok = ok && take_epoch(in, &r->running) && take_number(in, &steps) && (!steps || steps == done);
  for (uint64_t i = 0; ok && i < steps; i++) {
    ok = take_step(in, &f);
    if (ok && h->has_steps) wk_vec_push(&h->steps, f);
  }
  return ok;
}

/* Within an epoch: a run that ended there has told of it, and one that goes on does so again. */
static bool go_on(wk_train_run *r) {
  wk_history *h = &r->history;
  int64_t per_epoch = r->plan.per_epoch;
  if (r->done % per_epoch == 0 || r->done >= r->plan.steps) return true;
  if (h->rows.n && h->rows.data[h->rows.n - 1].epoch == r->running.epoch) h->rows.n--;
  return r->running.epoch == r->done / per_epoch + 1;
}

static wk_status read_all(wk_train_run *r, const wk_file *f) {
  reader in = {f->data, f->data + f->size};
  const char *settings;
  uint64_t done;
  uint32_t crc;
  size_t n;
  if (f->size < sizeof magic + sizeof crc || memcmp(f->data, magic, sizeof magic - 1))
    return wk_error_at(WK_INPUT, r->checkpoint, "is no checkpoint");
  if (f->data[sizeof magic - 1] != magic[sizeof magic - 1])
    return wk_error_at(WK_INPUT, r->checkpoint, "is a checkpoint of another version of Wick");
  in.end -= sizeof crc;
  memcpy(&crc, in.end, sizeof crc);
  if (crc != wk_crc32c(0, f->data, f->size - sizeof crc))
    return wk_error_at(WK_INPUT, r->checkpoint, "is damaged: its checksum differs");
  in.p += sizeof magic;
  bool ok = take_number(&in, &done) && take_text(&in, &settings, &n);
  if (ok) WK_TRY(compare_settings(r, settings, n));
  if (!ok || done > INT64_MAX || !take_history(r, &in, done) || !take_variables(r, &in))
    return wk_error_at(WK_INPUT, r->checkpoint, "is damaged");
  r->done = (int64_t)done;
  if (r->done > r->plan.steps)
    return wk_error_at(WK_USAGE, r->checkpoint, "the run has done %lld steps, more than the %lld "
                       "that are asked for", (long long)r->done, (long long)r->plan.steps);
  if (!go_on(r)) return wk_error_at(WK_INPUT, r->checkpoint, "is damaged");
  if (r->history.has_steps && r->history.steps.n != done)
    return wk_error_at(WK_USAGE, r->checkpoint, "has no figures of the first %lld steps, which "
                       "were made without --history-steps", (long long)r->done);
  return NULL;
}

wk_status wk_checkpoint_load(wk_train_run *r) {
  wk_file f;
  WK_TRY(wk_file_map(r->checkpoint, &f));
  wk_status s = read_all(r, &f);
  wk_file_unmap(&f);
  return s;
}
