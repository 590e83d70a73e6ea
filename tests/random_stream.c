/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_stream_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t stream_int(drawing *d, int64_t low, int64_t high) {
  return high > low ? wk_rng_range(&d->rng, low, high) : low;
}

bool stream_chance(drawing *d, int percent) { return stream_int(d, 0, 99) < percent; }

int64_t stream_small(drawing *d, int64_t high) {
  int64_t most = stream_chance(d, 70) && high > 4 ? 4 : high;
  return stream_int(d, 1, most);
}

int64_t stream_gap(drawing *d) {
  return stream_chance(d, 50) ? 0 : stream_int(d, 0, stream_chance(d, 50) ? 5 : 40);
}

/* ---- commands and waits ---------------------------------------------------------------------- */

stream_command stream_begin(drawing *d, int opcode) {
  const wk_isa_command_info *info = wk_isa_command_of(opcode);
  stream_command x = {.c = wk_isa_command_default(d->m, opcode)};
  while (info->queues && !(info->queues >> x.c.queue & 1))
    x.c.queue = (uint32_t)stream_int(d, 0, wk_machine_queues(d->m) - 1);
  return x;
}

void stream_uses(stream_command *x, stream_space space, bool writes, int64_t from, int64_t bytes) {
  x->boxes[x->n_boxes++] = (stream_box){space, writes, from, from + bytes};
}

static bool meet(const stream_box *a, const stream_box *b) {
  return a->space == b->space && (a->writes || b->writes) && a->from < b->end && b->from < a->end;
}

/* Sums are added in stream order, so that only a drain must be waited for. */
static bool conflict(const stream_command *earlier, const stream_command *later) {
  for (int i = 0; i < earlier->n_boxes; i++)
    for (int k = 0; k < later->n_boxes; k++) {
      const stream_box *a = &earlier->boxes[i];
      if (meet(a, &later->boxes[k]) && (a->space != BOX_ACC || earlier->drains)) return true;
    }
  return false;
}

static stream_command *command_of(drawing *d, uint32_t queue, uint32_t ordinal) {
  for (size_t i = 0; i < d->done.n; i++)
    if (d->done.data[i].c.queue == queue && d->done.data[i].ordinal == ordinal)
      return &d->done.data[i];
  return NULL;
}

static void learn(drawing *d, stream_command *x, uint32_t queue, uint32_t threshold) {
  if (!threshold) return;
  if (threshold > x->before[queue]) x->before[queue] = threshold;
  const stream_command *other = command_of(d, queue, threshold - 1);
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (other->before[q] > x->before[q]) x->before[q] = other->before[q];
}

static void wait_for(drawing *d, stream_command *x, uint32_t queue, uint32_t threshold) {
  wk_isa_wait(&x->c, (int)queue, threshold);
  learn(d, x, queue, threshold);
}

/* What the hardware orders without a wait. */
static void learn_own(drawing *d, stream_command *x) {
  uint32_t own = x->c.queue;
  if (!x->ordinal) return;
  const stream_command *last = command_of(d, own, x->ordinal - 1);
  memcpy(x->before, last->before, sizeof x->before);
  if (own == WK_QUEUE_ve) learn(d, x, own, x->ordinal);
}

static void add_waits(drawing *d, stream_command *x, bool is_minimal) {
  for (size_t i = d->done.n; i-- > 0;) {
    const stream_command *e = &d->done.data[i];
    if (!conflict(e, x) || (is_minimal && x->before[e->c.queue] > e->ordinal)) continue;
    if (e->c.queue == WK_QUEUE_ve && x->c.queue == WK_QUEUE_ve) continue;
    wait_for(d, x, e->c.queue, e->ordinal + 1);
  }
}

static void add_more_waits(drawing *d, stream_command *x) {
  for (int q = 0; q < wk_machine_queues(d->m); q++)
    if (stream_chance(d, 25)) {
      uint32_t least = x->c.wait >> q & 1 ? x->c.threshold[q] : 0;
      wait_for(d, x, (uint32_t)q, (uint32_t)stream_int(d, least, d->issued[q]));
    }
}

void stream_emit(drawing *d, stream_command *x) {
  x->ordinal = d->issued[x->c.queue];
  learn_own(d, x);
  int style = d->wait_style == 3 ? (int)stream_int(d, 0, 2) : d->wait_style;
  add_waits(d, x, style == 1);
  if (style == 2) add_more_waits(d, x);
  if (stream_chance(d, 50)) x->c.priority = (uint32_t)stream_int(d, 0, 7);
  x->c.operator=(uint32_t) stream_int(d, 0, 65535);
  d->issued[x->c.queue]++;
  wk_vec_push(&d->done, *x);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool place_in(drawing *d, int64_t from, int64_t end, int64_t bytes, int64_t align,
                     int64_t *at) {
  int64_t low = (from + align - 1) / align, high = (end - bytes) / align;
  if (end - bytes < 0 || high < low) return false;
  *at = align * (stream_chance(d, 25)   ? low
                 : stream_chance(d, 25) ? high
                                        : stream_int(d, low, high));
  return true;
}

bool stream_place_read(drawing *d, int64_t bytes, int64_t align, int64_t *at) {
  for (int i = 0; i < 8; i++) {
    const stream_slot *s = &d->slots[stream_int(d, 0, d->n_slots - 1)];
    if (place_in(d, s->from, s->end, bytes, align, at)) return true;
  }
  return place_in(d, d->arena, d->arena_end, bytes, align, at);
}

bool stream_overlaps(const stream_command *x, int64_t from, int64_t bytes) {
  for (int i = 0; i < x->n_boxes; i++) {
    const stream_box *b = &x->boxes[i];
    if (b->space == BOX_SPM && b->from < from + bytes && from < b->end) return true;
  }
  return false;
}

bool stream_place_write(drawing *d, const stream_command *x, int64_t bytes, int64_t *at) {
  for (int i = 0; i < 24; i++) {
    int k = (int)stream_int(d, 0, d->n_slots - 1);
    if (d->slots[k].kind != SLOT_DATA) continue;
    int64_t end = d->slots[k].end;
    for (int j = k + 1; j < d->n_slots && d->slots[j].kind == SLOT_DATA && stream_chance(d, 30);
         j++)
      end = d->slots[j].end;
    if (place_in(d, d->slots[k].from, end, bytes, 1, at) && !stream_overlaps(x, *at, bytes))
      return true;
  }
  return false;
}

bool stream_find_record(drawing *d, slot_kind kind, int64_t entries, stream_factors use,
                        int64_t *at) {
  for (int i = 0; i < 16; i++) {
    const stream_slot *s = &d->slots[stream_int(d, 0, d->n_slots - 1)];
    bool suits = s->kind == kind && (use != FACTORS_MUL || stream_image_is_mul(s->image)) &&
                 (use != FACTORS_SUM || !stream_image_is_wide(s->image));
    if (!suits || s->end - s->from < WK_RECORD_BYTES + WK_ENTRY_BYTES * entries) continue;
    *at = s->from;
    return true;
  }
  return false;
}

int stream_image_at(const drawing *d, int64_t record) {
  int i = 0;
  while (d->slots[i].from != record || d->slots[i].kind == SLOT_DATA) i++;
  return d->slots[i].image;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int64_t slot_bytes(drawing *d, slot_kind kind) {
  switch (kind) {
    case SLOT_EXP: return EXP_BYTES;
    case SLOT_SOFTMAX: return WK_RECORD_BYTES + WK_ENTRY_BYTES * stream_int(d, 1, 3);
    case SLOT_NORM:
    case SLOT_RECORD:
      return WK_RECORD_BYTES +
             WK_ENTRY_BYTES * stream_int(d, stream_chance(d, 80) ? d->n : 1, STREAM_IMAGE_ENTRIES);
    default: return stream_int(d, 4 * d->n, (d->arena_end - d->arena) / 4);
  }
}

static void add_slot(drawing *d, int64_t from, int64_t end, slot_kind kind) {
  if (end <= from) return;
  if (kind == SLOT_DATA && end - from < d->n && d->n_slots) { /* a scrap: nothing fits */
    stream_slot *last = &d->slots[d->n_slots - 1];
    if (last->kind == SLOT_DATA) {
      last->end = end;
      return;
    }
  }
  d->slots[d->n_slots++] = (stream_slot){from, end, kind, 0};
}

static void cut_slots(drawing *d) {
  int64_t at = d->arena;
  d->n_slots = 0;
  while (d->n_slots < STREAM_SLOTS - 4) {
    slot_kind kind = (slot_kind)stream_int(d, SLOT_DATA, SLOT_EXP);
    if (stream_chance(d, 50)) kind = SLOT_DATA;
    if (d->n_slots < 2) kind = d->n_slots ? SLOT_RECORD : SLOT_DATA;
    int64_t from = kind == SLOT_DATA ? at : (at + d->n - 1) / d->n * d->n;
    int64_t end = from + slot_bytes(d, kind);
    if (end > d->arena_end) break;
    add_slot(d, at, from, SLOT_DATA);
    add_slot(d, from, end, kind);
    at = end;
  }
  add_slot(d, at, d->arena_end, SLOT_DATA);
}

static void load_slots(drawing *d, bool with_data) {
  for (int i = 0; i < d->n_slots; i++) {
    stream_slot *s = &d->slots[i];
    if (s->kind != SLOT_DATA) stream_load_slot(d, s);
    else if (with_data) stream_fill_bytes(d, s->from, s->end);
  }
}

static void draw_arena(drawing *d) {
  int64_t bytes = d->n * stream_int(d, 200, stream_chance(d, 20) ? 2400 : 900);
  int64_t room = d->m->scratchpad - bytes;
  if (room < 0) bytes = d->m->scratchpad, room = 0;
  d->arena = stream_chance(d, 20) ? 0 : stream_chance(d, 20) ? room : stream_int(d, 0, room);
  d->arena_end = d->arena + bytes;
}

/* ---- streams --------------------------------------------------------------------------------- */

static const struct {
  bool (*draw)(drawing *d);
  int weight;
} kinds[] = {{stream_draw_ld, 9},    {stream_draw_st, 7},   {stream_draw_fill, 6},
             {stream_draw_conv, 14}, {stream_draw_dwc, 10}, {stream_draw_mm, 10},
             {stream_draw_map, 14},  {stream_draw_pool, 8}, {stream_draw_row, 8},
             {stream_draw_trn, 6},   {stream_draw_tab, 4},  {stream_draw_mark, 2}};

static void draw_one(drawing *d) {
  int total = 0;
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++) total += kinds[i].weight;
  for (int tries = 0; tries < 40; tries++) {
    int64_t at = stream_int(d, 0, total - 1);
    size_t i = 0;
    while (at >= kinds[i].weight) at -= kinds[i++].weight;
    if (kinds[i].draw(d)) return;
  }
}

static void draw_commands(drawing *d, int n) {
  load_slots(d, true);
  for (int i = 0; i < n; i++) {
    if (stream_chance(d, 3)) {
      cut_slots(d);
      load_slots(d, false);
    }
    draw_one(d);
  }
  stream_dump(d);
  stream_command end = stream_begin(d, WK_CMD_END);
  wk_vec_push(&d->done, end);
}

static void must(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  abort();
}

wk_stream *random_stream(const wk_machine *m, uint64_t seed, const random_stream_options *o) {
  wk_machine own = *m;
  own.dram_size = RANDOM_STREAM_MEMORY;
  drawing *d = wk_xcalloc(1, sizeof *d);
  char name[64];
  snprintf(name, sizeof name, "random stream %llu", (unsigned long long)seed);
  wk_stream *s = wk_stream_new(&own, name);
  *d = (drawing){.m = &s->machine, .n = m->array, .rng = {seed * 2654435761u + 12345}};
  int n = (int)stream_int(d, 4, stream_chance(d, 20) ? 90 : 30);
  d->work = stream_chance(d, 30) ? 1200 : stream_chance(d, 50) ? 300 : 80;
  if (o && o->commands) n = o->commands;
  if (o && o->work) d->work = o->work;
  d->wait_style = (int)stream_int(d, 0, 3);
  draw_arena(d);
  cut_slots(d);
  must(stream_fill_memory(d, s));
  draw_commands(d, n);
  for (size_t i = 0; i < d->done.n; i++) must(wk_stream_add(s, &d->done.data[i].c, 0));
  must(wk_stream_finish(s));
  if (stream_chance(d, 50)) { /* its first burst is shorter than others */
    s->address += (uint64_t)stream_int(d, 1, 63) * WK_STREAM_ALIGN;
    s->is_address_given = true;
    must(wk_stream_finish(s));
  }
  wk_vec_free(&d->done);
  free(d);
  return s;
}

void random_stream_put(wk_stream *s, uint32_t i, const wk_isa_command *c) {
  wk_isa_encode(c, s->bytes.data + (size_t)i * WK_COMMAND_BYTES);
}

void random_stream_serialise(wk_stream *s) {
  uint32_t issued[WK_QUEUE_COUNT] = {0};
  wk_isa_command c;
  for (uint32_t i = 0, before = 0; i < s->n; i++) {
    if (!wk_stream_get(s, i, &c) || c.opcode == WK_CMD_END) continue;
    if (i) wk_isa_wait(&c, (int)before, issued[before]);
    random_stream_put(s, i, &c);
    before = c.queue;
    issued[before]++;
  }
}

wk_stream *random_stream_copy(const wk_stream *s) {
  wk_stream *y = wk_stream_new(&s->machine, s->source);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *from = &s->regions.data[i];
    wk_image *to;
    uint8_t *data;
    must(wk_stream_region(y, from->name, from->address, from->size, &to));
    must(wk_region_fill(to, &data));
    if (from->data) memcpy(data, from->data, from->size);
  }
  for (uint32_t i = 0; i < s->n; i++) must(wk_stream_add_bytes(y, wk_stream_bytes(s, i), 0));
  y->address = s->address;
  y->is_address_given = s->is_address_given;
  must(wk_stream_finish(y));
  return y;
}
