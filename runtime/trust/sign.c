/* SPDX-License-Identifier: Apache-2.0
 *
 * Digests and signatures. The digest of the table is that of
 *   "wick package 1" with its NUL | count, 32 bits, little endian | digest of each piece
 * HEADER, the first piece, says where every section lies and how long it is: no two packages have
 * the same digests of all pieces. */
#include <sodium.h>
#include <string.h>

#include "wick_verify.h"

_Static_assert(WICK_PUBLIC_KEY_BYTES == crypto_sign_PUBLICKEYBYTES &&
                   WICK_SECRET_KEY_BYTES == crypto_sign_SECRETKEYBYTES &&
                   WICK_SIGNATURE_BYTES == crypto_sign_BYTES &&
                   WICK_DIGEST_BYTES == crypto_generichash_BYTES,
               "sizes are libsodium's");

static const char context[] = "wick package 1";

wick_status wick_piece_digest(const wick_piece *piece, uint8_t digest[WICK_DIGEST_BYTES]) {
  if (sodium_init() < 0) return WICK_NO_MEMORY;
  crypto_generichash(digest, WICK_DIGEST_BYTES, piece->data, piece->size, NULL, 0);
  return WICK_OK;
}

wick_status wick_table_digest(const wick_piece *pieces, uint32_t count,
                              uint8_t digest[WICK_DIGEST_BYTES]) {
  crypto_generichash_state state;
  const uint8_t number[4] = {(uint8_t)count, (uint8_t)(count >> 8), (uint8_t)(count >> 16),
                             (uint8_t)(count >> 24)};
  if (sodium_init() < 0) return WICK_NO_MEMORY;
  crypto_generichash_init(&state, NULL, 0, WICK_DIGEST_BYTES);
  crypto_generichash_update(&state, (const uint8_t *)context, sizeof context);
  crypto_generichash_update(&state, number, sizeof number);
  for (uint32_t i = 0; i < count; i++) {
    wick_status status = wick_piece_digest(&pieces[i], digest);
    if (status != WICK_OK) return status;
    crypto_generichash_update(&state, digest, WICK_DIGEST_BYTES);
  }
  crypto_generichash_final(&state, digest, WICK_DIGEST_BYTES);
  return WICK_OK;
}

wick_status wick_verify_signature(void *user, const wick_piece *pieces, uint32_t count,
                                  wick_error_detail *detail) {
  wick_trust *trust = user;
  uint8_t digest[WICK_DIGEST_BYTES];
  if (trust->size < sizeof *trust) return WICK_BAD_ARGUMENT;
  wick_status status = wick_table_digest(pieces, count, digest);
  if (status != WICK_OK) return status;
  for (trust->signer = 0; trust->signer < trust->key_count; trust->signer++)
    if (crypto_sign_verify_detached(trust->signature, digest, sizeof digest,
                                    trust->keys[trust->signer]) == 0)
      return WICK_OK;
  strcpy(detail->text, "the signature is of another package, or made with another key");
  return WICK_REFUSED;
}

wick_status wick_keys_make(uint8_t public_key[WICK_PUBLIC_KEY_BYTES],
                           uint8_t secret_key[WICK_SECRET_KEY_BYTES]) {
  if (sodium_init() < 0) return WICK_NO_MEMORY;
  return crypto_sign_keypair(public_key, secret_key) == 0 ? WICK_OK : WICK_NO_MEMORY;
}

wick_status wick_sign(const wick_piece *pieces, uint32_t count,
                      const uint8_t secret_key[WICK_SECRET_KEY_BYTES],
                      uint8_t signature[WICK_SIGNATURE_BYTES]) {
  uint8_t digest[WICK_DIGEST_BYTES];
  wick_status status = wick_table_digest(pieces, count, digest);
  if (status == WICK_OK)
    crypto_sign_detached(signature, NULL, digest, sizeof digest, secret_key);
  return status;
}
