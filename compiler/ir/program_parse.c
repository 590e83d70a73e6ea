/* SPDX-License-Identifier: Apache-2.0 */
/* Text to programs (the form is shown in program_print.c). Bodies are parsed with an explicit stack
 * of limited depth; the verifier then judges the whole. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"

typedef struct {
  wk_inst *inst;   /* whose body is being parsed */
  uint32_t body;
} frame;

typedef struct {
  wk_lexer lex;
  wk_program *p;
  int64_t splat_budget;
  frame stack[WK_TEXT_MAX_DEPTH];
  int depth;
} parser;

#define ERROR_AT(p, tok, ...) wk_lex_error_at(&(p)->lex, (tok), __FILE__, __LINE__, __VA_ARGS__)

/* ---- header -------------------------------------------------------------------------------- */

static wk_status parse_region(parser *p, wk_region *out) {
  for (int r = 0; r < WK_REGION_COUNT; r++) {
    if (!wk_lex_is_word(&p->lex, wk_region_name((wk_region)r))) continue;
    *out = (wk_region)r;
    return wk_lex_next(&p->lex);
  }
  return wk_lex_error(&p->lex, "region expected, not %s", wk_lex_shown(&p->lex.tok).s);
}

static wk_status parse_change(parser *p, int64_t *before, int64_t *after) {
  WK_TRY(wk_lex_int(&p->lex, before));
  WK_TRY(wk_lex_expect(&p->lex, '-'));
  WK_TRY(wk_lex_expect(&p->lex, '>'));
  return wk_lex_int(&p->lex, after);
}

static wk_status parse_copies(parser *p) {
  WK_TRY(parse_change(p, &p->p->copies_before, &p->p->copies_after));
  WK_TRY(wk_lex_expect(&p->lex, ','));
  WK_TRY(wk_lex_expect_word(&p->lex, "bytes"));
  return parse_change(p, &p->p->copy_bytes_before, &p->p->copy_bytes_after);
}

/* ---- buffers ------------------------------------------------------------------------------- */

/* Takes place b->io of the list; the list grows up to it. */
static wk_status bind(parser *p, wk_program_ios *list, const wk_buffer *b, const wk_type *t,
                      const wk_token *at) {
  enum { MAX_BINDINGS = 1 << 16 };
  const wk_program_io none = {.buffer = WK_NONE};
  const char *name = b->name;
  if (b->io >= MAX_BINDINGS) return ERROR_AT(p, at, "the position %u is too large", b->io);
  if (p->lex.tok.kind == WK_TOK_STRING) WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &name));
  while (list->n <= b->io) wk_vec_push(list, none);
  wk_program_io *x = &list->data[b->io];
  if (x->buffer != WK_NONE)
    return ERROR_AT(p, at, "%s %u is bound twice", wk_region_name(b->region), b->io);
  x->name = wk_arena_strdup(p->p->arena, name);
  x->type = *t;
  x->buffer = (uint32_t)p->p->buffers.n;
  return NULL;
}

static wk_status parse_contents(parser *p, wk_buffer *b) {
  wk_type t = wk_type_make(WK_U8, 1, &b->size);
  bool found;
  WK_TRY(wk_lex_accept(&p->lex, '=', &found));
  if (!found) return NULL;
  WK_TRY(wk_data_check(&p->lex, &t, &p->splat_budget));
  void *data = wk_arena_alloc_aligned(p->p->arena, (size_t)b->size, 64);
  b->data = data;
  return wk_data_parse(&p->lex, &t, data);
}

static wk_status parse_size(parser *p, wk_buffer *b) {
  wk_token at = p->lex.tok;
  WK_TRY(wk_lex_int(&p->lex, &b->size));
  if (b->size < 0 || b->size >= INT64_C(1) << 46)
    return ERROR_AT(p, &at, "the size is out of range");
  return NULL;
}

static wk_status parse_buffer(parser *p) {
  wk_buffer b = {.align = 64, .offset = -1};
  bool found;
  uint32_t other;
  int64_t io = 0;
  WK_TRY(parse_region(p, &b.region));
  wk_token at = p->lex.tok;
  wk_program_ios *bound = wk_program_bound(p->p, b.region);
  bool is_state = b.region == WK_REGION_STATE, is_public = false;
  if (bound) {
    WK_TRY(wk_lex_int(&p->lex, &io));
    if (io < 0 || io > UINT32_MAX) return ERROR_AT(p, &at, "the position is out of range");
    b.io = (uint32_t)io;
    b.offset = is_state ? -1 : 0;
  }
  if (is_state) WK_TRY(wk_lex_accept_word(&p->lex, "public", &is_public));
  wk_token name = p->lex.tok;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_VALUE, &b.name));
  if (wk_map_get(p->p->names, b.name, &other))
    return ERROR_AT(p, &name, "a second buffer %%%s", b.name);
  WK_TRY(wk_lex_expect(&p->lex, ':'));
  if (bound) {
    wk_type t;
    WK_TRY(wk_type_parse(&p->lex, p->p->arena, &t));
    WK_TRY(bind(p, bound, &b, &t, &at));
    bound->data[b.io].is_public = is_public;
    b.size = wk_type_bytes(&t);
  } else {
    WK_TRY(parse_size(p, &b));
  }
  WK_TRY(wk_lex_accept_word(&p->lex, "align", &found));
  if (found) WK_TRY(wk_lex_int(&p->lex, &b.align));
  WK_TRY(wk_lex_accept_word(&p->lex, "offset", &found));
  if (found) WK_TRY(wk_lex_int(&p->lex, &b.offset));
  if (b.region == WK_REGION_CONST || is_state) WK_TRY(parse_contents(p, &b));
  b.name = wk_arena_strdup(p->p->arena, b.name);
  wk_map_put(p->p->names, b.name, (uint32_t)p->p->buffers.n);
  wk_vec_push(&p->p->buffers, b);
  return NULL;
}

/* ---- operands ------------------------------------------------------------------------------ */

static wk_status parse_role(parser *p, wk_role *out) {
  static const char *const roles[] = {"in", "out", "inout"};
  for (size_t r = 0; r < WK_COUNTOF(roles) && p->lex.tok.kind == WK_TOK_SYMBOL; r++) {
    if (strcmp(p->lex.tok.text, roles[r]) != 0) continue;
    *out = (wk_role)r;
    return wk_lex_next(&p->lex);
  }
  return wk_lex_error(&p->lex, "@in, @out, @inout or - expected, not %s",
                      wk_lex_shown(&p->lex.tok).s);
}

/* %name[dims]:dtype */
static wk_status parse_tensor(parser *p, wk_view *v) {
  wk_token at = p->lex.tok;
  const char *name;
  wk_ints dims;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_VALUE, &name));
  if (!wk_map_get(p->p->names, name, &v->buffer))
    return ERROR_AT(p, &at, "there is no buffer %%%s", name);
  at = p->lex.tok;
  WK_TRY(wk_ints_parse(&p->lex, p->lex.arena, '[', ']', &dims));
  if (dims.n > WK_MAX_RANK)
    return ERROR_AT(p, &at, "rank %lld is above %d", (long long)dims.n, WK_MAX_RANK);
  WK_TRY(wk_lex_expect(&p->lex, ':'));
  if (p->lex.tok.kind != WK_TOK_WORD ||
      !wk_dtype_from_name(p->lex.tok.text, p->lex.tok.n, &v->dtype))
    return wk_lex_error(&p->lex, "element type expected, not %s", wk_lex_shown(&p->lex.tok).s);
  WK_TRY(wk_lex_next(&p->lex));
  wk_type t = wk_type_make(v->dtype, (int)dims.n, dims.v);
  wk_status s = wk_type_check(&t);
  if (s) {
    wk_status y = ERROR_AT(p, &at, "%s", s->message);
    wk_status_free(s);
    return y;
  }
  v->rank = t.rank;
  memcpy(v->dims, t.dims, sizeof v->dims);
  wk_type_strides(&t, v->strides);
  return NULL;
}

static wk_status parse_strides(parser *p, wk_view *v) {
  wk_token at = p->lex.tok;
  wk_ints strides;
  WK_TRY(wk_ints_parse(&p->lex, p->lex.arena, '(', ')', &strides));
  if (strides.n != v->rank)
    return ERROR_AT(p, &at, "%lld strides for rank %d", (long long)strides.n, v->rank);
  for (int i = 0; i < v->rank; i++) v->strides[i] = strides.v[i];
  return NULL;
}

static wk_status parse_view(parser *p, wk_view *v) {
  bool found;
  *v = wk_view_none();
  WK_TRY(wk_lex_accept(&p->lex, '-', &found));
  if (found) return NULL;
  WK_TRY(parse_role(p, &v->role));
  WK_TRY(parse_tensor(p, v));
  if (p->lex.tok.kind == WK_TOK_NUMBER) WK_TRY(wk_lex_int(&p->lex, &v->offset));
  WK_TRY(wk_lex_accept(&p->lex, '*', &found));
  if (found) WK_TRY(parse_strides(p, v));
  WK_TRY(wk_lex_accept_word(&p->lex, "step", &found));
  return found ? wk_lex_int(&p->lex, &v->step) : NULL;
}

typedef struct {
  WK_VEC(wk_view) views;
  uint32_t n_out;
} operands;

static wk_status parse_operands(parser *p, operands *o) {
  bool inputs = false, more;
  WK_TRY(wk_lex_expect(&p->lex, '('));
  for (more = !wk_lex_is(&p->lex, ')'); more;) {
    if (!inputs) {
      WK_TRY(wk_lex_accept(&p->lex, ';', &inputs));
      if (inputs) o->n_out = (uint32_t)o->views.n;
    }
    wk_view v;
    WK_TRY(parse_view(p, &v));
    wk_vec_push(&o->views, v);
    if (wk_lex_is(&p->lex, ';') && !inputs) continue;
    WK_TRY(wk_lex_accept(&p->lex, ',', &more));
  }
  if (!inputs) o->n_out = (uint32_t)o->views.n;
  return wk_lex_expect(&p->lex, ')');
}

/* ---- instructions -------------------------------------------------------------------------- */

static wk_status parse_attributes(parser *p, wk_inst *i) {
  uint32_t n_in = i->n_operands - i->n_out;
  wk_dtype *in = wk_xcalloc(n_in, sizeof *in);
  for (uint32_t k = 0; k < n_in; k++) in[k] = i->operands[i->n_out + k].dtype;
  wk_status s = wk_attrs_parse(&p->lex, p->p->arena, i->op, in, n_in, &i->attrs);
  free(in);
  return s;
}

static uint32_t bodies_of(wk_op op) {
  return op == WK_OP_IF ? 2 : op == WK_OP_LOOP || op == WK_OP_NEST ? 1 : 0;
}

static wk_block *present_block(parser *p) {
  if (p->depth == 0) return &p->p->body;
  frame *f = &p->stack[p->depth - 1];
  return &f->inst->bodies[f->body];
}

/* The word and brace before body `body` of i, which becomes the present one. */
static wk_status enter_body(parser *p, wk_inst *i, uint32_t body) {
  const char *word = body ? "else" : i->op == WK_OP_IF ? "then" : "do";
  WK_TRY(wk_lex_expect_word(&p->lex, word));
  if (p->depth == WK_TEXT_MAX_DEPTH)
    return wk_lex_error(&p->lex, "bodies are nested more than %d deep", WK_TEXT_MAX_DEPTH);
  WK_TRY(wk_lex_expect(&p->lex, '{'));
  p->stack[p->depth++] = (frame){i, body};
  return NULL;
}

static wk_status leave_body(parser *p) {
  frame f = p->stack[--p->depth];
  WK_TRY(wk_lex_expect(&p->lex, '}'));
  return f.body + 1 < f.inst->n_bodies ? enter_body(p, f.inst, f.body + 1) : NULL;
}

static wk_status parse_mention(parser *p, uint32_t *buffer) {
  wk_token at = p->lex.tok;
  const char *name;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_VALUE, &name));
  return wk_map_get(p->p->names, name, buffer)
             ? NULL
             : ERROR_AT(p, &at, "there is no buffer %%%s", name);
}

/* of %BUFFER[N], or nothing. */
static wk_status parse_rows(parser *p, wk_view *rows) {
  wk_type list = {.dtype = WK_I64, .rank = 1};
  uint32_t buffer;
  bool found;
  *rows = wk_view_none();
  WK_TRY(wk_lex_accept_word(&p->lex, "of", &found));
  if (!found) return NULL;
  WK_TRY(parse_mention(p, &buffer));
  WK_TRY(wk_lex_expect(&p->lex, '['));
  WK_TRY(wk_lex_int(&p->lex, &list.dims[0]));
  WK_TRY(wk_lex_expect(&p->lex, ']'));
  *rows = wk_view_dense(buffer, &list, WK_ROLE_IN);
  return NULL;
}

/* below AXIS %BUFFER [of %BUFFER[N]], any number of times. */
static wk_status parse_limits(parser *p, wk_inst *i) {
  static const wk_type scalar = {.dtype = WK_I64};
  for (bool found;;) {
    int64_t axis;
    uint32_t buffer;
    wk_limit l = {0};
    wk_token at = p->lex.tok;
    WK_TRY(wk_lex_accept_word(&p->lex, "below", &found));
    if (!found) return NULL;
    WK_TRY(wk_lex_int(&p->lex, &axis));
    WK_TRY(parse_mention(p, &buffer));
    WK_TRY(parse_rows(p, &l.rows));
    if (i->n_limits == WK_MAX_LIMITS || axis < 0 || axis >= WK_MAX_RANK)
      return ERROR_AT(p, &at, "a limit too many, or of no axis");
    l.axis = (int)axis;
    l.size = wk_view_dense(buffer, &scalar, WK_ROLE_IN);
    i->limits[i->n_limits++] = l;
  }
}

static wk_status parse_inst(parser *p) {
  wk_token at = p->lex.tok;
  const char *name;
  wk_op op;
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_WORD, &name));
  if (!wk_op_from_name(at.text, at.n, &op) || wk_op_get(op)->kind == WK_KIND_GRAPH)
    return ERROR_AT(p, &at, "unknown instruction %s", wk_lex_shown(&at).s);
  operands o = {0};
  wk_status s = parse_operands(p, &o);
  wk_inst *i = s ? NULL : wk_inst_new(p->p, op, NULL, o.n_out, (uint32_t)o.views.n);
  if (i && o.views.n) memcpy(i->operands, o.views.data, o.views.n * sizeof *i->operands);
  wk_vec_free(&o.views);
  if (s) return s;
  WK_TRY(parse_attributes(p, i));
  WK_TRY(parse_limits(p, i));
  if (p->lex.tok.kind == WK_TOK_STRING) {
    WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &name));
    i->name = wk_arena_strdup(p->p->arena, name);
  }
  i->n_bodies = bodies_of(op);
  i->bodies = wk_arena_alloc(p->p->arena, i->n_bodies * sizeof *i->bodies);
  wk_block_append(present_block(p), i);
  return i->n_bodies ? enter_body(p, i, 0) : NULL;
}

/* ---- programs ------------------------------------------------------------------------------ */

static wk_status parse_item(parser *p) {
  bool found;
  WK_TRY(wk_lex_accept_word(&p->lex, "buffer", &found));
  if (found) return parse_buffer(p);
  WK_TRY(wk_lex_accept_word(&p->lex, "region", &found));
  if (found) {
    wk_region r;
    WK_TRY(parse_region(p, &r));
    return wk_lex_int(&p->lex, &p->p->region_size[r]);
  }
  WK_TRY(wk_lex_accept_word(&p->lex, "bound", &found));
  if (found) return wk_lex_int(&p->lex, &p->p->act_bound);
  WK_TRY(wk_lex_accept_word(&p->lex, "copies", &found));
  return found ? parse_copies(p) : parse_inst(p);
}

static wk_status parse_program(parser *p) {
  const char *name;
  WK_TRY(wk_lex_expect_word(&p->lex, "program"));
  WK_TRY(wk_lex_text(&p->lex, WK_TOK_STRING, &name));
  p->p->name = wk_arena_strdup(p->p->arena, name);
  WK_TRY(wk_lex_expect(&p->lex, '{'));
  while (p->depth > 0 || !wk_lex_is(&p->lex, '}')) {
    if (wk_lex_is(&p->lex, '}')) WK_TRY(leave_body(p));
    else if (p->depth > 0) WK_TRY(parse_inst(p));
    else WK_TRY(parse_item(p));
  }
  WK_TRY(wk_lex_expect(&p->lex, '}'));
  if (p->lex.tok.kind != WK_TOK_END)
    return wk_lex_error(&p->lex, "end of text expected, not %s", wk_lex_shown(&p->lex.tok).s);
  wk_status s = wk_program_verify(p->p);
  return wk_status_place(wk_status_as(s, WK_INPUT), p->lex.file);
}

wk_status wk_program_parse(const char *text, const char *file_name, wk_program **out) {
  wk_arena *scratch = wk_arena_new();
  parser p = {.p = wk_program_new(""),
              .splat_budget = WK_TEXT_MAX_REPEATED};
  wk_status s = wk_lex_start(&p.lex, scratch, text, file_name);
  if (!s) s = parse_program(&p);
  if (s) wk_program_free(p.p);
  *out = s ? NULL : p.p;
  wk_arena_free(scratch);
  return s;
}
