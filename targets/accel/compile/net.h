/* SPDX-License-Identifier: Apache-2.0
 * net: a part as the accelerator sees it: tensors in memory and operators that are a handful of
 * commands each. Made node by node from the graph; what cannot be made says why, and that is also
 * the answer to whether the target supports a node.
 *
 * All strides and offsets are bytes of the tensors as they lie in memory ([o][block][h][w][N], or
 * dense for an image of few channels); whatever holds a part of a tensor scales them. */
#ifndef WICK_ACCEL_NET_H
#define WICK_ACCEL_NET_H

#include "compiler/integer/integer.h"
#include "targets/accel/compile/operand.h"
#include "targets/accel/isa/isa.h"
#include "targets/accel/isa/unit.h"

enum { WK_ACCEL_LANES = WK_KEY_MAX_array };
/* Of rows: of ROW, and along the sum of MM. */
#define WK_ACCEL_MOST_BLOCKS WK_LEAST(WK_MAX(MM, kc), WK_MAX(ROW, kc))

typedef struct {
  const char *name;
  int64_t bytes;
  /* bytes = planes * rows * row: a strip of a tensor is the same rows of all its planes */
  int64_t planes, rows, row;
  int segment;         /* wk_accel_segment */
  int64_t at;          /* where it lies there; of WORK once placed */
  const uint8_t *data; /* CONST: its contents */
  bool is_dense;       /* an image of few channels: `row` = w * channels */
  bool is_padded;      /* it is read with the lanes behind its last channel, which are zeros */
} wk_accel_tensor;

/* A picture of a tensor by the axes that commands have. Channel q of a pixel lies in block
 * (first + q) / N, lane (first + q) % N. */
typedef struct {
  int tensor; /* -1: none */
  int64_t offset;
  int64_t o, c, h, w;
  int64_t so, sb, sy, sx;
  int first;
} wk_accel_view;

typedef enum { WK_ACCEL_CONV, WK_ACCEL_DWC, WK_ACCEL_MM, WK_ACCEL_MAP, WK_ACCEL_POOL,
               WK_ACCEL_ROW, WK_ACCEL_PICK, WK_ACCEL_TURN } wk_accel_kind;

/* Of PICK, which MAP commands compute: pixels (y + i * sy, x + j * sx) of the result, i < ny,
 * j < nx, their channels [c, c + nc), from pixels (from_y[k] + i * step_y, from_x[k] + j * step_x)
 * of operand a, channels from from_c on: k 0, and 1 as well for a sum. */
typedef struct {
  int64_t y, x, sy, sx, ny, nx;
  int64_t from_y[2], from_x[2], step_y, step_x;
  int64_t c, from_c, nc;
  int fn;     /* of MAP: move, scale or add */
  int record; /* of the operator's, but for move */
} wk_accel_pick;

/* Channels [c, c + n) of the result, within one block of it. `width` lanes are written, n or more:
 * all of a last block, so that its other lanes hold something. */
typedef struct {
  int64_t c;
  int n, width;
} wk_accel_piece;

/* An operator. Of rows [y0, y1) of its result it needs rows y0 * sy - pad_t … of its input. */
typedef struct {
  wk_accel_kind kind;
  int fn;            /* MAP, POOL, ROW: of isa.def */
  const char *name, *op;
  uint32_t layer;    /* in the net's layers */
  wk_accel_view out, a, b; /* b: second operand, right matrix or residual; tensor -1: none */
  bool a_u8, b_u8;
  int64_t a_zero, b_zero; /* as bytes of their types */
  /* window; 1 and 0 elsewhere */
  int64_t ky, kx, sy, sx, dy, dx, pad_t, pad_l;
  bool has_window;   /* padding may occur: h and w are compared */
  bool is_packed;    /* CONV: a kernel row is one vector of kx * channels bytes of a dense image */
  int64_t columns;   /* is_packed: pixels of a row in the scratchpad, padding included */
  bool is_line;      /* DWC: its rows, of one pixel, are the columns of commands */
  bool is_flat;      /* CONV: row y of the result is image y of `a`, all of it its window */
  int64_t kc;        /* CONV, MM: blocks along the sum; ROW: of a row */
  int k_tail;        /* channels of the last one */
  bool is_transposed; /* MM */
  bool is_splat;     /* MAP: b is one byte */
  /* constants of each piece: the record, then weights. All pieces' are equally long; one_const:
   * the same for all pieces. */
  const uint8_t *consts;
  int const_tensor; /* -1: it has none */
  int64_t const_bytes, record_bytes;
  bool one_const;
  int tables;        /* of 256 bytes, behind the record: TAB comes first */
  const wk_accel_piece *pieces;
  size_t n_pieces;
  bool leaves_lanes; /* lanes behind the last channel are not written: FILL comes first */
  const wk_accel_pick *picks; /* PICK: each pixel of the result is in one */
  size_t n_picks;
  const int64_t *needs; /* PICK: of each row y of the result, which rows [needs[2y], needs[2y + 1])
                           of `a`; both grow with y */
  int64_t piece_stacks; /* stacks that have as many of its pieces each: heads of who reads a CONV,
                           blocks of channels; 0: none */
  bool is_helper;    /* of how a layer is computed here: others say what it takes at least */
  int64_t macs;      /* of the model */
  int64_t own, all;  /* as wk_counted has them: what is computed here and elsewhere counts once */
} wk_accel_op;

static inline bool wk_accel_is_movement(const wk_node *n) {
  return wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
}
static inline int wk_accel_default_lane(const wk_type *t) {
  return t->rank == 4 ? 1 : t->rank - 1;
}

/* The array computes it, not the vector unit. */
static inline bool wk_accel_is_sum(const wk_accel_op *op) {
  return op->kind == WK_ACCEL_CONV || op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_MM;
}

/* Its operand b is added to the sums. */
static inline bool wk_accel_has_residual(const wk_accel_op *op) {
  return wk_accel_is_sum(op) && op->kind != WK_ACCEL_MM && op->b.tensor >= 0;
}

/* What a layer leaves. */
typedef struct {
  uint32_t layer;
  wk_value_id value; /* of the part's graph */
  wk_accel_operand at;
} wk_accel_left;

/* Of all pieces. */
static inline int64_t wk_accel_const_bytes(const wk_accel_op *op) {
  return op->const_bytes * (op->one_const ? 1 : (int64_t)op->n_pieces);
}

typedef struct {
  const wk_machine *machine;
  int n; /* array */
  wk_arena *arena;
  WK_VEC(wk_accel_tensor) tensors;
  WK_VEC(wk_accel_op) ops; /* in an order in which they can be computed */
  WK_VEC(wk_accel_op) whole; /* before they were cut to fit; const_tensor: not known */
  WK_VEC(wk_accel_layer) layers;
  WK_VEC(const char *) names; /* of the layers */
  WK_VEC(wk_accel_left) left; /* by layers */
  WK_VEC(const wk_node *) nodes; /* that the layers are made of */
  size_t n_inputs, n_outputs;
  wk_isa_command defaults[WK_OPCODES]; /* of each opcode */
} wk_accel_net;

void wk_accel_net_init(wk_accel_net *net, const wk_machine *m, wk_arena *a);
void wk_accel_net_free(wk_accel_net *net);

/* What making a net knows. */
typedef struct {
  wk_accel_net *net;
  const wk_graph *g;
  wk_accel_operand *at; /* of each value; tensor -1: not known yet */
  bool is_first;        /* a trial of what was there before fusion: its result is of 8 bits */
  bool is_copied;       /* a trial of movement that is no address */
  bool asks_no_reader;  /* asked for a reader: an input lies as it lies by itself */
  bool is_trial;        /* constants are not made; operands are made up where they come from */
  const char *reason;   /* why a node could not be made; static or in the net's arena */
  const wk_node *refused; /* which one: that in hand, or movement on the way to it */
  uint32_t layer;       /* of the node in hand */
  const wk_node *node;
} wk_accel_making;

/* The axis that is cut into blocks; [n,h,w,c], or [h,w,c], lies as the image [n,c,h,w] does. */
typedef struct {
  int axis;
  bool is_image;
} wk_accel_lanes;

/* What of a part cannot be. */
typedef struct {
  const wk_node *node; /* of its graph; NULL: none in particular */
  const char *reason;  /* static, or in the net's arena */
} wk_accel_refused;

/* The part's graph as a net; false: not with *why. */
bool wk_accel_net_make(const wk_graph *g, wk_accel_net *net, wk_accel_refused *why) WK_MUST_CHECK;
/* NULL: a node of the graph, primitive, claimed or movement, could be made. */
const char *wk_accel_refusal(const wk_machine *m, const wk_graph *g, const wk_node *n, wk_arena *a);
/* As wk_target.covers: of operators between quantised tensors. */
bool wk_accel_covers(wk_op op, const char **note);
/* The axis of a value that is cut into blocks: of one that enters a part. */
int wk_accel_lane_of_input(const wk_accel_making *k, wk_value_id v);
wk_accel_lanes wk_accel_edge_lanes(const wk_machine *m, const wk_graph *g, wk_value_id v);
/* Value v, an image of few channels along this axis, lies dense, channels last, where it enters a
 * part; -1: it does not. */
int wk_accel_dense_axis(const wk_machine *m, const wk_graph *g, wk_value_id v);
/* Bytes of a pixel there: a power of two. */
int wk_accel_dense_lanes(int64_t channels);
/* It will lie so along its axis 1: it enters any part that has it. */
bool wk_accel_is_dense_edge(const wk_machine *m, const wk_graph *g, wk_value_id v);

/* ---- for the makers of operators ------------------------------------------------------------- */

bool wk_accel_refuse(wk_accel_making *k, const char *fmt, ...) WK_PRINTF(2, 3); /* false */
/* Where the elements of a value lie; false with a reason. */
bool wk_accel_operand_of(wk_accel_making *k, wk_value_id v, wk_accel_operand *out);
/* A constant in blocks along axis `lane`, brought like any tensor. */
bool wk_accel_constant(wk_accel_making *k, wk_value_id v, int lane, wk_accel_operand *out);
/* Where node's result goes. */
wk_accel_operand wk_accel_result(wk_accel_making *k, wk_value_id v);
/* A tensor of its own for a value, in blocks along this axis. */
wk_accel_operand wk_accel_fresh(wk_accel_making *k, wk_value_id v, int lane);
/* [n,c,h,w], with the few channels of a pixel side by side. */
wk_accel_operand wk_accel_fresh_dense(wk_accel_making *k, wk_value_id v);
/* x, where v lies, becomes a copy in blocks along axis `lane`, unless it lies so: both are among
 * the last two axes, else a refusal. TURN: row y of the result is channel y of `a`, of all rows. */
bool wk_accel_turn(wk_accel_making *k, wk_value_id v, int lane, wk_accel_operand *x);
/* Axes of images ([n,c,h,w], [n,c,w]) with lanes along axis 1; of rows ([.., h, c]); false where
 * they are not so. [n,c,w] is an image of one column, a line; so is [n,c,1,w] for wk_accel_line. */
typedef bool wk_accel_view_of(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out);
wk_accel_view_of wk_accel_image, wk_accel_line, wk_accel_rows;
/* [.., h, w, c] with lanes along the last axis: pixels as they are. */
wk_accel_view_of wk_accel_pixels;
/* For the operands of the node in hand, beside constants, and its result y: rows [.., h, c], or,
 * where all of them lie as images do, pixels [.., h, w, c]. */
wk_accel_view_of *wk_accel_rows_of(wk_accel_making *k, const wk_accel_operand *y);
/* How a value lies, or will lie, by what makes it; and like x. */
wk_accel_lanes wk_accel_lanes_of(const wk_accel_making *k, wk_value_id v);
wk_accel_lanes wk_accel_lanes_like(const wk_accel_operand *x);
/* For n operands, of which the first is as large as any: whichever of them fits; is_line: images
 * are lines. */
wk_accel_view_of *wk_accel_view_for(const wk_accel_operand *const x[], int n, bool is_line);
/* Convolutions, pools. */
bool wk_accel_is_windowed(wk_op op);
/* The window of a node goes along a line of pixels, and reaches none above it. */
bool wk_accel_goes_along(const wk_graph *g, const wk_node *n);
/* The value is a line of pixels for all windows that make or read it. */
bool wk_accel_lies_as_line(const wk_graph *g, wk_value_id v);
/* A window reads the line [n,c,w], maybe behind maps. */
bool wk_accel_is_read_as_line(const wk_graph *g, wk_value_id v);
/* For the node in hand: window of one tap, no operands. */
wk_accel_op wk_accel_op_new(wk_accel_making *k, wk_accel_kind kind);
/* A tensor of the part's own. */
int wk_accel_add_tensor(wk_accel_net *net, const char *name, int64_t planes, int64_t rows,
                        int64_t row);
wk_accel_op *wk_accel_add(wk_accel_making *k, const wk_accel_op *op);
/* Pieces of [c of out) that lie in one block of out, and, where `aligned` is a view, of it. */
void wk_accel_cut_pieces(wk_accel_making *k, wk_accel_op *op, const wk_accel_view *aligned);
bool wk_accel_is_8_bit(wk_dtype t);
/* The node's result is of 8 bits, or is taken for it: else a refusal. */
bool wk_accel_is_result_fine(wk_accel_making *k);
/* As wk_target has it. */
const wk_machine *wk_accel_machine_of(const wk_instance *t);
const int64_t *wk_accel_key_step_of(const wk_instance *t); /* --keys; 0: all */
wk_status wk_accel_adapt(const wk_instance *t, wk_module *m, wk_adaptation *out) WK_MUST_CHECK;
/* The view goes through the tensor's planes by blocks, and by stacks unless they lie in the same
 * ones, and through its rows by y, and by pixels and such stacks unless they lie in one row. */
bool wk_accel_is_picture(const wk_accel_tensor *t, const wk_accel_view *x);
/* And none of its rows begins before the one above has ended: so it can be written row by row. */
bool wk_accel_is_by_rows(const wk_accel_tensor *t, const wk_accel_view *x);

/* The node in hand, by the maker of its operator; e: its expression. */
bool wk_accel_make_node(wk_accel_making *k, const wk_expr *e);
/* The machine has commands for such nodes, of the right types. */
bool wk_accel_has_maker(wk_op op);
/* The first value of 8 bits that an expression computes, as one of its own: what an operator had
 * for a result before others were fused with it. NULL: none, or that is all. */
const wk_expr *wk_accel_first_result(const wk_expr *e, wk_arena *a);
bool wk_accel_make_conv(wk_accel_making *k, const wk_expr *epilogue);
bool wk_accel_make_conv_transpose(wk_accel_making *k, const wk_expr *epilogue);
bool wk_accel_make_matmul(wk_accel_making *k, const wk_expr *epilogue);
bool wk_accel_make_integer_matmul(wk_accel_making *k, const wk_expr *epilogue);
bool wk_accel_make_map(wk_accel_making *k, const wk_expr *body);
bool wk_accel_make_table(wk_accel_making *k);
bool wk_accel_make_max_pool(wk_accel_making *k);
bool wk_accel_make_avg_pool(wk_accel_making *k);
bool wk_accel_make_reduce(wk_accel_making *k, const wk_expr *post);
bool wk_accel_make_softmax(wk_accel_making *k);
/* Rows of the first operand and of the result; pixels: of images as well. False with a reason. */
bool wk_accel_take_rows(wk_accel_making *k, wk_accel_op *op, bool pixels);
/* Whole rows at a time. */
void wk_accel_add_rows(wk_accel_making *k, const wk_accel_op *like);
bool wk_accel_make_norm(wk_accel_making *k);
bool wk_accel_make_resize(wk_accel_making *k);
bool wk_accel_make_depth_to_space(wk_accel_making *k);
/* Operators fit into fields and scratchpad; those that go channel by channel are cut until they
 * do. False with a reason, and the node. */
bool wk_accel_fit(wk_accel_making *k);
/* Pieces [from, to) of an operator as one of its own: of CONV, or of what goes by channels. */
wk_accel_op wk_accel_some_pieces(const wk_accel_net *net, const wk_accel_op *op, size_t from,
                                 size_t to);
/* The operator becomes number `at`, those from there on come behind it. */
void wk_accel_insert(wk_accel_net *net, size_t at, const wk_accel_op *op);
/* Each piece of a CONV is a plane of a tensor that it alone writes, all of it. */
bool wk_accel_goes_by_planes(const wk_accel_net *net, const wk_accel_op *op);
/* Products whose results are the heads of others: they are computed head by head with these, as
 * late as they can be beside what the vector unit does. One that makes queries, keys and values
 * becomes three. */
void wk_accel_find_heads(wk_accel_net *net);
/* Piece i has the channels of block i. */
bool wk_accel_are_pieces_blocks(const wk_accel_net *net, const wk_accel_op *op);
/* Piece i of DWC, MAP or POOL is a plane of its result and of its operands. */
bool wk_accel_goes_by_blocks(const wk_accel_net *net, const wk_accel_op *op);
/* Depthwise convolutions, pools, and what goes block by block with them. */
void wk_accel_find_channels(wk_accel_net *net);
/* A copy between two pictures of the same dims. */
bool wk_accel_make_move(wk_accel_making *k, const wk_accel_operand *from,
                        const wk_accel_operand *to);

#endif
