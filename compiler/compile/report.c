/* SPDX-License-Identifier: Apache-2.0
 * Every figure of a compilation as JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "compiler/compile/compile.h"

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
    put_text(o, "target", wk_targets_name(p->targets, x->target).s);
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
    put_text(o, "not_on", wk_targets_name(p->targets, x->refused).s);
    put_text(o, "reason", x->reason);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *json_memory(const wk_compilation *c, const wk_compiled *bound) {
  const wk_program *p = wk_compiled_program(bound);
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

/* Weights that --convert has made whole numbers. */
static json_t *json_blocks(const wk_block_report *r) {
  json_t *list = json_array();
  for (size_t i = 0; i < r->rows.n; i++) {
    const wk_block_row *x = &r->rows.data[i];
    json_t *o = json_object();
    put_text(o, "node", x->node);
    put_text(o, "weights", x->weights);
    put_text(o, "read_by", x->is_table ? "lookup" : "product");
    put_real(o, "relative_error", x->error);
    put(o, "bytes_before", x->was);
    put(o, "bytes", x->bytes);
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
  if (bound->report.blocks.rows.n)
    json_object_set_new(o, "converted_weights", json_blocks(&bound->report.blocks));
  json_object_set_new(o, "steps", json_steps(&bound->report));
  const wk_parts *p = bound->parts;
  if (!p || !p->parts.data[0].program) return o;
  json_object_set_new(o, "inputs", json_tensors(p->tensors.data, p->n_in));
  json_object_set_new(o, "outputs", json_tensors(p->tensors.data + p->n_in, p->n_out));
  json_object_set_new(o, "parts", json_parts(p));
  json_object_set_new(o, "fallbacks", json_reasons(p));
  put(o, "edge_bytes", p->edge_bytes);
  if (wk_compiled_program(bound)) json_object_set_new(o, "memory", json_memory(c, bound));
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
  put_text(o, "emit", c->emit.name);
  put_text(o, "output", strcmp(c->output, "-") ? c->output : NULL);
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
