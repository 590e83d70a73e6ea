/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries and their plans. A plan is walked once in the order of its rows, with a stack of the
 * bodies around: every body lies within its owner's, every row waits only for rows that begin
 * before it, every tensor fits what a part or a copy makes of it. Each row takes its numbers in
 * REFS behind those of the row before, so that no number is looked at twice. */
#include "internal.h"

typedef struct {
  uint32_t owner; /* row; WICK_NONE: the plan itself */
  uint32_t end;   /* of the body */
  int64_t trip;   /* iterations of the innermost loop around */
} body;

typedef struct {
  wick_decoder *d;
  const wick_pkg_entry *entry;
  wick_entry_info *info;
  wick_plan *plan;
  body stack[WICK_MAX_DEPTH + 1];
  uint32_t depth;
  uint64_t runs, steps; /* rows that run parts; steps of these parts */
} planner;

/* ---- tensors --------------------------------------------------------------------------------- */

static bool is_read_only(const planner *p, uint32_t tensor) {
  const wick_tensor_info *t = &p->plan->tensors[tensor];
  return tensor < p->info->input_count || t->place == WICK_PLACE_INPUT ||
         wick_plan_is_given(p->plan, t);
}

/* What the caller gives of it is looked at in its stage alone. */
static bool is_staged(const planner *p, uint32_t tensor) {
  return tensor < p->info->input_count && p->info->inputs[tensor].is_bound;
}

/* An edge within an input or output has its alignment from there. */
static bool is_held(const wick_tensor_info *edge, const wick_tensor_info *holders, uint32_t n) {
  return edge->index < n && wick_tensor_is_within(edge, holders[edge->index].bytes) &&
         holders[edge->index].align >= edge->align;
}

static bool has_its_place(const planner *p, const wick_tensor_info *edge) {
  const wick_entry_info *e = p->info;
  if (edge->is_bound || !wick_tensor_is_forward(edge) ||
      edge->offset % (int64_t)edge->align != 0 || edge->align < (edge->bits + 7) / 8)
    return false;
  switch (edge->place) {
    case WICK_PLACE_EDGE:
      return wick_tensor_is_within(edge, p->entry->edge_bytes) &&
             edge->align <= p->entry->edge_align;
    case WICK_PLACE_INPUT:
      return is_held(edge, e->inputs, e->input_count) && !is_staged(p, edge->index);
    case WICK_PLACE_OUTPUT: return is_held(edge, e->outputs, e->output_count);
    case WICK_PLACE_STATE:
      return wick_tensor_is_within(edge, p->d->model->info.state_bytes) &&
             (e->reads_state || e->writes_state);
    default: return false;
  }
}

static bool has_its_tensors(planner *p) {
  const wick_entry_info *e = p->info;
  uint32_t ports = e->input_count + e->output_count;
  for (uint32_t i = 0; i < p->plan->tensor_count; i++) {
    const wick_tensor_info *t = &p->plan->tensors[i];
    if (i >= ports && !has_its_place(p, t)) return false;
    if (i >= ports) continue;
    if (t->place != WICK_PLACE_CALLER || !wick_tensor_is_dense(t) ||
        t->align < (t->bits + 7) / 8)
      return false;
    p->plan->has_bound = p->plan->has_bound || (t->is_bound && i >= e->input_count);
  }
  return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What a part takes or leaves is, element for element, what the entry has. It leaves dims where
 * there are no extents. */
static bool fits(const planner *p, uint32_t tensor, const wick_tensor_info *part) {
  const wick_tensor_info *entry = &p->plan->tensors[tensor];
  bool is_bound = entry->is_bound && !wick_extent_from(p->info, tensor, 0);
  if (entry->dtype != part->dtype || entry->bits != part->bits || entry->rank != part->rank ||
      entry->align < part->align || is_bound != part->is_bound || entry->bytes != part->bytes)
    return false;
  for (uint32_t i = 0; i < part->rank; i++) {
    if (entry->dims[i] != part->dims[i]) return false;
    if (part->bytes && part->dims[i] > 1 && entry->strides[i] != part->strides[i]) return false;
  }
  return true;
}

static bool check_run(planner *p, const wick_pkg_row *row, const uint32_t *refs) {
  wick_decoder *d = p->d;
  if (row->part >= d->part_count) return false;
  const wick_part_info *part = &d->model->parts[row->part];
  bool is_whole = p->info->edge_count == 0;
  if (row->ref_count != part->input_count + part->output_count) return false;
  for (uint32_t i = 0; i < row->ref_count; i++) {
    if (refs[i] >= p->plan->tensor_count || !fits(p, refs[i], &part->inputs[i])) return false;
    if (i >= part->input_count && is_read_only(p, refs[i])) return false;
    is_whole = is_whole && refs[i] == i;
  }
  p->plan->is_whole = is_whole && p->plan->row_count == 1 &&
                      part->input_count == p->info->input_count &&
                      part->output_count == p->info->output_count;
  p->runs++;
  p->steps += part->step_count;
  return p->steps <= UINT32_MAX;
}

/* The bytes that the iterations of a loop touch lie within the tensor. */
static bool is_copied(const planner *p, uint32_t tensor, int64_t offset, int64_t step,
                      const wick_pkg_row *row) {
  int64_t trip = p->stack[p->depth].trip, last;
  if (tensor >= p->plan->tensor_count || row->bytes >> WICK_MAX_BYTES_LOG2) return false;
  if (__builtin_mul_overflow(trip > 0 ? trip - 1 : 0, step, &last) ||
      __builtin_add_overflow(offset, last, &last) || offset < 0 || last < 0)
    return false;
  uint64_t bytes = p->plan->tensors[tensor].bytes;
  return wick_is_range((uint64_t)offset, row->bytes, bytes) &&
         wick_is_range((uint64_t)last, row->bytes, bytes);
}

static bool check_copy(const planner *p, const wick_pkg_row *row, const uint32_t *refs) {
  return row->ref_count == 2 &&
         is_copied(p, refs[0], row->source_offset, row->source_step, row) &&
         is_copied(p, refs[1], row->destination_offset, row->destination_step, row) &&
         !is_read_only(p, refs[1]);
}

static bool is_scalar(const planner *p, uint32_t tensor, wick_dtype dtype) {
  if (tensor >= p->plan->tensor_count) return false;
  const wick_tensor_info *t = &p->plan->tensors[tensor];
  return t->dtype == dtype && t->rank == 0;
}

static bool check_loop(const planner *p, const wick_pkg_row *row, const uint32_t *refs) {
  if (row->ref_count != 2 || row->trip < 0) return false;
  return (refs[0] == WICK_NONE || is_scalar(p, refs[0], WICK_BOOL)) &&
         (refs[1] == WICK_NONE ||
          (is_scalar(p, refs[1], WICK_I64) && !is_read_only(p, refs[1])));
}

/* What the row's kind does not have is 0. */
static bool is_tidy(const wick_pkg_row *row) {
  bool copies = row->kind == WICK_ROW_COPY, loops = row->kind == WICK_ROW_LOOP;
  bool has_bytes = row->bytes || row->source_offset || row->source_step ||
                   row->destination_offset || row->destination_step;
  return (copies || !has_bytes) && (loops || row->trip == 0) &&
         (row->kind == WICK_ROW_RUN || row->part == 0) &&
         (loops || row->kind == WICK_ROW_IF || row->body_count == 0) &&
         (row->kind == WICK_ROW_IF || row->else_count == 0);
}

static bool check_kind(planner *p, const wick_pkg_row *row, const uint32_t *refs) {
  switch (row->kind) {
    case WICK_ROW_RUN: return check_run(p, row, refs);
    case WICK_ROW_COPY: return check_copy(p, row, refs);
    case WICK_ROW_IF: return row->ref_count == 1 && is_scalar(p, refs[0], WICK_BOOL);
    case WICK_ROW_LOOP: return check_loop(p, row, refs);
    default: return false;
  }
}

static bool check_waits(const planner *p, const uint32_t *waits, uint32_t count, uint32_t number) {
  for (uint32_t i = 0; i < count; i++) {
    if (waits[i] >= number) return false;
    for (uint32_t k = 1; k <= p->depth; k++)
      if (waits[i] == p->stack[k].owner) return false;
  }
  return true;
}

static bool enter(planner *p, uint32_t owner, uint32_t first, uint32_t count, int64_t trip) {
  if (!wick_is_range(first, count, p->stack[p->depth].end)) return false;
  if (p->depth == WICK_MAX_DEPTH) return false;
  p->stack[++p->depth] = (body){owner, first + count, trip};
  return true;
}

/* The else rows are a body that begins where the then rows end; both are on the stack at once. */
static bool enter_bodies(planner *p, const wick_pkg_row *row, uint32_t number) {
  uint32_t bodies = row->body_count + row->else_count;
  int64_t trip = row->kind == WICK_ROW_LOOP ? row->trip : p->stack[p->depth].trip;
  if (bodies < row->body_count) return false;
  if (bodies == 0) return true;
  if (!enter(p, number, number + 1, bodies, trip)) return false;
  return row->else_count == 0 || row->body_count == 0 ||
         enter(p, number, number + 1, row->body_count, trip);
}

static bool mentions_staged(const planner *p, const uint32_t *refs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (is_staged(p, refs[i])) return true;
  return false;
}

static bool check_row(planner *p, uint32_t number) {
  wick_decoder *d = p->d;
  const wick_pkg_row *row = &p->plan->rows[number];
  const uint32_t *refs = d->refs + d->next_ref, *waits = refs + row->ref_count;
  uint64_t taken = (uint64_t)row->ref_count + row->wait_count;
  while (p->depth > 0 && p->stack[p->depth].end == number) p->depth--;
  if (row->first_ref != d->next_ref || row->first_wait != d->next_ref + row->ref_count ||
      taken > d->ref_count - d->next_ref)
    return false;
  d->next_ref += taken;
  return is_tidy(row) && !mentions_staged(p, refs, row->ref_count) && check_kind(p, row, refs) &&
         check_waits(p, waits, row->wait_count, number) && enter_bodies(p, row, number);
}

static bool has_its_rows(planner *p) {
  p->stack[0] = (body){WICK_NONE, p->plan->row_count, 1};
  for (uint32_t i = 0; i < p->plan->row_count; i++)
    if (!check_row(p, i)) return false;
  return true;
}

/* ---- what the entry says about itself -------------------------------------------------------- */

static bool add_size(size_t *sum, uint64_t bytes) {
  *sum += bytes;
  return *sum >> WICK_MAX_BYTES_LOG2 == 0;
}

/* A session has one arena for all parts of a unit. */
static bool add_up_memory(const planner *p) {
  const wick_model *m = p->d->model;
  wick_entry_info *e = p->info;
  e->arena_bytes = e->arena_bound = e->edge_bytes;
  for (uint32_t u = 0; u < m->info.unit_count; u++) {
    size_t most = 0, bound = 0;
    for (uint32_t i = 0; i < e->part_count; i++) {
      const wick_part_info *part = e->parts[i];
      if (part->scratch_bytes > e->scratch_bytes) e->scratch_bytes = part->scratch_bytes;
      if (part->unit != u) continue;
      if (part->arena_bytes > most) most = part->arena_bytes;
      if (part->arena_bound > bound) bound = part->arena_bound;
    }
    if (!add_size(&e->arena_bytes, most) || !add_size(&e->arena_bound, bound)) return false;
  }
  return true;
}

/* False: no memory. */
static bool list_parts(planner *p) {
  wick_model *m = p->d->model;
  const wick_part_info **parts = wick_model_alloc(m, p->runs, sizeof *parts);
  uint32_t *row_parts = wick_model_alloc(m, p->plan->row_count, sizeof *row_parts), n = 0;
  if (!parts || !row_parts) return false;
  for (uint32_t i = 0; i < p->plan->row_count; i++) {
    if (p->plan->rows[i].kind != WICK_ROW_RUN) continue;
    row_parts[i] = n;
    parts[n++] = &m->parts[p->plan->rows[i].part];
  }
  p->info->parts = parts;
  p->info->part_count = n;
  p->plan->parts = row_parts;
  return true;
}

/* Of generated code steps are all there is: a part without them does nothing. Another target's part
 * without them does not tell what it does. */
static bool tells_steps(const wick_model *m, const wick_part_info *part) {
  const wick_pkg_unit *unit = &m->unit_rows[part->unit];
  return part->step_count > 0 ||
         (unit->section_count && m->section_rows[unit->first_section].kind == WICK_SECTION_CODE);
}

/* A run gives its parts no state unless the entry uses it. */
static bool finds_its_state(const planner *p) {
  if (p->info->reads_state || p->info->writes_state) return true;
  for (uint32_t i = 0; i < p->info->part_count; i++) {
    const wick_part_info *part = p->info->parts[i];
    for (uint32_t k = 0; k < part->step_count; k++)
      for (uint32_t t = 0; t < part->steps[k].tensor_count; t++)
        if (part->steps[k].tensors[t].place == WICK_PLACE_STATE) return false;
  }
  return true;
}

static bool list_steps(planner *p) {
  wick_entry_info *e = p->info;
  wick_model *m = p->d->model;
  wick_step_info *steps = NULL;
  e->step_count = (uint32_t)p->steps;
  e->has_steps = 1;
  if (e->part_count > 1) {
    steps = wick_model_alloc(m, p->steps, sizeof *steps);
    if (!steps) return false;
  }
  e->steps = e->part_count == 1 ? e->parts[0]->steps : steps;
  for (uint32_t i = 0, n = 0; i < e->part_count; n += e->parts[i++]->step_count) {
    const wick_part_info *part = e->parts[i];
    const uint64_t *code = m->step_code + (part->steps - m->steps);
    if (!tells_steps(m, part)) e->has_steps = 0;
    for (uint32_t k = 0; k < part->step_count; k++) {
      if (code[k] == WICK_NO_CODE) e->has_steps = 0;
      if (steps) steps[n + k] = part->steps[k];
    }
  }
  return true;
}

static bool begin_entry(planner *p) {
  wick_decoder *d = p->d;
  const wick_pkg_entry *row = p->entry;
  uint64_t tensors = (uint64_t)row->input_count + row->output_count + row->edge_count;
  if (tensors > UINT32_MAX || !wick_is_range(row->first_tensor, tensors, d->tensor_count) ||
      row->first_row != d->next_row || row->row_count > d->row_count - d->next_row ||
      row->edge_bytes >> WICK_MAX_BYTES_LOG2 || row->reserved != 0 ||
      !wick_is_alignment(row->edge_align, WICK_ALIGN) ||
      row->flags > (WICK_ENTRY_READS_STATE | WICK_ENTRY_WRITES_STATE) ||
      (row->flags && d->state_count == 0))
    return false;
  d->next_row += row->row_count;
  const wick_tensor_info *first = d->model->tensors + row->first_tensor;
  *p->info = (wick_entry_info){
      .size = sizeof *p->info,
      .name = wick_decoder_text(d, row->name),
      .input_count = row->input_count,
      .output_count = row->output_count,
      .edge_count = row->edge_count,
      .inputs = first,
      .outputs = first + row->input_count,
      .edges = first + row->input_count + row->output_count,
      .edge_bytes = row->edge_bytes,
      .reads_state = (row->flags & WICK_ENTRY_READS_STATE) != 0,
      .writes_state = (row->flags & WICK_ENTRY_WRITES_STATE) != 0,
  };
  *p->plan = (wick_plan){.rows = d->rows + row->first_row, .row_count = row->row_count,
                         .refs = d->refs, .tensors = first, .tensor_count = (uint32_t)tensors,
                         .edge_align = row->edge_align};
  return p->info->name != NULL;
}

static wick_status decode_entry(wick_decoder *d, uint64_t i) {
  planner p = {.d = d, .entry = &d->entry_rows[i], .info = &d->model->entries[i],
               .plan = &d->model->plans[i]};
  if (!begin_entry(&p) || !has_its_tensors(&p)) return wick_decoder_corrupt(d, "ENTRIES", i);
  wick_status status = wick_decode_extents(d, i);
  if (status != WICK_OK) return status;
  if (!has_its_rows(&p)) return wick_decoder_corrupt(d, "ENTRIES", i);
  if (!list_parts(&p) || !list_steps(&p))
    return wick_fail(d->detail, WICK_NO_MEMORY, "out of memory");
  status = wick_decode_labels(d, i);
  if (status != WICK_OK) return status;
  return finds_its_state(&p) && add_up_memory(&p) ? WICK_OK : wick_decoder_corrupt(d, "ENTRIES", i);
}

wick_status wick_decode_entries(wick_decoder *d) {
  for (uint64_t i = 0; i < d->entry_count; i++) {
    wick_status status = decode_entry(d, i);
    if (status != WICK_OK) return status;
  }
  if (d->next_row != d->row_count || d->next_ref != d->ref_count ||
      d->next_label != d->label_count || d->next_extent != d->extent_count)
    return wick_fail(d->detail, WICK_CORRUPT, "PLAN, REFS, LABELS or EXTENTS belong to no entry");
  return WICK_OK;
}
