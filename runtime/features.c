/* SPDX-License-Identifier: Apache-2.0
 *
 * Processor features by LLVM's names. A feature counts only when the operating system also saves
 * the registers that it uses (XCR0); AMX must besides be asked for by each process. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

uint32_t wick_machine_host(void) {
#if defined(__x86_64__)
  return WICK_MACHINE_X86_64;
#elif defined(__aarch64__)
  return WICK_MACHINE_AARCH64;
#else
  return 0;
#endif
}

const char *wick_machine_name(uint32_t machine) {
  return machine == WICK_MACHINE_X86_64    ? "x86_64"
         : machine == WICK_MACHINE_AARCH64 ? "aarch64"
                                           : "unknown machine";
}

uint64_t wick_machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

uint32_t wick_processors(void) {
  cpu_set_t cpus;
  long n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > WICK_MAX_THREADS ? WICK_MAX_THREADS : (uint32_t)n;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

enum { EAX, EBX, ECX, EDX };
static const struct {
  const char *name;
  uint32_t leaf, subleaf, reg, bit, state;
} features[] = {
#define FEATURE(name, leaf, subleaf, reg, bit, state) \
  {name, leaf, subleaf, reg, bit, WICK_STATE_##state},
#include "features.def"
};

static bool ask(uint32_t leaf, uint32_t subleaf, unsigned r[4]) {
  return __get_cpuid_count(leaf, subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]);
}

static uint32_t saved_state(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool allow_amx(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static bool saves(const wick_processor *p, uint32_t state) {
  unsigned r[4];
  return p->ask(1, 0, r) && r[ECX] & bit_OSXSAVE && (p->saved_state() & state) == state;
}

int wick_processor_has(const wick_processor *p, const char *name) {
  for (size_t i = 0; i < WICK_COUNTOF(features); i++) {
    if (strcmp(name, features[i].name) != 0) continue;
    unsigned r[4];
    uint32_t state = features[i].state;
    if (!p->ask(features[i].leaf, features[i].subleaf, r)) return 0;
    if (!(r[features[i].reg] >> features[i].bit & 1)) return 0;
    if (state && !saves(p, state)) return 0;
    return state != WICK_STATE_AMX || p->allow_amx();
  }
  return -1;
}

static int has_feature(const char *name) {
  static const wick_processor host = {ask, saved_state, allow_amx};
  return wick_processor_has(&host, name);
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

static const struct {
  const char *name;
  unsigned long word;
  uint32_t bit;
} features[] = {
    {"fp-armv8", AT_HWCAP, 0}, {"neon", AT_HWCAP, 1},      {"aes", AT_HWCAP, 3},
    {"sha2", AT_HWCAP, 6},     {"crc", AT_HWCAP, 7},       {"lse", AT_HWCAP, 8},
    {"fullfp16", AT_HWCAP, 10}, {"rdm", AT_HWCAP, 12},     {"dotprod", AT_HWCAP, 20},
    {"sve", AT_HWCAP, 22},     {"sve2", AT_HWCAP2, 1},     {"i8mm", AT_HWCAP2, 13},
    {"bf16", AT_HWCAP2, 14},   {"sme", AT_HWCAP2, 23},
};

static int has_feature(const char *name) {
  for (size_t i = 0; i < WICK_COUNTOF(features); i++)
    if (strcmp(name, features[i].name) == 0)
      return getauxval(features[i].word) >> features[i].bit & 1;
  return -1;
}

#else
static int has_feature(const char *name) {
  (void)name;
  return -1;
}
#endif

int wick_cpu_has(const char *feature) { return feature ? has_feature(feature) : -1; }

bool wick_cpu_require(const char *list, char *missing, size_t size) {
  size_t used = 0;
  missing[0] = '\0';
  bool all = true;
  while (*list) {
    size_t n = strcspn(list, " ");
    char name[32];
    bool fits = n < sizeof name;
    if (fits) {
      memcpy(name, list, n);
      name[n] = '\0';
    }
    if (!fits || has_feature(name) != 1) {
      int shown = n < sizeof name ? (int)n : (int)sizeof name;
      int wrote = snprintf(missing + used, size - used, "%s%.*s", all ? "" : " ", shown, list);
      used = wrote > 0 && (size_t)wrote < size - used ? used + (size_t)wrote : size - 1;
      all = false;
    }
    list += n + (list[n] == ' ');
  }
  return all;
}
