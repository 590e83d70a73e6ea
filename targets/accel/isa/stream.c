/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/stream.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

wk_stream *wk_stream_new(const wk_machine *m, const char *source) {
  wk_stream *s = calloc(1, sizeof *s);
  char *copy = s ? strdup(source ? source : "") : NULL;
  if (!copy) {
    free(s);
    return NULL;
  }
  s->machine = *m;
  s->source = copy;
  return s;
}

void wk_stream_free(wk_stream *s) {
  if (!s) return;
  for (size_t i = 0; i < s->regions.n; i++) {
    free(s->regions.data[i].own);
    free(s->regions.data[i].name);
  }
  wk_vec_free(&s->regions);
  wk_vec_free(&s->bytes);
  wk_vec_free(&s->lines);
  free(s->source);
  free(s);
}

/* ---- commands -------------------------------------------------------------------------------- */

wk_status wk_stream_add_bytes(wk_stream *s, const uint8_t bytes[WK_COMMAND_BYTES], uint32_t line) {
  wk_isa_command c;
  if (s->n + 1 >= WK_STREAM_COMMANDS)
    return wk_error(WK_RESOURCE, "a stream has fewer than %u commands", WK_STREAM_COMMANDS);
  if (!wk_vec_try_reserve(&s->bytes, s->bytes.n + WK_COMMAND_BYTES) ||
      !wk_vec_try_reserve(&s->lines, s->lines.n + 1))
    return wk_error(WK_RESOURCE, "out of memory");
  memcpy(s->bytes.data + s->bytes.n, bytes, WK_COMMAND_BYTES);
  s->bytes.n += WK_COMMAND_BYTES;
  s->lines.data[s->lines.n++] = line;
  s->n++;
  if (wk_isa_decode(bytes, &c) && c.opcode != WK_CMD_END && c.queue < WK_QUEUE_COUNT)
    s->issued[c.queue]++;
  return NULL;
}

wk_status wk_stream_add(wk_stream *s, const wk_isa_command *c, uint32_t line) {
  uint8_t bytes[WK_COMMAND_BYTES];
  wk_isa_encode(c, bytes);
  return wk_stream_add_bytes(s, bytes, line);
}

const uint8_t *wk_stream_bytes(const wk_stream *s, uint32_t i) {
  return s->bytes.data + (size_t)i * WK_COMMAND_BYTES;
}

bool wk_stream_get(const wk_stream *s, uint32_t i, wk_isa_command *out) {
  return wk_isa_decode(wk_stream_bytes(s, i), out);
}

wk_isa_command *wk_stream_commands(const wk_stream *s, uint32_t *n) {
  wk_isa_command *c = wk_xcalloc(s->n, sizeof *c);
  *n = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    (void)wk_stream_get(s, i, &c[i]);
    if (*n == i && c[i].opcode != WK_CMD_END) ++*n;
  }
  return c;
}

wk_stream_place wk_stream_place_of(const wk_stream *s, uint32_t i) {
  wk_stream_place p = {""};
  uint32_t line = i < s->lines.n ? s->lines.data[i] : 0;
  if (line) snprintf(p.s, sizeof p.s, "%.480s:%u", *s->source ? s->source : "line", line);
  return p;
}

/* ---- memory ---------------------------------------------------------------------------------- */

wk_image *wk_stream_find(const wk_stream *s, const char *name) {
  for (size_t i = 0; i < s->regions.n; i++)
    if (strcmp(s->regions.data[i].name, name) == 0) return &s->regions.data[i];
  return NULL;
}

static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

/* [address, address + size) in memory and outside all regions. */
static wk_status check_place(const wk_stream *s, const char *name, uint64_t address,
                             uint64_t size) {
  uint64_t memory = (uint64_t)s->machine.dram_size;
  if (size > memory || address > memory - size)
    return wk_error(WK_INPUT, "%s: %llu bytes from 0x%llx are not all in the memory of %llu bytes",
                    name, (ull)size, (ull)address, (ull)memory);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    if (overlap(address, size, r->address, r->size))
      return wk_error(WK_INPUT, "%s at 0x%llx overlaps %s at 0x%llx", name, (ull)address, r->name,
                      (ull)r->address);
  }
  return NULL;
}

wk_status wk_stream_region(wk_stream *s, const char *name, uint64_t address, uint64_t size,
                           wk_image **out) {
  if (wk_stream_find(s, name)) return wk_error(WK_INPUT, "the memory '%s' exists already", name);
  if (size == 0) return wk_error(WK_INPUT, "the memory '%s' has no bytes", name);
  if (s->regions.n >= WK_REGIONS_MAX)
    return wk_error(WK_RESOURCE, "there are more than %d memories", WK_REGIONS_MAX);
  WK_TRY(check_place(s, name, address, size));
  char *copy = wk_vec_try_reserve(&s->regions, s->regions.n + 1) ? strdup(name) : NULL;
  if (!copy) return wk_error(WK_RESOURCE, "out of memory");
  *out = &s->regions.data[s->regions.n++];
  **out = (wk_image){.name = copy, .address = address, .size = size};
  return NULL;
}

wk_status wk_region_fill(wk_image *r, uint8_t **data) {
  if (r->data && !r->own) return wk_error(WK_INTERNAL, "region %s is borrowed", r->name);
  if (!r->data) {
    void *p;
    WK_TRY(wk_try_malloc((size_t)r->size, &p));
    r->data = r->own = p;
  }
  *data = r->own;
  return NULL;
}

void wk_region_borrow(wk_image *r, const uint8_t *data) { r->data = data; }

uint64_t wk_stream_mark_bytes(const wk_stream *s) {
  uint64_t rows = 0;
  wk_isa_command c;
  for (uint32_t i = 0; i < s->n; i++) {
    if (!wk_stream_get(s, i, &c) || c.opcode != WK_CMD_MARK) continue;
    uint64_t row = (uint64_t)c.v[WK_MARK_row] + 1;
    if (row > rows) rows = row;
  }
  return rows * WK_MARK_BYTES;
}

wk_status wk_stream_finish(wk_stream *s) {
  uint64_t end = 0, bytes = (uint64_t)s->n * WK_COMMAND_BYTES, marks = wk_stream_mark_bytes(s);
  for (size_t i = 0; i < s->regions.n; i++) {
    uint64_t e = s->regions.data[i].address + s->regions.data[i].size;
    if (e > end) end = e;
  }
  if (s->is_marks_given && s->marks + marks > end) end = s->marks + marks;
  if (s->is_address_given && s->address + bytes > end) end = s->address + bytes;
  if (!s->is_address_given) {
    s->address = wk_align_up(end, 4096);
    end = s->address + bytes;
  }
  if (!s->is_marks_given) s->marks = marks ? wk_align_up(end, 4096) : 0;
  if (s->address % WK_STREAM_ALIGN)
    return wk_error(WK_INPUT, "the commands' address 0x%llx is no multiple of %d", (ull)s->address,
                    WK_STREAM_ALIGN);
  if (s->marks % WK_MARK_BYTES)
    return wk_error(WK_INPUT, "the mark area's address 0x%llx is no multiple of %d", (ull)s->marks,
                    WK_MARK_BYTES);
  if (bytes) WK_TRY(check_place(s, "the commands", s->address, bytes));
  if (marks) WK_TRY(check_place(s, "the mark area", s->marks, marks));
  if (bytes && marks && overlap(s->address, bytes, s->marks, marks))
    return wk_error(WK_INPUT, "the commands at 0x%llx overlap the mark area at 0x%llx",
                    (ull)s->address, (ull)s->marks);
  return NULL;
}

/* ---- check ----------------------------------------------------------------------------------- */

wk_status wk_stream_validate(const wk_stream *s) {
  uint32_t before[WK_QUEUE_COUNT] = {0};
  for (uint32_t i = 0; i < s->n; i++) {
    wk_isa_command c;
    wk_stream_get(s, i, &c);
    wk_stream_place at = wk_stream_place_of(s, i);
    const char *place = *at.s ? at.s : NULL;
    WK_TRY(wk_isa_validate(&s->machine, &c, before, i, place));
    bool is_last = i + 1 == s->n;
    if (c.opcode == WK_CMD_END && !is_last)
      return wk_error_at(WK_INPUT, place, "command %u (END): %u commands follow it", i,
                         s->n - i - 1);
    if (c.opcode != WK_CMD_END && is_last)
      return wk_error_at(WK_INPUT, place, "command %u: the stream ends without END", i);
    if (c.opcode != WK_CMD_END) before[c.queue]++;
  }
  if (s->n == 0)
    return wk_error_at(WK_INPUT, *s->source ? s->source : NULL, "the stream has no commands");
  return NULL;
}

wk_status wk_stream_fits(const wk_stream *s, const wk_machine *m) {
  wk_difference_text t = wk_machine_difference(&s->machine, m);
  if (!t.s[0]) return NULL;
  return wk_error(WK_INPUT, "is for machine '%s', not '%s': %s", s->machine.name, m->name, t.s);
}
