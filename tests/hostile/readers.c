/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/hostile/hostile.h"
#include "tests/hostile/mutate.h"

const hostile_reader hostile_readers[HOSTILE_READERS] = {
#define READER(name, share, feed, mutate, list) {name, share, false, feed, mutate, list},
#define COMPANIED(name, share, feed, mutate, list) {name, share, true, feed, mutate, list},
#include "tests/hostile/readers.def"
#undef READER
};

const hostile_reader *hostile_reader_find(const char *name) {
  for (size_t i = 0; i < HOSTILE_READERS; i++)
    if (!strcmp(hostile_readers[i].name, name)) return &hostile_readers[i];
  return NULL;
}

void hostile_file_of(const hostile_reader *by, const wk_str *input, size_t seed, wk_str *out) {
  if (by->is_companied) wk_str_addn(out, (const char[]){(char)seed}, 1);
  wk_str_addn(out, input->s ? input->s : "", input->n);
}

void hostile_feed(const hostile_reader *by, feed_run *r, const void *file, size_t n) {
  const char *bytes = file;
  wk_str input = {0};
  r->rng = (wk_rng){wk_hash64(file, n, 0)};
  if (by->is_companied && n) r->seed = (uint8_t)*bytes++, n--;
  wk_str_addn(&input, n ? bytes : "", n);
  by->feed(r, &input);
  wk_str_free(&input);
}
