/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/compile.h"

#include <inttypes.h>
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
                 wk_targets_name(p->targets, (uint32_t)k).s, (long long)parts,
                 parts == 1 ? "" : "s", (long long)nodes, nodes == 1 ? "" : "s",
                 wk_text_count(macs).s);
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
  if (wk_compiled_program(bound)) add_memory(t, c, wk_compiled_program(bound));
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

/* ---- --print-parts --------------------------------------------------------------------------- */

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
