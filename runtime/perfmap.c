/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* One line "address size name" for each function: what perf reads for code without a file. Names
 * come from the package, so bytes that would break the line are replaced. */
static void write_lines(FILE *file, const wick_device_unit *unit, const uint8_t *code) {
  for (uint32_t i = 0; i < unit->symbol_count; i++) {
    const wick_pkg_symbol *symbol = &unit->symbols[i];
    fprintf(file, "%llx %llx ", (unsigned long long)((uintptr_t)code + symbol->offset),
            (unsigned long long)symbol->size);
    for (const char *c = unit->strings + symbol->name; *c; c++)
      fputc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, file);
    fputc('\n', file);
  }
}

wick_status wick_perf_map_write(const wick_device_unit *unit, const uint8_t *code,
                                wick_error_detail *error) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  FILE *file = fd >= 0 ? fdopen(fd, "a") : NULL;
  if (!file) {
    int reason = errno;
    if (fd >= 0) close(fd);
    return wick_fail(error, WICK_CANNOT_WRITE, "%s: %s", path, strerror(reason));
  }
  write_lines(file, unit, code);
  bool failed = ferror(file);
  if (fclose(file) != 0 || failed)
    return wick_fail(error, WICK_CANNOT_WRITE, "%s: %s", path, strerror(errno));
  return WICK_OK;
}
