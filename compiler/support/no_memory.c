/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler/support/support.h"

static void (*end_of_program)(void);
static _Thread_local wk_thread_end end_of_thread;

void wk_no_memory_ends(void (*end)(void)) { end_of_program = end; }

void wk_end_by(void (*end)(void *ctx, const char *why), void *ctx) {
  end_of_thread = (wk_thread_end){end, ctx};
}

wk_thread_end wk_end_of_thread(void) { return end_of_thread; }

void wk_end(const char *why) {
  void (*end)(void *ctx, const char *why) = end_of_thread.end;
  end_of_thread.end = NULL; /* it may jump to where nothing of this is known */
  if (end) end(end_of_thread.ctx, why);
}

void wk_no_memory(void) {
  wk_end("out of memory");
  if (end_of_program) end_of_program();
  abort();
}
