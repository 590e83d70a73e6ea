/* SPDX-License-Identifier: Apache-2.0
 * zoo: real architectures with seeded weights, made without any other tool (rank 3). */
#ifndef WICK_ZOO_H
#define WICK_ZOO_H

#include "compiler/zoo/builder.h"

typedef struct {
  const char *name; /* "resnet50" */
  const char *doc;  /* one line: input, what it is */
  void (*build)(wick_builder *b);
} wk_zoo_entry;

extern const wk_zoo_entry wk_zoo[];
extern const size_t wk_zoo_count;

const wk_zoo_entry *wk_zoo_find(const char *name); /* NULL: unknown */
/* batch: samples in each input, of networks of images; 0: one, or as the network has it. */
wk_status wk_zoo_build(const wk_zoo_entry *e, uint64_t seed, int64_t batch,
                       wk_module **out) WK_MUST_CHECK;

#endif
