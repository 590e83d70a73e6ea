/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static wk_package_tensor tensor_of(const wk_part_tensor *t, wick_place place, int64_t offset,
                                   wk_arena *a) {
  return (wk_package_tensor){.name = t->name, .dtype = (uint32_t)t->type.dtype,
                             .rank = t->type.rank, .dims = t->type.dims,
                             .place = place, .offset = offset, .labels = labels_of(t->labels, a)};
}

/* Where a variable lies, which one of the parts at least changes. */
static int64_t place_in_state(const wk_parts *p, const char *variable) {
  for (size_t i = 0; i < p->parts.n; i++) {
    const wk_program *x = p->parts.data[i].program;
    for (size_t k = 0; x && k < x->states.n; k++)
      if (!strcmp(x->states.data[k].name, variable))
        return x->buffers.data[x->states.data[k].buffer].offset;
  }
  wk_xcheck(wk_error_at(WK_INTERNAL, variable, "no part has this variable"));
  return 0;
}

static wk_package_row row_of(const wk_part_row *r, const uint32_t *part, const uint32_t *number,
                             wk_arena *a) {
  uint32_t *refs = wk_arena_alloc(a, r->tensors.n * sizeof *refs);
  for (size_t i = 0; i < r->tensors.n; i++)
    refs[i] = r->tensors.data[i] == WK_NONE ? WICK_NONE : number[r->tensors.data[i]];
  return (wk_package_row){.kind = r->kind, .part = r->kind == WICK_ROW_RUN ? part[r->part] : 0,
                          .tensors = refs, .n_tensors = r->tensors.n,
                          .waits = r->waits.data, .n_waits = r->waits.n,
                          .body_count = r->body_count, .else_count = r->else_count,
                          .trip = r->trip, .bytes = (uint64_t)r->bytes,
                          .source_offset = r->source_offset, .source_step = r->source_step,
                          .destination_offset = r->destination_offset,
                          .destination_step = r->destination_step};
}

/* An entry under construction. What the plan calls inputs and outputs but callers do not see, the
 * sizes, are edges of the package, and so are the stages of inputs whose sizes are open. */
typedef struct {
  const wk_parts *p;
  wk_arena *a;
  size_t n_in, n_out; /* that callers see */
  wk_package_tensor *inputs, *outputs, *edges;
  size_t n_edges;
  uint64_t edge_bytes;
  uint32_t *number; /* per tensor of the plan, what rows call it */
  wk_package_extent *extents;
  size_t n_extents;
} building;

static uint32_t add_edge(building *e, const wk_part_tensor *t) {
  e->edges[e->n_edges] =
      t->variable ? tensor_of(t, WICK_PLACE_STATE, place_in_state(e->p, t->variable), e->a)
                  : tensor_of(t, WICK_PLACE_EDGE, t->offset, e->a);
  return (uint32_t)(e->n_in + e->n_out + e->n_edges++);
}

/* Behind those of the plan. */
static uint32_t add_own_edge(building *e, const wk_part_tensor *t) {
  uint32_t number = add_edge(e, t);
  e->edges[e->n_edges - 1].offset = (int64_t)e->edge_bytes;
  e->edges[e->n_edges - 1].labels = NULL;
  e->edge_bytes = wk_align_up(e->edge_bytes + (uint64_t)wk_type_bytes(&t->type), WICK_ALIGN);
  return number;
}

static bool is_open(const wk_parts *p, const char *name, bool is_output) {
  const wk_module *m = p->model;
  for (size_t i = 0; i < m->open_axes.n; i++)
    if (m->open_axes.data[i].is_output == is_output && !strcmp(m->open_axes.data[i].tensor, name))
      return true;
  return false;
}

static void number_tensors(building *e) {
  const wk_parts *p = e->p;
  const wk_part_tensor *t = p->tensors.data;
  uint32_t n_ports = p->n_in + p->n_out;
  for (uint32_t i = n_ports; i < p->tensors.n; i++) e->number[i] = add_edge(e, &t[i]);
  for (uint32_t i = 0; i < p->n_in; i++) {
    bool opens = i < e->n_in && is_open(p, t[i].name, false);
    if (i < e->n_in) e->inputs[i] = tensor_of(&t[i], WICK_PLACE_CALLER, 0, e->a);
    if (opens) e->inputs[i].flags = WICK_TENSOR_BOUND;
    e->number[i] = i < e->n_in && !opens ? i : add_own_edge(e, &t[i]);
  }
  for (uint32_t i = 0; i < p->n_out; i++) {
    const wk_part_tensor *o = &t[p->n_in + i];
    if (i < e->n_out) e->outputs[i] = tensor_of(o, WICK_PLACE_CALLER, 0, e->a);
    if (i < e->n_out && is_open(p, o->name, true)) e->outputs[i].flags = WICK_TENSOR_BOUND;
    e->number[p->n_in + i] = i < e->n_out ? (uint32_t)e->n_in + i : add_own_edge(e, o);
  }
}

static uint32_t port_named(const wk_parts *p, const char *name, bool is_output) {
  uint32_t i = is_output ? p->n_in : 0, end = is_output ? p->n_in + p->n_out : p->n_in;
  while (i < end && strcmp(p->tensors.data[i].name, name) != 0) i++;
  return i;
}

static int by_place(const void *a, const void *b) {
  const wk_package_extent *x = a, *y = b;
  return x->tensor != y->tensor ? (x->tensor > y->tensor) - (x->tensor < y->tensor)
                                : (x->axis > y->axis) - (x->axis < y->axis);
}

static void list_extents(building *e) {
  const wk_module *m = e->p->model;
  e->extents = wk_arena_alloc(e->a, m->open_axes.n * sizeof *e->extents);
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *x = &m->open_axes.data[i];
    uint32_t port = port_named(e->p, x->tensor, x->is_output);
    uint32_t size = port_named(e->p, x->size, x->size_is_output);
    e->extents[e->n_extents++] = (wk_package_extent){
        .tensor = x->is_output ? (uint32_t)e->n_in + port - e->p->n_in : port,
        .axis = (uint32_t)x->axis, .size = e->number[size],
        .stage = x->is_output ? WICK_NONE : e->number[port], .name = x->symbol,
        .least = x->least};
  }
  if (e->n_extents) qsort(e->extents, e->n_extents, sizeof *e->extents, by_place);
}

/* Rows read the state themselves, whatever their parts do. */
static uint32_t state_use(const wk_parts *p) {
  bool reads = false;
  for (size_t i = 0; i < p->tensors.n; i++) reads = reads || p->tensors.data[i].variable;
  return reads ? WICK_ENTRY_READS_STATE : 0;
}

/* part: the package's numbers of the parts. */
static void add_entry(wk_package *pkg, const wk_emit_entry *from, const uint32_t *part) {
  const wk_parts *p = from->parts;
  wk_arena *a = wk_arena_new();
  building e = {.p = p, .a = a, .n_in = wk_module_seen_inputs(p->model),
             .n_out = wk_module_seen_outputs(p->model), .edge_bytes = (uint64_t)p->edge_bytes};
  size_t most = p->tensors.n + p->n_in; /* inputs with a stage are there twice */
  e.inputs = wk_arena_alloc(a, e.n_in * sizeof *e.inputs);
  e.outputs = wk_arena_alloc(a, e.n_out * sizeof *e.outputs);
  e.edges = wk_arena_alloc(a, most * sizeof *e.edges);
  e.number = wk_arena_alloc(a, p->tensors.n * sizeof *e.number);
  number_tensors(&e);
  list_extents(&e);
  wk_package_row *rows = wk_arena_alloc(a, p->rows.n * sizeof *rows);
  for (size_t i = 0; i < p->rows.n; i++) rows[i] = row_of(&p->rows.data[i], part, e.number, a);
  wk_package_add_entry(pkg, &(wk_package_entry){
      .name = from->name, .flags = state_use(p), .inputs = e.inputs, .n_inputs = e.n_in,
      .outputs = e.outputs, .n_outputs = e.n_out, .edges = e.edges, .n_edges = e.n_edges,
      .rows = rows, .n_rows = p->rows.n, .edge_bytes = e.edge_bytes, .extents = e.extents,
      .n_extents = e.n_extents});
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
  char option[48];
  snprintf(option, sizeof option, "--emit %s", output->name);
  for (size_t i = 0; i < n; i++) WK_TRY(wk_module_no_open(entries[i].parts->model, option));
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
