/* SPDX-License-Identifier: Apache-2.0
 * Machine files, read with libconfig: KEY = NUMBER; with // and # comments. libconfig resolves
 * "@include" itself, from anywhere, and drops the high bits of integers that are too large: text
 * with either is refused before it sees it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/machine_file.h"

#define FILE_MAX (64 << 10)
#define NESTING_MAX 64

/* ---- presets --------------------------------------------------------------------------------- */

size_t wk_machine_preset_count(void) { return wk_accel_presets_count; }
const char *wk_machine_preset_name(size_t i) { return wk_accel_presets[i].name; }

const char *wk_machine_preset_text(const char *name) {
  for (size_t i = 0; i < wk_accel_presets_count; i++)
    if (strcmp(wk_accel_presets[i].name, name) == 0) return (const char *)wk_accel_presets[i].text;
  return NULL;
}

/* ---- what libconfig must not see ------------------------------------------------------------- */

static wk_place_text place_at(const char *name, int line) {
  wk_place_text p;
  snprintf(p.s, sizeof p.s, "%.480s:%d", name, line);
  return p;
}

static wk_status refuse_at(const char *name, int line, const char *what) {
  return wk_error_at(WK_INPUT, place_at(name, line).s, "%s", what);
}

wk_place_text wk_machine_place(const char *name, const config_setting_t *s) {
  return place_at(name, (int)config_setting_source_line(s));
}

/* Lines that begin with '@', bytes of 0, brackets in brackets in brackets. */
static wk_status pre_check(const char *text, size_t n, const char *name) {
  int line = 1, depth = 0;
  bool is_start = true;
  if (n > FILE_MAX)
    return wk_error_at(WK_INPUT, name, "has %zu bytes; a machine file has at most %d", n, FILE_MAX);
  for (size_t i = 0; i < n; i++) {
    char c = text[i];
    if (c == 0) return refuse_at(name, line, "the byte 0 in a text");
    if (is_start && c == '@') return refuse_at(name, line, "no file may include another");
    if (c == '{' || c == '(' || c == '[') depth++;
    if (depth > NESTING_MAX) return refuse_at(name, line, "too many brackets");
    if (c == '\n') line++;
    is_start = c == '\n' || (is_start && (c == ' ' || c == '\t' || c == '\r' || c == '\f'));
  }
  return NULL;
}

/* The end of the comment that begins at `at`; `at` when there is none. */
static const char *skip_comment(const char *at) {
  if (*at == '#' || (*at == '/' && at[1] == '/')) return at + strcspn(at, "\n");
  if (*at != '/' || at[1] != '*') return at;
  const char *end = strstr(at + 2, "*/");
  return end ? end + 2 : at + strlen(at);
}

/* Integers of more than 32 bits; strings, which no key takes and libconfig leaks. */
static wk_status check_numbers(const char *text, const char *name) {
  int line = 1;
  for (const char *at = text; *at;) {
    const char *next = skip_comment(at);
    if (*at == '"') return refuse_at(name, line, "a value is a number, no text");
    if (next == at && isalpha((unsigned char)*at)) /* a name, with digits in it or not */
      while (isalnum((unsigned char)*next) || *next == '_') next++;
    if (next == at && isdigit((unsigned char)*at)) {
      char *end;
      bool is_hex = *at == '0' && (at[1] == 'x' || at[1] == 'X');
      errno = 0;
      unsigned long long v = strtoull(at, &end, is_hex ? 16 : 10);
      if (errno || v > INT32_MAX) return refuse_at(name, line, "a number is too large");
      next = end;
      if (*next == '.') next += 1 + strspn(next + 1, "0123456789");
    }
    if (next == at) next++;
    for (; at < next; at++) line += *at == '\n';
  }
  return NULL;
}

/* ---- settings -------------------------------------------------------------------------------- */

static wk_status unknown(const char *key, const char *place) {
  const char *names[WK_KEY_COUNT];
  for (size_t i = 0; i < WK_KEY_COUNT; i++) names[i] = wk_machine_keys[i].name;
  const char *near = wk_nearest(key, names, WK_KEY_COUNT);
  if (near) return wk_error_at(WK_INPUT, place, "unknown key '%s'; did you mean '%s'?", key, near);
  return wk_error_at(WK_INPUT, place, "unknown key '%s'", key);
}

/* What was written as decimals: the shortest text that gives the same double. */
static bool fraction_of(double v, wk_fraction *out) {
  wk_str b = {0};
  wk_str_f64(&b, v);
  bool ok = wk_fraction_parse(b.s, out);
  wk_str_free(&b);
  return ok;
}

wk_status wk_machine_setting_key(const config_setting_t *s, const char *name,
                                 const wk_machine_key **out) {
  const char *key = config_setting_name(s);
  if (!key) return wk_error_at(WK_INPUT, wk_machine_place(name, s).s, "a value without a key");
  *out = wk_machine_key_find(key);
  return *out ? NULL : unknown(key, wk_machine_place(name, s).s);
}

wk_status wk_machine_setting_value(const config_setting_t *s, const char *name,
                                   const wk_machine_key *k, wk_machine *m) {
  wk_place_text place = wk_machine_place(name, s);
  wk_fraction v = {0, 1};
  int type = config_setting_type(s);
  if (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) {
    v.num = config_setting_get_int64(s);
  } else if (type == CONFIG_TYPE_FLOAT && k->kind == WK_KEY_FRACTION) {
    if (!fraction_of(config_setting_get_float(s), &v))
      return wk_error_at(WK_INPUT, place.s, "%s is a number of at most six decimals", k->name);
  } else {
    return wk_error_at(WK_INPUT, place.s, "%s must be a %snumber", k->name,
                       k->kind == WK_KEY_FRACTION ? "" : "whole ");
  }
  return wk_machine_set(m, k, v, place.s);
}

static wk_status read_setting(const config_setting_t *s, const char *name, wk_machine *m) {
  const wk_machine_key *k;
  WK_TRY(wk_machine_setting_key(s, name, &k));
  return wk_machine_setting_value(s, name, k, m);
}

static wk_status read_all(const config_t *c, const char *name, wk_machine *m) {
  const config_setting_t *root = config_root_setting(c);
  for (int i = 0; i < config_setting_length(root); i++)
    WK_TRY(read_setting(config_setting_get_elem(root, (unsigned)i), name, m));
  int key;
  wk_status s = wk_machine_relations(m, &key);
  if (!s) return NULL;
  const config_setting_t *at = config_setting_get_member(root, wk_machine_keys[key].name);
  if (at) s = wk_status_place(s, wk_machine_place(name, at).s);
  return wk_status_place(s, name);
}

static void set_name(wk_machine *m, const char *path) {
  const char *base = strrchr(path, '/');
  base = base ? base + 1 : path;
  size_t n = strlen(base);
  if (n > 4 && strcmp(base + n - 4, ".cfg") == 0) n -= 4;
  snprintf(m->name, sizeof m->name, "%.*s", (int)n, base);
  wk_text_clean(m->name);
}

wk_status wk_machine_config(const char *text, size_t n, const char *name, config_t *out) {
  WK_TRY(pre_check(text, n, name));
  char *copy = malloc(n + 1);
  if (!copy) return wk_error_at(WK_RESOURCE, name, "out of memory");
  memcpy(copy, text, n);
  copy[n] = 0;
  wk_status s = check_numbers(copy, name);
  if (s) {
    free(copy);
    return s;
  }
  config_init(out);
  if (config_read_string(out, copy) != CONFIG_TRUE) {
    const char *why = config_error_text(out);
    s = refuse_at(name, config_error_line(out), why ? why : "syntax error");
    config_destroy(out);
  }
  free(copy);
  return s;
}

wk_status wk_machine_parse(const char *text, size_t n, const char *name, wk_machine *out) {
  wk_machine m;
  config_t c;
  wk_machine_defaults(&m);
  set_name(&m, name);
  WK_TRY(wk_machine_config(text, n, name, &c));
  wk_status s = read_all(&c, name, &m);
  config_destroy(&c);
  if (!s) *out = m;
  return s;
}

wk_status wk_machine_read(const char *name, wk_machine *out) {
  const char *text = wk_machine_preset_text(name);
  wk_file f;
  if (text) return wk_machine_parse(text, strlen(text), name, out);
  wk_status s = wk_file_map(name, &f);
  if (s && !strpbrk(name, "/.")) {
    const char *names[16];
    size_t n = 0;
    for (; n < wk_accel_presets_count && n < WK_COUNTOF(names); n++)
      names[n] = wk_accel_presets[n].name;
    const char *near = wk_nearest(name, names, n);
    wk_status_free(s);
    if (near)
      return wk_error(WK_USAGE, "unknown machine '%s'; did you mean '%s'?", name, near);
    return wk_error(WK_USAGE, "unknown machine '%s': neither a preset nor a file", name);
  }
  WK_TRY(s);
  s = wk_machine_parse((const char *)f.data, f.size, name, out);
  wk_file_unmap(&f);
  return s;
}
