/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/compile.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* ---- steps added up by name ------------------------------------------------------------------ */

typedef struct {
  const char *name;
  int64_t runs, changes;
  double seconds;
} step_sum;
typedef WK_VEC(step_sum) step_sums;

static step_sum *sum_of(step_sums *s, const char *name) {
  for (size_t i = 0; i < s->n; i++)
    if (!strcmp(s->data[i].name, name)) return &s->data[i];
  step_sum fresh = {.name = name};
  wk_vec_push(s, fresh);
  return &s->data[s->n - 1];
}

static void add_steps(step_sums *s, const wk_pipeline_report *r) {
  for (size_t i = 0; i < r->steps.n; i++) {
    step_sum *x = sum_of(s, r->steps.data[i].name);
    x->runs++;
    x->changes += r->steps.data[i].changes;
    x->seconds += r->steps.data[i].seconds;
  }
}

/* ---- summary --------------------------------------------------------------------------------- */

static void add_memory(wk_table *t, const wk_compilation *c, const wk_program *p) {
  int64_t peak = p->region_size[WK_REGION_ACT], bound = p->act_bound;
  if (bound > 0)
    wk_table_row(t, "activation peak\t%s, lower bound %s (%.3f x)", wk_bytes_text((uint64_t)peak).s,
                 wk_bytes_text((uint64_t)bound).s, (double)peak / (double)bound);
  else wk_table_row(t, "activation peak\t%s", wk_bytes_text((uint64_t)peak).s);
  if (p->states.n)
    wk_table_row(t, "state\t%s, %zu variables",
                 wk_bytes_text((uint64_t)p->region_size[WK_REGION_STATE]).s, p->states.n);
  if (c->scratch_bytes >= 0)
    wk_table_row(t, "scratch per thread\t%s", wk_bytes_text((uint64_t)c->scratch_bytes).s);
  wk_table_row(t, "copies\t%lld (%s) before, %lld (%s) after", (long long)p->copies_before,
               wk_bytes_text((uint64_t)p->copy_bytes_before).s, (long long)p->copies_after,
               wk_bytes_text((uint64_t)p->copy_bytes_after).s);
}

void wk_remat_row(wk_table *t, const wk_remat_report *r) {
  if (!r->peak) return;
  wk_table_row(t, "computed again\t%lld node%s, %s MACs: estimated peak %s instead of %s",
               (long long)r->nodes, r->nodes == 1 ? "" : "s", wk_text_count(r->macs).s,
               wk_bytes_text((uint64_t)r->peak).s, wk_bytes_text((uint64_t)r->before).s);
  wk_table_row(t, "smallest peak\t%s, as estimated", wk_bytes_text((uint64_t)r->least).s);
}

static void add_fired(wk_table *t, const wk_pipeline_report *r) {
  step_sums sums = {0};
  wk_str b = {0};
  add_steps(&sums, r);
  for (size_t i = 0; i < sums.n; i++)
    if (sums.data[i].changes)
      wk_str_printf(&b, "%s%s %lld", b.n ? ", " : "", sums.data[i].name,
                    (long long)sums.data[i].changes);
  if (b.n) wk_table_row(t, "passes that fired\t%s", b.s);
  wk_str_free(&b);
  wk_vec_free(&sums);
}

static size_t count_integer(const wk_compiled *bound) {
  size_t n = 0;
  for (size_t i = 0; i < bound->report.n_integer; i++) n += bound->report.integer[i].is_integer;
  return n;
}

/* NULL when there are several parts, or none yet. */
static const wk_program *only_program(const wk_compiled *bound) {
  return bound->parts && bound->parts->parts.n == 1 ? bound->parts->parts.data[0].program : NULL;
}

/* Parts, operators and multiply-accumulates of each target. */
static void add_parts(wk_table *t, const wk_compiled *bound) {
  const wk_parts *p = bound->parts;
  if (!p || p->parts.n < 2) return;
  for (uint32_t k = 0; k < p->targets->n; k++) {
    int64_t parts = 0, nodes = 0, macs = 0;
    for (size_t i = 0; i < p->parts.n; i++) {
      const wk_part *x = &p->parts.data[i];
      if (x->target != k) continue;
      parts++;
      nodes += x->nodes;
      macs += x->macs;
    }
    wk_table_row(t, "on %s\t%lld part%s, %lld operator%s, %s multiply-accumulates",
                 p->targets->list[k]->target->name, (long long)parts, parts == 1 ? "" : "s",
                 (long long)nodes, nodes == 1 ? "" : "s", wk_text_count(macs).s);
  }
  wk_table_row(t, "edges\t%s between parts%s", wk_bytes_text((uint64_t)p->edge_bytes).s,
               p->reasons.n ? " (--print-parts lists them)" : "");
}

static void add_binding(wk_table *t, const wk_compilation *c, const wk_compiled *bound) {
  const wk_pipeline_report *r = &bound->report;
  if (c->n > 1) wk_table_row(t, "binding\t%s", bound->binding.name);
  if (bound->parts && bound->parts->parts.data[0].program)
    wk_table_row(t, "operators\t%lld in the model, %lld after graph passes, %lld %s",
                 (long long)r->nodes, (long long)bound->nodes_after, (long long)r->instructions,
                 r->instructions == 1 ? "instruction" : "instructions");
  else
    wk_table_row(t, "operators\t%lld in the model, %lld now", (long long)r->nodes,
                 (long long)wk_module_nodes(bound->module));
  size_t whole = count_integer(bound);
  if (bound->report.n_integer)
    wk_table_row(t, "quantised\t%zu operators in integers, %zu in float%s", whole,
                 bound->report.n_integer - whole,
                 whole < bound->report.n_integer ? " (--print-integer says why)" : "");
  wk_table_row(t, "multiply-accumulates\t%s", wk_text_count(r->macs).s);
  wk_table_row(t, "weights\t%s", wk_bytes_text((uint64_t)r->weights).s);
  add_parts(t, bound);
  if (only_program(bound)) add_memory(t, c, only_program(bound));
  wk_remat_row(t, &r->remat);
  add_fired(t, r);
}

void wk_compile_summary(FILE *f, const wk_compilation *c) {
  wk_table t = {0};
  double import = 0, passes = 0;
  wk_table_row(&t, "model\t%s", c->name);
  wk_table_row(&t, "target\t%s", c->target);
  for (size_t i = 0; i < c->n; i++) {
    add_binding(&t, c, &c->bound[i]);
    import += c->bound[i].import_seconds;
    passes += c->bound[i].report.seconds;
  }
  if (c->predicted_cycles)
    wk_table_row(&t, "predicted\t%lld cycles", (long long)c->predicted_cycles);
  wk_table_row(&t, "compile time\t%s (import %s, passes %s, output %s)",
               wk_text_seconds(c->seconds).s, wk_text_seconds(import).s, wk_text_seconds(passes).s,
               wk_text_seconds(c->emit_seconds).s);
  if (c->files.n && c->output_bytes >= 0) {
    wk_str files = {0};
    for (size_t i = 0; i < c->files.n; i++) wk_str_printf(&files, "%s, ", c->files.path[i]);
    wk_table_row(&t, "output\t%s%s", files.s, wk_bytes_text((uint64_t)c->output_bytes).s);
    wk_str_free(&files);
  }
  wk_table_print(f, &t, "ll");
}

/* ---- --print-integer ------------------------------------------------------------------------- */

void wk_compile_integers(FILE *f, const wk_compilation *c) {
  wk_table t = {0};
  wk_table_row(&t, "OPERATOR\tARITHMETIC\tNODE\tREASON");
  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->bound[i].report.n_integer; k++) {
      const wk_integer_row *r = &c->bound[i].report.integer[k];
      wk_table_row(&t, "%s\t%s\t%s\t%s", r->op, r->is_integer ? "integer" : "float", r->node,
                   r->reason ? r->reason : "");
    }
  wk_table_print(f, &t, "llll");
}

/* ---- --time-passes --------------------------------------------------------------------------- */

static void time_row(wk_table *t, const char *name, int64_t runs, int64_t changes, double seconds,
                     double all) {
  wk_table_row(t, "%s\t%lld\t%lld\t%.2f\t%.1f", name, (long long)runs, (long long)changes,
               seconds * 1e3, all > 0 ? 100 * seconds / all : 0);
}

void wk_compile_times(FILE *f, const wk_compilation *c) {
  step_sums sums = {0};
  wk_table t = {0};
  double import = 0;
  for (size_t i = 0; i < c->n; i++) {
    import += c->bound[i].import_seconds;
    add_steps(&sums, &c->bound[i].report);
  }
  wk_table_row(&t, "STEP\tRUNS\tCHANGES\tMS\t%%");
  time_row(&t, "import", (int64_t)c->n, 0, import, c->seconds);
  for (size_t i = 0; i < sums.n; i++)
    time_row(&t, sums.data[i].name, sums.data[i].runs, sums.data[i].changes, sums.data[i].seconds,
             c->seconds);
  time_row(&t, "output", 1, 0, c->emit_seconds, c->seconds);
  time_row(&t, "total", 1, 0, c->seconds, c->seconds);
  wk_table_print(f, &t, "lrrrr");
  wk_vec_free(&sums);
}

/* ---- --report -------------------------------------------------------------------------------- */

static void put(json_t *o, const char *key, int64_t v) {
  json_object_set_new(o, key, json_integer(v));
}

static void put_real(json_t *o, const char *key, double v) {
  json_object_set_new(o, key, json_real(v));
}

/* Names from a model file need not be UTF-8, which JSON must be. */
static json_t *json_text(const char *v) {
  json_t *s = v ? json_string(v) : json_null();
  if (!s) {
    wk_str b = {0};
    for (; *v; v++) wk_str_printf(&b, *v & 0x80 ? "\\x%02x" : "%c", (unsigned char)*v);
    s = json_string(b.s);
    wk_str_free(&b);
  }
  return s;
}

static void put_text(json_t *o, const char *key, const char *v) {
  json_object_set_new(o, key, json_text(v));
}

void wk_compile_parts(FILE *f, const wk_compilation *c) {
  for (size_t i = 0; i < c->n; i++) {
    wk_str b = {0};
    if (!c->bound[i].parts) continue;
    if (c->n > 1) fprintf(f, "binding %s\n", c->bound[i].binding.name);
    wk_parts_print(&b, c->bound[i].parts);
    fputs(b.s, f);
    wk_str_free(&b);
  }
}

static json_t *json_integers(const wk_compiled *bound) {
  json_t *list = json_array();
  for (size_t i = 0; i < bound->report.n_integer; i++) {
    const wk_integer_row *r = &bound->report.integer[i];
    json_t *o = json_object();
    put_text(o, "node", r->node);
    put_text(o, "operator", r->op);
    put_text(o, "arithmetic", r->is_integer ? "integer" : "float");
    put_text(o, "reason", r->reason);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_steps(const wk_pipeline_report *r) {
  json_t *list = json_array();
  for (size_t i = 0; i < r->steps.n; i++) {
    json_t *o = json_object();
    put_text(o, "name", r->steps.data[i].name);
    put(o, "changes", r->steps.data[i].changes);
    put_real(o, "seconds", r->steps.data[i].seconds);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_tensors(const wk_part_tensor *b, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) {
    json_t *o = json_object(), *dims = json_array();
    for (int k = 0; k < b[i].type.rank; k++)
      json_array_append_new(dims, json_integer(b[i].type.dims[k]));
    put_text(o, "name", b[i].name);
    put_text(o, "dtype", wk_dtype_name(b[i].type.dtype));
    json_object_set_new(o, "dims", dims);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_parts(const wk_parts *p) {
  json_t *list = json_array();
  for (size_t i = 0; i < p->parts.n; i++) {
    const wk_part *x = &p->parts.data[i];
    json_t *o = json_object();
    put_text(o, "name", x->name);
    put_text(o, "target", x->instance->target->name);
    put(o, "operators", x->nodes);
    put(o, "macs", x->macs);
    put(o, "bytes_in_and_out", x->edge_bytes);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_reasons(const wk_parts *p) {
  json_t *list = json_array();
  for (size_t i = 0; i < p->reasons.n; i++) {
    const wk_part_reason *x = &p->reasons.data[i];
    json_t *o = json_object();
    put_text(o, "node", x->node);
    put_text(o, "operator", x->op);
    put_text(o, "not_on", p->targets->list[x->refused]->target->name);
    put_text(o, "reason", x->reason);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_memory(const wk_compilation *c, const wk_compiled *bound) {
  const wk_program *p = only_program(bound);
  json_t *o = json_object();
  put(o, "activation_peak", p->region_size[WK_REGION_ACT]);
  put(o, "activation_lower_bound", p->act_bound);
  if (c->scratch_bytes >= 0) put(o, "scratch_per_thread", c->scratch_bytes);
  put(o, "constants", p->region_size[WK_REGION_CONST]);
  if (p->states.n) put(o, "state", p->region_size[WK_REGION_STATE]);
  put(o, "estimate_in_model_order", bound->report.peak_in_model_order);
  put(o, "estimate_ordered", bound->report.peak_ordered);
  if (bound->report.remat.peak) {
    put(o, "estimate_kept", bound->report.remat.before);
    put(o, "computed_again_nodes", bound->report.remat.nodes);
    put(o, "computed_again_macs", bound->report.remat.macs);
  }
  put(o, "copies_before", p->copies_before);
  put(o, "copies_after", p->copies_after);
  put(o, "copy_bytes_before", p->copy_bytes_before);
  put(o, "copy_bytes_after", p->copy_bytes_after);
  return o;
}

static json_t *json_insts(const wk_compiled *bound) {
  json_t *list = json_array();
  for (size_t i = 0; i < bound->insts.n; i++) {
    const wk_inst_record *r = &bound->insts.data[i];
    json_t *o = json_object();
    put_text(o, "node", r->node);
    put_text(o, "op", r->op);
    put_text(o, "text", r->text);
    put(o, "macs", r->macs);
    put(o, "bytes", r->bytes);
    put(o, "depth", r->depth);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_binding(const wk_compilation *c, const wk_compiled *bound) {
  json_t *o = json_object();
  put_text(o, "binding", bound->binding.name);
  put(o, "operators_in_model", bound->report.nodes);
  put(o, "operators_after_passes", bound->nodes_after);
  put(o, "instructions", bound->report.instructions);
  put(o, "macs", bound->report.macs);
  put(o, "weight_bytes", bound->report.weights);
  put_real(o, "import_seconds", bound->import_seconds);
  put_real(o, "pipeline_seconds", bound->report.seconds);
  if (bound->report.n_integer) json_object_set_new(o, "quantised_operators", json_integers(bound));
  json_object_set_new(o, "steps", json_steps(&bound->report));
  const wk_parts *p = bound->parts;
  if (!p || !p->parts.data[0].program) return o;
  json_object_set_new(o, "inputs", json_tensors(p->tensors.data, p->n_in));
  json_object_set_new(o, "outputs", json_tensors(p->tensors.data + p->n_in, p->n_out));
  json_object_set_new(o, "parts", json_parts(p));
  json_object_set_new(o, "fallbacks", json_reasons(p));
  put(o, "edge_bytes", p->edge_bytes);
  if (only_program(bound)) json_object_set_new(o, "memory", json_memory(c, bound));
  json_object_set_new(o, "instruction_list", json_insts(bound));
  return o;
}

static int write_some(const char *data, size_t n, void *out) {
  wk_out_write(out, data, n);
  return 0;
}

static json_t *json_compilation(const wk_compilation *c) {
  json_t *o = json_object(), *bindings = json_array(), *files = json_array();
  char hash[20];
  snprintf(hash, sizeof hash, "%016" PRIx64, c->input_hash);
  put_text(o, "model", c->model);
  put_text(o, "name", c->name);
  put(o, "model_bytes", c->input_bytes);
  put_text(o, "model_hash", hash);
  put_text(o, "target", c->target);
  put_text(o, "options", c->command);
  put_text(o, "emit", c->emit);
  put_text(o, "output", c->output);
  for (size_t i = 0; i < c->files.n; i++) json_array_append_new(files, json_text(c->files.path[i]));
  json_object_set_new(o, "files", files);
  put(o, "output_bytes", c->output_bytes);
  if (c->predicted_cycles) put(o, "predicted_cycles", c->predicted_cycles);
  put_real(o, "emit_seconds", c->emit_seconds);
  put_real(o, "seconds", c->seconds);
  for (size_t i = 0; i < c->n; i++) json_array_append_new(bindings, json_binding(c, &c->bound[i]));
  json_object_set_new(o, "bindings", bindings);
  return o;
}

size_t wk_compile_json_size(const wk_compilation *c) {
  enum { NUMBERS = 4096 }; /* what is not known yet has more digits then */
  json_t *o = json_compilation(c);
  size_t n = json_dumpb(o, NULL, 0, JSON_INDENT(2));
  json_decref(o);
  return n + NUMBERS;
}

void wk_compile_json(wk_out *out, const wk_compilation *c) {
  json_t *o = json_compilation(c);
  json_dump_callback(o, write_some, out, JSON_INDENT(2));
  wk_out_write(out, "\n", 1);
  json_decref(o);
}
