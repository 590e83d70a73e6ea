/* SPDX-License-Identifier: Apache-2.0
 * What LLVM finds in a module while it makes code of it: an error is a status with LLVM's text,
 * what is less is dropped; neither is printed, and nobody exits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/cpu/llvm/object.h"

/* void f(void) calls void g(void), of which `attribute` says something when code is made. */
static LLVMModuleRef module_with(LLVMContextRef ctx, const char *attribute) {
  static const char text[] = "the reason";
  LLVMModuleRef mod = LLVMModuleCreateWithNameInContext("m", ctx);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(ctx), NULL, 0, false);
  LLVMValueRef f = LLVMAddFunction(mod, "f", type), g = LLVMAddFunction(mod, "g", type);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
  LLVMAddAttributeAtIndex(g, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateStringAttribute(ctx, attribute, (unsigned)strlen(attribute),
                                                    text, sizeof text - 1));
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(ctx, f, "entry"));
  LLVMBuildCall2(b, type, g, NULL, 0, "");
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  return mod;
}

/* Nothing may go to standard error meanwhile. */
static wk_status emit_silently(const wk_simd *simd, LLVMModuleRef mod, LLVMMemoryBufferRef *out) {
  int ends[2], own = dup(STDERR_FILENO);
  char c;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  wk_status s = wk_object_emit(simd, mod, LLVMObjectFile, out);
  assert_int_equal(dup2(own, STDERR_FILENO), STDERR_FILENO);
  close(own);
  close(ends[1]);
  assert_int_equal(read(ends[0], &c, 1), 0);
  close(ends[0]);
  return s;
}

static void emit(const wk_simd *simd, const char *attribute, const char *want) {
  wk_status kept = NULL;
  LLVMContextRef ctx = wk_object_context(&kept);
  LLVMModuleRef mod = module_with(ctx, attribute);
  LLVMMemoryBufferRef object;
  wk_status s = emit_silently(simd, mod, &object);
  assert_int_equal(s == NULL, want == NULL);
  assert_int_equal(object == NULL, want != NULL);
  if (s) {
    assert_int_equal(s->code, WK_INTERNAL);
    assert_non_null(strstr(s->message, want));
  }
  assert_null(kept);
  wk_status_free(s);
  if (object) LLVMDisposeMemoryBuffer(object);
  LLVMDisposeModule(mod);
  LLVMContextDispose(ctx);
}

static void errors_are_statuses(void **state) {
  (void)state;
  for (int i = 0; wk_simd_row(i); i++) emit(wk_simd_row(i), "dontcall-error", "the reason");
}

static void warnings_are_dropped(void **state) {
  (void)state;
  for (int i = 0; wk_simd_row(i); i++) emit(wk_simd_row(i), "dontcall-warn", NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_statuses),
                                     cmocka_unit_test(warnings_are_dropped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
