/* SPDX-License-Identifier: Apache-2.0
 * Tables of options whose rows are not all known when they are written, and options by name. */
#include <stdlib.h>
#include <string.h>

#include "compiler/support/options.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_end(const wk_option *o) {
  return !o->name && o->kind != WK_OPTION_GROUP && o->kind != WK_OPTION_ROWS;
}

bool wk_option_has(const wk_option *table, const char *name) {
  for (const wk_option *o = table; o && !is_end(o); o++)
    if (o->name && !strcmp(o->name, name)) return true;
  return false;
}

typedef WK_VEC(wk_option) row_list;

static void add_rows(row_list *list, const wk_option *table, const wk_option *o) {
  for (size_t i = 0;; i++) {
    wk_option x = {.kind = WK_OPTION_PAIR, .offset = o->offset};
    if (!o->rows(i, &x)) return;
    if (!wk_option_has(table, x.name)) wk_vec_push(list, x);
  }
}

wk_option *wk_option_rows(const wk_option *table, bool all) {
  row_list list = {0};
  for (const wk_option *o = table; o && !is_end(o); o++) {
    if (o->kind != WK_OPTION_ROWS) wk_vec_push(&list, *o);
    else if (all || !o->is_unlisted) add_rows(&list, table, o);
  }
  wk_vec_push(&list, (wk_option){0});
  return list.data;
}

void wk_options_free(const wk_command *c, void *values) {
  for (const wk_option *o = c->options; o && !is_end(o); o++) {
    void *at = (char *)values + o->offset;
    if (o->kind == WK_OPTION_LIST) wk_vec_free((wk_strings *)at);
    if (o->kind == WK_OPTION_PAIR || o->kind == WK_OPTION_ROWS)
      wk_vec_free((wk_option_pairs *)at);
  }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static wk_option_pair *pair_of(const wk_option_pairs *p, const char *name) {
  for (size_t i = 0; i < p->n; i++)
    if (!strcmp(p->data[i].name, name)) return &p->data[i];
  return NULL;
}

const char *wk_option_pairs_get(const wk_option_pairs *p, const char *name) {
  const wk_option_pair *x = pair_of(p, name);
  return x ? x->value : NULL;
}

void wk_option_pairs_set(wk_option_pairs *p, const char *name, const char *value) {
  wk_option_pair *x = pair_of(p, name);
  if (x) x->value = value;
  else wk_vec_push(p, ((wk_option_pair){name, value}));
}
