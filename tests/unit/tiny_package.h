/* SPDX-License-Identifier: Apache-2.0
 * A package of three steps whose code is written by hand, for test_package.c and test_runtime.c.
 *   inputs   x f32[4]
 *   outputs  y f32[4], i i32[1000]
 *   add      arena = x + consts
 *   square   y = arena * arena
 *   count    i[k] = k, by a parallel loop of pieces of 16 that goes through each thread's scratch
 * Entry "rank2" is the same with x f32[2,2]; entry "fail" sets exec->error to 7. */
#ifndef WICK_TESTS_TINY_PACKAGE_H
#define WICK_TESTS_TINY_PACKAGE_H

#include "compiler/package/package.h"

enum {
  TINY_ENTRY = 0x00,
  TINY_ADD = 0x50,
  TINY_SQUARE = 0x60,
  TINY_COUNT = 0x70,
  TINY_PIECE = 0xb0,
  TINY_FAIL = 0xd0,
  TINY_N = 1000
};

static const uint8_t tiny_code[] = {
    /* entry(exec rdi, consts rsi, io rdx, arena rcx): add, square, count; return exec->error */
    0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56,             /* push rbx, r12, r13, r14 */
    0x48, 0x83, 0xec, 0x08,                               /* sub rsp, 8 */
    0x48, 0x89, 0xfb, 0x49, 0x89, 0xf4,                   /* mov rbx, rdi; mov r12, rsi */
    0x49, 0x89, 0xd5, 0x49, 0x89, 0xce,                   /* mov r13, rdx; mov r14, rcx */
    0xe8, 0x34, 0x00, 0x00, 0x00,                         /* call add */
    0x48, 0x89, 0xdf, 0x4c, 0x89, 0xe6,                   /* mov rdi, rbx; mov rsi, r12 */
    0x4c, 0x89, 0xea, 0x4c, 0x89, 0xf1,                   /* mov rdx, r13; mov rcx, r14 */
    0xe8, 0x33, 0x00, 0x00, 0x00,                         /* call square */
    0x48, 0x89, 0xdf, 0x4c, 0x89, 0xe6,                   /* mov rdi, rbx; mov rsi, r12 */
    0x4c, 0x89, 0xea, 0x4c, 0x89, 0xf1,                   /* mov rdx, r13; mov rcx, r14 */
    0xe8, 0x32, 0x00, 0x00, 0x00,                         /* call count */
    0x8b, 0x43, 0x28,                                     /* mov eax, [rbx+40] */
    0x48, 0x83, 0xc4, 0x08,                               /* add rsp, 8 */
    0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0xc3,       /* pop r14, r13, r12, rbx; ret */
    0x0f, 0x1f, 0x00,
    /* add */
    0x48, 0x8b, 0x02,                                     /* mov rax, [rdx] */
    0x0f, 0x10, 0x00, 0x0f, 0x10, 0x0e,                   /* movups xmm0, [rax]; xmm1, [rsi] */
    0x0f, 0x58, 0xc1, 0x0f, 0x11, 0x01, 0xc3,             /* addps xmm0, xmm1; [rcx] = xmm0; ret */
    /* square */
    0x0f, 0x10, 0x01, 0x0f, 0x59, 0xc0,                   /* movups xmm0, [rcx]; mulps xmm0, xmm0 */
    0x48, 0x8b, 0x42, 0x08, 0x0f, 0x11, 0x00, 0xc3,       /* mov rax, [rdx+8]; [rax] = xmm0; ret */
    0x66, 0x90,
    /* count: exec->parallel_for(exec, piece, io[2], 1000, 16), or piece over everything */
    0x49, 0x89, 0xfa, 0x48, 0x8b, 0x07,                   /* mov r10, rdi; mov rax, [rdi] */
    0x48, 0x8b, 0x52, 0x10,                               /* mov rdx, [rdx+16] */
    0x48, 0x85, 0xc0, 0x74, 0x14,                         /* test rax, rax; jz 1f */
    0x48, 0x8d, 0x35, 0x2a, 0x00, 0x00, 0x00,             /* lea rsi, [rip+piece] */
    0xb9, 0xe8, 0x03, 0x00, 0x00,                         /* mov ecx, 1000 */
    0x41, 0xb8, 0x10, 0x00, 0x00, 0x00, 0xff, 0xe0,       /* mov r8d, 16; jmp rax */
    0x48, 0x89, 0xd7, 0x31, 0xf6,                         /* 1: mov rdi, rdx; xor esi, esi */
    0xba, 0xe8, 0x03, 0x00, 0x00,                         /* mov edx, 1000 */
    0x49, 0x8b, 0x4a, 0x08,                               /* mov rcx, [r10+8] */
    0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x1f, 0x40, 0x00,
    /* piece(ctx rdi, begin rsi, end rdx, scratch rcx) */
    0x48, 0x39, 0xd6, 0x7d, 0x11,                         /* cmp rsi, rdx; jge 3f */
    0x48, 0x89, 0x31, 0x48, 0x8b, 0x01,                   /* 2: mov [rcx], rsi; mov rax, [rcx] */
    0x89, 0x04, 0xb7, 0x48, 0xff, 0xc6,                   /* mov [rdi+rsi*4], eax; inc rsi */
    0x48, 0x39, 0xd6, 0x7c, 0xef, 0xc3,                   /* cmp rsi, rdx; jl 2b; 3: ret */
    0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00,
    /* fail */
    0x48, 0xc7, 0x47, 0x28, 0x07, 0x00, 0x00, 0x00,       /* mov qword [rdi+40], 7 */
    0xb8, 0x07, 0x00, 0x00, 0x00, 0xc3,                   /* mov eax, 7; ret */
};

static const float tiny_consts[4] = {0.5f, -1.0f, 2.0f, 100.0f};

#if defined(__aarch64__)
#define TINY_MACHINE WICK_MACHINE_AARCH64
#else
#define TINY_MACHINE WICK_MACHINE_X86_64
#endif

/* `features` goes into the package as it is. The code only runs on x86-64. */
static inline wk_package *tiny_package(const char *features) {
  static const int64_t four[] = {4}, two_two[] = {2, 2}, thousand[] = {TINY_N};
  wk_package *p = wk_package_new(&(wk_package_meta){
      .model = "tiny", .compiler = "wick test", .flags = "--target cpu",
      .input_hash = 0x0123456789abcdef});
  uint32_t unit = wk_package_add_unit(p, &(wk_package_unit){
      .target = "cpu", .spec = "any", .features = features, .machine = TINY_MACHINE});
  wk_package_add_const(p, unit, tiny_consts, sizeof tiny_consts); /* at 0, where the code reads */
  uint64_t base = wk_package_add_code(p, unit, tiny_code, sizeof tiny_code);
  wk_package_add_symbol(p, unit, "tiny", base + TINY_ENTRY, TINY_ADD - TINY_ENTRY);
  wk_package_add_symbol(p, unit, "tiny/add", base + TINY_ADD, TINY_SQUARE - TINY_ADD);
  wk_package_add_symbol(p, unit, "tiny/square", base + TINY_SQUARE, TINY_COUNT - TINY_SQUARE);
  wk_package_add_symbol(p, unit, "tiny/count", base + TINY_COUNT, TINY_FAIL - TINY_COUNT);
  wk_package_tensor x = {.name = "x", .dtype = WICK_F32, .rank = 1, .dims = four}, x2 = x;
  wk_package_tensor outputs[] = {{.name = "y", .dtype = WICK_F32, .rank = 1, .dims = four},
                                 {.name = "i", .dtype = WICK_I32, .rank = 1, .dims = thousand}};
  wk_package_tensor sum = {.name = "a", .dtype = WICK_F32, .rank = 1, .dims = four,
                           .place = WICK_PLACE_ARENA};
  wk_package_tensor half = {.dtype = WICK_F32, .rank = 1, .dims = two_two, .offset = 8,
                            .strides = (int64_t[]){-2}, .place = WICK_PLACE_OUTPUT};
  x2.rank = 2;
  x2.dims = two_two;
  wk_package_step steps[] = {
      {"node_add", "map", "map %a = x + c", base + TINY_ADD, 0, 48, &sum, 1},
      {"node_mul", "map", "map y = %a * %a", base + TINY_SQUARE, 4, 48, &half, 1},
      {"node_range", "map", "map i = iota", base + TINY_COUNT, 0, 4 * TINY_N, NULL, 0},
  };
  wk_package_step whole = {"node_if", "branch", "branch", WICK_NO_CODE, 0, 0, NULL, 0};
  wk_package_part part = {
      .name = "all", .unit = unit, .inputs = &x, .n_inputs = 1, .outputs = outputs,
      .n_outputs = 2, .steps = steps, .n_steps = 3, .code = base + TINY_ENTRY, .arena_bytes = 16,
      .arena_bound = 16, .scratch_bytes = 8};
  wk_package_add_whole(p, "", wk_package_add_part(p, &part));
  part.inputs = &x2;
  wk_package_add_whole(p, "rank2", wk_package_add_part(p, &part));
  part = (wk_package_part){.name = "fail", .unit = unit, .steps = &whole, .n_steps = 1,
                           .code = base + TINY_FAIL};
  wk_package_add_whole(p, "fail", wk_package_add_part(p, &part));
  return p;
}

#endif
