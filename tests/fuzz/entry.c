/* SPDX-License-Identifier: Apache-2.0
 * The readers of tests/hostile as entries for libFuzzer, and what speaks its language (AFL++'s
 * driver). The program's name says which: a link "state" feeds files of states. A complaint ends
 * the process as a crash does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static const hostile_reader *reader;
static char folder[64];

static void remove_folder(void) { (void)rmdir(folder); }

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  const char *slash = strrchr((*argv)[0], '/'), *name = slash ? slash + 1 : (*argv)[0];
  reader = hostile_reader_find(name);
  if (!reader) {
    fprintf(stderr, "%s: no reader has this name; tests/hostile/readers.def has them\n", name);
    exit(2);
  }
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/fuzz-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) abort();
  atexit(remove_folder);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  feed_run r = {.folder = folder};
  hostile_feed(reader, &r, data, size);
  if (r.complaint.n) {
    fprintf(stderr, "%s: %s\n", reader->name, r.complaint.s);
    abort();
  }
  return 0;
}
