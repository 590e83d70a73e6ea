/* SPDX-License-Identifier: Apache-2.0
 * LD, ST and FILL. */
#include "tests/random_stream_draw.h"

/* ---- patterns -------------------------------------------------------------------------------- */

static int64_t draw_divisor(drawing *d, int64_t total) {
  int64_t c0 = stream_int(d, 1, stream_chance(d, 50) && total > 40 ? 40 : total);
  if (stream_chance(d, 20)) return total;
  while (total % c0) c0--;
  return c0;
}

/* The scratchpad's side of a transfer; how far it reaches. Chunks may meet when it is read. */
static int64_t draw_chunks(drawing *d, int64_t *v, int64_t total, bool may_meet) {
  int64_t c0 = draw_divisor(d, total), chunks = total / c0;
  while (chunks > 3000) c0 *= 2, c0 = total % c0 ? total : c0, chunks = total / c0;
  int64_t c1 =
      stream_chance(d, 20) ? stream_int(d, 1, 4095) : stream_int(d, 1, chunks > 20 ? 20 : chunks);
  int64_t lines = (chunks + c1 - 1) / c1, gap = chunks > 200 ? 0 : stream_gap(d);
  v[WK_LD_c0] = c0;
  v[WK_LD_c1] = c1;
  if (stream_chance(d, 20)) { /* lines close, chunks of a line apart */
    v[WK_LD_p2] = c0 + gap;
    v[WK_LD_p1] = lines * v[WK_LD_p2];
  } else {
    v[WK_LD_p1] = c0 + gap;
    v[WK_LD_p2] = (c1 < chunks ? c1 : chunks) * v[WK_LD_p1] + (lines > 50 ? 0 : stream_gap(d));
  }
  if (may_meet && stream_chance(d, 15)) v[WK_LD_p1] = stream_int(d, 0, c0);
  if (may_meet && stream_chance(d, 15)) v[WK_LD_p2] = stream_int(d, 0, 2 * c0);
  int64_t most = 0;
  for (int64_t i = 0; i < chunks; i++) {
    int64_t end = i / c1 * v[WK_LD_p2] + i % c1 * v[WK_LD_p1] + c0;
    if (end > most) most = end;
  }
  return most;
}

/* The memory's side; how far it reaches. Runs may meet when they are read. */
static int64_t draw_runs(drawing *d, int64_t *v, bool may_meet) {
  v[WK_LD_s1] = v[WK_LD_n0] + stream_gap(d);
  v[WK_LD_s2] = v[WK_LD_n1] * v[WK_LD_s1] + stream_gap(d);
  v[WK_LD_s3] = v[WK_LD_n2] * v[WK_LD_s2] + stream_gap(d);
  if (stream_chance(d, 20)) { /* groups close, runs apart */
    v[WK_LD_s3] = v[WK_LD_n0] + stream_gap(d);
    v[WK_LD_s2] = v[WK_LD_n3] * v[WK_LD_s3] + stream_gap(d);
    v[WK_LD_s1] = v[WK_LD_n2] * v[WK_LD_s2];
  }
  for (int f = WK_LD_s1; may_meet && f <= WK_LD_s3; f++)
    if (stream_chance(d, 10)) v[f] = stream_int(d, 0, v[WK_LD_n0]);
  return (v[WK_LD_n1] - 1) * v[WK_LD_s1] + (v[WK_LD_n2] - 1) * v[WK_LD_s2] +
         (v[WK_LD_n3] - 1) * v[WK_LD_s3] + v[WK_LD_n0];
}

static int64_t draw_counts(drawing *d, int64_t *v) {
  int64_t bytes = 4 * d->work;
  if (stream_chance(d, 70)) v[WK_LD_n1] = stream_int(d, 1, 12);
  if (stream_chance(d, 40)) v[WK_LD_n2] = stream_int(d, 1, 5);
  if (stream_chance(d, 30)) v[WK_LD_n3] = stream_int(d, 1, 4);
  int64_t runs = v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3];
  v[WK_LD_n0] = stream_int(d, 1, bytes / runs + 1);
  return runs * v[WK_LD_n0];
}

static bool place_memory(drawing *d, stream_command *x, int64_t bytes, bool is_store) {
  bool of_out = is_store || stream_chance(d, 30);
  int64_t from = of_out ? d->out : d->data, size = of_out ? d->out_size : d->data_size;
  if (bytes > size) return false;
  int64_t at = from + stream_int(d, 0, size - bytes);
  if (of_out && bytes < 4000 && stream_chance(d, 60)) at = from + stream_int(d, 0, 4000 - bytes);
  x->c.v[WK_LD_dram] = at;
  stream_uses(x, BOX_DRAM, is_store, at, bytes);
  return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

bool stream_draw_ld(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_LD);
  int64_t *v = x.c.v, total = draw_counts(d, v), inside = draw_chunks(d, v, total, false), at;
  if (!place_memory(d, &x, draw_runs(d, v, true), false)) return false;
  if (!stream_place_write(d, &x, inside, &at)) return false;
  v[WK_LD_spm] = at;
  stream_uses(&x, BOX_SPM, true, at, inside);
  stream_emit(d, &x);
  return true;
}

bool stream_draw_st(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_ST);
  int64_t *v = x.c.v, total = draw_counts(d, v), inside = draw_chunks(d, v, total, true), at;
  if (!place_memory(d, &x, draw_runs(d, v, false), true)) return false;
  if (!stream_place_read(d, inside, 1, &at)) return false;
  v[WK_ST_spm] = at;
  stream_uses(&x, BOX_SPM, false, at, inside);
  stream_emit(d, &x);
  return true;
}

bool stream_draw_fill(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_FILL);
  int64_t *v = x.c.v, at;
  v[WK_FILL_value] = stream_chance(d, 30) ? 0 : stream_int(d, 0, 255);
  v[WK_FILL_c0] = stream_int(d, 1, stream_chance(d, 70) ? 3 * d->n : 2 * d->work);
  if (stream_chance(d, 60)) v[WK_FILL_c1] = stream_int(d, 1, 8);
  if (stream_chance(d, 40)) v[WK_FILL_c2] = stream_int(d, 1, 6);
  v[WK_FILL_p1] = v[WK_FILL_c0] + stream_gap(d);
  v[WK_FILL_p2] = v[WK_FILL_c1] * v[WK_FILL_p1] + stream_gap(d);
  if (stream_chance(d, 15)) v[WK_FILL_p1] = stream_int(d, 0, v[WK_FILL_c0]);
  if (stream_chance(d, 15)) v[WK_FILL_p2] = stream_int(d, 0, 60);
  int64_t bytes =
      (v[WK_FILL_c2] - 1) * v[WK_FILL_p2] + (v[WK_FILL_c1] - 1) * v[WK_FILL_p1] + v[WK_FILL_c0];
  if (!stream_place_write(d, &x, bytes, &at)) return false;
  v[WK_FILL_spm] = at;
  stream_uses(&x, BOX_SPM, true, at, bytes);
  stream_emit(d, &x);
  return true;
}

/* ---- the beginning and the end --------------------------------------------------------------- */

/* One line of bytes, by LD or ST. */
static void move_bytes(drawing *d, int opcode, int64_t dram, int64_t spm, int64_t bytes) {
  stream_command x = stream_begin(d, opcode);
  x.c.v[WK_LD_dram] = dram;
  x.c.v[WK_LD_n0] = x.c.v[WK_LD_c0] = bytes;
  x.c.v[WK_LD_spm] = spm;
  stream_uses(&x, BOX_DRAM, opcode == WK_CMD_ST, dram, bytes);
  stream_uses(&x, BOX_SPM, opcode == WK_CMD_LD, spm, bytes);
  stream_emit(d, &x);
}

static void fill_line(drawing *d, int64_t from, int64_t bytes) {
  stream_command x = stream_begin(d, WK_CMD_FILL);
  x.c.v[WK_FILL_value] = stream_int(d, 0, 255);
  x.c.v[WK_FILL_spm] = from;
  x.c.v[WK_FILL_c0] = bytes;
  stream_uses(&x, BOX_SPM, true, from, bytes);
  stream_emit(d, &x);
}

void stream_fill_bytes(drawing *d, int64_t from, int64_t end) {
  while (from < end) {
    int64_t bytes = stream_int(d, 1 + (end - from) / 2, end - from);
    if (stream_chance(d, 60)) bytes = end - from;
    if (bytes > d->data_size) bytes = d->data_size;
    if (stream_chance(d, 20)) fill_line(d, from, bytes);
    else move_bytes(d, WK_CMD_LD, d->data + stream_int(d, 0, d->data_size - bytes), from, bytes);
    from += bytes;
  }
}

void stream_load_slot(drawing *d, stream_slot *slot) {
  int64_t dram = d->exps;
  if (slot->kind != SLOT_EXP) {
    do slot->image = (int)stream_int(d, 0, STREAM_IMAGES - 1);
    while (stream_image_kind(slot->image) != slot->kind);
    dram = stream_image_address(d, slot->image);
  }
  move_bytes(d, WK_CMD_LD, dram, slot->from, slot->end - slot->from);
}

void stream_dump(drawing *d) {
  int64_t from = d->arena;
  while (from < d->arena_end) {
    int64_t bytes = stream_int(d, (d->arena_end - from + 2) / 3, d->arena_end - from);
    move_bytes(d, WK_CMD_ST, d->dump + from - d->arena, from, bytes);
    from += bytes;
  }
}
