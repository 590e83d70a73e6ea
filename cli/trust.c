/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/pipeline/runner.h"

#ifdef WICK_HAS_SODIUM
#include "runtime/trust/wick_verify.h"
#include "sim/device.h"

static char *beside(const char *path, const char *suffix) {
  wk_str b = {0};
  wk_str_printf(&b, "%s%s", path, suffix);
  return b.s;
}

/* Of a file of keys or a signature. */
static wk_status file_error(wick_status status, const wick_error_detail *detail) {
  if (status == WICK_OK) return NULL;
  if (status == WICK_NO_MEMORY) return wk_error(WK_RESOURCE, "libsodium cannot be started");
  return wk_error(status == WICK_CANNOT_READ ? WK_IO : WK_INPUT, "%s", detail->text);
}

wk_status wk_trust_open(const char *package, const char *key, const char *signature,
                        wk_trusted *out) {
  wick_error_detail detail = {{0}};
  *out = (wk_trusted){0};
  if (!key && signature) return wk_error(WK_USAGE, "--signature goes with --key");
  if (!key) return NULL;
  char *own = signature ? NULL : beside(package, ".sig");
  wick_trust *trust = wk_xcalloc(1, sizeof *trust);
  trust->size = sizeof *trust;
  wk_status s = file_error(wick_trust_read(key, own ? own : signature, trust, &detail), &detail);
  free(own);
  if (s) free(trust);
  else *out = (wk_trusted){wick_verify_signature, trust};
  return s;
}

static wk_digest_text hex_of(const uint8_t *digest) {
  wk_digest_text t;
  for (int i = 0; i < WICK_DIGEST_BYTES; i++) snprintf(t.s + 2 * i, 3, "%02x", digest[i]);
  return t;
}

wk_digest_text wk_piece_digest_text(const wick_piece *piece) {
  uint8_t digest[WICK_DIGEST_BYTES];
  return wick_piece_digest(piece, digest) == WICK_OK ? hex_of(digest) : (wk_digest_text){""};
}

wk_digest_text wk_table_digest_text(const wick_piece *pieces, uint32_t count) {
  uint8_t digest[WICK_DIGEST_BYTES];
  bool ok = wick_table_digest(pieces, count, digest) == WICK_OK;
  return ok ? hex_of(digest) : (wk_digest_text){""};
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A key that was there before may be the only one of its kind. */
static wk_status write_new(const char *path, const char *text, int mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return wk_error_at(WK_IO, path, "cannot write: %s", strerror(errno));
  size_t n = strlen(text);
  bool ok = write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
  int reason = errno;
  close(fd);
  if (ok) return NULL;
  unlink(path);
  return wk_error_at(WK_IO, path, "cannot write: %s", strerror(reason));
}

wk_status wk_trust_make_keys(const char *name) {
  uint8_t public_key[WICK_PUBLIC_KEY_BYTES], secret_key[WICK_SECRET_KEY_BYTES];
  if (wick_keys_make(public_key, secret_key) != WICK_OK)
    return wk_error(WK_RESOURCE, "libsodium cannot be started");
  char *secret = beside(name, ".key"), *shown = beside(name, ".pub");
  wk_status s = write_new(secret, wick_secret_key_line(secret_key).text, 0600);
  if (!s) {
    s = write_new(shown, wick_public_key_line(public_key).text, 0666);
    if (s) unlink(secret);
  }
  free(secret);
  free(shown);
  return s;
}

typedef struct {
  uint8_t key[WICK_SECRET_KEY_BYTES], signature[WICK_SIGNATURE_BYTES];
} signing;

static wick_status sign(void *user, const wick_piece *pieces, uint32_t count,
                        wick_error_detail *detail) {
  signing *x = user;
  (void)detail;
  return wick_sign(pieces, count, x->key, x->signature);
}

/* What is signed has been verified: a package that `wick verify` refuses is not signed. */
wk_status wk_trust_sign(const char *package, const char *key, const char *signature) {
  signing x = {{0}, {0}};
  wick_error_detail detail = {{0}};
  wick_model *model;
  const wick_load_options o = {.size = sizeof o, .flags = WICK_LOAD_VERIFY, .detail = &detail,
                               .verifier = sign, .user = &x};
  (void)wick_device_register(wk_sim_device()); /* knows the accelerator's sections */
  WK_TRY(file_error(wick_secret_key_read(key, x.key, &detail), &detail));
  WK_TRY(wk_wick_error(wick_model_load(package, &o, &model), detail.text, package));
  wick_model_free(model);
  wick_key_line line = wick_signature_line(x.signature);
  return wk_write_file(signature, line.text, strlen(line.text));
}

#else

static wk_status missing(void) {
  return wk_error(WK_UNSUPPORTED, "this wick was built without libsodium (scripts/install): it has "
                  "no keys and signatures");
}

wk_status wk_trust_open(const char *package, const char *key, const char *signature,
                        wk_trusted *out) {
  (void)package;
  *out = (wk_trusted){0};
  return key || signature ? missing() : NULL;
}

wk_digest_text wk_piece_digest_text(const wick_piece *piece) {
  (void)piece;
  return (wk_digest_text){""};
}

wk_digest_text wk_table_digest_text(const wick_piece *pieces, uint32_t count) {
  (void)pieces, (void)count;
  return (wk_digest_text){""};
}

wk_status wk_trust_make_keys(const char *name) {
  (void)name;
  return missing();
}

wk_status wk_trust_sign(const char *package, const char *key, const char *signature) {
  (void)package, (void)key, (void)signature;
  return missing();
}
#endif

wk_status wk_memory_limit_parse(const char *given, uint64_t *limit) {
  int64_t bytes = 0;
  if (given && !wk_bytes_parse(given, &bytes))
    return wk_error(WK_USAGE, "--memory-limit %s: a size is expected: 64MiB, 512KiB", given);
  *limit = (uint64_t)bytes;
  return NULL;
}

void wk_trust_close(wk_trusted *t) {
  free(t->user);
  *t = (wk_trusted){0};
}
