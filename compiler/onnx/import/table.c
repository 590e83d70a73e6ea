/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "compiler/ir/custom.h"
#include "compiler/onnx/import/handlers.h"

static const wk_onnx_row rows[] = {
#define ONNX_OP(domain, name, since, known, min_in, max_in, dtypes, handler, op) \
  { domain, name, since, known, min_in, max_in, dtypes, handler, op },
#include "compiler/onnx/import/import_ops.def"
#undef ONNX_OP
};

static int compare(const wk_onnx_row *r, const char *domain, const char *name) {
  int order = strcmp(r->domain, domain);
  return order ? order : strcmp(r->name, name);
}

const wk_onnx_row *wk_onnx_row_find(const char *domain, const char *name) {
  static const wk_onnx_row own = {WK_ONNX_OWN_DOMAIN, "operator",    1, 1, 0, -1, 0,
                                  wk_onnx_own,      WK_OP_IDENTITY};
  static const wk_onnx_row custom = {"", "custom", 1, INT64_MAX, 0, -1, 0, wk_onnx_custom,
                                     WK_OP_CUSTOM};
  size_t low = 0, high = WK_COUNTOF(rows);
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    int order = compare(&rows[mid], domain, name);
    if (order == 0) return &rows[mid];
    if (order < 0) low = mid + 1;
    else high = mid;
  }
  if (strcmp(domain, WK_ONNX_OWN_DOMAIN) == 0) return &own;
  return wk_custom_find(domain, name) ? &custom : NULL;
}

const char *wk_onnx_refusal_find(const char *domain, const char *name) {
  static const char maps[] = "works on maps, which Wick does not have";
  static const struct { const char *domain, *name, *reason; } refused[] = {
      {"", "ImageDecoder", "works on encoded images, which Wick does not read"},
      {"", "RegexFullMatch", WK_ONNX_NO_STRINGS},
      {"", "StringConcat", WK_ONNX_NO_STRINGS},
      {"", "StringNormalizer", WK_ONNX_NO_STRINGS},
      {"", "StringSplit", WK_ONNX_NO_STRINGS},
      {"ai.onnx.ml", "CastMap", maps},
      {"ai.onnx.ml", "CategoryMapper", WK_ONNX_NO_STRINGS},
      {"ai.onnx.ml", "DictVectorizer", maps},
      {"com.microsoft", "Tokenizer", WK_ONNX_NO_STRINGS},
  };
  for (size_t i = 0; i < WK_COUNTOF(refused); i++)
    if (!strcmp(refused[i].domain, domain) && !strcmp(refused[i].name, name))
      return refused[i].reason;
  return "this operator is not known";
}

int64_t wk_onnx_newest_opset(const char *domain) {
  int64_t newest = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (strcmp(rows[i].domain, domain) == 0 && rows[i].known > newest) newest = rows[i].known;
  return newest;
}

size_t wk_onnx_op_count(void) { return WK_COUNTOF(rows); }

wk_onnx_op wk_onnx_op_get(size_t i) {
  const wk_onnx_row *r = &rows[i];
  return (wk_onnx_op){.domain = r->domain, .name = r->name, .since = r->since, .known = r->known,
                      .dtypes = r->dtypes, .op = r->op};
}

static const wk_onnx_limit limits[] = {
#define ONNX_LIMIT(domain, name, limit, message) {domain, name, limit, message, NULL},
#define ONNX_HOST(domain, name, target, why) {domain, name, why, NULL, target},
#include "compiler/onnx/import/limits.def"
#undef ONNX_LIMIT
#undef ONNX_HOST
};

const wk_onnx_limit *wk_onnx_limit_get(const wk_onnx_op *op, size_t i) {
  for (size_t k = 0; k < WK_COUNTOF(limits); k++)
    if (strcmp(limits[k].domain, op->domain) == 0 &&
        (strcmp(limits[k].name, op->name) == 0 || strcmp(limits[k].name, "*") == 0) && i-- == 0)
      return &limits[k];
  return NULL;
}
