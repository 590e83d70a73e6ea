# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts below a prefix: the command, the runtime, and the headers with which
# targets and devices are written. The headers keep their paths, below include/wick.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a plugin may include; the files that these include are public, too. wick_target_abi.h is made
# below.
set(public_headers compiler/target/plugin.h compiler/package/program.h compiler/memory/memory.h
    compiler/stream/proof.h compiler/stream/report.h compiler/stream/settings.h
    compiler/cgen/expr_c.h compiler/cgen/inst_c.h compiler/expr/quant.h runtime/device.h
    runtime/routine.h runtime/trust/wick_verify.h sim/accel.h compiler/compile/wick_compile.h)
set(remaining ${public_headers})
while(remaining)
  list(POP_FRONT remaining header)
  file(STRINGS ${CMAKE_SOURCE_DIR}/${header} includes REGEX "^ *# *include \"")
  foreach(line ${includes})
    string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" included "${line}")
    if(NOT included MATCHES "/") # beside the header, as in runtime/
      get_filename_component(folder ${header} DIRECTORY)
      set(included ${folder}/${included})
    endif()
    if(NOT included MATCHES "/wick_target_abi\\.h$" AND NOT included IN_LIST public_headers)
      list(APPEND public_headers ${included})
      list(APPEND remaining ${included})
    endif()
  endforeach()
endwhile()
list(SORT public_headers)

# One number for the interface: a plugin that was compiled with other headers is refused.
set(digests)
foreach(header ${public_headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
  file(SHA256 ${CMAKE_SOURCE_DIR}/${header} digest)
  string(APPEND digests "${header} ${digest}\n")
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wick/${folder})
endforeach()
string(SHA256 WICK_TARGET_ABI "${digests}")
string(SUBSTRING ${WICK_TARGET_ABI} 0 16 WICK_TARGET_ABI)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/wick_target_abi.h
     CONTENT "#define WICK_TARGET_ABI \"@WICK_TARGET_ABI@\"\n" @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/wick_target_abi.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wick)

# Plugins call what the program has that loads them: all of these libraries, not only what it needs
# itself.
function(wk_loads_plugins program)
  set(libraries wk_support,wk_expr,wk_ir,wk_cgen,wk_memory,wk_stream,wk_package)
  set_target_properties(${program} PROPERTIES ENABLE_EXPORTS ON
                        LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${libraries}")
endfunction()
wk_loads_plugins(wick)
wk_loads_plugins(wickc)

# Shared libraries export what their headers declare, but for what a plugin has.
include(cmake/exports.cmake)
set(of_plugins wk_target_abi wk_target_plugin wk_custom_plugin wick_device_plugin
    wick_routine_plugin)
set(of_gdb __jit_debug_register_code __jit_debug_descriptor) # finds code in any library by these
function(wk_exports_headers library folder)
  set(headers ${public_headers})
  list(FILTER headers INCLUDE REGEX "^${folder}[a-z_]*\\.h$")
  wk_declared(names ${headers} EXCEPT ${of_plugins})
  wk_exports(${library} ${names} ${ARGN})
endfunction()
wk_exports_headers(wick_shared runtime/ ${of_gdb})
wk_exports_headers(wick_accel sim/ wick_device_plugin)
wk_exports_headers(wickc compiler/[a-z]*/)

install(TARGETS wick wickc wick_shared wick_accel)
set(WICK_COMPONENTS accel) # what WickConfig.cmake offers beside the runtime and the command
if(WICK_SIGNATURES)
  wk_exports_headers(wick_verify runtime/trust/)
  install(TARGETS wick_verify)
  list(APPEND WICK_COMPONENTS verify)
endif()

# What models of the RTL are built from, with its paths below share/wick. The command, which builds
# them, finds that from its own folder, so that a prefix may be moved.
set(sim_share ${CMAKE_INSTALL_DATADIR}/wick)
install(FILES LICENSE DESTINATION ${sim_share})
install(DIRECTORY sim/rtl DESTINATION ${sim_share}/sim FILES_MATCHING PATTERN "*.sv")
file(STRINGS sim/files.def sim_files REGEX "^SIM_FILE")
list(TRANSFORM sim_files REPLACE "SIM_FILE\\(\"(.*)\"\\)" "\\1")
foreach(file ${sim_files} sim/training.s)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${file} DESTINATION ${sim_share}/${folder})
endforeach()
file(RELATIVE_PATH share ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/wick)
target_compile_definitions(wk_sim PRIVATE WICK_SIM_INSTALLED="${share}"
                           WICK_SIM_SOURCES="${CMAKE_SOURCE_DIR}")
install(FILES $<TARGET_FILE:wick_rt> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libwick.a)
configure_package_config_file(cmake/WickConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/generated/WickConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Wick
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
                              CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/WickConfigVersion.cmake
                                 COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/WickConfig.cmake
        ${CMAKE_BINARY_DIR}/generated/WickConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Wick)
configure_file(cmake/wick.pc.in ${CMAKE_BINARY_DIR}/generated/wick.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/wick.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
