/* SPDX-License-Identifier: Apache-2.0
 * wick verify: whether a package is sound, and whose it is. Nothing of it is run. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/text.h"
#include "cli/trust.h"
#include "compiler/pipeline/runner.h"
#include "sim/device.h"

typedef struct {
  const char *key, *signature, *memory_limit;
  bool json;
} verify_opts;

static const wk_option options[] = {
    WK_TRUST_OPTIONS(verify_opts),
    WK_MEMORY_LIMIT_OPTION(verify_opts),
    {"json", 0, NULL, "as JSON", .kind = WK_OPTION_FLAG, .offset = offsetof(verify_opts, json)},
    {0}};

/* What the verifier sees goes to the caller. */
typedef struct {
  wk_trusted trust;
  wk_digest_text *digests; /* of HEADER and of every section */
  wk_digest_text table;
} seen;

static wick_status look(void *user, const wick_piece *pieces, uint32_t count,
                        wick_error_detail *detail) {
  seen *x = user;
  x->digests = wk_xcalloc(count, sizeof *x->digests);
  for (uint32_t i = 0; i < count; i++) x->digests[i] = wk_piece_digest_text(&pieces[i]);
  x->table = wk_table_digest_text(pieces, count);
  return x->trust.verifier ? x->trust.verifier(x->trust.user, pieces, count, detail) : WICK_OK;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void add_units(wk_table *t, const wick_model_info *m, wk_arena *a) {
  for (uint32_t i = 0; i < m->unit_count; i++) {
    const wick_unit_info *u = &m->units[i];
    wk_table_row(t, "unit %u\t%s %s%s%s", i, wk_text_shown(a, u->target),
                 wk_text_shown(a, u->spec), *u->features ? ", needs " : "",
                 wk_text_shown(a, u->features));
  }
}

static void print_text(const char *path, const wick_model_info *m, const seen *x) {
  wk_arena *a = wk_arena_new();
  wk_table t = {0}, s = {0};
  bool has_digests = x->table.s[0] != 0;
  wk_table_row(&t, "file\t%s", path);
  wk_table_row(&t, "model\t%s", wk_text_shown(a, m->name));
  wk_table_row(&t, "compiler\twick %s, as the file says", wk_text_shown(a, m->compiler));
  add_units(&t, m, a);
  wk_table_row(&t, "native code\t%s", m->has_native_code ? "yes: it is not verified" : "none");
  wk_table_row(&t, "signature\t%s", x->trust.verifier ? "good" : "not looked at (--key)");
  if (has_digests) wk_table_row(&t, "digest\t%s (BLAKE2b)", x->table.s);
  wk_table_row(&t, "structure\tsound");
  wk_table_print(stdout, &t, "ll");
  wk_table_row(&s, "\nSECTION\tUNIT\tBYTES\tCRC32C%s", has_digests ? "\tBLAKE2B" : "");
  if (has_digests) wk_table_row(&s, "header\t\t\t\t%s", x->digests[0].s);
  for (uint32_t i = 0; i < m->section_count; i++) {
    const wick_section_info *r = &m->sections[i];
    const char *unit = r->unit == WICK_NONE ? "" : wk_arena_printf(a, "%u", r->unit);
    wk_table_row(&s, "%s\t%s\t%" PRIu64 "\t%08" PRIx32 "%s%s", wk_text_shown(a, r->name), unit,
                 r->bytes, r->crc, has_digests ? "\t" : "", x->digests[i + 1].s);
  }
  wk_table_print(stdout, &s, has_digests ? "lrrll" : "lrrl");
  wk_arena_free(a);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void add_digest(json_t *o, const char *key, const wk_digest_text *digest) {
  json_object_set_new(o, key, digest->s[0] ? json_string(digest->s) : json_null());
}

static json_t *text_json(const char *s) {
  char *copy = wk_xstrdup(s);
  wk_text_clean(copy); /* what is no UTF-8 */
  json_t *j = json_string(copy);
  free(copy);
  return j;
}

static json_t *sections_json(const wick_model_info *m, const seen *x) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < m->section_count; i++) {
    const wick_section_info *r = &m->sections[i];
    json_t *o = json_pack("{s:o, s:o, s:I, s:I, s:o}", "name", text_json(r->name), "unit",
                          r->unit == WICK_NONE ? json_null() : json_integer(r->unit), "offset",
                          (json_int_t)r->offset, "bytes", (json_int_t)r->bytes, "crc32c",
                          json_sprintf("%08" PRIx32, r->crc));
    add_digest(o, "blake2b", &x->digests[i + 1]);
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *units_json(const wick_model_info *m) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < m->unit_count; i++) {
    const wick_unit_info *u = &m->units[i];
    json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "target", text_json(u->target),
                                          "spec", text_json(u->spec), "features",
                                          text_json(u->features)));
  }
  return list;
}

static void print_json(const char *path, const wick_model_info *m, const seen *x) {
  json_t *o = json_pack("{s:o, s:I, s:i, s:o, s:o, s:o, s:b}", "file", text_json(path), "bytes",
                        (json_int_t)m->file_bytes, "format", (int)m->format_version, "model",
                        text_json(m->name), "compiler", text_json(m->compiler), "units",
                        units_json(m), "native_code", m->has_native_code);
  json_object_set_new(o, "signature", x->trust.verifier ? json_string("good") : json_null());
  add_digest(o, "digest", &x->table);
  add_digest(o, "header_blake2b", &x->digests[0]);
  json_object_set_new(o, "sections", sections_json(m, x));
  char *text = json_dumps(o, JSON_INDENT(2));
  puts(text ? text : "null");
  free(text);
  json_decref(o);
}

/* ---- the command ----------------------------------------------------------------------------- */

static wk_status run(const void *options_, const wk_strings *args) {
  const verify_opts *o = options_;
  const char *path = args->data[0];
  wick_error_detail detail = {{0}};
  wick_model *model;
  uint64_t limit;
  seen x = {0};
  WK_TRY(wk_memory_limit_parse(o->memory_limit, &limit));
  WK_TRY(wk_trust_open(path, o->key, o->signature, &x.trust));
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_VERIFY, .detail = &detail,
                                .verifier = look, .user = &x, .memory_limit = limit};
  (void)wick_device_register(wk_sim_device()); /* knows the accelerator's sections */
  wk_status s = wk_wick_error(wick_model_load(path, &lo, &model), detail.text, path);
  if (!s) {
    (o->json ? print_json : print_text)(path, wick_model_describe(model), &x);
    wick_model_free(model);
  }
  wk_trust_close(&x.trust);
  free(x.digests);
  return s;
}

const wk_cmd wk_cmd_verify = {
    .command = {.name = "verify", .synopsis = "PACKAGE",
                .summary = "check a package without running it, and who signed it",
                .description = "Checks every section and every row of its tables, the commands of "
                               "the accelerator and the plans of OpenCL; nothing is run, built or "
                               "opened. Machine code and source cannot be checked: with --key it "
                               "is known whose they are. Exit status 3: it is damaged or no "
                               "package, 1: the signature is not good, 4: only another program "
                               "knows a unit's sections.",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(verify_opts), .run = run};
