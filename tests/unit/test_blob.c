/* SPDX-License-Identifier: Apache-2.0
 * The linker of generated code, on an object written by hand: places, relocations of both
 * processors, and one defect after another. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/cpu/llvm/blob.h"
#include "targets/cpu/llvm/object.h"

/* .text at 0 has 40 bytes, .rodata 32 at the next multiple of 32; .eh_frame is left out. */
enum { TEXT = 1, RODATA, RELA, SYMTAB, STRTAB, SHSTRTAB, EH_FRAME, SECTIONS };
enum { F = 1, G, TABLE, GONE, LEFT, SYMBOLS };
enum { TEXT_BYTES = 40, RODATA_AT = 64, RODATA_BYTES = 32, TABLE_AT = RODATA_AT + 4 };

typedef struct {
  Elf64_Ehdr h;
  Elf64_Shdr s[SECTIONS];
  Elf64_Sym symbol[SYMBOLS];
  Elf64_Rela rela;
  uint8_t text[TEXT_BYTES], rodata[RODATA_BYTES], eh_frame[8];
  char names[32], section_names[32];
} object;

#define PART(kind, field, align)                                                       \
  .sh_type = (kind), .sh_offset = offsetof(object, field), .sh_addralign = (align),    \
  .sh_size = sizeof(((object *)NULL)->field)

static object make(uint32_t machine) {
  object o = {
      .h = {.e_ident = ELFMAG, .e_type = ET_REL, .e_machine = (Elf64_Half)machine,
            .e_shoff = offsetof(object, s), .e_shentsize = sizeof(Elf64_Shdr),
            .e_shnum = SECTIONS, .e_shstrndx = SHSTRTAB},
      .s = {[TEXT] = {PART(SHT_PROGBITS, text, 16), .sh_flags = SHF_ALLOC | SHF_EXECINSTR},
            [RODATA] = {PART(SHT_PROGBITS, rodata, 32), .sh_flags = SHF_ALLOC, .sh_name = 1},
            [RELA] = {PART(SHT_RELA, rela, 8), .sh_link = SYMTAB, .sh_info = TEXT},
            [SYMTAB] = {PART(SHT_SYMTAB, symbol, 8), .sh_link = STRTAB},
            [STRTAB] = {PART(SHT_STRTAB, names, 1)},
            [SHSTRTAB] = {PART(SHT_STRTAB, section_names, 1)},
            [EH_FRAME] = {PART(SHT_PROGBITS, eh_frame, 8), .sh_flags = SHF_ALLOC, .sh_name = 9}},
      .symbol = {[F] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, TEXT, 0, 16},
                 [G] = {3, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, TEXT, 16, 24},
                 [TABLE] = {5, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, RODATA, 4, 8},
                 [GONE] = {11, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SHN_UNDEF, 0, 0},
                 [LEFT] = {16, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, EH_FRAME, 0, 8}},
      .names = "\0f\0g\0table\0gone\0left", .section_names = "\0.rodata\0.eh_frame"};
  memset(o.text, 0x5a, sizeof o.text);
  memset(o.rodata, 0xa5, sizeof o.rodata);
  o.rela = (Elf64_Rela){8, ELF64_R_INFO(TABLE, machine == EM_X86_64 ? R_X86_64_PC32
                                                                    : R_AARCH64_PREL32), 0};
  return o;
}

/* Links; true when it says `want`, or nothing and want is "". The blob is the caller's. */
static bool links(const object *o, size_t size, const char *want, wk_blob *b) {
  wk_status s = wk_blob_link(o, size, EM_X86_64, b);
  bool good = s ? *want && strstr(s->message, want) : !*want;
  if (!good) print_error("it says '%s', not '%s'\n", s ? s->message : "", want);
  if (s) memset(b, 0, sizeof *b);
  wk_status_free(s);
  return good;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void test_places(void **state) {
  object o = make(EM_X86_64);
  wk_blob b;
  uint64_t at;
  (void)state;
  assert_true(links(&o, sizeof o, "", &b));
  assert_int_equal(b.size, RODATA_AT + RODATA_BYTES);
  assert_memory_equal(b.code + RODATA_AT, o.rodata, RODATA_BYTES);
  assert_memory_equal(b.code, o.text, 8);
  for (int i = TEXT_BYTES; i < RODATA_AT; i++) assert_int_equal(b.code[i], 0);
  assert_int_equal(b.symbols.n, 2);
  assert_true(wk_blob_find(&b, "f", &at) && at == 0);
  assert_true(wk_blob_find(&b, "g", &at) && at == 16);
  assert_int_equal(b.symbols.data[1].size, 24);
  assert_false(wk_blob_find(&b, "table", &at) || wk_blob_find(&b, "left", &at));
  wk_blob_free(&b);
  o.symbol[F].st_value = RODATA_AT + RODATA_BYTES + 1; /* behind the end */
  o.symbol[G].st_size = RODATA_AT + RODATA_BYTES - 16 + 1;
  assert_true(links(&o, sizeof o, "", &b));
  assert_int_equal(b.symbols.n, 0);
  wk_blob_free(&b);
}

/* ---- relocations ----------------------------------------------------------------------------- */

static const struct {
  uint32_t machine, type, offset, symbol;
  int64_t addend;
  uint64_t before, want; /* of the bytes there; want 0: out of range */
} relocations[] = {
    {EM_X86_64, R_X86_64_PC32, 8, TABLE, -4, ~UINT64_C(0), 0xffffffff00000038},
    {EM_X86_64, R_X86_64_PLT32, 20, G, -4, 0, 0xfffffff8},
    {EM_X86_64, R_X86_64_PC64, 24, TABLE, 3, ~UINT64_C(0), 47},
    {EM_X86_64, R_X86_64_PC64, 32, F, 0, 0, 0xffffffffffffffe0},
    {EM_X86_64, R_X86_64_PC32, 8, TABLE, 0x7fffffff - 60, 0, 0x7fffffff},
    {EM_X86_64, R_X86_64_PC32, 8, TABLE, 0x80000000 - 60, 0, 0},
    {EM_X86_64, R_X86_64_PC32, 8, TABLE, -INT64_C(0x80000000) - 60, 0, 0x80000000},
    {EM_X86_64, R_X86_64_PC32, 8, TABLE, -INT64_C(0x80000001) - 60, 0, 0},
    {EM_AARCH64, R_AARCH64_CALL26, 0, G, 0, 0x97ffffff, 0x94000004},
    {EM_AARCH64, R_AARCH64_JUMP26, 32, F, 0, 0x14000000, 0x17fffff8},
    {EM_AARCH64, R_AARCH64_CALL26, 0, F, 0x7fffffc, 0x94000000, 0x95ffffff},
    {EM_AARCH64, R_AARCH64_CALL26, 0, F, 0x8000000, 0x94000000, 0},
    {EM_AARCH64, R_AARCH64_CALL26, 0, F, -0x8000000, 0x94000000, 0x96000000},
    {EM_AARCH64, R_AARCH64_CALL26, 0, F, -0x8000004, 0x94000000, 0},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 8, TABLE, 0x5000, 0x90000003, 0xb0000023},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 8, TABLE, 0x6fbb, 0x90000003, 0xd0000023},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 8, TABLE, -0x3000, 0x90000003, 0xb0ffffe3},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 8, TABLE, 0xfffff000, 0x90000003, 0xf07fffe3},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 8, TABLE, 0x100000000, 0x90000003, 0},
    {EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, 4, TABLE, 0x5fac, 0x913ffc21, 0x913fc021},
    {EM_AARCH64, R_AARCH64_LDST8_ABS_LO12_NC, 4, TABLE, 0x5fac, 0x39400021, 0x397fc021},
    {EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, 4, TABLE, 0x5fac, 0x79400021, 0x795fe021},
    {EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, 4, TABLE, 0x5fac, 0xb9400021, 0xb94ff021},
    {EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 4, TABLE, 0x5fac, 0xf9400021, 0xf947f821},
    {EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, 4, TABLE, 0x5fac, 0x3dc00021, 0x3dc3fc21},
    {EM_AARCH64, R_AARCH64_PREL32, 8, TABLE, -4, ~UINT64_C(0), 0xffffffff00000038},
    {EM_AARCH64, R_AARCH64_PREL64, 24, TABLE, 3, ~UINT64_C(0), 47},
};

static void test_relocations(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(relocations); i++) {
    uint32_t at = relocations[i].offset;
    object o = make(relocations[i].machine);
    wk_blob b;
    uint64_t got = 0;
    memcpy(o.text + at, &relocations[i].before, 8);
    o.rela = (Elf64_Rela){at, ELF64_R_INFO(relocations[i].symbol, relocations[i].type),
                          relocations[i].addend};
    wk_status s = wk_blob_link(&o, sizeof o, relocations[i].machine, &b);
    if (s) assert_non_null(strstr(s->message, "code beyond"));
    else memcpy(&got, b.code + at, 8);
    if (got != relocations[i].want)
      fail_msg("row %zu gives 0x%llx, not 0x%llx", i, (unsigned long long)got,
               (unsigned long long)relocations[i].want);
    if (!s) wk_blob_free(&b);
    wk_status_free(s);
  }
}

/* ---- defects --------------------------------------------------------------------------------- */

#define AT(field) offsetof(object, field), sizeof(((object *)NULL)->field)
#define PC32(symbol) ELF64_R_INFO(symbol, R_X86_64_PC32)

static const struct {
  size_t at, bytes; /* a field of the object, which becomes */
  uint64_t value;
  const char *want;
} defects[] = {
    {AT(h.e_ident[0]), 0, "no ELF object"},
    {AT(h.e_type), ET_EXEC, "no ELF object"},
    {AT(h.e_machine), EM_AARCH64, "no ELF object"},
    {AT(h.e_shentsize), sizeof(Elf64_Shdr) + 1, "no ELF object"},
    {AT(h.e_shoff), offsetof(object, s) + 4, "bad section table"},
    {AT(h.e_shoff), sizeof(object) - sizeof(Elf64_Shdr), "bad section table"},
    {AT(h.e_shoff), UINT64_MAX - 7, "bad section table"},
    {AT(h.e_shstrndx), SECTIONS, "bad section table"},
    {AT(h.e_shstrndx), SECTIONS - 1, ""},
    {AT(s[TEXT].sh_offset), sizeof(object) - TEXT_BYTES + 1, "section outside of the file"},
    {AT(s[TEXT].sh_offset), sizeof(object) - TEXT_BYTES, ""},
    {AT(s[TEXT].sh_size), UINT64_MAX, "section outside of the file"},
    {AT(s[SYMTAB].sh_link), SECTIONS, "bad symbol table"},
    {AT(s[SYMTAB].sh_offset), offsetof(object, symbol) + 4, "bad symbol table"},
    {AT(s[SYMTAB].sh_type), SHT_PROGBITS, "no symbols"},
    {AT(s[RODATA].sh_flags), SHF_ALLOC | SHF_WRITE, "section .rodata is writable"},
    {AT(s[RODATA].sh_type), SHT_NOBITS, "section .rodata is writable"},
    {AT(s[RODATA].sh_addralign), 4096, ""},
    {AT(s[RODATA].sh_addralign), 8192, "alignment beyond a page"},
    {AT(s[RODATA].sh_addralign), 0, ""},
    {AT(s[RODATA].sh_flags), 0, "refers to 'table', which is left out"},
    {AT(s[RODATA].sh_size), 0, "refers to 'table', which is left out"},
    {AT(s[RELA].sh_info), SECTIONS, "bad relocations"},
    {AT(s[RELA].sh_info), EH_FRAME, ""},
    {AT(s[RELA].sh_offset), offsetof(object, rela) + 4, "bad relocations"},
    {AT(rela.r_info), PC32(SYMBOLS), "bad symbol"},
    {AT(rela.r_info), PC32(GONE), "calls 'gone', which is nowhere"},
    {AT(rela.r_info), PC32(LEFT), "refers to 'left', which is left out"},
    {AT(rela.r_info), ELF64_R_INFO(TABLE, R_X86_64_64), "has relocation 1"},
    {AT(rela.r_offset), TEXT_BYTES - 4, ""},
    {AT(rela.r_offset), TEXT_BYTES - 3, "bad relocation"},
    {AT(rela.r_offset), TEXT_BYTES + 1, "bad relocation"},
    {AT(symbol[TABLE].st_shndx), SECTIONS, "refers to 'table', which is left out"},
    {AT(symbol[F].st_shndx), SECTIONS, ""},
    {AT(symbol[F].st_name), sizeof(((object *)NULL)->names), ""},
};

static void test_defects(void **state) {
  int bad = 0;
  wk_blob b;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(defects); i++) {
    object o = make(EM_X86_64);
    memcpy((char *)&o + defects[i].at, &defects[i].value, defects[i].bytes);
    if (!links(&o, sizeof o, defects[i].want, &b)) bad++, print_error("in row %zu\n", i);
    wk_blob_free(&b);
  }
  object o = make(EM_X86_64);
  o.rela.r_info = ELF64_R_INFO(TABLE, R_X86_64_PC64);
  o.rela.r_offset = TEXT_BYTES - 8;
  bad += !links(&o, sizeof o, "", &b);
  wk_blob_free(&b);
  o.rela.r_offset++;
  bad += !links(&o, sizeof o, "bad relocation", &b);
  bad += !links(&o, sizeof o.h - 1, "no ELF object", &b);
  bad += !links(&o, offsetof(object, symbol) - 1, "bad section table", &b);
  assert_int_equal(bad, 0);
}

/* Text is no object; nothing is left behind. */
static void test_load_refused(void **state) {
  static const char text[] = "no object at all";
  wk_jit *jit = (wk_jit *)&jit;
  void *found;
  (void)state;
  LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, sizeof text, "text");
  wk_status s = wk_jit_load(b, &jit);
  if (!s) { /* or it is noticed when a name is looked up */
    s = wk_jit_find(jit, "f", &found);
    wk_jit_free(jit);
    jit = NULL;
  }
  assert_non_null(s);
  assert_null(jit);
  wk_status_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places),
                                     cmocka_unit_test(test_relocations),
                                     cmocka_unit_test(test_defects),
                                     cmocka_unit_test(test_load_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
