/* SPDX-License-Identifier: Apache-2.0
 * Whose packages are trusted (runtime/trust/wick_verify.h). Where Wick was made
 * without libsodium, whatever needs keys is WK_UNSUPPORTED. */
#ifndef WICK_CLI_TRUST_H
#define WICK_CLI_TRUST_H

#include "compiler/support/options.h"
#include "runtime/wick.h"

/* --key and --signature, of a struct with members of these names. */
#define WK_TRUST_OPTIONS(type)                                                                  \
  {"key", 0, "FILE", "public keys (wick sign --make-key): use the package only if one of them " \
   "has signed it", .kind = WK_OPTION_STRING, .offset = offsetof(type, key)},                   \
  {"signature", 0, "FILE", "the package's signature (default: PACKAGE.sig)",                    \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, signature)}

/* --memory-limit, of a struct with a member of this name. */
#define WK_MEMORY_LIMIT_OPTION(type)                                                            \
  {"memory-limit", 0, "SIZE", "refuse packages that ask for more memory, 64MiB for example "    \
   "(default: what the machine has)",                                                           \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, memory_limit)}

/* For wick_load_options: 0 where it is not given. */
wk_status wk_memory_limit_parse(const char *given, uint64_t *limit) WK_MUST_CHECK;

/* For wick_load_options. */
typedef struct {
  wick_verifier verifier; /* NULL: there is no key */
  void *user;
} wk_trusted;

/* key NULL: everybody is trusted. signature NULL: beside the package. */
wk_status wk_trust_open(const char *package, const char *key, const char *signature,
                        wk_trusted *out) WK_MUST_CHECK;
void wk_trust_close(wk_trusted *t);

/* The digest of a piece, or of the table of all, in hexadecimal; "": there is no libsodium. */
typedef struct { char s[65]; } wk_digest_text;
wk_digest_text wk_piece_digest_text(const wick_piece *piece);
wk_digest_text wk_table_digest_text(const wick_piece *pieces, uint32_t count);

/* Writes NAME.pub and NAME.key, neither of which may exist; the second is readable by its owner
 * alone. */
wk_status wk_trust_make_keys(const char *name) WK_MUST_CHECK;
/* Signs the package with the key of the file; signature: the file to write. */
wk_status wk_trust_sign(const char *package, const char *key, const char *signature) WK_MUST_CHECK;

#endif
