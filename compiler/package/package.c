/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables are kept in the file's own row format from the start. Writing runs over the sections
 * twice: once into a sink that only counts and sums, which gives header and section table, and once
 * for real (write.c). */
#include "compiler/package/tables.h"

#include <stdlib.h>
#include <string.h>

static void append_string(wk_package *p, const char *s, size_t n) {
  wk_vec_reserve(&p->strings, p->strings.n + n);
  memcpy(p->strings.data + p->strings.n, s, n);
  p->strings.n += n;
}

/* Offset of the text in STRINGS; equal texts share theirs. */
static uint32_t intern(wk_package *p, const char *s) {
  uint32_t offset;
  if (!s || !*s) return 0;
  if (wk_map_get(p->text_offsets, s, &offset)) return offset;
  offset = (uint32_t)p->strings.n; /* write refuses tables beyond 32 bits */
  wk_map_put(p->text_offsets, wk_arena_strdup(p->texts, s), offset);
  append_string(p, s, strlen(s) + 1);
  return offset;
}

wk_package *wk_package_new(const wk_package_meta *meta) {
  wk_package *p = wk_xcalloc(1, sizeof *p);
  p->texts = wk_arena_new();
  p->text_offsets = wk_map_new();
  append_string(p, "", 1);
  p->meta = (wick_pkg_meta){
      .abi = WICK_ABI_VERSION,
      .model = intern(p, meta->model),
      .compiler = intern(p, meta->compiler),
      .flags = intern(p, meta->flags),
      .input_hash = meta->input_hash,
  };
  return p;
}

static void free_unit(wk_package_unit_data *u) {
  wk_vec_free(&u->code);
  wk_vec_free(&u->consts);
  wk_vec_free(&u->own);
  wk_vec_free(&u->symbols);
  wk_map_free(u->const_pieces);
}

void wk_package_free(wk_package *p) {
  if (!p) return;
  for (size_t i = 0; i < p->unit_data.n; i++) free_unit(&p->unit_data.data[i]);
  wk_vec_free(&p->unit_data);
  wk_vec_free(&p->units);
  wk_vec_free(&p->parts);
  wk_vec_free(&p->state_use);
  wk_vec_free(&p->entries);
  wk_vec_free(&p->tensors);
  wk_vec_free(&p->rows);
  wk_vec_free(&p->refs);
  wk_vec_free(&p->steps);
  wk_vec_free(&p->states);
  wk_vec_free(&p->labels);
  wk_vec_free(&p->extents);
  wk_vec_free(&p->strings);
  wk_vec_free(&p->initial);
  wk_map_free(p->text_offsets);
  wk_arena_free(p->texts);
  for (size_t i = 0; i < p->arenas.n; i++) wk_arena_free(p->arenas.data[i]);
  wk_vec_free(&p->arenas);
  free(p);
}

/* ---- units ----------------------------------------------------------------------------------- */

uint32_t wk_package_add_unit(wk_package *p, const wk_package_unit *u) {
  wick_pkg_unit row = {.target = intern(p, u->target),
                       .spec = intern(p, u->spec),
                       .features = intern(p, u->features),
                       .machine = u->machine,
                       .machine_hash = u->machine_hash};
  wk_package_unit_data data = {.const_pieces = wk_map_new()};
  wk_vec_push(&p->units, row);
  wk_vec_push(&p->unit_data, data);
  return (uint32_t)p->units.n - 1;
}

uint64_t wk_package_add_const(wk_package *p, uint32_t unit, const void *data, uint64_t size) {
  wk_package_unit_data *u = &p->unit_data.data[unit];
  const char *key = wk_arena_printf(p->texts, "%016llx %llx",
                                    (unsigned long long)wk_hash64(data, size, 0),
                                    (unsigned long long)size);
  uint32_t index;
  bool known = wk_map_get(u->const_pieces, key, &index);
  if (known && (size == 0 || memcmp(u->consts.data[index].data, data, size) == 0))
    return u->consts.data[index].offset;
  wk_package_piece c = {data, wk_align_up(u->const_size, WICK_ALIGN), size};
  if (!known) wk_map_put(u->const_pieces, key, (uint32_t)u->consts.n);
  wk_vec_push(&u->consts, c);
  u->const_size = c.offset + size;
  return c.offset;
}

uint64_t wk_package_add_code(wk_package *p, uint32_t unit, const void *blob, uint64_t size) {
  wk_package_unit_data *u = &p->unit_data.data[unit];
  uint64_t start = wk_align_up(u->code.n, WICK_PAGE);
  wk_vec_reserve(&u->code, start + size);
  memset(u->code.data + u->code.n, 0, start - u->code.n);
  memcpy(u->code.data + start, blob, size);
  u->code.n = start + size;
  return start;
}

void wk_package_add_symbol(wk_package *p, uint32_t unit, const char *name, uint64_t offset,
                           uint64_t size) {
  wick_pkg_symbol row = {.name = intern(p, name), .unit = unit, .offset = offset, .size = size};
  wk_vec_push(&p->unit_data.data[unit].symbols, row);
}

void wk_package_add_section(wk_package *p, uint32_t unit, const char *name, uint32_t align,
                            const void *data, uint64_t size) {
  wk_package_own own = {intern(p, name), align, data, size};
  wk_vec_push(&p->unit_data.data[unit].own, own);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Row-major without gaps. */
static void dense_strides(wick_pkg_tensor *row) {
  int64_t stride = 1;
  for (uint32_t k = row->rank; k-- > 0; stride *= row->dims[k]) row->strides[k] = stride;
}

/* From the first byte to behind the last. */
static uint64_t extent(const wick_pkg_tensor *row) {
  int64_t low = 0, high = 0;
  for (uint32_t k = 0; k < row->rank; k++) {
    if (row->dims[k] == 0) return 0;
    *(row->strides[k] < 0 ? &low : &high) += (row->dims[k] - 1) * row->strides[k];
  }
  return ((uint64_t)(high - low + 1) * row->bits + 7) / 8;
}

static uint32_t add_tensors(wk_package *p, const wk_package_tensor *tensors, size_t n) {
  uint32_t first = (uint32_t)p->tensors.n;
  for (size_t i = 0; i < n; i++) {
    const wk_package_tensor *t = &tensors[i];
    uint32_t element = (uint32_t)wick_dtype_bytes((wick_dtype)t->dtype);
    wick_pkg_tensor row = {.name = intern(p, t->name), .dtype = t->dtype, .bits = 8 * element,
                           .rank = (uint32_t)t->rank, .flags = t->flags, .place = t->place,
                           .align = t->align ? t->align : element, .index = t->index,
                           .offset = (uint64_t)t->offset};
    if (t->rank > WICK_MAX_RANK) row.rank = WICK_MAX_RANK, p->is_bad = true;
    for (uint32_t k = 0; k < row.rank; k++) row.dims[k] = t->dims[k];
    if (!t->strides) dense_strides(&row);
    for (uint32_t k = 0; k < row.rank && t->strides; k++) row.strides[k] = t->strides[k];
    row.bytes = extent(&row);
    wk_vec_push(&p->tensors, row);
  }
  return first;
}

const void *wk_package_keep(wk_package *p, const void *data, uint64_t size) {
  return wk_arena_memdup(p->texts, data, size);
}

void wk_package_keep_arena(wk_package *p, wk_arena *a) { wk_vec_push(&p->arenas, a); }

static bool is_zero(const char *data, uint64_t size) {
  return !size || (!data[0] && !memcmp(data, data + 1, size - 1));
}

uint64_t wk_package_add_state(wk_package *p, const wk_package_state *s) {
  wk_package_tensor t = {.name = s->name, .dtype = s->dtype, .rank = s->rank, .dims = s->dims,
                         .align = WICK_ALIGN, .place = WICK_PLACE_STATE,
                         .offset = (int64_t)wk_align_up(p->state_size, WICK_ALIGN)};
  wick_pkg_state row = {add_tensors(p, &t, 1), s->is_public ? WICK_STATE_PUBLIC : 0};
  wk_package_piece initial = {s->initial, (uint64_t)t.offset, p->tensors.data[row.tensor].bytes};
  if (initial.data && is_zero(initial.data, initial.size)) initial.data = NULL;
  wk_vec_push(&p->states, row);
  wk_vec_push(&p->initial, initial);
  p->state_size = initial.offset + initial.size;
  return initial.offset;
}

/* ---- parts and entries ----------------------------------------------------------------------- */

static void add_step(wk_package *p, const wk_package_step *s) {
  wick_pkg_step row = {.node = intern(p, s->node), .op = intern(p, s->op),
                       .text = intern(p, s->text), .code = s->code, .macs = s->macs,
                       .bytes = s->bytes, .tensor_count = (uint32_t)s->n_tensors};
  row.first_tensor = add_tensors(p, s->tensors, s->n_tensors);
  wk_vec_push(&p->steps, row);
}

uint32_t wk_package_add_part(wk_package *p, const wk_package_part *x) {
  wick_pkg_part row = {.name = intern(p, x->name),
                       .unit = x->unit,
                       .input_count = (uint32_t)x->n_inputs,
                       .output_count = (uint32_t)x->n_outputs,
                       .first_step = (uint32_t)p->steps.n,
                       .step_count = (uint32_t)x->n_steps,
                       .arena_align = x->arena_align ? x->arena_align : WICK_ALIGN,
                       .code = x->code,
                       .arena_bytes = x->arena_bytes,
                       .arena_bound = x->arena_bound,
                       .scratch_bytes = x->scratch_bytes};
  row.first_tensor = add_tensors(p, x->inputs, x->n_inputs);
  add_tensors(p, x->outputs, x->n_outputs);
  for (size_t i = 0; i < x->n_steps; i++) add_step(p, &x->steps[i]);
  wk_vec_push(&p->parts, row);
  wk_vec_push(&p->state_use, x->state_use);
  return (uint32_t)p->parts.n - 1;
}

static void add_refs(wk_package *p, const uint32_t *refs, size_t n, uint32_t *first,
                     uint32_t *count) {
  *first = (uint32_t)p->refs.n;
  *count = (uint32_t)n;
  for (size_t i = 0; i < n; i++) wk_vec_push(&p->refs, refs[i]);
}

static void add_row(wk_package *p, const wk_package_row *x) {
  wick_pkg_row row = {.kind = x->kind, .part = x->part, .body_count = x->body_count,
                      .else_count = x->else_count, .trip = x->trip, .bytes = x->bytes,
                      .source_offset = x->source_offset, .source_step = x->source_step,
                      .destination_offset = x->destination_offset,
                      .destination_step = x->destination_step};
  add_refs(p, x->tensors, x->n_tensors, &row.first_ref, &row.ref_count);
  add_refs(p, x->waits, x->n_waits, &row.first_wait, &row.wait_count);
  wk_vec_push(&p->rows, row);
}

/* Labels of output `output` of the entry that comes next. */
static void add_labels(wk_package *p, uint32_t output, const wk_package_labels *l) {
  wick_pkg_labels row = {.entry = (uint32_t)p->entries.n, .output = output, .kind = l->kind,
                         .flags = l->flags, .first_ref = (uint32_t)p->refs.n,
                         .count = (uint32_t)l->n};
  if (l->n > UINT32_MAX) p->is_bad = true;
  for (size_t i = 0; i < l->n; i++) wk_vec_push(&p->refs, intern(p, l->texts[i]));
  wk_vec_push(&p->labels, row);
}

/* Of the entry that comes next. */
static void add_extent(wk_package *p, const wk_package_extent *x) {
  wick_pkg_extent row = {.entry = (uint32_t)p->entries.n, .tensor = x->tensor, .axis = x->axis,
                         .size = x->size, .stage = x->stage, .name = intern(p, x->name),
                         .least = x->least};
  wk_vec_push(&p->extents, row);
}

void wk_package_add_entry(wk_package *p, const wk_package_entry *e) {
  wick_pkg_entry row = {.name = intern(p, e->name),
                        .flags = e->flags,
                        .input_count = (uint32_t)e->n_inputs,
                        .output_count = (uint32_t)e->n_outputs,
                        .edge_count = (uint32_t)e->n_edges,
                        .first_row = (uint32_t)p->rows.n,
                        .row_count = (uint32_t)e->n_rows,
                        .edge_bytes = e->edge_bytes,
                        .edge_align = e->edge_align ? e->edge_align : WICK_ALIGN};
  row.first_tensor = add_tensors(p, e->inputs, e->n_inputs);
  add_tensors(p, e->outputs, e->n_outputs);
  add_tensors(p, e->edges, e->n_edges);
  for (size_t i = 0; i < e->n_rows; i++) {
    add_row(p, &e->rows[i]);
    bool runs = e->rows[i].kind == WICK_ROW_RUN && e->rows[i].part < p->parts.n;
    if (runs) row.flags |= p->state_use.data[e->rows[i].part];
  }
  for (size_t i = 0; i < e->n_outputs; i++)
    if (e->outputs[i].labels) add_labels(p, (uint32_t)i, e->outputs[i].labels);
  for (size_t i = 0; i < e->n_extents; i++) add_extent(p, &e->extents[i]);
  wk_vec_push(&p->entries, row);
}

/* Its tensors are the part's: the same rows. */
void wk_package_add_whole(wk_package *p, const char *name, uint32_t part) {
  const wick_pkg_part *x = &p->parts.data[part];
  wick_pkg_entry row = {.name = intern(p, name),
                        .flags = p->state_use.data[part],
                        .first_tensor = x->first_tensor,
                        .input_count = x->input_count,
                        .output_count = x->output_count,
                        .first_row = (uint32_t)p->rows.n,
                        .row_count = 1,
                        .edge_align = WICK_ALIGN};
  wick_pkg_row run = {.kind = WICK_ROW_RUN, .part = part, .first_ref = (uint32_t)p->refs.n,
                      .ref_count = x->input_count + x->output_count};
  run.first_wait = run.first_ref + run.ref_count;
  for (uint32_t i = 0; i < run.ref_count; i++) wk_vec_push(&p->refs, i);
  wk_vec_push(&p->rows, run);
  wk_vec_push(&p->entries, row);
}
