/* SPDX-License-Identifier: Apache-2.0
 * What runs the parts of target "pixel": a functional model. Queues go on one after the other as
 * far as their waits let them, so that what is computed depends on the waits and not on the order
 * of the stream. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "runtime/device.h"

typedef struct {
  const wick_device_unit *unit;
  const uint8_t *consts;
  uint8_t *scratchpad, *work; /* of a context, which is a copy of what was loaded */
} pixel;

/* ---- numbers --------------------------------------------------------------------------------- */

static float number(const uint8_t *at) {
  uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
  float f;
  return memcpy(&f, &bits, sizeof f), f;
}

static void put(uint8_t *at, float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  bits = isnan(f) ? bits | 1u << 22 : bits + 0x7fff + (bits >> 16 & 1);
  at[0] = (uint8_t)(bits >> 16), at[1] = (uint8_t)(bits >> 24);
}

static uint8_t *element(const pixel *u, const picture *p, int c, int y, int x) {
  return u->scratchpad + p->at +
         (((int64_t)(c - p->channel) * p->rows + y - p->row) * p->width + x) * 2;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A sum, or the maximum, over a window of channel c of the operand. */
static float window(const pixel *u, const command *k, int c, int y, int x, const uint8_t *weights,
                    float from) {
  const picture *in = &k->p[FIRST];
  for (int i = 0; i < k->kernel[0]; i++)
    for (int j = 0; j < k->kernel[1]; j++) {
      int at_y = y * k->stride[0] - k->pad[0] + i * k->step[0];
      int at_x = x * k->stride[1] - k->pad[1] + j * k->step[1];
      if (at_y < 0 || at_y >= k->height || at_x < 0 || at_x >= in->width) continue;
      float v = number(element(u, in, c, at_y, at_x));
      if (!weights) from = v > from || isnan(v) ? v : from;
      else from += v * number(weights + (i * k->kernel[1] + j) * 2);
    }
  return from;
}

static float convolve(const pixel *u, const command *k, int c, int y, int x) {
  int taps = k->kernel[0] * k->kernel[1];
  const uint8_t *own = u->scratchpad + k->p[CONSTS].at +
                       (int64_t)(c - k->c0) * (k->depth * taps + 1) * 2;
  float sum = 0;
  for (int d = 0; d < k->depth; d++)
    sum = window(u, k, c / k->group * k->depth + d, y, x, own + (int64_t)d * taps * 2, sum);
  return sum + number(own + (int64_t)k->depth * taps * 2);
}

static float value(const pixel *u, const command *k, int c, int y, int x) {
  if (k->op == OP_CONV) return convolve(u, k, c, y, x);
  if (k->op == OP_MAX_POOL) return window(u, k, c, y, x, NULL, -INFINITY);
  float a = number(element(u, &k->p[FIRST], c, y, x));
  if (k->op == OP_RELU) return a > 0 || isnan(a) ? a : 0;
  return k->op == OP_ADD ? a + number(element(u, &k->p[SECOND], c, y, x)) : a;
}

static void move(const pixel *u, const command *k, void *const *io) {
  uint8_t *memory = k->memory == IN_PORTS  ? io[k->port]
                    : k->memory == IN_WORK ? u->work
                                           : (uint8_t *)(uintptr_t)u->consts;
  for (int64_t i = 0; i < k->n0 * k->n1; i++) {
    uint8_t *far = memory + k->dram + i / k->n0 * k->s1 + i % k->n0;
    uint8_t *near = u->scratchpad + k->p[RESULT].at + i / k->chunk * k->pitch + i % k->chunk;
    *(k->queue == LOAD ? near : far) = *(k->queue == LOAD ? far : near);
  }
}

static void run(const pixel *u, const command *k, void *const *io) {
  if (k->op == OP_MOVE) {
    move(u, k, io);
    return;
  }
  for (int c = k->c0; c < k->c1; c++)
    for (int y = k->y0; y < k->y1; y++)
      for (int x = 0; x < k->p[RESULT].width; x++)
        put(element(u, &k->p[RESULT], c, y, x), value(u, k, c, y, x));
}

/* ---- the device ------------------------------------------------------------------------------ */

static wick_status probe(const wick_device_unit *unit, wick_error_detail *error) { return WICK_OK; }

static wick_status load(const wick_device_unit *unit, void **loaded, wick_error_detail *error) {
  pixel *u = calloc(1, sizeof *u);
  if (!u) return WICK_NO_MEMORY;
  u->unit = unit;
  for (uint32_t i = 0; i < unit->section_count; i++)
    if (unit->sections[i].kind == WICK_SECTION_CONST) u->consts = unit->sections[i].data;
  return *loaded = u, WICK_OK;
}

/* The commands of a part: a section for each, in their order. */
static const command *commands_of(const wick_device_unit *unit, uint32_t part, uint32_t *count) {
  uint64_t left = unit->parts[part].code;
  *count = 0;
  for (uint32_t i = 0; i < unit->section_count; i++) {
    const wick_device_section *s = &unit->sections[i];
    if (s->kind == WICK_SECTION_CONST || left--) continue;
    *count = (uint32_t)(s->size / sizeof(command));
    return (const command *)(const void *)s->data;
  }
  return NULL;
}

static wick_status open_context(void *loaded, const uint32_t *parts, uint32_t n, uint32_t threads,
                                void **context, wick_error_detail *error) {
  const pixel *u = loaded;
  uint64_t work = 0;
  for (uint32_t i = 0, count; i < n; i++) {
    const command *c = commands_of(u->unit, parts[i], &count);
    if (count && c->work > work) work = c->work;
  }
  if (work > u->unit->memory_limit) return WICK_NO_MEMORY;
  pixel *c = malloc(sizeof *c + SCRATCHPAD + work);
  if (!c) return WICK_NO_MEMORY;
  *c = *u, c->scratchpad = (uint8_t *)(c + 1), c->work = c->scratchpad + SCRATCHPAD;
  return *context = c, WICK_OK;
}

/* The next command of a queue from `at` on; count: there is none. */
static uint32_t next_of(const command *all, uint32_t count, uint32_t at, int queue) {
  while (at < count && all[at].queue != queue) at++;
  return at;
}

static wick_status submit(void *context, const wick_device_job *job, uint64_t *ticket,
                          wick_error_detail *error) {
  const pixel *u = context;
  uint32_t head[QUEUES], retired[QUEUES] = {0}, before, total = 0, count;
  const command *all = commands_of(u->unit, job->part, &count);
  for (int q = 0; q < QUEUES; q++) head[q] = next_of(all, count, 0, q);
  do {
    before = total;
    for (int q = QUEUES; q-- > 0;)
      while (head[q] < count) {
        const command *k = &all[head[q]];
        if (k->wait[ENGINE] > retired[ENGINE] || k->wait[LOAD] > retired[LOAD] ||
            k->wait[STORE] > retired[STORE])
          break;
        run(u, k, job->io);
        retired[q]++, total++;
        head[q] = next_of(all, count, head[q] + 1, q);
      }
  } while (total > before);
  *ticket = 0;
  if (total == count) return WICK_OK;
  snprintf(error->text, sizeof error->text, "commands wait for each other");
  return WICK_RUN_FAILED;
}

/* Commands are trusted as code is: their addresses are not looked at. */
static const wick_device device = {
    .size = sizeof device, .version = WICK_DEVICE_VERSION, .target = "pixel",
    .doc = "bf16 images, a functional model", .runs_code = 1, .probe = probe, .load = load,
    .unload = free, .open = open_context, .close = free, .submit = submit};

const wick_device *wick_device_plugin(void) { return &device; }
