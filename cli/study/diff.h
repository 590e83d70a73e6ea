/* SPDX-License-Identifier: Apache-2.0
 * What `wick diff` reads and compares.
 *
 *   diff_read.c  two files of `wick sim --json` as rows
 *   cmd_diff.c   options, tables */
#ifndef WICK_CLI_STUDY_DIFF_H
#define WICK_CLI_STUDY_DIFF_H

#include <jansson.h>

#include "cli/study/causes.h"

/* The kind and the version that --json of `wick sim` begins with. The version changes with the
 * meaning or the name of a value; new values do not change it. */
#define WK_SIM_JSON_KIND "sim"
#define WK_SIM_JSON_VERSION 3

/* name in the JSON, heading, what it is */
#define WK_DIFF_VALUES(X)                                                    \
  X(cycles, "cycles")                                                        \
  X(exposed, "exposed")                                                      \
  X(read, "read")                                                            \
  X(written, "written")

typedef enum {
#define WK_X(name, heading) WK_DIFF_##name,
  WK_DIFF_VALUES(WK_X)
#undef WK_X
  WK_DIFF_COUNT
} wk_diff_value;
extern const char *const wk_diff_names[WK_DIFF_COUNT];

/* A layer, or a part as a whole, in either file. */
typedef struct {
  bool is_there;
  int64_t values[WK_DIFF_COUNT], causes[WK_CAUSE_COUNT];
} wk_diff_side;

typedef struct {
  const char *part, *layer; /* layer: NULL of a part as a whole. "" is the part of a stream */
  wk_diff_side side[2];
} wk_diff_row;

typedef struct {
  wk_arena *arena;
  json_t *root[2];
  WK_VEC(wk_diff_row) parts, layers;
  bool has_causes; /* both files have them */
} wk_diff_runs;

/* WK_INPUT when a file is no JSON, or not of this kind and version. Free also after an error. */
wk_status wk_diff_read(const char *const paths[2], wk_diff_runs *out) WK_MUST_CHECK;
void wk_diff_free(wk_diff_runs *d);

/* The machine of the first part. */
const json_t *wk_diff_machine(const wk_diff_runs *d, int side);

#endif
