/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile/compile.h"

enum { BLOCK = 32, LEAST_BLOCK = 16, MOST_BLOCK = 1024 };

/* The size of blocks behind a type: "", ":128". */
static bool parse_block(const char *text, int64_t *block) {
  char *end;
  *block = BLOCK;
  if (!*text) return true;
  if (*text != ':' || text[1] < '1' || text[1] > '9') return false;
  *block = strtoll(text + 1, &end, 10);
  return !*end && *block >= LEAST_BLOCK && *block <= MOST_BLOCK && (*block & (*block - 1)) == 0;
}

bool wk_compile_convert(const wk_compile_options *o, wk_dtype *type, int64_t *block) {
  static const wk_dtype types[] = {WK_F16, WK_BF16, WK_I4, WK_I8};
  *type = WK_DTYPE_NONE;
  *block = 0;
  for (size_t i = 0; o->convert && i < WK_COUNTOF(types); i++) {
    const char *name = wk_dtype_name(types[i]), *rest = o->convert + strlen(name);
    if (strncmp(o->convert, name, strlen(name)) != 0) continue;
    if (wk_dtype_is_float(types[i]) ? *rest : !parse_block(rest, block)) return false;
    *type = types[i];
    return true;
  }
  return !o->convert;
}

static wk_status check_convert(const wk_compile_options *o) {
  wk_dtype type;
  int64_t block;
  if (wk_compile_convert(o, &type, &block)) return NULL;
  return wk_error(WK_USAGE, "--convert %s: floats are stored as f16 or bf16, weights as i4 or i8, "
                  "in blocks of 32 or of another power of two from %d to %d: i4:128", o->convert,
                  LEAST_BLOCK, MOST_BLOCK);
}

/* What the output depends on: the same input gives the same bytes in any folder. */
const char *wk_compile_command_text(const wk_compile_options *o, wk_arena *a) {
  wk_str b = {0};
  if (o->target.target) wk_str_printf(&b, " --target=%s", o->target.target);
  if (o->target.cpu) wk_str_printf(&b, " --cpu=%s", o->target.cpu);
  if (o->target.no_host) wk_str_add(&b, " --no-host");
  for (size_t i = 0; i < o->target.place.n; i++)
    wk_str_printf(&b, " --place=%s", o->target.place.data[i]);
  wk_settings_text(&b, &o->target.settings);
  if (o->convert) wk_str_printf(&b, " --convert=%s", o->convert);
  if (o->budget) wk_str_printf(&b, " --memory-budget=%s", o->budget);
  if (o->quantize) wk_str_printf(&b, " --quantize-random=%" PRId64, o->quantize);
  for (size_t i = 0; i < o->binding.bind.n; i++)
    wk_str_printf(&b, " --bind=%s", o->binding.bind.data[i]);
  for (size_t i = 0; i < o->binding.shape.n; i++)
    wk_str_printf(&b, " --shape=%s", o->binding.shape.data[i]);
  for (size_t i = 0; i < o->binding.length.n; i++)
    wk_str_printf(&b, " --length=%s", o->binding.length.data[i]);
  for (size_t i = 0; i < o->binding.value.n; i++) {
    const char *v = o->binding.value.data[i], *slash = strrchr(v, '/');
    wk_str_printf(&b, " --value=%.*s=%s", (int)strcspn(v, "="), v,
                  slash ? slash + 1 : v + strcspn(v, "=") + 1);
  }
  for (size_t i = 0; i < o->binding.bound.n; i++)
    wk_str_printf(&b, " --bound=%s", o->binding.bound.data[i]);
  for (size_t i = 0; i < o->state.n; i++) wk_str_printf(&b, " --state=%s", o->state.data[i]);
  for (size_t i = 0; i < o->needed.n; i++) wk_str_printf(&b, " --needed=%s", o->needed.data[i]);
  const char *text = wk_arena_strdup(a, b.n ? b.s + 1 : "");
  wk_str_free(&b);
  return text;
}

wk_status wk_compile_check_options(const wk_compile_options *o, const wk_emission *emit,
                                   size_t bindings) {
  int64_t budget;
  wk_step_kind last = WK_ON_OUTPUT;
  if (o->budget && !wk_bytes_parse(o->budget, &budget))
    return wk_error(WK_USAGE, "--memory-budget %s: a size is expected: 64MiB, 512KiB", o->budget);
  WK_TRY(check_convert(o));
  if (o->stop_after) WK_TRY(wk_pipeline_find_step("--stop-after", o->stop_after, &last));
  if (last != WK_ON_OUTPUT && wk_emission_is_code(emit))
    return wk_error(WK_USAGE, "--emit %s needs all passes: leave out --stop-after", emit->name);
  if (bindings > 1 && !wk_emission_is_code(emit))
    return wk_error(WK_USAGE, "--emit %s writes one binding: give --bind and --shape only once",
                    emit->name);
  return NULL;
}
