/* SPDX-License-Identifier: Apache-2.0
 * Lists of token ids. */
#ifndef WICK_GENERATE_IDS_H
#define WICK_GENERATE_IDS_H

#include "compiler/support/support.h"

typedef WK_VEC(int64_t) wk_ids; /* wk_vec_free */

/* Appends the ids of a text, with blanks, commas or line ends between them, none of them negative.
 * WK_INPUT: something else stands there; the place is that, with the line. */
wk_status wk_ids_parse(const char *text, size_t n, const char *place, wk_ids *out) WK_MUST_CHECK;
/* Appends what is in a file: such a text, or integers of one axis as .npy; "-": a text from
 * standard input. */
wk_status wk_ids_read(const char *path, wk_ids *out) WK_MUST_CHECK;
bool wk_ids_has(const wk_ids *ids, int64_t id);

#endif
