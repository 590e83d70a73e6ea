/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/generate/decoder.h"
#include "compiler/pipeline/runner.h"

/* Tokens of a run. */
typedef struct {
  const int64_t *ids;
  int64_t past, n;
} tokens;

/* ---- which entry ----------------------------------------------------------------------------- */

/* Narrows [*low, *high], the new tokens that an axis allows behind `past` others; length: of the
 * cache that it may be of. */
static void narrow(const wk_decoder_axis *x, int64_t past, int64_t length, int64_t *low,
                   int64_t *high) {
  int64_t most = x->kind == WK_SIZE_NEW     ? x->most
                 : x->kind == WK_SIZE_TOTAL ? x->most - past
                                            : *high;
  if (x->kind == WK_SIZE_PAST && (length < x->least || length > x->most)) most = 0;
  if (x->kind == WK_SIZE_NEW && x->least > *low) *low = x->least;
  if (most < *high) *high = most;
}

int64_t wk_decoder_takes(const wk_decoder *d, const wk_decoder_entry *e, int64_t left,
                         int64_t *least) {
  int64_t past = d->has_caches ? d->position : 0, low = 1, high = INT64_MAX;
  int64_t wanted = d->has_caches ? left : d->position + left;
  if (d->context) high = d->context - past;
  for (uint32_t i = 0; i < e->info->input_count; i++)
    for (uint32_t k = 0; k < e->info->inputs[i].rank; k++)
      narrow(&e->axes[i][k], past, d->lengths[i], &low, &high);
  if (least) *least = low <= high ? low : 0;
  if (d->chunk && d->chunk < high) high = d->chunk;
  if (!d->has_caches) return wanted >= low && wanted <= high ? left : 0;
  if (left < high) high = left;
  return low <= high ? high : 0;
}

static int64_t most_new(const wk_decoder *d, const wk_decoder_entry *e) {
  const wick_tensor_info *ids = &e->info->inputs[d->roles.ids];
  return ids->dims[ids->rank - 1];
}

/* The entry that takes the most tokens, of several the one that is compiled for the fewest. */
static wk_decoder_entry *choose_entry(const wk_decoder *d, int64_t left, int64_t *n) {
  wk_decoder_entry *best = NULL;
  *n = 0;
  for (uint32_t i = 0; i < d->n_entries; i++) {
    wk_decoder_entry *e = &d->entries[i];
    int64_t takes = wk_decoder_takes(d, e, left, NULL);
    if (takes < *n || takes == 0) continue;
    if (takes == *n && most_new(d, e) >= most_new(d, best)) continue;
    best = e;
    *n = takes;
  }
  return best;
}

/* No entry takes as few tokens as are left; NULL: there is no room for any. */
static wk_status refuse_few(const wk_decoder *d, int64_t left) {
  int64_t fewest = 0, least;
  for (uint32_t i = 0; i < d->n_entries; i++) {
    (void)wk_decoder_takes(d, &d->entries[i], left, &least);
    if (least && (!fewest || least < fewest)) fewest = least;
  }
  if (fewest > left)
    return wk_error(WK_USAGE, "%lld token%s left behind %lld others, and a run of the package "
                              "takes %lld at least", (long long)left, left == 1 ? " is" : "s are",
                    (long long)d->position, (long long)fewest);
  if (!d->has_caches || d->position) return NULL;
  return wk_error(WK_USAGE, "no entry of the package begins a text: its caches are never empty");
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int64_t size_in(const wk_decoder_axis *x, const tokens *t, int64_t length) {
  int64_t total = t->past + t->n;
  switch (x->kind) {
    case WK_SIZE_ONE: return 1;
    case WK_SIZE_NEW: return t->n;
    case WK_SIZE_PAST: return length;
    case WK_SIZE_TOTAL: return total < x->least ? x->least : total;
    default: return x->most;
  }
}

static wk_status set_dims(const wk_decoder *d, wk_decoder_entry *e, const tokens *t) {
  for (uint32_t i = 0; i < e->info->input_count; i++) {
    const wick_tensor_info *info = &e->info->inputs[i];
    int64_t dims[WK_MAX_RANK];
    if (!info->is_bound) continue;
    for (uint32_t k = 0; k < info->rank; k++)
      dims[k] = d->given[i].data ? d->given[i].type.dims[k]
                                 : size_in(&e->axes[i][k], t, d->lengths[i]);
    WK_TRY(wk_wick_error(wick_session_set_input_dims(e->session, i, dims),
                         wick_session_error(e->session), NULL));
  }
  return NULL;
}

static double element(const wk_decoder *d, size_t input, const tokens *t, int64_t i) {
  int64_t total = t->past + t->n;
  switch (d->roles.roles[input]) {
    case WK_DECODER_IDS: return (double)t->ids[i];
    case WK_DECODER_MASK: return i < total;
    case WK_DECODER_POSITIONS: return (double)(t->past + i % t->n);
    case WK_DECODER_LAST: return (double)(total - 1);
    case WK_DECODER_TOTAL: return (double)total;
    case WK_DECODER_PAST: return (double)t->past;
    case WK_DECODER_BRANCH: return t->past > 0;
    default: return d->values[input];
  }
}

static void fill(const wk_decoder *d, const wk_decoder_entry *e, const tokens *t) {
  for (uint32_t i = 0; i < e->info->input_count; i++) {
    const wick_tensor_info *info = &e->info->inputs[i];
    const int64_t *dims = wick_session_input_dims(e->session, i);
    int64_t n = 1;
    if (d->roles.roles[i] == WK_DECODER_CACHE || d->given[i].data) continue;
    for (uint32_t k = 0; k < info->rank; k++) n *= dims[k];
    for (int64_t x = 0; x < n; x++)
      wk_store_f64(d->in[i], (wk_dtype)info->dtype, x, element(d, i, t, x));
  }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Mostly as many as the text has tokens, but a window has fewer. */
static void keep_length(wk_decoder *d, const wk_decoder_entry *e, size_t input) {
  uint32_t out = (uint32_t)d->roles.present[input];
  const int64_t *dims = wick_session_output_dims(e->session, out);
  for (uint32_t k = 0; k < e->info->outputs[out].rank && k < e->info->inputs[input].rank; k++)
    if (e->axes[input][k].kind == WK_SIZE_PAST) d->lengths[input] = dims[k];
}

static void swap_caches(wk_decoder *d, const wk_decoder_entry *e) {
  for (size_t i = 0; i < d->roles.n_in; i++) {
    if (d->roles.roles[i] != WK_DECODER_CACHE) continue;
    keep_length(d, e, i);
    void *past = d->in[i];
    d->in[i] = d->out[d->roles.present[i]];
    d->out[d->roles.present[i]] = past;
  }
}

static wk_status run(wk_decoder *d, wk_decoder_entry *e, const tokens *t, bool *is_full) {
  WK_TRY(set_dims(d, e, t));
  fill(d, e, t);
  for (size_t i = 0; i < d->roles.n_in; i++)
    d->args[i] = d->given[i].data ? d->given[i].data : d->in[i];
  wick_status s = wick_session_run(e->session, d->args, d->out);
  const char *error = wick_session_error(e->session);
  *is_full = s == WICK_RUN_FAILED && d->position > 0;
  if (*is_full) snprintf(d->full, sizeof d->full, "%s", error);
  if (*is_full) return NULL;
  if (s == WICK_BAD_ARGUMENT && *error) return wk_error(WK_USAGE, "%s", error);
  WK_TRY(wk_wick_error(s, error, NULL));
  swap_caches(d, e);
  return NULL;
}

static const float *last_row(wk_decoder *d, const wk_decoder_entry *e) {
  size_t i = d->roles.logits;
  const wick_tensor_info *t = &e->info->outputs[i];
  const int64_t *dims = wick_session_output_dims(e->session, (uint32_t)i);
  int64_t rows = 1;
  for (uint32_t k = 0; k + 1 < t->rank; k++) rows *= dims[k];
  int64_t begin = (rows - 1) * d->vocabulary;
  if (!d->row) return (const float *)d->out[i] + begin;
  for (int64_t k = 0; k < d->vocabulary; k++)
    d->row[k] = (float)wk_load_f64(d->out[i], (wk_dtype)t->dtype, begin + k);
  return d->row;
}

static tokens next_tokens(wk_decoder *d, const int64_t *ids, int64_t n) {
  if (d->has_caches) return (tokens){ids, d->position, n};
  memcpy(d->text + d->position, ids, (size_t)n * sizeof *ids);
  return (tokens){d->text, 0, d->position + n};
}

wk_status wk_decoder_feed(wk_decoder *d, const int64_t *ids, int64_t n, int64_t *fed,
                          const float **logits) {
  for (*fed = 0; *fed < n;) {
    int64_t taken;
    bool is_full;
    wk_decoder_entry *e = choose_entry(d, n - *fed, &taken);
    if (!e) return refuse_few(d, n - *fed);
    const tokens t = next_tokens(d, ids + *fed, taken);
    WK_TRY(run(d, e, &t, &is_full));
    if (is_full) return NULL;
    d->position += taken;
    *fed += taken;
    *logits = last_row(d, e);
  }
  return NULL;
}
