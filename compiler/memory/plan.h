/* SPDX-License-Identifier: Apache-2.0
 * plan: memory placement. Every buffer has a size, an alignment and a lifetime [lower, upper) in
 * schedule time; placement gives it an offset such that no two buffers that live at the same time
 * share a byte, and keeps the highest used byte (the peak) small.
 *
 *   wk_plan          offsets: greedy first, exact search where greedy misses the lower bound
 *   wk_plan_bound    the lower bound alone
 *   wk_plan_check    independent verification (shares no code with the planner)
 *   wk_plan_table    the public `id,lower,upper,size` CSV, read and written
 *   wk_plan_file     `wick plan`: read, place, check, summarise, write
 *
 * Sizes and offsets are bytes. All is deterministic: budgets count work, never time. */
#ifndef WICK_MEMORY_PLAN_H
#define WICK_MEMORY_PLAN_H

#include "compiler/support/support.h"

/* A buffer whose size is 0 or whose lifetime is empty occupies nothing: it gets offset 0 (or
 * `fixed`) and takes part in no check but that of its alignment. */
typedef struct {
  int64_t size;         /* bytes, >= 0 */
  int64_t align;        /* offset is a multiple of it, >= 1; any number, not only powers of two */
  int64_t lower, upper; /* live in [lower, upper), lower <= upper */
  int64_t offset;       /* the result */
  int64_t fixed;        /* >= 0: the offset is given (a multiple of align); -1: free */
} wk_plan_item;

/* Search budgets that suit a compilation (about a second when all of it is spent on 1000 buffers)
 * and a placement run on its own (some ten seconds). */
#define WK_PLAN_EFFORT 20000
#define WK_PLAN_EFFORT_ALONE 400000

typedef struct {
  int64_t capacity; /* bytes; 0 = unlimited: minimise the peak */
  int64_t effort;   /* search node budget; 0 = greedy only */
} wk_plan_options;

typedef struct {
  int64_t bound; /* wk_plan_bound */
  int64_t peak;  /* highest used byte + 1, sizes padded to their alignment */
  int64_t nodes; /* search nodes: placements and exclusions tried, + 1 per 4096 entries visited */
  bool optimal;  /* no placement has a lower peak (at the bound, or proved by exhausted search) */
} wk_plan_result;

/* Sets items[].offset. `options` NULL = {0, WK_PLAN_EFFORT}. Errors:
 *   WK_INPUT     an item is malformed, or two fixed items collide (named by index)
 *   WK_RESOURCE  the padded sizes overflow, or too many lifetimes intersect
 *   WK_FAILED    not placed within the capacity; the message says whether that is proved. Offsets
 *                and *result then hold the best placement found, which exceeds the capacity. */
wk_status wk_plan(wk_plan_item *items, size_t n, const wk_plan_options *options,
                  wk_plan_result *result) WK_MUST_CHECK;

/* The largest sum of bytes live at one time, each size padded to its alignment: no placement of
 * padded sizes has a lower peak. -1 when an item is malformed or the sum overflows. */
int64_t wk_plan_bound(const wk_plan_item *items, size_t n);

/* WK_INTERNAL, naming the items by index, unless: offsets are aligned, non-negative, equal to
 * `fixed` where that is given; live items end within `capacity` (0 = no limit); and no two of them
 * whose lifetimes intersect share a byte. */
wk_status wk_plan_check(const wk_plan_item *items, size_t n, int64_t capacity) WK_MUST_CHECK;

/* ---- CSV ---------------------------------------------------------------------------------- */

/* The format of public allocator benchmarks (MiniMalloc): a header line that names the columns in
 * any order, then one buffer per line. Needed: id, lower, upper, size. Known: alignment, offset.
 * Others are ignored. Spaces around fields, CRLF, blank lines, a byte-order mark are accepted. */
typedef struct {
  size_t n;
  wk_plan_item *items; /* align is 1 and offset 0 where there is no such column */
  const char **ids;
  bool has_alignment, has_offset;
  wk_arena *arena; /* owns everything above */
} wk_plan_table;

/* `name` stands before the line number in errors (WK_INPUT, place "name:line"). On error *out is
 * empty. The text may be released afterwards. */
wk_status wk_plan_table_parse(const char *name, const char *text, size_t size,
                              wk_plan_table *out) WK_MUST_CHECK;
wk_status wk_plan_table_read(const char *path, wk_plan_table *out) WK_MUST_CHECK;
/* id,lower,upper,size[,alignment],offset */
void wk_plan_table_format(const wk_plan_table *t, wk_str *out);
wk_status wk_plan_table_write(const wk_plan_table *t, const char *path) WK_MUST_CHECK;
void wk_plan_table_free(wk_plan_table *t); /* an empty (zeroed) table is ok */

/* The core of `wick plan FILE.csv`: reads, places, checks, appends a summary (buffers, bound, peak,
 * ratio, nodes, whether optimal) to *summary and writes the table with offsets to `out_path` (NULL
 * = nowhere). `capacity` 0 = minimise the peak. The summary is also there when WK_FAILED says that
 * the buffers do not fit; no file is written then. */
wk_status wk_plan_file(const char *path, int64_t capacity, wk_str *summary,
                       const char *out_path) WK_MUST_CHECK;

#endif
