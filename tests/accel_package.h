/* SPDX-License-Identifier: Apache-2.0
 * Packages with parts for the accelerator, made from the text of streams. Regions "constants" and
 * "work" are those segments; others are the part's inputs and, marked as results, its outputs, in
 * order, of int8. */
#ifndef WICK_TESTS_ACCEL_PACKAGE_H
#define WICK_TESTS_ACCEL_PACKAGE_H

#include <stdlib.h>
#include <string.h>

#include "compiler/package/package.h"
#include "targets/accel/isa/parts.h"
#include "targets/accel/isa/unit_read.h"

enum { ACCEL_PARTS_MAX = 8, ACCEL_IO_MAX = 8, ACCEL_LAYERS_MAX = 64 };

typedef struct {
  wk_accel_io io[ACCEL_IO_MAX];
  size_t n_in, n_io;
} accel_part_io;

typedef struct {
  wk_machine machine;
  WK_VEC(uint8_t) commands, segments, constants;
  WK_VEC(wk_accel_part) parts;
  WK_VEC(wk_accel_layer) layers;
  WK_VEC(wk_accel_least) least;
  WK_VEC(wk_accel_cuts) cuts; /* none known */
  WK_VEC(uint32_t) results;
  WK_VEC(wk_accel_window) places;
  WK_VEC(uint32_t) pitches;
  WK_VEC(wk_accel_value) values;
  wk_str machine_text, texts;
  accel_part_io io[ACCEL_PARTS_MAX];
  bool has_steps; /* each layer is one, without tensors */
} accel_unit_data;

static inline void accel_unit_free(accel_unit_data *u) {
  wk_vec_free(&u->commands);
  wk_vec_free(&u->segments);
  wk_vec_free(&u->constants);
  wk_vec_free(&u->parts);
  wk_vec_free(&u->layers);
  wk_vec_free(&u->least);
  wk_vec_free(&u->cuts);
  wk_vec_free(&u->results);
  wk_vec_free(&u->places);
  wk_vec_free(&u->pitches);
  wk_vec_free(&u->values);
  wk_str_free(&u->machine_text);
  wk_str_free(&u->texts);
}

static inline uint32_t accel_add_text(accel_unit_data *u, const char *s) {
  uint32_t at = (uint32_t)u->texts.n;
  wk_str_addn(&u->texts, s, strlen(s) + 1);
  return at;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* By region of the stream; inputs come before outputs. */
static inline void accel_number_regions(const wk_stream *s, accel_part_io *io, uint8_t *segment) {
  for (int outputs = 0; outputs < 2; outputs++)
    for (size_t i = 0; i < s->regions.n; i++) {
      const wk_image *r = &s->regions.data[i];
      bool is_const = !strcmp(r->name, "constants"), is_work = !strcmp(r->name, "work");
      if (is_const || is_work) segment[i] = is_const ? WK_SEGMENT_CONST : WK_SEGMENT_WORK;
      if (is_const || is_work || r->is_output != (outputs == 1)) continue;
      segment[i] = (uint8_t)(WK_SEGMENT_IO + io->n_io);
      io->io[io->n_io++] = (wk_accel_io){r->name, r->size, r->is_output};
      io->n_in += !r->is_output;
    }
}

static inline void accel_add_command(accel_unit_data *u, const wk_stream *s, uint32_t i,
                                     const uint8_t *segment, const uint64_t *base) {
  uint8_t number = WK_SEGMENT_NONE, bytes[WK_COMMAND_BYTES];
  wk_isa_command c;
  (void)wk_stream_get(s, i, &c);
  for (size_t k = 0; k < s->regions.n && (c.opcode == WK_CMD_LD || c.opcode == WK_CMD_ST); k++) {
    const wk_image *r = &s->regions.data[k];
    uint64_t dram = WK_V(&c, LD, dram);
    if (number != WK_SEGMENT_NONE || dram < r->address || dram >= r->address + r->size) continue;
    c.v[WK_LD_dram] += (int64_t)base[k] - (int64_t)r->address;
    number = segment[k];
  }
  wk_isa_encode(&c, bytes);
  for (int k = 0; k < WK_COMMAND_BYTES; k++) wk_vec_push(&u->commands, bytes[k]);
  wk_vec_push(&u->segments, number);
  wk_vec_push(&u->results, 0);
}

/* Of CONV and DWC with one tap, which test streams have. */
static inline void accel_count_work(accel_unit_data *u, wk_accel_layer *l, const wk_stream *s,
                                    uint32_t operator) {
  uint64_t n = (uint64_t)s->machine.array;
  for (uint32_t i = 0; i < s->n; i++) {
    wk_isa_command c;
    (void)wk_stream_get(s, i, &c);
    if (c.operator != operator) continue;
    if (c.opcode == WK_CMD_CONV) {
      uint64_t pixels = WK_V(&c, CONV, ny) * WK_V(&c, CONV, nx);
      l->macs += pixels * n * n;
      l->ex += pixels;
      l->drain += pixels;
    }
    uint64_t bytes = wk_transfer_bytes(&c);
    if (c.opcode == WK_CMD_LD) l->loaded += bytes;
    if (c.opcode == WK_CMD_ST) l->stored += bytes;
  }
  l->compulsory = l->loaded + l->stored;
  const wk_accel_least of = {.ex = l->ex, .drain = l->drain, .in = l->loaded, .out = l->stored};
  wk_vec_push(&u->least, of);
  const wk_accel_cuts none = {.before = WK_ACCEL_NO_CUT};
  wk_vec_push(&u->cuts, none);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* The stream as one more part, with a layer for each of its operators; the stream stays until the
 * package has been made. */
static inline void accel_add_part(accel_unit_data *u, const wk_stream *s) {
  uint8_t segment[ACCEL_IO_MAX + 2];
  uint64_t base[ACCEL_IO_MAX + 2] = {0};
  accel_part_io *io = &u->io[u->parts.n];
  wk_accel_part p = {.first_command = (uint32_t)u->segments.n, .commands = s->n,
                     .first_layer = (uint32_t)u->layers.n,
                     .marks = (uint32_t)(wk_stream_mark_bytes(s) / WK_MARK_BYTES)};
  u->machine = s->machine;
  accel_number_regions(s, io, segment);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    if (segment[i] == WK_SEGMENT_WORK) p.work_bytes = r->size;
    if (segment[i] != WK_SEGMENT_CONST) continue;
    while (u->constants.n % WK_STREAM_ALIGN) wk_vec_push(&u->constants, 0);
    base[i] = u->constants.n;
    for (uint64_t k = 0; k < r->size; k++)
      wk_vec_push(&u->constants, (uint8_t)(r->data ? r->data[k] : 0));
  }
  for (uint32_t i = 0; i < s->n; i++) {
    wk_isa_command c;
    accel_add_command(u, s, i, segment, base);
    (void)wk_stream_get(s, i, &c);
    if (c.operator > p.layers) p.layers = c.operator;
  }
  for (uint32_t i = 0; i < p.layers; i++) {
    char name[32];
    snprintf(name, sizeof name, "layer%zu", u->layers.n + 1);
    wk_accel_layer l = {.name = accel_add_text(u, name), .op = accel_add_text(u, "test"),
                        .group = i, .mark = UINT32_MAX};
    accel_count_work(u, &l, s, i + 1);
    wk_vec_push(&u->layers, l);
  }
  wk_vec_push(&u->parts, p);
}

static inline void accel_fill_tensor(wk_package_tensor *t, int64_t *dims, const wk_accel_io *io) {
  dims[0] = (int64_t)io->bytes;
  *t = (wk_package_tensor){.name = io->name, .dtype = WICK_I8, .rank = 1, .dims = dims};
}

/* As they are in a package; CONST, which a package makes itself, first. */
enum { ACCEL_SECTIONS = 13 };
static inline void accel_list_sections(const accel_unit_data *u,
                                       wk_accel_section out[ACCEL_SECTIONS]) {
  const wk_accel_section all[ACCEL_SECTIONS] = {
      {WK_ACCEL_CONST, u->constants.data, u->constants.n},
      {WK_ACCEL_MACHINE, u->machine_text.s, u->machine_text.n},
      {WK_ACCEL_COMMANDS, u->commands.data, u->commands.n},
      {WK_ACCEL_SEGMENTS, u->segments.data, u->segments.n},
      {WK_ACCEL_PARTS, u->parts.data, u->parts.n * sizeof *u->parts.data},
      {WK_ACCEL_LAYERS, u->layers.data, u->layers.n * sizeof *u->layers.data},
      {WK_ACCEL_TEXTS, u->texts.s, u->texts.n},
      {WK_ACCEL_RESULTS, u->results.data, u->results.n * sizeof *u->results.data},
      {WK_ACCEL_PLACES, u->places.data, u->places.n * sizeof *u->places.data},
      {WK_ACCEL_VALUES, u->values.data, u->values.n * sizeof *u->values.data},
      {WK_ACCEL_LEAST, u->least.data, u->least.n * sizeof *u->least.data},
      {WK_ACCEL_CUTS, u->cuts.data, u->cuts.n * sizeof *u->cuts.data},
      {WK_ACCEL_PITCHES, u->pitches.data, u->pitches.n * sizeof *u->pitches.data}};
  memcpy(out, all, sizeof all);
}

/* Adds the unit; row[i]: the package's number of part i. */
static inline uint32_t accel_put_unit(accel_unit_data *u, wk_package *p, uint32_t *row) {
  wk_machine_text(&u->machine_text, &u->machine);
  uint32_t unit = wk_package_add_unit(
      p, &(wk_package_unit){.target = "accel", .spec = u->machine.name,
                            .machine_hash = wk_machine_hash(&u->machine)});
  wk_accel_section own[ACCEL_SECTIONS];
  accel_list_sections(u, own);
  if (u->constants.n) wk_package_add_const(p, unit, u->constants.data, u->constants.n);
  for (size_t i = 1; i < ACCEL_SECTIONS; i++)
    wk_package_add_section(p, unit, own[i].name, WICK_ALIGN, own[i].data, own[i].size);
  for (size_t i = 0; i < u->parts.n; i++) {
    wk_package_tensor t[ACCEL_IO_MAX];
    int64_t dims[ACCEL_IO_MAX][1];
    const accel_part_io *io = &u->io[i];
    char name[32];
    wk_package_step steps[ACCEL_LAYERS_MAX];
    size_t n = u->has_steps ? u->parts.data[i].layers : 0;
    for (size_t k = 0; k < n; k++)
      steps[k] = (wk_package_step){.node = "layer", .op = "test", .text = "", .code = k};
    for (size_t k = 0; k < io->n_io; k++) accel_fill_tensor(&t[k], dims[k], &io->io[k]);
    snprintf(name, sizeof name, "part%zu", i);
    row[i] = wk_package_add_part(
        p, &(wk_package_part){.name = name, .unit = unit, .code = i, .inputs = t,
                              .n_inputs = io->n_in, .outputs = t + io->n_in,
                              .n_outputs = io->n_io - io->n_in, .steps = steps, .n_steps = n});
  }
  return unit;
}

/* An entry of parts with an input and an output each: each takes what the one before left. */
static inline void accel_put_chain(const accel_unit_data *u, wk_package *p, const uint32_t *row) {
  size_t n = u->parts.n;
  wk_package_tensor in, out, edges[ACCEL_PARTS_MAX];
  int64_t dims[ACCEL_PARTS_MAX + 1][1];
  wk_package_row rows[ACCEL_PARTS_MAX];
  uint32_t tensors[ACCEL_PARTS_MAX][2], waits[ACCEL_PARTS_MAX][1];
  uint64_t edge_bytes = 0;
  accel_fill_tensor(&in, dims[0], &u->io[0].io[0]);
  for (size_t i = 0; i < n; i++) {
    bool is_last = i + 1 == n;
    wk_package_tensor *t = is_last ? &out : &edges[i];
    accel_fill_tensor(t, dims[i + 1], &u->io[i].io[1]);
    if (!is_last) {
      t->place = WICK_PLACE_EDGE;
      t->offset = (int64_t)edge_bytes;
      edge_bytes += wk_align_up(u->io[i].io[1].bytes, WICK_ALIGN);
    }
    tensors[i][0] = i ? (uint32_t)i + 1 : 0; /* input 0, output 1, edges */
    tensors[i][1] = is_last ? 1 : (uint32_t)i + 2;
    waits[i][0] = (uint32_t)i - 1;
    rows[i] = (wk_package_row){.kind = WICK_ROW_RUN, .part = row[i], .tensors = tensors[i],
                               .n_tensors = 2, .waits = waits[i], .n_waits = i > 0};
  }
  wk_package_add_entry(p, &(wk_package_entry){.name = "", .inputs = &in, .n_inputs = 1,
                                              .outputs = &out, .n_outputs = 1, .edges = edges,
                                              .n_edges = n - 1, .rows = rows, .n_rows = n,
                                              .edge_bytes = edge_bytes});
}

/* The file's bytes; free() them. The streams are parts of a chain. */
static inline wk_status accel_package_bytes(accel_unit_data *u, wk_stream *const *streams, size_t n,
                                            void **data, size_t *size) {
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "accel_test"});
  uint32_t row[ACCEL_PARTS_MAX];
  for (size_t i = 0; i < n; i++) accel_add_part(u, streams[i]);
  accel_put_unit(u, p, row);
  accel_put_chain(u, p, row);
  wk_status s = wk_package_bytes(p, data, size);
  wk_package_free(p);
  return s;
}

#endif
