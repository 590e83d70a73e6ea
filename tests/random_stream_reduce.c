/* SPDX-License-Identifier: Apache-2.0
 * Shrinking of streams, and showing them. */
#include "tests/random_stream.h"

#include <stdlib.h>

static void must(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  abort();
}

/* Whoever waited for the command that goes (or for one behind it in its queue, which is the next of
 * the queue) waits for what it waited for. */
static void inherit(wk_isa_command *c, const wk_isa_command *gone, uint32_t ordinal, bool is_next) {
  uint32_t q = gone->queue;
  bool waits = c->wait >> q & 1, relies = waits && c->threshold[q] == ordinal + 1;
  if (waits && c->threshold[q] > ordinal) c->threshold[q]--;
  if (waits && !c->threshold[q]) c->wait &= ~(1u << q);
  if (!relies && !is_next) return;
  for (int k = 0; k < WK_QUEUE_COUNT; k++)
    if (gone->wait >> k & 1) wk_isa_wait(c, k, gone->threshold[k]);
}

wk_stream *random_stream_without(const wk_stream *s, uint32_t i) {
  wk_stream *y = wk_stream_new(&s->machine, s->source);
  wk_isa_command gone, c;
  uint32_t ordinal = 0;
  bool is_next = true;
  for (size_t k = 0; k < s->regions.n; k++) {
    const wk_image *from = &s->regions.data[k];
    wk_image *to;
    uint8_t *data;
    must(wk_stream_region(y, from->name, from->address, from->size, &to));
    must(wk_region_fill(to, &data));
    if (from->data)
      for (uint64_t b = 0; b < from->size; b++) data[b] = from->data[b];
  }
  wk_stream_get(s, i, &gone);
  for (uint32_t k = 0; k < s->n; k++) {
    wk_stream_get(s, k, &c);
    if (k < i && c.queue == gone.queue) ordinal++;
    if (k == i) continue;
    if (k > i && c.opcode != WK_CMD_END) {
      bool follows = is_next && c.queue == gone.queue;
      inherit(&c, &gone, ordinal, follows);
      if (follows) is_next = false;
    }
    must(wk_stream_add(y, &c, 0));
  }
  y->address = s->address;
  y->is_address_given = s->is_address_given;
  must(wk_stream_finish(y));
  return y;
}

static bool is_legal(const wk_stream *s) {
  wk_status status = wk_check(s, &s->machine, NULL);
  bool ok = !status;
  wk_status_free(status);
  return ok;
}

static bool shrink_once(wk_stream **s, random_stream_fails *fails, void *context) {
  bool any = false;
  for (uint32_t i = (*s)->n - 1; i-- > 0;) {
    wk_stream *y = random_stream_without(*s, i);
    if (is_legal(y) && fails(context, y)) {
      wk_stream_free(*s);
      *s = y;
      any = true;
    } else {
      wk_stream_free(y);
    }
  }
  return any;
}

wk_stream *random_stream_reduce(const wk_stream *s, random_stream_fails *fails, void *context) {
  wk_stream *y = random_stream_copy(s);
  while (shrink_once(&y, fails, context)) continue;
  return y;
}

void random_stream_print(const wk_stream *s, const char *reproducer) {
  wk_str text = {0};
  wk_disasm(&text, s, WK_DISASM_NO_DATA);
  fprintf(stderr, "%s%s\n", text.s, reproducer);
  wk_str_free(&text);
}
