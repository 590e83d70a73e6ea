/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/unit_emit.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "targets/accel/isa/unit_read.h"

/* ---- files ----------------------------------------------------------------------------------- */

enum { STREAM, IMAGE, MAP, FILES };
static const char *const endings[FILES] = {".wcs", ".bin", ".map"};

static const char *stem_of(const char *path, wk_arena *a) {
  size_t n = strlen(path);
  for (int k = 0; k < FILES; k++)
    if (n > 4 && !strcmp(path + n - 4, endings[k])) return wk_arena_strndup(a, path, n - 4);
  return path;
}

wk_status wk_accel_emit_files(const char *path, wk_arena *a, wk_emit_files *out) {
  const char *stem = stem_of(path, a);
  struct stat st;
  if (!strcmp(path, "-"))
    return wk_error(WK_USAGE, "a stream is several files here: give it a name with -o");
  if (stat(stem, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return wk_error_at(WK_USAGE, stem, "is no regular file, and a stream is several files here: "
                                       "give it another name with -o");
  for (out->n = 0; out->n < FILES; out->n++)
    out->path[out->n] = wk_arena_printf(a, "%s%s", stem, endings[out->n]);
  return NULL;
}

/* ---- image ----------------------------------------------------------------------------------- */

static uint64_t image_begin(const wk_stream *s) {
  const wk_image *constants = wk_stream_find(s, WK_ACCEL_CONST_REGION);
  return constants ? constants->address : s->address;
}

/* Constants and commands lie together: wk_accel_part_stream. */
static void write_image(wk_out *out, const wk_stream *s) {
  static const uint8_t zeros[4096];
  const wk_image *constants = wk_stream_find(s, WK_ACCEL_CONST_REGION);
  uint64_t at = image_begin(s);
  if (constants) {
    wk_out_write(out, constants->data, (size_t)constants->size);
    at += constants->size;
  }
  for (uint64_t n; at < s->address; at += n) {
    n = s->address - at < sizeof zeros ? s->address - at : sizeof zeros;
    wk_out_write(out, zeros, (size_t)n);
  }
  wk_out_write(out, s->bytes.data, s->bytes.n);
}

/* ---- map ------------------------------------------------------------------------------------- */

static void print_row(FILE *f, const char *kind, const char *name, uint64_t address,
                      uint64_t bytes) {
  fprintf(f, "%-9s %s 0x%08" PRIx64 " %" PRIu64 "\n", kind, name, address, bytes);
}

static const char *kind_of(const wk_image *r) {
  if (!strcmp(r->name, WK_ACCEL_CONST_REGION)) return "constants";
  if (!strcmp(r->name, WK_ACCEL_WORK_REGION)) return "work";
  return r->is_output ? "output" : "input";
}

static void print_map(FILE *f, const wk_stream *s) {
  uint64_t begin = image_begin(s), marks = wk_stream_mark_bytes(s);
  fprintf(f, "# %s for machine %s, hash %016" PRIx64 "\n", s->source, s->machine.name,
          wk_machine_hash(&s->machine));
  fprintf(f, "# register NAME VALUE; all others: what NAME ADDRESS BYTES\n");
  fprintf(f, "register  BASE 0x%08" PRIx64 "\n", s->address);
  fprintf(f, "register  COUNT %u\n", s->n);
  fprintf(f, "register  MARK_BASE 0x%08" PRIx64 "\n", s->marks);
  print_row(f, "image", "-", begin, s->address + s->bytes.n - begin);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    print_row(f, kind_of(r), r->name, r->address, r->size);
  }
  print_row(f, "commands", "-", s->address, s->bytes.n);
  if (marks) print_row(f, "marks", "-", s->marks, marks);
}

/* ---- all ------------------------------------------------------------------------------------- */

static wk_status write_files(const wk_stream *s, const wk_emit_files *files) {
  wk_out *out[FILES] = {0};
  wk_status status = NULL;
  for (int k = 0; k < FILES && !status; k++) status = wk_out_open(files->path[k], &out[k]);
  if (!status) {
    wk_stream_write(s, out[STREAM]);
    write_image(out[IMAGE], s);
    print_map(wk_out_stdio(out[MAP]), s);
    return wk_out_commit_all(out, FILES);
  }
  for (int k = 0; k < FILES; k++) wk_out_abort(out[k]);
  return status;
}

wk_status wk_accel_emit_streams(wk_stream *const *streams, size_t n, const char *path) {
  wk_emit_files files;
  if (n != 1) {
    wk_status s = wk_error(WK_UNSUPPORTED, "--emit stream holds one part, and %zu are for the "
                           "accelerator; a package holds all parts", n);
    for (size_t i = 0; i < n; i++) s = wk_status_item(s, "%s", streams[i]->source);
    return s;
  }
  wk_arena *a = wk_arena_new();
  wk_status s = wk_accel_emit_files(path, a, &files);
  if (!s) s = write_files(streams[0], &files);
  wk_arena_free(a);
  return s;
}
