/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/description.h"

#include <string.h>

/* FLAG: stands there where it is true; files of before know nothing of it. */
typedef enum { TEXT, TYPE, U32, TRIPLE, U64, BOOL, FLAG } field_kind;

typedef struct {
  const char *key;
  field_kind kind;
  size_t offset, size;
  uint64_t min, max; /* of numbers, of a text's length the least */
} field;

#define FIELD(key, kind, member, min, max)                  \
  {key, kind, offsetof(wick_opencl_info, member),           \
   sizeof((wick_opencl_info *)NULL)->member, min, max}
#define TEXT_FIELD(key, member, min) FIELD(key, TEXT, member, min, 0)
#define PLAIN_FIELD(key, kind, member) FIELD(key, kind, member, 0, 0)

static const field fields[] = {
    TEXT_FIELD("name", name, 1),
    TEXT_FIELD("vendor", vendor, 0),
    TEXT_FIELD("platform", platform, 0),
    TEXT_FIELD("driver", driver, 0),
    TEXT_FIELD("opencl_version", version, 0),
    PLAIN_FIELD("type", TYPE, type),
    FIELD("units", U32, units, 1, UINT32_MAX),
    FIELD("clock_mhz", U32, clock_mhz, 0, UINT32_MAX),
    FIELD("max_group", U32, max_group, 1, UINT32_MAX),
    FIELD("max_items", TRIPLE, max_items, 1, UINT32_MAX),
    FIELD("base_align", U32, base_align, 1, 1 << 20),
    FIELD("float_width", U32, float_width, 1, 1024),
    FIELD("half_width", U32, half_width, 0, 1024),
    FIELD("subgroup", U32, subgroup, 0, 1024),
    FIELD("memory", U64, memory, 0, INT64_MAX),
    FIELD("max_alloc", U64, max_alloc, 0, INT64_MAX),
    FIELD("local_memory", U64, local_memory, 0, INT64_MAX),
    PLAIN_FIELD("f64", BOOL, has_f64),
    PLAIN_FIELD("f16", BOOL, has_f16),
    PLAIN_FIELD("dot", BOOL, has_dot),
    PLAIN_FIELD("unified_memory", BOOL, has_unified_memory),
    PLAIN_FIELD("matrix", FLAG, has_matrix),
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const char *const types[] = {[WICK_OPENCL_CPU] = "cpu", [WICK_OPENCL_GPU] = "gpu",
                                    [WICK_OPENCL_ACCELERATOR] = "accelerator"};
enum { TYPES = sizeof types / sizeof *types };

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *triple(const uint32_t *n) {
  return json_pack("[I,I,I]", (json_int_t)n[0], (json_int_t)n[1], (json_int_t)n[2]);
}

static json_t *value_of(const field *f, const wick_opencl_info *info) {
  const char *at = (const char *)info + f->offset;
  switch (f->kind) {
    case TEXT: return json_stringn_nocheck(at, strlen(at));
    case TYPE: return json_string(types[info->type]);
    case U32: return json_integer(*(const uint32_t *)at);
    case TRIPLE: return triple((const uint32_t *)at);
    case U64: return json_integer((json_int_t)*(const uint64_t *)at);
    default: return json_boolean(*(const int *)at);
  }
}

json_t *wk_opencl_describe_json(const wick_opencl_info *info) {
  json_t *o = json_object();
  json_object_set_new(o, "wick", json_string(WK_OPENCL_JSON_KIND));
  json_object_set_new(o, "version", json_integer(WK_OPENCL_JSON_VERSION));
  for (int i = 0; i < FIELDS; i++) {
    json_t *value = value_of(&fields[i], info);
    if (fields[i].kind == FLAG && !json_is_true(value)) json_decref(value);
    else json_object_set_new(o, fields[i].key, value);
  }
  return o;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
  const char *path;
  const field *field;
  const json_t *value;
  char *out; /* the member */
} reading;

static wk_status bad(const reading *r, const char *why) {
  return wk_error_at(WK_INPUT, r->path, "key '%s': %s", r->field->key, why);
}

static wk_status read_text(const reading *r) {
  const char *text = json_string_value(r->value);
  if (!text) return bad(r, "is no text");
  if (strlen(text) >= r->field->size || strlen(text) < r->field->min)
    return wk_error_at(WK_INPUT, r->path, "key '%s': a text of %d to %zu bytes", r->field->key,
                       (int)r->field->min, r->field->size - 1);
  memcpy(r->out, text, strlen(text) + 1);
  return NULL;
}

static wk_status read_type(const reading *r) {
  const char *text = json_string_value(r->value);
  for (int i = 1; text && i < TYPES; i++) {
    if (strcmp(text, types[i]) != 0) continue;
    *(wick_opencl_type *)r->out = (wick_opencl_type)i;
    return NULL;
  }
  return bad(r, "is none of \"cpu\", \"gpu\", \"accelerator\"");
}

static wk_status read_number(const reading *r, const json_t *value, uint64_t *out) {
  json_int_t n = json_integer_value(value);
  if (!json_is_integer(value) || n < 0 || (uint64_t)n < r->field->min ||
      (uint64_t)n > r->field->max)
    return wk_error_at(WK_INPUT, r->path, "key '%s': is no integer of %llu to %llu",
                       r->field->key, (unsigned long long)r->field->min,
                       (unsigned long long)r->field->max);
  *out = (uint64_t)n;
  return NULL;
}

static wk_status read_triple(const reading *r) {
  uint64_t n;
  if (json_array_size(r->value) != 3) return bad(r, "is no list of 3 integers");
  for (size_t i = 0; i < 3; i++) {
    WK_TRY(read_number(r, json_array_get(r->value, i), &n));
    ((uint32_t *)r->out)[i] = (uint32_t)n;
  }
  return NULL;
}

static wk_status read_value(const reading *r) {
  uint64_t n;
  if (!r->value && r->field->kind == FLAG) return NULL;
  if (!r->value) return bad(r, "is missing");
  switch (r->field->kind) {
    case TEXT: return read_text(r);
    case TYPE: return read_type(r);
    case TRIPLE: return read_triple(r);
    case BOOL:
    case FLAG:
      if (!json_is_boolean(r->value)) return bad(r, "is neither true nor false");
      *(int *)r->out = json_is_true(r->value);
      return NULL;
    default: break;
  }
  WK_TRY(read_number(r, r->value, &n));
  if (r->field->kind == U32) *(uint32_t *)r->out = (uint32_t)n;
  else *(uint64_t *)r->out = n;
  return NULL;
}

static bool is_known(const char *key) {
  if (!strcmp(key, "wick") || !strcmp(key, "version")) return true;
  for (int i = 0; i < FIELDS; i++)
    if (!strcmp(key, fields[i].key)) return true;
  return false;
}

static wk_status check_kind(const char *path, json_t *root) {
  const char *kind = json_string_value(json_object_get(root, "wick")), *key;
  json_int_t version = json_integer_value(json_object_get(root, "version"));
  json_t *value;
  if (!kind || strcmp(kind, WK_OPENCL_JSON_KIND) != 0)
    return wk_error_at(WK_INPUT, path, "key 'wick': is not \"" WK_OPENCL_JSON_KIND "\" ('wick "
                       "devices --json --device opencl:0' writes such a file)");
  if (version != WK_OPENCL_JSON_VERSION)
    return wk_error_at(WK_INPUT, path, "key 'version': this Wick reads version %d",
                       WK_OPENCL_JSON_VERSION);
  json_object_foreach(root, key, value)
    if (!is_known(key)) return wk_error_at(WK_INPUT, path, "key '%s': is unknown", key);
  return NULL;
}

static wk_status read_fields(const char *path, json_t *root, wick_opencl_info *out) {
  wick_opencl_info info = {0};
  WK_TRY(check_kind(path, root));
  for (int i = 0; i < FIELDS; i++) {
    const reading r = {path, &fields[i], json_object_get(root, fields[i].key),
                       (char *)&info + fields[i].offset};
    WK_TRY(read_value(&r));
  }
  if (info.base_align & (info.base_align - 1))
    return wk_error_at(WK_INPUT, path, "key 'base_align': is no power of two");
  *out = info;
  return NULL;
}

wk_status wk_opencl_read_json(const char *path, wick_opencl_info *out) {
  wk_file f;
  json_error_t error;
  WK_TRY(wk_file_map(path, &f));
  json_t *root = json_loadb((const char *)f.data, f.size, JSON_REJECT_DUPLICATES, &error);
  wk_file_unmap(&f);
  if (!root)
    return wk_error_at(WK_INPUT, path, "line %d: is no JSON: %s", error.line, error.text);
  wk_status s = read_fields(path, root, out);
  json_decref(root);
  return s;
}
