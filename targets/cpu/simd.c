/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/simd.h"

#include <string.h>

/* A tile of mr rows and v vectors keeps mr*v accumulators, v panel vectors and one splat value in
 * registers (one more where there is no fused multiply-add), which bounds mr. */
static const wk_simd rows[] = {
    {.name = "avx512-vnni",
     .rare = "avx512",
     .triple = "x86_64-unknown-linux-gnu",
     .cpu = "x86-64-v4",
     .tune = "skylake-avx512",
     .features = "+avx512vnni",
     .needs = "avx512f avx512bw avx512cd avx512dq avx512vl avx512vnni avx2 fma bmi1 bmi2 f16c",
     .vector_width = "512",
     .lanes = 16,
     .registers = 32,
     .has_fma = true,
     .has_masks = true,
     .has_vnni = true,
     .nv_max = 4,
     .mr = {0, 14, 14, 9, 6},
     .mr8 = {0, 14, 14, 9, 6},
     .l1_bytes = 32 << 10,
     .l2_bytes = 1 << 20},
    {.name = "avx512",
     .rare = "avx512",
     .triple = "x86_64-unknown-linux-gnu",
     .cpu = "x86-64-v4",
     .tune = "skylake-avx512",
     .features = "",
     .needs = "avx512f avx512bw avx512cd avx512dq avx512vl avx2 fma bmi1 bmi2 f16c",
     .vector_width = "512",
     .lanes = 16,
     .registers = 32,
     .has_fma = true,
     .has_masks = true,
     .nv_max = 4,
     .mr = {0, 14, 14, 9, 6},
     .mr8 = {0, 14, 11, 7, 5},
     .l1_bytes = 32 << 10,
     .l2_bytes = 1 << 20},
    {.name = "avx2",
     .rare = "avx2",
     .triple = "x86_64-unknown-linux-gnu",
     .cpu = "x86-64-v3",
     .tune = "haswell",
     .features = "",
     .needs = "avx2 fma bmi1 bmi2 f16c",
     .vector_width = "256",
     .lanes = 8,
     .registers = 16,
     .has_fma = true,
     .has_masks = true,
     .nv_max = 2,
     .mr = {0, 10, 6},
     .mr8 = {0, 8, 4},
     .l1_bytes = 32 << 10,
     .l2_bytes = 512 << 10},
    {.name = "x86-64",
     .rare = "x86-64",
     .triple = "x86_64-unknown-linux-gnu",
     .cpu = "x86-64",
     .tune = "generic",
     .features = "",
     .needs = "sse2",
     .vector_width = "128",
     .lanes = 4,
     .registers = 16,
     .has_fma = false,
     .has_masks = false,
     .nv_max = 2,
     .mr = {0, 8, 6},
     .mr8 = {0, 6, 3},
     .l1_bytes = 32 << 10,
     .l2_bytes = 256 << 10},
    {.name = "aarch64",
     .rare = "aarch64",
     .triple = "aarch64-unknown-linux-gnu",
     .cpu = "generic",
     .tune = "neoverse-n1",
     .features = "+neon",
     .needs = "asimd",
     .vector_width = "128",
     .lanes = 4,
     .registers = 32,
     .has_fma = true,
     .has_masks = false,
     .nv_max = 3,
     .mr = {0, 12, 12, 8},
     .mr8 = {0, 8, 6, 4},
     .l1_bytes = 64 << 10,
     .l2_bytes = 512 << 10},
};

enum { AVX512_VNNI, AVX512, AVX2, X86_64, AARCH64 };
static const struct {
  const char *name;
  int row;
} names[] = {
    {"skylake-avx512", AVX512}, {"cascadelake", AVX512_VNNI},    {"cooperlake", AVX512_VNNI},
    {"icelake-server", AVX512_VNNI}, {"icelake-client", AVX512_VNNI}, {"tigerlake", AVX512_VNNI},
    {"sapphirerapids", AVX512_VNNI}, {"emeraldrapids", AVX512_VNNI},
    {"graniterapids", AVX512_VNNI},
    {"znver4", AVX512_VNNI},         {"znver5", AVX512_VNNI},         {"x86-64-v4", AVX512},
    {"haswell", AVX2},          {"broadwell", AVX2},        {"skylake", AVX2},
    {"alderlake", AVX2},        {"raptorlake", AVX2},       {"meteorlake", AVX2},
    {"znver1", AVX2},           {"znver2", AVX2},           {"znver3", AVX2},
    {"x86-64-v3", AVX2},        {"x86-64-v2", X86_64},      {"nehalem", X86_64},
    {"westmere", X86_64},       {"sandybridge", X86_64},    {"ivybridge", X86_64},
    {"core2", X86_64},          {"sse2", X86_64},           {"neon", AARCH64},
    {"cortex-a53", AARCH64},    {"cortex-a55", AARCH64},    {"cortex-a72", AARCH64},
    {"cortex-a76", AARCH64},    {"cortex-a78", AARCH64},    {"neoverse-n1", AARCH64},
    {"neoverse-n2", AARCH64},   {"neoverse-v1", AARCH64},   {"neoverse-v2", AARCH64},
    {"apple-m1", AARCH64},      {"apple-m2", AARCH64},
};

const wk_simd *wk_simd_row(int i) { return i >= 0 && i < (int)WK_COUNTOF(rows) ? &rows[i] : NULL; }

bool wk_simd_runs_here(const wk_simd *simd) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (simd == &rows[AVX512_VNNI]) return has_avx512 && __builtin_cpu_supports("avx512vnni");
  if (simd == &rows[AVX512]) return has_avx512;
  return simd == &rows[X86_64] || (simd == &rows[AVX2] && has_avx2);
#elif defined(__aarch64__)
  return simd == &rows[AARCH64];
#else
  return false;
#endif
}

wk_status wk_simd_find(const char *name, const wk_simd **out) {
  *out = NULL;
  if (strcmp(name, "native") == 0) {
    for (size_t i = 0; i < WK_COUNTOF(rows) && !*out; i++)
      if (wk_simd_runs_here(&rows[i])) *out = &rows[i];
    return *out ? NULL : wk_error(WK_UNSUPPORTED, "no code generator for this machine");
  }
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (strcmp(name, rows[i].name) == 0) *out = &rows[i];
  for (size_t i = 0; i < WK_COUNTOF(names) && !*out; i++)
    if (strcmp(name, names[i].name) == 0) *out = &rows[names[i].row];
  if (*out) return NULL;
  const char *known[WK_COUNTOF(rows) + WK_COUNTOF(names) + 1] = {"native"};
  size_t n = 1;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) known[n++] = rows[i].name;
  for (size_t i = 0; i < WK_COUNTOF(names); i++) known[n++] = names[i].name;
  const char *near = wk_nearest(name, known, n);
  if (near) return wk_error(WK_USAGE, "unknown cpu '%s'; did you mean '%s'?", name, near);
  wk_str all = {0};
  for (size_t i = 0; i < n; i++) wk_str_printf(&all, "%s%s", i ? ", " : "", known[i]);
  wk_status s = wk_error(WK_USAGE, "unknown cpu '%s' (choose from %s)", name, all.s);
  wk_str_free(&all);
  return s;
}
