/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "compiler/support/support.h"

static bool is_portable(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c && strchr("._-", c));
}

char *wk_text_file_name(wk_arena *a, const char *name) {
  enum { MAX_BYTES = 200, KEPT_BYTES = MAX_BYTES - 17 };
  wk_str b = {0};
  if (!*name) wk_str_add(&b, "%"); /* no other name is this one */
  for (const char *p = name; *p; p++) {
    if (is_portable(*p) && (*p != '.' || p > name)) wk_str_addn(&b, p, 1);
    else wk_str_printf(&b, "%%%02X", (unsigned char)*p);
  }
  char *out = b.n <= MAX_BYTES
                  ? wk_arena_strdup(a, b.s)
                  : wk_arena_printf(a, "%.*s~%016llx", KEPT_BYTES, b.s,
                                    (unsigned long long)wk_hash64(name, strlen(name), 0));
  wk_str_free(&b);
  return out;
}
