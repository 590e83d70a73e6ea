/* SPDX-License-Identifier: Apache-2.0
 * Parts as a unit of a package. */
#include <stdlib.h>
#include <string.h>

#include "compiler/package/program.h"
#include "targets/accel/check/check.h"
#include "targets/accel/compile/finalists.h"
#include "targets/accel/compile/least.h"
#include "targets/accel/compile/widths.h"
#include "targets/accel/compile/package.h"
#include "targets/accel/compile/results.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"
#include "targets/accel/isa/unit_emit.h"
#include "targets/accel/isa/unit_read.h"
#include "targets/accel/model/model.h"

/* ---- constants ------------------------------------------------------------------------------- */

/* In the unit's CONST, and as a copy of it for the proof. */
static void place_constants(wk_accel_net *net, wk_package *pkg, uint32_t unit, wk_str *copy) {
  for (size_t t = 0; t < net->tensors.n; t++) {
    wk_accel_tensor *x = &net->tensors.data[t];
    if (x->segment != WK_SEGMENT_CONST || !x->data) continue;
    x->at = (int64_t)wk_package_add_const(pkg, unit, x->data, (uint64_t)x->bytes);
    static const char zeros[WICK_ALIGN];
    while (copy->n < (size_t)x->at) {
      size_t gap = (size_t)x->at - copy->n;
      wk_str_addn(copy, zeros, gap < sizeof zeros ? gap : sizeof zeros);
    }
    if (copy->n == (size_t)x->at) wk_str_addn(copy, (const char *)x->data, (size_t)x->bytes);
  }
}

/* ---- sections -------------------------------------------------------------------------------- */

typedef struct {
  const wk_machine *machine;
  wk_package *pkg;
  uint32_t unit;
  int64_t predicted; /* cycles of its parts */
  wk_str commands, segments, results, places, pitches, values, parts, layers, least, cuts, texts,
      constants, machine_text;
  bool has_pitches; /* results are parts of rows */
  wk_arena *arena; /* of what parts are said to be */
} unit;

/* A part that has been compiled. */
typedef struct {
  const wk_accel_net *net;
  const wk_graph *graph;
  const wk_sched_plan *plan;
  const wk_sched_use *uses;
  const wk_sched_steps *steps;
  const wk_accel_stream *stream;
} compiled;

static uint32_t add_text(unit *u, const char *s) {
  uint32_t at = (uint32_t)u->texts.n;
  wk_str_addn(&u->texts, s, strlen(s) + 1);
  return at;
}

static void add_bytes(wk_str *b, const void *data, size_t n) { wk_str_addn(b, data, n); }

/* Cycles and bytes that a layer's commands need at least. */
static void add_command(wk_accel_layer *l, const wk_machine *m, const wk_isa_command *c,
                        int64_t *words) {
  uint64_t bytes = wk_transfer_bytes(c);
  if (c->opcode == WK_CMD_LD) l->loaded += bytes;
  if (c->opcode == WK_CMD_ST) l->stored += bytes;
  if (c->queue == WK_QUEUE_ve) l->ve += wk_isa_duration(m, c);
  wk_isa_bound b = wk_isa_bound_of(m, c, words);
  l->ex += (uint64_t)b.array;
  l->drain += (uint64_t)b.drain;
}

static void add_predictions(wk_accel_layer *layers, uint32_t n, const wk_accel_stream *s) {
  wk_sched_charge *charges = wk_xcalloc(n + 1, sizeof *charges);
  wk_xcheck(wk_sched_charge_cycles(&wk_isa_queues, s->spans.data, s->spans.n,
                                   (uint64_t)s->cycles, n, charges));
  for (uint32_t i = 0; i < n; i++) layers[i].predicted = charges[i + 1].cycles;
  free(charges);
}

static void name_layers(const compiled *c, wk_accel_layer *layers, const char **ops) {
  const wk_accel_net *net = c->net;
  for (size_t i = 0; i < net->layers.n; i++) {
    layers[i] = (wk_accel_layer){.mark = UINT32_MAX};
    ops[i] = "concat";
  }
  for (size_t i = net->ops.n; i-- > 0;) ops[net->ops.data[i].layer] = net->ops.data[i].op;
  for (size_t i = 0; i < net->ops.n; i++) {
    const wk_accel_op *op = &net->ops.data[i];
    wk_accel_layer *l = &layers[op->layer];
    l->macs += (uint64_t)op->macs;
    for (size_t g = 0; g < c->plan->groups.n; g++)
      if ((int)i >= c->plan->groups.data[g].first) l->group = (uint32_t)g;
  }
}

static void add_least(unit *u, const wk_accel_net *net, wk_accel_layer *layers, wk_arena *a) {
  wk_accel_least *least = wk_arena_alloc(a, net->layers.n * sizeof *least);
  wk_accel_cuts *cuts = wk_arena_alloc(a, net->layers.n * sizeof *cuts);
  wk_accel_least_of(net, least, cuts);
  for (size_t i = 0; i < net->layers.n; i++)
    layers[i].compulsory = least[i].weights + least[i].in + least[i].out;
  add_bytes(&u->least, least, net->layers.n * sizeof *least);
  add_bytes(&u->cuts, cuts, net->layers.n * sizeof *cuts);
}

/* Layers, what they leave, and what commands compute of it. Returns bytes of all tensors. */
static uint64_t add_layers(unit *u, const compiled *c, wk_package_part *made) {
  const wk_accel_net *net = c->net;
  wk_arena *a = wk_arena_new();
  wk_accel_layer *layers = wk_arena_alloc(a, net->layers.n * sizeof *layers);
  const char **ops = wk_arena_alloc(a, net->layers.n * sizeof *ops);
  int64_t bytes, *starts = wk_accel_tensor_starts(net, c->uses, a, &bytes);
  uint32_t values = (uint32_t)(u->values.n / sizeof(wk_accel_value));
  uint32_t places = (uint32_t)(u->places.n / sizeof(wk_accel_window));
  wk_accel_layer none = {0};
  int64_t words = 0;
  name_layers(c, layers, ops);
  for (size_t i = 0; i < net->layers.n && c->plan->marks; i++) layers[i].mark = layers[i].group;
  add_least(u, net, layers, a);
  for (size_t i = 0; i < net->layers.n; i++) {
    layers[i].name = add_text(u, net->names.data[i]);
    layers[i].op = add_text(u, ops[i]);
  }
  for (size_t i = 0; i < c->stream->commands.n; i++) {
    const wk_isa_command *x = &c->stream->commands.data[i];
    uint32_t result = c->stream->results.data[i];
    bool has_layer = x->operator && x->operator <= net->layers.n;
    add_command(has_layer ? &layers[x->operator - 1] : &none, net->machine, x, &words);
    if (result) result += places;
    add_bytes(&u->results, &result, sizeof result);
  }
  wk_accel_add_windows(net, c->steps, starts, &u->places, &u->pitches);
  u->has_pitches = u->has_pitches || wk_accel_have_pitches(net, c->steps);
  wk_accel_add_values(net, starts, values, layers, &u->values);
  add_predictions(layers, (uint32_t)net->layers.n, c->stream);
  wk_accel_add_steps(net, c->graph, layers, ops, u->arena, made);
  add_bytes(&u->layers, layers, net->layers.n * sizeof *layers);
  wk_arena_free(a);
  return (uint64_t)bytes;
}

/* Every field holds what it was given. */
static wk_status prove_encoded(const wk_isa_command *c, size_t i,
                               const uint8_t bytes[WK_COMMAND_BYTES]) {
  const wk_isa_command_info *info = wk_isa_command_of((int)c->opcode);
  wk_isa_command read;
  if (!wk_isa_decode(bytes, &read)) return wk_error(WK_INTERNAL, "command %zu is none", i);
  for (int f = 0; f < info->n_fields; f++)
    if (read.v[f] != c->v[f])
      return wk_error(WK_INTERNAL, "command %zu (%s): field '%s' cannot hold %lld", i, info->name,
                      info->fields[f].name, (long long)c->v[f]);
  return NULL;
}

static wk_status add_part(unit *u, const compiled *c, wk_package_part *made) {
  const wk_accel_stream *s = c->stream;
  wk_accel_part row = {.first_command = (uint32_t)(u->commands.n / WK_COMMAND_BYTES),
                       .commands = (uint32_t)s->commands.n,
                       .first_layer = (uint32_t)(u->layers.n / sizeof(wk_accel_layer)),
                       .layers = (uint32_t)c->net->layers.n,
                       .work_bytes = (uint64_t)s->work_bytes,
                       .predicted = (uint64_t)s->cycles,
                       .marks = c->plan->marks ? (uint32_t)c->plan->groups.n : 0};
  for (size_t i = 0; i < s->commands.n; i++) {
    uint8_t bytes[WK_COMMAND_BYTES];
    wk_isa_encode(&s->commands.data[i], bytes);
    add_bytes(&u->commands, bytes, sizeof bytes);
    WK_TRY(prove_encoded(&s->commands.data[i], i, bytes));
  }
  add_bytes(&u->segments, s->segments.data, s->segments.n);
  row.tensor_bytes = add_layers(u, c, made);
  add_bytes(&u->parts, &row, sizeof row);
  u->predicted += s->cycles;
  return NULL;
}

/* ---- a part ---------------------------------------------------------------------------------- */

static wk_status compile_net(unit *u, wk_accel_net *net, const wk_target_part *part,
                             const wk_sched_options *o, wk_package_part *made) {
  wk_arena *a = wk_arena_new();
  wk_sched_net sched;
  wk_sched_made x;
  place_constants(net, u->pkg, u->unit, &u->constants);
  wk_accel_sched_net(net, a, &sched);
  wk_status s = wk_sched_make(&sched, o, a, &x);
  if (!s) {
    wk_accel_stream stream;
    wk_accel_stream_of(&sched, &x, &stream);
    s = add_part(u, &(compiled){net, part->graph, &x.plan, x.uses, &x.steps, &stream}, made);
    wk_accel_stream_free(&stream);
  }
  wk_sched_made_free(&x);
  wk_arena_free(a);
  return s;
}

static wk_status compile_part(unit *u, const wk_target_part *part, const wk_sched_options *o,
                              wk_package_part *made) {
  wk_accel_net net;
  wk_arena *a = wk_arena_new();
  wk_package_keep_arena(u->pkg, a); /* constants are in it */
  wk_accel_net_init(&net, u->machine, a);
  wk_accel_refused why;
  wk_status s = wk_accel_net_make(part->graph, &net, &why)
                    ? compile_net(u, &net, part, o, made)
                    : wk_error_at(WK_INTERNAL, why.node ? why.node->name : NULL,
                                  "admitted, but: %s", why.reason);
  wk_accel_net_free(&net);
  return s;
}

/* ---- proof ----------------------------------------------------------------------------------- */

static wk_accel_io *ports_of(const wk_package_part *p, size_t *n, wk_arena *a) {
  *n = p->n_inputs + p->n_outputs;
  wk_accel_io *io = wk_arena_alloc(a, *n * sizeof *io);
  for (size_t i = 0; i < *n; i++) {
    bool is_output = i >= p->n_inputs;
    const wk_package_tensor *t = is_output ? &p->outputs[i - p->n_inputs] : &p->inputs[i];
    wk_type type = wk_type_make((wk_dtype)t->dtype, t->rank, t->dims);
    io[i] = (wk_accel_io){t->name, (uint64_t)wk_type_bytes(&type), is_output};
  }
  return io;
}

static wk_status prove_stream(const wk_stream *s, const wk_machine *m) {
  return wk_status_note(wk_check(s, m, NULL), "the checker refuses what was compiled");
}

/* The encoded commands of a part, as a device will see them. *regions: as wk_accel_part_stream has
 * them. */
static wk_status prove_part(const wk_accel_unit *u, uint32_t number, const wk_package_part *p,
                            wk_stream **out, uint32_t **regions, wk_arena *a) {
  size_t n;
  wk_accel_io *io = ports_of(p, &n, a);
  wk_stream *s = NULL;
  const wk_accel_placement at = {.source = p->name, .borrows = true};
  wk_status status = wk_accel_part_check(u, number, io, n);
  status = wk_status_note(status, "the checker refuses what was compiled");
  if (!status) status = wk_status_place(wk_accel_part_stream(u, number, io, n, &at, &s, regions),
                                        p->name);
  if (!status) status = prove_stream(s, &u->machine);
  if (out) *out = s;
  else wk_stream_free(s);
  return status;
}

/* CONST comes last: the package makes it of what is added to it. */
enum { SECTIONS = 13 };

/* Returns which is the first that there is. */
static size_t list_sections(const unit *u, wk_accel_section out[SECTIONS]) {
  const wk_accel_section all[SECTIONS] = {
      {WK_ACCEL_PITCHES, u->pitches.s, u->pitches.n},
      {WK_ACCEL_MACHINE, u->machine_text.s, u->machine_text.n},
      {WK_ACCEL_COMMANDS, u->commands.s, u->commands.n},
      {WK_ACCEL_SEGMENTS, u->segments.s, u->segments.n},
      {WK_ACCEL_RESULTS, u->results.s, u->results.n},
      {WK_ACCEL_PLACES, u->places.s, u->places.n},
      {WK_ACCEL_VALUES, u->values.s, u->values.n},
      {WK_ACCEL_PARTS, u->parts.s, u->parts.n},
      {WK_ACCEL_LAYERS, u->layers.s, u->layers.n},
      {WK_ACCEL_LEAST, u->least.s, u->least.n},
      {WK_ACCEL_CUTS, u->cuts.s, u->cuts.n},
      {WK_ACCEL_TEXTS, u->texts.s, u->texts.n},
      {WK_ACCEL_CONST, u->constants.s, u->constants.n}};
  memcpy(out, all, sizeof all);
  return u->has_pitches ? 0 : 1;
}

static void add_sections(const unit *u) {
  wk_accel_section all[SECTIONS];
  for (size_t i = list_sections(u, all); i + 1 < SECTIONS; i++)
    wk_package_add_section(u->pkg, u->unit, all[i].name, WICK_ALIGN,
                           wk_package_keep(u->pkg, all[i].data, all[i].size), all[i].size);
}

/* What a device will read of it. stream NULL: its parts are only checked; otherwise it becomes the
 * first part's. */
static wk_status prove(const unit *u, const wk_package_part *parts, size_t n, wk_stream **stream,
                       uint32_t **regions, wk_arena *a) {
  wk_accel_section all[SECTIONS];
  wk_accel_unit read;
  const size_t first = list_sections(u, all);
  WK_TRY(wk_accel_unit_read(&all[first], SECTIONS - first, u->machine->name, &read));
  for (size_t i = 0; i < n; i++)
    WK_TRY(prove_part(&read, (uint32_t)i, &parts[i], i ? NULL : stream, i ? NULL : regions, a));
  return NULL;
}

static void free_unit(unit *u) {
  wk_str_free(&u->constants);
  wk_str_free(&u->commands), wk_str_free(&u->segments), wk_str_free(&u->parts);
  wk_str_free(&u->results), wk_str_free(&u->places), wk_str_free(&u->pitches);
  wk_str_free(&u->values);
  wk_str_free(&u->layers), wk_str_free(&u->least), wk_str_free(&u->cuts), wk_str_free(&u->texts);
  wk_str_free(&u->machine_text);
}

static void begin_unit(unit *u, const wk_machine *m, wk_package *pkg, const char *spec,
                       wk_arena *a) {
  *u = (unit){.machine = m, .pkg = pkg, .arena = a};
  u->unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = "accel", .spec = spec,
                                                        .machine_hash = wk_machine_hash(m)});
  wk_machine_text(&u->machine_text, m);
  add_text(u, "");
}

static wk_status compile_with(unit *u, const wk_sched_options *o, const wk_target_part *part,
                              wk_package_part *made) {
  *made = wk_package_part_of(part->program, part->name, u->unit, u->arena);
  return wk_status_place(compile_part(u, part, o, made), part->name);
}

/* ---- its schedule ---------------------------------------------------------------------------- */

/* A part in a unit of its own. */
typedef struct {
  const wk_machine *machine;
  const wk_target_part *part;
} alone;

static uint64_t run_stream(const wk_stream *s, const wk_machine *m) {
  uint32_t before_end;
  wk_timing_result r;
  wk_isa_command *commands = wk_stream_commands(s, &before_end);
  wk_timing_run(&(wk_timing_job){.machine = m, .dram = wk_dram_params_of(m), .commands = commands,
                                 .n = s->n, .address = (uint32_t)s->address}, &r);
  free(commands);
  if (r.no_memory) wk_xcheck(wk_error(WK_RESOURCE, "out of memory"));
  return r.counters[WK_COUNTER_cycles];
}

static wk_status time_alone(void *ctx, const wk_sched_options *o, uint32_t most,
                            uint64_t *cycles) {
  const alone *x = ctx;
  *cycles = UINT64_MAX;
  if (wk_accel_foresee(x->machine, o, x->part->graph, false).commands > most) return NULL;
  wk_arena *a = wk_arena_new();
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "", .flags = ""});
  wk_package_part made;
  wk_stream *stream = NULL;
  uint32_t *regions = NULL;
  unit u;
  begin_unit(&u, x->machine, pkg, x->machine->name, a);
  wk_status s = compile_with(&u, o, x->part, &made);
  if (!s) s = prove(&u, &made, 1, &stream, &regions, a);
  if (!s) *cycles = run_stream(stream, x->machine);
  wk_stream_free(stream);
  free(regions);
  free_unit(&u);
  wk_package_free(pkg);
  wk_arena_free(a);
  return s;
}

static wk_status compile_best(unit *u, const wk_sched_options *o, const wk_target_part *part,
                              wk_package_part *made) {
  wk_sched_options chosen;
  WK_TRY(wk_accel_choose(o, time_alone, &(alone){u->machine, part}, &chosen));
  return compile_with(u, &chosen, part, made);
}

static wk_status compile_parts(unit *u, const wk_sched_options *o, const wk_target_part *parts,
                               size_t n, wk_package_part *made) {
  for (size_t i = 0; i < n; i++) {
    wk_target_part part = parts[i];
    wk_module *cut;
    WK_TRY(wk_accel_choose_width(u->machine, o, part.graph, &cut));
    if (cut) part.graph = cut->main;
    wk_status s = compile_best(u, o, &part, &made[i]);
    if (cut) wk_module_free(cut);
    if (s) return s;
    made[i].code = i;
    made[i].arena_bytes = made[i].arena_bound = 0;
  }
  return NULL;
}

wk_status wk_accel_compile(const wk_machine *m, const char *spec, const wk_sched_options *o,
                           const wk_target_part *parts, size_t n, wk_package *pkg,
                           uint32_t *row, int64_t *predicted) {
  wk_arena *a = wk_arena_new();
  unit u;
  wk_package_part *made = wk_arena_alloc(a, n * sizeof *made);
  begin_unit(&u, m, pkg, spec, a);
  wk_status s = compile_parts(&u, o, parts, n, made);
  for (size_t i = 0; i < n && !s; i++) row[i] = wk_package_add_part(pkg, &made[i]);
  if (!s) add_sections(&u);
  if (!s) s = prove(&u, made, n, NULL, NULL, a);
  *predicted = u.predicted;
  free_unit(&u);
  wk_arena_free(a);
  return s;
}

/* ---- without a package ----------------------------------------------------------------------- */

static wk_status list_parts(wk_status s, const wk_target_part *parts, size_t n) {
  for (size_t i = 0; i < n; i++)
    s = wk_status_item(s, "%zu: %s, %zu operators", i, parts[i].name, parts[i].graph->nodes.n);
  return s;
}

static wk_status choose_parts(int64_t part, const wk_target_part **parts, size_t *n) {
  if (!*n) return wk_error(WK_UNSUPPORTED, "nothing of the model is for the accelerator");
  if (part < 0) return NULL;
  if (part >= (int64_t)*n)
    return list_parts(wk_error(WK_USAGE, "--part %lld: the model has %zu for the accelerator, "
                               "counted from 0", (long long)part, *n), *parts, *n);
  *parts += part;
  *n = 1;
  return NULL;
}

/* A part alone, in a unit of its own, whose bytes the stream borrows. */
static wk_status make_emission(const wk_machine *m, const wk_sched_options *o,
                               const wk_target_part *part, unit *u, wk_accel_emission *out,
                               wk_arena *a) {
  wk_package_part made;
  out->part = part;
  begin_unit(u, m, wk_package_new(&(wk_package_meta){.model = "", .flags = ""}), m->name, a);
  WK_TRY(compile_parts(u, o, part, 1, &made));
  return prove(u, &made, 1, &out->stream, &out->regions, a);
}

wk_status wk_accel_write_streams(const wk_machine *m, const wk_sched_options *o,
                                 const wk_target_part *parts, size_t n, int64_t part,
                                 const char *path, const wk_emit_options *eo,
                                 int64_t *predicted) {
  WK_TRY(choose_parts(part, &parts, &n));
  wk_arena *a = wk_arena_new();
  wk_emit_files own, *files = eo->files ? eo->files : &own;
  wk_accel_emission *e = wk_xcalloc(n, sizeof *e);
  unit *units = wk_xcalloc(n, sizeof *units);
  wk_status s = NULL;
  *predicted = 0;
  for (size_t i = 0; i < n && !s; i++) s = make_emission(m, o, &parts[i], &units[i], &e[i], a);
  if (!s) s = wk_accel_emit_streams(e, n, path, eo->arena ? eo->arena : a, files);
  for (size_t i = 0; i < n; i++) {
    *predicted += units[i].predicted;
    wk_stream_free(e[i].stream);
    free(e[i].regions);
    free_unit(&units[i]);
    if (units[i].pkg) wk_package_free(units[i].pkg);
  }
  free(units);
  free(e);
  wk_arena_free(a);
  return s;
}
