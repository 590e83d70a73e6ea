/* SPDX-License-Identifier: Apache-2.0
 * Operators where sizes are only known at run time, in forms that random models do not have: one
 * import for all sizes gives what an import for each does, or refuses, or the run fails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"
#include "tests/hostile/model_text.h"

enum { LEAST = 1, MOST = 5 };

static void must(const char *text, wk_status s) {
  if (s) fail_msg("%s\n%s", text, s->message);
}

/* n 0: open, from `least`. NULL: what *refusal says. */
static wk_runner *runner_of(const char *text, int64_t least, int64_t n, wk_status *refusal) {
  const wk_bind bind = {.symbol = "N", .value = n ? n : MOST, .is_open = !n, .least = least};
  const wk_import_options o = {.binds = &bind, .n_binds = 1, .list_all = true};
  const wk_runner_options ro = {.target = {.target = "eval"}, .model_name = "case"};
  wk_str model = {0};
  wk_module *m = NULL;
  wk_runner *r = NULL;
  model_text(text, &model);
  *refusal = wk_import_onnx_memory(model.s, model.n, &o, NULL, &m);
  wk_str_free(&model);
  if (!*refusal) must(text, wk_runner_of_module(m, &ro, &r));
  return r;
}

/* Numbers that differ, integers from 0 to 2. */
static void draw(const wk_type *t, wk_tensor *out) {
  must("a tensor", wk_tensor_alloc(t, out));
  for (int64_t i = 0; i < wk_type_count(t); i++) {
    double v = (double)((i * 7 + 3) % 11) / 4 + 0.25;
    if (wk_dtype_is_float(t->dtype)) wk_store_f64(out->data, t->dtype, i, v);
    else wk_store_i64(out->data, t->dtype, i, (i * 5 + 1) % 3);
  }
}

static void check_same(const char *text, int64_t n, const wk_tensor *want, const wk_tensor *got) {
  if (!wk_shape_equal(&want->type, &got->type))
    fail_msg("%s\nat %lld: %lld elements instead of %lld", text, (long long)n,
             (long long)wk_type_count(&got->type), (long long)wk_type_count(&want->type));
  for (int64_t i = 0; i < wk_type_count(&want->type); i++) {
    double a = wk_load_f64(want->data, want->type.dtype, i);
    double b = wk_load_f64(got->data, got->type.dtype, i);
    if (!(fabs(a - b) <= 1e-3 + 1e-3 * fabs(a)) && !(isnan(a) && isnan(b)))
      fail_msg("%s\nat %lld: element %lld is %g, not %g", text, (long long)n, (long long)i, b, a);
  }
}

/* NULL: the run fails. */
static wk_tensor *run(const char *text, wk_runner *r, const wk_tensor *in, wk_tensor *out) {
  wk_status s = wk_runner_run(r, in, out);
  if (s && s->code != WK_INPUT) fail_msg("%s\n%s", text, s->message);
  bool fails = s != NULL;
  wk_status_free(s);
  return fails ? NULL : out;
}

/* Both fail, or give the same. */
static void compare_at(const char *text, wk_runner *open, int64_t n) {
  wk_tensor in[4] = {{{0}, NULL}}, want[4] = {{{0}, NULL}}, got[4] = {{{0}, NULL}};
  wk_status refusal;
  wk_runner *exact = runner_of(text, LEAST, n, &refusal);
  wk_status_free(refusal); /* the size does not fit the model */
  for (size_t i = 0; i < wk_runner_inputs(open); i++) {
    wk_type t = *wk_runner_input_type(open, i);
    const wk_module *m = wk_runner_module(open);
    for (size_t k = 0; k < m->open_axes.n; k++) {
      const wk_open_axis *a = &m->open_axes.data[k];
      if (!a->is_output && !strcmp(a->tensor, wk_runner_input_name(open, i))) t.dims[a->axis] = n;
    }
    draw(&t, &in[i]);
  }
  wk_tensor *a = exact ? run(text, exact, in, want) : NULL, *b = run(text, open, in, got);
  if (!a != !b) fail_msg("%s\nat %lld: %s", text, (long long)n, a ? "fails" : "does not fail");
  for (size_t i = 0; a && i < wk_runner_outputs(open); i++) check_same(text, n, &a[i], &b[i]);
  for (size_t i = 0; i < 4; i++) {
    wk_tensor_free(&in[i]);
    wk_tensor_free(&want[i]);
    wk_tensor_free(&got[i]);
  }
  wk_runner_free(exact);
}

#define SAME(side, stride) \
  "in x f32[1,1,N]; init v f32[1,1,4]={1,2,3,4}; init w f32[1,1,2]={1,2}; " \
  "Conv x,v -> a {auto_pad=\"SAME_" side "\" strides=[" #stride "]}; " \
  "Conv x,w -> b {auto_pad=\"SAME_" side "\" strides=[" #stride "] dilations=[2]}; " \
  "AveragePool x -> c {auto_pad=\"SAME_" side "\" strides=[" #stride "] kernel_shape=[3]}; " \
  "MaxPool x -> d {auto_pad=\"SAME_" side "\" strides=[" #stride "] kernel_shape=[2]}; " \
  "out a; out b; out c; out d"

#define CEIL(stride) \
  "in x f32[1,1,N]; MaxPool x -> a {ceil_mode=1 strides=[" #stride "] kernel_shape=[3] " \
  "pads=[1,1]}; MaxPool x -> b {ceil_mode=1 strides=[" #stride "] kernel_shape=[2] pads=[1,0]}; " \
  "AveragePool x -> c {ceil_mode=1 strides=[" #stride "] kernel_shape=[3] pads=[1,1]}; " \
  "LpPool x -> d {strides=[" #stride "] kernel_shape=[2] pads=[1,1]}; out a; out b; out c; out d"

/* By factors, to a known size, to one that is known when it runs; down and up. */
#define RESIZE(coordinates) \
  "in x f32[1,2,N,3]; init r f32[0]; init a f32[4]={1,1,1.3,2}; init b f32[4]={1,1,0.625,0.5}; " \
  "init k i64[4]={1,2,4,5}; Shape x -> d; init t i64[4]={1,2,1,0}; init u i64[4]={0,0,2,7}; " \
  "init v i64[4]={1,1,2,1}; Mul d,t -> m; Add m,u -> n; " \
  "Resize x,r,a -> p {mode=\"linear\" coordinate_transformation_mode=\"" coordinates "\"}; " \
  "Resize x,r,b -> q {coordinate_transformation_mode=\"" coordinates "\"}; " \
  "Resize x,r,_,k -> f {mode=\"linear\" coordinate_transformation_mode=\"" coordinates "\"}; " \
  "Resize x,r,_,n -> g {mode=\"linear\" coordinate_transformation_mode=\"" coordinates "\"}; " \
  "out p; out q; out f; out g"

/* Once with a condition that is true, and once with one that is not. */
#define IF(inputs, a, b, rest) inputs "; in c bool[]; Not c -> n; " \
  "If n -> y {then_branch=(" a ") else_branch=(" b ")}; out y; " rest "; " \
  "If c -> w {then_branch=(" a ") else_branch=(" b ")}; out w"

static const char *const followed[] = {
    /* a loop of less than nothing has no slices */
    "in x f32[N,2]; Shape x -> d; init z i64[1]={0}; Gather d,z -> n; init k i64[1]={3}; "
    "Sub n,k -> t; init c bool[]={1}; Loop t,c -> r {body=(in i i64[]; in g bool[]; "
    "Identity g -> h; Cast i -> f {to=1}; init o i64[1]={2}; Expand f,o -> e; out h; out e)}; "
    "Concat r,x -> y {axis=0}; out y",
    "in x u8[N]; ReduceMax x -> y; ReduceMin x -> z; out y; out z",
    "in x u8[N]; ArgMax x -> y; ArgMin x -> z; out y; out z",
    "in x u8[1,1,N]; MaxPool x -> y {kernel_shape=[2] pads=[1,1]}; out y",
    "in x u32[N]; init k i64[1]={1}; TopK x,k -> y,i; out y; out i",
    "fun F a -> b (NonZero a -> b); in x f32[N,2]; in z f32[3]; init o f32[]={0}; "
    "Greater x,o -> g; Sub z,z -> d; local.F g -> y; local.F d -> w; out y; out w",
    "in x f32[N,2]; init i i64[2,1]={-1,0}; GatherND x,i -> y; out y",
    "in x f32[N,2]; init i i64[2,2]={-1,-2,0,1}; GatherND x,i -> y; out y",
    "in x f32[N,2]; init i i64[1,1]={-1}; init u f32[1,2]={7,8}; ScatterND x,i,u -> y; out y",
    "in x f32[4,N]; init i i64[1,2]={1,-1}; init u f32[1]={7}; ScatterND x,i,u -> y; out y",
    "in x f16[N]; Mul x,x -> s; ReduceMean s -> y; out y",
    "in x f32[N,1,3]; init a i64[1]={1}; Squeeze x,a -> y; out y",
    "in x f32[N,3]; init a i64[1]={0}; Squeeze x,a -> y; out y",
    "in x f32[N]; Shape x -> s; Squeeze s -> n; init z i64[]={0}; init o i64[]={1}; "
    "Range z,n,o -> y; out y",
    "in x f32[N]; init s i64[2]={2,-1}; Reshape x,s -> y; out y",
    "in x f32[N]; init s i64[1]={3}; Reshape x,s -> y; out y",
    "in x f32[N]; init s i64[2]={2,1}; Split x,s -> y,z; out y; out z",
    "in x f32[N,2]; init i i64[1]={3}; Gather x,i -> y; out y",
    "in x f32[N,2]; init i i64[1]={-3}; Gather x,i -> y; out y",
    "in x f32[1,1,N]; init w f32[1,1,4]={1,2,3,4}; Conv x,w -> y {strides=[2] pads=[3,3]}; out y",
    "in x f32[1,1,N]; AveragePool x -> y {kernel_shape=[3] pads=[1,1] strides=[2]}; out y",
    "in x f32[1,1,N]; init r f32[0]; init s f32[3]={1,1,2}; Resize x,r,s -> y "
    "{mode=\"linear\"}; out y",
    "opset 24; in x f32[1,N,8]; in m f32[N]; Attention x,x,x,m -> y "
    "{q_num_heads=2 kv_num_heads=2}; out y",
    "opset 24; in x f32[1,2,N,4]; in m f32[2,1]; Attention x,x,x,m -> y {is_causal=1}; out y",
    "opset 24; in q f32[1,2,N,4]; in k f32[1,2,3,4]; Attention q,k,k -> y,a,b,s "
    "{is_causal=1 qk_matmul_output_mode=3}; out y; out s",
    "in x f32[2,N,8]; in m i32[2,N]; com.microsoft.MultiHeadAttention x,x,x,_,m -> y "
    "{num_heads=2}; out y",
    "in x f32[1,N,8]; in p f32[1,2,2,4]; com.microsoft.MultiHeadAttention x,x,x,_,_,_,p,p -> y,k,v "
    "{num_heads=2 unidirectional=1}; out y; out k; out v",
    "in x f32[N,3,8]; in w f32[8,24]; in b f32[24]; in m i32[N]; com.microsoft.Attention x,w,b,m "
    "-> y {num_heads=2}; out y",
    "opset 24; in c f32[2,6,4]; in u f32[2,N,4]; in w i64[2]; "
    "TensorScatter c,u,w -> y {axis=1}; out y",
    "opset 24; in c f32[2,6,4]; in u f32[2,N,4]; TensorScatter c,u -> y "
    "{axis=1 mode=\"circular\"}; out y",
    "opset 24; in x f32[2,N,8]; in c f32[9,2]; in i i64[2,N]; "
    "RotaryEmbedding x,c,c,i -> y {num_heads=2}; out y",
    "in x f32[1,2,N,4]; in c f32[9,2]; in i i64[1]; com.microsoft.RotaryEmbedding x,i,c,c -> y; "
    "out y",
    IF("in x f32[N,2]", "Exp x -> a; out a", "Neg x -> a; out a", "Relu y -> z; out z"),
    IF("in x f32[N,2]; init v f32[2,2]", "Identity v -> a; out a",
       "Concat x,x -> a {axis=0}; out a", "ReduceSum y -> z; out z"),
    IF("in x f32[N,2]", "init a f32[0,2]; out a", "Softmax x -> a {axis=0}; out a",
       "Shape y -> z; out z"),
    IF("in x f32[N,2]; in d bool[]", "If d -> a {then_branch=(Exp x -> p; out p) "
       "else_branch=(Concat x,x -> q {axis=0}; out q)}; out a",
       "NonZero x -> r; Cast r -> f {to=1}; Transpose f -> a {perm=[1,0]}; out a",
       "Softmax y -> z {axis=0}; out z"),
    "in s f32[2]; in x f32[N,2]; Scan s,x -> e,y {num_scan_inputs=1 body=(in a f32[2]; "
    "in b f32[2]; Add a,b -> d; Mul a,b -> o; out d; out o)}; out e; Softmax y -> z {axis=0}; "
    "out z",
    "in s f32[N]; in x f32[N,2,N]; Scan s,x -> e,y {num_scan_inputs=1 scan_input_axes=[2] "
    "scan_input_directions=[1] scan_output_axes=[1] scan_output_directions=[1] body=(in a f32[N]; "
    "in b f32[N,2]; init k i64[1]={1}; ReduceSum b,k -> r {keepdims=0}; Sub r,a -> d; "
    "Mul b,b -> o; out d; out o)}; out e; Softmax y -> z {axis=1}; out z",
    "in x f32[N,2]; init t i64[]={3}; Loop t,_,x -> y,z {body=(in i i64[]; in c bool[]; in s "
    "f32[N,2]; "
    "Sin s -> r; Identity c -> d; Add r,x -> o; out d; out r; out o)}; out y; Softmax z -> w "
    "{axis=1}; out w",
    "in x f32[N,2]; Shape x -> d; init z i64[]={0}; Gather d,z -> t; init k bool[]={1}; init a "
    "f32[2]; "
    "Loop t,k,a -> y,r {body=(in i i64[]; in c bool[]; in s f32[2]; Gather x,i -> q; Add q,s -> v; "
    "Identity c -> e; out e; out v; out q)}; out y; Abs r -> w; out w",
    "in x f32[N,2]; init t i64[]={3}; Loop t,_,x -> y {body=(in i i64[]; in c bool[]; in s "
    "f32[N,2]; "
     "Concat s,s -> r {axis=0}; Identity c -> d; out d; out r)}; Softmax y -> z {axis=0}; out z",
    "in x f32[N,2]; Shape x -> d; init z i64[]={0}; Gather d,z -> t; init k bool[]={1}; init a "
    "f32[2]; "
    "Loop t,k,a -> y {body=(in i i64[]; in c bool[]; in s f32[2]; Gather x,i -> q; Add q,s -> v; "
    "Identity c -> e; out e; out v)}; out y",
    RESIZE("half_pixel"),
    RESIZE("asymmetric"),
    RESIZE("align_corners"),
    RESIZE("pytorch_half_pixel"),
    RESIZE("tf_half_pixel_for_nn"),
    RESIZE("half_pixel_symmetric"),
    "opset 9; in x f32[1,1,3,N]; init s f32[4]={1,1,2,1.7}; Upsample x,s -> y {mode=\"linear\"}; "
    "out y",
    SAME("UPPER", 2), SAME("LOWER", 2), SAME("UPPER", 3), SAME("LOWER", 3),
    CEIL(2), CEIL(3),
    "in x f32[N]; Floor x -> f; ArgMax f -> y {select_last_index=1}; Sub f,f -> z; "
    "ArgMin z -> w {select_last_index=1 keepdims=0}; out y; out w",
    "in x u8[N,2]; Sub x,x -> z; ArgMax z -> y {select_last_index=1}; out y",
    "in x f32[N,4]; SplitToSequence x -> s {axis=1}; init o i64[]={1}; SequenceAt s,o -> a; "
    "Concat x,x -> d {axis=0}; init n i64[1]={-1}; ReduceSum d,n -> r; SequenceInsert s,r -> t; "
    "ConcatFromSequence t -> y {axis=0}; SequenceLength t -> l; out a; Softmax y -> z {axis=0}; "
    "out z; out l",
    "in x f32[N,3]; SplitToSequence x -> s {axis=1 keepdims=0}; "
    "ConcatFromSequence s -> y {axis=0 new_axis=1}; Softmax y -> z {axis=1}; out z",
    "in x f32[N,2]; init t i64[]={3}; Loop t,_,x -> y,z {body=(in i i64[]; in c bool[]; "
    "in s f32[N,2]; Concat s,s -> r {axis=1}; Identity c -> d; Abs x -> o; out d; out r; out o)}; "
    "out y; Softmax z -> w {axis=1}; out w",
};

static void sizes_are_followed(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(followed); i++) {
    wk_status refusal;
    wk_runner *open = runner_of(followed[i], LEAST, 0, &refusal);
    must(followed[i], refusal);
    for (int64_t n = LEAST; n <= MOST; n++) compare_at(followed[i], open, n);
    wk_runner_free(open);
  }
}

static const struct { const char *text, *reason; } refused[] = {
    {"in x f32[N,1,2]; Squeeze x -> y; out y", "whether axis 0 has one element"},
    {"in x f32[N,2]; in s f32[2]; in b f32[2]; in m f32[2]; in v f32[2]; "
     "BatchNormalization x,s,b,m,v -> y {training_mode=1}; out y", "the mean of a batch"},
    {"in x f32[N]; Shape x -> s; Cast s -> b {to=9}; Cast b -> k {to=7}; ConstantOfShape k -> y; "
     "out y", "only known at run time"},
    {"in x f32[N]; Shape x -> s; init o i64[1]={1}; Sub s,o -> k; in z f32[4]; Reshape z,k -> y; "
     "out y", "which says something else"},
    {"in x f32[N,2,2]; Det x -> y; out y", "not followed through Det"},
    {"in x f32[N,2]; in t i64[]; Loop t,_,x -> y {body=(in i i64[]; in c bool[]; in s f32[N,2]; "
     "Concat s,s -> r {axis=0}; Identity c -> d; out d; out r)}; out y", "the trip count"},
    {"in x f32[N,2]; Shape x -> d; init z i64[]={0}; Gather d,z -> t; init k bool[]={1}; init a "
     "f32[2]; "
     "Loop t,k,a -> y,r {body=(in i i64[]; in c bool[]; in s f32[2]; Add s,s -> q; NonZero q -> v; "
     "Identity c -> e; out e; out q; out v)}; out y; out r", "may have another size in each"},
    {"opset 24; in x f32[1,2,3,N]; Attention x,x,x -> y; out y",
     "the size of axis 3 of x, N, is only known at run time"},
    {"opset 24; in q f32[1,2,3,4]; in k f32[1,2,N,4]; in v f32[1,2,4,4]; "
     "Attention q,k,v -> y; out y", "sizes N and 4 may differ at run time"},
    {"in x f32[N,2,8]; in p f32[1,2,3,4]; "
     "com.microsoft.MultiHeadAttention x,x,x,_,_,_,p,p -> y,a,b {num_heads=2}; out y",
     "sizes N and 1 may differ at run time"},
    {"in q f32[1,1,8]; in p f32[1,2,N,4]; in n i32[1]; in t i32[]; "
     "com.microsoft.GroupQueryAttention q,q,q,p,p,n,t -> y,a,b {num_heads=2 kv_num_heads=2}; out y",
     "the size of a past, N, is only known at run time, and total_sequence_length does not follow"},
    {"opset 24; in x f32[2,N,8]; in c f32[2,3,2]; RotaryEmbedding x,c,c -> y {num_heads=2}; out y",
     "sizes N and 3 may differ at run time"},
    {"in x f32[1,1,4,N]; init r f32[0]; init s f32[4]={1,1,1,1.5}; Resize x,r,s -> y "
     "{mode=\"cubic\"}; out y", "mode 'cubic' from N to div(3*N, 2) elements"},
    {"in x u8[1,1,4,N]; init r f32[0]; init s f32[4]={1,1,1,1.5}; Resize x,r,s -> y "
     "{mode=\"linear\"}; out y", "integers in between"},
    {"in x f32[1,1,N]; AveragePool x -> y {ceil_mode=1 strides=[2] kernel_shape=[3] "
     "count_include_pad=1 pads=[1,1]}; out y", "count_include_pad with ceil_mode"},
    {"in x f32[N,2]; SplitToSequence x -> s; ConcatFromSequence s -> y {axis=0}; out y",
     "the size of axis 0 of x, N, is only known at run time"},
};

static void others_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(refused); i++) {
    wk_status s;
    wk_runner *r = runner_of(refused[i].text, LEAST, 0, &s);
    if (r || s->code != WK_UNSUPPORTED || !strstr(s->message, refused[i].reason))
      fail_msg("%s\n%s", refused[i].text, s ? s->message : "is taken");
    wk_status_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_followed),
                                     cmocka_unit_test(others_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
