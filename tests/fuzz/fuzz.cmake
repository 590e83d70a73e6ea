# SPDX-License-Identifier: Apache-2.0
# Inputs that fuzzers found once, and what scripts/fuzz builds: fuzz/READER, one program under the
# name of every reader.
file(GLOB found RELATIVE ${CMAKE_SOURCE_DIR}/tests/fuzz/found CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/tests/fuzz/found/*)
foreach(reader ${found})
  file(GLOB inputs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/found/${reader}/*)
  add_test(NAME fuzz/${reader} COMMAND hostile --native 0 --only ${reader} ${inputs})
endforeach()

if(WICK_FUZZ)
  add_executable(fuzz_entry ${CMAKE_SOURCE_DIR}/tests/fuzz/entry.c)
  target_link_libraries(fuzz_entry wk_hostile)
  target_link_options(fuzz_entry PRIVATE -fsanitize=fuzzer)
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/hostile/readers.def rows REGEX "^[A-Z]+\\(\"")
  set(entries)
  foreach(row ${rows})
    string(REGEX REPLACE "^[A-Z]+\\(\"([a-z-]+)\".*" "\\1" name ${row})
    list(APPEND entries COMMAND ${CMAKE_COMMAND} -E create_symlink ../fuzz_entry fuzz/${name})
  endforeach()
  add_custom_target(fuzz COMMAND ${CMAKE_COMMAND} -E make_directory fuzz ${entries}
                    WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  add_dependencies(fuzz fuzz_entry hostile)
endif()
