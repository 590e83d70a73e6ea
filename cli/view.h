/* SPDX-License-Identifier: Apache-2.0
 * Memory behind a view. */
#ifndef WICK_CLI_VIEW_H
#define WICK_CLI_VIEW_H

#include "compiler/ir/ir.h"

/* The elements that a view shows, as a dense tensor (malloc'ed; wk_tensor_free); base is the
 * address of its buffer. Axes of stride 0 are kept once. */
wk_status wk_view_gather(const wk_view *v, const void *base, wk_tensor *out) WK_MUST_CHECK;

#endif
