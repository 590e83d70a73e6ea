/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/gpu.h"

#include <string.h>
#include <strings.h>

/* What OpenCL does not tell. A unit of NVIDIA's is a multiprocessor, of AMD's a compute unit, of
 * Intel's an execution unit, of Arm's and Qualcomm's a core. The last row is for all others.
 * Registers, work items and local memory: makers' guides; memory: the bytes of common devices,
 * divided by their units. */
static const struct {
  const char *vendor;
  int lanes, unit_items, unit_registers;
  int64_t unit_local;
  double wait, memory_of_unit, cache_of_unit, launch;
} makers[] = {
    {"nvidia", 128, 2048, 65536, 100 << 10, 800, 25000, 40000, 2.5},
    {"advanced micro", 64, 2048, 131072, 64 << 10, 900, 12000, 30000, 5},
    {"amd", 64, 2048, 131072, 64 << 10, 900, 12000, 30000, 5},
    {"intel", 8, 112, 14336, 8 << 10, 700, 800, 2500, 8},
    {"arm", 32, 1024, 32768, 32 << 10, 900, 4000, 10000, 20},
    {"qualcomm", 128, 1024, 65536, 32 << 10, 900, 8000, 20000, 20},
    {NULL, 64, 1024, 32768, 32 << 10, 900, 8000, 20000, 10},
};

enum { MATRIX = 4 }; /* words for each lane, of those who have matrix units */
enum { MHZ = 1000, LARGE = 32, SMALLER = 3 }; /* see below */
static const double BESIDE = 0.2; /* of the shorter of computing and memory, what is not hidden */

wk_cl_gpu wk_cl_gpu_of(const wick_opencl_info *info) {
  size_t k = 0;
  while (makers[k].vendor && strncasecmp(info->vendor, makers[k].vendor, strlen(makers[k].vendor)))
    k++;
  wk_cl_gpu g = {.units = info->units > 0 ? (int)info->units : 1,
                 .clock = info->clock_mhz > 0 ? info->clock_mhz : MHZ,
                 .lanes = makers[k].lanes,
                 .matrix = MATRIX * makers[k].lanes,
                 .unit_items = makers[k].unit_items,
                 .unit_registers = makers[k].unit_registers,
                 .unit_local = makers[k].unit_local,
                 .wait = makers[k].wait,
                 .launch = makers[k].launch};
  if (g.unit_local < (int64_t)info->local_memory) g.unit_local = (int64_t)info->local_memory;
  if (g.unit_items < (int)info->max_group) g.unit_items = (int)info->max_group;
  g.memory = makers[k].memory_of_unit * g.units;
  g.cache = makers[k].cache_of_unit * g.units;
  /* Stacked memory, of devices with much of it, is some times as fast as what others have. */
  if (info->memory >> 30 < LARGE) g.memory /= SMALLER;
  return g;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int resident(const wk_cl_gpu *g, const wk_cl_gpu_work *w) {
  int64_t n = g->unit_items / w->items;
  n = least(n, g->unit_registers / ((int64_t)w->items * w->registers));
  if (w->local_bytes) n = least(n, g->unit_local / w->local_bytes);
  return n < 1 ? 1 : (int)n;
}

/* Cycles of a unit that has n groups at once. */
static double cycles(const wk_cl_gpu *g, const wk_cl_gpu_work *w, int64_t n) {
  if (n == 0) return 0;
  double busy = (double)n * w->step_cycles, step = busy > g->wait ? busy : g->wait;
  return (double)w->steps * step + w->once_cycles + g->wait;
}

wk_cl_gpu_time wk_cl_gpu_predict(const wk_cl_gpu *g, const wk_cl_gpu_work *w) {
  int64_t of_unit = wk_ceil_div(w->groups, g->units);
  wk_cl_gpu_time t = {.resident = resident(g, w)};
  t.waves = wk_ceil_div(of_unit, t.resident);
  double c = (double)(of_unit / t.resident) * cycles(g, w, t.resident) +
             cycles(g, w, of_unit % t.resident);
  double from_memory = w->bytes / g->memory, from_cache = w->cached_bytes / g->cache;
  t.computing = c / g->clock;
  t.memory = from_memory > from_cache ? from_memory : from_cache;
  double longer = t.computing > t.memory ? t.computing : t.memory;
  t.time = g->launch + longer + BESIDE * (t.computing + t.memory - longer);
  return t;
}
