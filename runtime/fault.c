/* SPDX-License-Identifier: Apache-2.0
 * Which index it was that a step could not use. A step says no more than that there was one: its
 * operands are still where they were, and its text says which. */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

/* An operand as the text of an instruction has it: "@in %i[2,3]:i64". */
typedef struct {
  const char *name; /* not terminated */
  size_t length;
  uint32_t rank;
  int64_t dims[WICK_MAX_RANK];
} operand;

/* The first operand at or behind `at`; returns what is behind it, NULL: there is none. */
static const char *read_operand(const char *at, operand *o) {
  static const char in[] = "@in %";
  at = at ? strstr(at, in) : NULL;
  if (!at) return NULL;
  at += sizeof in - 1;
  bool is_quoted = *at == '"';
  o->name = at + is_quoted;
  o->length = strcspn(o->name, is_quoted ? "\"" : "[");
  at = o->name + o->length + is_quoted;
  o->rank = 0;
  if (*at != '[') return NULL;
  if (at[1] == ']') return at + 1;
  while (*at != ']') {
    char *end;
    if (o->rank == WICK_MAX_RANK) return NULL;
    o->dims[o->rank++] = strtoll(at + 1, &end, 10);
    if (end == at + 1 || (*end != ',' && *end != ']')) return NULL;
    at = end;
  }
  return at;
}

/* False: what the text has are no sizes of a tensor. */
static bool count_of(const operand *o, int64_t *n) {
  *n = 1;
  for (uint32_t i = 0; i < o->rank; i++)
    if (o->dims[i] < 0 || __builtin_mul_overflow(*n, o->dims[i], n)) return false;
  return true;
}

static int64_t number_of(const char *text, const char *attribute) {
  const char *at = text ? strstr(text, attribute) : NULL;
  return at ? strtoll(at + strlen(attribute), NULL, 10) : 0;
}

/* ---- where it is ----------------------------------------------------------------------------- */

typedef struct {
  const wick_part_info *part;
  const wick_device_job *job;
  const uint8_t *arena;
} memory;

static bool is_named(const wick_tensor_info *t, const operand *o) {
  int64_t elements = 1, wanted;
  if (strlen(t->name) != o->length || memcmp(t->name, o->name, o->length) != 0) return false;
  for (uint32_t i = 0; i < t->rank; i++) elements *= t->dims[i];
  return count_of(o, &wanted) && elements == wanted && wick_tensor_is_dense(t);
}

/* An input, or what an earlier step has left, the last one first. */
static const uint8_t *find(const memory *m, uint32_t step, const operand *o, wick_dtype *dtype) {
  for (uint32_t s = step; s-- > 0;)
    for (uint32_t k = 0; k < m->part->steps[s].tensor_count; k++) {
      const wick_tensor_info *t = &m->part->steps[s].tensors[k];
      const uint8_t *base = t->place == WICK_PLACE_ARENA    ? m->arena
                            : t->place == WICK_PLACE_OUTPUT ? m->job->io[m->part->input_count +
                                                                         t->index]
                                                            : NULL;
      if (!base || !is_named(t, o)) continue;
      *dtype = t->dtype;
      return base + t->offset;
    }
  for (uint32_t i = 0; i < m->part->input_count; i++)
    if (is_named(&m->part->inputs[i], o)) {
      *dtype = m->part->inputs[i].dtype;
      return m->job->io[i];
    }
  return NULL;
}

/* ---- which it was ---------------------------------------------------------------------------- */

static bool index_at(const uint8_t *data, wick_dtype dtype, int64_t i, int64_t *out) {
  int32_t narrow;
  if (dtype == WICK_I64) memcpy(out, data + i * (int64_t)sizeof *out, sizeof *out);
  if (dtype == WICK_I32) memcpy(&narrow, data + i * (int64_t)sizeof narrow, sizeof narrow);
  if (dtype == WICK_I32) *out = narrow;
  return dtype == WICK_I64 || dtype == WICK_I32;
}

/* Operators with x and indices as the first operands. */
static const struct {
  const char *op, *axis; /* attribute: the axis, or the first of those that a tuple is for */
  bool is_tuple;
} indexing[] = {
    {"gather", "axis=", false},          {"gather_elements", "axis=", false},
    {"gather_nd", "batch_dims=", true},  {"scatter_elements", "axis=", false},
    {"scatter_nd", "batch_dims=", true},
};

/* The axis that element i of the indices is for; -1: not known. */
static int64_t axis_of(const wick_step_info *s, const char *attributes, const operand *x,
                       const operand *at, int64_t i) {
  size_t k = 0, n = sizeof indexing / sizeof *indexing;
  while (k < n && strcmp(s->op, indexing[k].op) != 0) k++;
  if (k == n) return -1;
  int64_t axis = number_of(attributes, indexing[k].axis);
  if (indexing[k].is_tuple && at->rank > 0 && at->dims[at->rank - 1] > 0)
    axis += i % at->dims[at->rank - 1];
  return axis >= 0 && axis < (int64_t)x->rank ? axis : -1;
}

/* Lowering checks lengths by a gather from one constant: its index is no number of the model. */
static bool is_check(const memory *m, const wick_step_info *s, uint32_t step, const operand *x) {
  wick_dtype ignored;
  return !strcmp(s->op, "gather") && x->rank == 1 && x->dims[0] == 1 &&
         !find(m, step, x, &ignored);
}

bool wick_index_fault(const wick_part_info *part, const wick_device_job *job, const void *arena,
                      uint32_t step, wick_error_detail *error) {
  const memory m = {part, job, arena};
  const wick_step_info *s = &part->steps[step];
  operand x, at;
  wick_dtype dtype = WICK_I64;
  const char *behind = read_operand(read_operand(s->text, &x), &at);
  const uint8_t *data = behind ? find(&m, step, &at, &dtype) : NULL;
  int64_t n, index;
  if (!data || !count_of(&x, &n) || !count_of(&at, &n) || is_check(&m, s, step, &x)) return false;
  for (int64_t i = 0; i < n; i++) {
    int64_t axis = axis_of(s, behind, &x, &at, i);
    if (axis < 0 || !index_at(data, dtype, i, &index)) return false;
    int64_t size = x.dims[axis];
    if (index >= -size && index < size) continue;
    wick_fail(error, WICK_RUN_FAILED, "index %lld is outside axis %lld of size %lld",
              (long long)index, (long long)axis, (long long)size);
    return true;
  }
  return false;
}
