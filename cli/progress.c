/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "compiler/support/support.h"

/* Control sequences are for terminals that know them, unless the user does without. */
static bool shows_progress(void) {
  const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0 &&
         !(plain && *plain);
}

static void show(const char *text) {
  if (!shows_progress()) return;
  if (!text) {
    fputs("\r\033[K", stderr);
    return;
  }
  struct winsize w = {0};
  int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col - 1 : 79;
  size_t n = 0; /* whole characters up to the last column but one */
  for (int used = 0; text[n] && used < columns; used++)
    for (n++; (text[n] & 0xc0) == 0x80;) n++;
  fprintf(stderr, "\r\033[K%.*s", (int)n, text);
  fflush(stderr);
}

void wk_progress_on_terminal(void) { wk_progress_to(show); }
