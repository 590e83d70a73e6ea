/* SPDX-License-Identifier: Apache-2.0
 * source: a model read from a file, before it is imported: the wire format or protobuf text,
 * told apart by what is in the file. Front doors for other formats make one as well. */
#ifndef WICK_ONNX_IMPORT_SOURCE_H
#define WICK_ONNX_IMPORT_SOURCE_H

#include "compiler/onnx/wire/wire.h"

typedef struct {
  wk_arena *arena;  /* owns the messages */
  wk_arena *nets[2]; /* what they point into besides, of another format; may be NULL */
  const Onnx__ModelProto *model;
  wk_file file;     /* mapped while the model may point into it; size 0: none */
  void *bytes;      /* the same when they are in memory; malloc'ed */
  size_t size;      /* of what has been read: budgets grow with it */
  const char *name; /* of the module */
  const char *path, *dir; /* dir: folder of external data */
  const char *home;       /* the folder of the file that path leads to; NULL: not known */
} wk_onnx_model;

/* An empty model of that path: arena, name, path and dir. */
void wk_onnx_model_start(wk_onnx_model *m, const char *path);
/* Reads a model file; after an error *out is closed. */
wk_status wk_onnx_model_open(const char *path, wk_onnx_model *out) WK_MUST_CHECK;
void wk_onnx_model_close(wk_onnx_model *m);
/* As wk_import_onnx; closes the model. */
wk_status wk_onnx_model_import(wk_onnx_model *m, const wk_import_options *o,
                               wk_import_report *report, wk_module **out) WK_MUST_CHECK;
/* As wk_onnx_inspect. */
void wk_onnx_model_inspect(const wk_onnx_model *m, wk_onnx_info *out);

/* True when the bytes are text rather than a binary format: what is read by wk_text_start. */
bool wk_onnx_is_text(const uint8_t *data, size_t n);

#endif
