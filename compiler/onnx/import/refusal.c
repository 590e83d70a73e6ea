/* SPDX-License-Identifier: Apache-2.0
 * A report of what is not supported as an error: one line for each operator and reason, or one for
 * each node where that is asked for. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/model.h"

/* ---- groups -------------------------------------------------------------------------------- */

/* Nodes of one operator that are refused for one reason. */
typedef struct {
  const wk_unsupported *first;
  size_t count;
  wk_str names; /* of the first few */
} group;

typedef struct {
  WK_VEC(group) list;
  size_t operators;
  bool all_nodes;    /* no inputs, outputs, initialisers */
  bool all_newer;    /* every one is a node of an opset beyond the newest known */
  bool is_one_opset; /* and that opset is the same */
  bool has_more;     /* names that no group shows */
} groups;

static void add_name(groups *g, group *to, const char *name) {
  enum { SHOWN = 3 };
  if (to->count <= SHOWN) wk_str_printf(&to->names, "%s%s", to->count > 1 ? ", " : "", name);
  else if (to->count == SHOWN + 1) wk_str_add(&to->names, ", …");
  g->has_more = g->has_more || to->count > SHOWN;
}

static groups group_all(const wk_import_report *rep, wk_arena *scratch) {
  groups g = {.all_nodes = true, .all_newer = true, .is_one_opset = true};
  wk_map *known = wk_map_new(), *operators = wk_map_new();
  for (size_t i = 0; i < rep->unsupported.n; i++) {
    const wk_unsupported *u = &rep->unsupported.data[i], *first = rep->unsupported.data;
    const char *key = wk_arena_printf(scratch, "%s\n%s\n%lld\n%s", u->domain, u->op,
                                      (long long)u->opset, u->reason);
    const char *operator = wk_arena_printf(scratch, "%s\n%s", u->domain, u->op);
    uint32_t at = (uint32_t)g.list.n, ignored;
    if (!wk_map_get(operators, operator, &ignored)) {
      wk_map_put(operators, operator, 1);
      g.operators++;
    }
    if (!wk_map_get(known, key, &at)) {
      group fresh = {.first = u};
      wk_map_put(known, key, at);
      wk_vec_push(&g.list, fresh);
    }
    g.list.data[at].count++;
    add_name(&g, &g.list.data[at], u->node);
    g.all_nodes = g.all_nodes && u->is_node;
    g.all_newer = g.all_newer && u->is_newer;
    g.is_one_opset = g.is_one_opset && u->opset == first->opset &&
                     strcmp(u->domain, first->domain) == 0;
  }
  wk_map_free(known);
  wk_map_free(operators);
  return g;
}

static void groups_free(groups *g) {
  for (size_t i = 0; i < g->list.n; i++) wk_str_free(&g->list.data[i].names);
  wk_vec_free(&g->list);
}

/* ---- lines --------------------------------------------------------------------------------- */

static void add_operator(wk_str *b, const wk_unsupported *u) {
  wk_str_printf(b, "%s%s%s", u->domain, *u->domain ? "." : "", u->op);
  if (u->is_node) wk_str_printf(b, "-%lld", (long long)u->opset);
}

/* Operator, opset, shapes and reason; inputs, outputs and initialisers have no opset. */
static void add_node(wk_str *b, const wk_unsupported *u) {
  add_operator(b, u);
  if (u->is_node) wk_str_printf(b, " (%s)", u->shapes);
  wk_str_printf(b, ": %s", u->reason);
}

static wk_status add_nodes(wk_status s, const wk_import_report *rep) {
  for (size_t i = 0; i < rep->unsupported.n; i++) {
    wk_str b = {0};
    add_node(&b, &rep->unsupported.data[i]);
    s = wk_status_item(s, "%s: %s", rep->unsupported.data[i].node, b.s);
    wk_str_free(&b);
  }
  return s;
}

static wk_status add_groups(wk_status s, const groups *g) {
  for (size_t i = 0; i < g->list.n; i++) {
    const group *x = &g->list.data[i];
    wk_str b = {0};
    if (x->count == 1) {
      wk_str_printf(&b, "%s: ", x->first->node);
      add_node(&b, x->first);
    } else {
      add_operator(&b, x->first);
      wk_str_printf(&b, ": %s (%zu %s: %s)", x->first->reason, x->count,
                    x->first->is_node ? "nodes" : "times", x->names.s);
    }
    s = wk_status_item(s, "%s", b.s);
    wk_str_free(&b);
  }
  return g->has_more ? wk_status_item(s, "-v lists every node") : s;
}

static wk_status headline(const groups *g, size_t n) {
  const wk_unsupported *u = g->list.data[0].first;
  char operators[40] = "";
  if (g->operators > 1) snprintf(operators, sizeof operators, " of %zu operators", g->operators);
  if (g->all_newer && g->is_one_opset)
    return wk_error(WK_UNSUPPORTED,
                    "opset %lld%s%s is newer than %lld, the newest that is known: %zu nodes%s are "
                    "not supported", (long long)u->opset, *u->domain ? " of " : "", u->domain,
                    (long long)wk_onnx_newest_opset(u->domain), n, operators);
  if (!g->all_nodes) return wk_error(WK_UNSUPPORTED, "%zu parts of the model are not supported", n);
  return wk_error(WK_UNSUPPORTED, "%zu nodes%s are not supported", n, operators);
}

const char *wk_import_cut_text(const wk_import_report *rep, bool list_all) {
  enum { SHOWN = 12 };
  wk_str b = {0};
  bool is_shown = rep->cut.n <= SHOWN || list_all;
  if (!rep->cut.n) return NULL;
  wk_str_add(&b, "--cut ");
  for (size_t i = 0; is_shown && i < rep->cut.n; i++)
    wk_str_printf(&b, "%s%s", i ? "," : "", rep->cut.data[i]);
  if (!is_shown) wk_str_printf(&b, "at %zu tensors, which -v lists,", rep->cut.n);
  wk_str_printf(&b, " ends the model before %s", rep->unsupported.n == 1 ? "it" : "them");
  const char *text = wk_arena_strdup(rep->arena, b.s);
  wk_str_free(&b);
  return text;
}

static wk_status refuse_unsupported(const wk_import_report *rep, bool list_all) {
  const char *cut = wk_import_cut_text(rep, list_all);
  size_t n = rep->unsupported.n;
  if (n == 1) {
    const wk_unsupported *u = rep->unsupported.data;
    wk_str b = {0};
    add_node(&b, u);
    if (cut) wk_str_printf(&b, "; %s", cut);
    wk_status one = wk_error_at(WK_UNSUPPORTED, u->node, "%s", b.s);
    wk_str_free(&b);
    return one;
  }
  wk_arena *scratch = wk_arena_new();
  groups g = group_all(rep, scratch);
  wk_status s = headline(&g, n);
  s = list_all ? add_nodes(s, rep) : add_groups(s, &g);
  if (cut) s = wk_status_item(s, "%s", cut);
  groups_free(&g);
  wk_arena_free(scratch);
  return s;
}

/* ---- sizes --------------------------------------------------------------------------------- */

wk_status wk_import_unbound(const wk_import_report *rep) {
  static const char bind[] = "--bind ";
  wk_str b = {0};
  bool bound = false;
  if (!rep->need_bind.n) return NULL;
  for (size_t i = 0; i < rep->need_bind.n; i++) { /* another --bind would be another binding */
    const char *text = rep->need_bind.data[i];
    if (strncmp(text, bind, sizeof bind - 1) != 0) continue;
    wk_str_printf(&b, "%s%s", bound ? "," : " --bind ", text + sizeof bind - 1);
    bound = true;
  }
  for (size_t i = 0; i < rep->need_bind.n; i++)
    if (strncmp(rep->need_bind.data[i], bind, sizeof bind - 1) != 0)
      wk_str_printf(&b, " %s", rep->need_bind.data[i]);
  bool are_lengths = strstr(b.s, "--bind ") == NULL && strstr(b.s, "--shape ") == NULL;
  wk_status s = wk_error(WK_USAGE, "sizes are not known%s: give%s",
                         are_lengths ? "" : " (ranges such as 1..512 will do)", b.s);
  wk_str_free(&b);
  return s;
}

wk_status wk_model_refusal(const wk_import_report *rep, bool list_all) {
  wk_status unbound = wk_import_unbound(rep);
  if (rep->unsupported.n == 0) return unbound;
  wk_status s = refuse_unsupported(rep, list_all);
  if (unbound) s = wk_status_note(s, "%s", unbound->message);
  wk_status_free(unbound);
  return s;
}
