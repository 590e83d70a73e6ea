/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/unit_emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "targets/accel/isa/unit_read.h"

/* ---- files ----------------------------------------------------------------------------------- */

enum { STREAM, IMAGE, MAP, FILES, MOST_PARTS = 21 };
_Static_assert(FILES * (MOST_PARTS + 1) + 1 <= WK_EMIT_MAX_FILES, "all that may be written");
static const char *const endings[FILES] = {".wcs", ".bin", ".map"};

static const char *stem_of(const char *path, wk_arena *a) {
  size_t n = strlen(path);
  for (int k = 0; k < FILES; k++)
    if (n > 4 && !strcmp(path + n - 4, endings[k])) return wk_arena_strndup(a, path, n - 4);
  return path;
}

static void name_one(const char *stem, wk_arena *a, wk_emit_files *out) {
  for (int k = 0; k < FILES; k++)
    out->path[out->n++] = wk_arena_printf(a, "%s%s", stem, endings[k]);
}

/* Three files for each part, and the index. */
static void name_parts(size_t n, const char *stem, wk_arena *a, wk_emit_files *out) {
  for (size_t i = 0; i < n; i++) name_one(wk_arena_printf(a, "%s.%zu", stem, i), a, out);
  out->path[out->n++] = wk_arena_printf(a, "%s.index", stem);
}

wk_status wk_accel_emit_files(const char *path, wk_arena *a, wk_emit_files *out) {
  const char *stem = stem_of(path, a);
  struct stat st;
  if (!strcmp(path, "-"))
    return wk_error(WK_USAGE, "a stream is several files here: give it a name with -o");
  if (stat(stem, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return wk_error_at(WK_USAGE, stem, "is no regular file, and a stream is several files here: "
                                       "give it another name with -o");
  out->n = 0;
  name_one(stem, a, out);
  name_parts(MOST_PARTS, stem, a, out);
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
  fprintf(f, "%-9s %s 0x%08" PRIx64 " %" PRIu64, kind, name, address, bytes);
}

/* Axes from slowest to fastest: 0,1/16,2,3,1%16 of [n,c,h,w] in blocks of 16 channels. */
static void print_layout(FILE *f, const wk_target_tensor *t) {
  const wk_edge_layout *l = &t->layout;
  int rank = t->type.rank + (l->split >= 0);
  for (int k = 0; k < rank; k++) {
    bool is_within = l->order[k] == t->type.rank;
    fprintf(f, "%s%d", k ? "," : " ", is_within ? l->split : l->order[k]);
    if (is_within || l->order[k] == l->split)
      fprintf(f, "%c%" PRId64, is_within ? '%' : '/', l->block);
  }
  if (!rank) fputs(" -", f);
}

/* dtype, shape, layout, scale and zero point, name. */
static void print_tensor(FILE *f, const wk_target_tensor *t) {
  const wk_value_scale *q = t->quantised;
  char *name = wk_xstrdup(t->name);
  wk_text_clean(name);
  fprintf(f, " %s [", wk_dtype_name(t->type.dtype));
  for (int k = 0; k < t->type.rank; k++)
    fprintf(f, "%s%" PRId64, k ? "," : "", t->type.dims[k]);
  fputc(']', f);
  print_layout(f, t);
  if (q) fprintf(f, " %.9g %" PRId64 " %s", q->scale, q->zero, name);
  else fprintf(f, " - - %s", name);
  free(name);
}

/* NULL: the region is none of the part's tensors, or nothing is known of it. */
static const wk_target_tensor *tensor_of(const wk_accel_emission *e, uint32_t region) {
  if (!e->part || !e->part->tensors) return NULL;
  const wk_graph *g = e->part->graph;
  for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++)
    if (e->regions[i] == region) return &e->part->tensors[i];
  return NULL;
}

static const char *kind_of(const wk_image *r) {
  if (!strcmp(r->name, WK_ACCEL_CONST_REGION)) return "constants";
  if (!strcmp(r->name, WK_ACCEL_WORK_REGION)) return "work";
  return r->is_output ? "output" : "input";
}

static void print_map(FILE *f, const wk_accel_emission *e) {
  const wk_stream *s = e->stream;
  uint64_t begin = image_begin(s), marks = wk_stream_mark_bytes(s);
  fprintf(f, "# %s for machine %s, hash %016" PRIx64 "\n", s->source, s->machine.name,
          wk_machine_hash(&s->machine));
  fprintf(f, "# register NAME VALUE; all others: what NAME ADDRESS BYTES; of a tensor also TYPE "
             "SHAPE LAYOUT SCALE ZERO, and to the end of the line its name in the model\n");
  fprintf(f, "register  BASE 0x%08" PRIx64 "\n", s->address);
  fprintf(f, "register  COUNT %u\n", s->n);
  fprintf(f, "register  MARK_BASE 0x%08" PRIx64 "\n", s->marks);
  print_row(f, "image", "-", begin, s->address + s->bytes.n - begin);
  for (uint32_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    const wk_target_tensor *t = tensor_of(e, i);
    fputc('\n', f);
    print_row(f, kind_of(r), r->name, r->address, r->size);
    if (t) print_tensor(f, t);
  }
  fputc('\n', f);
  print_row(f, "commands", "-", s->address, s->bytes.n);
  fputc('\n', f);
  if (!marks) return;
  print_row(f, "marks", "-", s->marks, marks);
  fputc('\n', f);
}

/* ---- index ----------------------------------------------------------------------------------- */

/* The part that makes a tensor of this name; -1: none of them. */
static int64_t maker_of(const wk_accel_emission *e, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    const wk_graph *g = e[i].part->graph;
    for (size_t k = 0; k < g->outputs.n && e[i].part->tensors; k++)
      if (!strcmp(e[i].part->tensors[g->inputs.n + k].name, name)) return (int64_t)i;
  }
  return -1;
}

static void print_name(FILE *f, const char *name) {
  char *clean = wk_xstrdup(name);
  wk_text_clean(clean);
  fprintf(f, "%s\n", clean);
  free(clean);
}

static void print_ports(FILE *f, const wk_accel_emission *e, size_t n, size_t i) {
  const wk_graph *g = e[i].part->graph;
  if (!e[i].part->tensors) return;
  for (size_t k = 0; k < g->inputs.n; k++) {
    const char *name = e[i].part->tensors[k].name;
    int64_t maker = maker_of(e, n, name);
    if (maker < 0) fprintf(f, "input  - ");
    else fprintf(f, "input  %" PRId64 " ", maker);
    print_name(f, name);
  }
  for (size_t k = 0; k < g->outputs.n; k++) {
    fputs("output ", f);
    print_name(f, e[i].part->tensors[g->inputs.n + k].name);
  }
}

static void print_index(FILE *f, const wk_accel_emission *e, size_t n, const char *stem) {
  const wk_machine *m = &e->stream->machine;
  const char *slash = strrchr(stem, '/');
  fprintf(f, "# %zu parts for machine %s, hash %016" PRIx64 ", in the order in which they run\n", n,
          m->name, wk_machine_hash(m));
  fprintf(f, "# part NUMBER FILES COMMANDS NAME; input PART NAME: which part makes it, - others; "
             "output NAME\n");
  for (size_t i = 0; i < n; i++) {
    fprintf(f, "part   %zu %s.%zu %u ", i, slash ? slash + 1 : stem, i, e[i].stream->n);
    print_name(f, e[i].part->name);
    print_ports(f, e, n, i);
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

static wk_status name_files(size_t n, const char *path, wk_arena *a, wk_emit_files *out) {
  if (n > MOST_PARTS)
    return wk_error(WK_USAGE, "%zu parts are for the accelerator, and files are written of at most "
                              "%d at once: choose one with --part", n, MOST_PARTS);
  WK_TRY(wk_accel_emit_files(path, a, out));
  out->n = 0;
  if (n == 1) name_one(stem_of(path, a), a, out);
  else name_parts(n, stem_of(path, a), a, out);
  return NULL;
}

wk_status wk_accel_emit_streams(const wk_accel_emission *e, size_t n, const char *path, wk_arena *a,
                                wk_emit_files *files) {
  wk_out *out[WK_EMIT_MAX_FILES] = {0};
  wk_status status = NULL;
  WK_TRY(name_files(n, path, a, files));
  for (size_t k = 0; k < files->n && !status; k++) status = wk_out_open(files->path[k], &out[k]);
  if (!status) {
    for (size_t i = 0; i < n; i++) {
      wk_stream_write(e[i].stream, out[FILES * i + STREAM]);
      write_image(out[FILES * i + IMAGE], e[i].stream);
      print_map(wk_out_stdio(out[FILES * i + MAP]), &e[i]);
    }
    if (n > 1) print_index(wk_out_stdio(out[FILES * n]), e, n, stem_of(path, a));
    return wk_out_commit_all(out, files->n);
  }
  for (size_t k = 0; k < files->n; k++) wk_out_abort(out[k]);
  return status;
}
