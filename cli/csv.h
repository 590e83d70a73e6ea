/* SPDX-License-Identifier: Apache-2.0
 * Comma-separated values. */
#ifndef WICK_CLI_CSV_H
#define WICK_CLI_CSV_H

#include "compiler/support/support.h"

/* RFC 4180: in quotes, which are doubled. */
static inline void wk_csv_text(wk_str *b, const char *text) {
  wk_str_add(b, "\"");
  for (; *text; text++) wk_str_printf(b, *text == '"' ? "\"\"" : "%c", *text);
  wk_str_add(b, "\"");
}

#endif
