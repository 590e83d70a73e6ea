/* SPDX-License-Identifier: Apache-2.0
 * The static checker of command streams. What it accepts runs to its end on every machine of the
 * description, whatever the depth of the queues and the latency of the memory, and always gives
 * the same memory:
 *
 *   - every command is well formed and stays within scratchpad, accumulators and tables;
 *   - waits refer to earlier commands only, so the oldest command that has not retired can go on;
 *   - two accesses to a byte (or accumulator entry), one of them a write, are ordered: the later
 *     command starts after the earlier one has retired;
 *   - no command writes where it reads, but for results that may replace what they are made of;
 *   - nothing is read from the scratchpad, the accumulators or the tables that no command wrote;
 *     memory is taken as it is: what an LD reads may be an image, a result, or what was there;
 *   - parameter records hold what they may hold, as far as an LD brings them from the stream's own
 *     images, where no command writes. Others are known only when the stream runs.
 *
 * It works on the encoded commands and shares no code with whatever made them. */
#ifndef WICK_ACCEL_CHECK_H
#define WICK_ACCEL_CHECK_H

#include "targets/accel/isa/stream.h"

/* s is finished (wk_stream_finish); m has its hardware and may have another memory. NULL: the
 * stream is good. Otherwise the first fault in stream order, with the command's index, name,
 * line and field, and for a hazard the other command and the wait that is missing. *waits,
 * unless NULL, is set for a good stream: the waits of all commands. */
wk_status wk_check(const wk_stream *s, const wk_machine *m, uint64_t *waits) WK_MUST_CHECK;

#endif
