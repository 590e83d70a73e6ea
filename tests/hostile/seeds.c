/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed files: small ones, so that mutations hit what matters. Most models come from the ONNX
 * node tests of Debian's libonnx-testdata; without it there are those written below. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/onnx/onnx.h"
#include "compiler/zoo/zoo.h"
#include "onnx.pb-c.h"
#include "targets/cpu/cpu.h"
#include "tests/hostile/hostile.h"
#include "tests/plain_target.h"
#include "tests/hostile/model_text.h"
#include "tests/hostile/mutate.h"

#define TESTDATA "/usr/share/libonnx-testdata/data/node/"
#define TEXT_SEED_MAX (16 << 10)

static const char *const model_texts[] = {
    "in x f32[1,2,8,8]; init w f32[4,2,3,3]={0.1}; init b f32[4]={1}; init s f32[4]={1,2};"
    "init v f32[4]={1}; Conv x,w,b -> c {pads=[1,1,1,1]}; BatchNormalization c,s,b,b,v -> n;"
    "Relu n -> r; MaxPool r -> p {kernel_shape=[2,2] strides=[2,2]}; GlobalAveragePool p -> g;"
    "Flatten g -> f; init d f32[4,3]={0.5}; Gemm f,d -> e; Softmax e -> y {axis=1}; out y",
    "in x f32[2,3,4]; Shape x -> s; init i i64[]={1}; Gather s,i -> d {axis=0};"
    "init z i64[1]={0}; Unsqueeze d,z -> u; init m i64[1]={-1}; Concat m,u -> t {axis=0};"
    "Reshape x,t -> y; out y",
    "in x f32[3,4]; init a i64[1]={1}; init b i64[1]={3}; init e i64[2]={2,3}; Slice x,a,b,a -> s;"
    "Tile s,e -> t; init p i64[4]={0,1,1,0}; Pad t,p -> q; Transpose q -> y {perm=[1,0]}; out y",
    "in x f32[5]; init n i64[]={3}; init c bool[]={1}; Loop n,c,x -> y,z {body=(in i i64[];"
    "in k bool[]; in v f32[5]; Add v,v -> w; Identity k -> o; Identity w -> q; out o; out w;"
    "out q)}; out y; out z",
    "in x f32[4,2]; in s f32[2]; Scan s,x -> a,b {num_scan_inputs=1 body=(in u f32[2];"
    "in v f32[2]; Add u,v -> w; Mul w,v -> z; out w; out z)}; out a; out b",
    "in c bool[]; in x f32[3]; If c -> y {then_branch=(Exp x -> t; out t)"
    "else_branch=(Neg x -> e; out e)}; out y",
    "in x f32[4,1,3]; init w f32[1,8,3]={0.1}; init r f32[1,8,2]={0.2};"
    "LSTM x,w,r -> y,h,c {hidden_size=2}; out y; out h; out c",
    "in x f32[1,1,4,4]; init e f32[0]; init s f32[4]={1,1,2,2}; Resize x,e,s -> y"
    "{mode=\"linear\" coordinate_transformation_mode=\"half_pixel\"}; out y",
    "in x f32[2,3,4]; in y f32[2,4,5]; Einsum x,y -> z {equation=\"bij,bjk->bik\"}; out z",
    "in x f32[6,2]; in i i64[3]; Gather x,i -> g; init k i64[1]={2}; TopK g,k -> v,j {axis=0};"
    "in u f32[3,2]; ScatterElements x,i2,u -> y; in i2 i64[3,2]; out v; out j; out y",
    "fun F a,b -> c (Add a,b -> t; Mul t,a -> c); in x f32[N,4]; in y f32[N,4];"
    "local.F x,y -> z; local.F z,y -> w; out w",
    "init a i64[]={0}; init b i64[]={12}; init c i64[]={2}; Range a,b,c -> r; Cast r -> f {to=1};"
    "in x f32[6]; Mul x,f -> y; init s i64[2]={2,6}; ConstantOfShape s -> k; Add y,k -> z;"
    "Expand x,s -> e; Where w,z,e -> q; in w bool[6]; out q",
    "in x f32[1,4,2,2]; DepthToSpace x -> y {blocksize=2}; init k f32[1,1,2,2]={1};"
    "ConvTranspose y,k -> z {strides=[2,2]}; AveragePool z -> p {kernel_shape=[3,3]"
    "pads=[1,1,1,1] count_include_pad=1}; ReduceMean p -> m {axes=[2,3]}; LayerNormalization"
    " p,l -> n; init l f32[8]={1}; out m; out n",
    "in x u8[2,4]; init s f32[]={0.1}; init z u8[]={3}; DequantizeLinear x,s,z -> f;"
    "QuantizeLinear f,s,z -> y; CumSum f,a -> c; init a i64[]={1}; NonZero c -> n; out y; out n",
    "in x f32[N,3]; ai.onnx.ml.TreeEnsembleClassifier x -> l,p {classlabels_strings=[\"a\",\"b\"]"
    "nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[1,0,0] nodes_modes="
    "[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0]"
    "nodes_falsenodeids=[2,0,0] class_treeids=[0,0] class_nodeids=[1,2] class_ids=[0,1]"
    "class_weights=[0.5,1.5]}; ai.onnx.ml.ZipMap p -> z {classlabels_strings=[\"a\",\"b\"]};"
    "ai.onnx.ml.LabelEncoder l -> e {keys_strings=[\"b\",\"c\"] values_int64s=[7,8]};"
    "out l; out z; out e",
    "in x f32[N,2]; ai.onnx.ml.SVMClassifier x -> l,p {classlabels_ints=[3,5,9] kernel_type=\"RBF\""
    "kernel_params=[0.5,0.0,3.0] vectors_per_class=[1,2,1] coefficients=[1.0,-1.0,0.5,2.0,-1.5,"
    "0.5,1.0,-0.5] support_vectors=[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0] rho=[0.5,0.25,-0.5]"
    "prob_a=[-1.5,-2.0,-1.0] prob_b=[0.25,0.5,0.0]}; ai.onnx.ml.Normalizer p -> n {norm=\"L2\"};"
    "out l; out n",
    "in x f32[N,2]; ai.onnx.ml.TreeEnsemble x -> y {n_targets=2 tree_roots=[0,1]"
    "nodes_featureids=[0,1] nodes_modes=tensor m u8[2]={0,6} nodes_splits=tensor s f32[2]={0.5,1}"
    "nodes_truenodeids=[0,2] nodes_trueleafs=[1,1] nodes_falsenodeids=[1,0] nodes_falseleafs=[0,1]"
    "leaf_targetids=[0,1,1] leaf_weights=tensor w f32[3]={1,2,3} membership_values=tensor v f32[3]"
    "={1,2,nan} post_transform=2}; ai.onnx.ml.Scaler y -> z {offset=[0.5] scale=[2.0,3.0]}; out z"};

/* Operators whose attributes and shapes interact most. */
static const char *const node_tests[] = {
    "averagepool_2d_ceil", "averagepool_3d_default", "basic_conv_with_padding",
    "batchnorm_example_training_mode", "bitshift_left_uint8", "blackmanwindow_expanded",
    "clip_default_int8_max", "compress_1", "concat_3d_axis_negative_3", "constant_pad",
    "conv_with_autopad_same", "convinteger_with_padding", "convtranspose_output_shape",
    "cumsum_2d_negative_axis", "depthtospace_crd_mode", "det_nd", "dft_axis",
    "dynamicquantizelinear_expanded", "edge_pad", "einsum_batch_diagonal", "expand_dim_changed",
    "eyelike_populate_off_main_diagonal", "gather_elements_negative_indices",
    "gathernd_example_int32_batch_dim1", "gemm_all_attributes", "gridsample_bicubic",
    "gru_seq_length", "gru_batchwise", "hardmax_axis_1", "if", "if_opt", "if_seq",
    "instancenorm_epsilon", "layer_normalization_4d_axis_negative_2_expanded",
    "logsoftmax_axis_1_expanded", "loop11", "loop13_seq", "loop16_seq_none", "lrn",
    "lstm_batchwise", "lstm_with_peepholes", "matmul_4d", "maxpool_2d_dilations",
    "maxpool_with_argmax_2d_precomputed_strides", "maxunpool_export_with_output_shape",
    "mod_int64_fmod", "nllloss_NCd1d2_with_weight_expanded", "nonmaxsuppression_two_classes",
    "onehot_with_axis", "optional_get_element_sequence", "qlinearconv", "qlinearmatmul_3D",
    "quantizelinear_axis", "range_float_type_positive_delta_expanded",
    "reduce_log_sum_exp_negative_axes_keepdims_random", "reflect_pad",
    "reshape_zero_and_negative_dim", "resize_downsample_scales_cubic_A_n0p5_exclude_outside",
    "resize_tf_crop_and_resize", "resize_upsample_sizes_nearest", "reversesequence_batch",
    "rnn_seq_length", "roialign_aligned_true", "scan9_sum", "scan_sum",
    "scatter_elements_with_axis", "scatternd_add", "sce_NCd1_mean_weight_negative_ii_expanded",
    "sequence_insert_at_front", "sequence_map_add_2_sequences", "slice_neg_steps",
    "softmax_axis_1_expanded", "spacetodepth", "split_variable_parts_2d", "stft_with_window",
    "tile", "top_k_smallest", "transpose_all_permutations_3", "tril_out_neg",
    "unique_not_sorted_without_axis",
    "unsqueeze_unsorted_axes", "upsample_nearest", "where_long_example", "adam", "melweightmatrix",
    "training_dropout_mask", "shrink_soft", "celu_expanded", "pow_types_int64_float32"};

/* Cases of tests/onnx: what Debian's data is too old for. */
static const char *const own_tests[] = {
    "AffineGridSizes", "AttentionForms", "AttentionWindows", "CausalConvForms", "Col2ImSteps",
    "CumProdOrder", "DeformConvForms", "DynamicLSTM", "DynamicLSTMBoth", "EmbeddingBagATen",
    "EmbeddingBagLoop", "FlexAttentionForms", "FusedConvSum", "GatherBlocks4Middle",
    "GatherBlocksFloat", "GradientBodies", "GradientFunction", "GradientValues",
    "GridSampleDeep", "GridSampleLine", "GroupNormLast",
    "GroupQuery4Channel", "GroupQuery8Tensor", "GroupQueryChunk", "GroupQueryPacked",
    "GroupQueryScores", "GroupQuerySink", "GroupQueryStep", "LinearAttentionForms",
    "MatMulBnb4Normal", "MatMulNBits2Packed", "MatMulNBits4", "MatMulNBits4Packed",
    "MatMulNBits8Packed", "MaxRoiPoolForms", "MergedPacked", "MergedPast", "MlEncoders",
    "MultiHeadLengths", "MultiHeadPast", "NarrowBlocks", "NarrowCasts", "NarrowWeights",
    "NhwcFusedConv", "Opset28", "QAttentionPast", "QEmbedLayerNorm", "QLinearSoftmax",
    "QLinearWhere", "ResizeSmooth", "RotaryMicrosoftHeads", "SkBoosting", "SkForest",
    "SkImputer", "SkLogisticBinary", "SkNormL2", "SkPipeline", "SkSvc", "SkSvrRbf", "SkTree",
    "SkZipMap", "SkipGroupNorm", "TensorScatterForms", "TfIdfNumbers"};

static bool read_file(const char *path, wk_str *out) {
  wk_file f;
  wk_status s = wk_file_map(path, &f);
  wk_status_free(s);
  if (s) return false;
  if (f.size) wk_str_addn(out, (const char *)f.data, f.size);
  wk_file_unmap(&f);
  return true;
}

/* Keeps b when it is small enough, and lets go of it otherwise. */
static void keep(seed_list *l, wk_str *b) {
  if (b->n > 0 && b->n <= WK_MUTANT_MAX) wk_vec_push(l, *b);
  else wk_str_free(b);
  *b = (wk_str){0};
}

static void stop(wk_status s, const char *what) {
  fprintf(stderr, "seeds: %s\n", what);
  wk_status_print(stderr, s);
  exit(2);
}

static void *arena_alloc(void *arena, size_t n) { return wk_arena_alloc(arena, n ? n : 1); }
static void arena_keep(void *arena, void *p) {
  (void)arena;
  (void)p;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* A network of the builder's layers that is small enough to be mutated. */
static wk_module *small_network(void) {
  wick_builder *b = wick_builder_new("small", 1);
  wk_module *m;
  wick_value x = wick_input(b, "x", WK_F32, 4, (int64_t[]){1, 3, 12, 12});
  x = wick_conv(b, x, &(wick_conv_opts){.out = 8, .kernel = 3, .pad = 1});
  x = wick_relu(b, wick_batch_norm(b, x));
  wick_value y =
      wick_conv(b, x, &(wick_conv_opts){.out = 8, .kernel = 3, .pad = 1, .group = 8, .bias = true});
  x = wick_clip(b, wick_add(b, x, y), 0, 6);
  x = wick_concat(b, (wick_value[]){x, wick_max_pool(b, x, 3, 1, 1)}, 2, 1);
  x = wick_conv(b, x, &(wick_conv_opts){.out = 12, .kernel = 1, .stride = 2, .bias = true});
  x = wick_flatten(b, wick_global_avg_pool(b, wick_unary(b, WK_OP_SIGMOID, x)));
  x = wick_layer_norm(b, wick_linear(b, x, 16));
  wick_output(b, "y", wick_softmax(b, wick_linear(b, x, 5), -1));
  wk_status s = wick_builder_finish(b, &m);
  if (s) stop(s, "the small network");
  return m;
}

/* Inputs whose values decide shapes become initialisers, with the contents of the test's data. */
static void fix_input(Onnx__ModelProto *m, const char *folder, const char *name, wk_arena *a) {
  Onnx__GraphProto *g = m->graph;
  char path[256];
  for (size_t i = 0; i < g->n_input; i++) {
    wk_str data = {0};
    if (strcmp(g->input[i]->name, name) != 0) continue;
    snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", folder, i);
    if (!read_file(path, &data)) return;
    ProtobufCAllocator allocator = {arena_alloc, arena_keep, a};
    Onnx__TensorProto *t =
        onnx__tensor_proto__unpack(&allocator, data.n, (const uint8_t *)data.s);
    wk_str_free(&data);
    if (!t) return;
    Onnx__TensorProto **list = wk_arena_alloc(a, (g->n_initializer + 1) * sizeof *list);
    if (g->n_initializer) memcpy(list, g->initializer, g->n_initializer * sizeof *list);
    t->name = wk_arena_strdup(a, name);
    list[g->n_initializer++] = t;
    g->initializer = list;
    memmove(&g->input[i], &g->input[i + 1], (--g->n_input - i) * sizeof *g->input);
    return;
  }
}

static void fix_inputs(wk_str *b, const char *folder) {
  wk_import_report report;
  wk_module *m;
  wk_arena *a = wk_arena_new();
  ProtobufCAllocator allocator = {arena_alloc, arena_keep, a};
  for (int round = 0; round < 4; round++) {
    wk_status s = wk_import_onnx_memory(b->s, b->n, NULL, &report, &m);
    if (!s) wk_module_free(m);
    Onnx__ModelProto *p =
        report.need_value.n ? onnx__model_proto__unpack(&allocator, b->n, (const uint8_t *)b->s)
                            : NULL;
    for (size_t i = 0; p && i < report.need_value.n; i++)
      fix_input(p, folder, report.need_value.data[i], a);
    wk_import_report_free(&report);
    wk_status_free(s);
    if (!p) break;
    uint8_t *packed = wk_arena_alloc(a, onnx__model_proto__get_packed_size(p) + 1);
    wk_str_free(b);
    wk_str_addn(b, (char *)packed, onnx__model_proto__pack(p, packed));
  }
  wk_arena_free(a);
}

/* Sizes that nothing names become 2. */
static void fix_dims(wk_str *b) {
  wk_arena *a = wk_arena_new();
  ProtobufCAllocator allocator = {arena_alloc, arena_keep, a};
  Onnx__ModelProto *m = onnx__model_proto__unpack(&allocator, b->n, (const uint8_t *)b->s);
  for (size_t i = 0; m && i < m->graph->n_input; i++) {
    Onnx__TypeProto *t = m->graph->input[i]->type;
    bool is_tensor = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    Onnx__TensorShapeProto *shape = is_tensor ? t->tensor_type->shape : NULL;
    for (size_t k = 0; shape && k < shape->n_dim; k++) {
      Onnx__TensorShapeProto__Dimension *d = shape->dim[k];
      if (d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET) continue;
      d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      d->dim_value = 2;
    }
  }
  if (m) {
    uint8_t *packed = wk_arena_alloc(a, onnx__model_proto__get_packed_size(m) + 1);
    wk_str_free(b);
    wk_str_addn(b, (char *)packed, onnx__model_proto__pack(m, packed));
  }
  wk_arena_free(a);
}

static void add_test(seed_list *l, const char *folder) {
  wk_str b = {0};
  char path[320];
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  if (!read_file(path, &b)) return;
  fix_dims(&b);
  fix_inputs(&b, folder);
  keep(l, &b);
}

void seeds_onnx(seed_list *l, const char *folder) {
  wk_str b = {0};
  char path[256];
  for (size_t i = 0; i < WK_COUNTOF(model_texts); i++) {
    model_text(model_texts[i], &b);
    keep(l, &b);
  }
  wk_module *m = small_network();
  snprintf(path, sizeof path, "%s/small.onnx", folder);
  wk_status s = wk_export_onnx(m, path);
  if (s) stop(s, "the small network's export");
  wk_module_free(m);
  if (read_file(path, &b)) keep(l, &b);
  (void)unlink(path);
  for (size_t i = 0; i < WK_COUNTOF(node_tests); i++) {
    snprintf(path, sizeof path, TESTDATA "test_%s", node_tests[i]);
    add_test(l, path);
  }
  for (size_t i = 0; i < WK_COUNTOF(own_tests); i++) {
    snprintf(path, sizeof path, WICK_TEST_ONNX "/%s", own_tests[i]);
    add_test(l, path);
  }
}

/* ---- packages -------------------------------------------------------------------------------- */

static wk_parts *compile(wk_module *m, const wk_targets *t) {
  const wk_pipeline_options o = {.targets = t};
  wk_pipeline_report report;
  wk_parts *parts = NULL;
  wk_status s = wk_pipeline_run(m, &o, &report, &parts);
  wk_pipeline_report_free(&report);
  if (s) stop(s, "compilation");
  return parts;
}

static void package(seed_list *l, wk_module *m, const char *folder) {
  char path[256];
  wk_str b = {0};
  wk_targets t;
  snprintf(path, sizeof path, "%s/seed.wick", folder);
  const wk_emit_options emit = {.model_name = "seed", .command = "--target cpu"};
  wk_emit_result result = {0};
  wk_status s = wk_targets_open(&(wk_target_args){0}, &t);
  if (s) stop(s, "the CPU");
  wk_parts *parts = compile(m, &t);
  s = wk_emit_package(&t, &(wk_emit_entry){"", parts}, 1, &emit, path, &result);
  if (s) stop(s, "a package");
  wk_parts_free(parts);
  wk_targets_close(&t);
  if (read_file(path, &b)) wk_vec_push(l, b);
  (void)unlink(path);
  wk_module_free(m);
}

void seeds_package(seed_list *l, const char *folder) {
  wk_module *m;
  package(l, small_network(), folder);
  wk_status s = wk_zoo_build(wk_zoo_find("ds_cnn"), 1, 0, &m);
  if (s) stop(s, "ds_cnn");
  package(l, m, folder);
  seeds_package_units(l);
}

/* ---- tensors --------------------------------------------------------------------------------- */

void seeds_npy(seed_list *l, const char *folder) {
  static const wk_dtype dtypes[] = {WK_F32, WK_I64, WK_U8, WK_F16, WK_BOOL, WK_F64};
  char path[256];
  snprintf(path, sizeof path, "%s/seed.npy", folder);
  for (int i = 0; i < 2 * (int)WK_COUNTOF(dtypes); i++) {
    const wk_type t = wk_type_make(dtypes[i / 2], i % 2 ? 3 : 1, (int64_t[]){3, 2, 5});
    wk_tensor x;
    wk_str b = {0};
    wk_status s = wk_tensor_alloc(&t, &x);
    if (!s) s = wk_tensor_write_npy(path, &x);
    if (s) stop(s, "a .npy file");
    if (read_file(path, &b)) keep(l, &b);
    wk_tensor_free(&x);
  }
  (void)unlink(path);
}

/* Fields of TensorProto by hand: dims 3 and 2, every way to store data. */
static const struct { const char *bytes; size_t n; } tensor_protos[] = {
#define BYTES(s) {s, sizeof s - 1}
    BYTES("\x08\x03\x08\x02\x10\x01\x42\x01x\x4a\x18"
          "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40\0\0\xc0\x40"),
    BYTES("\x0a\x02\x03\x02\x10\x07\x3a\x06\x01\x02\x03\x04\x05\x06\x42\x01y"),
    BYTES("\x08\x02\x10\x01\x22\x08\0\0\x80\x3f\0\0\0\x40"),
    BYTES("\x08\x02\x10\x09\x2a\x02\x01\0"), BYTES("\x10\x0b\x4a\x08\0\0\0\0\0\0\xf0\x3f"),
    BYTES("\x08\x04\x10\x0a\x2a\x08\x80\x78\x80\x80\x01\x00\x80\x08"),
    BYTES("\x08\x02\x10\x02\x4a\x02\x05\xff"), BYTES("\x08\x01\x10\x08\x32\x03text")};

void seeds_tensor(seed_list *l, const char *folder) {
  wk_str b = {0};
  char path[256];
  (void)folder;
  for (size_t i = 0; i < WK_COUNTOF(tensor_protos); i++) {
    wk_str_addn(&b, tensor_protos[i].bytes, tensor_protos[i].n);
    keep(l, &b);
  }
  for (size_t i = 0; i < WK_COUNTOF(node_tests); i += 4) {
    snprintf(path, sizeof path, TESTDATA "test_%s/test_data_set_0/input_0.pb", node_tests[i]);
    if (read_file(path, &b)) keep(l, &b);
  }
}

/* Lists of these: an optional of one, sequences of one and two, an optional of a sequence. */
void seeds_list(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i + 1 < WK_COUNTOF(tensor_protos); i++) {
    wk_str b = {0}, list = {0};
    for (size_t k = 0; k < 1 + i % 2; k++) {
      const size_t n = tensor_protos[i + k].n; /* below 128 */
      wk_str_addn(&list, (const char[]){0x1a, (char)n}, 2);
      wk_str_addn(&list, tensor_protos[i + k].bytes, n);
    }
    wk_str_addn(&b, "\x10\x01", 2);
    wk_str_addn(&b, list.s, list.n);
    keep(l, &b);
    wk_str_addn(&b, "\x10\x03\x2a", 3);
    wk_str_addn(&b, (const char[]){(char)list.n}, 1);
    wk_str_addn(&b, list.s, list.n);
    keep(l, &b);
    wk_str_free(&list);
  }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void add_texts(seed_list *l, const char *const *texts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    wk_str b = {0};
    wk_str_add(&b, texts[i]);
    keep(l, &b);
  }
}

void seeds_plan(seed_list *l, const char *folder) {
  static const char *const texts[] = {
      "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n",
      ("size,upper,lower,id,alignment,offset\r\n"
       "64,10,0,a,64,0\r\n100,5,2,b,16,64\r\n1,7,7,c,1,0\r\n"),
      "\xef\xbb\xbfid, lower, upper, size, other\n\n a , 0 , 2 , 12 , x\n b , 1 , 3 , 13 , y\n",
      "id,lower,upper,size\n0,0,9223372036854775807,9223372036854775807\n"};
  wk_str b = {0};
  (void)folder;
  add_texts(l, texts, WK_COUNTOF(texts));
  wk_str_add(&b, "id,lower,upper,size,alignment\n");
  for (int i = 0; i < 120; i++)
    wk_str_printf(&b, "%d,%d,%d,%d,%d\n", i, i % 17 * 3, i % 17 * 3 + 1 + i * 7 % 29,
                  1 + i * 37 % 501,
                  1 << i % 7);
  keep(l, &b);
}

void seeds_expression(seed_list *l, const char *folder) {
  static const char *const texts[] = {
      "max(%0, 0.0f32)", "a = sub(%0, %1); mul(a, a)", "add(%0, %1), sub(%0, %1)",
      "select(lt(%2, 3i32), f32(%2), %0)", "a = exp(neg(%0)); div(1.0f32, add(1.0f32, a))",
      "sat<u8>(add(i64(%2), index<0>()))", "select(%4, i64(%2), div(%3, i64(%5)))",
      "and(lt(%0, %1), not(%4))", "min(max(%0, -inff32), nanf32), f16(tanh(%1)), erf(%0), f32(%6)",
      ("a = pow(%0, %1); b = fmod(a, %1); c = is_nan(b); "
       "select(c, a, b), shl(%5, 3u8), xor(%5, 7u8)")};
  (void)folder;
  add_texts(l, texts, WK_COUNTOF(texts));
}

/* The seeds of the importer as text, before and after compilation. */
static void module_texts(seed_list *l, const char *folder, bool compiled) {
  seed_list models = {0};
  seeds_onnx(&models, folder);
  for (size_t i = 0; i < models.n; i++) {
    wk_import_report report;
    wk_module *m;
    wk_str b = {0};
    wk_status s = wk_import_onnx_memory(models.data[i].s, models.data[i].n, NULL, &report, &m);
    wk_import_report_free(&report);
    wk_str_free(&models.data[i]);
    wk_status_free(s);
    if (s) continue;
    if (compiled) {
      wk_parts *parts = compile(m, &plain_targets);
      wk_program_print(&b, parts->parts.data[0].program, WK_PRINT_FULL);
      wk_parts_free(parts);
    } else {
      wk_module_print(&b, m, WK_PRINT_FULL);
    }
    wk_module_free(m);
    if (b.n <= TEXT_SEED_MAX) keep(l, &b);
    wk_str_free(&b);
  }
  wk_vec_free(&models);
}

void seeds_graph_text(seed_list *l, const char *folder) { module_texts(l, folder, false); }
void seeds_program_text(seed_list *l, const char *folder) { module_texts(l, folder, true); }
