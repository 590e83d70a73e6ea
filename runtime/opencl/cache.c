/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/trusted.h"

enum { PATH_SIZE = 1024, MAX_BINARY = 1 << 30, SLOW_MS = 1000 };

/* ---- the key --------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 hash128;

static hash128 fnv1a(hash128 h, const void *data, size_t size) {
  const hash128 prime = ((hash128)1 << 88) + 0x13b;
  const uint8_t *p = data;
  for (size_t i = 0; i < size; i++) h = (h ^ p[i]) * prime;
  return h;
}

static void make_key(const wick_cl_unit *u, char key[WICK_CL_CACHE_KEY]) {
  const wick_opencl_info *d = u->device.info;
  char platform[WICK_CL_CACHE_KEY / 4] = "", version[WICK_CL_CACHE_KEY / 4] = "";
  u->cl->GetPlatformInfo(u->device.platform, CL_PLATFORM_VERSION, sizeof platform - 1, platform,
                         NULL);
  u->cl->GetDeviceInfo(u->device.device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
  memset(key, 0, WICK_CL_CACHE_KEY);
  snprintf(key, WICK_CL_CACHE_KEY, "%s\n%s\n%s\n%s\n%s\n%s", d->platform, platform, d->name,
           *version ? version : d->version, d->driver, wick_cl_options(u));
}

static void make_name(const wick_cl_unit *u, const wick_cl_piece *p, char *out, size_t size) {
  char key[WICK_CL_CACHE_KEY];
  const hash128 basis = ((hash128)0x6c62272e07bb0142 << 64) + 0x62b821756295c58d;
  make_key(u, key);
  hash128 h = fnv1a(basis, key, sizeof key);
  for (uint32_t i = 0; i < p->text_count; i++) h = fnv1a(h, p->texts[i], p->sizes[i]);
  snprintf(out, size, "%016llx%016llx", (unsigned long long)(h >> 64), (unsigned long long)h);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static FILE *open_trusted(const char *path) {
  const char *why;
  int fd = wick_open_trusted(path, O_RDONLY, &why);
  FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
  if (!f && fd >= 0) close(fd);
  return f;
}

int wick_opencl_cache_folder(char *path, size_t size) {
  int reason;
  return !wick_cache_folder("opencl", path, size, &reason);
}

static bool path_of(const wick_cl_unit *u, const wick_cl_piece *p, const char *suffix, char *path,
                    size_t size) {
  char folder[PATH_SIZE], name[40];
  if (!wick_opencl_cache_folder(folder, sizeof folder)) return false;
  make_name(u, p, name, sizeof name);
  int n = snprintf(path, size, "%s/%s%s", folder, name, suffix);
  return (size_t)n < size;
}

bool wick_cl_cache_path(const wick_cl_unit *u, const char *suffix, char *path, size_t size) {
  const wick_cl_piece all = {
      .texts = {u->plan.source}, .sizes = {u->plan.source_size}, .text_count = 1};
  return path_of(u, &all, suffix, path, size);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void make_header(const wick_cl_unit *u, const wick_cl_piece *p, const void *binary,
                        size_t size, wick_cl_cache_header *h) {
  *h = (wick_cl_cache_header){.magic = WICK_CL_CACHE_MAGIC, .binary_size = size};
  make_key(u, h->key);
  for (uint32_t i = 0; i < p->text_count; i++) {
    h->source_size += p->sizes[i];
    h->source_crc = wick_crc32c(h->source_crc, p->texts[i], p->sizes[i]);
  }
  h->binary_crc = wick_crc32c(0, binary, size);
}

/* The binary, when the file is what its name says; free() it. */
static uint8_t *read_binary(const wick_cl_unit *u, const wick_cl_piece *p, FILE *f,
                            size_t *size) {
  wick_cl_cache_header there, wanted;
  if (fread(&there, sizeof there, 1, f) != 1 || there.binary_size == 0 ||
      there.binary_size > MAX_BINARY)
    return NULL;
  *size = there.binary_size;
  uint8_t *binary = malloc(*size);
  if (!binary) return NULL;
  bool is_whole = fread(binary, 1, *size, f) == *size && fgetc(f) == EOF;
  make_header(u, p, binary, *size, &wanted);
  if (is_whole && memcmp(&there, &wanted, sizeof there) == 0) return binary;
  free(binary);
  return NULL;
}

static bool build_binary(const wick_cl_unit *u, wick_cl_piece *p, const uint8_t *binary,
                         size_t size) {
  cl_int code, status = CL_SUCCESS;
  cl_program program = u->cl->CreateProgramWithBinary(u->context, 1, &u->device.device, &size,
                                                      &binary, &status, &code);
  if (code != CL_SUCCESS) return false;
  if (status == CL_SUCCESS &&
      u->cl->BuildProgram(program, 1, &u->device.device, wick_cl_options(u), NULL, NULL) ==
          CL_SUCCESS) {
    p->program = program;
    return true;
  }
  u->cl->ReleaseProgram(program);
  return false;
}

bool wick_cl_cache_load(const wick_cl_unit *u, wick_cl_piece *piece) {
  char path[PATH_SIZE];
  size_t size;
  if (!path_of(u, piece, ".bin", path, sizeof path)) return false;
  FILE *f = open_trusted(path);
  uint8_t *binary = f ? read_binary(u, piece, f, &size) : NULL;
  bool ok = binary && build_binary(u, piece, binary, size);
  free(binary);
  if (f) fclose(f);
  return ok;
}

/* ---- whether to keep it ---------------------------------------------------------------------- */

/* The first build's time; this one's, when it is the first. */
static uint64_t first_time(const char *path, uint64_t took) {
  unsigned long long first = 0;
  FILE *f = open_trusted(path);
  bool is_known = f && fscanf(f, "%llu", &first) == 1;
  if (f) fclose(f);
  if (is_known) return first;
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (!f && fd >= 0) close(fd);
  if (!f) return UINT64_MAX;
  fprintf(f, "%llu\n", (unsigned long long)took);
  fclose(f);
  return UINT64_MAX;
}

bool wick_cl_cache_wants(const wick_cl_unit *u, uint64_t took) {
  const char *own = getenv("WICK_OPENCL_CACHE");
  char path[PATH_SIZE];
  if (own && strcmp(own, "yes") == 0) return true;
  if (own && strcmp(own, "no") == 0) return false;
  if (u->device.info->type != WICK_OPENCL_CPU) return took >= SLOW_MS;
  if (!wick_cl_cache_path(u, ".ms", path, sizeof path)) return false;
  uint64_t first = first_time(path, took);
  return took >= SLOW_MS && took >= first / 4;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* The driver's binary; free() it. NULL: it gives none. */
static uint8_t *get_binary(const wick_cl_unit *u, cl_program program, size_t *size) {
  *size = 0;
  if (u->cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL) !=
          CL_SUCCESS ||
      *size == 0 || *size > MAX_BINARY)
    return NULL;
  uint8_t *binary = malloc(*size);
  if (binary && u->cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                                      NULL) == CL_SUCCESS)
    return binary;
  free(binary);
  return NULL;
}

static bool write_file(const wick_cl_unit *u, const wick_cl_piece *p, const uint8_t *binary,
                       size_t size, int file) {
  wick_cl_cache_header h;
  FILE *f = fdopen(file, "wb");
  if (!f) return close(file), false;
  make_header(u, p, binary, size, &h);
  bool ok = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(binary, 1, size, f) == size;
  return fclose(f) == 0 && ok;
}

void wick_cl_cache_store(wick_cl_unit *u, wick_cl_piece *piece) {
  char path[PATH_SIZE], own[PATH_SIZE];
  size_t size;
  if (piece->is_from_cache || !path_of(u, piece, ".bin", path, sizeof path) ||
      !path_of(u, piece, ".XXXXXX", own, sizeof own))
    return;
  int file = mkostemp(own, O_CLOEXEC);
  if (file < 0) return;
  uint8_t *binary = get_binary(u, piece->program, &size);
  if (!binary) close(file);
  if (!binary || !write_file(u, piece, binary, size, file) || rename(own, path) != 0) unlink(own);
  free(binary);
}
