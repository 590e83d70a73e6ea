/* SPDX-License-Identifier: Apache-2.0
 * For targets/cpu/rare/bitcode, which Clang compiles, as code of a test by any compiler. */
#ifndef WICK_TESTS_RARE_NATIVE_H
#define WICK_TESTS_RARE_NATIVE_H

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#if !__has_builtin(__builtin_elementwise_max)
#define __builtin_elementwise_max(a, b)               \
  (__extension__({                                    \
    __typeof__(a) a_ = (a), b_ = (b);                 \
    __typeof__(a) is_more_ = (__typeof__(a))(a_ > b_); \
    (a_ & is_more_) | (b_ & ~is_more_);               \
  }))
#endif

#endif
