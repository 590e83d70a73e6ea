/* SPDX-License-Identifier: Apache-2.0 */
/* Put before every C file of a build that has all faults (schemata.py). The variable WK_FAULT is
 * the number of the fault that a process makes, none when it is not set; in the file that
 * WK_FAULTS_REACHED names, of WK_FAULTS bytes, that of a fault becomes 1 when its place is reached.
 * Functions of the C library go by their less usual names: files have an `open` of their own. */
#ifndef WK_SWITCH_H
#define WK_SWITCH_H

#define WK_SWITCH_SHARED __attribute__((weak, visibility("hidden")))

WK_SWITCH_SHARED int wk_fault_chosen;
WK_SWITCH_SHARED int wk_fault_is_read;
WK_SWITCH_SHARED __attribute__((aligned(4096))) unsigned char wk_fault_reached[WK_FAULTS];

extern char *wk_fault_getenv(const char *) __asm__("getenv");
extern int wk_fault_atoi(const char *) __asm__("atoi");
extern int wk_fault_open(const char *, int, ...) __asm__("open64");
extern void *wk_fault_mmap(void *, unsigned long, int, int, int, long) __asm__("mmap64");
extern int wk_fault_close(int) __asm__("__close");

static __attribute__((constructor(101))) void wk_fault_read(void) {
  if (wk_fault_is_read) return;
  wk_fault_is_read = 1;
  const char *text = wk_fault_getenv("WK_FAULT");
  wk_fault_chosen = text ? wk_fault_atoi(text) : 0;
  const char *path = wk_fault_getenv("WK_FAULTS_REACHED");
  int file = path ? wk_fault_open(path, 2 /* O_RDWR */) : -1;
  if (file < 0) return;
  int read_write = 3, shared_fixed = 0x11;
  wk_fault_mmap(wk_fault_reached, WK_FAULTS, read_write, shared_fixed, file, 0);
  wk_fault_close(file);
}

#define WK_FAULT(n) (wk_fault_reached[n] = 1, __builtin_expect(wk_fault_chosen == (n), 0))

#endif
