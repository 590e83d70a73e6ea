/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

static void (*shown)(const char *text);

void wk_progress_to(void (*show)(const char *text)) { shown = show; }

void wk_progress(const char *fmt, ...) {
  if (!shown) return;
  wk_str b = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&b, fmt, ap);
  va_end(ap);
  wk_text_clean(b.s);
  shown(b.s);
  wk_str_free(&b);
}

void wk_progress_end(void) {
  if (shown) shown(NULL);
}
