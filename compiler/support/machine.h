/* SPDX-License-Identifier: Apache-2.0
 * The machine that Wick runs on. */
#ifndef WICK_SUPPORT_MACHINE_H
#define WICK_SUPPORT_MACHINE_H

#include <stdint.h>

uint64_t wk_machine_memory(void); /* bytes; UINT64_MAX: it is not known */

#endif
