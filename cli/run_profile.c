/* SPDX-License-Identifier: Apache-2.0
 * Where the time goes: per instruction of a compiled model, per node of the evaluator. */
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/text.h"

typedef struct {
  const char *op, *name, *what;
  double seconds; /* of all runs */
  uint64_t macs; /* of a run */
  wick_step_work work; /* of all runs */
} profile_row;

typedef WK_VEC(profile_row) profile_rows;

typedef struct {
  profile_row all;
  double runs;
  bool leaves_out; /* something does: there are columns of it */
} profile_sum;

/* What was left out, on average of the runs; blank where nothing can be. */
static void add_work(wk_str *line, const profile_row *r, double runs) {
  double macs = (double)r->macs * runs;
  if (r->work.all_rows)
    wk_str_printf(line, "%.0f of %.0f\t", (double)r->work.rows / runs,
                  (double)r->work.all_rows / runs);
  else wk_str_add(line, "\t");
  if (r->work.left_out && macs > 0)
    wk_str_printf(line, "%.1f\t", 100 * (double)r->work.left_out / macs);
  else wk_str_add(line, "\t");
}

static void add_line(wk_table *t, const char *op, const char *name, const profile_row *r,
                     const profile_sum *sum) {
  double s = r->seconds / sum->runs, left = (double)r->work.left_out / sum->runs;
  double total = sum->all.seconds;
  wk_str rate = {0}, work = {0};
  if (r->macs && s > 0) wk_str_printf(&rate, "%.1f", 2e-9 * ((double)r->macs - left) / s);
  else wk_str_add(&rate, "-");
  if (sum->leaves_out) add_work(&work, r, sum->runs);
  wk_table_row(t, "%.3f\t%.1f\t%s\t%s%s\t%s\t%s", s * 1e3,
               total > 0 ? 100 * r->seconds / total : 0, rate.s, work.s ? work.s : "", op, name,
               r->what ? r->what : "");
  wk_str_free(&rate);
  wk_str_free(&work);
}

static int by_seconds(const void *a, const void *b) {
  const profile_row *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
  return strcmp(x->op, y->op);
}

static void add(profile_row *to, const profile_row *r) {
  to->seconds += r->seconds;
  to->macs += r->macs;
  to->work.rows += r->work.rows;
  to->work.all_rows += r->work.all_rows;
  to->work.left_out += r->work.left_out;
}

static void add_sums(wk_table *t, const profile_rows *rows, const profile_sum *sum) {
  profile_rows sums = {0};
  for (size_t i = 0; i < rows->n; i++) {
    size_t k = 0;
    profile_row fresh = {.op = rows->data[i].op};
    while (k < sums.n && strcmp(sums.data[k].op, rows->data[i].op) != 0) k++;
    if (k == sums.n) wk_vec_push(&sums, fresh);
    add(&sums.data[k], &rows->data[i]);
  }
  if (sums.n) qsort(sums.data, sums.n, sizeof *sums.data, by_seconds);
  for (size_t i = 0; i < sums.n; i++) add_line(t, sums.data[i].op, "all", &sums.data[i], sum);
  wk_vec_free(&sums);
}

static void print_work(const profile_sum *sum) {
  const wick_step_work *w = &sum->all.work;
  double macs = (double)sum->all.macs, left = (double)w->left_out / sum->runs;
  printf("\n%.4g of %.4g million multiplications left out (%.1f %%)", left * 1e-6, macs * 1e-6,
         macs > 0 ? 100 * left / macs : 0);
  if (w->all_rows)
    printf(", %.0f of %.0f rows computed", (double)w->rows / sum->runs,
           (double)w->all_rows / sum->runs);
  putchar('\n');
}

static void print(const profile_rows *rows, double runs) {
  profile_sum sum = {.runs = runs};
  wk_table t = {0};
  for (size_t i = 0; i < rows->n; i++) add(&sum.all, &rows->data[i]);
  sum.leaves_out = sum.all.work.all_rows || sum.all.work.left_out;
  wk_table_row(&t, "MS\t%%\tGFLOP/S\t%sOP\tNODE\tOPERANDS",
               sum.leaves_out ? "ROWS\tLEFT OUT %\t" : "");
  for (size_t i = 0; i < rows->n; i++)
    add_line(&t, rows->data[i].op, rows->data[i].name, &rows->data[i], &sum);
  add_sums(&t, rows, &sum);
  wk_table_row(&t, "%.3f\t100.0\t%stotal", sum.all.seconds / runs * 1e3,
               sum.leaves_out ? "\t\t\t" : "\t");
  wk_table_print(stdout, &t, sum.leaves_out ? "rrrrrlll" : "rrrlll");
  if (sum.leaves_out) print_work(&sum);
  putchar('\n');
}

/* ---- compiled -------------------------------------------------------------------------------- */

static wk_status run_steps(const wk_run_opts *o, wk_run_job *job, wk_tensor *out,
                           wick_step_profile *profile, wick_step_work *work) {
  wk_run_buffers b;
  wick_session *session = wk_runner_session(job->runner);
  WK_TRY(wk_run_warm(job, out, &b));
  for (int64_t k = 0; k < o->repeat; k++) {
    wk_runner_rewind(job->runner);
    wick_status s = wick_session_run_counted(session, b.inputs, b.outputs, profile, work);
    WK_TRY(wk_wick_error(s, wick_session_error(session), NULL));
  }
  return NULL;
}

/* Whose times these are, where the device may have a clock of its own. */
static void print_clocks(const wick_session *session) {
  const wick_entry_info *e = wick_session_entry(session);
  uint64_t told = 0; /* units, but for those behind the first 64 */
  for (uint32_t i = 0; i < e->part_count; i++) {
    const wick_part_info *p = e->parts[i];
    bool is_own = wick_session_clock(session, p->unit) == WICK_CLOCK_DEVICE;
    if (strcmp(p->target, "opencl") != 0 || p->unit >= 64 || told >> p->unit & 1) continue;
    told |= (uint64_t)1 << p->unit;
    printf("%s\n\n", is_own ? "times of opencl are by the device's own clock"
                            : "opencl does not tell its times: each instruction was waited for");
  }
}

static wk_status profile_session(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) {
  const wick_entry_info *e = wick_session_entry(wk_runner_session(job->runner));
  wick_step_profile *profile = wk_xcalloc(e->step_count, sizeof *profile);
  wick_step_work *work = wk_xcalloc(e->step_count, sizeof *work);
  profile_rows rows = {0};
  wk_status s = run_steps(o, job, out, profile, work);
  for (uint32_t i = 0; !s && i < e->step_count; i++) {
    uint64_t calls = profile[i].calls / (uint64_t)o->repeat;
    profile_row r = {.op = e->steps[i].op, .name = wk_text_shown(job->arena, e->steps[i].node),
                     .what = wk_text_shown(job->arena, e->steps[i].text),
                     .seconds = 1e-9 * (double)profile[i].nanoseconds,
                     .macs = calls * e->steps[i].macs, .work = work[i]};
    wk_vec_push(&rows, r);
  }
  if (!s) print(&rows, (double)o->repeat);
  if (!s) print_clocks(wk_runner_session(job->runner));
  wk_vec_free(&rows);
  free(profile);
  free(work);
  return s;
}

/* ---- evaluator ------------------------------------------------------------------------------- */

typedef struct {
  profile_rows rows; /* of the first run; later ones add their times */
  size_t next;
  double last;
  wk_arena *arena;
} eval_profile;

static wk_status after_node(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                            const wk_tensor *out, int depth) {
  eval_profile *p = ctx;
  (void)in;
  if (depth > 0) return NULL; /* the time of bodies is their owner's */
  double t = wk_clock();
  if (p->next == p->rows.n) {
    profile_row r = {.op = wk_op_get(n->op)->name, .name = wk_text_shown(p->arena, n->name),
                     .macs = (uint64_t)wk_node_macs(g, n)};
    if (n->n_out && n->out[0] != WK_NONE) r.what = wk_type_text(p->arena, &out[0].type);
    wk_vec_push(&p->rows, r);
  }
  p->rows.data[p->next++].seconds += t - p->last;
  p->last = wk_clock();
  return NULL;
}

static wk_status profile_eval(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) {
  eval_profile p = {.arena = job->arena};
  wk_status s = NULL;
  for (int64_t k = 0; !s && k < o->repeat; k++) {
    wk_runner_rewind(job->runner);
    p.next = 0;
    p.last = wk_clock();
    s = wk_runner_evaluate(job->runner, job->in, out, after_node, &p);
  }
  if (!s) print(&p.rows, (double)o->repeat);
  wk_vec_free(&p.rows);
  return s;
}

wk_status wk_run_profile(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) {
  return wk_runner_session(job->runner) ? profile_session(o, job, out) : profile_eval(o, job, out);
}
