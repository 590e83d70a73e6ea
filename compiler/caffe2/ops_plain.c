/* SPDX-License-Identifier: Apache-2.0
 * The table, and the operators that it describes whole. */
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/translate.h"

/* ---- table --------------------------------------------------------------------------------- */

static const wk_c2_row rows[] = {
#define CAFFE2_OP(type, min_in, max_in, max_out, types, handler, onnx, args) \
  {#type, min_in, max_in, max_out, types, wk_c2_##handler, onnx, args},
#include "compiler/caffe2/caffe2_ops.def"
#undef CAFFE2_OP
};

static int by_type(const void *key, const void *row) {
  return strcmp(key, ((const wk_c2_row *)row)->type);
}

const wk_c2_row *wk_c2_row_find(const char *type) {
  return bsearch(type, rows, WK_COUNTOF(rows), sizeof *rows, by_type);
}

size_t wk_caffe2_op_count(void) { return WK_COUNTOF(rows); }

wk_caffe2_op wk_caffe2_op_get(size_t i) {
  return (wk_caffe2_op){.type = rows[i].type, .as = rows[i].onnx};
}

/* ---- arguments that become attributes -------------------------------------------------------- */

/* NAME[>ATTRIBUTE]:TYPE[=DEFAULT|!], or the same without a rest. */
typedef struct { char name[40], attribute[40], type; bool has_default, must; double def; } map;

/* The one at *p; false at the end. */
static bool next_map(const char **p, map *m) {
  *m = (map){0};
  *p += strspn(*p, " ");
  if (!**p) return false;
  size_t n = strcspn(*p, ">:");
  memcpy(m->name, *p, n);
  memcpy(m->attribute, m->name, sizeof m->name);
  *p += n;
  if (**p == '>') {
    n = strcspn(++*p, ":");
    memset(m->attribute, 0, sizeof m->attribute);
    memcpy(m->attribute, *p, n);
    *p += n;
  }
  m->type = (*p)[1];
  *p += 2;
  m->must = **p == '!';
  m->has_default = **p == '=';
  if (m->has_default) m->def = strtod(*p + 1, NULL);
  *p += strcspn(*p, " ");
  return true;
}

static void write_argument(wk_c2_op *o, const map *m) {
  bool given = wk_c2_has(o, m->name);
  wk_c2_valid(o, given || !m->must, "argument '%s' is missing", m->name);
  if (!given && !m->has_default) return;
  wk_ints v = {0};
  switch (m->type) {
    case 'i': wk_c2_attr_int(o, m->attribute, wk_c2_int(o, m->name, (int64_t)m->def)); return;
    case 'f': wk_c2_attr_float(o, m->attribute, wk_c2_float(o, m->name, (float)m->def)); return;
    case 's': wk_c2_attr_text(o, m->attribute, wk_c2_text(o, m->name, "")); return;
    default:
      v = wk_c2_ints(o, m->name);
      wk_c2_attr_ints(o, m->attribute, v.v, v.n);
  }
}

static void write_arguments(wk_c2_op *o) {
  map m;
  for (const char *p = o->row->args; next_map(&p, &m);) write_argument(o, &m);
}

/* ---- nodes --------------------------------------------------------------------------------- */

static void write_node(wk_c2_op *o, const char *op) {
  int n_out = o->n_out < o->row->max_out || o->row->max_out < 0 ? o->n_out : o->row->max_out;
  const char **in = wk_arena_alloc(o->c->arena, (size_t)(o->n_in + n_out + 1) * sizeof *in);
  const char **out = in + o->n_in;
  for (int i = 0; i < o->n_in; i++) in[i] = wk_c2_in(o, i);
  for (int i = 0; i < n_out; i++) out[i] = wk_c2_out(o, i);
  wk_c2_node(o, op, in, o->n_in, out, n_out);
}

void wk_c2_plain(wk_c2_op *o) {
  write_node(o, o->row->onnx);
  write_arguments(o);
}
