# SPDX-License-Identifier: Apache-2.0
# wk_hostile: readers, seeds and mutations of tests/hostile, for its driver and tests/unit.
file(GLOB hostile_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/hostile/*.c)
list(REMOVE_ITEM hostile_sources ${CMAKE_SOURCE_DIR}/tests/hostile/main.c)
add_library(wk_hostile STATIC ${hostile_sources} ${CMAKE_SOURCE_DIR}/compiler/pipeline/pipeline.c)
target_link_libraries(wk_hostile PUBLIC ${WK_ALL})
target_compile_definitions(wk_hostile
                           PRIVATE WICK_TEST_CAFFE2="${CMAKE_SOURCE_DIR}/tests/caffe2"
                                   WICK_TEST_ONNX="${CMAKE_SOURCE_DIR}/tests/onnx")

add_executable(hostile ${CMAKE_SOURCE_DIR}/tests/hostile/main.c)
target_link_libraries(hostile wk_hostile)
add_test(NAME hostile/mutants COMMAND hostile)
set_tests_properties(hostile/mutants PROPERTIES TIMEOUT 600)
