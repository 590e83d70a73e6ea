/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/generate/ids.h"

#include <string.h>

#include "compiler/onnx/onnx.h"

enum { MOST_BYTES = 256 << 20 }; /* of standard input */
static const int64_t most_id = INT32_MAX;

static bool is_between(char c) { return c == ',' || c == ' ' || (c >= '\t' && c <= '\r'); }

static wk_status refuse(const char *word, size_t n, int64_t line, const char *place) {
  char shown[40];
  snprintf(shown, sizeof shown, "%.*s", (int)(n < 32 ? n : 32), word);
  wk_text_clean(shown);
  return wk_error_at(WK_INPUT, place, "line %lld: '%s%s' is no token id", (long long)line, shown,
                     n > 32 ? "…" : "");
}

wk_status wk_ids_parse(const char *text, size_t n, const char *place, wk_ids *out) {
  int64_t line = 1;
  for (size_t i = 0, end; i < n; i = end) {
    int64_t id = 0;
    if (text[i] == '\n') line++;
    end = i + 1;
    if (is_between(text[i])) continue;
    for (end = i; end < n && !is_between(text[end]); end++)
      id = text[end] >= '0' && text[end] <= '9' && id >= 0 && id <= most_id
               ? 10 * id + text[end] - '0'
               : -1;
    if (id < 0 || id > most_id) return refuse(text + i, end - i, line, place);
    wk_vec_push(out, id);
  }
  return NULL;
}

static wk_status take_tensor(const wk_tensor *t, const char *path, wk_ids *out) {
  int64_t n = wk_type_count(&t->type);
  bool is_list = t->type.rank > 0 && t->type.dims[t->type.rank - 1] == n;
  if (!is_list || wk_dtype_is_float(t->type.dtype) || t->type.dtype == WK_BOOL)
    return wk_error_at(WK_INPUT, path, "integers of one axis are expected as token ids");
  for (int64_t i = 0; i < n; i++) {
    int64_t id = wk_load_i64(t->data, t->type.dtype, i);
    if (id < 0 || id > most_id)
      return wk_error_at(WK_INPUT, path, "element %lld, %lld, is no token id", (long long)i,
                         (long long)id);
    wk_vec_push(out, id);
  }
  return NULL;
}

static wk_status read_npy(const char *path, wk_ids *out) {
  wk_tensor t;
  WK_TRY(wk_tensor_read_npy(path, &t));
  wk_status s = take_tensor(&t, path, out);
  wk_tensor_free(&t);
  return s;
}

static wk_status read_stdin(wk_ids *out) {
  static const char place[] = "standard input";
  wk_str text = {0};
  char piece[1 << 14];
  size_t n;
  while ((n = fread(piece, 1, sizeof piece, stdin)) > 0 && text.n < MOST_BYTES)
    wk_str_addn(&text, piece, n);
  wk_status s = ferror(stdin) ? wk_error_at(WK_IO, place, "cannot read") : NULL;
  if (!s && text.n >= MOST_BYTES) s = wk_error_at(WK_RESOURCE, place, "too many token ids");
  if (!s && text.n) s = wk_ids_parse(text.s, text.n, place, out);
  wk_str_free(&text);
  return s;
}

wk_status wk_ids_read(const char *path, wk_ids *out) {
  static const char npy[] = "\x93NUMPY";
  wk_file f;
  if (!strcmp(path, "-")) return read_stdin(out);
  WK_TRY(wk_file_map(path, &f));
  bool is_npy = f.size > sizeof npy && !memcmp(f.data, npy, sizeof npy - 1);
  wk_status s = is_npy ? NULL : wk_ids_parse((const char *)f.data, f.size, path, out);
  wk_file_unmap(&f);
  return is_npy ? read_npy(path, out) : s;
}

bool wk_ids_has(const wk_ids *ids, int64_t id) {
  for (size_t i = 0; i < ids->n; i++)
    if (ids->data[i] == id) return true;
  return false;
}
