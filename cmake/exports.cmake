# SPDX-License-Identifier: Apache-2.0
# What shared libraries export, and what they are called.

# wk_declared(OUT HEADERS… EXCEPT NAMES…): the functions and constants that headers declare, each in
# a line that begins with its type. tests/lint/exports asks a compiler whether these are all.
function(wk_declared out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" EXCEPT)
  set(found)
  foreach(header ${arg_UNPARSED_ARGUMENTS})
    file(READ ${CMAKE_SOURCE_DIR}/${header} text)
    string(REGEX MATCHALL "\n[A-Za-z_][A-Za-z0-9_ *]*[ *]wi?c?k_[a-z0-9_]+\\(" functions "${text}")
    string(REGEX MATCHALL "\nextern [A-Za-z0-9_ *]*[ *]wi?c?k_[a-z0-9_]+" constants "${text}")
    list(FILTER functions EXCLUDE REGEX "^\n(static|typedef) ")
    list(APPEND found ${functions} ${constants})
  endforeach()
  list(TRANSFORM found REPLACE "^.*[ *](wi?c?k_[a-z0-9_]+)\\(?$" "\\1")
  list(REMOVE_ITEM found ${arg_EXCEPT})
  list(REMOVE_DUPLICATES found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# wk_exports(LIBRARY NAMES…): the library exports these and nothing else, and its file bears the
# version of the project.
function(wk_exports library)
  list(JOIN ARGN "; " names)
  set(map ${CMAKE_BINARY_DIR}/generated/${library}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "{ global: ${names}; local: *; };\n" @ONLY)
  target_link_options(${library} PRIVATE -Wl,--no-undefined-version -Wl,--version-script=${map})
  set_target_properties(${library} PROPERTIES LINK_DEPENDS ${map} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR})
endfunction()
