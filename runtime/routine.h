/* SPDX-License-Identifier: Apache-2.0
 * routine: functions of the program that custom operators of models call on the processor. A
 * package names them, and never a file that has them: whoever loads it registers them before.
 *
 *   static const wick_routine snake = {"com_example_snake", run_snake};
 *   wick_routine_register(&snake);
 *
 * What they are given is wick_call (abi.h). In a bundle the same function is called by its name,
 * which its header declares. */
#ifndef WICK_ROUTINE_H
#define WICK_ROUTINE_H

#include "wick.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_routine {
  const char *name; /* of a C function: letters, digits and '_' */
  wick_routine_fn run;
} wick_routine;

/* For the whole process, from now on; `routine` stays as it is. WICK_BAD_ARGUMENT: no such name, or
 * no function; WICK_BUSY: another function has the name; WICK_NO_MEMORY: there are
 * WICK_MAX_ROUTINES. Registering the same one again is fine. */
#define WICK_MAX_ROUTINES 256
wick_status wick_routine_register(const wick_routine *routine);

/* NULL: there is none of this name. */
const wick_routine *wick_routine_find(const char *name);

/* Not the runtime's: what a shared object with routines exports, for `wick run --plugin FILE.so`;
 * the last row is {0}. */
const wick_routine *wick_routine_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
