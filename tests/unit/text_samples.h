/* SPDX-License-Identifier: Apache-2.0
 * A module and a program as text that use every feature of the two text forms, written the way they
 * are printed. For test_graph.c, test_program.c and test_text.c. */
#ifndef WICK_TEST_TEXT_SAMPLES_H
#define WICK_TEST_TEXT_SAMPLES_H

static const char sample_module[] =
    "module \"sample \\\"x\\\"\" producer \"tests\" opset 17 {\n"
    "  graph @main(%x: f32[1,2,4,4]@(0,2,3,1), public %\"c/0:0\": bool[], %q: i8<0.5,-3>[4],"
    " %n: i64[3]) {\n"
    "    variable public %m: f32[1,2,2,2] trainable = splat(0.125)\n"
    "    variable %step: i64[1] = {0}\n"
    "    variable %frozen: f32[2] = {1.0, 2.0}\n"
    "    public %w = constant f32[2,2,1,1] {1.0, -2.5, 1e-07, -0.0}\n"
    "    %b = constant f32[2] {inf, -inf}\n"
    "    %s = constant f32[8,8] splat(0.5)\n"
    "    %bits = constant f32[2] hex(\"0000c0ff0000807f\")\n"
    "    %u = constant u64[2] {18446744073709551615, 0}\n"
    "    %k = constant i8<axis=0,{0.5,0.25},{0,-1}>[2,2] {-128, 127, 0, 1}\n"
    "    %e = constant f32[0,3] {}\n"
    "    %t = constant bool[] {1}\n"
    "    %conv = conv(%x, %w, -, %x) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1],"
    " epilogue=\"max(add(%0, %1), 0.0f32)\"} : f32[1,2,4,4]@(0,2,3,1) \"conv#1\"\n"
    "    %pool, - = max_pool(%conv) {kernel=[2,2], strides=[2,2], pads=[0,0,0,0],"
    " dilations=[1,1]} when %t : f32[1,2,2,2]\n"
    "    %l, public %r = split(%pool) {axis=1, sizes=[1,1]} : f32[1,1,2,2], f32[1,1,2,2]\n"
    "    -, %h, - = lstm(%z, %lw, %lr, -, -, %h0) {activations=[\"Sigmoid\",\"Tanh\",\"Tanh\"],"
    " clip=3.0} : f32[1,1,2]\n"
    "    %_12 = if(%\"c/0:0\", %l, %r) then @left else @\"right side\" : f32[1,1,2,2] \"branch\"\n"
    "    %state, %rows = loop(-, %_12) {trip=3, n_state=1, out_reverse=[1], out_axes=[0]} do @step"
    " : f32[1,1,2,2], f32[3]\n"
    "    %sum = reduce(%state) {kind=\"argmax\", axes=[2], keepdims=0, post=\"add(%0, 1i64)\"}"
    " : i64[1,1,2]\n"
    "    %cast = cast(%sum) {to=i8} : i8[1,1,2]\n"
    "    output %cast as \"result\"\n"
    "    output %rows columns numbers {\"3\", \"-1\", \"0\"}\n"
    "    output %q\n"
    "    output %rows as \"again\" columns {\"a\", \"b \\\"b\\\"\", \"\"}\n"
    "    update %m = %pool\n"
    "    update %step = %step\n"
    "  }\n"
    "  graph @left(%a: f32[1,1,2,2], %b: f32[1,1,2,2]) {\n"
    "    %y = add(%a, %b) : f32[1,1,2,2]\n"
    "    output %y\n"
    "  }\n"
    "  graph @\"right side\"(%a: f32[1,1,2,2], %b: f32[1,1,2,2]) {\n"
    "    output %b\n"
    "  }\n"
    "  graph @step(%i: i64[], %s: f32[1,1,2,2]) {\n"
    "    %one = constant f32[] {1.0}\n"
    "    %f = cast(%i) : f32[]\n"
    "    %next = add(%s, %one) : f32[1,1,2,2]\n"
    "    output %next\n"
    "    output %f\n"
    "  }\n"
    "}\n";

static const char sample_program[] =
    "program \"sample\" {\n"
    "  region const 64\n"
    "  region act 4096\n"
    "  bound 4000\n"
    "  copies 12 -> 3, bytes 4096 -> 512\n"
    "  buffer input 0 %x : f32[1,2,4,4] align 64\n"
    "  buffer input 1 %c.1 : bool[] \"c\" align 64\n"
    "  buffer output 0 %y : f32[1,3,4,4] align 64\n"
    "  buffer const %w : 16 align 64 offset 0 = splat(255)\n"
    "  buffer const %\"b/0\" : 8 align 64 = {0, 0, 128, 63, 0, 0, 0, 64}\n"
    "  buffer act %t : 128 align 64 offset 128\n"
    "  buffer state 0 public %v : f32[2] \"v:0\" align 64 offset 64 ="
    " {0, 0, 128, 63, 0, 0, 0, 64}\n"
    "  buffer state 1 %k : i64[] align 64 = splat(0)\n"
    "  buffer act %n : 8 align 8\n"
    "  buffer scratch %z : 64 align 64\n"
    "  conv(@out %y[1,2,4,4]:f32; @in %x[1,2,4,4]:f32, @in %w[2,2,1,1]:f32, @in %\"b/0\"[2]:f32,"
    " @in %y[1,2,4,4]:f32) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1],"
    " epilogue=\"add(%0, %1)\"} \"conv#1\"\n"
    "  copy(@out %y[1,1,4,4]:f32 +128 *(0,0,1,4); @in %x[1,1,4,4]:f32 +60 *(0,0,-4,-1))\n"
    "  if(; @in %c.1[]:bool) then {\n"
    "    fill(@out %t[2,4,4]:f32) {value=1.5}\n"
    "  } else {\n"
    "    map(@out %t[2,4,4]:f32; @in %x[2,4,4]:f32, @in %\"b/0\"[2,4,4]:f32 *(1,0,0))"
    " {body=\"mul(%0, %1)\"} \"scale\"\n"
    "    loop(; -, @out %n[]:i64) {trip=3} do {\n"
    "      copy(@out %t[4]:f32 step 16; @in %x[4]:f32 +16 step 32)\n"
    "    }\n"
    "  }\n"
    "  nest() do {\n"
    "    reduce(@out %z[2,16]:f32 *(0,0); @in %t[2,16]:f32) {axes=[1]}\n"
    "    map(@out %t[2,16]:f32; @in %t[2,16]:f32, @in %z[2,16]:f32 *(0,0))"
    " {body=\"div(%0, %1)\"}\n"
    "  }\n"
    "}\n";

/* The sample lacks the LSTM's operands so that it stays readable; they are added here. */
static inline char *full_sample(void) {
  static const char extra[] =
      "    %z = constant f32[2,1,3] splat(1.0)\n"
      "    %lw = constant f32[1,8,3] splat(0.25)\n"
      "    %lr = constant f32[1,8,2] splat(0.125)\n"
      "    %h0 = constant f32[1,1,2] {1.0, 2.0}\n";
  const char *at = strstr(sample_module, "    %conv = ");
  wk_str b = {0};
  wk_str_addn(&b, sample_module, (size_t)(at - sample_module));
  wk_str_add(&b, extra);
  wk_str_add(&b, at);
  return b.s;
}

#endif
