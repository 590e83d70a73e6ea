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
  const wk_c2_row *r = &rows[i];
  return (wk_caffe2_op){.type = r->type, .as = r->onnx,
                        .reason = r->handler == wk_c2_refused ? r->args : NULL,
                        .is_function = strchr(r->onnx, '(') != NULL,
                        .is_int8 = r->handler == wk_c2_int8};
}

/* ---- arguments that become attributes -------------------------------------------------------- */

bool wk_c2_next_map(const char **p, wk_c2_map *m) {
  *m = (wk_c2_map){0};
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
  n = strcspn(*p, " ");
  m->must = **p == '!';
  m->has_default = **p == '=';
  if (m->has_default) memcpy(m->text, *p + 1, n - 1);
  *p += n;
  return true;
}

static void write_list(wk_c2_op *o, const wk_c2_map *m) {
  wk_ints v = wk_c2_ints(o, m->name);
  int64_t one = strtoll(m->text, NULL, 10);
  if (v.n < 0) v = (wk_ints){1, &one};
  wk_c2_attr_ints(o, m->attribute, v.v, v.n);
}

static void write_floats(wk_c2_op *o, const wk_c2_map *m) {
  wk_c2_float_list v = wk_c2_floats(o, m->name);
  wk_c2_attr_floats(o, m->attribute, v.v, v.n > 0 ? v.n : 0);
}

static void write_argument(wk_c2_op *o, const wk_c2_map *m) {
  bool given = wk_c2_has(o, m->name);
  double number = strtod(m->text, NULL);
  wk_c2_valid(o, given || !m->must, "argument '%s' is missing", m->name);
  if (!given && !m->has_default) return;
  switch (m->type) {
    case 'i': wk_c2_attr_int(o, m->attribute, wk_c2_int(o, m->name, (int64_t)number)); return;
    case 'f': wk_c2_attr_float(o, m->attribute, wk_c2_float(o, m->name, (float)number)); return;
    case 's': wk_c2_attr_text(o, m->attribute, wk_c2_text(o, m->name, m->text)); return;
    case 'I': write_list(o, m); return;
    default: write_floats(o, m);
  }
}

static void write_arguments(wk_c2_op *o) {
  wk_c2_map m;
  for (const char *p = o->row->args; wk_c2_next_map(&p, &m);) write_argument(o, &m);
}

/* ---- nodes --------------------------------------------------------------------------------- */

Onnx__NodeProto *wk_c2_row_node(wk_c2_op *o, const char *op) {
  int n_out = o->n_out < o->row->max_out || o->row->max_out < 0 ? o->n_out : o->row->max_out;
  const char **in = wk_arena_alloc(o->c->arena, (size_t)(o->n_in + n_out) * sizeof *in);
  const char **out = in + o->n_in;
  for (int i = 0; i < o->n_in; i++) in[i] = wk_c2_in(o, i);
  for (int i = 0; i < n_out; i++) out[i] = wk_c2_out(o, i);
  Onnx__NodeProto *n = wk_c2_node(o, op, in, o->n_in, out, n_out);
  write_arguments(o);
  return n;
}

void wk_c2_plain(wk_c2_op *o) { wk_c2_row_node(o, o->row->onnx); }

/* Frees and prints: no value comes of them. */
void wk_c2_nothing(wk_c2_op *o) { o->args_read = UINT64_MAX; }

/* args: the reason. */
void wk_c2_refused(wk_c2_op *o) { wk_c2_need(o, false, "%s", o->row->args); }
