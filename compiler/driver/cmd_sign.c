/* SPDX-License-Identifier: Apache-2.0
 * wick sign: keys, and signatures of packages. */
#include <stdio.h>

#include "compiler/driver/command.h"
#include "compiler/driver/trust.h"

typedef struct {
  const char *make_key, *key, *output;
} sign_opts;

static const wk_option options[] = {
    {"make-key", 0, "NAME", "make a pair of keys: NAME.key, which signs and stays secret, and "
     "NAME.pub, which verifies", .kind = WK_OPTION_STRING, .offset = offsetof(sign_opts, make_key)},
    {"key", 0, "FILE", "the secret key", .kind = WK_OPTION_STRING,
     .offset = offsetof(sign_opts, key)},
    {"output", 'o', "FILE", "the signature (default: PACKAGE.sig)", .kind = WK_OPTION_STRING,
     .offset = offsetof(sign_opts, output)},
    {0}};

static wk_status run(const void *options_, const wk_strings *args) {
  const sign_opts *o = options_;
  if (o->make_key) {
    if (args->n || o->key || o->output)
      return wk_error(WK_USAGE, "--make-key goes with nothing else");
    return wk_trust_make_keys(o->make_key);
  }
  if (!args->n) return wk_error(WK_USAGE, "a package to sign, or --make-key");
  if (!o->key) return wk_error(WK_USAGE, "--key: the secret key that signs ('wick sign --make-key "
                               "NAME' makes one)");
  return wk_trust_sign(args->data[0], o->key, o->output);
}

const wk_cmd wk_cmd_sign = {
    .command = {.name = "sign", .synopsis = "[PACKAGE]",
                .summary = "sign a package, or make the keys for it",
                .description = "Signs the digests of all of a package's sections with ed25519. "
                               "'wick verify' and 'wick run' check the signature with --key; "
                               "programs do with libwick_verify. SECURITY.md says what that "
                               "proves.",
                .options = options, .min_args = 0, .max_args = 1},
    .size = sizeof(sign_opts), .run = run};
