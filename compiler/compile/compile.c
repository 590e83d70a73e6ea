/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/compile/compile.h"

#include <stdlib.h>

/* ---- a binding ------------------------------------------------------------------------------- */

typedef struct {
  wk_compilation *c;
  wk_compiled *bound;
  const wk_compile_watch *watch; /* NULL: nobody */
  enum { IMPORTING, COMPILING, EMITTING } at;
} compiling;

static void record_insts(wk_compiled *bound, const wk_program *p) {
  wk_inst_pos *all;
  wk_str text = {0};
  wk_arena *scratch = wk_arena_new();
  size_t n = wk_program_flatten(p, scratch, &all);
  for (size_t i = 0; i < n; i++) {
    const wk_inst *x = all[i].inst;
    wk_inst_record r = {.node = wk_arena_strdup(bound->arena, x->name),
                        .op = wk_op_get(x->op)->name, .macs = wk_inst_macs(x),
                        .depth = all[i].depth};
    for (uint32_t k = 0; k < x->n_operands; k++)
      if (x->operands[k].buffer != WK_NONE)
        r.bytes += wk_view_count(&x->operands[k]) * wk_dtype_size(x->operands[k].dtype);
    text.n = 0;
    wk_inst_text(&text, p, x);
    r.text = wk_arena_strdup(bound->arena, text.s);
    wk_vec_push(&bound->insts, r);
  }
  wk_str_free(&text);
  wk_arena_free(scratch);
}

static wk_status after_step(void *ctx, const wk_step_record *step, const wk_module *m,
                            const wk_program *p) {
  compiling *x = ctx;
  wk_progress("%s: %s", x->c->name, step->name);
  if (step->kind == WK_ON_GRAPHS) x->bound->nodes_after = wk_module_nodes(m);
  if (step->is_portable_end) record_insts(x->bound, p);
  return x->watch && x->watch->after ? x->watch->after(x->watch->ctx, step, m, p) : NULL;
}

static wk_status measure_input(wk_compilation *c) {
  const char *files[] = {c->model, c->bound[0].binding.init_net};
  c->input_bytes = 0;
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    wk_file f;
    if (!files[i]) continue;
    WK_TRY(wk_file_map(files[i], &f));
    c->input_bytes += (int64_t)f.size;
    wk_file_unmap(&f);
  }
  return NULL;
}

static wk_status import(void *ctx, wk_module **out) {
  compiling *x = ctx;
  const wk_compile_options *o = x->c->o;
  double started = wk_clock();
  bool is_first = x->bound == x->c->bound;
  x->bound->binding.state = o->state.n ? &o->state : NULL;
  wk_progress("%s: import", x->c->name);
  WK_TRY(wk_model_import(x->c->model, &x->bound->binding, o->list_all, &x->c->notes,
                         is_first ? &x->c->input_hash : NULL, out));
  if (o->quantize) WK_TRY(wk_quantize_module(out, x->c->model, o->quantize));
  WK_TRY(wk_model_keep(*out, &o->state, x->c->model, &x->c->notes));
  WK_TRY(wk_status_place(wk_model_need(*out, &o->needed), x->c->model));
  x->bound->import_seconds = wk_clock() - started;
  if (x->watch && x->watch->imported) x->watch->imported(x->watch->ctx, *out);
  x->at = COMPILING;
  return NULL;
}

static const char *products_text(const wk_block_report *r, wk_arena *a) {
  const char *text = wk_arena_printf(a, r->products == 1 ? "1 product's weights"
                                                         : "%lld products' weights",
                                     (long long)r->products);
  if (r->tables == 0) return text;
  return wk_arena_printf(a, "%s and %lld table%s", text, (long long)r->tables,
                         r->tables == 1 ? "" : "s");
}

/* What --convert has made of weights. */
static void note_blocks(compiling *x) {
  const wk_block_report *r = &x->bound->report.blocks;
  wk_dtype type;
  int64_t block;
  if (!wk_compile_convert(x->c->o, &type, &block) || !block) return;
  const char *name = wk_dtype_name(type), *text;
  wk_arena *a = wk_arena_new();
  if (r->rows.n == 0)
    text = wk_arena_printf(a, "no weights became %s: no product has a constant matrix that would "
                           "become much smaller", name);
  else
    text = wk_arena_printf(a, "%s are %s in blocks of %lld: relative error %.2g (RMS), %s instead "
                           "of %s", products_text(r, a), name, (long long)block, r->error,
                           wk_bytes_text((uint64_t)r->bytes).s, wk_bytes_text((uint64_t)r->was).s);
  wk_model_add_note(&x->c->notes, x->c->model, text);
  wk_arena_free(a);
}

static void add_notes(compiling *x, wk_status s) {
  if (!s) note_blocks(x);
  wk_model_target_notes(&x->c->notes, x->c->model, &x->bound->report, &x->c->targets,
                        x->bound->parts, s);
}

/* All bindings together, behind the last of them. */
static wk_status emit(void *ctx, wk_parts *parts) {
  compiling *x = ctx;
  x->at = EMITTING;
  x->bound->parts = parts;
  add_notes(x, NULL);
  if (x->bound + 1 < x->c->bound + x->c->n) return NULL;
  WK_TRY(measure_input(x->c));
  if (x->watch && x->watch->emitting) WK_TRY(x->watch->emitting(x->watch->ctx, x->c));
  return wk_compilation_write(x->c);
}

static wk_status compile_binding(compiling *x) {
  wk_compilation *c = x->c;
  const wk_compile_options *o = c->o;
  wk_pipeline_options po = {.targets = &c->targets, .ends = {import, emit, x},
                            .stop_after = o->stop_after, .shares_variables = c->n > 1,
                            .hook = after_step, .ctx = x};
  wk_compile_convert(o, &po.convert, &po.convert_block);
  if (o->budget) wk_bytes_parse(o->budget, &po.memory_budget);
  po.graph_only = wk_emission_is_graph(&c->emit) && !o->stop_after;
  po.portable = wk_emission_is_program(&c->emit) && !o->stop_after;
  x->bound->arena = wk_arena_new();
  wk_status s = wk_pipeline_fit(&x->bound->module, &po, &x->bound->report, &x->bound->parts);
  if (x->at != COMPILING) return s; /* which says where by itself */
  add_notes(x, s);
  return wk_status_place(s, c->model);
}

static void free_binding(wk_compiled *bound) {
  wk_parts_free(bound->parts);
  wk_module_free(bound->module);
  wk_pipeline_report_free(&bound->report);
  wk_binding_set_free(&bound->binding);
  wk_vec_free(&bound->insts);
  wk_arena_free(bound->arena);
}

const wk_program *wk_compiled_program(const wk_compiled *bound) {
  return bound->parts && bound->parts->parts.n == 1 ? bound->parts->parts.data[0].program : NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static wk_status parse_bindings(wk_compilation *c) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  WK_TRY(wk_binding_sets_parse(&c->o->binding, sets, WK_MAX_BINDINGS, &c->n));
  for (size_t i = 0; i < c->n; i++) c->bound[i].binding = sets[i];
  return NULL;
}

wk_status wk_compilation_open(const wk_compile_options *o, const char *model, wk_compilation *c) {
  *c = (wk_compilation){.o = o, .arena = wk_arena_new(), .model = model, .output_bytes = -1,
                        .scratch_bytes = -1};
  c->name = wk_model_name(c->arena, model);
  c->command = wk_compile_command_text(o, c->arena);
  c->bound = wk_xcalloc(WK_MAX_BINDINGS, sizeof *c->bound);
  WK_TRY(wk_targets_open(&o->target, &c->targets));
  WK_TRY(wk_emission_find(o, &c->targets, &c->emit));
  WK_TRY(parse_bindings(c));
  WK_TRY(wk_compile_check_options(o, &c->emit, c->n));
  c->target = wk_targets_text(&c->targets, c->arena);
  return NULL;
}

void wk_compilation_close(wk_compilation *c) {
  for (size_t i = 0; i < c->n; i++) free_binding(&c->bound[i]);
  free(c->bound);
  wk_targets_close(&c->targets);
  wk_notes_free(&c->notes);
  wk_str_free(&c->told);
  wk_arena_free(c->arena);
  *c = (wk_compilation){0};
}

wk_status wk_compilation_run(wk_compilation *c, const wk_compile_watch *watch) {
  c->began = wk_clock();
  for (size_t i = 0; i < c->n; i++)
    WK_TRY(compile_binding(&(compiling){c, &c->bound[i], watch, IMPORTING}));
  return NULL;
}
