/* SPDX-License-Identifier: Apache-2.0
 * target: what a target is (rank 2). A target is a table of functions; opened for one machine it is
 * an instance. The core never asks which target it compiles for: what differs is data here and code
 * in the target's folder.
 *
 * The order in which the pipeline asks, for all listed targets in order of preference:
 *   claims    before lowering: operators that stay whole for one of them
 *   fuses     while primitives are fused: what a node's target could still run
 *   supports  the partition: who computes which node, and why not the others
 *   admits    the parts that came of it: what one of them cannot have makes the partition again
 * and then each target for its own parts:
 *   wish      layout and alignment
 *   passes    its rewrites of the part's program, in order
 *   compile   the parts' code into a package that the driver owns, or
 *   outputs   anything else that it can write (`--emit`) */
#ifndef WICK_TARGET_H
#define WICK_TARGET_H

#include "compiler/ir/ir.h"

typedef struct wk_target wk_target;
typedef struct wk_package wk_package; /* compiler/package/package.h */

/* A target opened for a machine. Targets put it first in a struct of their own. */
typedef struct {
  const wk_target *target;
  const char *spec;    /* "avx2": after the target's name and a colon it opens the same again */
  bool is_here;        /* this machine can run its code */
} wk_instance;


/* How a tensor that enters or leaves a part lies in memory: dense, with its axes from slowest to
 * fastest as in `order`. When axis `split` is cut into blocks it counts the blocks, and axis number
 * `rank` counts within a block; what the last block has too much is zero when it is written and
 * never read. At most WK_MAX_RANK axes in all. NHWC of [n,c,h,w]: split -1, order 0 2 3 1; blocks
 * of 32 channels: split 1, block 32, order 0 1 2 3 4. */
typedef struct {
  int split; /* -1: none */
  int64_t block;
  uint8_t order[WK_MAX_RANK];
} wk_edge_layout;

/* What a part reads or leaves, as the model has it. */
typedef struct {
  const char *name;
  wk_type type;                  /* before it was laid out */
  wk_edge_layout layout;
  const wk_value_scale *quantised; /* NULL: nothing is known */
} wk_target_tensor;

/* One piece of a model, as its target gets it. */
typedef struct {
  const char *name;    /* unique among the parts that are compiled together; base of symbols */
  const wk_graph *graph;
  wk_program *program; /* after the target's passes; placed unless the target places itself */
  const wk_target_tensor *tensors; /* inputs, then outputs, of the graph; NULL: not known */
} wk_target_part;

#define WK_LAYOUT_NODE "layout" /* name of nodes that lay tensors at edges (wk_target.edge) */

/* The files of one output. */
enum { WK_EMIT_MAX_FILES = 80 };
typedef struct {
  const char *path[WK_EMIT_MAX_FILES];
  size_t n; /* 0: standard output */
} wk_emit_files;

/* What the driver knows beside the parts. */
typedef struct {
  const char *model_name; /* base of symbols */
  const char *command;    /* flags as recorded in the output */
  uint64_t input_hash;    /* XXH3-64 of the model file */
  void (*progress)(const char *what); /* told by what takes seconds; NULL: nobody listens */
  wk_str *text; /* receives, after errors too, what settings ask for; NULL: nobody reads it */
  wk_emit_files *files; /* of the output, as wk_target_output.files says; `write` says which it has
                           written instead, names in the arena. NULL: nobody asks */
  wk_arena *arena;
} wk_emit_options;

/* What a target finds out while it generates code. */
typedef struct {
  int64_t scratch_bytes; /* the most that a part wants of each thread; -1: nothing is known */
  int64_t predicted_cycles; /* of the parts, each run once, by the target's model; 0: it has none */
  int64_t other_macs;       /* of the parts that are not the first target's */
} wk_emit_result;

/* What the memory of a part looks like. */
typedef struct {
  bool channels_last; /* activations with the channel axis fastest, around convolutions */
  int64_t align;      /* of placed buffers, bytes: a power of two */
} wk_wish;

/* A rewrite of programs that only this target asks for. */
typedef struct {
  const char *name, *doc; /* as --print-after and `wick ops --passes` say it */
  bool is_portable;       /* the evaluator runs the result too */
  wk_status (*run)(const wk_instance *t, wk_program *p, wk_arena *scratch, int64_t *changes);
} wk_target_pass;

/* Something else than a package that can be written of parts. */
typedef struct {
  const char *name;   /* of --emit: "bundle" */
  const char *suffix; /* of the default path, behind the model's name; NULL: standard output */
  const char *doc;
  bool leaves_others; /* it holds this target's parts, however many, and leaves out all others;
                         false: it holds the model, which must be one part */
  /* All that write may write when it is given this path; text in the arena. WK_USAGE: the path is
   * no name for it. NULL: the path itself. */
  wk_status (*files)(const char *path, wk_arena *a, wk_emit_files *out);
  wk_status (*write)(const wk_instance *t, const wk_target_part *parts, size_t n,
                     const wk_emit_options *o, const char *path, wk_emit_result *result);
} wk_target_output;

/* What may be asked of a target beside its machine: `--NAME VALUE` of the commands that compile. A
 * command's own option of that name comes first; targets of which several have it all get it. */
typedef struct {
  const char *name;   /* "effort": small letters, digits and dashes */
  const char *arg;    /* what --help calls the value: "N". "IDEA,…": a list; "[N]": may be left out,
                         and then the text is empty */
  const char *values; /* "0 to 3 (default 1)" */
  const char *help;   /* as --help says it; NULL: doc */
  const char *doc;    /* as `wick targets` says it, behind the values */
  /* Right after open, with the text as typed. WK_USAGE says which values there are. */
  wk_status (*set)(wk_instance *t, const char *value);
  bool explains;      /* for `wick compile` alone, and not recorded: it adds to
                         wk_emit_options.text what the output does not depend on, or is about an
                         output that is no package */
} wk_target_setting;

/* What computing costs, in picoseconds: enough to tell whether a part pays for its edges, and which
 * of several machines of a kind gets a node. */
typedef struct {
  double per_mac, per_byte; /* of what a node multiplies, and of its operands */
  double per_edge_byte;     /* of tensors that enter or leave a part, conversion included */
  double per_part;          /* each time that one starts */
} wk_target_cost;

/* What a target made of a graph of integers before it was cut. */
typedef struct {
  int64_t changes;   /* 0, or how many rewrites */
  int64_t more_macs; /* that they added for a reason that another model would not have */
  const char *why;   /* static: that reason, and what to do about it; NULL: there is none */
} wk_adaptation;

struct wk_target {
  const char *name; /* "cpu" */
  const char *doc;
  const char *spec_doc;             /* what may stand behind "cpu:"; NULL: nothing */
  const wk_target_pass *passes;     /* ends with {0}; NULL: none */
  const wk_target_output *outputs;  /* ends with {0}; NULL: packages only */
  const wk_target_setting *settings; /* ends with {0}; NULL: none */
  wk_target_cost cost; /* of every machine; zeros: nothing costs anything */
  wk_target_cost (*cost_of)(const wk_instance *t); /* of this one; NULL: cost */
  bool keeps_products; /* whoever asks for it wants to see it work: a part that multiplies stays,
                          though the host be faster, and in a graph where none does so all stay. A
                          part beside it pays for its edges, and costs decide between machines of
                          the kind */
  bool has_copies;    /* there may be several machines of one spec; with cost_of */
  bool places_itself; /* compile gets programs without offsets and calls the planner */
  bool wants_integers; /* it multiplies integers alone: of float models commands say what to do */
  bool takes_graph;   /* compile works on the parts' graphs, with operators that it claimed whole;
                         their programs have inputs and outputs and no instructions */
  int64_t rows_from;  /* it acts on limits of instructions that have lists of rows (wk_limit): it
                         gets them where products have so many multiply-accumulates; 0: never */
  bool keeps_predicates; /* with takes_graph: supports is asked about nodes that have a predicate,
                            and compile gets them with it. Any other target does not take them */

  /* spec: the text behind the colon, NULL: the default. WK_USAGE when there is no such machine. */
  wk_status (*open)(const char *spec, wk_instance **out);
  void (*close)(wk_instance *t);
  /* Rewrites a graph of integers into one that the target runs better and that has the same
   * results, before anything is cut: whoever else gets a piece of it runs that. out: zeros. NULL:
   * nothing. */
  wk_status (*adapt)(const wk_instance *t, wk_module *m, wk_adaptation *out);
  /* True: the node stays whole if this target gets it. NULL: no operator is claimed. */
  bool (*claims)(const wk_instance *t, const wk_graph *g, const wk_node *n);
  /* For documents: true when the target has code for some form of the operator, of a graph or an
   * instruction; *note (static) says what it asks for ("": nothing), or why it has none. NULL: it
   * has code for all. */
  bool (*covers)(wk_op op, const char **note);
  /* False: the target, which could run a node, could not run what fusion would make of it: `fused`,
   * no node of the graph, but its operands and results are values of it. NULL: every fusion is
   * fine. */
  bool (*fuses)(const wk_instance *t, const wk_graph *g, const wk_node *fused);
  /* True when the target has code for the node, primitive or claimed; else *reason says why not
   * (static, or in the arena). Bodies of control flow are asked for node by node. */
  bool (*supports)(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                   const char **reason);
  /* False: compile could not make code of a part of this graph, although it supports every node of
   * it: a tensor lies otherwise than alone, say, or a memory is too small. The model is cut again,
   * and without *node, or what that was made of, which goes to the next target with this *reason
   * (static, or in the arena); WK_NONE: without any of its nodes. What no answer was false for is
   * compiled. Parts that have nothing but nodes named "layout" are not asked for. NULL: what it
   * supports it can have in every part. */
  bool (*admits)(const wk_instance *t, const wk_graph *part, wk_arena *a, wk_node_id *node,
                 const char **reason);
  /* NULL: row-major, on WICK_ALIGN. part may be NULL: any. */
  wk_wish (*wish)(const wk_instance *t, const wk_graph *part);
  /* Layout of value v of g where it enters (or, is_output, leaves) a part of this target. NULL, or
   * false: row-major. The part's graph then has the tensor as it lies, with transpose, reshape and
   * slice behind its inputs and pad, reshape and transpose before its outputs, all named "layout",
   * which the target recognises as what it asked for. Where two sides of an edge differ it is
   * converted (see converts), in a part of its own if neither side is the host's. The host has no
   * layouts. */
  bool (*edge)(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
               wk_edge_layout *out);
  /* What it would take this target, in picoseconds and with the start of a part, to turn a tensor
   * of type v that lies as `from` into one that lies as `to`. Both sides of an edge are asked, and
   * the host; who takes least gets a part that has nothing but nodes named "layout", the host among
   * equals. False, or NULL: it does not convert. A host with NULL takes what its rates say. */
  bool (*converts)(const wk_instance *t, const wk_type *v, const wk_edge_layout *from,
                   const wk_edge_layout *to, double *cost);
  /* Adds a unit with the code of these parts to the package; row[i] receives the number of parts[i]
   * there. result is filled. */
  wk_status (*compile)(const wk_instance *t, const wk_target_part *parts, size_t n,
                       const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                       wk_emit_result *result);
};

/* In place of a pattern: see host_at_ends. */
#define WK_TARGET_ENDS "@ends"

/* Operators that the user has put somewhere. */
typedef struct {
  const char *pattern; /* of their names, as the shell has it: "layer1.*" */
  uint32_t target;     /* position among the instances */
} wk_target_pin;

/* Instances in order of preference. */
typedef struct {
  wk_instance *const *list;
  size_t n;
  bool has_host; /* the last one is: it has code for every primitive */
  bool host_by_pin;  /* it gets what is pinned to it and nothing else */
  bool host_at_ends; /* with host_by_pin: and what nobody else takes, multiplies nothing, and stands
                        before the first product or behind the last operator of the others, with
                        what that needs */
  const char *host_name; /* of the host, listed or not, for messages; NULL: there is none */
  const wk_target_pin *pins; /* the last that fits counts */
  size_t n_pins;
} wk_targets;

/* What messages call an instance: "accel", "accel:tiny" where there are several of the kind,
 * "accel:tiny#2" where there are several of these. */
typedef struct { char s[128]; } wk_instance_name;
wk_instance_name wk_targets_name(const wk_targets *all, uint32_t i);
wk_target_cost wk_targets_cost(const wk_targets *all, uint32_t i);
/* Where the user has put a node; WK_NONE: nowhere in particular. */
uint32_t wk_targets_pinned(const wk_targets *all, const wk_node *n);

#endif
