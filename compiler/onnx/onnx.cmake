# SPDX-License-Identifier: Apache-2.0
# C code for the ONNX messages, made by protoc-c from onnx.proto of Debian's libonnx-dev.
find_file(ONNX_PROTO onnx/onnx.proto REQUIRED
          DOC "onnx.proto of the ONNX development package (libonnx-dev)")
get_filename_component(ONNX_PROTO_DIR ${ONNX_PROTO} DIRECTORY)
set(ONNX_GENERATED ${CMAKE_BINARY_DIR}/generated/onnx.pb-c.c)
add_custom_command(
  OUTPUT ${ONNX_GENERATED} ${CMAKE_BINARY_DIR}/generated/onnx.pb-c.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
  COMMAND ${PROTOC_C} --c_out=${CMAKE_BINARY_DIR}/generated -I ${ONNX_PROTO_DIR} ${ONNX_PROTO}
  DEPENDS ${ONNX_PROTO}
  VERBATIM)
set(VALUES_GENERATED ${CMAKE_BINARY_DIR}/generated/values.pb-c.c)
set(VALUES_PROTO_DIR ${CMAKE_SOURCE_DIR}/compiler/onnx/wire)
add_custom_command(
  OUTPUT ${VALUES_GENERATED} ${CMAKE_BINARY_DIR}/generated/values.pb-c.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
  COMMAND ${PROTOC_C} --c_out=${CMAKE_BINARY_DIR}/generated -I ${VALUES_PROTO_DIR}
          ${VALUES_PROTO_DIR}/values.proto
  DEPENDS ${VALUES_PROTO_DIR}/values.proto
  VERBATIM)
target_sources(wk_onnx PRIVATE ${ONNX_GENERATED} ${VALUES_GENERATED})
set_source_files_properties(${ONNX_GENERATED} ${VALUES_GENERATED} PROPERTIES
                            COMPILE_OPTIONS "-w;-DNDEBUG")
