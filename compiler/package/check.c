/* SPDX-License-Identifier: Apache-2.0
 *
 * What the runtime would refuse, found where it can still be put right. The runtime checks much
 * more, and independently: this is about mistakes of targets. */
#include "compiler/package/tables.h"

#include <string.h>

static const char *text(const wk_package *p, uint32_t offset) { return p->strings.data + offset; }

static bool is_alignment(uint64_t align, uint64_t least) {
  return align >= least && align <= WICK_PAGE && (align & (align - 1)) == 0;
}

/* Code numbers of the unit are below this. */
static uint64_t code_limit(const wk_package *p, uint32_t unit) {
  uint64_t size = p->unit_data.data[unit].code.n;
  return size ? size : WICK_NO_CODE;
}

static wk_status check_unit(const wk_package *p, uint32_t unit) {
  const wk_package_unit_data *u = &p->unit_data.data[unit];
  for (size_t i = 0; i < u->symbols.n; i++) {
    const wick_pkg_symbol *s = &u->symbols.data[i];
    if (s->offset > u->code.n || s->size > u->code.n - s->offset)
      return wk_error(WK_INTERNAL, "package: symbol %s is outside the code", text(p, s->name));
  }
  for (size_t i = 0; i < u->own.n; i++)
    if (u->own.data[i].name == 0 || !is_alignment(u->own.data[i].align, WICK_ALIGN))
      return wk_error(WK_INTERNAL, "package: section '%s' of unit %u: alignment %u",
                      text(p, u->own.data[i].name), unit, u->own.data[i].align);
  return NULL;
}

static wk_status check_part(const wk_package *p, const wick_pkg_part *x) {
  const char *name = text(p, x->name);
  if (x->unit >= p->units.n) return wk_error(WK_INTERNAL, "package: part %s has no unit", name);
  uint64_t limit = code_limit(p, x->unit);
  if (x->code >= limit) return wk_error(WK_INTERNAL, "package: part %s has no code", name);
  if (!is_alignment(x->arena_align, WICK_ALIGN) || x->arena_bound > x->arena_bytes)
    return wk_error(WK_INTERNAL, "package: part %s: arena of %llu bytes, bound %llu, alignment %u",
                    name, (unsigned long long)x->arena_bytes, (unsigned long long)x->arena_bound,
                    x->arena_align);
  for (uint32_t i = 0; i < x->step_count; i++) {
    uint64_t code = p->steps.data[x->first_step + i].code;
    if (code >= limit && code != WICK_NO_CODE)
      return wk_error(WK_INTERNAL, "package: step %u of part %s has no code", i, name);
  }
  return NULL;
}

static wk_status check_tensor(const wk_package *p, const wick_pkg_tensor *t) {
  bool has_dims = true;
  for (uint32_t k = 0; k < t->rank; k++) has_dims = has_dims && t->dims[k] >= 0;
  if (wick_dtype_bytes((wick_dtype)t->dtype) == 0 || !has_dims || !is_alignment(t->align, 1) ||
      t->place > WICK_PLACE_DEVICE)
    return wk_error(WK_INTERNAL, "package: tensor %s: dtype %u, rank %u, alignment %u, place %u",
                    text(p, t->name), t->dtype, t->rank, t->align, t->place);
  return NULL;
}

static wk_status check_entry(const wk_package *p, const wick_pkg_entry *e) {
  const char *name = text(p, e->name);
  uint32_t tensors = e->input_count + e->output_count + e->edge_count;
  if (!is_alignment(e->edge_align, WICK_ALIGN))
    return wk_error(WK_INTERNAL, "package: entry %s: edges aligned to %u", name, e->edge_align);
  for (uint32_t i = 0; i < e->row_count; i++) {
    const wick_pkg_row *r = &p->rows.data[e->first_row + i];
    if (r->kind == WICK_ROW_RUN && r->part >= p->parts.n)
      return wk_error(WK_INTERNAL, "package: entry %s: row %u runs no part", name, i);
    for (uint32_t k = 0; k < r->ref_count; k++)
      if (p->refs.data[r->first_ref + k] >= tensors && r->kind != WICK_ROW_LOOP)
        return wk_error(WK_INTERNAL, "package: entry %s: row %u has no tensor %u", name, i, k);
    for (uint32_t k = 0; k < r->wait_count; k++)
      if (p->refs.data[r->first_wait + k] >= i)
        return wk_error(WK_INTERNAL, "package: entry %s: row %u waits for a later one", name, i);
  }
  return NULL;
}

static wk_status check_labels(const wk_package *p, const wick_pkg_labels *l) {
  const wick_pkg_entry *e = &p->entries.data[l->entry];
  const wick_pkg_tensor *t = &p->tensors.data[e->first_tensor + e->input_count + l->output];
  bool fits = l->count > 0 && (l->flags & ~(uint32_t)WICK_LABELS_NUMBERS) == 0;
  if (l->kind == WICK_LABELS_COLUMNS)
    fits = fits && t->rank > 0 && t->dims[t->rank - 1] == (int64_t)l->count;
  else fits = fits && l->kind == WICK_LABELS_ELEMENTS && t->dtype == WICK_I64;
  return fits ? NULL
              : wk_error(WK_INTERNAL, "package: %u labels of kind %u of tensor %s", l->count,
                         l->kind, text(p, t->name));
}

/* The edge of that number, in edge memory; NULL: it is no such one. */
static const wick_pkg_tensor *edge_of(const wk_package *p, const wick_pkg_entry *e,
                                      uint32_t number) {
  uint32_t ports = e->input_count + e->output_count;
  if (number < ports || number - ports >= e->edge_count) return NULL;
  const wick_pkg_tensor *t = &p->tensors.data[e->first_tensor + number];
  return t->place == WICK_PLACE_EDGE ? t : NULL;
}

static bool is_stage(const wick_pkg_tensor *edge, const wick_pkg_tensor *input) {
  return edge && edge->dtype == input->dtype && edge->rank == input->rank &&
         memcmp(edge->dims, input->dims, sizeof edge->dims) == 0;
}

static bool extent_fits(const wk_package *p, const wick_pkg_entry *e, const wick_pkg_extent *x,
                        const wick_pkg_tensor *t) {
  const wick_pkg_tensor *size = edge_of(p, e, x->size);
  if (!(t->flags & WICK_TENSOR_BOUND) || x->axis >= t->rank || !size || size->dtype != WICK_I64 ||
      size->rank != 0)
    return false;
  if (x->tensor >= e->input_count) return x->stage == WICK_NONE && x->least == 0;
  return x->least >= 0 && x->least <= t->dims[x->axis] && is_stage(edge_of(p, e, x->stage), t);
}

static wk_status check_extent(const wk_package *p, size_t i) {
  const wick_pkg_extent *x = &p->extents.data[i], *before = i ? x - 1 : NULL;
  const wick_pkg_entry *e = &p->entries.data[x->entry];
  if (x->tensor >= e->input_count + e->output_count)
    return wk_error(WK_INTERNAL, "package: entry %s: extent of tensor %u", text(p, e->name),
                    x->tensor);
  const wick_pkg_tensor *t = &p->tensors.data[e->first_tensor + x->tensor];
  bool follows = !before || before->entry < x->entry || before->tensor < x->tensor ||
                 (before->tensor == x->tensor && before->axis < x->axis);
  if (!follows || !extent_fits(p, e, x, t))
    return wk_error(WK_INTERNAL,
                    "package: entry %s: extent of tensor %s along axis %u: size %u, stage %u, "
                    "least %lld", text(p, e->name), text(p, t->name), x->axis, x->size, x->stage,
                    (long long)x->least);
  return NULL;
}

wk_status wk_package_check(const wk_package *p) {
  if (p->is_bad)
    return wk_error(WK_INTERNAL, "package: a tensor of rank beyond %d, or too many labels",
                    WICK_MAX_RANK);
  if (p->entries.n == 0) return wk_error(WK_INTERNAL, "package: no entry");
  if (p->strings.n > UINT32_MAX || p->tensors.n > UINT32_MAX || p->steps.n > UINT32_MAX ||
      p->rows.n > UINT32_MAX || p->refs.n > UINT32_MAX)
    return wk_error(WK_RESOURCE, "package: its tables exceed 4 GiB");
  for (uint32_t i = 0; i < p->units.n; i++) WK_TRY(check_unit(p, i));
  for (size_t i = 0; i < p->tensors.n; i++) WK_TRY(check_tensor(p, &p->tensors.data[i]));
  for (size_t i = 0; i < p->labels.n; i++) WK_TRY(check_labels(p, &p->labels.data[i]));
  for (size_t i = 0; i < p->parts.n; i++) WK_TRY(check_part(p, &p->parts.data[i]));
  for (size_t i = 0; i < p->entries.n; i++) WK_TRY(check_entry(p, &p->entries.data[i]));
  for (size_t i = 0; i < p->extents.n; i++) WK_TRY(check_extent(p, i));
  return NULL;
}
