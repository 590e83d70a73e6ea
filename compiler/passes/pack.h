/* SPDX-License-Identifier: Apache-2.0
 * Private to passes/: constants that hold several elements in a byte. */
#ifndef WICK_PASSES_PACK_H
#define WICK_PASSES_PACK_H

#include "compiler/passes/pass.h"

#define WK_PACK_LEAST 1024 /* elements; below, taking them apart costs more than is won */

/* A constant that can be packed and is large enough. */
bool wk_is_worth_packing(const wk_value *v);
/* Whether it reads bytes as pack-constants writes them. */
bool wk_takes_apart(const wk_expr *e);

#endif
