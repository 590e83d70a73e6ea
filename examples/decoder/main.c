/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes on with several texts that begin alike, with the runtime: what they share is read once, and
 * each text goes on from a copy of the state behind it. README.md says how to build and run it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick.h"

enum { MAX_TENSORS = 8, MAX_TOKENS = 4096 };

typedef struct {
  wick_session *session;
  const wick_entry_info *entry;
  void *inputs[MAX_TENSORS], *outputs[MAX_TENSORS];
  int ids, positions, mask, logits; /* numbers of tensors; -1: there is none */
} decoder;

typedef struct {
  int64_t ids[MAX_TOKENS], n;
} tokens;

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return -1;
}

/* ---- the package ----------------------------------------------------------------------------- */

static int find(const wick_tensor_info *list, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (!strcmp(list[i].name, name)) return (int)i;
  return -1;
}

static void *buffer_for(const wick_tensor_info *t) {
  return aligned_alloc(64, (t->bytes + 64) / 64 * 64); /* which wants a multiple, and not 0 */
}

/* The entry has a state, and tokens in batches of one text. */
static int open_decoder(decoder *d, const wick_model *model) {
  const wick_entry_info *e = d->entry = wick_model_entry(model, 0);
  d->ids = find(e->inputs, e->input_count, "input_ids");
  d->positions = find(e->inputs, e->input_count, "cache_position");
  if (d->positions < 0) d->positions = find(e->inputs, e->input_count, "position_ids");
  d->mask = find(e->inputs, e->input_count, "attention_mask");
  d->logits = find(e->outputs, e->output_count, "logits");
  uint32_t known = 1 + (d->positions >= 0) + (d->mask >= 0);
  if (d->ids < 0 || d->logits < 0 || known != e->input_count || e->output_count > MAX_TENSORS)
    return fail("package", "input_ids, positions, attention_mask and logits are expected");
  for (uint32_t i = 0; i < e->input_count; i++)
    if (e->inputs[i].dtype != WICK_I64 || !(d->inputs[i] = buffer_for(&e->inputs[i])))
      return fail(e->inputs[i].name, "i64 is expected");
  for (uint32_t i = 0; i < e->output_count; i++)
    if (!(d->outputs[i] = buffer_for(&e->outputs[i]))) return fail("outputs", "no memory");
  if (!e->writes_state || e->outputs[d->logits].dtype != WICK_F32)
    return fail("package", "a state and logits in f32 are expected");
  wick_status s = wick_session_create(model, 0, 0, &d->session);
  return s == WICK_OK ? 0 : fail("session", wick_status_text(s));
}

static void close_decoder(decoder *d) {
  wick_session_free(d->session);
  for (int i = 0; i < MAX_TENSORS; i++) {
    free(d->inputs[i]);
    free(d->outputs[i]);
  }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* An input whose last axis has n elements now, or stays as it is: from first on, or, of a mask,
 * ones up to `first`. */
static int set_input(decoder *d, int i, int64_t n, int64_t first) {
  if (i < 0) return 0;
  const wick_tensor_info *t = &d->entry->inputs[i];
  int64_t dims[WICK_MAX_RANK], *data = d->inputs[i];
  memcpy(dims, wick_session_input_dims(d->session, (uint32_t)i), sizeof dims);
  if (t->is_bound) dims[t->rank - 1] = n;
  if (t->is_bound && wick_session_set_input_dims(d->session, (uint32_t)i, dims) != WICK_OK)
    return fail(t->name, wick_session_error(d->session));
  for (int64_t k = 0; k < dims[t->rank - 1]; k++) data[k] = i == d->mask ? k < first : first + k;
  return 0;
}

static int64_t largest(const decoder *d) {
  const int64_t *dims = wick_session_output_dims(d->session, (uint32_t)d->logits);
  const float *row = d->outputs[d->logits];
  int64_t best = 0;
  row += (dims[1] - 1) * dims[2]; /* what follows the last token */
  for (int64_t k = 1; k < dims[2]; k++)
    if (row[k] > row[best]) best = k;
  return best;
}

/* Reads text->ids[done .. n) and says what comes next; -1: it failed. */
static int64_t read_tokens(decoder *d, const tokens *text, int64_t done) {
  const wick_tensor_info *ids = &d->entry->inputs[d->ids];
  int64_t most = ids->dims[ids->rank - 1];
  while (done < text->n) {
    int64_t n = text->n - done < most ? text->n - done : most;
    if (set_input(d, d->ids, n, 0) || set_input(d, d->positions, n, done) ||
        set_input(d, d->mask, done + n, done + n))
      return -1;
    memcpy(d->inputs[d->ids], text->ids + done, (size_t)n * sizeof *text->ids);
    wick_status s = wick_session_run(d->session, (const void *const *)d->inputs, d->outputs);
    const char *why = wick_session_error(d->session);
    if (s != WICK_OK) return fail("run", *why ? why : wick_status_text(s));
    done += n;
  }
  return largest(d);
}

/* Prints `steps` tokens behind the text. */
static int go_on(decoder *d, tokens *text, int64_t done, int steps) {
  for (int k = 0; k < steps && text->n < MAX_TOKENS; k++, done = text->n - 1) {
    int64_t next = read_tokens(d, text, done);
    if (next < 0) return -1;
    printf("%s%lld", k ? " " : "", (long long)next);
    text->ids[text->n++] = next;
  }
  putchar('\n');
  return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int parse(const char *text, tokens *out) {
  char *end;
  for (; out->n < MAX_TOKENS; text = end) {
    long long id = strtoll(text, &end, 10);
    if (end == text) break;
    out->ids[out->n++] = id;
  }
  return *text || !out->n ? fail(text, "ids with blanks between them are expected") : 0;
}

static int run(const wick_model *model, int steps, char **texts, int count) {
  static tokens begin, text;
  decoder d = {0};
  wick_state *shared = NULL, *own = NULL;
  int failed = open_decoder(&d, model) || parse(texts[0], &begin) ||
               wick_state_new(model, &shared) != WICK_OK || wick_state_new(model, &own) != WICK_OK;
  if (!failed) failed = wick_session_bind_state(d.session, shared) != WICK_OK;
  if (!failed) failed = read_tokens(&d, &begin, 0) < 0;
  if (!failed) failed = wick_session_bind_state(d.session, own) != WICK_OK;
  for (int i = 1; !failed && i < count; i++) {
    text = begin;
    failed = parse(texts[i], &text) || wick_state_copy(shared, own) != WICK_OK ||
             go_on(&d, &text, begin.n, steps);
  }
  close_decoder(&d);
  wick_state_free(own);
  wick_state_free(shared);
  return failed;
}

int main(int argc, char **argv) {
  wick_model *model;
  wick_error_detail detail = {0};
  wick_load_options options = {.size = sizeof options, .detail = &detail};
  if (argc < 5) {
    fprintf(stderr, "usage: %s PACKAGE STEPS BEGINNING TEXT…\n", argv[0]);
    return 2;
  }
  wick_status s = wick_model_load(argv[1], &options, &model);
  if (s != WICK_OK) return -fail(argv[1], *detail.text ? detail.text : wick_status_text(s));
  int failed = run(model, atoi(argv[2]), argv + 3, argc - 3);
  wick_model_free(model);
  return failed != 0;
}
