/* SPDX-License-Identifier: Apache-2.0
 * spans: a schedule as a run that is expected, for charge.h, causes.h and what_if.h:
 *
 *   wk_sched_span *spans = wk_sched_spans_of(net, steps, &at, a);
 *   wk_sched_run run = wk_sched_run_of(net, steps, &at, spans, a);
 *   wk_sched_causes_of(&run, &causes);
 *   wk_sched_causes_print(&text, &causes, net->layers, net->n_layers); */
#ifndef WICK_STREAM_SPANS_H
#define WICK_STREAM_SPANS_H

#include "compiler/stream/schedule.h"
#include "compiler/stream/what_if.h"

/* Of the steps as they stand in the stream, in the arena: their times, queues and layers, who
 * released whom, which loads bring constants, and how long memory is busy with transfers. What the
 * first engine needs (array, drain) the caller adds, if its commands overlap. */
wk_sched_span *wk_sched_spans_of(const wk_sched_net *net, const wk_sched_steps *s,
                                 const wk_sched_schedule *at, wk_arena *a);
/* With the machine's latencies. What it is of stays as it is while it is used. */
wk_sched_run wk_sched_run_of(const wk_sched_net *net, const wk_sched_steps *s,
                             const wk_sched_schedule *at, const wk_sched_span *spans,
                             wk_arena *a);
/* What they need of each other, and what they only wait for because of where buffers and tensors
 * lie. */
void wk_sched_needs_of(const wk_sched_run *r, const wk_sched_steps *s, const wk_sched_schedule *at,
                       wk_sched_needs *out);

#endif
