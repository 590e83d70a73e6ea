/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_file.h"

#include <stdlib.h>
#include <string.h>

wk_status wk_json_write(json_t *value, const char *path, size_t flags) {
  char *text = json_dumps(value, flags | JSON_ENSURE_ASCII);
  json_decref(value);
  if (!text) return wk_error_at(WK_RESOURCE, path, "no room for the text");
  wk_out *out;
  wk_status s = wk_out_open(path, &out);
  if (!s) {
    wk_out_write(out, text, strlen(text));
    wk_out_write(out, "\n", 1);
    s = wk_out_commit(out);
  }
  free(text);
  return s;
}
