/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory/plan.h"

#include <string.h>

/* Rows beyond this are refused before anything is allocated for them. */
#define ROW_LIMIT ((size_t)1 << 20)

typedef struct { const char *s; size_t n; } field;

typedef enum { ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET, COLUMNS } column;

/* The least value that each column may hold; ids are free text. */
static const struct { const char *name; bool needed; int64_t least; } columns[COLUMNS] = {
  [ID] = {"id", true, 0},
  [LOWER] = {"lower", true, INT64_MIN},
  [UPPER] = {"upper", true, INT64_MIN},
  [SIZE] = {"size", true, 0},
  [ALIGNMENT] = {"alignment", false, 1},
  [OFFSET] = {"offset", false, 0},
};

typedef struct {
  const char *name;  /* of the file, for errors */
  const char *s, *end;
  size_t line;       /* of the line last taken, from 1 */
  int at[COLUMNS];   /* position of the column in a line, -1: absent */
  int width;         /* fields per line */
  wk_map *lines;     /* of the ids so far */
} reader;

#define csv_error(r, code, ...) csv_place(r, wk_error(code, __VA_ARGS__))

static wk_status csv_place(const reader *r, wk_status st) {
  wk_str place = {0};
  wk_str_printf(&place, "%s:%zu", r->name, r->line);
  st = wk_status_place(st, place.s);
  wk_str_free(&place);
  return st;
}

static field trim(const char *s, const char *end) {
  while (s < end && (*s == ' ' || *s == '\t')) s++;
  while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
  return (field){s, (size_t)(end - s)};
}

/* The next line that is not blank; false at the end of the text. */
static bool take_line(reader *r, field *line) {
  while (r->s < r->end) {
    const char *stop = memchr(r->s, '\n', (size_t)(r->end - r->s));
    if (!stop) stop = r->end;
    *line = trim(r->s, stop);
    r->s = stop < r->end ? stop + 1 : stop;
    r->line++;
    if (line->n) return true;
  }
  return false;
}

/* Takes the field before the next comma off `rest`; false when there is none. */
static bool take_field(field *rest, field *out) {
  if (!rest->s) return false;
  const char *end = rest->s + rest->n, *comma = memchr(rest->s, ',', rest->n);
  *out = trim(rest->s, comma ? comma : end);
  *rest = comma ? (field){comma + 1, (size_t)(end - comma - 1)} : (field){NULL, 0};
  return true;
}

/* Text of a field for a message: bounded, printable. */
static wk_text24 shown(field f) {
  wk_text24 t;
  size_t n = f.n < sizeof t.s - 4 ? f.n : sizeof t.s - 4;
  for (size_t q = 0; q < n; q++) t.s[q] = f.s[q] >= ' ' && f.s[q] < 127 ? f.s[q] : '?';
  strcpy(t.s + n, n < f.n ? "..." : "");
  return t;
}

static wk_status parse_header(reader *r) {
  field line = {0}, f;
  for (int c = 0; c < COLUMNS; c++) r->at[c] = -1;
  if (!take_line(r, &line)) {
    r->line = 1;
    return csv_error(r, WK_INPUT, "no header line: id,lower,upper,size is needed");
  }
  for (field rest = line; take_field(&rest, &f); r->width++)
    for (int c = 0; c < COLUMNS; c++) {
      if (strlen(columns[c].name) != f.n || memcmp(columns[c].name, f.s, f.n)) continue;
      if (r->at[c] >= 0)
        return csv_error(r, WK_INPUT, "column '%s' is named twice", columns[c].name);
      r->at[c] = r->width;
    }
  for (int c = 0; c < COLUMNS; c++)
    if (columns[c].needed && r->at[c] < 0)
      return csv_error(r, WK_INPUT, "no column '%s' in the header", columns[c].name);
  return NULL;
}

static wk_status parse_number(const reader *r, column c, field f, int64_t *out) {
  bool negative = f.n > 0 && f.s[0] == '-', in_range = true;
  int64_t v = 0;
  size_t q = negative;
  for (; q < f.n && f.s[q] >= '0' && f.s[q] <= '9'; q++) {
    int64_t digit = f.s[q] - '0';
    in_range &= wk_mul_ok(v, 10, &v) && wk_add_ok(v, negative ? -digit : digit, &v);
  }
  if (q != f.n || f.n == (size_t)negative)
    return csv_error(r, WK_INPUT, "%s '%s' is not a whole number", columns[c].name, shown(f).s);
  if (!in_range) return csv_error(r, WK_INPUT, "%s '%s' is too large", columns[c].name, shown(f).s);
  if (v < columns[c].least)
    return csv_error(r, WK_INPUT, "%s %lld is below %lld", columns[c].name, (long long)v,
                     (long long)columns[c].least);
  *out = v;
  return NULL;
}

static wk_status parse_row(const reader *r, field line, wk_arena *arena, wk_plan_item *it,
                           const char **id) {
  int64_t value[COLUMNS] = {[ALIGNMENT] = 1};
  int width = 0;
  field f;
  for (field rest = line; take_field(&rest, &f); width++)
    for (int c = 0; c < COLUMNS; c++) {
      if (r->at[c] != width) continue;
      if (c != ID) WK_TRY(parse_number(r, (column)c, f, &value[c]));
      else if (!f.n || memchr(f.s, 0, f.n)) return csv_error(r, WK_INPUT, "the id is empty");
      else *id = wk_arena_strndup(arena, f.s, f.n);
    }
  if (width != r->width)
    return csv_error(r, WK_INPUT, "%d fields, the header has %d", width, r->width);
  if (value[LOWER] > value[UPPER])
    return csv_error(r, WK_INPUT, "upper %lld is below lower %lld", (long long)value[UPPER],
                     (long long)value[LOWER]);
  *it = (wk_plan_item){.size = value[SIZE], .align = value[ALIGNMENT], .lower = value[LOWER],
                       .upper = value[UPPER], .offset = value[OFFSET], .fixed = -1};
  return NULL;
}

static wk_status parse_table(reader *r, wk_plan_table *t) {
  WK_TRY(parse_header(r));
  t->has_alignment = r->at[ALIGNMENT] >= 0;
  t->has_offset = r->at[OFFSET] >= 0;
  size_t rows = 0;
  for (const char *s = r->s; s < r->end; s++) rows += *s == '\n';
  if (rows >= ROW_LIMIT) return csv_error(r, WK_RESOURCE, "%zu lines are too many", rows);
  t->items = wk_arena_alloc(t->arena, (rows + 1) * sizeof *t->items);
  t->ids = wk_arena_alloc(t->arena, (rows + 1) * sizeof *t->ids);
  for (field line; take_line(r, &line); t->n++) {
    WK_TRY(parse_row(r, line, t->arena, &t->items[t->n], &t->ids[t->n]));
    uint32_t before;
    if (wk_map_get(r->lines, t->ids[t->n], &before))
      return csv_error(r, WK_INPUT, "the id '%s' is that of line %u", t->ids[t->n], before);
    wk_map_put(r->lines, t->ids[t->n], (uint32_t)r->line);
  }
  return NULL;
}

wk_status wk_plan_table_parse(const char *name, const char *text, size_t size,
                              wk_plan_table *out) {
  static const char mark[] = "\xEF\xBB\xBF"; /* UTF-8 byte-order mark */
  reader r = {.name = name, .s = text, .end = text + size,
              .lines = wk_map_new()};
  if (size >= 3 && !memcmp(text, mark, 3)) r.s += 3;
  *out = (wk_plan_table){.arena = wk_arena_new()};
  wk_status st = parse_table(&r, out);
  wk_map_free(r.lines);
  if (st) wk_plan_table_free(out);
  return st;
}

wk_status wk_plan_table_read(const char *path, wk_plan_table *out) {
  wk_file file;
  *out = (wk_plan_table){0};
  WK_TRY(wk_file_map(path, &file));
  wk_status st = wk_plan_table_parse(path, (const char *)file.data, file.size, out);
  wk_file_unmap(&file);
  return st;
}

void wk_plan_table_format(const wk_plan_table *t, wk_str *out) {
  wk_str_add(out, t->has_alignment ? "id,lower,upper,size,alignment,offset\n"
                                   : "id,lower,upper,size,offset\n");
  for (size_t q = 0; q < t->n; q++) {
    const wk_plan_item *it = &t->items[q];
    wk_str_printf(out, "%s,%lld,%lld,%lld,", t->ids[q], (long long)it->lower,
                  (long long)it->upper, (long long)it->size);
    if (t->has_alignment) wk_str_printf(out, "%lld,", (long long)it->align);
    wk_str_printf(out, "%lld\n", (long long)it->offset);
  }
}

wk_status wk_plan_table_write(const wk_plan_table *t, const char *path) {
  wk_str text = {0};
  wk_plan_table_format(t, &text);
  wk_status st = wk_write_file(path, text.s, text.n);
  wk_str_free(&text);
  return st;
}

void wk_plan_table_free(wk_plan_table *t) {
  wk_arena_free(t->arena);
  *t = (wk_plan_table){0};
}

static void summarise(const wk_plan_table *t, const wk_plan_result *r, int64_t capacity,
                      wk_str *out) {
  wk_str_printf(out, "buffers   %zu\n", t->n);
  wk_str_printf(out, "bound     %lld (%s)\n", (long long)r->bound,
                wk_bytes_text((uint64_t)r->bound).s);
  wk_str_printf(out, "peak      %lld (%s)\n", (long long)r->peak,
                wk_bytes_text((uint64_t)r->peak).s);
  if (capacity > 0) wk_str_printf(out, "capacity  %lld (%s)\n", (long long)capacity,
                                  wk_bytes_text((uint64_t)capacity).s);
  wk_str_printf(out, "ratio     %.4f\n", r->bound ? (double)r->peak / (double)r->bound : 1.0);
  wk_str_printf(out, "nodes     %lld\n", (long long)r->nodes);
  wk_str_printf(out, "optimal   %s\n", r->optimal ? "yes" : "not proved");
}

static wk_status plan_table(wk_plan_table *t, int64_t capacity, wk_str *summary,
                            const char *out_path) {
  wk_plan_options options = {capacity, WK_PLAN_EFFORT_ALONE};
  wk_plan_result result;
  wk_status st = wk_plan(t->items, t->n, &options, &result);
  if (st && st->code != WK_FAILED) return st;
  summarise(t, &result, capacity, summary);
  if (st) return st;
  WK_TRY(wk_plan_check(t->items, t->n, capacity));
  return out_path ? wk_plan_table_write(t, out_path) : NULL;
}

wk_status wk_plan_file(const char *path, int64_t capacity, wk_str *summary, const char *out_path) {
  wk_plan_table table;
  WK_TRY(wk_plan_table_read(path, &table));
  wk_status st = plan_table(&table, capacity, summary, out_path);
  wk_plan_table_free(&table);
  return wk_status_place(st, path);
}
