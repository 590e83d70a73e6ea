/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/state.h"

#include <stdlib.h>
#include <string.h>

/* A size that a run finds, and the one that it leaves behind. */
typedef struct {
  const char *past, *present, *input; /* input: one that has it */
  bool present_is_output;
} wk_grown;

enum { NAMED_PAIRS = 4 };
typedef struct {
  wk_str text;
  size_t n;
} pairs;

typedef struct {
  wk_graph *g;
  const char *option; /* as messages name it */
  wk_arena *arena;
  wk_strings past, present; /* that are kept already */
  WK_VEC(wk_grown) grown;   /* sizes of those that grow */
  pairs taken, left;        /* that auto has found */
} keeping;

/* ---- ends ------------------------------------------------------------------------------------ */

static wk_value_id input_named(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++)
    if (!strcmp(wk_val(g, g->inputs.data[i])->name, name)) return g->inputs.data[i];
  return WK_NONE;
}

/* Those that there are now; others go as inputs are kept. */
static wk_strings input_names(const wk_graph *g) {
  wk_strings names = {0};
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++)
    wk_vec_push(&names, wk_val(g, g->inputs.data[i])->name);
  return names;
}

/* Its number; how many there are: none has the name. */
static size_t output_named(const wk_graph *g, const char *name) {
  size_t n = wk_graph_plain_outputs(g);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(g->output_names.data[i], name)) return i;
  return n;
}

static wk_status with_ends(const keeping *k, wk_status s) {
  const wk_graph *g = k->g;
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++) {
    const wk_value *x = wk_val(g, g->inputs.data[i]);
    s = wk_status_item(s, "input %s: %s", x->name, wk_type_text(k->arena, &x->type));
  }
  for (size_t i = 0; i < wk_graph_plain_outputs(g); i++)
    s = wk_status_item(s, "output %s: %s", g->output_names.data[i],
                       wk_type_text(k->arena, &wk_val(g, g->outputs.data[i])->type));
  return s;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static wk_status no_such_end(const keeping *k, const char *end, const char *name) {
  return with_ends(k, wk_error_at(WK_USAGE, k->option, "the model has no %s '%s'", end, name));
}

static wk_status other_types(const keeping *k, const char *past, const wk_type *x,
                             const char *present, const wk_type *y) {
  return wk_error_at(WK_USAGE, k->option,
                     "input %s is %s and output %s %s: only what keeps its type stays from run to "
                     "run: a cache of fixed length that each run writes into, or one that grows, "
                     "whose length is a range from 0 (--bind past=0..4096)",
                     past, wk_type_text(k->arena, x), present, wk_type_text(k->arena, y));
}

static bool has(const wk_strings *names, const char *name) {
  for (size_t i = 0; i < names->n; i++)
    if (!strcmp(names->data[i], name)) return true;
  return false;
}

static wk_status kept_already(const keeping *k, const char *end, const char *name) {
  return wk_error_at(WK_USAGE, k->option, "%s %s is kept already", end, name);
}

/* ---- what grows ------------------------------------------------------------------------------ */

/* The only axis whose size a run decides; NULL: none. WK_UNSUPPORTED: there are several. */
static wk_status open_axis(const keeping *k, const char *name, bool is_output,
                           const wk_open_axis **out) {
  const wk_module *m = k->g->module;
  *out = NULL;
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *a = &m->open_axes.data[i];
    if (a->is_output != is_output || strcmp(a->tensor, name) != 0) continue;
    if (*out)
      return wk_error_at(WK_UNSUPPORTED, k->option,
                         "axes %d (%s) and %d (%s) of %s have sizes that runs decide: what stays "
                         "from run to run grows along one axis", (*out)->axis, (*out)->symbol,
                         a->axis, a->symbol, name);
    *out = a;
  }
  return NULL;
}

/* All that begin with one size end with one. */
static wk_status add_grown(keeping *k, const wk_open_axis *x, const wk_open_axis *y) {
  for (size_t i = 0; i < k->grown.n; i++) {
    const wk_grown *g = &k->grown.data[i];
    if (strcmp(g->past, x->size) != 0) continue;
    if (!strcmp(g->present, y->size)) return NULL;
    return wk_error_at(WK_UNSUPPORTED, k->option, "inputs %s and %s have the same size (%s), but "
                       "what stays of them has not (%s)", g->input, x->tensor, x->symbol,
                       y->symbol);
  }
  wk_arena *a = k->arena;
  const wk_grown grown = {wk_arena_strdup(a, x->size), wk_arena_strdup(a, y->size),
                          wk_arena_strdup(a, x->tensor), y->size_is_output};
  wk_vec_push(&k->grown, grown);
  return NULL;
}

static wk_status check_growth(keeping *k, const char *past, const char *present) {
  const wk_open_axis *x, *y;
  WK_TRY(open_axis(k, past, false, &x));
  WK_TRY(open_axis(k, present, true, &y));
  if (!x && !y) return NULL;
  if (!x || !y || x->axis != y->axis)
    return wk_error_at(WK_UNSUPPORTED, k->option, "axis %d of %s has a size that runs decide (%s), "
                       "but not that of %s", x ? x->axis : y->axis, x ? past : present,
                       x ? x->symbol : y->symbol, x ? present : past);
  if (x->least > 0)
    return wk_error_at(WK_USAGE, k->option, "axis %d of input %s (%s) has %lld positions at least: "
                       "what grows from run to run begins with none, %s=0..%lld", x->axis, past,
                       x->symbol, (long long)x->least, x->symbol,
                       (long long)wk_val(k->g, input_named(k->g, past))->type.dims[x->axis]);
  return add_grown(k, x, y);
}

static void close_axes(wk_module *m, const char *tensor, bool is_output) {
  size_t kept = 0;
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *a = &m->open_axes.data[i];
    if (a->is_output != is_output || strcmp(a->tensor, tensor) != 0)
      m->open_axes.data[kept++] = *a;
  }
  m->open_axes.n = kept;
}

static const wk_open_axis *axis_with(const wk_module *m, const char *size, bool is_output) {
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *a = &m->open_axes.data[i];
    if (a->size_is_output == is_output && !strcmp(a->size, size)) return a;
  }
  return NULL;
}

/* The number of an output that has the size and that nobody else needs. */
static size_t own_output(wk_graph *g, const wk_grown *x) {
  size_t i = output_named(g, x->present), n = wk_graph_plain_outputs(g);
  if (x->present_is_output && !axis_with(g->module, x->present, true)) return i;
  wk_value_id v = x->present_is_output ? g->outputs.data[i] : input_named(g, x->present);
  wk_graph_output(g, wk_arena_printf(g->module->arena, "next %s", x->past), v);
  return n;
}

/* Sizes that what is kept had and has are kept, too. */
static wk_status keep_sizes(keeping *k) {
  for (size_t i = 0; i < k->grown.n; i++) {
    const wk_grown *x = &k->grown.data[i];
    const wk_open_axis *other = axis_with(k->g->module, x->past, false);
    if (other)
      return wk_error_at(WK_UNSUPPORTED, k->option, "axis %d of %s %s has the size of input %s "
                         "(%s), which stays from run to run, but is none that does itself",
                         other->axis, other->is_output ? "output" : "input", other->tensor,
                         x->input, other->symbol);
    WK_TRY(wk_graph_keep(k->g, input_named(k->g, x->past), own_output(k->g, x)));
  }
  return NULL;
}

/* ---- pairs, one by one ----------------------------------------------------------------------- */

static wk_status keep(keeping *k, const char *past, const char *present) {
  if (has(&k->past, past)) return kept_already(k, "input", past);
  if (has(&k->present, present)) return kept_already(k, "output", present);
  wk_value_id input = input_named(k->g, past);
  size_t output = output_named(k->g, present);
  if (input == WK_NONE) return no_such_end(k, "input", past);
  if (output == wk_graph_plain_outputs(k->g)) return no_such_end(k, "output", present);
  WK_TRY(check_growth(k, past, present));
  const wk_type *x = &wk_val(k->g, input)->type;
  const wk_type *y = &wk_val(k->g, k->g->outputs.data[output])->type;
  if (!wk_type_equal(x, y)) return other_types(k, past, x, present, y);
  close_axes(k->g->module, past, false);
  close_axes(k->g->module, present, true);
  wk_vec_push(&k->past, wk_arena_strdup(k->arena, past));
  wk_vec_push(&k->present, wk_arena_strdup(k->arena, present));
  return wk_graph_keep(k->g, input, output);
}

/* The text that * stands for; NULL: the name is none of the pattern's. */
static const char *star_of(wk_arena *a, const char *pattern, const char *name) {
  const char *star = strchr(pattern, '*');
  size_t before = (size_t)(star - pattern), behind = strlen(star + 1), n = strlen(name);
  if (n < before + behind || strncmp(name, pattern, before) != 0 ||
      strcmp(name + n - behind, star + 1) != 0)
    return NULL;
  return wk_arena_strndup(a, name + before, n - before - behind);
}

static const char *with_star(wk_arena *a, const char *pattern, const char *text) {
  const char *star = strchr(pattern, '*');
  return wk_arena_printf(a, "%.*s%s%s", (int)(star - pattern), pattern, text, star + 1);
}

static wk_status keep_all(keeping *k, const char *past, const char *present) {
  wk_strings names = input_names(k->g);
  size_t found = 0;
  wk_status s = NULL;
  for (size_t i = 0; i < names.n && !s; i++) {
    const char *text = star_of(k->arena, past, names.data[i]);
    if (!text) continue;
    found++;
    s = keep(k, names.data[i], with_star(k->arena, present, text));
  }
  wk_vec_free(&names);
  return s || found ? s : no_such_end(k, "input", past);
}

static wk_status keep_pair(keeping *k, const char *pair) {
  const char *eq = strchr(pair, '=');
  if (!eq || eq == pair || !eq[1])
    return wk_error_at(WK_USAGE, k->option, "'%s' must be INPUT=OUTPUT; auto stands alone", pair);
  const char *past = wk_arena_strndup(k->arena, pair, (size_t)(eq - pair)), *present = eq + 1;
  const char *a = strchr(past, '*'), *b = strchr(present, '*');
  if (!a && !b) return keep(k, past, present);
  if (!a || !b || strchr(a + 1, '*') || strchr(b + 1, '*'))
    return wk_error_at(WK_USAGE, k->option, "'%s' must have one * on each side, or none", pair);
  return keep_all(k, past, present);
}

static wk_status keep_listed(keeping *k, const char *option) {
  for (const char *p = option, *end; p; p = *end ? end + 1 : NULL) {
    end = p + strcspn(p, ",");
    WK_TRY(keep_pair(k, wk_arena_strndup(k->arena, p, (size_t)(end - p))));
  }
  return NULL;
}

/* ---- pairs by their names -------------------------------------------------------------------- */

/* What exporters have in the name of an input, and of the output that it takes. */
static const struct {
  const char *past, *present;
} named[] = {{"past_key_values", "present"},
             {"past_key_values", "present_key_values"},
             {"past", "present"}};

const char *wk_state_present_name(wk_arena *a, const char *past, size_t k) {
  for (size_t i = 0; i < WK_COUNTOF(named); i++) {
    const char *at = strstr(past, named[i].past);
    if (at && k-- == 0)
      return wk_arena_printf(a, "%.*s%s%s", (int)(at - past), past, named[i].present,
                             at + strlen(named[i].past));
  }
  return NULL;
}

/* The name of an output that takes the input's place; NULL: none has such a name. */
static const char *present_of(wk_arena *a, const wk_strings *outputs, const char *past) {
  const char *name;
  for (size_t k = 0; (name = wk_state_present_name(a, past, k)); k++)
    if (has(outputs, name)) return name;
  return NULL;
}

static wk_strings output_names(const wk_graph *g) {
  wk_strings names = {0};
  for (size_t i = 0; i < wk_graph_plain_outputs(g); i++)
    wk_vec_push(&names, g->output_names.data[i]);
  return names;
}

/* Deep models have hundreds: a note names the first ones. */
static void add_pair(pairs *to, const char *past, const char *present) {
  if (to->n++ < NAMED_PAIRS)
    wk_str_printf(&to->text, "%s%s=%s", to->text.n ? "," : "", past, present);
}

static const char *text_of(const keeping *k, const pairs *p) {
  return p->n <= NAMED_PAIRS ? p->text.s
                             : wk_arena_printf(k->arena, "%s and %zu more", p->text.s,
                                               p->n - NAMED_PAIRS);
}

static wk_status keep_found(keeping *k, const char *past) {
  wk_strings outputs = output_names(k->g);
  const char *present = present_of(k->arena, &outputs, past);
  wk_vec_free(&outputs);
  if (!present) return NULL;
  const wk_type *x = &wk_val(k->g, input_named(k->g, past))->type;
  const wk_type *y = &wk_val(k->g, k->g->outputs.data[output_named(k->g, present)])->type;
  bool fits = wk_type_equal(x, y);
  add_pair(fits ? &k->taken : &k->left, past, present);
  return fits ? keep(k, past, present) : NULL;
}

static wk_status keep_auto(keeping *k, const char *path, wk_notes *notes) {
  wk_strings names = input_names(k->g);
  wk_status s = NULL;
  for (size_t i = 0; i < names.n && !s; i++) s = keep_found(k, names.data[i]);
  wk_vec_free(&names);
  if (!s && !k->taken.n)
    s = with_ends(k, wk_error_at(WK_USAGE, k->option,
                                 k->left.n ? "inputs and outputs that belong together by their "
                                             "names have different types"
                                           : "no input past… has an output present…"));
  if (!s)
    wk_model_add_note(notes, path,
                      wk_arena_printf(k->arena, "state: %s", text_of(k, &k->taken)));
  if (!s && k->left.n)
    wk_model_add_note(notes, path,
                      wk_arena_printf(k->arena, "no state, as types differ: %s",
                                      text_of(k, &k->left)));
  return s;
}

/* The reshape or transposition that makes v; NULL: it is something else. */
static const wk_node *reordering(const wk_graph *g, wk_value_id v) {
  const wk_node *n = wk_def(g, v);
  bool is_it = n && (n->op == WK_OP_RESHAPE || n->op == WK_OP_TRANSPOSE);
  return is_it && n->predicate == WK_NONE ? n : NULL;
}

/* Of what the update u is a transposition of, n is another one: as one of u. */
static void transpose_update(wk_graph *g, wk_node *n, wk_value_id u) {
  const wk_attr_transpose *was = WK_ATTR(n, transpose);
  const int64_t *first = WK_ATTR(reordering(g, u), transpose)->perm.v;
  int64_t at[WK_MAX_RANK], perm[WK_MAX_RANK];
  wk_attr_transpose *a = wk_attrs_clone(g->module->arena, WK_OP_TRANSPOSE, was);
  for (int64_t k = 0; k < was->perm.n; k++) at[first[k]] = k;
  for (int64_t k = 0; k < was->perm.n; k++) perm[k] = at[was->perm.v[k]];
  a->perm = wk_ints_dup(g->module->arena, perm, was->perm.n);
  n->attrs = a;
}

/* Who reads a cache in another order of axes than its update has reads the update: that is there in
 * any case, and a target finds it where the state lies. */
static wk_status read_updates(wk_graph *g) {
  bool any = false;
  for (size_t i = wk_graph_plain_outputs(g); i < g->outputs.n; i++) {
    const wk_value_id u = g->outputs.data[i];
    const wk_node *t = reordering(g, u);
    for (size_t k = 0; t && k < g->nodes.n; k++) {
      wk_node *n = &g->nodes.data[k];
      if (n->dead || n->op != t->op || n->in[0] != t->in[0] || wk_is_update(g, n->out[0])) continue;
      if (n->op == WK_OP_TRANSPOSE) transpose_update(g, n, u);
      n->in[0] = u;
      any = true;
    }
  }
  return any ? wk_graph_normalise(g) : NULL;
}

wk_status wk_model_keep(wk_module *m, const wk_strings *options, const char *path,
                        wk_notes *notes) {
  keeping k = {.g = m->main, .arena = wk_arena_new()};
  wk_status s = NULL;
  for (size_t i = 0; i < options->n && !s; i++) {
    k.option = wk_arena_printf(k.arena, "--state %s", options->data[i]);
    s = !strcmp(options->data[i], "auto") ? keep_auto(&k, path, notes)
                                          : keep_listed(&k, options->data[i]);
  }
  if (!s) s = keep_sizes(&k);
  if (!s) s = read_updates(k.g);
  wk_vec_free(&k.grown);
  wk_vec_free(&k.past);
  wk_vec_free(&k.present);
  wk_str_free(&k.taken.text);
  wk_str_free(&k.left.text);
  wk_arena_free(k.arena);
  return s;
}

/* ---- before the import ----------------------------------------------------------------------- */

static bool pair_keeps(wk_arena *a, const char *pair, const char *input) {
  const char *eq = strchr(pair, '=');
  if (!eq) return false;
  const char *past = wk_arena_strndup(a, pair, (size_t)(eq - pair)), *star = strchr(past, '*');
  return star ? star_of(a, past, input) != NULL : !strcmp(past, input);
}

static bool option_keeps(wk_arena *a, const char *option, const char *input,
                         const wk_strings *outputs) {
  if (!strcmp(option, "auto")) return present_of(a, outputs, input) != NULL;
  for (const char *p = option, *end; p; p = *end ? end + 1 : NULL) {
    end = p + strcspn(p, ",");
    if (pair_keeps(a, wk_arena_strndup(a, p, (size_t)(end - p)), input)) return true;
  }
  return false;
}

bool wk_state_keeps(const wk_strings *options, const char *input, const wk_strings *outputs) {
  wk_arena *a = wk_arena_new();
  bool kept = false;
  for (size_t i = 0; i < options->n && !kept; i++)
    kept = option_keeps(a, options->data[i], input, outputs);
  wk_arena_free(a);
  return kept;
}
