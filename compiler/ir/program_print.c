/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as text: what placement decided, buffers, then one instruction per line.
 *
 *   program "name" {
 *     region act 1024
 *     bound 1000
 *     copies 12 -> 3, bytes 4096 -> 512
 *     buffer input 0 %x : f32[1,3,8,8] "x:0"
 *     buffer const %w : 16 align 64 = hex("…")
 *     buffer act %t : 768 align 64 offset 0
 *     buffer state 0 public %v : f32[2] align 64 offset 0 = hex("…")
 *     map(@out %t[1,3,8,8]:f32; @in %x[1,3,8,8]:f32 +4 *(0,1,3,24) step 16, -) {body="…"} "node"
 *     if(; @in %c[]:bool) then {
 *       …
 *     } else {
 *       …
 *     }
 *   }
 *
 * Operands before the semicolon are the outputs. A dense view has no strides. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"

enum { MAX_SHORT_BYTES = 64 };

/* ---- buffers ------------------------------------------------------------------------------- */

static void print_contents(wk_str *b, const wk_buffer *x, wk_print_flags flags) {
  wk_type t = wk_type_make(WK_U8, 1, &x->size);
  wk_print_flags how = x->size <= MAX_SHORT_BYTES ? WK_PRINT_FULL : flags;
  if (!x->data && x->size > 0) return;
  wk_str_add(b, " =");
  wk_data_print(b, &t, x->data, how);
}

static void print_binding(wk_str *b, const wk_buffer *x, const wk_program_io *io) {
  wk_type_print(b, &io->type);
  if (strcmp(io->name, x->name) == 0) return;
  wk_str_add(b, " ");
  wk_str_quote(b, io->name);
}

static void print_buffer(wk_str *b, const wk_program *p, const wk_buffer *x,
                         wk_print_flags flags) {
  const wk_program_ios *bound = wk_program_bound(p, x->region);
  const wk_program_io *io = bound ? &bound->data[x->io] : NULL;
  bool is_state = x->region == WK_REGION_STATE;
  wk_str_printf(b, "  buffer %s ", wk_region_name(x->region));
  if (io) wk_str_printf(b, "%u %s", x->io, io->is_public ? "public " : "");
  wk_print_name(b, '%', x->name);
  wk_str_add(b, " : ");
  if (io) print_binding(b, x, io);
  else wk_str_printf(b, "%lld", (long long)x->size);
  wk_str_printf(b, " align %lld", (long long)x->align);
  if (x->offset != (io && !is_state ? 0 : -1))
    wk_str_printf(b, " offset %lld", (long long)x->offset);
  if (x->region == WK_REGION_CONST || is_state) print_contents(b, x, flags);
  wk_str_add(b, "\n");
}

static void print_placement(wk_str *b, const wk_program *p) {
  for (int r = 0; r < WK_REGION_COUNT; r++)
    if (p->region_size[r])
      wk_str_printf(b, "  region %s %lld\n", wk_region_name((wk_region)r),
                    (long long)p->region_size[r]);
  if (p->act_bound) wk_str_printf(b, "  bound %lld\n", (long long)p->act_bound);
  if (p->copies_before || p->copies_after || p->copy_bytes_before || p->copy_bytes_after)
    wk_str_printf(b, "  copies %lld -> %lld, bytes %lld -> %lld\n", (long long)p->copies_before,
                  (long long)p->copies_after, (long long)p->copy_bytes_before,
                  (long long)p->copy_bytes_after);
}

/* ---- instructions -------------------------------------------------------------------------- */

static void print_view(wk_str *b, const wk_program *p, const wk_view *v) {
  static const char *const roles[] = {"@in ", "@out ", "@inout "};
  if (v->buffer == WK_NONE) {
    wk_str_add(b, "-");
    return;
  }
  wk_str_add(b, roles[v->role]);
  wk_print_name(b, '%', p->buffers.data[v->buffer].name);
  wk_ints_print(b, v->dims, v->rank, '[', ']');
  wk_str_printf(b, ":%s", wk_dtype_name(v->dtype));
  if (v->offset) wk_str_printf(b, " +%lld", (long long)v->offset);
  if (!wk_view_is_dense(v)) {
    wk_str_add(b, " *");
    wk_ints_print(b, v->strides, v->rank, '(', ')');
  }
  if (v->step) wk_str_printf(b, " step %lld", (long long)v->step);
}

static void print_operands(wk_str *b, const wk_program *p, const wk_inst *i) {
  wk_str_add(b, "(");
  for (uint32_t k = 0; k < i->n_operands; k++) {
    if (k == i->n_out) wk_str_add(b, "; ");
    else if (k) wk_str_add(b, ", ");
    print_view(b, p, &i->operands[k]);
  }
  wk_str_add(b, ")");
}

/* Up to the opening brace of its first body or the end of its line. */
void wk_inst_print(wk_str *b, const wk_program *p, const wk_inst *i) {
  wk_str_add(b, wk_op_get(i->op)->name);
  print_operands(b, p, i);
  wk_attrs_print(b, i->op, i->attrs);
  for (uint32_t k = 0; k < i->n_limits; k++) {
    wk_str_printf(b, " below %d ", i->limits[k].axis);
    wk_print_name(b, '%', p->buffers.data[i->limits[k].size.buffer].name);
    if (!wk_limit_has_rows(&i->limits[k])) continue;
    wk_str_add(b, " of ");
    wk_print_name(b, '%', p->buffers.data[i->limits[k].rows.buffer].name);
    wk_ints_print(b, i->limits[k].rows.dims, 1, '[', ']');
  }
  if (i->name && *i->name) {
    wk_str_add(b, " ");
    wk_str_quote(b, i->name);
  }
}

static void indent(wk_str *b, size_t depth) {
  for (size_t k = 0; k < depth; k++) wk_str_add(b, "  ");
}

typedef struct {
  const wk_block *block;
  size_t next;   /* instruction of the block */
  uint32_t body; /* bodies of that instruction that are printed */
} frame;

/* One step of the walk: a line is begun, a body is entered or left. */
static void step(wk_str *b, const wk_program *p, frame *f, size_t depth, const wk_block **enter) {
  const wk_inst *i = f->block->insts.data[f->next];
  *enter = NULL;
  if (f->body == 0) {
    indent(b, depth);
    wk_inst_print(b, p, i);
  }
  if (f->body < i->n_bodies) {
    const char *word = i->op == WK_OP_IF ? " then" : " do";
    wk_str_printf(b, "%s {\n", f->body ? " else" : word);
    *enter = &i->bodies[f->body++];
    return;
  }
  wk_str_add(b, "\n");
  f->next++;
  f->body = 0;
}

static void print_block(wk_str *b, const wk_program *p, const wk_block *top) {
  WK_VEC(frame) stack = {0};
  wk_vec_push(&stack, ((frame){.block = top}));
  while (stack.n) {
    frame *f = &stack.data[stack.n - 1];
    if (f->next < f->block->insts.n) {
      const wk_block *enter;
      step(b, p, f, stack.n, &enter);
      if (enter) wk_vec_push(&stack, ((frame){.block = enter}));
      continue;
    }
    stack.n--;
    if (stack.n == 0) break;
    indent(b, stack.n);
    wk_str_add(b, "}");
  }
  wk_vec_free(&stack);
}

void wk_program_print(wk_str *b, const wk_program *p, wk_print_flags flags) {
  wk_str_add(b, "program ");
  wk_str_quote(b, p->name);
  wk_str_add(b, " {\n");
  print_placement(b, p);
  for (size_t i = 0; i < p->buffers.n; i++) print_buffer(b, p, &p->buffers.data[i], flags);
  print_block(b, p, &p->body);
  wk_str_add(b, "}\n");
}
