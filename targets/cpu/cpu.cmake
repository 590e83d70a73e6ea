# SPDX-License-Identifier: Apache-2.0
# The CPU target stands on the shared libLLVM; `bench_kernels`, `bench_lookups` and
# `bench_gradients` measure its kernels.
execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE llvm_include
                OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --libs --link-shared OUTPUT_VARIABLE llvm_libs
                OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE llvm_libdir
                OUTPUT_STRIP_TRAILING_WHITESPACE)

# rare/bitcode/*.c become bitcode, once per instruction set (the RARE rows of simd.def), and bytes
# in the library.
set(simd_table ${CMAKE_SOURCE_DIR}/targets/cpu/simd.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${simd_table})
file(STRINGS ${simd_table} rare_table REGEX "^RARE\\(")
set(rare_isas)
foreach(row ${rare_table})
  string(REGEX REPLACE "^RARE\\(\"([^\"]+)\", \"([^\"]+)\"\\)$" "\\1" simd "${row}")
  string(REGEX REPLACE "^RARE\\(\"([^\"]+)\", \"([^\"]+)\"\\)$" "\\2" flags "${row}")
  list(APPEND rare_isas ${simd})
  separate_arguments(rare_flags_${simd} UNIX_COMMAND "${flags}")
endforeach()
set(rare_dir ${CMAKE_BINARY_DIR}/generated/rare)
file(GLOB rare_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/targets/cpu/rare/bitcode/*.c)
file(GLOB rare_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/targets/cpu/rare/bitcode/*.h
     ${CMAKE_SOURCE_DIR}/targets/cpu/rare/bitcode/*.def)
set(rare_bitcode)
set(rare_symbols)
set(rare_rows)
foreach(source ${rare_sources})
  get_filename_component(file ${source} NAME_WE)
  foreach(simd ${rare_isas})
    set(out ${rare_dir}/${file}.${simd}.bc)
    add_custom_command(
      OUTPUT ${out}
      COMMAND ${CLANG19} ${rare_flags_${simd}} -std=gnu11 -O2 -ffreestanding -fno-builtin -fPIC
              -fvisibility=hidden -fno-math-errno -ffp-contract=off -fno-strict-aliasing
              -fno-jump-tables -fno-asynchronous-unwind-tables -Wall -Wextra -Wpedantic -Wshadow
              -Wno-psabi -I${CMAKE_SOURCE_DIR} -emit-llvm -c ${source} -o ${out}
      DEPENDS ${source} ${rare_headers} ${CMAKE_SOURCE_DIR}/runtime/abi.h
      VERBATIM)
    string(REPLACE - _ symbol rare_${file}_${simd})
    list(APPEND rare_bitcode ${out})
    string(APPEND rare_symbols "BYTES(${symbol}, \"${out}\")\n")
    string(APPEND rare_rows "    {\"${file}\", \"${simd}\", ${symbol}, ${symbol}_end},\n")
  endforeach()
endforeach()
file(MAKE_DIRECTORY ${rare_dir})
file(CONFIGURE OUTPUT ${rare_dir}/rare_code.c @ONLY CONTENT
"/* SPDX-License-Identifier: Apache-2.0 */
#include \"targets/cpu/rare/rare_link.h\"
#define BYTES(name, file)                                                          \\
  __asm__(\".section .rodata\\n.balign 16\\n\" #name \":\\n.incbin \\\"\" file \"\\\"\\n\"   \\
          #name \"_end:\\n.byte 0\\n.previous\\n\");                                     \\
  extern const unsigned char name[] __attribute__((visibility(\"hidden\")));         \\
  extern const unsigned char name##_end[] __attribute__((visibility(\"hidden\")));
@rare_symbols@
const wk_rare_code wk_rare_codes[] = {
@rare_rows@};
const size_t wk_rare_codes_count = WK_COUNTOF(wk_rare_codes);
")
set_source_files_properties(${rare_dir}/rare_code.c PROPERTIES OBJECT_DEPENDS "${rare_bitcode}")

target_sources(wk_cpu PRIVATE ${rare_dir}/rare_code.c)
target_include_directories(wk_cpu SYSTEM PUBLIC ${llvm_include})
target_link_directories(wk_cpu PUBLIC ${llvm_libdir})
target_link_libraries(wk_cpu PUBLIC ${llvm_libs})
foreach(program kernels lookups)
  add_executable(bench_${program} bench/${program}.c)
  target_link_libraries(bench_${program} wk_cpu wk_support m)
endforeach()
add_executable(bench_gradients bench/gradients.c)
target_link_libraries(bench_gradients wk_pipeline)

# The example that links a compiled model.
add_test(NAME bundle/example COMMAND ${CMAKE_SOURCE_DIR}/tests/bundle/run $<TARGET_FILE:wick>)
