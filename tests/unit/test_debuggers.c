/* SPDX-License-Identifier: Apache-2.0
 * What debuggers and profilers read of code that has no file: gdb's list of images, each an ELF
 * file field by field, and perf's map. */
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "tests/unit/gdb_interface.h"

static uint8_t code[64];
static const char strings[] = "unused\0second\0f\x01i\x7frst \xc3\xa9\0third\0behind";
enum { UNUSED = 0, SECOND = 7, FIRST = 14, THIRD = 25, BEHIND = 31 };
/* Names in another order than their strings; the last string is nobody's. */
static const wick_pkg_symbol symbols[] = {{.name = FIRST, .offset = 0, .size = 16},
                                          {.name = THIRD, .offset = 48, .size = 9},
                                          {.name = SECOND, .offset = 16, .size = 32}};
static const wick_device_unit with_names = {.symbols = symbols, .symbol_count = 3,
                                            .strings = strings},
                              with_none = {.strings = strings};

/* ---- gdb ------------------------------------------------------------------------------------- */

static struct {
  uint32_t action;
  const gdb_entry *relevant;
} announced[16];
static int n_announced;

/* In place of the one that gdb stops in. */
void __jit_debug_register_code(void);
void __jit_debug_register_code(void) {
  announced[n_announced].action = __jit_debug_descriptor.action;
  announced[n_announced++].relevant = __jit_debug_descriptor.relevant;
}

/* The list, from the first on, is these; backwards as well. */
static void expect_list(void *const *want, int n) {
  const gdb_entry *e = __jit_debug_descriptor.first, *before = NULL;
  for (int i = 0; i < n; i++, before = e, e = e->next) {
    assert_ptr_equal(e, want[i]);
    assert_ptr_equal(e->prev, before);
  }
  assert_null(e);
}

static void images_are_listed(void **state) {
  (void)state;
  void *x[4];
  assert_int_equal(__jit_debug_descriptor.version, 1);
  assert_int_equal(__jit_debug_descriptor.action, 0); /* nothing has happened yet */
  expect_list(NULL, 0);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(wick_gdb_register(&with_names, code, sizeof code, &x[i]), WICK_OK);
    assert_int_equal(n_announced, i + 1);
    assert_int_equal(announced[i].action, 1);
    assert_ptr_equal(announced[i].relevant, x[i]);
  }
  expect_list((void *[]){x[3], x[2], x[1], x[0]}, 4);
  wick_gdb_unregister(x[2]); /* in the middle */
  expect_list((void *[]){x[3], x[1], x[0]}, 3);
  wick_gdb_unregister(x[0]); /* the last */
  expect_list((void *[]){x[3], x[1]}, 2);
  wick_gdb_unregister(x[3]); /* the first */
  expect_list((void *[]){x[1]}, 1);
  wick_gdb_unregister(NULL);
  wick_gdb_unregister(x[1]);
  expect_list(NULL, 0);
  static const int order[] = {2, 0, 3, 1};
  assert_int_equal(n_announced, 8);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(announced[4 + i].action, 2);
    assert_ptr_equal(announced[4 + i].relevant, x[order[i]]);
  }
}

static void check_header(const Elf64_Ehdr *h) {
  static const uint8_t ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  assert_memory_equal(h->e_ident, ident, sizeof ident);
  assert_int_equal(h->e_type, ET_REL);
#if defined(__x86_64__)
  assert_int_equal(h->e_machine, EM_X86_64);
#elif defined(__aarch64__)
  assert_int_equal(h->e_machine, EM_AARCH64);
#endif
  assert_int_equal(h->e_version, 1);
  assert_true(!h->e_entry && !h->e_phoff && !h->e_flags && !h->e_phentsize && !h->e_phnum);
  assert_int_equal(h->e_ehsize, 64);
  assert_int_equal(h->e_shentsize, 64);
  assert_int_equal(h->e_shnum, 5);
  assert_int_equal(h->e_shstrndx, 4);
}

static void check_section(const Elf64_Shdr *s, const char *image, const char *names,
                          const char *name, const Elf64_Shdr *want) {
  assert_string_equal(names + s->sh_name, name);
  assert_int_equal(s->sh_type, want->sh_type);
  assert_int_equal(s->sh_flags, want->sh_flags);
  assert_int_equal(s->sh_addr, want->sh_addr);
  assert_int_equal(s->sh_size, want->sh_size);
  assert_int_equal(s->sh_link, want->sh_link);
  assert_int_equal(s->sh_info, want->sh_info);
  assert_int_equal(s->sh_addralign, want->sh_addralign);
  assert_int_equal(s->sh_entsize, want->sh_entsize);
  if (want->sh_addralign)
    assert_int_equal((uintptr_t)(image + s->sh_offset) % want->sh_addralign, 0);
}

/* used: bytes of strings, to behind the last that a symbol has. */
static void check_image(const wick_device_unit *unit, uint64_t used) {
  void *x;
  assert_int_equal(wick_gdb_register(unit, code, sizeof code, &x), WICK_OK);
  const gdb_entry *e = x;
  const char *image = e->image;
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
  check_header(h);
  const Elf64_Shdr *s = (const Elf64_Shdr *)(image + h->e_shoff);
  const char *names = image + s[4].sh_offset;
  uint64_t rows = unit->symbol_count + UINT64_C(1);
  check_section(&s[0], image, names, "", &(Elf64_Shdr){0});
  check_section(&s[1], image, names, ".text",
                &(Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                              .sh_addr = (uintptr_t)code, .sh_size = sizeof code,
                              .sh_addralign = 16});
  check_section(&s[2], image, names, ".symtab",
                &(Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = rows * sizeof(Elf64_Sym),
                              .sh_link = 3, .sh_info = 1, .sh_addralign = 8,
                              .sh_entsize = sizeof(Elf64_Sym)});
  check_section(&s[3], image, names, ".strtab",
                &(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = used, .sh_addralign = 1});
  check_section(&s[4], image, names, ".shstrtab",
                &(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 33, .sh_addralign = 1});
  const Elf64_Sym *symbol = (const Elf64_Sym *)(image + s[2].sh_offset), none = {0};
  const char *text = image + s[3].sh_offset;
  assert_memory_equal(symbol, &none, sizeof none);
  for (uint32_t i = 0; i < unit->symbol_count; i++) {
    assert_string_equal(text + symbol[i + 1].st_name, strings + unit->symbols[i].name);
    assert_int_equal(symbol[i + 1].st_info, STB_GLOBAL << 4 | STT_FUNC);
    assert_int_equal(symbol[i + 1].st_other, 0);
    assert_int_equal(symbol[i + 1].st_shndx, 1);
    assert_int_equal(symbol[i + 1].st_value, unit->symbols[i].offset);
    assert_int_equal(symbol[i + 1].st_size, unit->symbols[i].size);
  }
  /* nothing overlaps, and the last is the end of the image */
  assert_true(h->e_shoff >= sizeof *h && s[4].sh_offset >= h->e_shoff + 5 * sizeof *s);
  assert_true(s[2].sh_offset >= s[4].sh_offset + s[4].sh_size);
  assert_true(s[2].sh_offset < s[4].sh_offset + s[4].sh_size + 8);
  assert_true(s[3].sh_offset >= s[2].sh_offset + s[2].sh_size);
  assert_int_equal(e->size, s[3].sh_offset + s[3].sh_size);
  wick_gdb_unregister(x);
}

static void images_are_files(void **state) {
  (void)state;
  check_image(&with_names, BEHIND);
  check_image(&with_none, 1);
  wick_device_unit one = with_names;
  one.symbols = &symbols[2], one.symbol_count = 1;
  check_image(&one, FIRST);
}

/* ---- perf ------------------------------------------------------------------------------------ */

static void maps_have_a_line_for_each_function(void **state) {
  (void)state;
  char path[64], want[400], got[400] = "";
  wick_error_detail why = {""};
  struct stat st;
  unsigned long long at = (uintptr_t)code;
  int n = 0;
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  unlink(path);
  for (int i = 0; i < 2; i++) { /* the second behind the first */
    assert_int_equal(wick_perf_map_write(&with_names, code, &why), WICK_OK);
    n += snprintf(want + n, sizeof want - (size_t)n,
                  "%llx 10 f?i?rst \xc3\xa9\n%llx 9 third\n%llx 20 second\n", at, at + 48, at + 16);
  }
  assert_int_equal(wick_perf_map_write(&with_none, code, &why), WICK_OK);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_int_equal(fread(got, 1, sizeof got - 1, f), n);
  fclose(f);
  assert_string_equal(got, want);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  assert_string_equal(why.text, "");
  unlink(path);
  /* nor is it written where a folder is */
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(wick_perf_map_write(&with_names, code, &why), WICK_CANNOT_WRITE);
  snprintf(want, sizeof want, "%s: Is a directory", path);
  assert_string_equal(why.text, want);
  rmdir(path);
}

/* Of a program that has closed its input, the map is file number 0; no file stays open. */
static void maps_may_have_number_0(void **state) {
  (void)state;
  char path[64];
  wick_error_detail why = {""};
  struct stat st;
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  int input = dup(0);
  close(0);
  wick_status status = wick_perf_map_write(&with_names, code, &why);
  int next = dup(input);
  close(next);
  assert_true(dup2(input, 0) == 0);
  close(input);
  assert_int_equal(status, WICK_OK);
  assert_int_equal(next, 0);
  assert_int_equal(stat(path, &st), 0);
  assert_true(st.st_size > 0);
  unlink(path);
}

/* No room: nothing of it is in the file, and that is said. */
static void maps_need_room(void **state) {
  (void)state;
  char path[64], want[128];
  wick_error_detail why = {""};
  struct stat st;
  struct rlimit before, none;
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  unlink(path);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  none = (struct rlimit){0, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
  wick_status status = wick_perf_map_write(&with_names, code, &why);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, WICK_CANNOT_WRITE);
  snprintf(want, sizeof want, "%s: File too large", path);
  assert_string_equal(why.text, want);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_size, 0);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(images_are_listed),
                                     cmocka_unit_test(images_are_files),
                                     cmocka_unit_test(maps_have_a_line_for_each_function),
                                     cmocka_unit_test(maps_may_have_number_0),
                                     cmocka_unit_test(maps_need_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
