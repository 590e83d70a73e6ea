/* SPDX-License-Identifier: Apache-2.0
 * Where a quantised model differs, layer by layer, when its outputs do. A rounding that falls the
 * other way moves everything behind it, so that outputs alone do not tell a wrong layer from many
 * that are right to the step. Here every layer is fed alike.
 *
 * The reference is the graph as the file has it: real operators between dequantisation and
 * quantisation, on the evaluator. Its quantised tensors are kept by name. The graph with integer
 * operators, whose quantised tensors have the same names, then runs on the evaluator too; after
 * each node the result is compared with the reference and replaced by it. */
#include <stdlib.h>
#include <string.h>

#include "cli/verify/compare.h"
#include "cli/verify/test_case.h"

typedef struct {
  wk_map *index; /* by name */
  WK_VEC(wk_tensor) tensors;
  wk_arena *arena;
  size_t layers, equal;
  int64_t most; /* steps */
  const char *worst;
} fed;

bool wk_test_is_quantised(const wk_module *real) {
  const wk_graph *g = real->main;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (!n->dead && (n->op == WK_OP_QUANTIZE || n->op == WK_OP_DEQUANTIZE)) return true;
  }
  return false;
}

static bool is_quantised(const wk_type *t) { return t->dtype == WK_I8 || t->dtype == WK_U8; }

static wk_status keep(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                      const wk_tensor *out, int depth) {
  fed *f = ctx;
  (void)in;
  for (uint32_t k = 0; k < n->n_out && depth == 0; k++) {
    wk_tensor t;
    if (n->out[k] == WK_NONE || !out[k].data || !is_quantised(&out[k].type)) continue;
    WK_TRY(wk_tensor_alloc(&out[k].type, &t));
    memcpy(t.data, out[k].data, (size_t)wk_type_bytes(&t.type));
    wk_map_put(f->index, wk_arena_strdup(f->arena, wk_val(g, n->out[k])->name),
               (uint32_t)f->tensors.n);
    wk_vec_push(&f->tensors, t);
  }
  return NULL;
}

static int64_t most_steps(const wk_tensor *a, const wk_tensor *b) {
  int64_t n = wk_type_count(&a->type), most = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t d = wk_load_i64(a->data, a->type.dtype, i) - wk_load_i64(b->data, b->type.dtype, i);
    d = d < 0 ? -d : d;
    most = d > most ? d : most;
  }
  return most;
}

static wk_status compare(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                         const wk_tensor *out, int depth) {
  fed *f = ctx;
  (void)in;
  for (uint32_t k = 0; k < n->n_out && depth == 0; k++) {
    uint32_t at;
    if (n->out[k] == WK_NONE || !out[k].data || !is_quantised(&out[k].type)) continue;
    if (!wk_map_get(f->index, wk_val(g, n->out[k])->name, &at)) continue;
    const wk_tensor *want = &f->tensors.data[at];
    if (want->type.dtype != out[k].type.dtype || !wk_shape_equal(&want->type, &out[k].type))
      continue;
    int64_t most = most_steps(&out[k], want);
    f->layers++;
    f->equal += most == 0;
    if (most > f->most) {
      f->most = most;
      f->worst = wk_arena_strdup(f->arena, n->name);
    }
    memcpy(out[k].data, want->data, (size_t)wk_type_bytes(&want->type));
  }
  return NULL;
}

static wk_status run(const wk_module *m, const wk_tensor *in, wk_eval_hook hook, fed *f) {
  size_t n = m->main->outputs.n;
  wk_tensor *out = wk_xcalloc(n, sizeof *out);
  wk_status s = wk_eval_graph(m->main, in, out, hook, f);
  for (size_t i = 0; i < n; i++) wk_tensor_free(&out[i]);
  free(out);
  return s;
}

static void add_fed(wk_str *b, const fed *f) {
  wk_str_printf(b, "each fed alike, %zu of %zu quantised layers match float arithmetic",
                f->equal, f->layers);
  if (f->most)
    wk_str_printf(b, ", the others are off by at most %lld %s (worst at %s)", (long long)f->most,
                  f->most == 1 ? "step" : "steps", f->worst);
}

static void add_parts(wk_str *b, const wk_compare_count *c) {
  size_t seen = 0, with_parts = 0;
  for (size_t i = 0; i < c->n_targets; i++) with_parts += c->targets[i].parts > 0;
  for (size_t i = 0; i < c->n_targets; i++) {
    const wk_compare_target *t = &c->targets[i];
    if (!t->parts) continue;
    wk_str_printf(b, "%s%zu of %zu%s for %s",
                  !seen ? "; " : seen + 1 < with_parts ? ", " : " and ", t->parts - t->different,
                  t->parts, seen ? "" : t->parts == 1 ? " part" : " parts", t->name);
    seen++;
  }
  wk_str_add(b, " match the evaluator bit for bit");
}

/* The host is last, and may have none. */
static void add_unused(wk_str *b, const wk_compare_count *c) {
  for (size_t i = 0; i + 1 < c->n_targets; i++)
    if (!c->targets[i].parts) wk_str_printf(b, "; no part is for %s", c->targets[i].name);
}

/* The targets against the evaluator, by instructions or parts. */
static wk_status add_target(wk_str *b, const wk_test_options *o, const wk_module *m,
                            wk_tensor *in) {
  wk_compare_opts co = {.run = {.target = o->target, .threads = o->threads},
                        .rtol = 0, .atol = 0};
  wk_runner_options ro = {.target = {.target = WK_TARGET_EVAL}};
  wk_run_job job = {.arena = wk_arena_new(), .in = in};
  wk_compare_count count = {0};
  wk_status s = wk_runner_of_module(wk_module_clone(m), &ro, &job.runner);
  if (!s) s = wk_compare_count_parts(&co, &job, &count);
  if (!s && count.is_whole)
    wk_str_printf(b, "; %zu of %zu %s instructions match the evaluator bit for bit",
                  count.layers - count.different, count.layers,
                  count.targets[count.n_targets - 1].name);
  else if (!s) add_parts(b, &count);
  if (!s) add_unused(b, &count);
  wk_runner_free(job.runner);
  wk_arena_free(job.arena);
  return s;
}

wk_status wk_test_layers(const wk_test_options *o, const wk_module *real, const wk_module *m,
                         wk_tensor *in, wk_str *text) {
  fed f = {.index = wk_map_new(), .arena = wk_arena_new()};
  wk_status s = run(real, in, keep, &f);
  if (!s && f.tensors.n) s = run(m, in, compare, &f);
  if (!s && f.layers) add_fed(text, &f);
  if (!s && f.layers && !wk_target_is_eval(&o->target)) s = add_target(text, o, m, in);
  for (size_t i = 0; i < f.tensors.n; i++) wk_tensor_free(&f.tensors.data[i]);
  wk_vec_free(&f.tensors);
  wk_map_free(f.index);
  wk_arena_free(f.arena);
  return s;
}
