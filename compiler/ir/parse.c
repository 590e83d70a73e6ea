/* SPDX-License-Identifier: Apache-2.0 */
/* Text to graphs (the form is shown in print.c). A first pass over the tokens finds where each
 * graph starts; then graphs are built in order, except that a graph named as a body is built first,
 * because the node that owns it takes its types from there. That is the only recursion, and its
 * depth is limited. Types of results are optional: inference knows them, a type that is given must
 * agree. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/graph_names.h"
#include "compiler/ir/text.h"

typedef enum { NOT_YET, BEING_BUILT, BUILT } progress;

typedef struct {
  wk_graph *g;
  wk_lexer start; /* at the signature */
  progress state;
} entry;

typedef struct {
  wk_lexer lex;
  wk_module *m;
  WK_VEC(entry) graphs;
  wk_map *graph_ids;
  int64_t splat_budget;
  int depth;
  wk_graph *g; /* being built */
} parser;

#define ERROR_AT(p, tok, ...) wk_lex_error_at(&(p)->lex, (tok), __FILE__, __LINE__, __VA_ARGS__)

/* The same error at a place of the text. */
static wk_status moved(parser *p, const wk_token *at, wk_status s) {
  if (!s) return NULL;
  wk_status y = wk_status_as(ERROR_AT(p, at, "%s", s->message), s->code);
  wk_status_free(s);
  return y;
}

/* ---- finding the graphs -------------------------------------------------------------------- */

/* Passes a bracketed part whose opening token is the present one. */
static wk_status skip_brackets(parser *p, char open, char close) {
  wk_token at = p->lex.tok;
  WK_TRY(wk_lex_expect(&p->lex, open));
  for (size_t depth = 1; depth > 0;) {
    if (p->lex.tok.kind == WK_TOK_END) return ERROR_AT(p, &at, "'%c' has no '%c'", open, close);
    if (wk_lex_is(&p->lex, open)) depth++;
    if (wk_lex_is(&p->lex, close)) depth--;
    WK_TRY(wk_lex_next(&p->lex));
  }
  return NULL;
}

static wk_status find_graph(parser *p) {
  const char *name;
  uint32_t id;
  WK_TRY(wk_lex_expect_word(&p->lex, "graph"));
  wk_token at = p->lex.tok;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_SYMBOL, &name));
  if (wk_map_get(p->graph_ids, name, &id)) return ERROR_AT(p, &at, "a second graph @%s", name);
  wk_map_put(p->graph_ids, name, (uint32_t)p->graphs.n);
  entry e = {.g = wk_graph_new(p->m, name), .start = p->lex};
  wk_vec_push(&p->graphs, e);
  WK_TRY(skip_brackets(p, '(', ')'));
  return skip_brackets(p, '{', '}');
}

static wk_status parse_header(parser *p) {
  const char *text;
  bool found;
  WK_TRY(wk_lex_expect_word(&p->lex, "module"));
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &text));
  p->m->name = wk_arena_strdup(p->m->arena, text);
  WK_TRY(wk_lex_accept_word(&p->lex, "producer", &found));
  if (found) {
    WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &text));
    p->m->producer = wk_arena_strdup(p->m->arena, text);
  }
  WK_TRY(wk_lex_accept_word(&p->lex, "opset", &found));
  if (found) WK_TRY(wk_lex_int(&p->lex, &p->m->opset));
  return wk_lex_expect(&p->lex, '{');
}

static wk_status find_graphs(parser *p) {
  WK_TRY(parse_header(p));
  while (!wk_lex_is(&p->lex, '}')) WK_TRY(find_graph(p));
  wk_token at = p->lex.tok;
  WK_TRY(wk_lex_expect(&p->lex, '}'));
  if (p->lex.tok.kind != WK_TOK_END)
    return wk_lex_error(&p->lex, "end of text expected, not %s", wk_lex_shown(&p->lex.tok).s);
  return p->graphs.n ? NULL : ERROR_AT(p, &at, "the module has no graph");
}

/* ---- values -------------------------------------------------------------------------------- */

static wk_status find_value(parser *p, wk_value_id *out) {
  wk_token at = p->lex.tok;
  const char *name;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_VALUE, &name));
  if (wk_map_get(p->g->names, name, out)) return NULL;
  return ERROR_AT(p, &at, "%%%s is not defined before its use", name);
}

/* Type and memory order as written. */
typedef struct {
  wk_type type;
  bool has_order;
  uint8_t order[WK_MAX_RANK];
  wk_token at;
} typed;

static wk_status parse_typed(parser *p, typed *t) {
  bool found;
  *t = (typed){.at = p->lex.tok};
  WK_TRY(wk_type_parse(&p->lex, p->m->arena, &t->type));
  wk_token at = p->lex.tok;
  WK_TRY(wk_lex_accept(&p->lex, '@', &found));
  if (!found) return NULL;
  wk_ints order;
  unsigned seen = 0;
  WK_TRY(wk_ints_parse(&p->lex, p->lex.arena, '(', ')', &order));
  bool ok = order.n == t->type.rank;
  for (int64_t i = 0; i < order.n && ok; i++) {
    ok = order.v[i] >= 0 && order.v[i] < order.n && !(seen >> order.v[i] & 1);
    if (!ok) break;
    seen |= 1U << order.v[i];
    t->order[i] = (uint8_t)order.v[i];
  }
  if (!ok) return ERROR_AT(p, &at, "the memory order is not a permutation of the axes");
  t->has_order = true;
  return NULL;
}

static void set_order(wk_graph *g, wk_value_id v, const typed *t) {
  wk_val(g, v)->has_order = t->has_order;
  memcpy(wk_val(g, v)->order, t->order, sizeof t->order);
}

/* [public] %name, whose name is still free. */
typedef struct {
  wk_token at;
  const char *name; /* "": left out */
  bool is_public;
} definition;

static wk_status parse_definition(parser *p, bool optional, definition *d) {
  uint32_t id;
  bool left_out = false;
  WK_TRY(wk_lex_accept_word(&p->lex, "public", &d->is_public));
  d->at = p->lex.tok;
  d->name = "";
  if (optional && !d->is_public) WK_TRY(wk_lex_accept(&p->lex, '-', &left_out));
  if (left_out) return NULL;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_VALUE, &d->name));
  if (wk_map_get(p->g->names, d->name, &id))
    return ERROR_AT(p, &d->at, "%%%s is defined twice", d->name);
  return NULL;
}

static wk_status parse_signature(parser *p) {
  bool more;
  WK_TRY(wk_lex_expect(&p->lex, '('));
  for (more = !wk_lex_is(&p->lex, ')'); more;) {
    definition d;
    typed t;
    WK_TRY(parse_definition(p, false, &d));
    WK_TRY(wk_lex_expect(&p->lex, ':'));
    WK_TRY(parse_typed(p, &t));
    wk_value_id v = wk_graph_input(p->g, d.name, &t.type);
    wk_val(p->g, v)->is_public = d.is_public;
    set_order(p->g, v, &t);
    WK_TRY(wk_lex_accept(&p->lex, ',', &more));
  }
  return wk_lex_expect(&p->lex, ')');
}

/* ---- statements ---------------------------------------------------------------------------- */

typedef struct {
  wk_token op;
  WK_VEC(definition) outs;
  WK_VEC(wk_value_id) in;
  WK_VEC(typed) types;
  const char **out_names;
  wk_dtype *dtypes;
  wk_graph *bodies[2];
  wk_node_desc d;
} statement;

static void free_statement(statement *s) {
  wk_vec_free(&s->outs);
  wk_vec_free(&s->in);
  wk_vec_free(&s->types);
  free(s->out_names);
  free(s->dtypes);
}

static wk_status parse_constant(parser *p, const statement *st) {
  typed t;
  void *data;
  wk_value_id v;
  if (st->outs.n != 1 || !*st->outs.data[0].name)
    return ERROR_AT(p, &st->op, "a constant defines one value");
  WK_TRY(parse_typed(p, &t));
  WK_TRY(wk_data_check(&p->lex, &t.type, &p->splat_budget));
  WK_TRY(moved(p, &t.at, wk_graph_constant_alloc(p->g, st->outs.data[0].name, &t.type, &v, &data)));
  wk_val(p->g, v)->is_public = st->outs.data[0].is_public;
  set_order(p->g, v, &t);
  return wk_data_parse(&p->lex, &t.type, data);
}

static wk_status parse_inputs(parser *p, statement *st) {
  bool more, left_out;
  WK_TRY(wk_lex_expect(&p->lex, '('));
  for (more = !wk_lex_is(&p->lex, ')'); more;) {
    wk_value_id v = WK_NONE;
    WK_TRY(wk_lex_accept(&p->lex, '-', &left_out));
    if (!left_out) WK_TRY(find_value(p, &v));
    wk_vec_push(&st->in, v);
    WK_TRY(wk_lex_accept(&p->lex, ',', &more));
  }
  st->dtypes = wk_xcalloc(st->in.n, sizeof *st->dtypes);
  for (size_t k = 0; k < st->in.n; k++)
    if (st->in.data[k] != WK_NONE) st->dtypes[k] = wk_val(p->g, st->in.data[k])->type.dtype;
  return wk_lex_expect(&p->lex, ')');
}

static wk_status build_graph(parser *p, entry *e);

/* The graph named next, complete. */
static wk_status parse_body(parser *p, wk_graph **out) {
  wk_token at = p->lex.tok;
  const char *name;
  uint32_t id;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_SYMBOL, &name));
  if (!wk_map_get(p->graph_ids, name, &id)) return ERROR_AT(p, &at, "there is no graph @%s", name);
  entry *e = &p->graphs.data[id];
  *out = e->g;
  if (e->state == BUILT) return NULL;
  if (e->state == BEING_BUILT) return ERROR_AT(p, &at, "graph @%s contains itself", name);
  if (p->depth >= WK_TEXT_MAX_DEPTH)
    return ERROR_AT(p, &at, "bodies are nested more than %d deep", WK_TEXT_MAX_DEPTH);
  wk_lexer back = p->lex;
  wk_graph *g = p->g;
  p->depth++;
  WK_TRY(build_graph(p, e));
  p->depth--;
  p->lex = back;
  p->g = g;
  return NULL;
}

static wk_status parse_bodies(parser *p, statement *st) {
  if (st->d.op == WK_OP_IF) {
    WK_TRY(wk_lex_expect_word(&p->lex, "then"));
    WK_TRY(parse_body(p, &st->bodies[0]));
    WK_TRY(wk_lex_expect_word(&p->lex, "else"));
    WK_TRY(parse_body(p, &st->bodies[1]));
    st->d.n_bodies = 2;
  } else if (st->d.op == WK_OP_LOOP) {
    WK_TRY(wk_lex_expect_word(&p->lex, "do"));
    WK_TRY(parse_body(p, &st->bodies[0]));
    st->d.n_bodies = 1;
  }
  st->d.bodies = st->bodies;
  return NULL;
}

/* when %p, again, types, name: what follows the bodies. */
static wk_status parse_tail(parser *p, statement *st, wk_value_id *predicate, bool *again) {
  bool found, more;
  *predicate = WK_NONE;
  WK_TRY(wk_lex_accept_word(&p->lex, "when", &found));
  if (found) {
    wk_token at = p->lex.tok;
    WK_TRY(find_value(p, predicate));
    if (wk_val(p->g, *predicate)->type.dtype != WK_BOOL)
      return ERROR_AT(p, &at, "the predicate is not bool");
  }
  WK_TRY(wk_lex_accept_word(&p->lex, "again", again));
  WK_TRY(wk_lex_accept(&p->lex, ':', &more));
  while (more) {
    typed t;
    WK_TRY(parse_typed(p, &t));
    wk_vec_push(&st->types, t);
    WK_TRY(wk_lex_accept(&p->lex, ',', &more));
  }
  st->d.name = "";
  if (p->lex.tok.kind == WK_TOK_STRING) return wk_lex_text(&p->lex, WK_TOK_STRING, &st->d.name);
  return NULL;
}

static wk_status type_differs(parser *p, const typed *t, const wk_value *v) {
  wk_str have = {0};
  wk_type_print(&have, &v->type);
  wk_status s = ERROR_AT(p, &t->at, "%%%s is %s", v->name, have.s);
  wk_str_free(&have);
  return s;
}

/* What the text says of the results against what inference made of them. */
static wk_status check_results(parser *p, const statement *st, const wk_node *n) {
  size_t next = 0;
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_value *v = wk_val(p->g, n->out[k]);
    v->is_public = st->outs.data[k].is_public;
    if (next == st->types.n) break;
    const typed *t = &st->types.data[next++];
    wk_type want = v->type;
    if (!want.quant) want.quant = t->type.quant;
    if (!wk_type_equal(&t->type, &want)) return type_differs(p, t, v);
    v->type = t->type;
    set_order(p->g, n->out[k], t);
  }
  size_t wanted = 0;
  for (uint32_t k = 0; k < n->n_out; k++) wanted += n->out[k] != WK_NONE;
  if (st->types.n && st->types.n != wanted)
    return ERROR_AT(p, &st->op, "%zu types for %zu results", st->types.n, wanted);
  return NULL;
}

static wk_status check_out_names(parser *p, statement *st) {
  st->out_names = wk_xcalloc(st->outs.n, sizeof *st->out_names);
  wk_map *seen = wk_map_new();
  wk_status s = NULL;
  for (uint32_t k = 0; k < st->outs.n && !s; k++) {
    const definition *d = &st->outs.data[k];
    uint32_t other;
    st->out_names[k] = d->name;
    if (!*d->name) continue;
    if (wk_map_get(seen, d->name, &other))
      s = ERROR_AT(p, &d->at, "%%%s is defined twice", d->name);
    wk_map_put(seen, d->name, k);
  }
  wk_map_free(seen);
  return s;
}

static wk_status parse_node(parser *p, statement *st) {
  wk_value_id predicate;
  bool again;
  if (!wk_op_from_name(st->op.text, st->op.n, &st->d.op))
    return ERROR_AT(p, &st->op, "unknown operator %s", wk_lex_shown(&st->op).s);
  WK_TRY(check_out_names(p, st));
  WK_TRY(parse_inputs(p, st));
  WK_TRY(wk_attrs_parse(&p->lex, p->m->arena, st->d.op, st->dtypes, (uint32_t)st->in.n,
                        &st->d.attrs));
  WK_TRY(parse_bodies(p, st));
  WK_TRY(parse_tail(p, st, &predicate, &again));
  st->d.in = st->in.data;
  st->d.n_in = (uint32_t)st->in.n;
  st->d.n_out = (uint32_t)st->outs.n;
  st->d.out_names = st->outs.n ? st->out_names : NULL;
  WK_TRY(moved(p, &st->op, wk_graph_add(p->g, &st->d, NULL)));
  wk_node *n = &p->g->nodes.data[p->g->nodes.n - 1];
  n->predicate = predicate;
  n->again = again;
  if (n->n_out != st->outs.n)
    return ERROR_AT(p, &st->op, "%s has %u results, %zu are named", st->op.text, n->n_out,
                    st->outs.n);
  return check_results(p, st, n);
}

static wk_status parse_statement(parser *p, statement *st) {
  bool more = p->lex.tok.kind != WK_TOK_WORD || wk_lex_is_word(&p->lex, "public");
  bool defines = more;
  while (more) {
    definition d;
    WK_TRY(parse_definition(p, true, &d));
    wk_vec_push(&st->outs, d);
    WK_TRY(wk_lex_accept(&p->lex, ',', &more));
  }
  if (defines) WK_TRY(wk_lex_expect(&p->lex, '='));
  const char *op;
  st->op = p->lex.tok;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_WORD, &op));
  return strcmp(op, "constant") == 0 ? parse_constant(p, st) : parse_node(p, st);
}

/* "elements {"a", "b"}", of outputs of the main graph. */
static wk_status parse_labels(parser *p, wk_labels_kind kind, const char *output) {
  wk_labels l = {.output = output, .kind = kind};
  WK_VEC(const char *) texts = {0};
  bool more = true;
  wk_status s = p->g == p->m->main ? NULL : wk_lex_error(&p->lex, "only outputs of the first graph "
                                                         "have labels");
  if (!s) s = wk_lex_accept_word(&p->lex, "numbers", &l.are_numbers);
  if (!s) s = wk_lex_expect(&p->lex, '{');
  while (!s && more) {
    const char *text;
    s = wk_lex_text(&p->lex, WK_TOK_STRING, &text);
    if (!s) wk_vec_push(&texts, text);
    if (!s) s = wk_lex_accept(&p->lex, ',', &more);
  }
  if (!s) s = wk_lex_expect(&p->lex, '}');
  l.texts = (wk_texts){.n = (int64_t)texts.n, .v = texts.data};
  if (!s) wk_module_label(p->m, &l);
  wk_vec_free(&texts);
  return s;
}

static wk_status parse_output(parser *p) {
  wk_value_id v;
  const char *name = NULL;
  bool found;
  WK_TRY(find_value(p, &v));
  WK_TRY(wk_lex_accept_word(&p->lex, "as", &found));
  if (found) WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &name));
  wk_graph_output(p->g, name, v);
  name = p->g->output_names.data[wk_graph_plain_outputs(p->g) - 1];
  for (int k = WK_LABELS_ELEMENTS; k <= WK_LABELS_COLUMNS; k++) {
    WK_TRY(wk_lex_accept_word(&p->lex, wk_labels_kind_name((wk_labels_kind)k), &found));
    if (found) return parse_labels(p, (wk_labels_kind)k, name);
  }
  return NULL;
}

/* [public] %v: f32[2] [trainable] = contents */
static wk_status parse_variable(parser *p) {
  definition d;
  typed t;
  void *data;
  bool is_trainable;
  WK_TRY(parse_definition(p, false, &d));
  WK_TRY(wk_lex_expect(&p->lex, ':'));
  WK_TRY(parse_typed(p, &t));
  WK_TRY(wk_lex_accept_word(&p->lex, "trainable", &is_trainable));
  WK_TRY(wk_lex_expect(&p->lex, '='));
  WK_TRY(wk_data_check(&p->lex, &t.type, &p->splat_budget));
  WK_TRY(moved(p, &t.at, wk_graph_data_alloc(p->g, &t.type, &data)));
  wk_value_id v = wk_graph_variable(p->g, d.name, &t.type, data, is_trainable);
  wk_val(p->g, v)->is_public = d.is_public;
  set_order(p->g, v, &t);
  return wk_data_parse(&p->lex, &t.type, data);
}

static wk_status parse_update(parser *p) {
  wk_token at = p->lex.tok;
  wk_value_id variable, v;
  WK_TRY(find_value(p, &variable));
  WK_TRY(wk_lex_expect(&p->lex, '='));
  WK_TRY(find_value(p, &v));
  if (!wk_is_variable(p->g, variable))
    return ERROR_AT(p, &at, "%%%s is no variable", wk_val(p->g, variable)->name);
  wk_graph_update(p->g, variable, v);
  return NULL;
}

static wk_status parse_end(parser *p, bool *is_output, const char **name) {
  WK_TRY(wk_lex_accept_word(&p->lex, "output", is_output));
  if (!*is_output) WK_TRY(wk_lex_expect_word(&p->lex, "input"));
  return wk_lex_text(&p->lex, WK_TOK_STRING, name);
}

/* The tensor, the axis, what its size is called, the scalar that has it, the smallest one. */
static wk_status parse_open_axis(parser *p) {
  wk_open_axis a = {0};
  int64_t axis;
  WK_TRY(parse_end(p, &a.is_output, &a.tensor));
  WK_TRY(wk_lex_int(&p->lex, &axis));
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &a.symbol));
  WK_TRY(parse_end(p, &a.size_is_output, &a.size));
  WK_TRY(wk_lex_int(&p->lex, &a.least));
  a.axis = axis < 0 || axis > WK_MAX_RANK ? WK_MAX_RANK : (int)axis;
  wk_module_open(p->m, &a);
  return NULL;
}

/* ---- graphs -------------------------------------------------------------------------------- */

/* What is no node; *found: it was read. */
static wk_status parse_declaration(parser *p, bool *found) {
  static const struct {
    const char *word;
    wk_status (*parse)(parser *p);
  } declarations[] = {{"output", parse_output}, {"update", parse_update},
                      {"variable", parse_variable}, {"open", parse_open_axis}};
  for (size_t k = 0; k < sizeof declarations / sizeof *declarations; k++) {
    WK_TRY(wk_lex_accept_word(&p->lex, declarations[k].word, found));
    if (*found) return declarations[k].parse(p);
  }
  return NULL;
}

static wk_status build_graph(parser *p, entry *e) {
  p->lex = e->start;
  p->g = e->g;
  e->state = BEING_BUILT;
  WK_TRY(parse_signature(p));
  WK_TRY(wk_lex_expect(&p->lex, '{'));
  while (!wk_lex_is(&p->lex, '}')) {
    bool is_declared;
    WK_TRY(parse_declaration(p, &is_declared));
    if (is_declared) continue;
    statement st = {0};
    wk_status s = parse_statement(p, &st);
    free_statement(&st);
    if (s) return s;
  }
  e->state = BUILT;
  return NULL;
}

static wk_status parse_module(parser *p) {
  WK_TRY(find_graphs(p));
  for (size_t i = 0; i < p->graphs.n; i++)
    if (p->graphs.data[i].state == NOT_YET) WK_TRY(build_graph(p, &p->graphs.data[i]));
  wk_status s = wk_module_verify(p->m);
  return wk_status_place(wk_status_as(s, WK_INPUT), p->lex.file);
}

wk_status wk_module_parse(const char *text, const char *file_name, wk_module **out) {
  wk_arena *scratch = wk_arena_new();
  parser p = {.m = wk_module_new(""), .graph_ids = wk_map_new(),
              .splat_budget = WK_TEXT_MAX_REPEATED};
  wk_status s = wk_lex_start(&p.lex, scratch, text, file_name);
  if (!s) s = parse_module(&p);
  if (s) wk_module_free(p.m);
  *out = s ? NULL : p.m;
  wk_vec_free(&p.graphs);
  wk_map_free(p.graph_ids);
  wk_arena_free(scratch);
  return s;
}
