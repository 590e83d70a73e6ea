/* SPDX-License-Identifier: Apache-2.0
 * adjoints.def as a table. */
#include "compiler/grad/table.h"

/* One enumerator per row: an operator without one does not compile below. */
enum {
#define OWN(op, ...) HAS_##op,
#define STRAIGHT(op, ...) HAS_##op,
#define RULE(op, name) HAS_##op,
#define LOWER(op) HAS_##op,
#define CONSTANT(op) HAS_##op,
#define NO_PATH(op) HAS_##op,
#define NONE(op, reason) HAS_##op,
#include "compiler/grad/adjoints.def"
#undef OWN
#undef STRAIGHT
#undef RULE
#undef LOWER
#undef CONSTANT
#undef NO_PATH
#undef NONE
  HAS_COUNT
};

#define NEEDS_ELEMENTWISE(e)
#define NEEDS_INSTRUCTION(e)
#define NEEDS(e) + 0 * HAS_##e
#define NEEDS_MOVEMENT NEEDS
#define NEEDS_CONTRACTION NEEDS
#define NEEDS_POOL NEEDS
#define NEEDS_REDUCTION NEEDS
#define NEEDS_NORMALISATION NEEDS
#define NEEDS_INDEXING NEEDS
#define NEEDS_LINALG NEEDS
#define NEEDS_RECURRENT NEEDS
#define NEEDS_CONTROL NEEDS
#define NEEDS_RANDOM NEEDS
#define NEEDS_CUSTOM NEEDS
#define NEEDS_PRIMITIVE NEEDS
_Static_assert(HAS_COUNT
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) NEEDS_##cls(e)
#include "compiler/ir/ops.def"
#undef OP
                   > 0,
               "every operator that is not elementwise has a row");

static const wk_adjoint_row rows[WK_OP_COUNT] = {
#define OWN(op, ...) [WK_OP_##op] = {WK_ADJOINT_OWN, NULL, {__VA_ARGS__}, ""},
#define STRAIGHT(op, ...) [WK_OP_##op] = {WK_ADJOINT_STRAIGHT, NULL, {__VA_ARGS__}, ""},
#define RULE(op, name) [WK_OP_##op] = {WK_ADJOINT_RULE, wk_adjoint_##name, {NULL}, ""},
#define LOWER(op) [WK_OP_##op] = {WK_ADJOINT_LOWER, NULL, {NULL}, ""},
#define CONSTANT(op) [WK_OP_##op] = {WK_ADJOINT_CONSTANT, NULL, {NULL}, ""},
#define NO_PATH(op) [WK_OP_##op] = {WK_ADJOINT_NO_PATH, NULL, {NULL}, ""},
#define NONE(op, reason) [WK_OP_##op] = {WK_ADJOINT_NONE, NULL, {NULL}, reason},
#include "compiler/grad/adjoints.def"
#undef OWN
#undef STRAIGHT
#undef RULE
#undef LOWER
#undef CONSTANT
#undef NO_PATH
#undef NONE
};

static const wk_adjoint_row by_definition = {WK_ADJOINT_EXPRESSION, wk_adjoint_elementwise, {NULL},
                                             ""};

const wk_adjoint_row *wk_adjoint_row_of(wk_op op) {
  return rows[op].note ? &rows[op] : &by_definition;
}

wk_adjoint_kind wk_adjoint_of(wk_op op, const char **note) {
  const wk_adjoint_row *r = wk_adjoint_row_of(op);
  *note = r->note;
  return r->kind;
}

const char *wk_adjoint_kind_name(wk_adjoint_kind k) {
  static const char *const names[] = {"definition", "own expression", "straight through",
                                      "rule", "primitives", "constant", "no path", "none"};
  return names[k];
}
