/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/study/report.h"
#include "targets/accel/check/footprint.h"

enum { BLOCKS = 256 };

/* What lies in a block. */
typedef struct {
  uint64_t from, to;
  uint32_t operator;
  bool is_used, was_read;
} content;

typedef struct {
  uint32_t block, blocks, operator;
  uint64_t from, to;
} rectangle;

typedef struct {
  content now[BLOCKS];
  WK_VEC(rectangle) list;
  uint64_t block; /* bytes */
  const wk_sched_span *span; /* of the command whose footprint it is */
  bool reads[BLOCKS], writes[BLOCKS]; /* by it */
} space;

/* ---- footprints ------------------------------------------------------------------------------ */

static void touch(void *context, wk_space where, wk_access access, const char *field,
                  uint64_t from, uint64_t length) {
  space *s = context;
  (void)field;
  if (where != WK_SPACE_SCRATCHPAD || !length) return;
  bool *touched = access == WK_ACCESS_READ ? s->reads : s->writes;
  for (uint64_t b = from / s->block; b <= (from + length - 1) / s->block && b < BLOCKS; b++)
    touched[b] = true;
}

/* Neighbours that begin and end together are one. */
static void end_block(space *s, uint32_t b) {
  const content *c = &s->now[b];
  rectangle *last = s->list.n ? &s->list.data[s->list.n - 1] : NULL;
  if (!c->is_used) return;
  if (last && last->block + last->blocks == b && last->from == c->from && last->to == c->to &&
      last->operator == c->operator)
    last->blocks++;
  else wk_vec_push(&s->list, ((rectangle){b, 1, c->operator, c->from, c->to}));
}

static void write_block(space *s, uint32_t b) {
  content *c = &s->now[b];
  if (c->is_used && !c->was_read && c->operator == s->span->operator) {
    if (s->span->retire > c->to) c->to = s->span->retire;
    return;
  }
  end_block(s, b);
  *c = (content){s->span->start, s->span->retire, s->span->operator, true, false};
}

static void read_block(space *s, uint32_t b) {
  content *c = &s->now[b];
  if (!c->is_used) return;
  c->was_read = true;
  if (s->span->retire > c->to) c->to = s->span->retire;
}

static void add_command(space *s, const wk_sim_shown *x, uint32_t i) {
  wk_isa_command c;
  if (!wk_stream_get(x->stream, i, &c)) return;
  s->span = &x->run->spans[i];
  for (int b = 0; b < BLOCKS; b++) s->reads[b] = s->writes[b] = false;
  wk_footprint(x->machine, &c, touch, s);
  for (uint32_t b = 0; b < BLOCKS; b++)
    if (s->reads[b]) read_block(s, b);
  for (uint32_t b = 0; b < BLOCKS; b++)
    if (s->writes[b]) write_block(s, b);
}

/* ---- all ------------------------------------------------------------------------------------- */

typedef struct {
  uint64_t start;
  uint32_t index;
} started;

static int by_start(const void *a, const void *b) {
  const started *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int by_from(const void *a, const void *b) {
  const rectangle *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->block < y->block ? -1 : x->block > y->block;
}

static void walk(space *s, const wk_sim_shown *x) {
  started *order = wk_xcalloc(x->run->n, sizeof *order);
  size_t n = 0;
  for (uint32_t i = 0; i < x->run->n; i++) {
    const wk_sched_span *span = &x->run->spans[i];
    if (wk_sched_has_run(span)) order[n++] = (started){span->start, i};
  }
  qsort(order, n, sizeof *order, by_start);
  for (size_t k = 0; k < n; k++) add_command(s, x, order[k].index);
  for (uint32_t b = 0; b < BLOCKS; b++) end_block(s, b);
  free(order);
}

json_t *wk_report_space(const wk_sim_shown *x) {
  space s = {.block = (uint64_t)x->machine->scratchpad / BLOCKS};
  wk_str text = {0};
  json_t *o = json_object();
  uint64_t before = 0;
  walk(&s, x);
  if (s.list.n) qsort(s.list.data, s.list.n, sizeof *s.list.data, by_from);
  for (size_t i = 0; i < s.list.n; i++) {
    const rectangle *r = &s.list.data[i];
    wk_str_printf(&text, "%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu32 " ", r->block,
                  r->blocks, r->from - before, r->to - r->from, r->operator);
    before = r->from;
  }
  json_object_set_new(o, "block", json_integer((json_int_t)s.block));
  json_object_set_new(o, "blocks", json_integer(BLOCKS));
  json_object_set_new(o, "rectangles", json_stringn(text.n ? text.s : "", text.n));
  wk_str_free(&text);
  wk_vec_free(&s.list);
  return o;
}
