/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler/support/support.h"

static void (*end_of_program)(const char *file, int line, const char *what);

void wk_bug_ends(void (*end)(const char *file, int line, const char *what)) {
  end_of_program = end;
}

void wk_bug(const char *file, int line, const char *what) {
  wk_end(what);
  if (end_of_program) end_of_program(file, line, what);
  abort();
}
