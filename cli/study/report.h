/* SPDX-License-Identifier: Apache-2.0
 * `wick sim --html`, one file that a browser shows without a network. The page
 * (report/) draws what --json has of each run, and beside it:
 *
 *   report_time.c    "timeline": the commands in time
 *   report_space.c   "space": what lies in the scratchpad, and when
 *   report.c         the page around them */
#ifndef WICK_CLI_STUDY_REPORT_H
#define WICK_CLI_STUDY_REPORT_H

#include <jansson.h>

#include "cli/study/sim.h"

/* Of every command, in stream order, numbers with spaces between them:
 *   queues, opcodes (an index of "names"), operators
 *   starts   cycle, less that of the command before; "-" where it never ran
 *   cycles   until it retired
 *   released how many commands before it stands the one whose retirement let it start; 0: none
 *   texts    a line each; a word that stands at the same place in the line of the last command of
 *            the same opcode is left empty */
json_t *wk_report_timeline(const wk_sim_shown *x);

/* The scratchpad in blocks of `block` bytes. A block is in use from the start of the first command
 * that writes into it to the retirement of the last one that reads that, and it is the layer's
 * whose command wrote. rectangles: five numbers each: first block, blocks, cycle from, cycles,
 * operator; the cycle less that of the rectangle before. */
json_t *wk_report_space(const wk_sim_shown *x);

/* Writes the page. data: as in report/main.js. */
wk_status wk_report_write(const char *path, const char *title, const json_t *data) WK_MUST_CHECK;

/* ---- what is built in ------------------------------------------------------------------------ */

typedef struct {
  const char *name;
  const unsigned char *text; /* ends with a zero byte */
} wk_report_file;
extern const wk_report_file wk_report_files[];
extern const size_t wk_report_files_count;

#endif
