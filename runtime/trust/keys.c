/* SPDX-License-Identifier: Apache-2.0
 * Files of keys and signatures. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wick_verify.h"

enum { FILE_BYTES = 16384 };

static const char public_name[] = "wick-public-key", secret_name[] = "wick-secret-key",
                  signature_name[] = "wick-signature";

static wick_status fail(wick_error_detail *detail, wick_status status, const char *path,
                        const char *why) {
  if (detail) snprintf(detail->text, sizeof detail->text, "%.150s: %s", path, why);
  return status;
}

static wick_status read_text(const char *path, char text[FILE_BYTES], wick_error_detail *detail) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = fd >= 0 ? read(fd, text, FILE_BYTES) : -1;
  int reason = errno;
  if (fd >= 0) close(fd);
  if (n < 0) return fail(detail, WICK_CANNOT_READ, path, strerror(reason));
  if (n == FILE_BYTES) return fail(detail, WICK_BAD_ARGUMENT, path, "too long for a file of keys");
  text[n] = '\0';
  return strlen(text) == (size_t)n ? WICK_OK : fail(detail, WICK_BAD_ARGUMENT, path, "not a text");
}

typedef struct {
  char *at;
  unsigned line; /* that was read last, from 1 */
} lines;

/* The next line that has more than a comment, without its end; NULL: there is none. */
static const char *next_line(lines *l) {
  while (*l->at) {
    char *line = l->at, *end = line + strcspn(line, "\n");
    l->at = *end ? end + 1 : end;
    l->line++;
    while (end > line && strchr(" \t\r", end[-1])) end--;
    *end = '\0';
    if (*line && *line != '#') return line;
  }
  return NULL;
}

/* "NAME ed25519 HEX" */
static int parse_line(const char *line, const char *name, uint8_t *out, size_t size) {
  char head[64];
  size_t n = (size_t)snprintf(head, sizeof head, "%s ed25519 ", name), got = 0;
  const char *end = NULL;
  if (strncmp(line, head, n) != 0) return 0;
  return sodium_hex2bin(out, size, line + n, strlen(line + n), NULL, &got, &end) == 0 &&
         got == size && !*end;
}

typedef struct {
  const char *name;
  size_t size;
  uint32_t most;
} wanted_lines;

/* From 1 to so many such lines, to `out` one after the other. */
static wick_status read_lines(const char *path, const wanted_lines *w, uint8_t *out,
                              uint32_t *count, wick_error_detail *detail) {
  if (detail) detail->text[0] = '\0';
  char text[FILE_BYTES], why[96] = "";
  lines l = {text, 0};
  const char *line;
  *count = 0;
  wick_status status = read_text(path, text, detail);
  while (status == WICK_OK && (line = next_line(&l))) {
    if (*count == w->most)
      snprintf(why, sizeof why, "line %u: more than %u '%s'", l.line, w->most, w->name);
    else if (!parse_line(line, w->name, out + *count * w->size, w->size))
      snprintf(why, sizeof why, "line %u: no '%s ed25519 …' with %zu digits", l.line, w->name,
               2 * w->size);
    if (*why) status = fail(detail, WICK_BAD_ARGUMENT, path, why);
    else ++*count;
  }
  sodium_memzero(text, sizeof text);
  if (status != WICK_OK || *count) return status;
  snprintf(why, sizeof why, "no line '%s ed25519 …'", w->name);
  return fail(detail, WICK_BAD_ARGUMENT, path, why);
}

wick_status wick_trust_read(const char *keys, const char *signature, wick_trust *out,
                            wick_error_detail *detail) {
  static const wanted_lines some = {public_name, WICK_PUBLIC_KEY_BYTES, WICK_MAX_KEYS},
                            one = {signature_name, WICK_SIGNATURE_BYTES, 1};
  uint32_t n;
  if (!keys || !signature || !out || out->size < sizeof *out) return WICK_BAD_ARGUMENT;
  wick_trust trust = {.size = out->size};
  wick_status status = read_lines(keys, &some, trust.keys[0], &trust.key_count, detail);
  if (status == WICK_OK) status = read_lines(signature, &one, trust.signature, &n, detail);
  if (status == WICK_OK) *out = trust;
  return status;
}

wick_status wick_secret_key_read(const char *path, uint8_t secret_key[WICK_SECRET_KEY_BYTES],
                                 wick_error_detail *detail) {
  static const wanted_lines one = {secret_name, WICK_SECRET_KEY_BYTES, 1};
  uint32_t n;
  if (!path || !secret_key) return WICK_BAD_ARGUMENT;
  return read_lines(path, &one, secret_key, &n, detail);
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
