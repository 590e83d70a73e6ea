/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick generate`.
 *
 *   cmd_generate.c  options, the loop
 *   model.c         a model compiled on the spot; a package loaded
 *   decoder.h       a package as a decoder
 *   roles.h         what its inputs are
 *   sampler.h       the next token from logits
 *   ids.h           lists of token ids */
#ifndef WICK_GENERATE_GENERATE_H
#define WICK_GENERATE_GENERATE_H

#include "cli/generate/sampler.h"
#include "compiler/compile/compile.h"
#include "runtime/wick.h"

typedef struct {
  wk_compile_options model; /* of models: binding, state, target */
  const char *key, *signature, *memory_limit; /* of packages */
  const char *tokens, *stop, *output;
  wk_strings role, input;
  int64_t steps, seed, chunk, context, threads;
  wk_sampling sampling;
  bool greedy, quiet;
} wk_generate_opts;

/* Loads a package, or compiles a model: with what the options say, or, where they say nothing of
 * its sizes or caches, with what its inputs suggest, which a note tells. Notes are printed. */
wk_status wk_generate_load(const wk_generate_opts *o, const char *path,
                           wick_model **out) WK_MUST_CHECK;

#endif
