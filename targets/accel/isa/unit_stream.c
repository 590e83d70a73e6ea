/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/unit_read.h"

/* ---- regions --------------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  uint64_t bytes, address;
  uint32_t region; /* WK_ACCEL_NO_REGION: it has no bytes */
  bool is_output;
} segment;

typedef struct {
  segment *list; /* by number */
  size_t n;
} segments;

/* A list of NULL: there is no memory. */
static segments list_segments(const wk_accel_unit *u, const wk_accel_part *p,
                              const wk_accel_io *io, size_t n_io) {
  segments s = {.n = WK_SEGMENT_IO + n_io};
  s.list = calloc(s.n, sizeof *s.list);
  if (!s.list) return s;
  s.list[WK_SEGMENT_CONST] = (segment){.name = WK_ACCEL_CONST_REGION, .bytes = u->const_bytes};
  s.list[WK_SEGMENT_WORK] = (segment){.name = WK_ACCEL_WORK_REGION, .bytes = p->work_bytes};
  for (size_t i = 0; i < n_io; i++)
    s.list[WK_SEGMENT_IO + i] =
        (segment){.name = io[i].name, .bytes = io[i].bytes, .is_output = io[i].is_output};
  return s;
}

enum { PAGE = 4096 };

/* What is loaded lies together: constants, commands; then the other segments, one behind the other,
 * and the mark area. *end: what is free behind all. False: beyond what addresses reach. */
static bool place(segments *s, const wk_accel_part *p, uint64_t address, wk_stream *out,
                  uint64_t *end) {
  for (size_t i = 0; i < s->n; i++) {
    segment *x = &s->list[i];
    x->address = wk_align_up(address, WK_ACCEL_SEGMENT_ALIGN);
    if (x->bytes > UINT32_MAX || x->address > UINT32_MAX) return false;
    if (x->bytes) address = x->address + x->bytes;
    if (i != WK_SEGMENT_CONST) continue;
    out->address = wk_align_up(address, PAGE);
    address = out->address + (uint64_t)p->commands * WK_COMMAND_BYTES;
  }
  out->is_address_given = true;
  *end = p->marks ? wk_align_up(address, PAGE) + (uint64_t)p->marks * WK_MARK_BYTES : address;
  return true;
}

enum { NAME_BYTES = 64, NUMBER_BYTES = 12 };

/* A name as texts of streams have it, that no other region has. */
static void name_region(const wk_stream *s, const char *name, char *out) {
  size_t n = 0;
  if (!*name || isdigit((unsigned char)*name)) out[n++] = '_';
  for (; *name && n < NAME_BYTES - NUMBER_BYTES; name++)
    out[n++] = isalnum((unsigned char)*name) ? *name : '_';
  out[n] = 0;
  bool is_taken = !strcmp(out, "N") || wk_stream_find(s, out); /* N is the machine's array */
  for (unsigned k = 2; is_taken; k++) {
    snprintf(out + n, NUMBER_BYTES, "_%u", k);
    is_taken = wk_stream_find(s, out) != NULL;
  }
}

static wk_status add_regions(wk_stream *out, segments *s, const wk_accel_unit *u, bool borrows) {
  for (size_t i = 0; i < s->n; i++) {
    segment *x = &s->list[i];
    char name[NAME_BYTES];
    wk_image *region;
    x->region = WK_ACCEL_NO_REGION;
    if (!x->bytes) continue;
    name_region(out, x->name, name);
    WK_TRY(wk_stream_region(out, name, x->address, x->bytes, &region));
    x->region = (uint32_t)out->regions.n - 1;
    region->is_output = x->is_output;
    if (i != WK_SEGMENT_CONST) continue;
    uint8_t *data;
    if (borrows) {
      wk_region_borrow(region, u->constants);
      continue;
    }
    WK_TRY(wk_region_fill(region, &data));
    memcpy(data, u->constants, (size_t)x->bytes);
  }
  return NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

static wk_status add_commands(wk_stream *out, const segments *s, const wk_accel_unit *u,
                              const wk_accel_part *p) {
  for (uint32_t i = 0; i < p->commands; i++) {
    uint8_t number = u->segments[p->first_command + i];
    const uint8_t *bytes = wk_accel_command(u, p, i);
    if (number == WK_SEGMENT_NONE) {
      WK_TRY(wk_stream_add_bytes(out, bytes, 0));
      continue;
    }
    wk_isa_command c;
    (void)wk_isa_decode(bytes, &c);
    c.v[WK_LD_dram] += (int64_t)s->list[number].address; /* ST has it in the same place */
    WK_TRY(wk_stream_add(out, &c, 0));
  }
  return NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

static wk_status too_small(const wk_machine *m, uint64_t needed) {
  return wk_error(WK_INPUT, "the part needs %" PRIu64 " bytes of memory; machine %s has %" PRId64
                  " (dram_size)", needed, m->name, m->dram_size);
}

static wk_status fill(wk_stream *out, segments *s, const wk_accel_unit *u, const wk_accel_part *p,
                      const wk_accel_placement *at) {
  uint64_t end;
  if (!place(s, p, at->address, out, &end))
    return wk_error(WK_INPUT, "the part needs more than 4 GiB of memory");
  if (end > (uint64_t)out->machine.dram_size) return too_small(&out->machine, end);
  WK_TRY(add_regions(out, s, u, at->borrows));
  WK_TRY(add_commands(out, s, u, p));
  return wk_stream_finish(out);
}

wk_status wk_accel_part_stream(const wk_accel_unit *u, uint32_t part, const wk_accel_io *io,
                               size_t n_io, const wk_accel_placement *at, wk_stream **out,
                               uint32_t **regions) {
  const wk_accel_part *p = &u->parts[part];
  wk_stream *stream = wk_stream_new(at->machine ? at->machine : &u->machine, at->source);
  segments s = list_segments(u, p, io, n_io);
  uint32_t *numbers = calloc(n_io + 1, sizeof *numbers);
  wk_status status = stream && s.list && numbers ? fill(stream, &s, u, p, at)
                                                 : wk_error(WK_RESOURCE, "out of memory");
  for (size_t i = 0; !status && i < n_io; i++) numbers[i] = s.list[WK_SEGMENT_IO + i].region;
  free(s.list);
  if (!status) *out = stream;
  else wk_stream_free(stream);
  if (!status && regions) *regions = numbers;
  else free(numbers);
  return status;
}
