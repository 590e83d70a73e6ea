/* SPDX-License-Identifier: Apache-2.0
 * wick sign: keys, and signatures of packages. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/paths.h"
#include "cli/trust.h"

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

static wk_status make_keys(const char *name) {
  size_t n = strlen(name);
  if (!n || name[n - 1] == '/')
    return wk_error(WK_USAGE, "--make-key '%s': a name of files is expected", name);
  return wk_trust_make_keys(name);
}

static wk_status sign(const sign_opts *o, const char *package) {
  wk_paths paths = {0};
  wk_str beside = {0};
  wk_str_printf(&beside, "%s.sig", package);
  const char *output = o->output ? o->output : beside.s;
  wk_paths_read(&paths, "the package", package);
  wk_paths_read(&paths, "--key", o->key);
  wk_paths_write(&paths, o->output ? "--output" : "the output", output);
  wk_status s = wk_paths_check(&paths);
  if (!s) s = wk_trust_sign(package, o->key, output);
  wk_str_free(&beside);
  return s;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const sign_opts *o = options_;
  if (o->make_key) {
    if (args->n || o->key || o->output)
      return wk_error(WK_USAGE, "--make-key goes with nothing else");
    return make_keys(o->make_key);
  }
  if (!args->n) return wk_error(WK_USAGE, "a package to sign, or --make-key");
  if (!o->key) return wk_error(WK_USAGE, "--key: the secret key that signs ('wick sign --make-key "
                               "NAME' makes one)");
  return sign(o, args->data[0]);
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
