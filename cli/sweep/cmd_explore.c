/* SPDX-License-Identifier: Apache-2.0
 * wick explore: the machines that are best for some models. */
#include <math.h>

#include "cli/study/sim.h"
#include "cli/sweep/explore.h"
#include "cli/text.h"

static const wk_explore_opts defaults = {
    .sweep.timeout = WK_SWEEP_TIMEOUT, .effort = "1", .budget = 256, .confirm = 1, .seed = 1};

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Machines"},
    {"space", 0, "FILE", "values of the machine's keys, as in a file of a machine: array = "
     "[8, 16, 32]; (docs/explore.md)", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_explore_opts, space)},
    {"machine", 'm', "NAME|FILE.cfg", "machine that has the other keys, and that all are compared "
     "with: base (default), tiny, wide or a file", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_explore_opts, sweep.machine)},
    {"limit", 0, "NAME=NUMBER", "the most that a machine may have: area (mm²), onchip_bytes or "
     "energy (pJ, of all models once); area=1x: as much as --machine", .kind = WK_OPTION_LIST,
     .offset = offsetof(wk_explore_opts, limit)},
    WK_QUANTIZE_RANDOM_OPTION(wk_explore_opts, sweep.quantize),
    WK_BINDING_OPTIONS(wk_explore_opts, sweep.binding),
    {.kind = WK_OPTION_GROUP, .help = "Search"},
    {"budget", 0, "N", "machines that are tried at all (default 256)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_explore_opts, budget), .min = 1, .max = 100000},
    {"effort", 0, "LEVEL", "setting of the target ('wick targets') for the machines of the last "
     "rungs (default 1)", .kind = WK_OPTION_STRING, .offset = offsetof(wk_explore_opts, effort)},
    WK_SWEEP_SETTING_ROWS(wk_explore_opts, sweep.),
    {"confirm", 0, "N", "how many of the fastest are run on the RTL, which takes minutes to build "
     "for each (default 1)", .kind = WK_OPTION_INT, .offset = offsetof(wk_explore_opts, confirm),
     .min = 0, .max = 1000},
    {"seed", 0, "N", "of the machines that are tried first (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_explore_opts, seed), .min = 0, .max = INT64_MAX},
    WK_SWEEP_WORK_OPTIONS(wk_explore_opts, sweep.),
    {0}};

/* ---- what is printed ------------------------------------------------------------------------- */

static const char *energy_text(const wk_explore *e, const wk_candidate *c) {
  return isnan(c->energy) ? "" : wk_arena_printf(e->sweep.arena, "%.0f", c->energy * 1e-6);
}

static const char *rtl_text(const wk_explore *e, const wk_candidate *c) {
  wk_str b = {0};
  wk_str_add(&b, c->rtl_error ? "failed" : "");
  for (size_t m = 0; m < e->sweep.models.n && !c->rtl_error; m++)
    if (c->rtl[m]) wk_str_printf(&b, "%s%s", m ? " " : "", wk_sim_grouped(c->rtl[m]).s);
  double error = wk_candidate_error(e, c);
  if (!isnan(error)) wk_str_printf(&b, " (%.1f %%)", error);
  const char *text = wk_arena_strdup(e->sweep.arena, b.s);
  wk_str_free(&b);
  return text;
}

static void add_row(wk_table *t, const wk_explore *e, const wk_candidate *c) {
  wk_str b = {0};
  for (size_t m = 0; m < e->sweep.models.n; m++)
    wk_str_printf(&b, "%s\t", wk_sim_grouped(c->cycles[m]).s);
  wk_table_row(t, "%s%.3f\t%.3f\t%s\t%s\t%s\t%s", b.s, c->times, c->area,
               wk_bytes_text((uint64_t)c->onchip).s, energy_text(e, c), rtl_text(e, c),
               wk_candidate_text(e, c));
  wk_str_free(&b);
}

/* The front by times, the reference behind it. */
static void print_front(const wk_explore *e, const wk_candidates *front) {
  wk_table t = {0};
  wk_str head = {0}, align = {0};
  for (size_t m = 0; m < e->sweep.models.n; m++) {
    wk_str_printf(&head, "%s\t", wk_text_shown(e->sweep.arena, e->sweep.models.data[m].name));
    wk_str_add(&align, "r");
  }
  wk_str_add(&align, "rrrrrl");
  wk_table_row(&t, "%stimes\tmm²\ton chip\tµJ\tRTL (predicted off by)\tmachine", head.s);
  for (size_t i = 0; i < front->n; i++) add_row(&t, e, front->data[i]);
  add_row(&t, e, e->reference);
  wk_table_print(stdout, &t, align.s);
  wk_str_free(&head);
  wk_str_free(&align);
}

static void print_counts(const wk_explore *e) {
  printf("%zu machines: %zu cannot be, %zu are beyond the limits, %zu of the other %zu were tried; "
         "%zu points computed now\n", e->size, e->impossible, e->excluded, e->tried.n,
         e->places.n, e->computed);
}

/* The first reasons of each kind are enough: explore.json has all. */
static void print_failures(const wk_explore *e) {
  const wk_candidate *first = NULL;
  size_t n = 0;
  for (size_t i = 0; i < e->tried.n; i++) {
    if (!e->tried.data[i]->error) continue;
    if (!n++) first = e->tried.data[i];
  }
  if (n)
    printf("%zu cannot run a model, the first of them (%s): %s\n", n, wk_candidate_text(e, first),
           wk_text_shown(e->sweep.arena, first->error));
  for (size_t i = 0; i < e->tried.n; i++)
    if (e->tried.data[i]->rtl_error)
      printf("on the RTL failed %s: %s\n", wk_candidate_text(e, e->tried.data[i]),
             wk_text_shown(e->sweep.arena, e->tried.data[i]->rtl_error));
}

static wk_status print(const wk_explore *e) {
  wk_candidates all = {0}, front = {0};
  for (size_t i = 0; i < e->tried.n; i++)
    if (e->tried.data[i]->is_front) wk_vec_push(&all, e->tried.data[i]);
  wk_explore_front(&all, &front);
  print_front(e, &front);
  print_failures(e);
  print_counts(e);
  printf("%s/index.html shows them\n", wk_text_shown(e->sweep.arena, e->o->sweep.output));
  wk_status status = front.n ? NULL
      : wk_error(WK_FAILED, "no machine that was tried runs the models within the limits");
  wk_vec_free(&all);
  wk_vec_free(&front);
  return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static wk_status explore(wk_explore *e) {
  WK_TRY(wk_explore_search(e));
  if (e->o->sweep.task) {
    wk_status status = e->rtl_status;
    e->rtl_status = NULL;
    return status;
  }
  WK_TRY(wk_explore_write(e));
  WK_TRY(wk_explore_write_page(e));
  wk_status status = print(e);
  if (status) return status;
  status = e->rtl_status; /* what was found before is there */
  e->rtl_status = NULL;
  return status;
}

static wk_status run(const void *options_, const wk_strings *args) {
  wk_explore e;
  wk_status status = wk_explore_open(options_, &wk_cmd_explore, args, &e);
  if (!status) status = explore(&e);
  wk_explore_free(&e);
  return status;
}

const wk_cmd wk_cmd_explore = {
    .command =
        {.name = "explore", .synopsis = "MODEL.onnx…",
         .summary = "search the machine that is best for some models",
         .description =
             "Tries machines of a space: many by the compiler's quick plan, the best of these by a "
             "better one, the best of those on the timing model, and the fastest on the RTL. "
             "Prints those that no other beats in cycles and area; DIR/explore.json has all, "
             "DIR/index.html draws them. Of several models the geometric mean counts, of cycles "
             "over those of --machine.\n"
             "\n"
             "Area is estimated (docs/area.md). A machine that leaves more to the processor than "
             "--machine does is out. Points are kept as those of 'wick sweep': the same command "
             "goes on where it was stopped.\n"
             "\n"
             "  wick explore net.onnx --space space.cfg --limit area=1x -o machines",
         .options = options, .min_args = 1, .max_args = -1},
    .size = sizeof(wk_explore_opts), .defaults = &defaults, .run = run};
