/* SPDX-License-Identifier: Apache-2.0
 *
 * A linker for one object. Sections that are loaded and have contents are laid out one behind the
 * other; unwind tables are dropped, for nothing unwinds. Everything is addressed relative to the
 * program counter, so that no relocation is left when the distances are known. The object comes
 * from LLVM, yet offsets are verified like those of any file. */
#include "targets/cpu/llvm/blob.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const uint8_t *data;
  size_t size;
  const Elf64_Ehdr *header;
  const Elf64_Shdr *sections;
  const Elf64_Sym *symbols;
  size_t n_symbols;
  const char *names; /* of symbols */
  size_t names_size;
  const char *section_names;
  size_t section_names_size;
  uint64_t *place; /* of each section in the blob, NOWHERE when left out */
  wk_blob *out;
} linker;

#define NOWHERE UINT64_MAX

static wk_status damaged(const char *what) {
  return wk_error(WK_INTERNAL, "generated object: %s", what);
}

static bool has(const linker *l, uint64_t offset, uint64_t size) {
  return offset <= l->size && size <= l->size - offset;
}

static const char *text_at(const char *texts, size_t size, uint64_t at) {
  return at < size && memchr(texts + at, 0, size - at) ? texts + at : "";
}

static wk_status open_object(linker *l, uint32_t machine) {
  const Elf64_Ehdr *h = l->header = (const Elf64_Ehdr *)l->data;
  if (l->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_type != ET_REL ||
      h->e_machine != machine || h->e_shentsize != sizeof(Elf64_Shdr))
    return damaged("no ELF object of the target machine");
  if (h->e_shoff % 8 != 0 || !has(l, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)) ||
      h->e_shstrndx >= h->e_shnum)
    return damaged("bad section table");
  l->sections = (const Elf64_Shdr *)(l->data + h->e_shoff);
  for (int i = 0; i < h->e_shnum; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (s->sh_type != SHT_NOBITS && !has(l, s->sh_offset, s->sh_size))
      return damaged("section outside of the file");
    if (s->sh_type != SHT_SYMTAB) continue;
    if (s->sh_link >= h->e_shnum || s->sh_offset % 8 != 0) return damaged("bad symbol table");
    l->symbols = (const Elf64_Sym *)(l->data + s->sh_offset);
    l->n_symbols = s->sh_size / sizeof(Elf64_Sym);
    l->names = (const char *)l->data + l->sections[s->sh_link].sh_offset;
    l->names_size = l->sections[s->sh_link].sh_size;
  }
  const Elf64_Shdr *names = &l->sections[h->e_shstrndx];
  l->section_names = (const char *)l->data + names->sh_offset;
  l->section_names_size = names->sh_size;
  return l->symbols ? NULL : damaged("no symbols");
}

static wk_status lay_out(linker *l) {
  uint64_t end = 0;
  for (int i = 0; i < l->header->e_shnum; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    const char *name = text_at(l->section_names, l->section_names_size, s->sh_name);
    l->place[i] = NOWHERE;
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0 || strcmp(name, ".eh_frame") == 0) continue;
    if (s->sh_flags & SHF_WRITE || s->sh_type == SHT_NOBITS)
      return wk_error(WK_INTERNAL, "generated object: section %s is writable", name);
    if (s->sh_addralign > 4096) return damaged("alignment beyond a page");
    l->place[i] = wk_align_up(end, s->sh_addralign ? s->sh_addralign : 1);
    end = l->place[i] + s->sh_size;
  }
  l->out->size = end;
  l->out->code = wk_xcalloc(1, end);
  for (int i = 0; i < l->header->e_shnum; i++)
    if (l->place[i] != NOWHERE)
      memcpy(l->out->code + l->place[i], l->data + l->sections[i].sh_offset,
             l->sections[i].sh_size);
  return NULL;
}

static wk_status symbol_address(const linker *l, uint64_t index, int64_t *out) {
  if (index >= l->n_symbols) return damaged("bad symbol");
  const Elf64_Sym *s = &l->symbols[index];
  if (s->st_shndx == SHN_UNDEF)
    return wk_error(WK_INTERNAL, "generated code calls '%s', which is nowhere",
                    text_at(l->names, l->names_size, s->st_name));
  if (s->st_shndx >= l->header->e_shnum || l->place[s->st_shndx] == NOWHERE)
    return wk_error(WK_INTERNAL, "generated code refers to '%s', which is left out",
                    text_at(l->names, l->names_size, s->st_name));
  *out = (int64_t)(l->place[s->st_shndx] + s->st_value);
  return NULL;
}

/* ---- relocations ---------------------------------------------------------------------------- */

static bool fits_signed(int64_t v, int bits) {
  return v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1);
}

static wk_status apply_x86_64(uint32_t type, uint8_t *where, int64_t place, int64_t value) {
  int64_t distance = value - place;
  if (type == R_X86_64_PC64) {
    memcpy(where, &distance, 8);
    return NULL;
  }
  if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
    return wk_error(WK_INTERNAL, "generated code has relocation %u", type);
  if (!fits_signed(distance, 32)) return damaged("code beyond 2 GiB");
  int32_t field = (int32_t)distance;
  memcpy(where, &field, 4);
  return NULL;
}

/* Immediate field of an AArch64 instruction. */
static void set_bits(uint8_t *where, uint64_t value, int shift, int bits) {
  uint32_t word, mask = (uint32_t)(((UINT64_C(1) << bits) - 1) << shift);
  memcpy(&word, where, 4);
  word = (word & ~mask) | ((uint32_t)(value << shift) & mask);
  memcpy(where, &word, 4);
}

static wk_status apply_aarch64(uint32_t type, uint8_t *where, int64_t place, int64_t value) {
  static const struct {
    uint32_t type;
    int scale;
  } low[] = {{R_AARCH64_ADD_ABS_LO12_NC, 0},     {R_AARCH64_LDST8_ABS_LO12_NC, 0},
             {R_AARCH64_LDST16_ABS_LO12_NC, 1},  {R_AARCH64_LDST32_ABS_LO12_NC, 2},
             {R_AARCH64_LDST64_ABS_LO12_NC, 3},  {R_AARCH64_LDST128_ABS_LO12_NC, 4}};
  for (size_t i = 0; i < WK_COUNTOF(low); i++)
    if (type == low[i].type) {
      set_bits(where, (uint64_t)(value & 0xfff) >> low[i].scale, 10, 12);
      return NULL;
    }
  int64_t distance = value - place, pages = (value >> 12) - (place >> 12);
  switch (type) {
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      if (!fits_signed(distance, 28)) return damaged("code beyond 128 MiB");
      set_bits(where, (uint64_t)distance >> 2, 0, 26);
      return NULL;
    case R_AARCH64_ADR_PREL_PG_HI21:
      if (!fits_signed(pages, 21)) return damaged("code beyond 4 GiB");
      set_bits(where, (uint64_t)pages, 29, 2);
      set_bits(where, (uint64_t)pages >> 2, 5, 19);
      return NULL;
    case R_AARCH64_PREL64: memcpy(where, &distance, 8); return NULL;
    case R_AARCH64_PREL32: {
      int32_t field = (int32_t)distance;
      memcpy(where, &field, 4);
      return NULL;
    }
    default: return wk_error(WK_INTERNAL, "generated code has relocation %u", type);
  }
}

static wk_status relocate_section(linker *l, const Elf64_Shdr *s) {
  if (s->sh_info >= l->header->e_shnum || s->sh_offset % 8 != 0) return damaged("bad relocations");
  uint64_t base = l->place[s->sh_info];
  if (base == NOWHERE) return NULL;
  const Elf64_Rela *r = (const Elf64_Rela *)(l->data + s->sh_offset);
  for (size_t n = s->sh_size / sizeof *r; n > 0; n--, r++) {
    int64_t target = 0;
    uint64_t size = l->sections[s->sh_info].sh_size, at = base + r->r_offset;
    if (r->r_offset > size || size - r->r_offset < 4) return damaged("bad relocation");
    WK_TRY(symbol_address(l, ELF64_R_SYM(r->r_info), &target));
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    bool is_x86 = l->header->e_machine == EM_X86_64;
    bool wide = type == (is_x86 ? R_X86_64_PC64 : R_AARCH64_PREL64);
    if (wide && size - r->r_offset < 8) return damaged("bad relocation");
    WK_TRY((is_x86 ? apply_x86_64 : apply_aarch64)(type, l->out->code + at, (int64_t)at,
                                                   target + r->r_addend));
  }
  return NULL;
}

static void list_symbols(linker *l) {
  for (size_t i = 0; i < l->n_symbols; i++) {
    const Elf64_Sym *s = &l->symbols[i];
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx >= l->header->e_shnum ||
        l->place[s->st_shndx] == NOWHERE)
      continue;
    wk_blob_symbol sym = {text_at(l->names, l->names_size, s->st_name),
                          l->place[s->st_shndx] + s->st_value, s->st_size};
    if (sym.offset > l->out->size || sym.size > l->out->size - sym.offset) continue;
    wk_map_put(l->out->by_name, sym.name, (uint32_t)l->out->symbols.n);
    wk_vec_push(&l->out->symbols, sym);
  }
}

wk_status wk_blob_link(const void *object, size_t size, uint32_t machine, wk_blob *out) {
  memset(out, 0, sizeof *out);
  linker l = {.data = object, .size = size, .out = out};
  WK_TRY(open_object(&l, machine));
  out->by_name = wk_map_new();
  l.place = wk_xcalloc(l.header->e_shnum, sizeof *l.place);
  wk_status s = lay_out(&l);
  for (int i = 0; i < l.header->e_shnum && !s; i++)
    if (l.sections[i].sh_type == SHT_RELA) s = relocate_section(&l, &l.sections[i]);
  if (!s) list_symbols(&l);
  free(l.place);
  if (s) wk_blob_free(out);
  return s;
}

bool wk_blob_find(const wk_blob *b, const char *name, uint64_t *offset) {
  uint32_t index;
  if (!wk_map_get(b->by_name, name, &index)) return false;
  *offset = b->symbols.data[index].offset;
  return true;
}

void wk_blob_free(wk_blob *b) {
  free(b->code);
  wk_map_free(b->by_name);
  wk_vec_free(&b->symbols);
  memset(b, 0, sizeof *b);
}
