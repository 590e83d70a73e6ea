/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "unit.h"

typedef struct {
  const wick_device_unit *unit;
  wick_cl_plan *plan;
  wick_error_detail *error;
} checker;

static wick_status bad_row(const checker *c, const char *section, uint64_t row, const char *why) {
  return wick_fail(c->error, WICK_CORRUPT, "section '%s', row %llu: %s", section,
                   (unsigned long long)row, why);
}

/* ---- sections -------------------------------------------------------------------------------- */

static const wick_device_section *find_section(const wick_device_unit *unit, const char *name) {
  for (uint32_t i = 0; i < unit->section_count; i++)
    if (unit->sections[i].kind >= WICK_SECTION_OWN && strcmp(unit->sections[i].name, name) == 0)
      return &unit->sections[i];
  return NULL;
}

static wick_status find_table(const checker *c, const char *name, size_t row, const void *rows,
                              uint32_t *count) {
  const wick_device_section *s = find_section(c->unit, name);
  *count = 0;
  if (!s || s->size == 0) return WICK_OK; /* empty sections are left out */
  if (s->size % row || s->size / row >= WICK_NONE)
    return wick_fail(c->error, WICK_CORRUPT, "section '%s': %zu bytes are no rows of %zu", name,
                     s->size, row);
  *count = (uint32_t)(s->size / row);
  memcpy((void *)(uintptr_t)rows, &s->data, sizeof s->data);
  return WICK_OK;
}

static wick_status find_tables(const checker *c) {
  wick_cl_plan *p = c->plan;
  const wick_cl_needs *needs = NULL;
  uint32_t n;
  const struct {
    const char *name;
    size_t row;
    const void *rows;
    uint32_t *count;
  } tables[] = {
      {"needs", sizeof *needs, &needs, &n},
      {"buffers", sizeof *p->buffers, &p->buffers, &p->buffer_count},
      {"args", sizeof *p->args, &p->args, &p->arg_count},
      {"launches", sizeof *p->launches, &p->launches, &p->launch_count},
      {"steps", sizeof *p->steps, &p->steps, &p->step_count},
  };
  for (size_t i = 0; i < WICK_COUNTOF(tables); i++) {
    wick_status status = find_table(c, tables[i].name, tables[i].row, tables[i].rows,
                                    tables[i].count);
    if (status != WICK_OK) return status;
    if (i == 0 && n != 1) return bad_row(c, "needs", n, "there is one row");
  }
  p->needs = *needs;
  return WICK_OK;
}

static wick_status find_bytes(const checker *c) {
  const wick_device_section *source = find_section(c->unit, "source");
  if (!source || source->size == 0 || memchr(source->data, '\0', source->size))
    return wick_fail(c->error, WICK_CORRUPT, "section 'source': there is no text");
  c->plan->source = (const char *)source->data;
  c->plan->source_size = source->size;
  for (uint32_t i = 0; i < c->unit->section_count; i++) {
    const wick_device_section *s = &c->unit->sections[i];
    if (s->kind != WICK_SECTION_CONST) continue;
    c->plan->consts = s->data;
    c->plan->const_bytes = s->size;
  }
  return WICK_OK;
}

/* ---- rows by themselves ---------------------------------------------------------------------- */

static wick_status check_needs(const checker *c) {
  const wick_cl_needs *n = &c->plan->needs;
  const uint32_t known = WICK_CL_NEEDS_F64 | WICK_CL_NEEDS_F16 | WICK_CL_NEEDS_DOT |
                         WICK_CL_NEEDS_SUBGROUPS | WICK_CL_NEEDS_MATRIX;
  if (n->version != WICK_CL_VERSION)
    return wick_fail(c->error, WICK_BAD_VERSION, "its plan has version %u, this runtime knows %d",
                     n->version, WICK_CL_VERSION);
  if (n->flags & ~known) return bad_row(c, "needs", 0, "unknown flags");
  if (n->base_align == 0 || n->base_align & (n->base_align - 1))
    return bad_row(c, "needs", 0, "base_align is no power of two");
  if (n->kernel_count > c->plan->source_size) return bad_row(c, "needs", 0, "too many kernels");
  if (n->arena_bytes >> WICK_MAX_BYTES_LOG2)
    return bad_row(c, "needs", 0, "the arena is too large");
  return WICK_OK;
}

static wick_status check_buffer(const checker *c, uint32_t i) {
  const wick_cl_plan *p = c->plan;
  const wick_cl_buffer *b = &p->buffers[i];
  uint64_t size = b->place == WICK_CL_ARENA ? p->needs.arena_bytes : p->const_bytes;
  if (b->place > WICK_CL_OUTPUT) return bad_row(c, "buffers", i, "unknown place");
  if (b->place == WICK_CL_INPUT || b->place == WICK_CL_OUTPUT)
    return b->offset == 0 ? WICK_OK : bad_row(c, "buffers", i, "a piece of an input or output");
  if (b->place == WICK_CL_FAULT)
    return b->offset == 0 && b->bytes == WICK_CL_FAULT_BYTES
               ? WICK_OK
               : bad_row(c, "buffers", i, "a fault is one word");
  if (b->bytes == 0) return bad_row(c, "buffers", i, "no bytes");
  if (!wick_is_range(b->offset, b->bytes, size)) return bad_row(c, "buffers", i, "out of range");
  if (b->place == WICK_CL_ARENA && b->offset % p->needs.base_align)
    return bad_row(c, "buffers", i, "not aligned");
  return WICK_OK;
}

static wick_status check_arg(const checker *c, uint32_t i) {
  const wick_cl_arg *a = &c->plan->args[i];
  if (a->buffer == WICK_NONE) return WICK_OK;
  if (a->buffer >= c->plan->buffer_count) return bad_row(c, "args", i, "there is no such buffer");
  if (c->plan->buffers[a->buffer].bytes == 0) return WICK_OK;
  if (a->offset < 0 || (uint64_t)a->offset > c->plan->buffers[a->buffer].bytes)
    return bad_row(c, "args", i, "out of range");
  return WICK_OK;
}

static wick_status check_range(const checker *c, uint32_t i) {
  const wick_cl_launch *l = &c->plan->launches[i];
  const wick_cl_needs *n = &c->plan->needs;
  uint64_t group = 1;
  for (int k = 0; k < 3; k++) {
    if (l->local[k] == 0 || l->local[k] > n->max_items[k])
      return bad_row(c, "launches", i, "work-group out of range");
    if (l->global[k] == 0 || l->global[k] % l->local[k] ||
        l->global[k] >> WICK_MAX_BYTES_LOG2)
      return bad_row(c, "launches", i, "work items out of range");
    group *= l->local[k];
    if (group > n->max_group) return bad_row(c, "launches", i, "work-group out of range");
  }
  return WICK_OK;
}

/* An argument that the host reads or writes. */
static const wick_cl_buffer *host_buffer(const checker *c, const wick_cl_launch *l, uint32_t arg) {
  uint32_t buffer = c->plan->args[l->first_arg + arg].buffer;
  return buffer == WICK_NONE ? NULL : &c->plan->buffers[buffer];
}

static wick_status check_loop(const checker *c, uint32_t i) {
  const wick_cl_launch *l = &c->plan->launches[i];
  if (l->arg_count != 2) return bad_row(c, "launches", i, "a loop has two arguments");
  if (l->else_count || l->trip < 0) return bad_row(c, "launches", i, "this is no loop");
  const wick_cl_buffer *number = host_buffer(c, l, 1);
  const wick_cl_arg *a = &c->plan->args[l->first_arg + 1];
  if (!number) return WICK_OK;
  if (number->place == WICK_CL_CONST || number->place == WICK_CL_INPUT)
    return bad_row(c, "launches", i, "a loop counts in what cannot be written");
  bool is_even = ((uint64_t)a->offset | (uint64_t)a->step | number->offset) % 8 == 0;
  return is_even ? WICK_OK : bad_row(c, "launches", i, "not aligned");
}

static wick_status check_launch(const checker *c, uint32_t i) {
  const wick_cl_launch *l = &c->plan->launches[i];
  if (!wick_is_range(l->first_arg, l->arg_count, c->plan->arg_count))
    return bad_row(c, "launches", i, "there are no such arguments");
  switch (l->kind) {
    case WICK_CL_RUN:
      if (l->kernel >= c->plan->needs.kernel_count)
        return bad_row(c, "launches", i, "there is no such kernel");
      if (l->body_count || l->else_count) return bad_row(c, "launches", i, "a kernel has no body");
      return check_range(c, i);
    case WICK_CL_IF:
      if (l->arg_count != 1 || !host_buffer(c, l, 0))
        return bad_row(c, "launches", i, "there is no condition");
      return WICK_OK;
    case WICK_CL_LOOP: return check_loop(c, i);
    default: return bad_row(c, "launches", i, "unknown kind");
  }
}

/* ---- what belongs to a part ------------------------------------------------------------------ */

static bool is_io_of(const wick_part_info *part, const wick_cl_buffer *b) {
  uint32_t count = b->place == WICK_CL_INPUT ? part->input_count : part->output_count;
  return b->index < count && wick_cl_io(part, wick_cl_io_number(part, b))->bytes == b->bytes;
}

static wick_status check_io(const checker *c, const wick_part_info *part, uint32_t launch) {
  const wick_cl_launch *l = &c->plan->launches[launch];
  for (uint32_t i = l->first_arg; i < l->first_arg + l->arg_count; i++) {
    const wick_cl_arg *a = &c->plan->args[i];
    if (a->buffer == WICK_NONE) continue;
    const wick_cl_buffer *b = &c->plan->buffers[a->buffer];
    if (b->place >= WICK_CL_INPUT && !is_io_of(part, b))
      return bad_row(c, "args", i, "not an input or output of its part");
  }
  return WICK_OK;
}

/* Launches [i, end), of which bodies are part. */
static wick_status check_rows(const checker *c, const wick_part_info *part, uint32_t i,
                              uint32_t end, int depth) {
  if (depth > WICK_MAX_DEPTH) return bad_row(c, "launches", i, "too deep");
  while (i < end) {
    const wick_cl_launch *l = &c->plan->launches[i];
    uint64_t body = (uint64_t)l->body_count + l->else_count;
    wick_status status = check_io(c, part, i);
    if (status != WICK_OK) return status;
    if (body > end - i - 1) return bad_row(c, "launches", i, "its body is not all there");
    uint32_t next = i + 1 + l->body_count, behind = i + 1 + (uint32_t)body;
    status = check_rows(c, part, i + 1, next, depth + 1);
    if (status == WICK_OK) status = check_rows(c, part, next, behind, depth + 1);
    if (status != WICK_OK) return status;
    i = behind;
  }
  return WICK_OK;
}

/* What can be read of it: wick_cl_read. */
static bool is_within(const checker *c, const wick_tensor_info *t) {
  return t->place != WICK_PLACE_ARENA || wick_tensor_is_within(t, c->plan->needs.arena_bytes);
}

static wick_status check_step(const checker *c, const wick_device_part *part, uint32_t step,
                              uint64_t *launches) {
  uint32_t row = (uint32_t)part->code + step;
  const wick_cl_step *s = &c->plan->steps[row];
  const wick_step_info *info = &part->info->steps[step];
  if (part->step_code[step] != row && part->step_code[step] != WICK_NO_CODE)
    return bad_row(c, "steps", row, "the package has another one in its place");
  if (s->first_launch < *launches ||
      !wick_is_range(s->first_launch, s->launch_count, c->plan->launch_count))
    return bad_row(c, "steps", row, "out of order");
  *launches = (uint64_t)s->first_launch + s->launch_count;
  for (uint32_t i = 0; i < info->tensor_count; i++)
    if (!is_within(c, &info->tensors[i]))
      return bad_row(c, "steps", row, "leaves what is too large");
  return check_rows(c, part->info, s->first_launch, (uint32_t)*launches, 0);
}

static wick_status check_part(const checker *c, uint32_t number, uint64_t *steps,
                              uint64_t *launches) {
  const wick_device_part *part = &c->unit->parts[number];
  wick_cl_needs *needs = &c->plan->needs;
  uint32_t n = part->info->step_count;
  if (part->code != *steps || !wick_is_range(*steps, n, c->plan->step_count))
    return wick_fail(c->error, WICK_CORRUPT, "section 'steps': not those of part %u", number);
  *steps += n;
  for (uint32_t i = 0; i < part->info->input_count + part->info->output_count; i++) {
    const wick_tensor_info *t = wick_cl_io(part->info, i);
    if (t->is_bound)
      return wick_fail(c->error, WICK_CORRUPT, "output '%s' has no fixed size", t->name);
    if (t->bytes > needs->largest) needs->largest = t->bytes;
  }
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < n && status == WICK_OK; i++) status = check_step(c, part, i, launches);
  return status;
}

static wick_status check_parts(const checker *c) {
  wick_cl_needs *n = &c->plan->needs;
  uint64_t steps = 0, launches = 0;
  wick_status status = WICK_OK;
  if (c->plan->const_bytes > n->largest) n->largest = c->plan->const_bytes;
  if (n->arena_bytes > n->largest) n->largest = n->arena_bytes;
  for (uint32_t i = 0; i < c->unit->part_count && status == WICK_OK; i++)
    status = check_part(c, i, &steps, &launches);
  return status;
}

wick_status wick_cl_plan_read(const wick_device_unit *unit, wick_cl_plan *out,
                              wick_error_detail *error) {
  const checker c = {unit, out, error};
  *out = (wick_cl_plan){0};
  wick_status status = find_tables(&c);
  if (status == WICK_OK) status = find_bytes(&c);
  if (status == WICK_OK) status = check_needs(&c);
  for (uint32_t i = 0; i < out->buffer_count && status == WICK_OK; i++)
    status = check_buffer(&c, i);
  for (uint32_t i = 0; i < out->arg_count && status == WICK_OK; i++) status = check_arg(&c, i);
  for (uint32_t i = 0; i < out->launch_count && status == WICK_OK; i++)
    status = check_launch(&c, i);
  return status == WICK_OK ? check_parts(&c) : status;
}
