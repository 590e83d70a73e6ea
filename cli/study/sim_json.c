/* SPDX-License-Identifier: Apache-2.0
 * A run as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/causes.h"
#include "cli/study/sim_json.h"

static json_t *number(uint64_t n) { return json_integer((json_int_t)n); }

static json_t *counters(const uint64_t *c) {
  json_t *o = json_object();
  for (int i = 0; i < WK_COUNTER_COUNT; i++)
    json_object_set_new(o, wk_isa_counter_name(i).s, number(c[i]));
  return o;
}

static json_t *key_value(double v) {
  return v == (double)(int64_t)v ? json_integer((json_int_t)v) : json_real(v);
}

static json_t *machine(const wk_machine *m) {
  json_t *o = json_object();
  char hash[20];
  snprintf(hash, sizeof hash, "%016" PRIx64, wk_machine_hash(m));
  json_object_set_new(o, "name", json_string(m->name));
  json_object_set_new(o, "hash", json_string(hash));
  for (int i = 0; i < WK_KEY_COUNT; i++) {
    wk_str text = {0};
    wk_machine_key_text(&text, m, &wk_machine_keys[i]);
    json_object_set_new(o, wk_machine_keys[i].name, key_value(strtod(text.s, NULL)));
    wk_str_free(&text);
  }
  return o;
}

static json_t *marks(const wk_sim_shown *x) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < x->run->n; i++) {
    wk_isa_command c;
    uint64_t values[WK_COUNTER_COUNT];
    if (!wk_stream_get(x->stream, i, &c) || c.opcode != WK_CMD_MARK) continue;
    uint64_t row = (uint64_t)c.v[WK_MARK_row];
    memcpy(values, x->run->memory + x->stream->marks + row * WK_MARK_BYTES, sizeof values);
    if (!values[WK_COUNTER_cycles]) continue; /* the run ended before it */
    json_t *o = json_object();
    json_object_set_new(o, "row", number(row));
    json_object_set_new(o, "operator", json_integer(c.operator));
    json_object_set_new(o, "counters", counters(values));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *outputs(const wk_sim_shown *x) {
  json_t *list = json_array();
  for (size_t i = 0; i < x->stream->regions.n; i++) {
    const wk_image *r = &x->stream->regions.data[i];
    char hash[20];
    if (!r->is_output) continue;
    json_t *o = json_object();
    snprintf(hash, sizeof hash, "%016" PRIx64, wk_hash64(x->run->memory + r->address, r->size, 0));
    json_object_set_new(o, "name", json_string(r->name));
    json_object_set_new(o, "bytes", number(r->size));
    json_object_set_new(o, "hash", json_string(hash));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *ratio(double v) { return v < 0 ? json_null() : json_real(v); }

static void add_least(json_t *o, const wk_sim_layer *l, double of_least) {
  json_object_set_new(o, "least_ex", number(l->need.ex));
  json_object_set_new(o, "least_drain", number(l->need.drain));
  json_object_set_new(o, "least_ve", number(l->need.ve));
  json_object_set_new(o, "least_weights", number(l->need.weights));
  json_object_set_new(o, "least_in", number(l->need.in));
  json_object_set_new(o, "least_out", number(l->need.out));
  json_object_set_new(o, "least", number(l->least));
  json_object_set_new(o, "of_least", ratio(of_least));
  json_object_set_new(o, "binds", *l->binds ? json_string(l->binds) : json_null());
}

static json_t *layer(const wk_sim_shown *x, const wk_sim_layer *l, uint64_t all) {
  wk_sim_ratios r = wk_sim_ratios_of(x->machine, l, all);
  json_t *o = json_object();
  json_object_set_new(o, "cycles", number(l->cycles));
  json_object_set_new(o, "predicted", number(l->predicted));
  json_object_set_new(o, "share", ratio(r.share));
  json_object_set_new(o, "utilisation", ratio(r.utilisation));
  json_object_set_new(o, "mapping", ratio(r.mapping));
  json_object_set_new(o, "activity", ratio(r.activity));
  json_object_set_new(o, "overlap", ratio(r.overlap));
  json_object_set_new(o, "exposed", number(l->exposed));
  json_object_set_new(o, "macs", number(l->macs));
  json_object_set_new(o, "ex", number(l->ex));
  json_object_set_new(o, "drain", number(l->drain));
  json_object_set_new(o, "ve", number(l->ve));
  json_object_set_new(o, "read", number(l->read));
  json_object_set_new(o, "written", number(l->written));
  json_object_set_new(o, "words", number(l->words));
  json_object_set_new(o, "sums", number(l->sums));
  json_object_set_new(o, "bound", number(l->bound));
  json_object_set_new(o, "hidden", number(l->hidden));
  json_object_set_new(o, "efficiency", ratio(r.efficiency));
  json_object_set_new(o, "energy_pj", json_real(wk_sim_layer_energy(x->machine, l)));
  json_object_set_new(o, "limit", *l->limit ? json_string(l->limit) : json_null());
  add_least(o, l, r.of_least);
  return o;
}

static void add_layers(json_t *o, const wk_sim_shown *x) {
  wk_sim_layers l = wk_sim_layers_of(x);
  json_t *list = json_array();
  for (uint32_t i = 0; i <= l.n; i++) {
    json_t *row = layer(x, &l.list[i], l.total.cycles);
    json_object_set_new(row, "operator", json_integer(i));
    json_object_set_new(row, "name", json_string(wk_sim_layer_name(x->part, i)));
    json_object_set_new(row, "op", json_string(wk_sim_layer_op(x->part, i)));
    json_array_append_new(list, row);
  }
  wk_sim_ratios all = wk_sim_ratios_of(x->machine, &l.total, l.total.cycles);
  json_object_set_new(o, "utilisation", ratio(all.utilisation));
  json_object_set_new(o, "layers", list);
  json_object_set_new(o, "all_layers", layer(x, &l.total, l.total.cycles));
  free(l.list);
}

static void add_causes(json_t *o, const wk_sim_shown *x, const wk_sched_causes *c) {
  static const char *const moved[] = {NULL, "weights", "inputs", "results"};
  json_t *totals = json_object(), *list = json_array();
  for (int i = 0; i < WK_CAUSE_COUNT; i++)
    json_object_set_new(totals, wk_cause_infos[i].name, number(c->cycles[i]));
  for (size_t i = 0; i < c->rows.n; i++) {
    const wk_sched_cause_row *r = &c->rows.data[i];
    json_t *row = json_object();
    json_object_set_new(row, "cause", json_string(wk_cause_infos[r->cause].name));
    json_object_set_new(row, "operator", json_integer(r->operator));
    if (x->part)
      json_object_set_new(row, "layer", json_string(wk_sim_layer_name(x->part, r->operator)));
    if (moved[r->moved]) json_object_set_new(row, "moved", json_string(moved[r->moved]));
    json_object_set_new(row, "cycles", number(r->cycles));
    json_array_append_new(list, row);
  }
  json_object_set_new(o, "causes", totals);
  json_object_set_new(o, "causes_of_layers", list);
}

static void add_what_ifs(json_t *o, const wk_sched_what_if list[WK_WHAT_IFS]) {
  json_t *all = json_object();
  for (int i = 0; i < WK_WHAT_IFS; i++)
    json_object_set_new(all, list[i].name, number(list[i].cycles));
  json_object_set_new(o, "what_if", all);
}

static void add_energy(json_t *o, const wk_sim_shown *x) {
  wk_sim_energy rows[WK_SIM_ENERGIES];
  double total = wk_sim_energy_of(x->machine, x->run->result.counters, rows);
  json_t *shares = json_array();
  for (int i = 0; i < WK_SIM_ENERGIES; i++) {
    json_t *row = json_object();
    json_object_set_new(row, "name", json_string(rows[i].name));
    json_object_set_new(row, "count", json_integer((json_int_t)rows[i].count));
    json_object_set_new(row, "each", key_value(rows[i].each));
    json_object_set_new(row, "pj", json_real(rows[i].pj));
    json_array_append_new(shares, row);
  }
  json_object_set_new(o, "energy_pj", json_real(total));
  json_object_set_new(o, "energy_shares", shares);
}

json_t *wk_sim_figures_json(const wk_sim_shown *x) {
  wk_sim_figures f = wk_sim_figures_of(x->machine, x->run->result.counters);
  json_t *o = json_object();
  json_object_set_new(o, "stream", json_string(x->part ? x->part->name : x->stream->source));
  json_object_set_new(o, "commands", json_integer(x->run->n));
  json_object_set_new(o, "model", json_string(x->model->name));
  if (x->model->build) json_object_set_new(o, "build", json_string(x->model->build));
  json_object_set_new(o, "machine", machine(x->machine));
  json_object_set_new(o, "cycles", number(f.cycles));
  if (x->run->result.gave_up) json_object_set_new(o, "gave_up", json_true());
  json_object_set_new(o, "seconds", json_real(x->run->seconds));
  json_object_set_new(o, "utilisation", json_null()); /* but of a part's layers */
  json_object_set_new(o, "active_lanes", json_real(f.active_lanes));
  json_object_set_new(o, "overlap",
                      json_real(f.dma_active ? (double)f.overlapped / (double)f.dma_active : 0));
  json_object_set_new(o, "exposed", number(f.exposed));
  if (f.cycles) add_energy(o, x);
  json_object_set_new(o, "counters", counters(x->run->result.counters));
  json_object_set_new(o, "marks", marks(x));
  json_object_set_new(o, "outputs", outputs(x));
  if (x->part) json_object_set_new(o, "part", json_string(x->part->name));
  if (x->part && wk_sim_is_whole(x)) add_layers(o, x);
  if (x->why) add_causes(o, x, &x->why->causes);
  if (x->why && x->why->has_what_if) add_what_ifs(o, x->why->what_if);
  return o;
}
