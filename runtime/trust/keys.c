/* SPDX-License-Identifier: Apache-2.0
 * Files of keys and signatures. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wick_verify.h"

enum { FILE_BYTES = 4096 };

static const char public_name[] = "wick-public-key", secret_name[] = "wick-secret-key",
                  signature_name[] = "wick-signature";

static wick_status fail(wick_error_detail *detail, wick_status status, const char *path,
                        const char *why) {
  if (detail) snprintf(detail->text, sizeof detail->text, "%.150s: %s", path, why);
  return status;
}

static wick_status read_text(const char *path, char text[FILE_BYTES], wick_error_detail *detail) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = fd >= 0 ? read(fd, text, FILE_BYTES - 1) : -1;
  int reason = errno;
  if (fd >= 0) close(fd);
  if (n < 0) return fail(detail, WICK_CANNOT_READ, path, strerror(reason));
  text[n] = '\0';
  return WICK_OK;
}

/* The line "NAME ed25519 HEX" at *at, which moves behind it. */
static int read_line(const char **at, const char *name, uint8_t *out, size_t size) {
  char head[64];
  size_t n = (size_t)snprintf(head, sizeof head, "%s ed25519 ", name), got = 0;
  const char *end = NULL;
  if (strncmp(*at, head, n) != 0) return 0;
  const char *digits = *at + n;
  if (sodium_hex2bin(out, size, digits, strcspn(digits, "\n"), NULL, &got, &end) != 0 ||
      got != size || *end != '\n')
    return 0;
  *at = end + 1;
  return 1;
}

/* A file of one such line. */
static wick_status read_one(const char *path, const char *name, uint8_t *out, size_t size,
                            wick_error_detail *detail) {
  char text[FILE_BYTES], why[80];
  const char *at = text;
  wick_status status = read_text(path, text, detail);
  if (status == WICK_OK && (!read_line(&at, name, out, size) || *at)) {
    snprintf(why, sizeof why, "no line '%s ed25519 …'", name);
    status = fail(detail, WICK_BAD_ARGUMENT, path, why);
  }
  sodium_memzero(text, sizeof text);
  return status;
}

static wick_status read_keys(const char *path, wick_trust *out, wick_error_detail *detail) {
  char text[FILE_BYTES];
  const char *at = text;
  wick_status status = read_text(path, text, detail);
  if (status != WICK_OK) return status;
  while (*at && out->key_count < WICK_MAX_KEYS &&
         read_line(&at, public_name, out->keys[out->key_count], WICK_PUBLIC_KEY_BYTES))
    out->key_count++;
  if (out->key_count && !*at) return WICK_OK;
  return fail(detail, WICK_BAD_ARGUMENT, path, "no lines 'wick-public-key ed25519 …'");
}

wick_status wick_trust_read(const char *keys, const char *signature, wick_trust *out,
                            wick_error_detail *detail) {
  wick_trust trust = {.key_count = 0};
  if (!keys || !signature || !out) return WICK_BAD_ARGUMENT;
  wick_status status = read_keys(keys, &trust, detail);
  if (status == WICK_OK)
    status = read_one(signature, signature_name, trust.signature, sizeof trust.signature, detail);
  if (status == WICK_OK) *out = trust;
  return status;
}

wick_status wick_secret_key_read(const char *path, uint8_t secret_key[WICK_SECRET_KEY_BYTES],
                                 wick_error_detail *detail) {
  if (!path || !secret_key) return WICK_BAD_ARGUMENT;
  return read_one(path, secret_name, secret_key, WICK_SECRET_KEY_BYTES, detail);
}

static wick_key_line line_of(const char *name, const uint8_t *bytes, size_t size) {
  wick_key_line line;
  char hex[2 * WICK_SECRET_KEY_BYTES + 1];
  sodium_bin2hex(hex, sizeof hex, bytes, size);
  snprintf(line.text, sizeof line.text, "%s ed25519 %s\n", name, hex);
  sodium_memzero(hex, sizeof hex);
  return line;
}

wick_key_line wick_public_key_line(const uint8_t public_key[WICK_PUBLIC_KEY_BYTES]) {
  return line_of(public_name, public_key, WICK_PUBLIC_KEY_BYTES);
}

wick_key_line wick_secret_key_line(const uint8_t secret_key[WICK_SECRET_KEY_BYTES]) {
  return line_of(secret_name, secret_key, WICK_SECRET_KEY_BYTES);
}

wick_key_line wick_signature_line(const uint8_t signature[WICK_SIGNATURE_BYTES]) {
  return line_of(signature_name, signature, WICK_SIGNATURE_BYTES);
}
