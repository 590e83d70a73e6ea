# SPDX-License-Identifier: Apache-2.0
# The page of `wick sim --html` is built in, with the library that it draws with.
find_file(D3_JS d3.min.js PATHS /usr/share/javascript/d3 REQUIRED)
file(GLOB report_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/study/report/*)
list(APPEND report_files ${D3_JS})
set(report_symbols)
set(report_rows)
foreach(file ${report_files})
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  string(APPEND report_symbols "TEXT(report_${symbol}, \"${file}\")\n")
  string(APPEND report_rows "    {\"${name}\", report_${symbol}},\n")
endforeach()
set(report_source ${CMAKE_BINARY_DIR}/generated/report_files.c)
file(CONFIGURE OUTPUT ${report_source} @ONLY CONTENT
"/* SPDX-License-Identifier: Apache-2.0 */
#include \"cli/study/report.h\"
#define TEXT(name, file)                                               \\
  __asm__(\".section .rodata\\n\" #name \":\\n.incbin \\\"\" file \"\\\"\\n\" \\
          \".byte 0\\n.previous\\n\");                                     \\
  extern const unsigned char name[] __attribute__((visibility(\"hidden\")));
@report_symbols@
const wk_report_file wk_report_files[] = {
@report_rows@};
const size_t wk_report_files_count = WK_COUNTOF(wk_report_files);
")
set_source_files_properties(${report_source} PROPERTIES OBJECT_DEPENDS "${report_files}")
target_sources(wk_cli PRIVATE ${report_source})
