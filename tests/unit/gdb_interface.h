/* SPDX-License-Identifier: Apache-2.0
 * The list of code without a file, as gdb reads it out of a program:
 * https://sourceware.org/gdb/onlinedocs/gdb/Declarations.html */
#ifndef WICK_TEST_GDB_INTERFACE_H
#define WICK_TEST_GDB_INTERFACE_H

#include <stdint.h>

typedef struct gdb_entry {
  struct gdb_entry *next, *prev;
  const char *image;
  uint64_t size;
} gdb_entry;
extern struct {
  uint32_t version, action;
  gdb_entry *relevant, *first;
} __jit_debug_descriptor;

#endif
