/* SPDX-License-Identifier: Apache-2.0
 *
 * gdb's JIT interface: a list of small ELF images in memory, found by the debugger through two
 * global names, and a function on which it keeps a breakpoint. The image has a .text section
 * without bytes at the address of CODE, and one function symbol for each row of SYMS. The names and
 * the list are fixed by gdb, which is why this one file has global state; the lock is for models
 * that are loaded by several threads at once. */
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef struct jit_entry {
  struct jit_entry *next, *prev;
  const char *image;
  uint64_t image_size;
} jit_entry;

struct jit_descriptor {
  uint32_t version, action;
  jit_entry *relevant, *first;
};

enum { JIT_REGISTER = 1, JIT_UNREGISTER = 2 };

/* Weak: another library in the program may bring its own. */
extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);
__attribute__((weak)) struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};
__attribute__((weak, noinline)) void __jit_debug_register_code(void) { __asm__ volatile(""); }
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { SECTION_NULL, SECTION_TEXT, SECTION_SYMTAB, SECTION_STRTAB, SECTION_NAMES, SECTION_COUNT };

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

typedef struct {
  Elf64_Ehdr header;
  Elf64_Shdr sections[SECTION_COUNT];
  char names[sizeof section_names];
  /* symbols (8-byte aligned), then STRINGS of the package as they are */
} image_head;

/* What the image is made of. */
typedef struct {
  const wick_device_unit *unit;
  const uint8_t *code;
  size_t code_size, strings_size;
} image_source;

static void fill_sections(image_head *head, const image_source *from, size_t symbols_at) {
  size_t symbols_size = (from->unit->symbol_count + 1) * sizeof(Elf64_Sym);
  head->sections[SECTION_TEXT] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOBITS,
      .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = (uintptr_t)from->code,
      .sh_size = from->code_size, .sh_addralign = 16};
  head->sections[SECTION_SYMTAB] = (Elf64_Shdr){.sh_name = 7, .sh_type = SHT_SYMTAB,
      .sh_offset = symbols_at, .sh_size = symbols_size, .sh_link = SECTION_STRTAB, .sh_info = 1,
      .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)};
  head->sections[SECTION_STRTAB] = (Elf64_Shdr){.sh_name = 15, .sh_type = SHT_STRTAB,
      .sh_offset = symbols_at + symbols_size, .sh_size = from->strings_size, .sh_addralign = 1};
  head->sections[SECTION_NAMES] = (Elf64_Shdr){.sh_name = 23, .sh_type = SHT_STRTAB,
      .sh_offset = offsetof(image_head, names), .sh_size = sizeof section_names,
      .sh_addralign = 1};
}

/* STRINGS to the end of the last text that a symbol uses. */
static size_t used_strings(const wick_device_unit *unit) {
  size_t end = 1;
  for (uint32_t i = 0; i < unit->symbol_count; i++) {
    size_t last = unit->symbols[i].name + strlen(unit->strings + unit->symbols[i].name) + 1;
    if (last > end) end = last;
  }
  return end;
}

static char *make_image(const image_source *from, size_t *size) {
  const wick_device_unit *unit = from->unit;
  size_t symbols_at = (sizeof(image_head) + 7) / 8 * 8;
  size_t strings_at = symbols_at + (unit->symbol_count + 1) * sizeof(Elf64_Sym);
  *size = strings_at + from->strings_size;
  char *image = calloc(1, *size);
  if (!image) return NULL;
  image_head *head = (image_head *)image;
  memcpy(head->header.e_ident, ELFMAG, SELFMAG);
  head->header.e_ident[EI_CLASS] = ELFCLASS64;
  head->header.e_ident[EI_DATA] = ELFDATA2LSB;
  head->header.e_ident[EI_VERSION] = EV_CURRENT;
  head->header.e_type = ET_REL;
  head->header.e_machine = (Elf64_Half)wick_machine_host();
  head->header.e_version = EV_CURRENT;
  head->header.e_shoff = offsetof(image_head, sections);
  head->header.e_ehsize = sizeof(Elf64_Ehdr);
  head->header.e_shentsize = sizeof(Elf64_Shdr);
  head->header.e_shnum = SECTION_COUNT;
  head->header.e_shstrndx = SECTION_NAMES;
  fill_sections(head, from, symbols_at);
  memcpy(head->names, section_names, sizeof section_names);
  Elf64_Sym *symbols = (Elf64_Sym *)(image + symbols_at);
  for (uint32_t i = 0; i < unit->symbol_count; i++)
    symbols[i + 1] = (Elf64_Sym){.st_name = unit->symbols[i].name,
        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = SECTION_TEXT,
        .st_value = unit->symbols[i].offset, .st_size = unit->symbols[i].size};
  memcpy(image + strings_at, unit->strings, from->strings_size);
  return image;
}

static void announce(jit_entry *entry, uint32_t action) {
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_descriptor.action = action;
  __jit_debug_register_code();
}

wick_status wick_gdb_register(const wick_device_unit *unit, const uint8_t *code, size_t code_size,
                              void **out) {
  const image_source from = {unit, code, code_size, used_strings(unit)};
  jit_entry *entry = calloc(1, sizeof *entry);
  if (!entry) return WICK_NO_MEMORY;
  size_t size;
  entry->image = make_image(&from, &size);
  if (!entry->image) {
    free(entry);
    return WICK_NO_MEMORY;
  }
  entry->image_size = size;
  *out = entry;
  pthread_mutex_lock(&lock);
  entry->next = __jit_debug_descriptor.first;
  if (entry->next) entry->next->prev = entry;
  __jit_debug_descriptor.first = entry;
  announce(entry, JIT_REGISTER);
  pthread_mutex_unlock(&lock);
  return WICK_OK;
}

void wick_gdb_unregister(void *registered) {
  jit_entry *entry = registered;
  if (!entry) return;
  pthread_mutex_lock(&lock);
  if (entry->prev)
    entry->prev->next = entry->next;
  else
    __jit_debug_descriptor.first = entry->next;
  if (entry->next) entry->next->prev = entry->prev;
  announce(entry, JIT_UNREGISTER);
  pthread_mutex_unlock(&lock);
  free((char *)(uintptr_t)entry->image);
  free(entry);
}
