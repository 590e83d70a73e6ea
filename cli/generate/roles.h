/* SPDX-License-Identifier: Apache-2.0
 * What each input and output of a decoder is, from the names and types that exporters give. */
#ifndef WICK_GENERATE_ROLES_H
#define WICK_GENERATE_ROLES_H

#include "compiler/pipeline/model.h"

/* T: tokens of the runs before; N: new tokens of a run. All of one text: a batch of 1. */
typedef enum {
  WK_DECODER_NONE,
  WK_DECODER_IDS,       /* the new tokens: [1,N] or [N] */
  WK_DECODER_MASK,      /* ones for T + N tokens, zeros behind them: [1,T+N], or longer */
  WK_DECODER_POSITIONS, /* T, T + 1 … T + N - 1, along the last axis */
  WK_DECODER_LAST,      /* T + N - 1 */
  WK_DECODER_TOTAL,     /* T + N */
  WK_DECODER_PAST,      /* T */
  WK_DECODER_BRANCH,    /* whether T > 0 */
  WK_DECODER_LOGITS,    /* an output: [1,N,V], [N,V], or with the last row alone */
  WK_DECODER_ROLES,     /* those that --role names are the ones above but NONE */
  WK_DECODER_CACHE,     /* takes what an output of the run before was */
  WK_DECODER_GIVEN      /* --input */
} wk_decoder_role;

/* "ids, mask, …" */
void wk_roles_list(wk_str *out);

typedef struct {
  const char *name; /* borrowed */
  wk_dtype dtype;
  int rank;         /* -1: not known */
  const char *type; /* as text, borrowed */
} wk_role_port;

typedef struct {
  const wk_role_port *in, *out; /* borrowed */
  size_t n_in, n_out;
  bool is_partial; /* inputs may be left without a role: something else is known of them */
  wk_decoder_role *roles;  /* of the inputs */
  size_t *present; /* of an input that is a cache: the output */
  size_t ids, logits;
} wk_roles;

/* in, out, n_in, n_out and is_partial of *r are the caller's, the rest is made in the arena.
 * roles: texts NAME=ROLE. given: names of inputs that have a value. WK_USAGE: an input whose role
 * is not known, or no tokens or logits; it says what to type. */
wk_status wk_roles_find(wk_roles *r, const wk_strings *roles, const wk_strings *given,
                        wk_arena *a) WK_MUST_CHECK;

#endif
