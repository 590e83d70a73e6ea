/* SPDX-License-Identifier: Apache-2.0
 * Sections of OpenCL packages that are not sound: each is refused with a line that says where. The
 * rows are checked without any device; what only the compiled kernels tell needs one. */
#include "runtime/wick.h"
#include "tests/unit/opencl_fixture.h"

/* Where launches of the parts begin: opencl_package.h. */
enum { LOOP = 4, BRANCH = 8, SCAN = 12, UNTIL_STEP = 3 };

typedef struct {
  void (*change)(ocl_plan *p);
  const char *why;
} patch;

#define PATCH(name, what) \
  static void name(ocl_plan *p) { what; }
#define SECTIONS(X)                                                                               \
  X(version, p->needs.version = 2, "its plan has version 2, this runtime knows 1")                \
  X(flags, p->needs.flags = 64, "section 'needs', row 0: unknown flags")                          \
  X(align, p->needs.base_align = 96, "section 'needs', row 0: base_align is no power of two")     \
  X(no_align, p->needs.base_align = 0, "section 'needs', row 0: base_align is no power of two")   \
  X(kernels, p->needs.kernel_count = UINT32_MAX, "section 'needs', row 0: too many kernels")      \
  X(arena, p->needs.arena_bytes = UINT64_MAX, "section 'needs', row 0: the arena is too large")   \
  X(small_arena, p->needs.arena_bytes = 2048, "section 'buffers', row 8: out of range")           \
  X(no_source, p->source[0] = 0, "section 'source': there is no text")                            \
  X(place, p->buffers[3].place = 5, "section 'buffers', row 3: unknown place")                    \
  X(empty, p->buffers[3].bytes = 0, "section 'buffers', row 3: no bytes")                         \
  X(offset, p->buffers[3].offset = UINT64_MAX, "section 'buffers', row 3: out of range")          \
  X(bytes, p->buffers[3].bytes = UINT64_MAX - 512, "section 'buffers', row 3: out of range")      \
  X(unaligned, p->buffers[3].offset = 512, "section 'buffers', row 3: not aligned")               \
  X(constants, p->buffers[4].offset = 65536, "section 'buffers', row 4: out of range")            \
  X(piece, p->buffers[0].offset = 4, "section 'buffers', row 0: a piece of an input or output")   \
  X(index, p->buffers[1].index = 2, "section 'args', row 1: not an input or output of its part")  \
  X(output, p->buffers[2].index = 1, "section 'args', row 5: not an input or output of its part") \
  X(size, p->buffers[0].bytes += 4, "section 'args', row 0: not an input or output of its part")  \
  X(no_buffer, p->args[0].buffer = 77, "section 'args', row 0: there is no such buffer")          \
  X(before, p->args[2].offset = -4, "section 'args', row 2: out of range")                        \
  X(behind, p->args[2].offset = OCL_BYTES + 1, "section 'args', row 2: out of range")             \
  X(kind, p->launches[0].kind = 9, "section 'launches', row 0: unknown kind")                     \
  X(kernel, p->launches[0].kernel = 5, "section 'launches', row 0: there is no such kernel")      \
  X(args, p->launches[0].first_arg = UINT32_MAX,                                                  \
    "section 'launches', row 0: there are no such arguments")                                     \
  X(arg_count, p->launches[0].arg_count = 99,                                                     \
    "section 'launches', row 0: there are no such arguments")                                     \
  X(body, p->launches[0].body_count = 1, "section 'launches', row 0: a kernel has no body")       \
  X(local_zero, p->launches[0].local[1] = 0,                                                      \
    "section 'launches', row 0: work-group out of range")                                         \
  X(local, p->launches[0].local[0] = 32, "section 'launches', row 0: work-group out of range")    \
  X(global_zero, p->launches[0].global[2] = 0,                                                    \
    "section 'launches', row 0: work items out of range")                                         \
  X(global, p->launches[0].global[0] = 65, "section 'launches', row 0: work items out of range")  \
  X(global_large, p->launches[0].global[0] = (uint64_t)1 << 60,                                   \
    "section 'launches', row 0: work items out of range")                                         \
  X(condition, p->args[16].buffer = WICK_NONE,                                                    \
    "section 'launches', row 8: there is no condition")                                           \
  X(branch_args, p->launches[BRANCH].arg_count = 2,                                               \
    "section 'launches', row 8: there is no condition")                                           \
  X(branch_body, p->launches[BRANCH].else_count = 9,                                              \
    "section 'launches', row 8: its body is not all there")                                       \
  X(branch_both, p->launches[BRANCH].body_count = p->launches[BRANCH].else_count = 2,             \
    "section 'launches', row 8: its body is not all there")                                       \
  X(branch_other, p->args[18].buffer = B_B,                                                       \
    "section 'args', row 18: not an input or output of its part")                                 \
  X(branch_many, p->launches[BRANCH].else_count = UINT32_MAX,                                     \
    "section 'launches', row 8: its body is not all there")                                       \
  X(loop_args, p->launches[LOOP].arg_count = 1,                                                   \
    "section 'launches', row 4: a loop has two arguments")                                        \
  X(loop_trip, p->launches[LOOP].trip = -1, "section 'launches', row 4: this is no loop")         \
  X(loop_else, p->launches[LOOP].else_count = 1, "section 'launches', row 4: this is no loop")    \
  X(loop_body, p->launches[LOOP].body_count = 3,                                                  \
    "section 'launches', row 4: its body is not all there")                                       \
  X(loop_number, p->args[11].buffer = 0,                                                          \
    "section 'launches', row 4: a loop counts in what cannot be written")                         \
  X(loop_offset, p->args[11].offset = 4, "section 'launches', row 4: not aligned")                \
  X(step_range, p->steps[UNTIL_STEP].launch_count = 99, "section 'steps', row 3: out of order")   \
  X(step_first, p->steps[UNTIL_STEP].first_launch = 1, "section 'steps', row 3: out of order")    \
  X(step_cut, p->steps[UNTIL_STEP].launch_count = 2,                                              \
    "section 'launches', row 4: its body is not all there")                                       \
  X(code, p->code = 1, "section 'steps': not those of part 0")                                    \
  X(no_needs, p->cut = "needs", "section 'needs', row 0: there is one row")                       \
  X(cut_args, p->cut = "args"; p->cut_bytes = sizeof *p->args + 1,                                \
    "section 'args': 25 bytes are no rows of 24")                                                 \
  X(output_piece, p->buffers[B_Y].offset = 4,                                                     \
    "section 'buffers', row 2: a piece of an input or output")                                    \
  X(fault_size, p->buffers[B_I].place = WICK_CL_FAULT; p->buffers[B_I].offset = 0,                \
    "section 'buffers', row 9: a fault is one word")                                              \
  X(fault_piece, p->buffers[B_I].place = WICK_CL_FAULT; p->buffers[B_I].offset = 4;               \
    p->buffers[B_I].bytes = 4, "section 'buffers', row 9: a fault is one word")                   \
  X(arena_47, p->needs.arena_bytes = (uint64_t)1 << 47,                                           \
    "section 'needs', row 0: the arena is too large")                                             \
  X(arena_end, p->buffers[B_I].bytes = 1025, "section 'buffers', row 9: out of range")            \
  X(const_end, p->buffers[B_C].offset = 65, "section 'buffers', row 4: out of range")             \
  X(unaligned_count, p->needs.base_align = 4; p->buffers[B_I].offset = 3004,                      \
    "section 'launches', row 12: not aligned")                                                    \
  X(unaligned_last, p->buffers[B_I].offset = 3008, "section 'buffers', row 9: not aligned")       \
  X(group, p->needs.max_group = 15, "section 'launches', row 0: work-group out of range")         \
  X(items_0, p->needs.max_items[0] = 15, "section 'launches', row 0: work-group out of range")    \
  X(items_1, p->needs.max_group = 32; p->launches[2].local[1] = p->launches[2].global[1] = 2,     \
    "section 'launches', row 2: work-group out of range")                                         \
  X(items_2, p->needs.max_group = 32; p->launches[2].local[2] = p->launches[2].global[2] = 2,     \
    "section 'launches', row 2: work-group out of range")                                         \
  X(group_product, p->needs.max_items[2] = 9;                                                     \
    p->launches[2].local[2] = p->launches[2].global[2] = 2,                                       \
    "section 'launches', row 2: work-group out of range")                                         \
  X(global_1, p->needs.max_items[1] = p->launches[2].local[1] = 2; p->needs.max_group = 32;       \
    p->launches[2].global[1] = 3, "section 'launches', row 2: work items out of range")           \
  X(global_47, p->launches[18].global[0] = (uint64_t)1 << 47,                                     \
    "section 'launches', row 18: work items out of range")                                        \
  X(kernel_else, p->launches[15].else_count = 1,                                                  \
    "section 'launches', row 15: a kernel has no body")                                           \
  X(kernel_last, p->launches[18].kernel = 6,                                                      \
    "section 'launches', row 18: there is no such kernel")                                        \
  X(branch_no_args, p->launches[BRANCH].arg_count = 0,                                            \
    "section 'launches', row 8: there is no condition")                                           \
  X(loop_many_args, p->launches[LOOP].arg_count = 3,                                              \
    "section 'launches', row 4: a loop has two arguments")                                        \
  X(loop_constant, p->args[11].buffer = B_C,                                                      \
    "section 'launches', row 4: a loop counts in what cannot be written")                         \
  X(loop_step, p->args[11].step = 4, "section 'launches', row 4: not aligned")                    \
  X(last_arg, p->args[33].offset = 2, "section 'args', row 33: out of range")                     \
  X(last_step, p->steps[7].launch_count = 4, "section 'steps', row 7: out of order")              \
  X(other_output, p->buffers[B_Z].index = 2,                                                      \
    "section 'args', row 11: not an input or output of its part")

#define X(name, what, why) PATCH(change_##name, what)
SECTIONS(X)
#undef X

static void wrong_sections_are_refused(void **state) {
  static const patch patches[] = {
#define X(name, what, why) {change_##name, why},
      SECTIONS(X)
#undef X
  };
  static ocl_plan plan;
  (void)state;
  for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
    fixture f;
    ocl_fill(&plan);
    patches[i].change(&plan);
    wick_status status = load(&plan, &f);
    if (strcmp(f.detail.text, patches[i].why))
      fail_msg("says '%s', not '%s'", f.detail.text, patches[i].why);
    assert_int_equal(status, i == 0 ? WICK_BAD_VERSION : WICK_CORRUPT);
    unload(&f);
  }
}

/* The other side of those lines: whatever becomes of them, the sections are sound. */
#define SOUND(X)                                                                                  \
  X(offset_at_end, p->args[2].offset = OCL_BYTES)                                                 \
  X(flags_f64, p->needs.flags = WICK_CL_NEEDS_F64)                                                \
  X(flags_f16, p->needs.flags = WICK_CL_NEEDS_F16)                                                \
  X(flags_dot, p->needs.flags = WICK_CL_NEEDS_DOT)                                                \
  X(flags_subgroups, p->needs.flags = WICK_CL_NEEDS_SUBGROUPS)                                    \
  X(flags_matrix, p->needs.flags = WICK_CL_NEEDS_MATRIX)                                          \
  X(many_kernels, p->needs.kernel_count = (uint32_t)strlen(p->source))                            \
  X(const_anywhere, p->buffers[B_C].offset = 60)                                                  \
  X(whole_arena, p->buffers[B_I].bytes = 1024)                                                    \
  X(one_group, p->launches[0].global[0] = 16)                                                     \
  X(no_iterations, p->launches[LOOP].trip = 0)                                                    \
  X(second_number, p->buffers[B_I].bytes = 16; p->args[21].offset = 8)                            \
  X(no_else, p->launches[BRANCH].body_count = 3; p->launches[BRANCH].else_count = 0)              \
  X(no_body, p->launches[BRANCH].body_count = 0; p->launches[BRANCH].else_count = 0)

#define X(name, what) static void sound_##name(ocl_plan *p) { what; }
SOUND(X)
#undef X

static void sound_sections_are_taken(void **state) {
  static const struct {
    void (*change)(ocl_plan *p);
    const char *name;
  } patches[] = {
#define X(name, what) {sound_##name, #name},
      SOUND(X)
#undef X
  };
  static ocl_plan plan;
  (void)state;
  for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
    fixture f;
    ocl_fill(&plan);
    patches[i].change(&plan);
    wick_status status = load(&plan, &f);
    if (status == WICK_CORRUPT) fail_msg("%s: says '%s'", patches[i].name, f.detail.text);
    unload(&f);
  }
}

/* ---- against the kernels --------------------------------------------------------------------- */

#define KERNELS(X)                                                                               \
  X(missing, p->needs.kernel_count = 6; p->launches[0].kernel = 5,                               \
    "section 'source': there is no kernel k5")                                                   \
  X(count, p->launches[0].arg_count = 2,                                                         \
    "section 'launches', row 0: kernel k0 takes 6 arguments")                                    \
  X(group, p->launches[0].local[0] = 8,                                                          \
    "section 'launches', row 0: kernel k0 has work-groups of 16 x 1 x 1")

#define X(name, what, why) PATCH(kernel_##name, what)
KERNELS(X)
#undef X

static void kernels_are_as_launches_say(void **state) {
  static const patch patches[] = {
#define X(name, what, why) {kernel_##name, why},
      KERNELS(X)
#undef X
  };
  static ocl_plan plan;
  need_device(state);
  for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
    fixture f;
    ocl_fill(&plan);
    patches[i].change(&plan);
    assert_int_equal(load(&plan, &f), WICK_CORRUPT);
    assert_string_equal(f.detail.text, patches[i].why);
    unload(&f);
  }
}

/* ---- while it runs --------------------------------------------------------------------------- */

static void loops_stay_within_buffers(void **state) {
  static ocl_plan plan;
  static _Alignas(64) float x[OCL_N], y[OCL_ROWS * OCL_N];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  wick_session *s;
  fixture f;
  need_device(state);
  ocl_fill(&plan);
  plan.launches[SCAN].trip = 1000;
  expect_load(&plan, &f);
  assert_int_equal(wick_session_create(f.model, OCL_SCAN, 1, &s), WICK_OK);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(wick_session_run(s, inputs, outputs), WICK_RUN_FAILED);
    assert_string_equal(wick_session_error(s), "launch 13 leaves its buffer in iteration 3");
  }
  wick_session_free(s);
  unload(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_sections_are_refused),
      cmocka_unit_test(sound_sections_are_taken),
      cmocka_unit_test(kernels_are_as_launches_say),
      cmocka_unit_test(loops_stay_within_buffers),
  };
  return cmocka_run_group_tests(tests, load_plain, free_plain);
}
