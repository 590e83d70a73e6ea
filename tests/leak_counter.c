/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into a process: what code of the program itself has allocated, opened or mapped and not
 * given back when it ends is appended, a line for each place, to the file that WICK_LEAKS names.
 * What libraries allocate for themselves is not looked at. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

/* Live blocks by address, in a table that is probed linearly; places are offsets into the
 * program. */
enum { SLOTS = 1 << 19 };
typedef struct {
  void *block;
  uintptr_t place;
} slot;
static slot slots[SLOTS];
static size_t used;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static uintptr_t base, text_from, text_to;

static size_t slot_of(const void *p) { return ((uintptr_t)p >> 4) * 0x9e3779b1u % SLOTS; }

static void hold(void) {
  while (atomic_flag_test_and_set(&lock)) continue;
}

static void *note(void *p, void *from) {
  uintptr_t at = (uintptr_t)from;
  if (!p || at < text_from || at >= text_to) return p;
  hold();
  size_t i = slot_of(p);
  while (slots[i].block) i = (i + 1) % SLOTS;
  if (used < SLOTS / 2) {
    used++;
    slots[i] = (slot){p, at - base};
  }
  atomic_flag_clear(&lock);
  return p;
}

/* Whoever stands behind the gap and would be found before it moves there. */
static void close_gap(size_t gap) {
  for (size_t i = (gap + 1) % SLOTS; slots[i].block; i = (i + 1) % SLOTS) {
    size_t home = slot_of(slots[i].block);
    if ((i - home) % SLOTS < (i - gap) % SLOTS) continue;
    slots[gap] = slots[i];
    gap = i;
  }
  slots[gap].block = NULL;
}

static void forget(const void *p) {
  if (!p || !text_to) return;
  hold();
  for (size_t i = slot_of(p); slots[i].block; i = (i + 1) % SLOTS)
    if (slots[i].block == p) {
      used--;
      close_gap(i);
      break;
    }
  atomic_flag_clear(&lock);
}

void *malloc(size_t size) { return note(__libc_malloc(size), __builtin_return_address(0)); }

void *calloc(size_t n, size_t size) {
  return note(__libc_calloc(n, size), __builtin_return_address(0));
}

void *realloc(void *p, size_t size) {
  forget(p);
  return note(__libc_realloc(p, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t align, size_t size) {
  return note(__libc_memalign(align, size), __builtin_return_address(0));
}

void free(void *p) {
  forget(p);
  __libc_free(p);
}

char *strdup(const char *s) {
  size_t n = strlen(s) + 1;
  char *copy = __libc_malloc(n);
  return note(copy ? memcpy(copy, s, n) : NULL, __builtin_return_address(0));
}

char *strndup(const char *s, size_t n) {
  char *copy = __libc_malloc(strnlen(s, n) + 1);
  if (copy) *(char *)mempcpy(copy, s, strnlen(s, n)) = 0;
  return note(copy, __builtin_return_address(0));
}

void *mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
  void *p = (void *)syscall(SYS_mmap, at, size, access, flags, file, offset);
  return p == MAP_FAILED || file < 0 ? p : note(p, __builtin_return_address(0));
}

int munmap(void *p, size_t size) {
  forget(p);
  return (int)syscall(SYS_munmap, p, size);
}

/* The first object is the program. */
static int find_text(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size, (void)data;
  base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    text_from = base + p->p_vaddr;
    text_to = text_from + p->p_memsz;
  }
  return 1;
}

/* Descriptors that are open, but for the standard streams and those that were at the beginning. */
enum { FILES = 1024 };
static bool was_open[FILES];

__attribute__((constructor)) static void begin(void) {
  dl_iterate_phdr(find_text, NULL);
  for (int i = 0; i < FILES; i++) was_open[i] = fcntl(i, F_GETFD) >= 0;
}

static void report_files(FILE *f) {
  for (int i = 3; i < FILES; i++) {
    char name[40], target[400] = {0};
    if (was_open[i] || fcntl(i, F_GETFD) < 0 || i == fileno(f)) continue;
    snprintf(name, sizeof name, "/proc/self/fd/%d", i);
    if (readlink(name, target, sizeof target - 1) > 0) fprintf(f, "open: %s\n", target);
  }
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("WICK_LEAKS"); /* programs that the command starts do not count */
  FILE *f = path && !strcmp(program_invocation_short_name, "wick") ? fopen(path, "a") : NULL;
  if (!f) return;
  report_files(f);
  for (size_t i = 0; i < SLOTS; i++) {
    if (!slots[i].block) continue;
    size_t n = 1;
    for (size_t k = i + 1; k < SLOTS; k++)
      if (slots[k].block && slots[k].place == slots[i].place) {
        slots[k].block = NULL;
        n++;
      }
    fprintf(f, "%zu from 0x%lx\n", n, (unsigned long)slots[i].place);
  }
  fclose(f);
}
