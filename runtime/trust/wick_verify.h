/* SPDX-License-Identifier: Apache-2.0
 * wick_verify: signatures of packages, ed25519 by libsodium. A library beside the runtime
 * (-lwick_verify), for programs that load packages whose makers they know:
 *
 *   wick_trust trust = {.size = sizeof trust};
 *   wick_trust_read("maker.pub", "net.wick.sig", &trust, &detail);
 *   wick_load_options o = {.size = sizeof o, .verifier = wick_verify_signature, .user = &trust};
 *   wick_model_load("net.wick", &o, &model);
 *
 * What is signed is the table of the package's digests (BLAKE2b, 256 bits): of the header with the
 * table of sections, then of every section. `wick sign` makes keys and signatures, `wick verify`
 * shows the digests. Files are lines of text: what it is, "ed25519", hexadecimal digits; empty ones
 * and those that begin with "#" do not count, nor do blanks at the end of one. Functions return as
 * in wick.h; nothing prints or exits. */
#ifndef WICK_VERIFY_H
#define WICK_VERIFY_H

#include "runtime/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  WICK_DIGEST_BYTES = 32,
  WICK_PUBLIC_KEY_BYTES = 32,
  WICK_SECRET_KEY_BYTES = 64,
  WICK_SIGNATURE_BYTES = 64,
  WICK_MAX_KEYS = 16
};

/* The program's, which sets size: functions read and fill no more than that. WICK_BAD_ARGUMENT: it
 * is less than any version had, or forgotten. */
typedef struct wick_trust {
  uint32_t size; /* sizeof(wick_trust) */
  uint8_t keys[WICK_MAX_KEYS][WICK_PUBLIC_KEY_BYTES]; /* any of which may have signed */
  uint32_t key_count;
  uint8_t signature[WICK_SIGNATURE_BYTES];
  uint32_t signer; /* the number of the key that did, once a package has been verified */
} wick_trust;

/* keys: a file with a line for each. WICK_CANNOT_READ, or WICK_BAD_ARGUMENT when it is something
 * else or has more than WICK_MAX_KEYS. */
wick_status wick_trust_read(const char *keys, const char *signature, wick_trust *out,
                            wick_error_detail *detail);

/* A wick_verifier; `user` is a wick_trust. WICK_REFUSED: none of the keys has signed this. */
wick_status wick_verify_signature(void *user, const wick_piece *pieces, uint32_t count,
                                  wick_error_detail *detail);

/* Of one piece; of the table of all, which is what is signed. WICK_NO_MEMORY: libsodium cannot be
 * started. */
wick_status wick_piece_digest(const wick_piece *piece, uint8_t digest[WICK_DIGEST_BYTES]);
wick_status wick_table_digest(const wick_piece *pieces, uint32_t count,
                              uint8_t digest[WICK_DIGEST_BYTES]);

/* For whoever signs. */
wick_status wick_keys_make(uint8_t public_key[WICK_PUBLIC_KEY_BYTES],
                           uint8_t secret_key[WICK_SECRET_KEY_BYTES]);
wick_status wick_secret_key_read(const char *path, uint8_t secret_key[WICK_SECRET_KEY_BYTES],
                                 wick_error_detail *detail);
wick_status wick_sign(const wick_piece *pieces, uint32_t count,
                      const uint8_t secret_key[WICK_SECRET_KEY_BYTES],
                      uint8_t signature[WICK_SIGNATURE_BYTES]);

/* The line of a file, with its newline. */
typedef struct wick_key_line {
  char text[160];
} wick_key_line;
wick_key_line wick_public_key_line(const uint8_t public_key[WICK_PUBLIC_KEY_BYTES]);
wick_key_line wick_secret_key_line(const uint8_t secret_key[WICK_SECRET_KEY_BYTES]);
wick_key_line wick_signature_line(const uint8_t signature[WICK_SIGNATURE_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
