/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/generate/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/pipeline/runner.h"

/* ---- what inputs and outputs are ------------------------------------------------------------- */

static wk_type type_of(const wick_tensor_info *t) {
  return wk_type_make((wk_dtype)t->dtype, (int)t->rank, t->dims);
}

static void least_dims(const wick_entry_info *e, uint32_t tensor, const wick_tensor_info *t,
                       int64_t least[WK_MAX_RANK]) {
  memcpy(least, t->dims, WK_MAX_RANK * sizeof *least);
  for (uint32_t i = 0; i < e->extent_count; i++)
    if (e->extents[i].tensor == tensor) least[e->extents[i].axis] = e->extents[i].least;
}

static wk_role_port *ports_of(wk_arena *a, const wick_entry_info *e, bool outputs) {
  uint32_t n = outputs ? e->output_count : e->input_count;
  const wick_tensor_info *list = outputs ? e->outputs : e->inputs;
  wk_role_port *ports = wk_arena_alloc(a, n * sizeof *ports);
  for (uint32_t i = 0; i < n; i++) {
    int64_t least[WK_MAX_RANK];
    const wk_type t = type_of(&list[i]);
    least_dims(e, i + (outputs ? e->input_count : 0), &list[i], least);
    ports[i] = (wk_role_port){.name = list[i].name, .dtype = t.dtype, .rank = t.rank,
                              .type = wk_range_text(a, &t, least)};
  }
  return ports;
}

/* ---- --input --------------------------------------------------------------------------------- */

static wk_status no_such_input(const wick_entry_info *e, const char *arg) {
  const char **names = wk_xcalloc(e->input_count, sizeof *names);
  char *typed = wk_xstrdup(arg);
  typed[strcspn(arg, "=")] = '\0';
  for (uint32_t i = 0; i < e->input_count; i++) names[i] = e->inputs[i].name;
  const char *near = wk_nearest(typed, names, e->input_count);
  wk_status s = !strchr(arg, '=')
                    ? wk_error(WK_USAGE, "--input %s: NAME=FILE or NAME=VALUE is expected", arg)
                    : wk_error(WK_USAGE, "--input %s: there is no input '%s'%s%s%s", arg, typed,
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  free(typed);
  free(names);
  return s;
}

static wk_status read_given(wk_decoder *d, const wick_entry_info *e, uint32_t i, const char *arg) {
  const char *text = arg + strlen(e->inputs[i].name) + 1;
  char *end;
  d->values[i] = strtod(text, &end);
  if (*text && !*end) return NULL;
  if (!*text) return wk_error(WK_USAGE, "--input %s: the value is empty", arg);
  wk_status s = wk_tensor_read(text, &d->given[i], NULL);
  if (s && s->code == WK_IO)
    s = wk_status_note(s, "--input %s: neither a number nor a file", arg);
  WK_TRY(s);
  wk_tensor_adopt(&d->given[i], (wk_dtype)e->inputs[i].dtype);
  if (d->given[i].type.dtype == (wk_dtype)e->inputs[i].dtype) return NULL;
  return wk_error(WK_INPUT, "--input %s: input %s is %s but %s was given", arg, e->inputs[i].name,
                  wk_dtype_name((wk_dtype)e->inputs[i].dtype),
                  wk_dtype_name(d->given[i].type.dtype));
}

static wk_status read_all_given(wk_decoder *d, const wick_entry_info *e, const wk_strings *input,
                                wk_strings *names) {
  d->given = wk_arena_alloc(d->arena, e->input_count * sizeof *d->given);
  d->values = wk_arena_alloc(d->arena, e->input_count * sizeof *d->values);
  d->lengths = wk_arena_alloc(d->arena, e->input_count * sizeof *d->lengths);
  for (size_t k = 0; k < input->n; k++) {
    uint32_t i = 0;
    for (; i < e->input_count; i++) {
      size_t n = strlen(e->inputs[i].name);
      if (!strncmp(input->data[k], e->inputs[i].name, n) && input->data[k][n] == '=') break;
    }
    if (i == e->input_count) return no_such_input(e, input->data[k]);
    for (size_t other = 0; other < names->n; other++)
      if (!strcmp(names->data[other], e->inputs[i].name))
        return wk_error(WK_USAGE, "--input: input %s is given twice", e->inputs[i].name);
    wk_vec_push(names, e->inputs[i].name);
    WK_TRY(read_given(d, e, i, input->data[k]));
  }
  return NULL;
}

/* ---- sizes of an entry ----------------------------------------------------------------------- */

static const char *size_name(const wick_entry_info *e, uint32_t tensor, uint32_t axis) {
  for (uint32_t i = 0; i < e->extent_count; i++)
    if (e->extents[i].tensor == tensor && e->extents[i].axis == axis) return e->extents[i].name;
  return NULL;
}

/* The last axis of the tokens has this name, too. */
static bool is_named_as_ids(const wk_decoder *d, const wick_entry_info *e, const char *name) {
  const wick_tensor_info *ids = &e->inputs[d->roles.ids];
  const char *own = size_name(e, (uint32_t)d->roles.ids, ids->rank - 1);
  return name && own && !strcmp(name, own);
}

/* Axis k of a cache has another length afterwards, or an open one that is not the batch's. */
static bool may_grow(const wk_decoder *d, const wick_entry_info *e, uint32_t i, uint32_t k) {
  const wick_tensor_info *in = &e->inputs[i], *out = &e->outputs[d->roles.present[i]];
  const char *name = size_name(e, i, k), *batch = size_name(e, (uint32_t)d->roles.ids, 0);
  if (name && batch && !strcmp(name, batch)) return false;
  return name || (out->rank == in->rank && out->dims[k] != in->dims[k]);
}

/* The first axis is the batch, unless no other one may grow. */
static bool is_growing(const wk_decoder *d, const wick_entry_info *e, uint32_t i, uint32_t k) {
  for (uint32_t other = 1; k == 0 && other < e->inputs[i].rank; other++)
    if (may_grow(d, e, i, other)) return false;
  return may_grow(d, e, i, k);
}

static wk_size_kind kind_of(const wk_decoder *d, const wick_entry_info *e, uint32_t i,
                            uint32_t k) {
  const char *name = size_name(e, i, k);
  bool is_last = k + 1 == e->inputs[i].rank, is_open = name != NULL;
  switch (d->roles.roles[i]) {
    case WK_DECODER_IDS: return is_last ? WK_SIZE_NEW : WK_SIZE_ONE;
    case WK_DECODER_POSITIONS: if (is_last) return WK_SIZE_NEW; break;
    case WK_DECODER_MASK:
      if (!is_last) return WK_SIZE_ONE;
      return is_named_as_ids(d, e, name) ? WK_SIZE_NEW : WK_SIZE_TOTAL;
    case WK_DECODER_CACHE: if (is_growing(d, e, i, k)) return WK_SIZE_PAST; break;
    case WK_DECODER_GIVEN: if (is_named_as_ids(d, e, name)) return WK_SIZE_NEW; break;
    default: break;
  }
  return is_open ? WK_SIZE_ONE : WK_SIZE_FIXED;
}

/* What a file has is the size in every run. */
static void fix_given(const wk_tensor *given, wk_decoder_axis *axes) {
  for (int k = 0; given->data && k < given->type.rank; k++) axes[k].kind = WK_SIZE_FIXED;
}

static void find_axes(const wk_decoder *d, wk_decoder_entry *e) {
  const wick_entry_info *info = e->info;
  e->axes = wk_arena_alloc(d->arena, info->input_count * sizeof *e->axes);
  for (uint32_t i = 0; i < info->input_count; i++) {
    const wick_tensor_info *t = &info->inputs[i];
    int64_t least[WK_MAX_RANK];
    least_dims(info, i, t, least);
    for (uint32_t k = 0; k < t->rank; k++)
      e->axes[i][k] = (wk_decoder_axis){.kind = kind_of(d, info, i, k), .least = least[k],
                                        .most = t->dims[k], .name = size_name(info, i, k)};
    fix_given(&d->given[i], e->axes[i]);
  }
}

/* One text is what is decoded, and files have sizes that the entry takes. */
static wk_status check_axes(const wk_decoder *d, const wk_decoder_entry *e) {
  for (uint32_t i = 0; i < e->info->input_count; i++) {
    const wk_tensor *given = &d->given[i];
    const char *name = e->info->inputs[i].name;
    if (given->data && given->type.rank != (int)e->info->inputs[i].rank)
      return wk_error(WK_INPUT, "--input %s: %d axes are expected, %d are given", name,
                      (int)e->info->inputs[i].rank, given->type.rank);
    for (uint32_t k = 0; k < e->info->inputs[i].rank; k++) {
      const wk_decoder_axis *x = &e->axes[i][k];
      int64_t n = given->data ? given->type.dims[k] : x->kind == WK_SIZE_ONE ? 1 : x->most;
      if (n >= x->least && n <= x->most) continue;
      if (given->data)
        return wk_error(WK_INPUT, "--input %s: axis %u has %lld elements, which the package does "
                                  "not take", name, k, (long long)n);
      return wk_error(WK_USAGE, "axis %u of input %s is %lld: one text is decoded at a time; a "
                                "package for a batch of 1 is expected", k, name,
                      (long long)x->least);
    }
  }
  return NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool are_named_alike(const wick_tensor_info *a, uint32_t n, const wick_tensor_info *b,
                            uint32_t m) {
  bool same = n == m;
  for (uint32_t i = 0; same && i < n; i++)
    same = !strcmp(a[i].name, b[i].name) && a[i].dtype == b[i].dtype && a[i].rank == b[i].rank;
  return same;
}

static wk_status open_session(wk_decoder *d, wk_decoder_entry *e, uint32_t index,
                              int64_t threads) {
  WK_TRY(wk_open_session(d->model, index, threads, NULL, &e->session));
  if (!e->info->reads_state && !e->info->writes_state) return NULL;
  wick_status s = WICK_OK;
  if (!d->state) {
    s = wick_state_new(d->model, &d->state);
    d->cache_bytes += wick_model_describe(d->model)->state_bytes;
  }
  if (s == WICK_OK) s = wick_session_bind_state(e->session, d->state);
  return wk_wick_error(s, NULL, NULL);
}

/* Those that are the same decoder as the first, with other sizes. */
static wk_status open_entries(wk_decoder *d, const wk_decoder_options *o) {
  uint32_t n = wick_model_describe(d->model)->entry_count;
  const wick_entry_info *first = wick_model_entry(d->model, 0);
  wk_status why = NULL;
  d->entries = wk_arena_alloc(d->arena, n * sizeof *d->entries);
  for (uint32_t i = 0; i < n; i++) {
    wk_decoder_entry e = {.info = wick_model_entry(d->model, i)};
    if (!are_named_alike(first->inputs, first->input_count, e.info->inputs, e.info->input_count) ||
        !are_named_alike(first->outputs, first->output_count, e.info->outputs,
                         e.info->output_count))
      continue;
    find_axes(d, &e);
    wk_status s = check_axes(d, &e);
    if (s && !why) why = s;
    else if (s) wk_status_free(s);
    if (s) continue;
    wk_decoder_entry *kept = &d->entries[d->n_entries++];
    *kept = e;
    s = open_session(d, kept, i, o->threads);
    if (s) {
      wk_status_free(why);
      return s;
    }
  }
  if (!d->n_entries) return why;
  wk_status_free(why);
  return NULL;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static size_t most_bytes(const wk_decoder *d, size_t i, bool output) {
  size_t bytes = 0;
  for (uint32_t k = 0; k < d->n_entries; k++) {
    const wick_entry_info *e = d->entries[k].info;
    const wick_tensor_info *t = output ? &e->outputs[i] : &e->inputs[i];
    if (t->bytes > bytes) bytes = t->bytes;
  }
  return bytes;
}

static wk_status make_buffers(wk_decoder *d) {
  const wk_roles *r = &d->roles;
  size_t *bytes = wk_arena_alloc(d->arena, r->n_out * sizeof *bytes);
  d->args = wk_arena_alloc(d->arena, r->n_in * sizeof *d->args);
  d->in = wk_arena_alloc(d->arena, r->n_in * sizeof *d->in);
  d->out = wk_arena_alloc(d->arena, r->n_out * sizeof *d->out);
  for (size_t i = 0; i < r->n_out; i++) bytes[i] = most_bytes(d, i, true);
  for (size_t i = 0; i < r->n_in; i++) {
    size_t n = most_bytes(d, i, false);
    if (r->roles[i] == WK_DECODER_CACHE) { /* the two change places */
      d->cache_bytes += n;
      if (n < bytes[r->present[i]]) n = bytes[r->present[i]];
      bytes[r->present[i]] = n;
    }
    if (!d->given[i].data) WK_TRY(wk_try_malloc(n, &d->in[i]));
  }
  for (size_t i = 0; i < r->n_out; i++) WK_TRY(wk_try_malloc(bytes[i], &d->out[i]));
  return NULL;
}

static wk_status measure_logits(wk_decoder *d) {
  const wick_entry_info *e = d->entries[0].info;
  const wick_tensor_info *t = &e->outputs[d->roles.logits];
  uint32_t last = t->rank ? t->rank - 1 : 0;
  if (!t->rank || t->dims[last] < 1 ||
      size_name(e, e->input_count + (uint32_t)d->roles.logits, last))
    return wk_error(WK_USAGE, "output %s is %s: its last axis is no vocabulary", t->name,
                    d->roles.out[d->roles.logits].type);
  d->vocabulary = t->dims[last];
  if (t->dtype == WICK_F32) return NULL;
  d->row = wk_xcalloc((size_t)d->vocabulary, sizeof *d->row);
  return NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Room for the whole text, where each run has all of it. */
static wk_status make_text(wk_decoder *d) {
  void *text;
  for (uint32_t i = 0; i < d->n_entries; i++) {
    const wick_tensor_info *ids = &d->entries[i].info->inputs[d->roles.ids];
    if (ids->dims[ids->rank - 1] > d->most) d->most = ids->dims[ids->rank - 1];
  }
  if (d->context && d->context < d->most) d->most = d->context;
  WK_TRY(wk_try_malloc((size_t)d->most * sizeof *d->text, &text));
  d->text = text;
  return NULL;
}

static wk_status open_decoder(wk_decoder *d, const wk_decoder_options *o, wk_strings *names) {
  const wick_entry_info *e = wick_model_entry(d->model, 0);
  WK_TRY(read_all_given(d, e, o->input, names));
  d->roles = (wk_roles){.in = ports_of(d->arena, e, false), .out = ports_of(d->arena, e, true),
                        .n_in = e->input_count, .n_out = e->output_count};
  WK_TRY(wk_roles_find(&d->roles, o->role, names, d->arena));
  WK_TRY(open_entries(d, o));
  WK_TRY(measure_logits(d));
  d->has_caches = d->state != NULL;
  for (size_t i = 0; i < d->roles.n_in; i++)
    d->has_caches |= d->roles.roles[i] == WK_DECODER_CACHE;
  if (!d->has_caches && o->chunk)
    return wk_error(WK_USAGE, "--chunk: the decoder has no caches, each run has the whole text");
  if (!d->has_caches) WK_TRY(make_text(d));
  return make_buffers(d);
}

wk_status wk_decoder_open(const wick_model *m, const wk_decoder_options *o, wk_decoder **out) {
  wk_decoder *d = wk_xcalloc(1, sizeof *d);
  wk_strings names = {0};
  *d = (wk_decoder){.arena = wk_arena_new(), .model = m, .context = o->context,
                    .chunk = o->chunk};
  wk_status s = open_decoder(d, o, &names);
  wk_vec_free(&names);
  if (s) wk_decoder_free(d);
  else *out = d;
  return s;
}

void wk_decoder_free(wk_decoder *d) {
  if (!d) return;
  for (uint32_t i = 0; i < d->n_entries; i++) wick_session_free(d->entries[i].session);
  wick_state_free(d->state);
  for (size_t i = 0; d->in && i < d->roles.n_in; i++) free(d->in[i]);
  for (size_t i = 0; d->out && i < d->roles.n_out; i++) free(d->out[i]);
  for (size_t i = 0; d->given && i < wick_model_entry(d->model, 0)->input_count; i++)
    wk_tensor_free(&d->given[i]);
  free(d->text);
  free(d->row);
  wk_arena_free(d->arena);
  free(d);
}

int64_t wk_decoder_vocabulary(const wk_decoder *d) { return d->vocabulary; }
int64_t wk_decoder_fitting(const wk_decoder *d) { return d->has_caches ? d->position : d->most; }
uint64_t wk_decoder_cache_bytes(const wk_decoder *d) { return d->cache_bytes; }
const char *wk_decoder_full(const wk_decoder *d) { return d->full; }
