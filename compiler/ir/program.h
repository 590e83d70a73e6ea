/* SPDX-License-Identifier: Apache-2.0
 * Program IR: a list of instructions over buffers in named regions. An operand is a view of a
 * buffer; there is no SSA and no hidden allocation. Instructions are the BOTH and INST rows of
 * ops.def, with the same attribute structs; operands are the row's outputs, then its inputs.
 *
 * View: element at position p has byte address
 *     buffer + offset + step * (iteration of the innermost enclosing loop)
 *            + size * sum p[k]*strides[k]
 * Elements are of no narrow type (types.h): programs see their storage, expressions compute with
 * it (wk_expr_storage), and only the inputs and outputs of a program keep the narrow name.
 * Broadcasting is stride 0. `map`: all operands have the same dims. `reduce`: all inputs have the
 * iteration dims, the output has the same dims with stride 0 on the reduced axes; where there are
 * results there is something to fold. `conv`, `matmul`, pools: as in ops.def; bias has the dims of
 * one axis, extras have the dims of the output. Absent optional operands have buffer WK_NONE. An
 * output may coincide exactly with an `extra` or a `map` input of equal element size (in place);
 * any other overlap of a written view with another operand of the same instruction is an error. */
#ifndef WICK_IR_PROGRAM_H
#define WICK_IR_PROGRAM_H

#include "compiler/ir/graph.h"

typedef enum {
  WK_REGION_CONST,   /* read only, in the package */
  WK_REGION_INPUT,   /* caller's memory */
  WK_REGION_OUTPUT,  /* caller's memory */
  WK_REGION_ACT,     /* activations: one arena, placed by compiler/memory */
  WK_REGION_SCRATCH, /* one instance per thread, placed like ACT; only inside one instruction */
  WK_REGION_STATE,   /* variables: one memory that stays from run to run; programs may share it */
  WK_REGION_COUNT
} wk_region;

const char *wk_region_name(wk_region r);

typedef struct {
  const char *name;   /* unique */
  wk_region region;
  int64_t size;       /* bytes */
  int64_t align;      /* power of two, at most a page */
  int64_t offset;     /* within the region; -1 = not placed yet (ACT, SCRATCH, STATE) */
  const void *data;   /* CONST: contents; STATE: at first (of `size` bytes) */
  uint32_t io;        /* INPUT, OUTPUT, STATE: position among the program's */
} wk_buffer;

typedef enum { WK_ROLE_IN, WK_ROLE_OUT, WK_ROLE_INOUT } wk_role;

typedef struct {
  uint32_t buffer;   /* WK_NONE: operand left out */
  wk_role role;
  wk_dtype dtype;
  int rank;
  int64_t offset;    /* bytes */
  int64_t step;      /* bytes per iteration of the innermost enclosing loop */
  int64_t dims[WK_MAX_RANK];
  int64_t strides[WK_MAX_RANK]; /* elements; may be 0 or negative */
} wk_view;

typedef struct wk_inst wk_inst;
typedef struct { WK_VEC(wk_inst *) insts; } wk_block;

/* A licence: nobody needs what the instruction writes at positions of this axis (of its iteration:
 * the dims of operand 0, of a reduce those of its inputs) from `size` on; along an axis that a
 * reduce folds nothing there changes the result. Axis `rank` of a matmul is the one that it sums
 * over: from `size` on one of its operands is zero. Whoever computes it all the same does nothing
 * wrong. A size below 0 is as 0.
 *
 * With `rows` the positions that are needed are its first `size` elements instead of 0, 1, …: they
 * are those of the axis, each once, in an order that a run decides. They may go along several axes,
 * `axis` and as many behind it as have together as many positions as `rows` has elements. */
typedef struct {
  int axis;
  wk_view size; /* @in, i64[] */
  wk_view rows; /* @in, i64[n]; buffer WK_NONE: none */
} wk_limit;
enum { WK_MAX_LIMITS = 3 };

struct wk_inst {
  wk_op op;
  const char *name;    /* ONNX node name(s), for reports and profiles */
  void *attrs;
  uint32_t n_out, n_operands;
  wk_view *operands;   /* outputs first */
  uint32_t n_limits;
  wk_limit limits[WK_MAX_LIMITS]; /* of different axes */
  uint32_t n_bodies;
  wk_block *bodies;    /* IF: then, else; LOOP, NEST: one */
};
/* IF: operand 0 (in) is the condition, bool[]. LOOP: operand 0 (inout, may be absent) the condition
 * bool[] tested before each iteration, operand 1 (out, may be absent) the i64[] iteration number
 * written before each iteration; trip in the attributes. Everything else their bodies touch is
 * named by the views of the bodies. */

typedef struct {
  const char *name;
  wk_type type;
  uint32_t buffer;
  bool is_public; /* of STATE: the variable is */
} wk_program_io;
typedef WK_VEC(wk_program_io) wk_program_ios;

typedef struct wk_program {
  wk_arena *arena;
  const char *name;
  WK_VEC(wk_buffer) buffers;
  wk_map *names; /* of the buffers; value: id */
  wk_program_ios inputs, outputs, states;
  wk_block body;
  WK_VEC(void *) blobs; /* malloc'ed data of constants, freed with the program */
  int64_t region_size[WK_REGION_COUNT]; /* CONST, ACT, SCRATCH, STATE after placement */
  int64_t act_bound;                    /* lower bound of the order: largest sum of live bytes */
  /* what copy elimination did: movement operators of the graph and copies that remained */
  int64_t copies_before, copies_after, copy_bytes_before, copy_bytes_after;
} wk_program;

wk_program *wk_program_new(const char *name);
void wk_program_free(wk_program *p); /* NULL ok */
/* The name is made unique; returns the id. */
uint32_t wk_program_buffer(wk_program *p, const wk_buffer *b);
/* The list that the region's buffers stand in, each at its `io`; NULL: it has none. */
wk_program_ios *wk_program_bound(const wk_program *p, wk_region r);
/* Some instruction mentions a buffer of the region; writes: other than @in. */
bool wk_program_touches(const wk_program *p, wk_region r, bool writes);
/* Allocates (arena) an instruction with room for its operands; the caller fills and appends it. */
wk_inst *wk_inst_new(wk_program *p, wk_op op, const char *name, uint32_t n_out,
                     uint32_t n_operands);
void wk_block_append(wk_block *b, wk_inst *i);
/* All that it reads and writes: its operands, then size and rows of its limits. */
static inline uint32_t wk_inst_views(const wk_inst *i) { return i->n_operands + 2 * i->n_limits; }
static inline wk_view *wk_inst_view(wk_inst *i, uint32_t k) {
  wk_limit *l = k < i->n_operands ? NULL : &i->limits[(k - i->n_operands) / 2];
  if (!l) return &i->operands[k];
  return (k - i->n_operands) % 2 ? &l->rows : &l->size;
}
static inline bool wk_limit_has_rows(const wk_limit *l) { return l->rows.buffer != WK_NONE; }
/* The last axis that the limit's positions go along; -1: there is none. */
int wk_limit_last_axis(const wk_inst *i, const wk_limit *l);
/* Operand k, no output, is read element by element where the output is written. */
static inline bool wk_inst_is_elementwise(const wk_inst *i, uint32_t k) {
  return k >= i->n_out && wk_op_is_elementwise(i->op, k - i->n_out);
}
/* Multiply-accumulates of one execution (contractions), bodies left out; 0 for others. */
int64_t wk_inst_macs(const wk_inst *i);
/* Bytes that one execution reads and writes, bodies left out. What broadcasts counts once. */
int64_t wk_inst_bytes(const wk_inst *i);
/* Adds both of the instruction and all in its bodies; loops count as often as they may run, and of
 * a branch both sides. */
void wk_inst_work(const wk_inst *i, int64_t *macs, int64_t *bytes);

wk_view wk_view_dense(uint32_t buffer, const wk_type *t, wk_role role);
wk_view wk_view_none(void);
int64_t wk_view_count(const wk_view *v);
bool wk_view_is_dense(const wk_view *v); /* row-major without gaps */
/* Lowest and one past the highest byte touched relative to the buffer (for `iterations` loop
 * steps). */
void wk_view_extent(const wk_view *v, int64_t iterations, int64_t *lo, int64_t *hi);
/* Same elements, new dims, when strides allow; false when a copy is needed. */
bool wk_view_reshape(const wk_view *v, int rank, const int64_t *dims, wk_view *out);
bool wk_view_same(const wk_view *a, const wk_view *b); /* address for address */
/* Views of the same buffer have no byte in common (false also when that cannot be seen). */
bool wk_view_disjoint(const wk_view *a, const wk_view *b);

/* Every instruction in order, bodies after their owner, by explicit stack. */
typedef struct {
  wk_inst *inst;
  int depth;         /* nesting: 0 at top level */
  int64_t trip;      /* iterations of the innermost enclosing loop, 1 outside */
} wk_inst_pos;
/* Fills a scratch array with all instructions in program order; returns the count. */
size_t wk_program_flatten(const wk_program *p, wk_arena *scratch, wk_inst_pos **out);

wk_status wk_program_verify(const wk_program *p) WK_MUST_CHECK;
void wk_program_print(wk_str *b, const wk_program *p, wk_print_flags flags);
/* One line without its end; what is in the bodies of control flow is left out. */
void wk_inst_print(wk_str *b, const wk_program *p, const wk_inst *i);
wk_status wk_program_parse(const char *text, const char *file_name, wk_program **out) WK_MUST_CHECK;

#endif
