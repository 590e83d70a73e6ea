/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/study/report.h"

#include <stdlib.h>
#include <string.h>

/* A place of the page: {{NAME}}, a file that is built in, or one of these. */
typedef struct {
  const char *title;
  const json_t *data;
} page;

static const char *file_text(const char *name, size_t n) {
  for (size_t i = 0; i < wk_report_files_count; i++) {
    const wk_report_file *f = &wk_report_files[i];
    if (strlen(f->name) == n && !strncmp(f->name, name, n)) return (const char *)f->text;
  }
  return "";
}

static void add_escaped(wk_out *out, const char *text) {
  static const struct {
    char from;
    const char *to;
  } rows[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
  for (; *text; text++) {
    const char *to = NULL;
    for (size_t i = 0; i < WK_COUNTOF(rows); i++)
      if (rows[i].from == *text) to = rows[i].to;
    wk_out_write(out, to ? to : text, to ? strlen(to) : 1);
  }
}

/* No name in the data can end the script element that holds them. */
static int add_json(const char *text, size_t n, void *out) {
  for (size_t i = 0; i < n;) {
    const char *less = memchr(text + i, '<', n - i);
    size_t to = less ? (size_t)(less - text) : n;
    wk_out_write(out, text + i, to - i);
    if (less) wk_out_write(out, "\\u003c", 6);
    i = to + (less != NULL);
  }
  return 0;
}

static void add_place(wk_out *out, const page *p, const char *name, size_t n) {
  if (n == 5 && !strncmp(name, "title", n)) {
    add_escaped(out, p->title);
  } else if (n == 4 && !strncmp(name, "data", n)) {
    json_dump_callback(p->data, add_json, out, JSON_COMPACT | JSON_ENSURE_ASCII);
  } else {
    const char *text = file_text(name, n);
    wk_out_write(out, text, strlen(text));
  }
}

wk_status wk_report_write(const char *path, const char *title, const json_t *data) {
  static const char template[] = "page.html";
  const page p = {title, data};
  wk_out *out;
  WK_TRY(wk_out_open(path, &out));
  for (const char *at = file_text(template, strlen(template)); *at;) {
    const char *open = strstr(at, "{{"), *end = open ? strstr(open, "}}") : NULL;
    if (!end) open = at + strlen(at);
    wk_out_write(out, at, (size_t)(open - at));
    if (end) add_place(out, &p, open + 2, (size_t)(end - open) - 2);
    at = end ? end + 2 : open;
  }
  return wk_out_commit(out);
}
