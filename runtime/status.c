/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

const char *wick_status_text(wick_status status) {
  static const char *const texts[] = {
      [WICK_OK] = "ok",
      [WICK_BAD_ARGUMENT] = "bad argument",
      [WICK_CANNOT_READ] = "cannot read the file",
      [WICK_NOT_PACKAGE] = "not a package",
      [WICK_BAD_VERSION] = "package of another version",
      [WICK_CORRUPT] = "package is damaged",
      [WICK_BAD_MACHINE] = "package needs another machine",
      [WICK_NO_MEMORY] = "out of memory",
      [WICK_NO_THREAD] = "cannot start a thread",
      [WICK_NO_ENTRY] = "no entry for these input shapes",
      [WICK_NO_STEPS] = "the entry cannot be run step by step",
      [WICK_BUSY] = "session or its state is in use",
      [WICK_RUN_FAILED] = "a step met values that it cannot handle",
      [WICK_CANNOT_WRITE] = "cannot write the file",
      [WICK_NO_DEVICE] = "package needs a device that this program has not",
      [WICK_NO_STATE] = "there is no state",
      [WICK_BAD_STATE] = "not a state of this model",
      [WICK_DEVICE_FAILED] = "the device failed",
      [WICK_REFUSED] = "the package is refused",
      [WICK_NO_ROUTINE] = "a custom operator's routine is not registered",
  };
  return (size_t)status < WICK_COUNTOF(texts) ? texts[status] : "unknown status";
}

static const struct {
  const char *name;
  size_t bytes;
} dtypes[WICK_DTYPE_COUNT] = {
    [WICK_F32] = {"f32", 4}, [WICK_F16] = {"f16", 2}, [WICK_BF16] = {"bf16", 2},
    [WICK_F64] = {"f64", 8}, [WICK_I8] = {"i8", 1},   [WICK_I16] = {"i16", 2},
    [WICK_I32] = {"i32", 4}, [WICK_I64] = {"i64", 8}, [WICK_U8] = {"u8", 1},
    [WICK_U16] = {"u16", 2}, [WICK_U32] = {"u32", 4}, [WICK_U64] = {"u64", 8},
    [WICK_BOOL] = {"bool", 1},
    [WICK_I4] = {"i4", 1},
    [WICK_U4] = {"u4", 1},
    [WICK_I2] = {"i2", 1},
    [WICK_U2] = {"u2", 1},
    [WICK_F8E4M3FN] = {"f8e4m3fn", 1},
    [WICK_F8E4M3FNUZ] = {"f8e4m3fnuz", 1},
    [WICK_F8E5M2] = {"f8e5m2", 1},
    [WICK_F8E5M2FNUZ] = {"f8e5m2fnuz", 1},
    [WICK_F4E2M1FN] = {"f4e2m1fn", 1},
    [WICK_F6E2M3FN] = {"f6e2m3fn", 1},
    [WICK_F6E3M2FN] = {"f6e3m2fn", 1},
    [WICK_F8E8M0FNU] = {"f8e8m0fnu", 1},
};

const char *wick_dtype_name(wick_dtype dtype) {
  return (size_t)dtype < WICK_DTYPE_COUNT && dtypes[dtype].name ? dtypes[dtype].name : "?";
}

size_t wick_dtype_bytes(wick_dtype dtype) {
  return (size_t)dtype < WICK_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

wick_status wick_fail_memory(wick_error_detail *detail, uint64_t needed, uint64_t limit) {
  return wick_fail(detail, WICK_NO_MEMORY, "the package asks for %llu bytes of memory; %llu are "
                   "the most that there may be", (unsigned long long)needed,
                   (unsigned long long)limit);
}

wick_status wick_fail(wick_error_detail *detail, wick_status status, const char *fmt, ...) {
  if (!detail) return status;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(detail->text, sizeof detail->text, fmt, ap);
  va_end(ap);
  for (char *c = detail->text; *c; c++) /* may quote the file; goes to terminals */
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  return status;
}
