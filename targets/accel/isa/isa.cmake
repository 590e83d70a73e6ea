# SPDX-License-Identifier: Apache-2.0
# The accelerator's tables; machine files and the templates of docs/isa.md and docs/machine.md are
# built in.
pkg_check_modules(LIBCONFIG REQUIRED IMPORTED_TARGET libconfig)
wk_library(wk_isa targets/accel/isa wk_ir PkgConfig::LIBCONFIG)

file(GLOB machine_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/targets/accel/machines/*.cfg)
set(accel_isa_page ${CMAKE_SOURCE_DIR}/targets/accel/isa.md.in)
set(accel_machine_page ${CMAKE_SOURCE_DIR}/targets/accel/machine.md.in)
set(accel_symbols "TEXT(isa_page, \"${accel_isa_page}\")\n")
string(APPEND accel_symbols "TEXT(machine_page, \"${accel_machine_page}\")\n")
set(accel_rows)
foreach(file ${machine_files})
  get_filename_component(name ${file} NAME_WE)
  string(APPEND accel_symbols "TEXT(machine_${name}, \"${file}\")\n")
  string(APPEND accel_rows "    {\"${name}\", machine_${name}},\n")
endforeach()
set(accel_dir ${CMAKE_BINARY_DIR}/generated/accel)
file(MAKE_DIRECTORY ${accel_dir})
file(CONFIGURE OUTPUT ${accel_dir}/accel_files.c @ONLY CONTENT
"/* SPDX-License-Identifier: Apache-2.0 */
#include \"targets/accel/isa/internal.h\"
#define TEXT(name, file)                                               \\
  __asm__(\".section .rodata\\n\" #name \":\\n.incbin \\\"\" file \"\\\"\\n\" \\
          \".byte 0\\n.previous\\n\");                                     \\
  extern const unsigned char name[] __attribute__((visibility(\"hidden\")));
@accel_symbols@
const wk_accel_file wk_accel_presets[] = {
@accel_rows@};
const unsigned char *const wk_accel_isa_page = isa_page;
const unsigned char *const wk_accel_machine_page = machine_page;
const size_t wk_accel_presets_count = WK_COUNTOF(wk_accel_presets);
")
set_source_files_properties(${accel_dir}/accel_files.c PROPERTIES OBJECT_DEPENDS
                            "${machine_files};${accel_isa_page};${accel_machine_page}")
target_sources(wk_isa PRIVATE ${accel_dir}/accel_files.c)
