# SPDX-License-Identifier: Apache-2.0
# Every tests/unit/test_*.c is one cmocka program; it links what the tree has.
enable_testing()
# All that is not of the tests: libraries stand before those that they depend on.
get_property(WK_TARGETS DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
set(WK_ALL)
set(WK_SHARED)
foreach(target ${WK_TARGETS})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    list(PREPEND WK_ALL ${target})
  elseif(type STREQUAL SHARED_LIBRARY)
    list(APPEND WK_SHARED ${target})
  endif()
endforeach()
set(WK_LINTED ${WK_ALL})
file(GLOB random_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/random_*.c)
add_library(wk_random STATIC ${random_sources})
target_link_libraries(wk_random PUBLIC wk_eval wk_check wk_sim)

# Random streams for as long as one likes; no test.
add_executable(soak_streams ${CMAKE_SOURCE_DIR}/tests/soak_streams.c)
target_link_libraries(soak_streams wk_random)
# Compilations in threads: scripts/threads.
add_executable(soak_compile ${CMAKE_SOURCE_DIR}/tests/soak_compile.c)
target_link_libraries(soak_compile wickc Threads::Threads)
list(PREPEND WK_ALL wk_random)

# An OpenCL library with devices of all kinds, and a driver without the loader, for
# tests/cli/devices.sh.
foreach(name opencl_driver opencl_driver_alone)
  add_library(${name} MODULE ${CMAKE_SOURCE_DIR}/tests/opencl_driver.c)
endforeach()
set_target_properties(opencl_driver PROPERTIES C_VISIBILITY_PRESET default)
set_target_properties(opencl_driver_alone PROPERTIES C_VISIBILITY_PRESET hidden
                      COMPILE_DEFINITIONS ALONE)

# An OpenCL library that refuses what the standard forbids or leaves open, before the real one.
file(GLOB strict_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/opencl_strict/*.c)
add_library(opencl_strict MODULE ${strict_sources})
target_link_libraries(opencl_strict wk_opencl)
target_link_options(opencl_strict PRIVATE LINKER:--exclude-libs,ALL)
set_target_properties(opencl_strict PROPERTIES C_VISIBILITY_PRESET hidden)

# What the command does not give back, for tests/cli/leaks.sh; sanitizers have their own.
if(NOT WICK_SANITIZE)
  add_library(leak_counter MODULE ${CMAKE_SOURCE_DIR}/tests/leak_counter.c)
  set_target_properties(leak_counter PROPERTIES C_VISIBILITY_PRESET default)
endif()

# Packages for the accelerator, made from streams; for tests/cli.
add_executable(accel_package ${CMAKE_SOURCE_DIR}/tests/accel_package.c)
target_link_libraries(accel_package wk_package wk_isa)
include(${CMAKE_SOURCE_DIR}/tests/hostile/hostile.cmake)
include(${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz.cmake)
list(PREPEND WK_ALL wk_hostile)

# An allocator that fills memory and ends a program that wrote past a piece of it, where there is
# one; the sanitizers have their own. For tests that need not run other programs.
find_library(MALLOC_DEBUG NAMES libc_malloc_debug.so.0)
set(WK_STRICT)
if(MALLOC_DEBUG AND NOT WICK_SANITIZE)
  set(WK_STRICT env LD_PRELOAD=${MALLOC_DEBUG} MALLOC_CHECK_=3 MALLOC_PERTURB_=165)
elseif(NOT WICK_SANITIZE)
  message(STATUS "Without libc_malloc_debug: tests do not look for writes past pieces of memory")
endif()
set(strict_tests test_blob test_device test_lower test_opencl_description
    test_opencl_refusals test_package test_package_tables test_passes test_runtime
    test_state_file test_target_lists test_variables)
file(GLOB unit_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c)
if(WICK_SANITIZE) # which has an allocator of its own, and lets no other one in
  list(REMOVE_ITEM unit_tests ${CMAKE_SOURCE_DIR}/tests/unit/test_allocation.c
       ${CMAKE_SOURCE_DIR}/tests/unit/test_no_memory.c)
endif()
foreach(source ${unit_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} ${WK_ALL} PkgConfig::CMOCKA)
  set(strict)
  if(name IN_LIST strict_tests)
    set(strict ${WK_STRICT})
  endif()
  add_test(NAME unit/${name} COMMAND ${strict} $<TARGET_FILE:${name}>)
endforeach()
target_sources(test_random_extents PRIVATE
               ${CMAKE_SOURCE_DIR}/tests/unit/random_onnx.c
               ${CMAKE_SOURCE_DIR}/tests/unit/random_onnx_math.c
               ${CMAKE_SOURCE_DIR}/tests/unit/random_onnx_move.c)
foreach(name test_expr_c test_inst_c)
  target_compile_definitions(${name} PRIVATE WICK_CLANG="${CLANG19}")
endforeach()

# Rare instructions of the CPU as code of a test.
file(GLOB rare_native CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/targets/cpu/rare/bitcode/*.c)
list(REMOVE_ITEM rare_native ${CMAKE_SOURCE_DIR}/targets/cpu/rare/bitcode/memory.c)
add_library(rare_native STATIC ${rare_native})
target_compile_options(rare_native PRIVATE -include ${CMAKE_SOURCE_DIR}/tests/rare_native.h
                       -fno-strict-aliasing -ffp-contract=off -Wno-psabi -Wno-pedantic
                       -Wno-unknown-pragmas)
target_link_libraries(test_rare rare_native)

# OpenCL once more on a simulator that checks every access.
find_library(OCLGRIND oclgrind-rt PATHS /usr/lib/oclgrind PATH_SUFFIXES oclgrind)
if(OCLGRIND AND NOT WICK_SANITIZE)
  set(under "WICK_STRICT_UNDER=${OCLGRIND};WICK_STRICT_LATE=no") # it is late itself
  foreach(name device plan)
    add_test(NAME unit/test_opencl_${name}_oclgrind COMMAND test_opencl_${name} alone)
    set_tests_properties(unit/test_opencl_${name}_oclgrind PROPERTIES
      ENVIRONMENT "${under};OCLGRIND_DATA_RACES=1"
      FAIL_REGULAR_EXPRESSION "Invalid (read|write)|data race")
  endforeach()
  # It takes what a comparison of vectors gives for -1, so loops stay scalar; and it gives each
  # kernel the local memory of all.
  set(scalar "OCLGRIND_BUILD_OPTIONS=-cl-opt-disable;OCLGRIND_LOCAL_MEM_SIZE=67108864")
  add_test(NAME unit/test_random_opencl_oclgrind COMMAND test_random_opencl 201 20)
  set_tests_properties(unit/test_random_opencl_oclgrind PROPERTIES
    ENVIRONMENT "${under};OCLGRIND_DATA_RACES=1;${scalar}"
    FAIL_REGULAR_EXPRESSION "Invalid (read|write)|data race")
  add_test(NAME unit/test_opencl_kernels_oclgrind COMMAND test_opencl_kernels few)
  set_tests_properties(unit/test_opencl_kernels_oclgrind PROPERTIES
    ENVIRONMENT "${under};OCLGRIND_DATA_RACES=1;${scalar}"
    FAIL_REGULAR_EXPRESSION "Invalid (read|write)|data race")
elseif(NOT WICK_SANITIZE)
  message(STATUS "Without oclgrind: its tests are not there")
endif()

# And as if the device were a GPU, which does not work in the host's memory.
set(as_gpu "WICK_STRICT_DEVICE=${CMAKE_SOURCE_DIR}/tests/checksums/devices/gpu.json")
foreach(name device plan)
  add_test(NAME unit/test_opencl_${name}_gpu COMMAND test_opencl_${name})
  set_tests_properties(unit/test_opencl_${name}_gpu PROPERTIES ENVIRONMENT "${as_gpu}")
endforeach()
add_test(NAME unit/test_random_opencl_gpu COMMAND test_random_opencl 341 8)
set_tests_properties(unit/test_random_opencl_gpu PROPERTIES ENVIRONMENT "${as_gpu}")

# The example of a target as a plugin of the test, which has what the command has for it.
foreach(half target device)
  add_library(plainc_${half} MODULE ${CMAKE_SOURCE_DIR}/examples/target/${half}.c)
  target_compile_options(plainc_${half} PRIVATE -Wno-unused-parameter)
endforeach()
set(plainc_tests test_random_plainc)
if(NOT WICK_SANITIZE)
  list(APPEND plainc_tests test_allocation)
endif()
foreach(name ${plainc_tests})
  add_dependencies(${name} plainc_target plainc_device)
  target_compile_definitions(${name} PRIVATE
    WICK_PLAINC="$<TARGET_FILE:plainc_target>" WICK_PLAINC_DEVICE="$<TARGET_FILE:plainc_device>")
  wk_loads_plugins(${name})
endforeach()
target_compile_definitions(test_causes
                           PRIVATE WICK_TEST_EXAMPLES="${CMAKE_SOURCE_DIR}/examples/accel")
set(drawn_models 100)
if(WICK_SANITIZE)
  set(drawn_models 40)
else()
  add_test(NAME unit/test_random_extents_opencl COMMAND test_random_extents 1 20 opencl)
endif()
add_test(NAME unit/test_random_extents_cpu COMMAND test_random_extents 1 ${drawn_models} cpu)
target_compile_definitions(test_open_models
                           PRIVATE WICK_TEST_OPEN="${CMAKE_SOURCE_DIR}/tests/open")
target_compile_definitions(test_requant
                           PRIVATE WICK_TEST_NETS="${CMAKE_SOURCE_DIR}/tests/nets/int8")
# Files of the host and of the project, and libraries, are what the test says.
target_link_options(test_sim_cache PRIVATE
                    LINKER:--wrap=fopen,--wrap=dlopen,--wrap=dlsym,--wrap=wk_file_map)
target_link_options(test_pool PRIVATE LINKER:--wrap=pthread_create,--wrap=pthread_sigmask
                    LINKER:--wrap=clock_gettime,--wrap=syscall)
set(driver_tests test_opencl_driver test_opencl_jobs test_opencl_lost test_opencl_memory
    test_opencl_program test_opencl_times)
if(NOT WICK_SANITIZE)
  list(APPEND driver_tests test_no_memory)
endif()
foreach(name ${driver_tests})
  target_link_options(${name} PRIVATE LINKER:--wrap=dlopen,--wrap=dlsym,--wrap=clock_gettime)
endforeach()
target_compile_definitions(test_opencl_strict
                           PRIVATE WICK_OPENCL_STRICT="$<TARGET_FILE:opencl_strict>")
target_link_options(test_opencl_find PRIVATE
                    LINKER:--wrap=wick_opencl_list,--wrap=pipe2,--wrap=fork,--wrap=poll
                    LINKER:--wrap=read,--wrap=write,--wrap=waitpid,--wrap=kill,--wrap=_exit)
target_link_options(test_test_jobs PRIVATE LINKER:--wrap=wk_test_case_run)
set_tests_properties(unit/test_sim PROPERTIES TIMEOUT 1500) # may have to build a model

# Case files through single passes and steps, compared as text; --bless rewrites them.
add_executable(golden ${CMAKE_SOURCE_DIR}/tests/golden/golden.c
               ${CMAKE_SOURCE_DIR}/tests/golden/quantise.c
               ${CMAKE_SOURCE_DIR}/tests/golden/step.c)
target_link_libraries(golden wk_random wk_train wk_grad wk_integer wk_lower wk_quantize)
add_test(NAME golden COMMAND ${WK_STRICT} $<TARGET_FILE:golden> ${CMAKE_SOURCE_DIR}/tests/golden)

include(${CMAKE_SOURCE_DIR}/tests/widths/widths.cmake)

foreach(lint ranks style limits fields selftest)
  add_test(NAME lint/${lint} COMMAND ${CMAKE_SOURCE_DIR}/tests/lint/${lint})
endforeach()
add_test(NAME lint/equivalent COMMAND ${CMAKE_SOURCE_DIR}/tools/mutants --stale)

# Parts of the accelerator's RTL against models of their own, and what Verilator says of all of it.
if(NOT WICK_SANITIZE)
  foreach(bench "exec tiny 800" "vec tiny 800" "front tiny 8" "exec base 100" "vec base 100")
    separate_arguments(bench UNIX_COMMAND ${bench})
    list(GET bench 0 name)
    list(GET bench 1 machine)
    list(GET bench 2 count)
    set(suffix "")
    if(NOT machine STREQUAL tiny)
      set(suffix "-${machine}")
    endif()
    add_test(NAME rtl/${name}${suffix}
             COMMAND ${CMAKE_SOURCE_DIR}/sim/verilated/unit/run ${name} $<TARGET_FILE:wick>
                     ${CMAKE_SOURCE_DIR}/targets/accel/machines/${machine}.cfg
                     ${CMAKE_BINARY_DIR}/rtl ${count})
  endforeach()
  add_test(NAME rtl/own-rtl COMMAND sh -c "for p in examples/accel/own-rtl/*.patch; do patch \
           --dry-run -s -p1 -d sim/rtl <$p || exit 1; done" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  add_test(NAME lint/rtl COMMAND ${CMAKE_SOURCE_DIR}/tests/lint/rtl $<TARGET_FILE:wick>)
endif()

# The link lines of docs/programs.md, which are for libraries without sanitizers.
if(NOT WICK_SANITIZE)
  add_test(NAME bundle/programs
           COMMAND ${CMAKE_SOURCE_DIR}/tests/bundle/programs ${CMAKE_BINARY_DIR})
endif()

# Real models through the command.
foreach(suite node node-eval own own-eval float float-eval int8 int8-eval random)
  add_test(NAME models/${suite}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/models $<TARGET_FILE:wick> ${suite})
  set_tests_properties(models/${suite} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1500)
endforeach()

# What models compute, bit by bit.
foreach(suite nets zoo zoo_int8 shared)
  add_test(NAME checksums/${suite}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/checksums/compare $<TARGET_FILE:wick> ${suite})
  set_tests_properties(checksums/${suite} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1500)
endforeach()

# What the compiler writes of them.
foreach(suite nets onnx)
  add_test(NAME checksums/emitted-${suite}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/checksums/emitted $<TARGET_FILE:wick> ${suite})
  set_tests_properties(checksums/emitted-${suite} PROPERTIES TIMEOUT 1500)
endforeach()

# The same for machines that are not here, of layers, instructions and drawn graphs.
add_executable(made ${CMAKE_SOURCE_DIR}/tests/checksums/made.c
               ${CMAKE_SOURCE_DIR}/tests/checksums/made_kernels.c
               ${CMAKE_SOURCE_DIR}/tests/checksums/made_programs.c
               ${CMAKE_SOURCE_DIR}/tests/checksums/made_indexed.c
               ${CMAKE_SOURCE_DIR}/tests/checksums/made_drawn.c
               ${CMAKE_SOURCE_DIR}/tests/checksums/made_near.c
               ${CMAKE_SOURCE_DIR}/tests/checksums/made_graphs.c)
target_link_libraries(made ${WK_ALL})
foreach(suite kernels programs indexed drawn near graphs operators)
  add_test(NAME checksums/made-${suite}
           COMMAND ${WK_STRICT} $<TARGET_FILE:made> ${suite}
                   ${CMAKE_SOURCE_DIR}/tests/checksums/made_${suite}.txt)
endforeach()

# The generated pages are what the tables give.
foreach(page "ops:ops --markdown" "caffe2-ops:ops --caffe2 --markdown" "isa:isa --markdown"
             "machine:isa --machine-markdown")
  string(REGEX REPLACE ":.*" "" name ${page})
  string(REGEX REPLACE "^[^:]*:" "" arguments ${page})
  add_test(NAME docs/${name}
           COMMAND sh -c "\"$0\" ${arguments} | diff -u \"$1\" -" $<TARGET_FILE:wick>
                   ${CMAKE_SOURCE_DIR}/docs/${name}.md)
endforeach()

# The picture of the folders is that of the #includes.
add_test(NAME docs/folders COMMAND ${CMAKE_SOURCE_DIR}/tools/draw_folders --check)

# The command line: every tests/cli/*.sh is one script of checks.
file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cli/*.sh)
foreach(script ${cli_tests})
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME cli/${name} COMMAND bash ${script} $<TARGET_FILE:wick>)
  set_tests_properties(cli/${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

# The sanitizers add symbols of their own.
if(NOT WICK_SANITIZE)
  set(symbol_files)
  foreach(lib ${WK_LINTED} ${WK_SHARED})
    list(APPEND symbol_files $<TARGET_LINKER_FILE:${lib}>)
  endforeach()
  add_test(NAME lint/symbols COMMAND ${CMAKE_SOURCE_DIR}/tests/lint/symbols ${symbol_files}
           $<TARGET_OBJECTS:wick> COMMAND_EXPAND_LISTS)
  add_test(NAME lint/exports
           COMMAND sh -c "rm -rf \"$1\" && cmake --install \"$0\" --prefix \"$1\" >\"$1.log\" && \
                          exec \"$2\" \"$1\" \"$3\"" ${CMAKE_BINARY_DIR}
                   ${CMAKE_BINARY_DIR}/exports ${CMAKE_SOURCE_DIR}/tests/lint/exports ${CLANG19})
endif()

# The runtime's tests once more under ThreadSanitizer, with everything they link.
if(NOT WICK_SANITIZE)
  file(GLOB thread_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/*.c
       ${CMAKE_SOURCE_DIR}/runtime/opencl/*.c
       ${CMAKE_SOURCE_DIR}/compiler/package/*.c ${CMAKE_SOURCE_DIR}/compiler/support/*.c)
  add_library(wk_threads STATIC ${thread_sources})
  target_compile_options(wk_threads PUBLIC -fsanitize=thread)
  target_link_options(wk_threads PUBLIC -fsanitize=thread)
  target_link_libraries(wk_threads PUBLIC PkgConfig::XXHASH PkgConfig::CMOCKA Threads::Threads m
                        ${CMAKE_DL_LIBS})
  foreach(name test_runtime test_device)
    add_executable(${name}_threads ${CMAKE_SOURCE_DIR}/tests/unit/${name}.c)
    target_link_libraries(${name}_threads wk_threads)
    # setarch -R: some kernels randomise addresses more than the sanitizer can bear
    add_test(NAME unit/${name}_threads
             COMMAND sh -c "setarch -R true && exec setarch -R \"$0\" || exec \"$0\""
                     $<TARGET_FILE:${name}_threads>)
  endforeach()
endif()

# Whatever opens OpenCL opens the strict one, but where a test names another library itself.
add_dependencies(wick opencl_strict)
foreach(source ${unit_tests})
  get_filename_component(name ${source} NAME_WE)
  add_dependencies(${name} opencl_strict)
endforeach()
get_property(all_tests DIRECTORY PROPERTY TESTS)
set_property(TEST ${all_tests} APPEND PROPERTY
             ENVIRONMENT "WICK_OPENCL=$<TARGET_FILE:opencl_strict>")
