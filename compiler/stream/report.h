/* SPDX-License-Identifier: Apache-2.0
 * report: where the cycles of a schedule go, for machines without a simulator of their own: the
 * modes side by side, causes, and what would be won without each. */
#ifndef WICK_STREAM_REPORT_H
#define WICK_STREAM_REPORT_H

#include "compiler/stream/search.h"
#include "compiler/stream/spans.h"

/* Adds it to the text, by the machine's schedule model, under a line with the part's name. Plans of
 * the other modes are searched. made: by these options. */
void wk_sched_report(wk_str *out, const char *part, const wk_sched_net *net,
                     const wk_sched_options *o, const wk_sched_made *made);

#endif
