/* SPDX-License-Identifier: Apache-2.0 */
#include "build_log.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"

/* A line of a text, without its end. */
typedef struct {
  const char *at;
  size_t size;
} text_line;

static text_line line_at(const char *at, const char *end) {
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  return (text_line){at, (size_t)((stop ? stop : end) - at)};
}

static bool begins_with(text_line l, const char *word) {
  size_t n = strlen(word);
  while (l.size > 0 && isspace((unsigned char)*l.at)) l.at++, l.size--;
  return l.size >= n && memcmp(l.at, word, n) == 0;
}

/* ---- the error ------------------------------------------------------------------------------- */

/* The first line with an error, or the first line. */
static text_line find_error(const char *log) {
  const char *error = strstr(log, "error"), *end = log + strlen(log);
  const char *at = error ? error : log;
  while (at > log && at[-1] != '\n') at--;
  return line_at(at, end);
}

/* N in "NAME:N:COLUMN: error: …"; *message is behind it, or all. 0: there is none. */
static uint32_t number_of_line(text_line l, text_line *message) {
  *message = l;
  for (size_t i = 0; i + 1 < l.size; i++) {
    if (l.at[i] != ':' || !isdigit((unsigned char)l.at[i + 1])) continue;
    char *end;
    unsigned long n = strtoul(l.at + i + 1, &end, 10);
    while (end < l.at + l.size && (*end == ':' || isdigit((unsigned char)*end))) end++;
    *message = (text_line){end, (size_t)(l.at + l.size - end)};
    return n < UINT32_MAX ? (uint32_t)n : 0;
  }
  return 0;
}

/* The last comment in front of the kernel that the line is in; empty: there is none. */
static text_line find_comment(const wick_cl_plan *p, uint32_t line) {
  text_line comment = {"", 0}, of_kernel = {"", 0};
  const char *at = p->source, *end = p->source + p->source_size;
  for (uint32_t n = 1; n <= line && at < end; n++) {
    text_line l = line_at(at, end);
    if (begins_with(l, "//") || begins_with(l, "/*")) comment = l;
    if (begins_with(l, "__kernel") || begins_with(l, "kernel")) of_kernel = comment;
    at = l.at + l.size + 1;
  }
  return of_kernel;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_lines(const wick_cl_plan *p, FILE *f) {
  const char *at = p->source, *end = p->source + p->source_size;
  for (uint32_t n = 1; at < end; n++) {
    text_line l = line_at(at, end);
    fprintf(f, "%6u  %.*s\n", n, (int)l.size, l.at);
    at = l.at + l.size + 1;
  }
}

static void write_log(const wick_cl_unit *u, const char *log, FILE *f) {
  fprintf(f, "%s, driver %s, options %s\n\n%s\n\n", u->device.info->name, u->device.info->driver,
          wick_cl_options(u), log);
  write_lines(&u->plan, f);
}

/* Where it has been written; false: nowhere. */
static bool save_log(const wick_cl_unit *u, const char *log, char *path, size_t size) {
  const char *own = getenv("WICK_OPENCL_LOG");
  bool has_path = own && *own ? snprintf(path, size, "%s", own) < (int)size
                              : wick_cl_cache_path(u, ".log", path, size);
  bool is_named = own && *own; /* by the user, who may name a link */
  int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (is_named ? 0 : O_NOFOLLOW);
  int fd = has_path ? open(path, flags, 0666) : -1;
  FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (!f && fd >= 0) close(fd);
  if (f) {
    write_log(u, log, f);
    bool failed = ferror(f);
    if (fclose(f) == 0 && !failed) return true;
  }
  return false;
}

void wick_cl_tell_log(const wick_cl_unit *u, const char *log, wick_error_detail *error) {
  char path[1024];
  text_line message, line = find_error(log);
  uint32_t number = number_of_line(line, &message);
  text_line nodes = number ? find_comment(&u->plan, number) : (text_line){"", 0};
  bool is_saved = save_log(u, log, path, sizeof path);
  while (message.size && isspace((unsigned char)*message.at)) message.at++, message.size--;
  char place[32] = "";
  if (number) snprintf(place, sizeof place, "line %u: ", number);
  wick_fail(error, WICK_DEVICE_FAILED, "%s%.*s%s%.*s; %s%.*s", place,
            message.size < 80 ? (int)message.size : 80, message.at, nodes.size ? " " : "",
            nodes.size < 60 ? (int)nodes.size : 60, nodes.at,
            is_saved ? "see " : "WICK_OPENCL_LOG=FILE keeps the whole log",
            is_saved ? 100 : 0, path);
}
