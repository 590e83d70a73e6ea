/* SPDX-License-Identifier: Apache-2.0
 * Layer by layer. Each instruction of a program becomes a program of its own, and all of these one
 * package. Then the evaluator runs the program; before each instruction the target's code for it
 * runs on the same memory, and afterwards both results are compared. An error stays where it
 * arises: everybody is fed by the evaluator. A branch is not an instruction to compare; its body's
 * are, when it is taken. */
#include <stdlib.h>
#include <string.h>

#include "compiler/compile/compile.h"
#include "cli/text.h"
#include "cli/verify/compare.h"
#include "cli/view.h"

typedef enum { NOT_RUN, AGREES, DIFFERS } layer_result;

typedef struct wk_layers layers;
struct wk_layers {
  wk_comparison *c;
  const wk_program *p;
  const char *where; /* "part 1 on cpu, "; "" */
  WK_VEC(const wk_inst *) insts; /* every one to compare */
  wk_isolated *layers; /* one for each */
  layer_result *results; /* of each */
  wick_model *model;   /* an entry for each */
  void **bases;        /* per buffer of p, the evaluator's memory */
  void **own;          /* the part of it to free */
};

/* ---- the instructions ------------------------------------------------------------------------ */

typedef struct {
  const wk_block *block;
  size_t at;
} position;
typedef struct {
  WK_VEC(position) stack;
} walker;

static void enter(walker *w, const wk_block *b) {
  position p = {b, 0};
  wk_vec_push(&w->stack, p);
}

static bool is_taken(const layers *l, const wk_inst *branch, uint32_t body) {
  const wk_view *cond = &branch->operands[0];
  const uint8_t *base = l->bases[cond->buffer];
  return base[cond->offset] ? body == 0 : body == 1;
}

/* The next instruction that is no branch; NULL at the end. Of a branch both bodies, or the one that
 * is taken when there is memory to look at. */
static const wk_inst *next_inst(walker *w, const layers *l) {
  while (w->stack.n) {
    position *p = &w->stack.data[w->stack.n - 1];
    if (p->at == p->block->insts.n) {
      w->stack.n--;
      continue;
    }
    const wk_inst *i = p->block->insts.data[p->at++];
    if (i->op != WK_OP_IF) return i;
    for (uint32_t b = i->n_bodies; b-- > 0;)
      if (!l->bases || is_taken(l, i, b)) enter(w, &i->bodies[b]);
  }
  wk_vec_free(&w->stack);
  return NULL;
}

static void list_insts(layers *l) {
  walker w = {0};
  enter(&w, &l->p->body);
  for (const wk_inst *i; (i = next_inst(&w, l));) wk_vec_push(&l->insts, i);
}

static size_t index_of(const layers *l, const wk_inst *inst) {
  size_t i = 0;
  while (l->insts.data[i] != inst) i++;
  return i;
}

/* ---- compile --------------------------------------------------------------------------------- */

static wk_status isolate_all(layers *l, const wk_instance *t) {
  for (size_t i = 0; i < l->insts.n; i++) {
    WK_TRY(wk_isolate(l->p, l->insts.data[i], &l->layers[i]));
    WK_TRY(wk_pipeline_finish(l->layers[i].program, t));
  }
  return NULL;
}

static wk_status compile(layers *l, const wk_instance *t) {
  wk_emit_options eo = {.model_name = "compare", .command = ""};
  if (!l->insts.n) return NULL;
  WK_TRY(isolate_all(l, t));
  wk_program **programs = wk_xcalloc(l->insts.n, sizeof *programs);
  for (size_t i = 0; i < l->insts.n; i++) programs[i] = l->layers[i].program;
  wk_status s = wk_load_programs(t, programs, l->insts.n, &eo, &l->model);
  free(programs);
  return s;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static wk_status make_memory(layers *l, const void *const *in, void *const *out) {
  l->bases = wk_xcalloc(l->p->buffers.n, sizeof *l->bases);
  l->own = wk_xcalloc(l->p->buffers.n, sizeof *l->own);
  for (size_t b = 0; b < l->p->buffers.n; b++) {
    const wk_buffer *buffer = &l->p->buffers.data[b];
    if (buffer->region == WK_REGION_CONST) {
      l->bases[b] = (void *)(uintptr_t)buffer->data;
    } else if (buffer->region == WK_REGION_INPUT) {
      l->bases[b] = (void *)(uintptr_t)in[buffer->io];
    } else if (buffer->region == WK_REGION_OUTPUT) {
      l->bases[b] = out[buffer->io];
    } else {
      WK_TRY(wk_try_malloc((size_t)buffer->size, &l->own[b]));
      l->bases[b] = l->own[b];
      if (buffer->data) memcpy(l->own[b], buffer->data, (size_t)buffer->size);
    }
  }
  return NULL;
}

static void free_memory(layers *l) {
  for (size_t b = 0; l->own && b < l->p->buffers.n; b++) free(l->own[b]);
  free(l->own);
  free(l->bases);
  l->own = l->bases = NULL;
}

/* ---- one layer ------------------------------------------------------------------------------- */

static wk_status run_target(const layers *l, size_t i, void **before, void **out) {
  const void *inputs[WK_RUNNER_MAX_IO];
  const wk_isolated *x = &l->layers[i];
  wick_session *session;
  if (x->inputs.n > WK_RUNNER_MAX_IO)
    return wk_error(WK_UNSUPPORTED, "an instruction with more than %d operands", WK_RUNNER_MAX_IO);
  for (size_t k = 0; k < x->inputs.n; k++) {
    const wk_isolated_input *in = &x->inputs.data[k];
    inputs[k] = in->before ? before[in->buffer] : l->bases[in->buffer];
  }
  WK_TRY(wk_open_session(l->model, (uint32_t)i, l->c->o->run.threads, l->insts.data[i]->name,
                         &session));
  wick_status ran = wick_session_run(session, inputs, out);
  wk_status s = wk_wick_error(ran, wick_session_error(session), l->insts.data[i]->name);
  wick_session_free(session);
  return s;
}

/* A loop's views show one iteration: there the whole buffer is compared. */
static wk_view compared_view(const layers *l, const wk_view *v) {
  if (v->step == 0) return *v;
  int64_t n = l->p->buffers.data[v->buffer].size / wk_dtype_size(v->dtype);
  wk_type t = wk_type_make(v->dtype, 1, &n);
  return wk_view_dense(v->buffer, &t, WK_ROLE_IN);
}

static wk_status compare_view(layers *l, size_t i, const wk_inst *inst, uint32_t operand,
                              const void *got_base, bool *differs) {
  const wk_inst *top = l->insts.data[i];
  const char *name = wk_text_shown(l->c->arena, top->name);
  const char *op = wk_op_get(inst->op)->name;
  wk_view v = compared_view(l, &inst->operands[operand]);
  /* inside a body copies move what was computed there */
  wk_tolerance tolerance = wk_compare_tolerance(l->c->o, inst == top ? inst->op : WK_OP_LOOP);
  wk_tensor got, want = {0};
  WK_TRY(wk_view_gather(&v, got_base, &got));
  wk_status s = wk_view_gather(&v, l->bases[v.buffer], &want);
  if (!s) {
    if (!wk_compare_is_given(l->c->o))
      l->c->count.steps +=
          wk_compare_take_steps(&got, &want, wk_compare_step(inst, operand, inst == top));
    wk_diff d = wk_tensor_diff(&got, &want, &tolerance);
    wk_str text = {0};
    if (!l->c->quiet && !d.equal) {
      wk_text_diff(&text, &got, &want, &d);
      printf("%s%s %s (%sinstruction %zu, %s): %s\n", l->c->indent, l->c->found ? "also" : "first",
             name, l->where, i, op, text.s);
    } else if (!l->c->quiet && l->c->o->run.verbose) {
      printf("%sok   %s (%sinstruction %zu, %s): largest error %.3g absolute, %.3g relative\n",
             l->c->indent, name, l->where, i, op, d.max_abs, d.max_rel);
    }
    l->c->found = l->c->found || !d.equal;
    *differs = *differs || !d.equal;
    wk_str_free(&text);
  }
  wk_tensor_free(&got);
  wk_tensor_free(&want);
  return s;
}

/* Everything that the instruction or its bodies write, but scratch. */
static wk_status compare_written(layers *l, size_t i, void *const *got) {
  WK_VEC(const wk_inst *) todo = {0};
  bool differs = false;
  wk_status s = NULL;
  wk_vec_push(&todo, l->insts.data[i]);
  for (size_t at = 0; at < todo.n && !s; at++) {
    const wk_inst *inst = todo.data[at];
    for (uint32_t k = 0; k < inst->n_operands && !s; k++) {
      const wk_view *v = &inst->operands[k];
      if (v->buffer == WK_NONE || v->role == WK_ROLE_IN || !got[v->buffer]) continue;
      s = compare_view(l, i, inst, k, got[v->buffer], &differs);
    }
    for (uint32_t b = 0; b < inst->n_bodies; b++)
      for (size_t k = 0; k < inst->bodies[b].insts.n; k++)
        wk_vec_push(&todo, inst->bodies[b].insts.data[k]);
  }
  if (differs && !s && !l->c->quiet) {
    wk_str text = {0};
    wk_inst_text(&text, l->p, l->insts.data[i]);
    printf("%s     %s\n", l->c->indent, wk_text_shown(l->c->arena, text.s));
    wk_str_free(&text);
  }
  if (l->results[i] == NOT_RUN) l->c->count.layers++;
  l->c->count.different += differs;
  l->results[i] = differs ? DIFFERS : AGREES;
  wk_vec_free(&todo);
  return s;
}

static wk_status run_layer(layers *l, size_t i) {
  const wk_isolated *x = &l->layers[i];
  void **before = wk_xcalloc(l->p->buffers.n, sizeof *before);
  void **got = wk_xcalloc(l->p->buffers.n, sizeof *got); /* per buffer that it writes */
  void **out = wk_xcalloc(x->outputs.n, sizeof *out);
  wk_status s = NULL;
  for (size_t k = 0; k < x->outputs.n && !s; k++) {
    uint32_t b = x->outputs.data[k];
    size_t size = (size_t)l->p->buffers.data[b].size;
    s = wk_try_malloc(size, &before[b]);
    if (!s) s = wk_try_malloc(size, &got[b]);
    if (!s) memcpy(before[b], l->bases[b], size);
    out[k] = got[b];
  }
  if (!s) s = run_target(l, i, before, out);
  if (!s) s = wk_eval_inst(l->p, l->insts.data[i], l->bases, 0);
  if (!s) s = compare_written(l, i, got);
  for (size_t b = 0; b < l->p->buffers.n; b++) {
    free(before[b]);
    free(got[b]);
  }
  free(before);
  free(got);
  free(out);
  return s;
}

/* What is known to differ is only evaluated. */
static wk_status walk(layers *l) {
  walker w = {0};
  wk_status s = NULL;
  size_t done = 0;
  enter(&w, &l->p->body);
  for (const wk_inst *inst; !s && (inst = next_inst(&w, l)); done++) {
    size_t i = index_of(l, inst);
    if (!l->c->quiet) wk_progress("%s%zu of %zu instructions", l->where, done, l->insts.n);
    s = l->results[i] == DIFFERS ? wk_eval_inst(l->p, inst, l->bases, 0) : run_layer(l, i);
  }
  wk_vec_free(&w.stack);
  return s;
}

/* ---- all ------------------------------------------------------------------------------------- */

wk_status wk_layers_new(wk_comparison *c, const wk_instance *t, const wk_program *p,
                        const char *where, wk_layers **out) {
  layers *l = wk_xcalloc(1, sizeof *l);
  *l = (layers){.c = c, .p = p, .where = where};
  list_insts(l);
  l->layers = wk_xcalloc(l->insts.n, sizeof *l->layers);
  l->results = wk_xcalloc(l->insts.n, sizeof *l->results);
  if (!c->quiet) wk_progress("%scompiling %zu instructions", where, l->insts.n);
  wk_status s = compile(l, t);
  if (s) wk_layers_free(l);
  else *out = l;
  return s;
}

wk_status wk_layers_run(wk_layers *l, const void *const *in, void *const *out) {
  wk_status s = make_memory(l, in, out);
  if (!s) s = walk(l);
  free_memory(l);
  return s;
}

void wk_layers_free(wk_layers *l) {
  if (!l) return;
  for (size_t i = 0; i < l->insts.n; i++) wk_isolated_free(&l->layers[i]);
  wick_model_free(l->model);
  wk_vec_free(&l->insts);
  free(l->layers);
  free(l->results);
  free(l);
}
