/* SPDX-License-Identifier: Apache-2.0
 * The middle of the compiler, step by step with a numerical check after each: the outputs of the
 * graph as it is are what the lowered graph, the generated program, the program after every
 * instruction pass and the placed program must give on the same inputs. */
#ifndef WICK_TEST_MIDDLE_H
#define WICK_TEST_MIDDLE_H

#include <stdlib.h>
#include <string.h>

#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"

typedef struct {
  bool channels_last, order;
  bool passes;         /* graph passes on the primitives */
  bool no_inst_passes; /* straight from generation to placement */
  double rtol;         /* lowering may round differently; 0: 1e-4 */
} middle_options;

/* Statuses become text: "in-place: output 0 …". True when there is none. */
static inline bool middle_ok(wk_status s, const char *step, wk_str *why) {
  if (!s) return true;
  wk_str_printf(why, "%s: %s%s%s", step, s->place ? s->place : "", s->place ? ": " : "",
                s->message);
  if (s->notes) wk_str_printf(why, " (%s)", s->notes);
  wk_status_free(s);
  return false;
}

static inline void middle_free(wk_tensor *t, size_t n) {
  for (size_t i = 0; t && i < n; i++) wk_tensor_free(&t[i]);
  free(t);
}

static inline wk_tensor *middle_eval_graph(const wk_graph *g, const wk_tensor *in, const char *step,
                                           wk_str *why) {
  wk_tensor *out = wk_xcalloc(g->outputs.n + 1, sizeof *out);
  if (middle_ok(wk_eval_graph(g, in, out, NULL, NULL), step, why)) return out;
  free(out);
  return NULL;
}

/* Variables behind the inputs, and each one's update, in their order, behind the outputs. */
static inline wk_tensor *middle_eval_program(const wk_program *p, const wk_tensor *in,
                                             const char *step, wk_str *why) {
  size_t n_in = p->inputs.n + p->states.n, n_out = p->outputs.n + p->states.n;
  wk_tensor *out = wk_xcalloc(n_out + 1, sizeof *out);
  const void **from = wk_xcalloc(n_in + 1, sizeof *from);
  void **to = wk_xcalloc(n_out + 1, sizeof *to);
  for (size_t i = 0; i < n_in; i++) from[i] = in[i].data;
  wk_status s = NULL;
  for (size_t i = 0; i < n_out && !s; i++) {
    const wk_program_io *io =
        i < p->outputs.n ? &p->outputs.data[i] : &p->states.data[i - p->outputs.n];
    s = wk_tensor_alloc(&io->type, &out[i]);
    if (s) break;
    memset(out[i].data, 0xAA, (size_t)wk_type_bytes(&out[i].type));
    to[i] = out[i].data;
  }
  if (!s) s = wk_eval_program_poisoned(p, from, to);
  free(from);
  free(to);
  if (middle_ok(s, step, why)) return out;
  middle_free(out, n_out);
  return NULL;
}

/* Takes over got. rtol 0: bit by bit. */
static inline bool middle_same(wk_tensor *got, const wk_tensor *want, size_t n, double rtol,
                               const char *step, wk_str *why) {
  if (!got) return false;
  for (size_t i = 0; i < n && !why->n; i++) {
    wk_tolerance tol = {rtol, rtol * 1e-3, rtol};
    if (got[i].type.dtype != want[i].type.dtype || !wk_shape_equal(&got[i].type, &want[i].type)) {
      wk_str_printf(why, "%s: output %zu has another type", step, i);
      continue;
    }
    wk_diff d = wk_tensor_diff(&got[i], &want[i], &tol);
    if (!d.equal)
      wk_str_printf(why, "%s: output %zu differs at %lld: %.9g, want %.9g", step, i,
                    (long long)d.worst, d.got, d.want);
  }
  middle_free(got, n);
  return why->n == 0;
}

static inline int64_t middle_count(const wk_program *p, wk_op op, int64_t *bytes) {
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *flat;
  size_t n = wk_program_flatten(p, scratch, &flat);
  int64_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (flat[i].inst->op != op) continue;
    const wk_view *v = flat[i].inst->n_operands ? &flat[i].inst->operands[0] : NULL;
    count++;
    if (bytes && v) *bytes += wk_view_count(v) * wk_dtype_size(v->dtype);
  }
  wk_arena_free(scratch);
  return count;
}

static inline bool middle_counts_right(const wk_program *p, const char *step, wk_str *why) {
  int64_t bytes = 0, count = middle_count(p, WK_OP_COPY, &bytes);
  if (count == p->copies_after && bytes == p->copy_bytes_after) return true;
  wk_str_printf(why, "%s: %lld copies of %lld bytes are counted, there are %lld of %lld", step,
                (long long)p->copies_after, (long long)p->copy_bytes_after, (long long)count,
                (long long)bytes);
  return false;
}

static inline bool middle_check_program(const wk_program *p, const wk_tensor *in,
                                        const wk_tensor *want, const char *step, wk_str *why) {
  return middle_ok(wk_program_verify(p), step, why) && middle_counts_right(p, step, why) &&
         middle_same(middle_eval_program(p, in, step, why), want,
                     p->outputs.n + p->states.n, 0, step, why);
}

/* Pass i on programs, the one last that targets ask for; NULL past it. */
static inline const wk_inst_pass *middle_pass(size_t i) {
  static const wk_inst_pass nests = {"fuse-nests", wk_inst_fuse_nests, ""};
  if (i < wk_inst_passes_count) return &wk_inst_passes[i];
  return i == wk_inst_passes_count ? &nests : NULL;
}

static inline bool middle_run_pass(wk_program *p, const wk_inst_pass *pass, int64_t *changes,
                                   wk_str *why) {
  wk_arena *scratch = wk_arena_new();
  wk_status s = pass->run(p, scratch, changes);
  wk_arena_free(scratch);
  return middle_ok(s, pass->name, why);
}

static inline bool middle_program(wk_program *p, const wk_tensor *in, const wk_tensor *want,
                                  const middle_options *o, wk_str *why) {
  if (!middle_check_program(p, in, want, "generate", why)) return false;
  for (size_t i = 0; middle_pass(i) && !o->no_inst_passes; i++) {
    int64_t changes = 0;
    if (!middle_run_pass(p, middle_pass(i), &changes, why) ||
        !middle_check_program(p, in, want, middle_pass(i)->name, why))
      return false;
  }
  return middle_ok(wk_place(p, 64), "place", why) &&
         middle_ok(wk_place_check(p), "check", why) &&
         middle_check_program(p, in, want, "place", why);
}

/* Lowers m; *lowered receives its outputs, which are those of the original but for rounding. */
static inline bool middle_lower(wk_module *m, const wk_tensor *in, const middle_options *o,
                                wk_tensor **lowered, wk_str *why) {
  size_t n = m->main->outputs.n;
  double rtol = o->rtol != 0 ? o->rtol : 1e-4;
  wk_tensor *want = middle_eval_graph(m->main, in, "graph", why);
  bool ok = want && middle_ok(wk_lower_nodes(m, NULL, NULL), "lower", why) &&
            middle_same(middle_eval_graph(m->main, in, "lower", why), want, n, rtol, "lower", why);
  if (ok && o->passes)
    ok = middle_ok(wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL), "passes", why) &&
         middle_same(middle_eval_graph(m->main, in, "passes", why), want, n, rtol, "passes", why);
  if (ok) *lowered = middle_eval_graph(m->main, in, "lower", why);
  middle_free(want, n);
  return ok && *lowered;
}

static inline bool middle_order(wk_module *m, const middle_options *o, wk_str *why) {
  int64_t before, after;
  if (!o->order) return true;
  if (!middle_ok(wk_order_nodes(m, &before, &after), "order", why) ||
      !middle_ok(wk_module_verify(m), "order", why))
    return false;
  if (after > before)
    wk_str_printf(why, "order: peak %lld becomes %lld", (long long)before, (long long)after);
  return after <= before;
}

/* Lowers, generates and places m (which is changed), comparing after each step. *out may be NULL;
 * else it receives the placed program. */
static inline bool middle_agrees(wk_module *m, const wk_tensor *in, const middle_options *o,
                                 wk_program **out, wk_str *why) {
  wk_program *p = NULL;
  wk_tensor *lowered = NULL;
  bool ok = middle_lower(m, in, o, &lowered, why) &&
            middle_ok(wk_layout_assign(m, o->channels_last), "layout", why) &&
            middle_order(m, o, why) &&
            middle_ok(wk_generate(m, 1, &p), "generate", why) &&
            middle_program(p, in, lowered, o, why);
  middle_free(lowered, m->main->outputs.n);
  if (ok && out) *out = p;
  else wk_program_free(p);
  return ok;
}

#endif
