/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/simd.h"

#include <string.h>

#include "runtime/wick.h"

#define ALIAS(id, name)
#define RARE(name, flags)
#define SIMD(id, ...) ROW_##id,
enum {
#include "targets/cpu/simd.def"
};
#undef SIMD
#define SIMD(id, ...) [ROW_##id] = {__VA_ARGS__},
static const wk_simd rows[] = {
#include "targets/cpu/simd.def"
};
#undef SIMD
#undef ALIAS
#define SIMD(id, ...)
#define ALIAS(id, name) {name, ROW_##id},
static const struct {
  const char *name;
  int row;
} names[] = {
#include "targets/cpu/simd.def"
};

const wk_simd *wk_simd_row(int i) { return i >= 0 && i < (int)WK_COUNTOF(rows) ? &rows[i] : NULL; }

bool wk_simd_runs_here(const wk_simd *simd) {
  for (const char *s = simd->needs; *s;) {
    char name[32];
    size_t n = strcspn(s, " ");
    if (n >= sizeof name) return false;
    memcpy(name, s, n);
    name[n] = 0;
    if (wick_cpu_has(name) != 1) return false;
    s += n + (s[n] == ' ');
  }
  return true;
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
