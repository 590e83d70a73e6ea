/* SPDX-License-Identifier: Apache-2.0
 * wick inspect: what a model file or a package says about itself. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/accel_parts.h"
#include "cli/command.h"
#include "cli/text.h"
#include "compiler/pipeline/runner.h"
#include "compiler/pipeline/targets.h"
#include "runtime/device.h"

typedef struct {
  wk_binding_args binding; /* only --cut, and the files of a net */
  bool steps;
  wk_strings plugins;
} inspect_opts;

static const wk_option options[] = {
    {"steps", 0, NULL, "also list a package's instructions and labels, or a model's operators",
     .kind = WK_OPTION_FLAG, .offset = offsetof(inspect_opts, steps)},
    WK_PLUGIN_ROW(inspect_opts, plugins),
    WK_CUT_OPTION(inspect_opts, binding.cut),
    WK_NET_OPTIONS(inspect_opts, binding),
    {0}};

static void row(wk_table *t, const char *key, const char *value) {
  if (value && *value) wk_table_row(t, "%s\t%s", key, value);
}

/* Names out of the file: what is in them must not look like more rows or columns. */
static void name_row(wk_table *t, const char *key, const char *value) {
  char *s = wk_xstrdup(value);
  wk_text_clean(s);
  row(t, key, s);
  free(s);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void add_io(wk_table *t, const char *kind, const wk_onnx_io *io, wk_arena *a) {
  wk_table_row(t, "%s %s\t%s%s", kind, wk_text_shown(a, io->name), wk_onnx_io_text(a, io),
               io->has_default ? ", has a default" : "");
}

static void add_opsets(wk_table *t, const wk_onnx_info *m) {
  wk_str b = {0};
  for (size_t i = 0; i < m->opsets.n; i++)
    wk_str_printf(&b, "%s%s %lld", i ? ", " : "",
                  *m->opsets.data[i].domain ? m->opsets.data[i].domain : "ai.onnx",
                  (long long)m->opsets.data[i].version);
  name_row(t, "opsets", b.s ? b.s : "");
  wk_str_free(&b);
}

static void add_ops(wk_table *t, const wk_onnx_info *m, bool all) {
  wk_str b = {0};
  for (size_t i = 0; i < m->ops.n && !all; i++)
    wk_str_printf(&b, "%s%s %lld", i ? ", " : "", m->ops.data[i].op,
                  (long long)m->ops.data[i].count);
  name_row(t, "operators", b.s ? b.s : "");
  for (size_t i = 0; i < m->ops.n && all; i++)
    wk_table_row(t, "  %s\t%lld", wk_text_shown(m->arena, m->ops.data[i].op),
                 (long long)m->ops.data[i].count);
  wk_str_free(&b);
}

static wk_status read_info(const char *path, const wk_binding_args *binding, wk_onnx_info *out) {
  wk_binding_set set;
  size_t n;
  WK_TRY(wk_binding_sets_parse(binding, &set, 1, &n));
  const wk_import_options io = wk_binding_import_options(&set, false);
  wk_status s = wk_net_inspect(path, &io, out);
  wk_binding_set_free(&set);
  return s;
}

static wk_status inspect_model(const char *path, const wk_file *f, const inspect_opts *o) {
  wk_onnx_info m;
  wk_table t = {0};
  wk_model_kind kind;
  WK_TRY(wk_model_kind_of(path, &kind));
  WK_TRY(read_info(path, &o->binding, &m));
  wk_table_row(&t, "file\t%s", path);
  if (kind == WK_MODEL_NET)
    row(&t, "format", "Caffe2 net, shown as the ONNX model that it becomes");
  else wk_table_row(&t, "format\tONNX%s, IR version %lld", kind == WK_MODEL_TEXT ? " in text" : "",
                    (long long)m.ir_version);
  row(&t, "weights", o->binding.init_net);
  wk_table_row(&t, "size\t%s", wk_bytes_text(f->size).s);
  wk_table_row(&t, "hash\t%016" PRIx64 " (XXH3)", wk_hash64(f->data, f->size, 0));
  name_row(&t, "producer",
           *m.producer ? wk_arena_printf(m.arena, "%s %s", m.producer, m.producer_version) : "");
  name_row(&t, "graph", m.graph_name);
  add_opsets(&t, &m);
  for (size_t i = 0; i < m.inputs.n; i++) add_io(&t, "input", &m.inputs.data[i], m.arena);
  for (size_t i = 0; i < m.outputs.n; i++)
    add_io(&t, "output", &m.outputs.data[i], m.arena);
  wk_table_row(&t, "nodes\t%lld", (long long)m.nodes);
  wk_table_row(&t, "parameters\t%s (%s)", wk_text_count(m.parameters).s,
               wk_bytes_text((uint64_t)m.parameter_bytes).s);
  add_ops(&t, &m, o->steps);
  wk_table_print(stdout, &t, "ll");
  wk_onnx_info_free(&m);
  return NULL;
}

/* ---- packages -------------------------------------------------------------------------------- */

/* number: among the inputs, then outputs of the entry; e NULL: of none. */
static void add_tensor(wk_table *t, const char *kind, const wick_entry_info *e, uint32_t number,
                       const wick_tensor_info *x, wk_arena *a) {
  wk_type type = wk_type_make((wk_dtype)x->dtype, (int)x->rank, x->dims);
  int64_t least[WK_MAX_RANK];
  memcpy(least, type.dims, sizeof least);
  for (uint32_t i = 0; e && i < e->extent_count; i++)
    if (e->extents[i].tensor == number) least[e->extents[i].axis] = e->extents[i].least;
  wk_table_row(t, "  %s %s\t%s (%s)", kind, wk_text_shown(a, x->name),
               wk_range_text(a, &type, least), wk_bytes_text(x->bytes).s);
}

/* What it is made of, where that is more than one part on all of its tensors. */
static void add_parts(wk_table *t, const wick_entry_info *e, wk_arena *a) {
  for (uint32_t i = 0; i < e->part_count && (e->part_count > 1 || e->edge_count); i++) {
    const wick_part_info *p = e->parts[i];
    wk_table_row(t, "  part %s\t%s, unit %u: %u inputs, %u outputs, %u instructions",
                 *p->name ? wk_text_shown(a, p->name) : "-", wk_text_shown(a, p->target), p->unit,
                 p->input_count, p->output_count, p->step_count);
  }
  if (e->edge_count)
    wk_table_row(t, "  edges\t%u (%s)", e->edge_count, wk_bytes_text(e->edge_bytes).s);
  if (e->reads_state || e->writes_state)
    wk_table_row(t, "  state\t%s", e->writes_state ? "written" : "read");
}

/* What the output's numbers stand for: the first ones, all with --steps. */
static void add_labels(wk_table *t, const wick_labels *l, bool all, wk_arena *a) {
  enum { SHOWN = 10 };
  wk_str b = {0};
  for (uint32_t i = 0; l && i < l->count && (all || i < SHOWN); i++)
    wk_str_printf(&b, "%s%s", i ? ", " : "", wk_text_shown(a, l->texts[i]));
  if (l && !all && l->count > SHOWN) wk_str_printf(&b, ", … (%u)", l->count);
  if (l)
    wk_table_row(t, "    %s\t%s", l->kind == WICK_LABELS_COLUMNS ? "columns" : "0, 1, … stand for",
                 b.s);
  wk_str_free(&b);
}

static void add_entry(wk_table *t, const wick_entry_info *e, uint32_t index, bool all,
                      wk_arena *a) {
  uint64_t macs = 0;
  for (uint32_t i = 0; i < e->step_count; i++) macs += e->steps[i].macs;
  wk_table_row(t, "entry %u\t%s", index, *e->name ? wk_text_shown(a, e->name) : "-");
  for (uint32_t i = 0; i < e->input_count; i++) add_tensor(t, "input", e, i, &e->inputs[i], a);
  for (uint32_t i = 0; i < e->output_count; i++) {
    add_tensor(t, "output", e, e->input_count + i, &e->outputs[i], a);
    add_labels(t, wick_output_labels(e, i), all, a);
  }
  add_parts(t, e, a);
  wk_table_row(t, "  instructions\t%u", e->step_count);
  wk_table_row(t, "  multiply-accumulates\t%s", wk_text_count((int64_t)macs).s);
  wk_table_row(t, "  activations\t%s (at least %s)", wk_bytes_text(e->arena_bytes).s,
               wk_bytes_text(e->arena_bound).s);
  wk_table_row(t, "  scratch of each thread\t%s", wk_bytes_text(e->scratch_bytes).s);
}

static void add_unit(wk_table *t, const wick_unit_info *u, uint32_t index, wk_arena *a) {
  wk_str b = {0};
  wk_str_add(&b, wk_text_shown(a, u->target));
  if (*u->spec) wk_str_printf(&b, ", %s", wk_text_shown(a, u->spec));
  if (*u->machine) wk_str_printf(&b, ", %s", u->machine);
  if (u->machine_hash) wk_str_printf(&b, ", machine %016" PRIx64, u->machine_hash);
  const wick_device *device = wick_device_find(u->target);
  wk_table_row(t, "unit %u\t%s", index, b.s);
  wk_table_row(t, "  device\t%s", device ? device->doc : "none here; --plugin loads one");
  if (*u->features) wk_table_row(t, "  features\t%s", wk_text_shown(a, u->features));
  wk_str_free(&b);
}

static void add_state(wk_table *t, const wick_state_info *s, wk_arena *a) {
  add_tensor(t, s->is_public ? "state" : "private state", NULL, 0, s->tensor, a);
}

static void add_sections(wk_table *t, const wick_model_info *m, wk_arena *a) {
  for (uint32_t i = 0; i < m->section_count; i++) {
    const wick_section_info *s = &m->sections[i];
    const char *name = wk_text_shown(a, s->name);
    if (s->unit != WICK_NONE) name = wk_arena_printf(a, "%s of unit %u", name, s->unit);
    wk_table_row(t, "section %s\t%s at %" PRIu64 ", CRC32C %08x", name, wk_bytes_text(s->bytes).s,
                 s->offset, s->crc);
  }
}

static void print_steps(const wick_entry_info *e, uint32_t index, wk_arena *a) {
  wk_table t = {0};
  wk_table_row(&t, "\nSTEP %u.\tNODE\tMACS\tBYTES\tINSTRUCTION", index);
  for (uint32_t i = 0; i < e->step_count; i++)
    wk_table_row(&t, "%u\t%s\t%s\t%s\t%s", i, wk_text_shown(a, e->steps[i].node),
                 wk_text_count((int64_t)e->steps[i].macs).s, wk_bytes_text(e->steps[i].bytes).s,
                 wk_text_shown(a, e->steps[i].text));
  wk_table_print(stdout, &t, "rlrrl");
}

/* ---- the accelerator's parts ----------------------------------------------------------------- */

static void add_accel_machine(wk_table *t, const wk_accel_unit *u, uint32_t unit) {
  const wk_machine *m = &u->machine;
  wk_str b = {0};
  wk_machine_key_text(&b, m, &wk_machine_keys[WK_KEY_dram_bytes]);
  wk_table_row(t, "machine of unit %u\t%s: %lld x %lld MACs, %s + %s, memory %s B/cycle, latency "
               "%lld", unit, m->name, (long long)m->array, (long long)m->array,
               wk_bytes_text((uint64_t)m->scratchpad).s,
               wk_bytes_text((uint64_t)m->accumulators).s, b.s, (long long)m->dram_latency);
  wk_str_free(&b);
}

static void add_accel_parts(wk_table *t, const wick_model_info *m, const wk_accel_parts *p,
                            wk_arena *a) {
  for (uint32_t i = 0; i < m->unit_count; i++)
    if (p->units[i].n_parts) add_accel_machine(t, &p->units[i], i);
  for (size_t i = 0; i < p->n_parts; i++) {
    const wk_accel_package_part *x = &p->parts[i];
    wk_table_row(t, "accelerator part %zu\t%s, unit %u: %u commands, %u layers, %s of activations, "
                 "%" PRIu64 " cycles predicted", i, wk_text_shown(a, x->info->name),
                 x->info->unit, x->row->commands, x->row->layers,
                 wk_bytes_text(x->row->work_bytes).s, x->row->predicted);
  }
}

static void print_accel_layers(const wk_accel_package_part *x, size_t number, wk_arena *a) {
  wk_table t = {0};
  wk_table_row(&t, "\nLAYER\tNODE\tOP\tGROUP\tMACS\tARRAY\tDRAIN\tVECTOR\tLOADED\tSTORED"
               "\tCOMPULSORY\tPREDICTED");
  for (uint32_t i = 0; i < x->row->layers; i++) {
    const wk_accel_layer *l = &x->unit->layers[x->row->first_layer + i];
    wk_table_row(&t, "%zu.%u\t%s\t%s\t%u\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                 "\t%s\t%s\t%s\t%" PRIu64, number, i + 1,
                 wk_text_shown(a, wk_accel_text(x->unit, l->name)),
                 wk_text_shown(a, wk_accel_text(x->unit, l->op)), l->group,
                 wk_text_count((int64_t)l->macs).s, l->ex, l->drain, l->ve,
                 wk_bytes_text(l->loaded).s, wk_bytes_text(l->stored).s,
                 wk_bytes_text(l->compulsory).s, l->predicted);
  }
  wk_table_print(stdout, &t, "rllrrrrrrrrr");
}

/* ---- all of a package ------------------------------------------------------------------------ */

static void print_package(const char *path, const wick_model *model, const wk_accel_parts *accel,
                          bool steps) {
  const wick_model_info *m = wick_model_describe(model);
  wk_arena *a = wk_arena_new();
  wk_table t = {0};
  wk_table_row(&t, "file\t%s", path);
  wk_table_row(&t, "format\twick package, version %u", m->format_version);
  wk_table_row(&t, "size\t%s", wk_bytes_text(m->file_bytes).s);
  name_row(&t, "model", m->name);
  wk_table_row(&t, "model hash\t%016" PRIx64 " (XXH3)", m->input_hash);
  wk_table_row(&t, "compiler\twick %s", m->compiler);
  name_row(&t, "options", m->flags);
  for (uint32_t i = 0; i < m->unit_count; i++) add_unit(&t, &m->units[i], i, a);
  for (uint32_t i = 0; i < m->entry_count; i++)
    add_entry(&t, wick_model_entry(model, i), i, steps, a);
  add_accel_parts(&t, m, accel, a);
  if (m->state_count) wk_table_row(&t, "states\t%s", wk_bytes_text(m->state_bytes).s);
  for (uint32_t i = 0; i < m->state_count; i++) add_state(&t, &m->states[i], a);
  add_sections(&t, m, a);
  wk_table_print(stdout, &t, "ll");
  for (uint32_t i = 0; i < m->entry_count && steps; i++)
    if (wick_model_entry(model, i)->step_count) print_steps(wick_model_entry(model, i), i, a);
  for (size_t i = 0; i < accel->n_parts && steps; i++)
    print_accel_layers(&accel->parts[i], i, a);
  wk_arena_free(a);
}

static wk_status inspect_package(const char *path, const wk_file *f, bool steps) {
  wick_model *model;
  wk_accel_parts accel;
  wick_error_detail detail = {{0}};
  wick_load_options o = {.size = sizeof o, .flags = WICK_LOAD_DESCRIBE, .detail = &detail};
  WK_TRY(wk_wick_error(wick_model_load(path, &o, &model), detail.text, path));
  wk_status s = wk_status_place(wk_accel_parts_read(model, f, &accel), path);
  print_package(path, model, &accel, steps); /* what can be said of it */
  wk_accel_parts_free(&accel);
  wick_model_free(model);
  return s;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const inspect_opts *o = options_;
  const char *path = args->data[0];
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  bool package = wk_is_package(&f);
  wk_status s = package ? inspect_package(path, &f, o->steps) : inspect_model(path, &f, o);
  wk_file_unmap(&f);
  return s;
}

const wk_cmd wk_cmd_inspect = {
    .command = {.name = "inspect", .synopsis = "FILE",
                .summary = "show what is in a model or a package",
                .description = "Checks a package's checksums. Packages for other processors and "
                               "devices can be looked at too. Of parts for the accelerator, "
                               "--steps lists the layers: multiply-accumulates of the model, the "
                               "cycles that array, drain and vector unit need at least, bytes "
                               "moved, cycles that the compiler expects.",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(inspect_opts), .run = run};
