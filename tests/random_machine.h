/* SPDX-License-Identifier: Apache-2.0
 * A random machine of those that machine.def allows, with a random memory. */
#ifndef WICK_TESTS_RANDOM_MACHINE_H
#define WICK_TESTS_RANDOM_MACHINE_H

#include "targets/accel/isa/machine.h"

/* The same seed gives the same machine; it passes wk_machine_check. */
void random_machine(uint64_t seed, wk_machine *m);
/* Its file is written there; false: it cannot be. */
bool random_machine_write(const wk_machine *m, const char *path);

#endif
