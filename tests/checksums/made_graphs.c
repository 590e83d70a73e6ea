/* SPDX-License-Identifier: Apache-2.0
 * made graphs, made operators: drawn graphs through the whole compiler. A cell is of what the steps
 * changed, of the plan's programs and of the LLVM IR or the OpenCL C and package of the parts. */
#include "targets/cpu/codegen.h"
#include "tests/checksums/made_machines.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/random_layers.h"
#include "tests/random_middle.h"

enum { SEEDS = 6 };

static wk_module *draw_integers(uint64_t seed) { return random_integer_graph(seed, 3); }
static wk_module *draw_layers(uint64_t seed) { return random_layers_graph(seed, 4); }
static wk_module *draw_middle(uint64_t seed) { return random_middle_graph(seed, 10); }
static wk_module *draw_floats(uint64_t seed) {
  const random_options o = {.nodes = 2 + (int)(seed % 4) * 5, .only = WK_OP_COUNT};
  return random_graph(seed, &o);
}

static const struct {
  const char *name;
  wk_module *(*draw)(uint64_t seed);
  uint64_t first, count;
} kinds[] = {{"integers", draw_integers, 3000, 24},
             {"layers", draw_layers, 3100, 12},
             {"middle", draw_middle, 3200, 16},
             {"floats", draw_floats, 3300, 32}};

/* What every step says that it did. */
static void add_steps(const wk_pipeline_report *r, wk_str *text) {
  for (size_t i = 0; i < r->steps.n; i++) {
    const wk_step_record *step = &r->steps.data[i];
    wk_str_printf(text, "%s %s: %lld changes\n", step->part ? step->part : "-", step->name,
                  (long long)step->changes);
  }
  wk_str_printf(text, "%lld nodes, %lld macs, %lld weights, %lld instructions, %lld to %lld\n",
                (long long)r->nodes, (long long)r->macs, (long long)r->weights,
                (long long)r->instructions, (long long)r->peak_in_model_order,
                (long long)r->peak_ordered);
}

/* Those of the first target. */
static wk_status add_package(const wk_parts *p, wk_str *text) {
  wk_target_part *of = wk_xcalloc(p->parts.n + 1, sizeof *of);
  size_t n = 0;
  for (size_t i = 0; i < p->parts.n; i++) {
    const wk_part *part = &p->parts.data[i];
    if (part->target == 0)
      of[n++] = (wk_target_part){.name = part->name, .graph = part->module->main,
                                 .program = part->program};
  }
  wk_status s = made_package(p->targets->list[0], of, n, text);
  free(of);
  return s;
}

static void emit_graph(made_table *t, const made_place *place, size_t machine,
                       const wk_module *from) {
  const wk_targets *targets = &place->targets[machine];
  const wk_pipeline_options o = {.targets = targets};
  const wk_emit_options eo = {.model_name = "made", .command = "made"};
  wk_emit_result result = {.scratch_bytes = -1};
  wk_pipeline_report report = {0};
  wk_parts *parts = NULL;
  wk_str text = {0};
  wk_module *m = wk_module_clone(from);
  wk_status s = wk_pipeline_run(m, &o, &report, &parts);
  add_steps(&report, &text);
  for (size_t i = 0; !s && i < parts->parts.n; i++)
    wk_program_print(&text, parts->parts.data[i].program, WK_PRINT_SHORT);
  const wk_emit_entry entry = {"", parts};
  if (!s)
    s = wk_emit_output(made_output(targets->list[0]), targets->list[0], &entry, 1, &eo,
                       place->path, &result);
  if (!s) s = add_package(parts, &text);
  made_written(t, place, machine, s, &text);
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_module_free(m);
}

void made_graphs(made_table *t) {
  made_place place;
  char name[32];
  made_open(&place);
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++)
    for (uint64_t i = 0; i < kinds[k].count; i++) {
      wk_module *m = kinds[k].draw(kinds[k].first + i);
      snprintf(name, sizeof name, "%s-%d", kinds[k].name, (int)(kinds[k].first + i));

      made_row(t, name);
      for (size_t j = 0; j < MADE_MACHINES && m->main->outputs.n; j++)
        emit_graph(t, &place, j, m);
      wk_module_free(m);
    }
  made_close(&place);
}

/* A row of all operators that the CPU has no code for with some type, as whole instructions. */
static void add_refusals(made_table *t) {
  wk_str text = {0};
  int refused = 0;
  char figures[16];
  for (int op = 0; op < WK_OP_COUNT; op++)
    for (int type = WK_DTYPE_NONE + 1; type < WK_DTYPE_COUNT; type++)
      for (int rank = 4; rank <= 6; rank++) {
        const char *why = wk_codegen_rare_refusal((wk_op)op, (wk_dtype)type, rank);
        refused += why != NULL;
        wk_str_printf(&text, "%s %s %d: %s\n", wk_op_get((wk_op)op)->name,
                      wk_dtype_name((wk_dtype)type), rank, why ? why : "-");
      }
  snprintf(figures, sizeof figures, "%d", refused);
  made_row(t, "refusals");
  made_cell(t, "cpu", figures, text.s, text.n);
  wk_str_free(&text);
}

/* Each operator alone, for three machines by turns: its number says which. */
void made_operators(made_table *t) {
  made_place place;
  char name[48];
  add_refusals(t);
  made_open(&place);
  for (int op = 0; op < WK_OP_COUNT; op++)
    for (uint64_t i = 0; i < SEEDS; i++) {
      const random_options o = {.nodes = 3, .only = (wk_op)op, .no_motifs = true};
      wk_module *m = random_graph(3400 + i, &o);
      if (m->main->outputs.n) {
        snprintf(name, sizeof name, "%s-%d", wk_op_get((wk_op)op)->name, (int)i);
        made_row(t, name);
        for (size_t k = 0; k < 3; k++)
          emit_graph(t, &place, ((size_t)op + i + k * 4) % MADE_MACHINES, m);
      }
      wk_module_free(m);
    }
  made_close(&place);
}
