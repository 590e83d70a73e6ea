/* SPDX-License-Identifier: Apache-2.0
 * The partition on random graphs whose targets support what chance says: parts are convex, no node
 * is lost, and the plan gives the graph's results bit for bit, with its edges where the plan lays
 * them and its rows in any order that their waits allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/lower/lower.h"
#include "compiler/part/part.h"
#include "compiler/passes/passes.h"
#include "tests/plain_target.h"
#include "tests/random_graph.h"
#include "tests/random_middle.h"
#include "tests/unit/maps_target.h"

static struct {
  uint64_t first, count;
} range = {1, 300};

/* ---- targets that support some nodes --------------------------------------------------------- */

typedef struct {
  wk_instance base;
  uint64_t seed;
  int percent;
} picky;

static bool picky_supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                           const char **reason) {
  const picky *p = (const picky *)t;
  (void)g, (void)a;
  *reason = "by chance";
  uint64_t draw = wk_hash64(n->name, strlen(n->name), p->seed * 64 + (uint64_t)n->op);
  return (int)(draw % 100) < p->percent;
}

/* Every other tensor in some order, every fourth with an axis in blocks that need not fit. */
static bool picky_edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                       wk_edge_layout *out) {
  const wk_value *x = wk_val(g, v);
  wk_rng rng = {wk_hash64(x->name, strlen(x->name), ((const picky *)t)->seed / 4)};
  int rank = x->type.rank;
  (void)is_output;
  if (wk_rng_next(&rng) % 2) return false;
  if (rank > 0 && rank < WK_MAX_RANK && wk_rng_next(&rng) % 2) {
    out->split = (int)wk_rng_range(&rng, 0, rank++ - 1);
    out->block = wk_rng_range(&rng, 1, 4);
  }
  for (int i = 0; i < rank; i++) {
    int k = (int)wk_rng_range(&rng, i, rank - 1);
    uint8_t axis = out->order[i];
    out->order[i] = out->order[k];
    out->order[k] = axis;
  }
  return true;
}

/* Refuses every third, and is dearer than the host half of the time. */
static bool picky_converts(const wk_instance *t, const wk_type *v, const wk_edge_layout *from,
                           const wk_edge_layout *to, double *cost) {
  uint64_t seed = ((const picky *)t)->seed;
  wk_rng rng = {wk_hash64(from->order, sizeof from->order,
                          wk_hash64(to->order, sizeof to->order, seed + (uint64_t)v->dims[0]))};
  *cost = (double)wk_rng_range(&rng, 0, 2 * 2 * wk_type_bytes(v));
  return wk_rng_next(&rng) % 3 != 0;
}

static const wk_target picky_targets[] = {
    {.name = "first", .supports = picky_supports, .wish = plain_wish, .edge = picky_edge,
     .converts = picky_converts},
    {.name = "second", .supports = picky_supports, .wish = plain_wish, .edge = picky_edge,
     .converts = picky_converts}};
static const wk_target dear_host = {.name = "host", .supports = plain_supports, .wish = plain_wish,
                                    .cost = {1, 1, 0, 0}};

/* ---- running a plan on the evaluator --------------------------------------------------------- */

typedef struct {
  const wk_parts *p;
  void **at; /* per tensor */
  int64_t iteration;
  wk_rng rng;
} runner;

static void run_part(runner *r, const wk_part_row *row) {
  const wk_graph *g = r->p->parts.data[row->part].module->main;
  wk_tensor *in = wk_xcalloc(g->inputs.n + 1, sizeof *in);
  wk_tensor *out = wk_xcalloc(g->outputs.n + 1, sizeof *out);
  assert_int_equal(row->tensors.n, g->inputs.n + g->outputs.n);
  for (size_t k = 0; k < g->inputs.n; k++)
    in[k] = (wk_tensor){.type = wk_val(g, g->inputs.data[k])->type,
                        .data = r->at[row->tensors.data[k]]};
  wk_status s = wk_eval_graph(g, in, out, NULL, NULL);
  if (s) fail_msg("part %u: %s", (unsigned)row->part, s->message);
  for (size_t k = 0; k < g->outputs.n; k++) {
    uint32_t to = row->tensors.data[g->inputs.n + k];
    assert_true(wk_shape_equal(&out[k].type, &r->p->tensors.data[to].type));
    memcpy(r->at[to], out[k].data, (size_t)wk_type_bytes(&out[k].type));
    wk_tensor_free(&out[k]);
  }
  free(in);
  free(out);
}

static void run_rows(runner *r, size_t first, size_t end);

static void run_row(runner *r, size_t i) {
  const wk_part_row *row = &r->p->rows.data[i];
  const uint32_t *t = row->tensors.data;
  switch (row->kind) {
    case WICK_ROW_RUN: run_part(r, row); break;
    case WICK_ROW_COPY:
      memcpy((char *)r->at[t[1]] + row->destination_offset + r->iteration * row->destination_step,
             (char *)r->at[t[0]] + row->source_offset + r->iteration * row->source_step,
             (size_t)row->bytes);
      break;
    case WICK_ROW_IF:
      if (*(bool *)r->at[t[0]]) run_rows(r, i + 1, i + 1 + row->body_count);
      else run_rows(r, i + 1 + row->body_count, i + 1 + row->body_count + row->else_count);
      break;
    case WICK_ROW_LOOP: {
      int64_t outer = r->iteration;
      for (r->iteration = 0; r->iteration < row->trip; r->iteration++) {
        if (t[0] != WK_NONE && !*(bool *)r->at[t[0]]) break;
        if (t[1] != WK_NONE) *(int64_t *)r->at[t[1]] = r->iteration;
        run_rows(r, i + 1, i + 1 + row->body_count);
      }
      r->iteration = outer;
    }
  }
}

static size_t behind(const wk_parts *p, size_t i) {
  return i + 1 + p->rows.data[i].body_count + p->rows.data[i].else_count;
}

/* In a random order in which every row comes behind those that it waits for. */
static void run_rows(runner *r, size_t first, size_t end) {
  bool *done = wk_xcalloc(r->p->rows.n + 1, 1);
  size_t left = 0;
  for (size_t i = first; i < end; i = behind(r->p, i)) left++;
  while (left) {
    size_t choice = WK_NONE, seen = 0;
    for (size_t i = first; i < end; i = behind(r->p, i)) {
      const wk_part_row *row = &r->p->rows.data[i];
      bool ready = !done[i];
      for (size_t k = 0; k < row->waits.n; k++)
        ready &= row->waits.data[k] < first || row->waits.data[k] >= end ||
                 done[row->waits.data[k]];
      if (ready && wk_rng_next(&r->rng) % ++seen == 0) choice = i;
    }
    assert_int_not_equal(choice, WK_NONE);
    run_row(r, choice);
    done[choice] = true;
    left--;
  }
  free(done);
}

static wk_tensor *run_plan(const wk_parts *p, const wk_tensor *in, uint64_t seed) {
  runner r = {.p = p, .at = wk_xcalloc(p->tensors.n + 1, sizeof *r.at), .rng = {seed}};
  wk_tensor *out = wk_xcalloc(p->n_out + 1, sizeof *out);
  char *edges = wk_xmalloc((size_t)p->edge_bytes + 1);
  memset(edges, 0xA5, (size_t)p->edge_bytes);
  for (uint32_t t = 0; t < p->tensors.n; t++) {
    const wk_part_tensor *x = &p->tensors.data[t];
    if (t < p->n_in) r.at[t] = in[t].data;
    else if (t < p->n_in + p->n_out) {
      wk_status s = wk_tensor_alloc(&x->type, &out[t - p->n_in]);
      assert_null(s);
      memset(out[t - p->n_in].data, 0xA5, (size_t)wk_type_bytes(&x->type));
      r.at[t] = out[t - p->n_in].data;
    } else {
      assert_true(x->offset + wk_type_bytes(&x->type) <= p->edge_bytes);
      r.at[t] = edges + x->offset;
    }
  }
  run_rows(&r, 0, p->rows.n);
  free(edges);
  free(r.at);
  return out;
}

/* ---- what a partition must be ---------------------------------------------------------------- */

static uint32_t count_nodes(const wk_graph *g) {
  uint32_t n = (uint32_t)g->nodes.n;
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t b = 0; b < g->nodes.data[i].n_bodies; b++)
      n += count_nodes(g->nodes.data[i].bodies[b]);
  return n;
}

static bool is_layout(const wk_node *n) { return !strcmp(n->name, "layout"); }

/* Part of each node of the main graph, found by the names of its results; WK_NONE: it is rows. */
static uint32_t *parts_of(const wk_parts *p, const wk_graph *g) {
  uint32_t *part = wk_xcalloc(g->nodes.n + 1, sizeof *part);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    uint32_t k = 0, id;
    while (n->out[k] == WK_NONE) k++;
    part[i] = WK_NONE;
    for (size_t r = 0; r < p->rows.n; r = behind(p, r)) {
      uint32_t x = p->rows.data[r].part;
      if (p->rows.data[r].kind != WICK_ROW_RUN) continue;
      const wk_graph *body = p->parts.data[x].module->main;
      if (!wk_map_get(body->names, wk_val(g, n->out[k])->name, &id) ||
          wk_val(body, id)->kind != WK_VALUE_NODE ||
          is_layout(wk_nod(body, wk_val(body, id)->node)))
        continue;
      assert_int_equal(part[i], WK_NONE);
      part[i] = x;
    }
  }
  return part;
}

/* Marks what follows nodes outside of part x that part x feeds; none of it may be in x again. */
static void check_convex(const wk_graph *g, const uint32_t *part, uint32_t x) {
  bool *behind_it = wk_xcalloc(g->nodes.n + 1, 1);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    bool after = false, fed = false;
    for (uint32_t k = 0; k <= n->n_in; k++) {
      wk_value_id v = k < n->n_in ? n->in[k] : n->predicate;
      if (v == WK_NONE || wk_val(g, v)->kind != WK_VALUE_NODE) continue;
      after |= behind_it[wk_val(g, v)->node];
      fed |= part[wk_val(g, v)->node] == x;
    }
    if (part[i] == x && after) fail_msg("part %u is not convex", (unsigned)x);
    behind_it[i] = part[i] != x && (after || fed);
  }
  free(behind_it);
}

static void check_structure(const wk_parts *p, const wk_graph *g, uint32_t nodes) {
  uint32_t *part = parts_of(p, g), found = 0;
  for (uint32_t x = 0; x < p->parts.n; x++) {
    const wk_graph *body = p->parts.data[x].module->main;
    found += count_nodes(body);
    check_convex(g, part, x);
    for (size_t i = 0; i < body->nodes.n; i++) {
      const char *reason;
      found -= is_layout(&body->nodes.data[i]);
      if (is_layout(&body->nodes.data[i])) continue;
      const wk_instance *t = p->parts.data[x].instance;
      assert_true(t->target->supports(t, body, &body->nodes.data[i], p->arena, &reason));
    }
  }
  for (size_t i = 0; i < p->rows.n; i++)
    found += p->rows.data[i].kind == WICK_ROW_IF || p->rows.data[i].kind == WICK_ROW_LOOP;
  assert_int_equal(found, nodes);
  free(part);
}

/* A part of the plan's own that does nothing but convert. */
static bool is_conversion(const wk_parts *p, size_t row) {
  if (p->rows.data[row].kind != WICK_ROW_RUN) return false;
  const wk_graph *g = p->parts.data[p->rows.data[row].part].module->main;
  bool only = g->nodes.n > 0;
  for (size_t i = 0; i < g->nodes.n; i++) only &= is_layout(&g->nodes.data[i]);
  return only && g->inputs.n == 1;
}

static bool do_the_same(const wk_parts *p, size_t a, size_t b) {
  const wk_part_row *x = &p->rows.data[a], *y = &p->rows.data[b];
  wk_str s = {0}, t = {0};
  if (x->tensors.data[0] != y->tensors.data[0]) return false;
  wk_module_print(&s, p->parts.data[x->part].module, 0);
  wk_module_print(&t, p->parts.data[y->part].module, 0);
  bool same = !strcmp(s.s, t.s);
  wk_str_free(&s);
  wk_str_free(&t);
  return same;
}

/* No tensor is converted twice in the same way. Bodies, which may not run, stand on their own. */
static void check_conversions(const wk_parts *p, size_t first, size_t end, size_t *count) {
  for (size_t i = first; i < end; i = behind(p, i)) {
    size_t middle = i + 1 + p->rows.data[i].body_count;
    check_conversions(p, i + 1, middle, count);
    check_conversions(p, middle, behind(p, i), count);
    if (!is_conversion(p, i)) continue;
    count[p->parts.data[p->rows.data[i].part].target + 1 == p->targets->n]++;
    for (size_t k = first; k < i; k = behind(p, k))
      if (is_conversion(p, k) && do_the_same(p, k, i))
        fail_msg("rows %zu and %zu do the same", k, i);
  }
}

/* Random graphs for targets whose rates are random: whatever stays pays for itself, by the sums as
 * target.h has them. */
static void check_worth(const wk_parts *p) {
  const wk_target_cost *host = &p->targets->list[p->targets->n - 1]->target->cost;
  for (size_t i = 0; i < p->parts.n; i++) {
    const wk_part *x = &p->parts.data[i];
    const wk_target_cost *own = &x->instance->target->cost;
    const wk_graph *g = x->module->main;
    double here = own->per_part, there = 0;
    bool plain = x->target + 1 < p->targets->n;
    for (size_t k = 0; k < g->nodes.n && plain; k++) {
      const wk_node *n = &g->nodes.data[k];
      double bytes = 0, macs = (double)wk_node_macs(g, n);
      plain = !is_layout(n);
      for (uint32_t j = 0; j < n->n_in; j++)
        if (n->in[j] != WK_NONE) bytes += (double)wk_type_bytes(&wk_val(g, n->in[j])->type);
      for (uint32_t j = 0; j < n->n_out; j++)
        if (n->out[j] != WK_NONE) bytes += (double)wk_type_bytes(&wk_val(g, n->out[j])->type);
      here += own->per_mac * macs + own->per_byte * bytes;
      there += host->per_mac * macs + host->per_byte * bytes;
    }
    if (!plain) continue;
    here += own->per_edge_byte * (double)x->edge_bytes;
    if (here > there * (1 + 1e-9) + 1e-6)
      fail_msg("part %s takes %g there, %g on the host", x->name, here, there);
  }
}

/* ---- the test -------------------------------------------------------------------------------- */

typedef struct {
  size_t parts, most, controls, edges, converted[2], moved; /* by targets, by the host; to it */
  size_t refused;
} tally;

/* The host takes 1 ps a byte or product. */
static void draw_costs(uint64_t seed, wk_target *a, wk_target *b) {
  wk_rng rng = {seed * 77};
  if (seed % 4) return; /* free */
  for (int k = 0; k < 2; k++)
    (k ? b : a)->cost = (wk_target_cost){
        (double)wk_rng_range(&rng, 0, 3) / 4, (double)wk_rng_range(&rng, 0, 3) / 4,
        (double)wk_rng_range(&rng, 0, 2) / 4, (double)wk_rng_range(&rng, 0, 300)};
}

/* Now and then a target refuses a node of a part, or the part, and the graph is cut again. */
static wk_parts *cut(wk_module *m, const wk_targets *t, uint64_t seed, tally *sum) {
  wk_parts *p;
  wk_rng rng = {seed * 131};
  wk_part_refusals r = {.arena = wk_arena_new()};
  assert_null(partition_for(m, t, &r, &p));
  for (int round = (int)(seed % 5); round > 0; round--) {
    const wk_part *x = &p->parts.data[wk_rng_range(&rng, 0, (int)p->parts.n - 1)];
    uint32_t nodes = (uint32_t)x->module->main->nodes.n, node;
    if (!x->from || x->target + 1 == t->n || !nodes) continue;
    node = (uint32_t)wk_rng_range(&rng, 0, (int)nodes);
    assert_null(wk_part_refuse(x, node < nodes ? node : WK_NONE, "it was drawn", &r));
    wk_parts_free(p);
    assert_null(partition_for(m, t, &r, &p));
    for (size_t i = 0; i < p->parts.n; i++)
      for (size_t k = 0; x = &p->parts.data[i], x->from && k < x->origin.n; k++)
        assert_null(wk_part_refused(&r, x->target, x->from, wk_nod(x->from, x->origin.data[k])));
  }
  sum->refused += r.list.n;
  wk_vec_free(&r.list);
  wk_arena_free(r.arena);
  return p;
}

/* What the table that fusion has used says behind it is what the targets say then. */
static void check_fused(wk_module *m, const wk_targets *t) {
  wk_owners *used = wk_owners_new(t), *asked = wk_owners_new(t);
  assert_null(wk_passes_run(m, WK_STAGE_PRIMITIVE, used, NULL, NULL));
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t i = 0; i < m->graphs.data[k]->nodes.n; i++) {
      const wk_graph *g = m->graphs.data[k];
      wk_node_id id = (wk_node_id)i;
      assert_int_equal(wk_owners_first(used, g, id), wk_owners_first(asked, g, id));
    }
  wk_owners_free(asked);
  wk_owners_free(used);
}

static void check_graph(wk_module *m, const wk_tensor *in, uint64_t seed, tally *sum) {
  wk_target first = picky_targets[0], second = picky_targets[1];
  draw_costs(seed, &first, &second);
  picky a = {{&first, NULL, true}, seed, (int)(20 + seed % 60)};
  picky b = {{&second, NULL, true}, seed + 1, 50};
  wk_instance host = {.target = &dear_host, .is_here = true};
  wk_instance *const list[] = {&a.base, &b.base, &host};
  wk_targets t = {.list = seed % 2 ? list : list + 1, .n = seed % 2 ? 3 : 2, .has_host = true};
  size_t n_out = m->main->outputs.n;
  assert_null(wk_lower_nodes(m, NULL, NULL));
  check_fused(m, &t);
  wk_tensor *want = wk_xcalloc(n_out + 1, sizeof *want);
  assert_null(wk_eval_graph(m->main, in, want, NULL, NULL));
  uint32_t nodes = count_nodes(m->main);
  wk_parts *p = cut(m, &t, seed, sum);
  check_structure(p, m->main, nodes);
  check_conversions(p, 0, p->rows.n, sum->converted);
  check_worth(p);
  for (size_t i = 0; i < p->reasons.n; i++)
    sum->moved += !strncmp(p->reasons.data[i].reason, "its part is too small", 21);
  wk_tensor *got = run_plan(p, in, seed);
  for (size_t i = 0; i < n_out; i++) {
    size_t bytes = (size_t)wk_type_bytes(&want[i].type);
    if (bytes && memcmp(got[i].data, want[i].data, bytes)) fail_msg("output %zu differs", i);
  }
  sum->parts += p->parts.n;
  if (p->parts.n > sum->most) sum->most = p->parts.n;
  for (size_t i = 0; i < p->rows.n; i++)
    sum->controls += p->rows.data[i].kind == WICK_ROW_IF || p->rows.data[i].kind == WICK_ROW_LOOP;
  sum->edges += p->tensors.n - p->n_in - p->n_out;
  random_tensors_free(want, n_out);
  random_tensors_free(got, n_out);
  wk_parts_free(p);
}

static void test_random(void **state) {
  (void)state;
  tally sum = {0};
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    if (range.count == 1) fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    bool middle = seed % 3 == 0;
    wk_module *m = middle ? random_middle_graph(seed, (int)(10 + seed % 20))
                          : random_graph(seed, &(random_options){.nodes = (int)(10 + seed % 40),
                                                                 .only = WK_OP_COUNT});
    wk_tensor *in = middle ? random_middle_inputs(m->main, seed) : random_inputs(m->main);
    size_t n_in = m->main->inputs.n;
    check_graph(m, in, seed, &sum);
    random_tensors_free(in, n_in);
    wk_module_free(m);
  }
  print_message("%zu parts, at most %zu of a graph, %zu branches and loops, %zu edges, %zu and %zu "
                "conversions by targets and host, %zu nodes on islands, %zu refused\n", sum.parts,
                sum.most, sum.controls, sum.edges, sum.converted[0], sum.converted[1], sum.moved,
                sum.refused);
  if (range.count == 1) return;
  assert_true(sum.controls > 0 && sum.most > 8 && sum.edges > 100);
  assert_true(sum.moved > 50 && sum.refused > 100);
  assert_true(sum.converted[0] > 50 && sum.converted[1] > 50);
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* Goes on while the state that the iteration began with says so: it is read before it changes. */
static void test_condition_is_a_state(void **state) {
  (void)state;
  wk_module *m = lowered("graph @main(%s0: bool[], %a: f32[3]) {\n"
                         "%f, %y = loop(-, %s0, %a) {trip=9, n_state=2, has_cond=1} do @body : "
                         "bool[], f32[3]\noutput %y\noutput %f\n}\n"
                         "graph @body(%i: i64[], %s: bool[], %x: f32[3]) {\n%n = not(%s) : bool[]\n"
                         "%z = add(%x, %x) : f32[3]\noutput %s\noutput %n\noutput %z\n}\n");
  float a[] = {1, 2, 3};
  bool s0 = true;
  wk_tensor in[] = {{.type = wk_val(m->main, m->main->inputs.data[0])->type, .data = &s0},
                    {.type = wk_val(m->main, m->main->inputs.data[1])->type, .data = a}};
  wk_tensor want[2] = {0};
  wk_parts *p;
  assert_null(wk_eval_graph(m->main, in, want, NULL, NULL));
  assert_null(partition_for(m, &maps_targets, NULL, &p));
  size_t loops = 0;
  for (size_t i = 0; i < p->rows.n; i++) loops += p->rows.data[i].kind == WICK_ROW_LOOP;
  assert_int_equal(loops, 1);
  for (uint64_t seed = 1; seed < 20; seed++) {
    wk_tensor *got = run_plan(p, in, seed);
    assert_memory_equal(got[0].data, want[0].data, sizeof a);
    assert_memory_equal(got[1].data, want[1].data, 1);
    random_tensors_free(got, 2);
  }
  for (int k = 0; k < 2; k++) wk_tensor_free(&want[k]);
  wk_parts_free(p);
  wk_module_free(m);
}

/* A chain that changes the target with every node: each row names few others. */
static void test_waits_are_few(void **state) {
  enum { NODES = 600 };
  (void)state;
  wk_str text = {0};
  wk_str_add(&text, "graph @main(%v0: f32[8]) {\n");
  for (int i = 0; i < NODES; i++)
    wk_str_printf(&text, i % 2 ? "%%v%d = relu(%%v%d) : f32[8]\n"
                               : "%%v%d = cum_sum(%%v%d) {axis=0} : f32[8]\n", i + 1, i);
  wk_str_printf(&text, "output %%v%d\n}\n", NODES);
  wk_module *m = lowered(text.s);
  wk_parts *p;
  assert_null(partition_for(m, &maps_targets, NULL, &p));
  assert_int_equal(p->parts.n, NODES);
  size_t waits = 0;
  for (size_t i = 0; i < p->rows.n; i++) waits += p->rows.data[i].waits.n;
  assert_in_range(waits, NODES - 1, 2 * NODES);
  wk_parts_free(p);
  wk_module_free(m);
  wk_str_free(&text);
}

static bool spoiled_edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                         wk_edge_layout *out) {
  (void)t, (void)g, (void)v, (void)is_output;
  out->order[0] = 1;
  return true;
}

static void test_impossible_layout(void **state) {
  (void)state;
  static const wk_target target = {.name = "spoiled", .supports = supports_maps,
                                   .wish = plain_wish, .edge = spoiled_edge};
  wk_instance instance = {.target = &target, .is_here = true};
  wk_instance *const list[] = {&instance, &dear_instance};
  wk_module *m = lowered("graph @main(%x: f32[8]) {\n%y = relu(%x) : f32[8]\noutput %y\n}\n");
  wk_parts *p;
  wk_status s = partition_for(m, &(wk_targets){.list = list, .n = 2, .has_host = true}, NULL, &p);
  assert_non_null(s);
  assert_non_null(strstr(s->message, "target spoiled wishes an edge layout that is none"));
  wk_status_free(s);
  wk_module_free(m);
}

/* ---- conversion of edges --------------------------------------------------------------------- */

/* Supports one operator, wants tensors of rank 2 transposed or not, and converts for so much. */
typedef struct {
  wk_instance base;
  wk_op op;
  bool is_transposed;
  double cost; /* negative: it refuses */
} fixed;

static bool fixed_supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                           const char **reason) {
  (void)g, (void)a;
  *reason = "it is another operator";
  return n->op == ((const fixed *)t)->op;
}

static bool fixed_edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                       wk_edge_layout *out) {
  (void)is_output;
  if (!((const fixed *)t)->is_transposed || wk_val(g, v)->type.rank != 2) return false;
  out->order[0] = 1;
  out->order[1] = 0;
  return true;
}

static bool fixed_converts(const wk_instance *t, const wk_type *v, const wk_edge_layout *from,
                           const wk_edge_layout *to, double *cost) {
  (void)v;
  assert_int_not_equal(from->order[0], to->order[0]);
  *cost = ((const fixed *)t)->cost;
  return *cost >= 0;
}

static const wk_target writer_target = {.name = "writer", .supports = fixed_supports,
                                        .wish = plain_wish, .edge = fixed_edge,
                                        .converts = fixed_converts};
static const wk_target reader_target = {.name = "reader", .supports = fixed_supports,
                                        .wish = plain_wish, .edge = fixed_edge,
                                        .converts = fixed_converts};

/* The product y is written transposed; its two readers, with a product between them, want it
 * row-major. Inputs and the output are row-major, and the writer's are laid before. */
static const char *const two_readers =
    "graph @main(%a: f32[4,4]) {\n%y = matmul(%a, %a) : f32[4,4]\n%s = cum_sum(%y) {axis=0} : "
    "f32[4,4]\n%t = matmul(%s, %s) : f32[4,4]\n%u = add(%t, %y) : f32[4,4]\n"
    "%z = cum_sum(%y) {axis=1} : f32[4,4]\n%w = add(%u, %z) : f32[4,4]\noutput %w\n}\n";

/* Who makes the row-major y; WK_NONE: nobody could. */
static uint32_t converts_product(double writer, double reader, double host_byte, bool has_host) {
  fixed w = {{&writer_target, NULL, true}, WK_OP_MATMUL, true, writer};
  fixed r = {{&reader_target, NULL, true}, WK_OP_CUM_SUM, false, reader};
  wk_target host_target = dear_host;
  host_target.cost = (wk_target_cost){0, host_byte, 0, 0};
  wk_instance host = {.target = &host_target, .is_here = true};
  wk_instance *const list[] = {&w.base, &r.base, &host};
  const char *graph = has_host ? two_readers
                               : "graph @main(%a: f32[4,4]) {\n%y = matmul(%a, %a) : f32[4,4]\n"
                                 "%s = cum_sum(%y) {axis=0} : f32[4,4]\noutput %s\n}\n";
  wk_module *m = lowered(graph);
  wk_parts *p = NULL;
  size_t count = 0;
  uint32_t who = WK_NONE;
  wk_status s = partition_for(m, &(wk_targets){.list = list, .n = has_host ? 3 : 2,
                                                 .has_host = has_host}, NULL, &p);
  for (size_t i = 0; !s && i < p->rows.n; i++) {
    const wk_part_row *row = &p->rows.data[i];
    if (!is_conversion(p, i) || strcmp(p->tensors.data[row->tensors.data[0]].name, "y")) continue;
    who = p->parts.data[row->part].target;
    count++;
  }
  if (s) assert_non_null(strstr(s->message, "without a host nobody converts it"));
  else assert_int_equal(count, 1);
  wk_status_free(s);
  wk_parts_free(p);
  wk_module_free(m);
  return who;
}

static void test_who_converts(void **state) {
  enum { WRITER, READER, HOST, BYTES = 4 * 4 * 4 * 2 };
  static const struct {
    double writer, reader, host_byte;
    bool has_host;
    uint32_t who;
  } rows[] = {
      {5, 7, 1, true, WRITER},         {7, 5, 1, true, READER},
      {-1, 7, 1, true, READER},        {5, -1, 1, true, WRITER},
      {-1, -1, 1, true, HOST},         {BYTES + 1, BYTES + 1, 1, true, HOST},
      {BYTES, BYTES, 1, true, HOST},   {BYTES - 1, BYTES, 1, true, WRITER},
      {0, 0, 0, true, HOST},           {5, 7, 0, false, WRITER},
      {1e9, 5, 0, false, READER},      {5, -1, 0, false, WRITER},
      {-1, 5, 0, false, WK_NONE}, /* the reader is not asked about the writer's inputs */
      {-1, -1, 0, false, WK_NONE}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    uint32_t who = converts_product(rows[i].writer, rows[i].reader, rows[i].host_byte,
                                    rows[i].has_host);
    if (who != rows[i].who) fail_msg("row %zu: target %u converts", i, (unsigned)who);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random), cmocka_unit_test(test_condition_is_a_state),
      cmocka_unit_test(test_waits_are_few), cmocka_unit_test(test_impossible_layout),
      cmocka_unit_test(test_who_converts)};
  if (argc > 1) {
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
