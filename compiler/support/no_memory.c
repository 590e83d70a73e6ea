/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler/support/support.h"

static void (*end_of_program)(void);

void wk_no_memory_ends(void (*end)(void)) { end_of_program = end; }

void wk_no_memory(void) {
  if (end_of_program) end_of_program();
  abort();
}
