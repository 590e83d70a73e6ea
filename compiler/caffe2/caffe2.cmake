# SPDX-License-Identifier: Apache-2.0
# C code for the messages of Caffe2 nets, made by protoc-c.
set(CAFFE2_GENERATED ${CMAKE_BINARY_DIR}/generated/caffe2.pb-c.c)
set(CAFFE2_PROTO_DIR ${CMAKE_SOURCE_DIR}/compiler/caffe2)
add_custom_command(
  OUTPUT ${CAFFE2_GENERATED} ${CMAKE_BINARY_DIR}/generated/caffe2.pb-c.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
  COMMAND ${PROTOC_C} --c_out=${CMAKE_BINARY_DIR}/generated -I ${CAFFE2_PROTO_DIR}
          ${CAFFE2_PROTO_DIR}/caffe2.proto
  DEPENDS ${CAFFE2_PROTO_DIR}/caffe2.proto
  VERBATIM)
target_sources(wk_caffe2 PRIVATE ${CAFFE2_GENERATED})
set_source_files_properties(${CAFFE2_GENERATED} PROPERTIES COMPILE_OPTIONS "-w;-DNDEBUG")
