/* SPDX-License-Identifier: Apache-2.0
 * widths: whether a part computes its images in pieces of their width. */
#ifndef WICK_ACCEL_WIDTHS_H
#define WICK_ACCEL_WIDTHS_H

#include "targets/accel/compile/compile.h"

/* The graph with images in pieces (adapt.h: wk_accel_part_width), in a module of its own, which is
 * the caller's; NULL: there is nothing to cut. */
wk_status wk_accel_cut_width(const wk_machine *m, const wk_graph *g, wk_module **out) WK_MUST_CHECK;
/* The same of a part, where the schedule model has it faster. */
wk_status wk_accel_choose_width(const wk_machine *m, const wk_sched_options *o, const wk_graph *g,
                                wk_module **out) WK_MUST_CHECK;

#endif
