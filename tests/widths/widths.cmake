# SPDX-License-Identifier: Apache-2.0
# The accelerator with fields of other widths: its compiler, models and checker once more, with an
# isa.def of which some rows have other bits (those behind them move along), and tests that compile
# and run networks with it. Built when the tests run: the target `widths`.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_SOURCE_DIR}/targets/accel/isa.def)
file(GLOB accel_width_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/targets/accel/isa/*.c
     ${CMAKE_SOURCE_DIR}/targets/accel/check/*.c ${CMAKE_SOURCE_DIR}/targets/accel/model/*.c
     ${CMAKE_SOURCE_DIR}/targets/accel/compile/*.c)
set(width_flags -O1)

# widths_isa(FOLDER ROW.FIELD=BITS…): targets/accel/isa.def there; ROW as it stands in the file.
function(widths_isa folder)
  file(READ ${CMAKE_SOURCE_DIR}/targets/accel/isa.def text)
  foreach(change ${ARGN})
    string(REGEX REPLACE "^(.*)\\.(.*)=.*$" "FIELD\\\\(\\1, \\2, " row "${change}")
    string(REGEX REPLACE "^(.*)\\.(.*)=(.*)$" "FIELD(\\1, \\2, \\3," new "${change}")
    string(REGEX REPLACE "${row}[0-9]+," "${new}" changed "${text}")
    if(changed STREQUAL text)
      message(FATAL_ERROR "isa.def: there is no row for ${change}, or it has these bits")
    endif()
    set(text "${changed}")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/targets/accel/isa.def CONTENT "${text}" @ONLY)
endfunction()

# widths(NAME SY CHANGES…): tests with the changes, after which sy has SY bits.
add_custom_target(widths)
function(widths name sy)
  set(folder ${CMAKE_BINARY_DIR}/widths/${name})
  widths_isa(${folder} ${ARGN})
  add_library(widths_${name} OBJECT EXCLUDE_FROM_ALL ${accel_width_sources}
              ${CMAKE_BINARY_DIR}/generated/accel/accel_files.c)
  target_include_directories(widths_${name} BEFORE PUBLIC ${folder})
  target_compile_options(widths_${name} PUBLIC ${width_flags})
  target_link_libraries(widths_${name} PRIVATE PkgConfig::LIBCONFIG PkgConfig::XXHASH)
  foreach(test test_accel_windows test_random_accel)
    add_executable(${test}_${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/unit/${test}.c
                   $<TARGET_OBJECTS:widths_${name}>)
    target_include_directories(${test}_${name} BEFORE PRIVATE ${folder})
    target_compile_definitions(${test}_${name} PRIVATE WICK_TEST_SY=${sy})
    target_link_libraries(${test}_${name} ${WK_ALL} PkgConfig::CMOCKA)
    add_dependencies(widths ${test}_${name})
  endforeach()
  add_test(NAME widths/${name}-windows COMMAND test_accel_windows_${name})
  add_test(NAME widths/${name}-random COMMAND test_random_accel_${name} 1 60)
  set_tests_properties(widths/${name}-windows widths/${name}-random PROPERTIES
                       FIXTURES_REQUIRED widths TIMEOUT 600)
endfunction()

add_test(NAME widths/build
         COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target widths)
set_tests_properties(widths/build PROPERTIES FIXTURES_SETUP widths TIMEOUT 600)

# Strides of 5 bits, and more rows and blocks, as far as a command has room for them.
widths(wide 5 C.sy=5 C.sx=5 C.ny=10 CONV.kc=10 MM.ny=13 MAP.n0=13)
# Strides of 3 bits, and all else that sizes of networks go into much narrower: what is larger
# becomes more commands, or goes to the host.
widths(narrow 3 C.sy=3 C.sx=3 C.dy=3 C.dx=2 C.ky=2 C.kx=2 C.pad_t=2 C.pad_l=3 C.ny=3 C.nx=6 C.h=6
       C.w=7 C.in_y=11 C.in_x=7 C.k_y=10 C.k_x=6 C.n1=3 C.c1=6 CONV.kc=2 CONV.out_x=6 DWC.out_x=6
       MM.ny=4 MM.kc=7 MAP.n0=5 MAP.n1=4 MAP.n2=3 MAP.a0=9 MAP.b0=10 MAP.y0=8 MAP.a1=12 MAP.b2=13
       POOL.out_x=6 ROW.ny=3 ROW.kc=8)
