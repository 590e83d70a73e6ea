/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/emit.h"

#include <stdlib.h>

#include "compiler/memory/memory.h"
#include "compiler/package/package.h"
#include "wick_version.h"

static wk_package *package_new(const wk_emit_options *o) {
  return wk_package_new(&(wk_package_meta){
      .model = o->model_name && *o->model_name ? o->model_name : "model",
      .compiler = WICK_VERSION, .flags = o->command, .input_hash = o->input_hash});
}

/* Writes the package unless s says that it is not whole; frees it. */
static wk_status finish(wk_package *pkg, wk_status s, const char *path) {
  wk_out *out;
  if (!s) s = wk_out_open(path, &out);
  if (!s) {
    s = wk_package_write(pkg, out);
    if (s) wk_out_abort(out);
    else s = wk_out_commit(out);
  }
  wk_package_free(pkg);
  return s;
}

/* ---- entries --------------------------------------------------------------------------------- */

static const wk_package_labels *labels_of(const wk_labels *l, wk_arena *a) {
  if (!l) return NULL;
  wk_package_labels *out = wk_arena_alloc(a, sizeof *out);
  *out = (wk_package_labels){
      .kind = l->kind == WK_LABELS_COLUMNS ? WICK_LABELS_COLUMNS : WICK_LABELS_ELEMENTS,
      .flags = l->are_numbers ? WICK_LABELS_NUMBERS : 0,
      .texts = l->texts.v, .n = (size_t)l->texts.n};
  return out;
}

static wk_package_tensor *tensors(const wk_part_tensor *t, size_t n, bool is_edge, wk_arena *a) {
  wk_package_tensor *out = wk_arena_alloc(a, n * sizeof *out);
  for (size_t i = 0; i < n; i++)
    out[i] = (wk_package_tensor){.name = t[i].name, .dtype = (uint32_t)t[i].type.dtype,
                                 .rank = t[i].type.rank, .dims = t[i].type.dims,
                                 .place = is_edge ? WICK_PLACE_EDGE : WICK_PLACE_CALLER,
                                 .offset = is_edge ? t[i].offset : 0,
                                 .labels = labels_of(t[i].labels, a)};
  return out;
}

static wk_package_row *rows(const wk_parts *p, const uint32_t *part, wk_arena *a) {
  wk_package_row *out = wk_arena_alloc(a, p->rows.n * sizeof *out);
  for (size_t i = 0; i < p->rows.n; i++) {
    const wk_part_row *r = &p->rows.data[i];
    out[i] = (wk_package_row){.kind = r->kind, .part = r->kind == WICK_ROW_RUN ? part[r->part] : 0,
                              .tensors = r->tensors.data, .n_tensors = r->tensors.n,
                              .waits = r->waits.data, .n_waits = r->waits.n,
                              .body_count = r->body_count, .else_count = r->else_count,
                              .trip = r->trip, .bytes = (uint64_t)r->bytes,
                              .source_offset = r->source_offset, .source_step = r->source_step,
                              .destination_offset = r->destination_offset,
                              .destination_step = r->destination_step};
  }
  return out;
}

/* part: the package's numbers of the parts. */
static void add_entry(wk_package *pkg, const wk_emit_entry *e, const uint32_t *part) {
  const wk_parts *p = e->parts;
  size_t n_io = p->n_in + p->n_out;
  wk_arena *a = wk_arena_new();
  wk_package_entry entry = {
      .name = e->name,
      .inputs = tensors(p->tensors.data, p->n_in, false, a), .n_inputs = p->n_in,
      .outputs = tensors(p->tensors.data + p->n_in, p->n_out, false, a), .n_outputs = p->n_out,
      .edges = tensors(p->tensors.data + n_io, p->tensors.n - n_io, true, a),
      .n_edges = p->tensors.n - n_io,
      .rows = rows(p, part, a), .n_rows = p->rows.n,
      .edge_bytes = (uint64_t)p->edge_bytes};
  wk_package_add_entry(pkg, &entry);
  wk_arena_free(a);
}

/* ---- state ----------------------------------------------------------------------------------- */

/* The variables of all programs, one memory that they share. Before code is generated. */
static wk_status add_states(wk_package *pkg, wk_program *const *programs, size_t n) {
  wk_arena *scratch = wk_arena_new();
  wk_state *states;
  size_t n_states = 0;
  wk_status s = wk_place_states(programs, n, scratch, &states, &n_states);
  for (size_t i = 0; i < n_states && !s; i++) {
    const wk_program_io *io = states[i].io;
    wk_package_add_state(pkg, &(wk_package_state){.name = io->name,
                                                  .dtype = (uint32_t)io->type.dtype,
                                                  .rank = io->type.rank, .dims = io->type.dims,
                                                  .is_public = io->is_public,
                                                  .initial = states[i].initial});
  }
  wk_arena_free(scratch);
  return s;
}

typedef WK_VEC(wk_program *) program_list;

static program_list with_states(const wk_emit_entry *entries, size_t n) {
  program_list programs = {0};
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < entries[i].parts->parts.n; k++) {
      wk_program *p = entries[i].parts->parts.data[k].program;
      if (p && p->states.n) wk_vec_push(&programs, p);
    }
  return programs;
}

static wk_status add_entry_states(wk_package *pkg, const wk_emit_entry *entries, size_t n) {
  program_list programs = with_states(entries, n);
  wk_status s = add_states(pkg, programs.data, programs.n);
  wk_vec_free(&programs);
  return s;
}

/* The same places, for what is no package. */
static wk_status share_states(const wk_emit_entry *entries, size_t n) {
  program_list programs = with_states(entries, n);
  wk_status s = wk_place_states(programs.data, programs.n, NULL, NULL, NULL);
  wk_vec_free(&programs);
  return s;
}

/* ---- parts by target ------------------------------------------------------------------------- */

typedef struct {
  const wk_emit_entry *entries;
  size_t n;
  uint32_t *first; /* per entry, number of its first part among all */
  uint32_t total;
  uint32_t *row; /* per part, its number in the package */
  wk_target_part *parts;
  uint32_t *of, *made; /* scratch of one target: which part, and its number */
} emission;

static emission emission_new(const wk_emit_entry *entries, size_t n) {
  emission e = {.entries = entries, .n = n, .first = wk_xcalloc(n, sizeof *e.first)};
  for (size_t i = 0; i < n; i++) {
    e.first[i] = e.total;
    e.total += (uint32_t)entries[i].parts->parts.n;
  }
  e.row = wk_xcalloc(e.total, sizeof *e.row);
  e.parts = wk_xcalloc(e.total, sizeof *e.parts);
  e.of = wk_xcalloc(e.total, sizeof *e.of);
  e.made = wk_xcalloc(e.total, sizeof *e.made);
  return e;
}

static void emission_free(emission *e) {
  free(e->first);
  free(e->row);
  free(e->parts);
  free(e->of);
  free(e->made);
}

/* What the part reads and leaves: tensors of a row that runs it. NULL: none does. */
static const wk_target_tensor *tensors_of(const wk_parts *p, uint32_t part) {
  size_t i = 0;
  while (i < p->rows.n && (p->rows.data[i].kind != WICK_ROW_RUN || p->rows.data[i].part != part))
    i++;
  if (i == p->rows.n) return NULL;
  const wk_numbers *of = &p->rows.data[i].tensors;
  wk_target_tensor *out = wk_arena_alloc(p->arena, of->n * sizeof *out);
  for (size_t k = 0; k < of->n; k++) {
    const wk_part_tensor *t = &p->tensors.data[of->data[k]];
    out[k] = (wk_target_tensor){t->name, t->of, t->layout, t->quantised};
  }
  return out;
}

/* The parts of one target, of all entries; their count. */
static size_t collect(emission *e, uint32_t target) {
  size_t n = 0;
  for (size_t i = 0; i < e->n; i++) {
    const wk_parts *p = e->entries[i].parts;
    for (size_t k = 0; k < p->parts.n; k++) {
      const wk_part *part = &p->parts.data[k];
      if (part->target != target) continue;
      e->of[n] = e->first[i] + (uint32_t)k;
      e->parts[n++] = (wk_target_part){
          .name = !part->owns_module ? e->entries[i].name
                  : e->n == 1        ? part->name
                                     : wk_arena_printf(p->arena, "%zu.%s", i, part->name),
          .graph = part->module->main, .program = part->program,
          .tensors = tensors_of(p, (uint32_t)k)};
    }
  }
  return n;
}

static void join(wk_emit_result *all, const wk_emit_result *one) {
  if (one->scratch_bytes > all->scratch_bytes) all->scratch_bytes = one->scratch_bytes;
  all->predicted_cycles += one->predicted_cycles;
}

static wk_status compile(emission *e, const wk_targets *t, const wk_emit_options *o,
                         wk_package *pkg, wk_emit_result *result) {
  for (uint32_t target = 0; target < t->n; target++) {
    wk_emit_result one = {.scratch_bytes = -1};
    const wk_instance *instance = t->list[target];
    size_t n = collect(e, target);
    if (!n) continue;
    wk_status s = instance->target->compile(instance, e->parts, n, o, pkg, e->made, &one);
    if (s) return wk_status_note(s, "while compiling for target %s", instance->target->name);
    for (size_t i = 0; i < n; i++) e->row[e->of[i]] = e->made[i];
    join(result, &one);
  }
  return NULL;
}

static int64_t other_macs(const wk_emit_entry *entries, size_t n) {
  int64_t macs = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < entries[i].parts->parts.n; k++) {
      const wk_part *part = &entries[i].parts->parts.data[k];
      if (part->target) macs += part->macs;
    }
  return macs;
}

wk_status wk_emit_package(const wk_targets *t, const wk_emit_entry *entries, size_t n,
                          const wk_emit_options *o, const char *path, wk_emit_result *result) {
  emission e = emission_new(entries, n);
  wk_package *pkg = package_new(o);
  wk_status s = add_entry_states(pkg, entries, n);
  if (!s) s = compile(&e, t, o, pkg, result);
  result->other_macs = other_macs(entries, n);
  for (size_t i = 0; i < n && !s; i++) add_entry(pkg, &entries[i], e.row + e.first[i]);
  emission_free(&e);
  return finish(pkg, s, path);
}

wk_status wk_emit_parts(const wk_targets *t, wk_parts *p, const wk_emit_options *o,
                        const char *path, uint32_t *entry) {
  wk_emit_result result = {.scratch_bytes = -1};
  wk_emit_entry whole = {"", p};
  emission e = emission_new(&whole, 1);
  wk_package *pkg = package_new(o);
  wk_status s = add_entry_states(pkg, &whole, 1);
  if (!s) s = compile(&e, t, o, pkg, &result);
  uint32_t n = 0;
  for (size_t i = 0; i < p->parts.n && !s; i++) {
    entry[i] = p->parts.data[i].target < t->n ? n++ : WK_NONE;
    if (entry[i] != WK_NONE) wk_package_add_whole(pkg, p->parts.data[i].name, e.row[i]);
  }
  emission_free(&e);
  return finish(pkg, s, path);
}

/* ---- other outputs --------------------------------------------------------------------------- */

static wk_status check_foreign(const wk_target_output *output, const wk_instance *t,
                               const wk_emit_entry *entries, size_t n) {
  wk_status s = NULL;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < entries[i].parts->parts.n; k++) {
      const wk_part *p = &entries[i].parts->parts.data[k];
      if (p->instance == t && !p->owns_module) continue;
      if (!s)
        s = wk_error(WK_UNSUPPORTED, "--emit %s holds code of target %s alone, in one piece; a "
                                     "package holds all parts", output->name, t->target->name);
      s = wk_status_item(s, "part %s is for target %s", p->name, p->instance->target->name);
    }
  return s;
}

wk_status wk_emit_output(const wk_target_output *output, const wk_instance *t,
                         const wk_emit_entry *entries, size_t n, const wk_emit_options *o,
                         const char *path, wk_emit_result *result) {
  if (!output->leaves_others) WK_TRY(check_foreign(output, t, entries, n));
  WK_TRY(share_states(entries, n));
  emission e = emission_new(entries, n);
  size_t parts = 0;
  for (uint32_t target = 0; target < entries[0].parts->targets->n && !parts; target++)
    if (entries[0].parts->targets->list[target] == t) parts = collect(&e, target);
  wk_status s = output->write(t, e.parts, parts, o, path, result);
  emission_free(&e);
  return s;
}

wk_status wk_emit_programs(const wk_instance *t, wk_program *const *programs, size_t n,
                           const wk_emit_options *o, const char *path) {
  wk_emit_result result = {.scratch_bytes = -1};
  wk_target_part *parts = wk_xcalloc(n, sizeof *parts);
  uint32_t *row = wk_xcalloc(n, sizeof *row);
  wk_package *pkg = package_new(o);
  for (size_t i = 0; i < n; i++)
    parts[i] = (wk_target_part){.name = programs[i]->name, .program = programs[i]};
  wk_status s = add_states(pkg, programs, n);
  if (!s) s = t->target->compile(t, parts, n, o, pkg, row, &result);
  for (size_t i = 0; i < n && !s; i++) wk_package_add_whole(pkg, programs[i]->name, row[i]);
  free(parts);
  free(row);
  return finish(pkg, s, path);
}
