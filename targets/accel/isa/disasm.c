/* SPDX-License-Identifier: Apache-2.0
 * Streams as text. A command that the assembler could not have written (a wrong queue, stray bits)
 * becomes .raw. Labels are made of queue and ordinal, "ld0_3", where a wait needs one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/stream.h"

typedef unsigned long long ull;

#define NOT_HERE UINT32_MAX

typedef struct {
  const wk_stream *s;
  WK_VEC(uint32_t) at[WK_QUEUE_COUNT]; /* ordinal - 1 -> command */
  uint32_t *ordinal;                   /* of a command in its queue, from 1 */
  bool *is_named;                      /* a wait needs its label */
} labels;

static bool is_plain(const wk_isa_command *c) {
  const wk_isa_command_info *info = wk_isa_command_of((int)c->opcode);
  if (!info || c->has_stray || c->reserved || c->queue >= WK_QUEUE_COUNT) return false;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (!(c->wait >> q & 1) && c->threshold[q]) return false;
  return info->queues ? info->queues >> c->queue & 1 : c->queue == 0;
}

/* ---- one command ----------------------------------------------------------------------------- */

static void print_raw(wk_str *b, const uint8_t *bytes) {
  wk_str_add(b, ".raw");
  for (size_t i = 0; i < WK_COMMAND_BYTES; i += 4) {
    uint32_t w = bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16 |
                 (uint32_t)bytes[i + 3] << 24;
    wk_str_printf(b, " 0x%x", w);
  }
}

static void print_number(wk_str *b, const wk_isa_field *f, int64_t v) {
  bool is_address = f->kind == WK_KIND_SPM || f->kind == WK_KIND_DRAM || !strcmp(f->name, "in");
  if (!is_address) wk_str_printf(b, "%lld", (long long)v);
  else wk_str_printf(b, "%s0x%llx", v < 0 ? "-" : "", (ull)(v < 0 ? -v : v));
}

/* NAME, NAME+0x40: in a region, if it is in one. */
static void print_memory(wk_str *b, const wk_stream *s, const wk_isa_field *f, int64_t v) {
  for (size_t i = 0; s && i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    if ((uint64_t)v < r->address || (uint64_t)v >= r->address + r->size) continue;
    wk_str_add(b, r->name);
    if ((uint64_t)v > r->address) wk_str_printf(b, "+0x%llx", (ull)((uint64_t)v - r->address));
    return;
  }
  print_number(b, f, v);
}

static void print_field(wk_str *b, const wk_stream *s, const wk_isa_field *f, int64_t v) {
  const wk_isa_choice *choice = wk_isa_choice_of(f->kind, v);
  wk_str_printf(b, " %s", f->name);
  if (f->kind == WK_KIND_FLAG && v == 1) return;
  wk_str_add(b, "=");
  if (choice) wk_str_add(b, choice->name);
  else if (f->kind == WK_KIND_DRAM) print_memory(b, s, f, v);
  else print_number(b, f, v);
}

/* Without its waits. s: whose regions name addresses; NULL ok. */
static void print_command(wk_str *b, const wk_machine *m, const wk_isa_command *c,
                          const wk_stream *s) {
  const wk_isa_command_info *info = wk_isa_command_of((int)c->opcode);
  wk_str_add(b, wk_isa_command_text(info).s);
  if (info->queues & (info->queues - 1)) /* several could */
    wk_str_printf(b, ".%s", wk_isa_queue_name((int)c->queue));
  for (int i = 0; i < info->n_fields; i++) {
    const wk_isa_field *f = &info->fields[i];
    if (wk_isa_is_needed(f) || c->v[i] != wk_isa_field_default(f, m))
      print_field(b, s, f, c->v[i]);
  }
  if (c->operator) wk_str_printf(b, " op=%u", c->operator);
  if (c->priority) wk_str_printf(b, " prio=%u", c->priority);
}

void wk_disasm_command(wk_str *b, const wk_machine *m, const wk_isa_command *c) {
  if (!is_plain(c)) {
    uint8_t bytes[WK_COMMAND_BYTES];
    wk_isa_encode(c, bytes);
    print_raw(b, bytes);
    return;
  }
  print_command(b, m, c, NULL);
  if (c->wait) wk_str_add(b, " wait");
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (c->wait >> q & 1) wk_str_printf(b, " %s:%u", wk_isa_queue_name(q), c->threshold[q]);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void find_labels(labels *l) {
  const wk_stream *s = l->s;
  wk_isa_command c;
  for (uint32_t i = 0; i < s->n; i++) {
    bool is_known = wk_stream_get(s, i, &c);
    for (int q = 0; q < WK_QUEUE_COUNT; q++) {
      uint32_t t = c.wait >> q & 1 ? c.threshold[q] : 0;
      if (t > 0 && t <= l->at[q].n) l->is_named[l->at[q].data[t - 1]] = true;
    }
    if (!is_known || c.opcode == WK_CMD_END || c.queue >= WK_QUEUE_COUNT) continue;
    wk_vec_push(&l->at[c.queue], i);
    l->ordinal[i] = (uint32_t)l->at[c.queue].n;
  }
}

static void print_waits(wk_str *b, const labels *l, const wk_isa_command *c, uint32_t index) {
  if (c->wait) wk_str_add(b, " wait");
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    if (!(c->wait >> q & 1)) continue;
    uint32_t t = c->threshold[q], at = t > 0 && t <= l->at[q].n ? l->at[q].data[t - 1] : NOT_HERE;
    wk_isa_command target;
    bool has_label = at < index && wk_stream_get(l->s, at, &target) && is_plain(&target);
    wk_str_printf(b, has_label ? " %s_%u" : " %s:%u", wk_isa_queue_name(q), t);
  }
}

static void print_line(wk_str *b, const labels *l, uint32_t i) {
  wk_isa_command c;
  wk_stream_get(l->s, i, &c);
  if (!is_plain(&c)) {
    print_raw(b, wk_stream_bytes(l->s, i));
  } else {
    if (l->is_named[i])
      wk_str_printf(b, "%s_%u: ", wk_isa_queue_name((int)c.queue), l->ordinal[i]);
    print_command(b, &l->s->machine, &c, l->s);
    print_waits(b, l, &c, i);
  }
  wk_str_add(b, "\n");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void print_machine(wk_str *b, const wk_machine *m) {
  wk_machine preset;
  const char *text = wk_machine_preset_text(m->name);
  wk_status s = text ? wk_machine_parse(text, strlen(text), m->name, &preset)
                     : wk_error(WK_INPUT, "no preset");
  if (!s && wk_machine_hash(&preset) == wk_machine_hash(m)) {
    wk_str_printf(b, ".machine %s\n", m->name);
  } else {
    wk_str_printf(b, "; assemble it for machine '%s':", m->name);
    for (size_t i = 0; i < WK_KEY_COUNT; i++) {
      if (wk_machine_keys[i].kind != WK_KEY_HARDWARE) continue;
      wk_str_printf(b, " %s=", wk_machine_keys[i].name);
      wk_machine_key_text(b, m, &wk_machine_keys[i]);
    }
    wk_str_add(b, "\n");
  }
  wk_status_free(s);
}

static bool is_zero(const uint8_t *p, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    if (p[i]) return false;
  return true;
}

static void print_data(wk_str *b, const wk_image *r) {
  if (is_zero(r->data, r->size)) wk_str_printf(b, ".bytes %s 0 0\n", r->name);
  for (uint64_t at = 0; at < r->size; at += 32) {
    uint64_t n = r->size - at < 32 ? r->size - at : 32;
    if (is_zero(r->data + at, n)) continue;
    wk_str_printf(b, ".bytes %s 0x%llx", r->name, (ull)at);
    for (uint64_t i = 0; i < n; i++) wk_str_printf(b, " %u", r->data[at + i]);
    wk_str_add(b, "\n");
  }
}

static void print_head(wk_str *b, const wk_stream *s) {
  print_machine(b, &s->machine);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    wk_str_printf(b, ".memory %s 0x%llx %llu\n", r->name, (ull)r->address, (ull)r->size);
    if (r->is_output) wk_str_printf(b, ".output %s\n", r->name);
  }
  wk_str_printf(b, ".stream 0x%llx\n", (ull)s->address);
  if (s->marks) wk_str_printf(b, ".marks 0x%llx\n", (ull)s->marks);
  wk_str_add(b, "\n");
}

void wk_disasm(wk_str *b, const wk_stream *s, wk_disasm_mode mode) {
  labels l = {.s = s};
  l.ordinal = wk_xcalloc(s->n, sizeof *l.ordinal);
  l.is_named = wk_xcalloc(s->n, sizeof *l.is_named);
  find_labels(&l);
  print_head(b, s);
  for (uint32_t i = 0; i < s->n; i++) print_line(b, &l, i);
  bool is_first = true;
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    if (!r->data) continue;
    if (is_first) wk_str_add(b, "\n");
    is_first = false;
    if (mode == WK_DISASM_ALL) print_data(b, r);
    else wk_str_printf(b, "; %s has %llu bytes of data\n", r->name, (ull)r->size);
  }
  for (int q = 0; q < WK_QUEUE_COUNT; q++) wk_vec_free(&l.at[q]);
  free(l.ordinal);
  free(l.is_named);
}
