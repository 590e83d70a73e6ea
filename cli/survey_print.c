/* SPDX-License-Identifier: Apache-2.0
 * A survey as text. */
#include <stdlib.h>
#include <string.h>

#include "cli/survey.h"
#include "cli/text.h"

typedef struct {
  const wk_survey *s;
  wk_survey_kinds kinds;
  wk_arena *a;
} printing;

static const char *kind_text(const printing *p, const char *domain, const char *op) {
  return wk_text_shown(p->a, wk_arena_printf(p->a, "%s%s%s", domain, *domain ? "." : "", op));
}

/* Columns of a run: of every target by itself, only its own. */
static uint32_t columns(const wk_survey_run *r) { return r->is_one_of_all && r->n ? 1 : r->n; }

/* "accel:base"; of every target by itself without the machine, which stands further down. */
static const char *target_text(const printing *p, const wk_survey_run *r, uint32_t t) {
  const char *name = r->target[t];
  if (r->is_one_of_all) name = wk_arena_strndup(p->a, name, strcspn(name, ":"));
  return wk_text_shown(p->a, name);
}

/* ---- operators ------------------------------------------------------------------------------- */

static void add_shares(const printing *p, wk_str *b, uint32_t kind) {
  size_t n = p->s->report.nodes.n;
  for (size_t r = 0; r < p->s->runs.n; r++) {
    const wk_survey_run *run = &p->s->runs.data[r];
    for (uint32_t t = 0; t < columns(run); t++) {
      wk_survey_share x = wk_survey_share_of(&p->kinds, run, kind, t, n);
      if (run->error) wk_str_add(b, "\t?");
      else if (x.in_part && x.whole)
        wk_str_printf(b, "\t%lld, %lld in part", (long long)x.whole, (long long)x.in_part);
      else if (x.in_part) wk_str_printf(b, "\t%lld in part", (long long)x.in_part);
      else if (x.whole) wk_str_printf(b, "\t%lld", (long long)x.whole);
      else wk_str_add(b, "\t-");
    }
  }
}

static void add_count(wk_str *b, int64_t n) {
  if (n) wk_str_printf(b, "\t%lld", (long long)n);
  else wk_str_add(b, "\t-");
}

/* Accepted nodes of a kind that leave nothing to run on any target. */
static int64_t folded(const printing *p, uint32_t kind) {
  int64_t count = 0;
  for (size_t i = 0; i < p->s->report.nodes.n; i++) {
    wk_survey_fate fate = p->s->report.nodes.data[i].fate;
    bool runs = fate == WK_SURVEY_REFUSED || fate == WK_SURVEY_UNKNOWN;
    for (size_t r = 0; r < p->s->runs.n; r++) runs = runs || p->s->runs.data[r].place[i].on;
    count += p->kinds.of[i] == kind && !runs;
  }
  return count;
}

static void add_head(const printing *p, wk_str *b) {
  wk_str_add(b, "OPERATOR\tOPSET\tNODES");
  if (p->s->refused + p->s->unknown) wk_str_add(b, "\tREFUSED\tUNKNOWN");
  wk_str_add(b, "\tFOLDED");
  for (size_t r = 0; r < p->s->runs.n; r++)
    for (uint32_t k = 0; k < columns(&p->s->runs.data[r]); k++)
      wk_str_printf(b, "\t%s", target_text(p, &p->s->runs.data[r], k));
}

static void print_kinds(const printing *p) {
  wk_table t = {0};
  wk_str b = {0};
  add_head(p, &b);
  wk_table_row(&t, "%s", b.s);
  for (uint32_t i = 0; i < p->kinds.list.n; i++) {
    const wk_survey_kind *k = &p->kinds.list.data[i];
    int64_t n = 0;
    for (int f = 0; f < WK_SURVEY_FATES; f++) n += k->fates[f];
    b.n = 0;
    wk_str_add(&b, kind_text(p, k->domain, k->op));
    add_count(&b, k->opset);
    add_count(&b, n);
    if (p->s->refused + p->s->unknown) {
      add_count(&b, k->fates[WK_SURVEY_REFUSED]);
      add_count(&b, k->fates[WK_SURVEY_UNKNOWN]);
    }
    add_count(&b, folded(p, i));
    add_shares(p, &b, i);
    wk_table_row(&t, "%s", b.s);
  }
  wk_table_print(stdout, &t, "lrrrrrrrrrrrrrrr");
  wk_str_free(&b);
}

/* ---- reasons --------------------------------------------------------------------------------- */

static void add_names(const printing *p, wk_str *b, const wk_survey_group *g) {
  enum { SHOWN = 3 };
  wk_str_printf(b, " (%zu node%s: ", g->nodes.n, g->nodes.n == 1 ? "" : "s");
  for (size_t i = 0; i < g->nodes.n && i < SHOWN; i++)
    wk_str_printf(b, "%s%s", i ? ", " : "",
                  wk_text_shown(p->a, p->s->report.nodes.data[g->nodes.data[i]].node));
  wk_str_add(b, g->nodes.n > SHOWN ? ", …)" : ")");
}

static void print_groups(const printing *p, const wk_survey_groups *g, uint32_t refused) {
  wk_str b = {0};
  for (size_t i = 0; i < g->n; i++) {
    const wk_survey_group *x = &g->data[i];
    const wk_survey_kind *k = &p->kinds.list.data[x->kind];
    if (x->reason.refused != refused) continue;
    b.n = 0;
    wk_str_printf(&b, "  %s: ", kind_text(p, k->domain, k->op));
    if (*x->reason.step) wk_str_printf(&b, "%s: ", x->reason.step);
    wk_str_add(&b, wk_text_shown(p->a, x->reason.reason));
    add_names(p, &b, x);
    puts(b.s);
  }
  wk_str_free(&b);
}

static void print_refused(const printing *p) {
  wk_survey_groups g = wk_survey_groups_of(p->s, &p->kinds, NULL);
  if (p->s->refused + p->s->refused_besides) puts("\nrefused:");
  print_groups(p, &g, 0);
  for (size_t i = 0; i < p->s->report.unsupported.n; i++) {
    const wk_unsupported *u = &p->s->report.unsupported.data[i];
    if (!u->is_node)
      printf("  %s %s: %s\n", u->op, wk_text_shown(p->a, u->node), wk_text_shown(p->a, u->reason));
  }
  const char *cut = wk_import_cut_text(&p->s->report, true);
  if (cut) printf("  %s\n", wk_text_shown(p->a, cut));
  wk_survey_groups_free(&g);
}

/* Each operator of an unknown domain with its attributes and types, once. */
static void print_wanted(const printing *p) {
  wk_map *seen = wk_map_new();
  uint32_t ignored;
  bool any = false;
  for (size_t i = 0; i < p->s->report.nodes.n; i++) {
    const wk_surveyed *n = &p->s->report.nodes.data[i];
    if (!n->call) continue;
    const char *line = wk_arena_printf(p->a, "%s.%s%s", n->domain, n->op, n->call);
    if (wk_map_get(seen, line, &ignored)) continue;
    wk_map_put(seen, line, 1);
    if (!any) puts("\na plugin would bring (docs/custom.md):");
    any = true;
    printf("  %s\n", wk_text_shown(p->a, line));
  }
  wk_map_free(seen);
}

static void print_macs(const printing *p, const wk_survey_run *run) {
  int64_t all = 0;
  wk_str b = {0};
  for (uint32_t t = 0; t < run->n; t++) all += run->macs[t];
  for (uint32_t t = 0; t < run->n; t++) {
    wk_str_printf(&b, "%s%s %s", t ? ", " : "", wk_text_shown(p->a, run->target[t]),
                  wk_text_count(run->macs[t]).s);
    if (all) wk_str_printf(&b, " (%.1f %%)", 100 * (double)run->macs[t] / (double)all);
  }
  printf("\nmultiply-accumulates: %s\n", b.s);
  wk_str_free(&b);
}

/* Most errors begin with the target already. */
static void print_error(const printing *p, const wk_survey_run *run) {
  size_t n = strlen(run->names);
  bool has_name = !strncmp(run->error, run->names, n) && run->error[n] == ':';
  printf("\n%s%s%s\n", has_name ? "" : wk_text_shown(p->a, run->names), has_name ? "" : ": ",
         wk_text_shown(p->a, run->error));
}

static void print_run(const printing *p, const wk_survey_run *run) {
  if (run->error) {
    print_error(p, run);
    return;
  }
  wk_survey_groups g = wk_survey_groups_of(p->s, &p->kinds, run);
  print_macs(p, run);
  for (uint32_t t = 0; t < run->n; t++) {
    bool any = false;
    for (size_t i = 0; i < g.n; i++) any = any || g.data[i].reason.refused == t;
    if (any) printf("not on %s:\n", wk_text_shown(p->a, run->target[t]));
    print_groups(p, &g, t);
  }
  wk_survey_groups_free(&g);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void add_places(const printing *p, wk_str *b, size_t node) {
  const wk_surveyed *n = &p->s->report.nodes.data[node];
  for (size_t r = 0; r < p->s->runs.n; r++) {
    const wk_survey_run *run = &p->s->runs.data[r];
    uint64_t on = run->place[node].on;
    if (run->is_one_of_all && !run->n) continue;
    wk_str_add(b, "\t");
    if (n->fate == WK_SURVEY_REFUSED || n->fate == WK_SURVEY_UNKNOWN || run->error || !on)
      wk_str_add(b, "-");
    for (uint32_t t = 0, any = 0; t < run->n; t++)
      if (on >> t & 1)
        wk_str_printf(b, "%s%s", any++ ? " + " : "", target_text(p, run, t));
  }
}

static const char *run_text(const printing *p, const wk_survey_run *r) {
  return r->is_one_of_all ? target_text(p, r, 0) : wk_text_shown(p->a, r->names);
}

static void print_nodes(const printing *p) {
  static const char *const fates[WK_SURVEY_FATES] = {
      [WK_SURVEY_TAKEN] = "accepted", [WK_SURVEY_NOTHING] = "accepted",
      [WK_SURVEY_REFUSED] = "refused", [WK_SURVEY_UNKNOWN] = "unknown"};
  wk_table t = {0};
  wk_str b = {0};
  wk_str_add(&b, "NODE\tOPERATOR\tVERDICT");
  for (size_t r = 0; r < p->s->runs.n; r++)
    if (!p->s->runs.data[r].is_one_of_all || p->s->runs.data[r].n)
      wk_str_printf(&b, "\tON %s", run_text(p, &p->s->runs.data[r]));
  wk_table_row(&t, "\n%s", b.s);
  for (size_t i = 0; i < p->s->report.nodes.n; i++) {
    const wk_surveyed *n = &p->s->report.nodes.data[i];
    b.n = 0;
    wk_str_printf(&b, "%s\t%s\t%s", wk_text_shown(p->a, n->node), kind_text(p, n->domain, n->op),
                  fates[n->fate]);
    add_places(p, &b, i);
    wk_table_row(&t, "%s", b.s);
  }
  wk_table_print(stdout, &t, "lll");
  wk_str_free(&b);
}

void wk_survey_print(const wk_survey *s, bool all_nodes) {
  printing p = {s, wk_survey_kinds_of(s), wk_arena_new()};
  print_kinds(&p);
  print_refused(&p);
  print_wanted(&p);
  for (size_t r = 0; r < s->runs.n; r++) print_run(&p, &s->runs.data[r]);
  if (all_nodes) print_nodes(&p);
  wk_vec_free(&p.kinds.list);
  wk_arena_free(p.a);
}
