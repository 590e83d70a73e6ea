/* SPDX-License-Identifier: Apache-2.0
 * What each command says of options that go with nothing, or not with one another; before it does
 * anything. `rows` prints the table anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/command_output.h"
#include "tests/unit/printed_lines.h"

static const wk_cmd *const cmds[] = {
#define WK_COMMAND_X(name) &wk_cmd_##name,
    WK_COMMANDS(WK_COMMAND_X)
#undef WK_COMMAND_X
};

static const char *const expected[] = {
#include "tests/unit/refused_options.def"
};

/* net.onnxtxt is a model, s.s a stream, p.wick the beginning of a package, x.npy a file. */
static const char *const lines[] = {
    /* bindings */
    "compile none.onnx --bind n", "compile none.onnx --bind =1", "compile none.onnx --bind n=",
    "compile none.onnx --bind n=1x", "compile none.onnx --bind n=1x",
    "compile none.onnx --bind n=-1", "compile none.onnx --bind n=1,m=2,n=2",
    "compile none.onnx --bind n=9223372036854775808",
    "compile none.onnx --bind n=9223372036854775807", "compile none.onnx --bind n=1,",
    "compile none.onnx --bind ,n=1", "compile none.onnx --bind a,b=1",
    "compile none.onnx --bind n=0", "compile none.onnx --bind n=010",
    "compile none.onnx --shape x", "compile none.onnx --shape =1", "compile none.onnx --shape x=",
    "compile none.onnx --shape x=1x", "compile none.onnx --shape x=1,2x3",
    "compile none.onnx --shape x=1x2x3x4x5x6x7x8", "compile none.onnx --shape x=1x2x3x4x5x6x7x8x9",
    "compile none.onnx --shape x=-1", "compile none.onnx --shape x=1xn",
    "compile none.onnx --shape a=b=2", "compile none.onnx --length x",
    "compile none.onnx --length =1", "compile none.onnx --length x=",
    "compile none.onnx --length x=none", "compile none.onnx --length x=-1",
    "compile none.onnx --length x=0 --length y=1 --length x=none", "compile none.onnx --value x",
    "compile none.onnx --value =x.npy", "compile none.onnx --value x=",
    "compile none.onnx --value x=none.npy", "compile none.onnx --value x=net.onnxtxt",
    "compile none.onnx --value x=p.wick", "compile none.onnx --value x=x.npy",
    "compile none.onnx --bind n=1 --bind n=2 --shape x=1 --shape x=2 --shape x=3",
    "compile none.onnx --bind n=1 --bind n=2 --bind n=3 --shape x=1 --shape x=2",
    "compile none.onnx --shape xx=1 --shape xx=2 --shape x=1 --shape x=2 --shape x=3",
    "compile none.onnx --bind n=1 --bind n=2 --shape x=1 --shape y=2 --shape y=4",
    "compile none.onnx --bind n=1 --bind n=1x", "compile none.onnx --shape y=1 --shape y=x",
    /* files of a model */
    "compile ext.onnxtxt -o w.bin", "grad ext.onnxtxt --emit dot -o w.bin",
    "quantize ext.onnxtxt --random 1 -o w.bin",
    "train ext.onnxtxt --data x.npy --loss y -o t.onnx --history w.bin",
    "run ext.onnxtxt --input x=none.npy", "run ext.onnxtxt --input q=x.npy",
    "run ext.onnxtxt --input none.npy", "run ext.onnxtxt --input x=ext.onnxtxt",
    "run ext.onnxtxt --input x=p.wick", "run ext.onnxtxt --input x=w.bin",
    "run p.wick --target cpu", "run p.wick", "inspect p.wick",
    /* each command's own */
    "asm none.s", "asm s.s --machine none", "asm s.s -o s.s", "asm s.s --machine m.cfg -o m.cfg",
    "check none.s", "check s.s --machine none", "check s.s --part 0",
    "disasm s.s -o s.s", "disasm s.s --part 0",
    "compare p.wick", "compare none.onnx",
    "compare net.onnxtxt --package p.wick --passes",
    "compare net.onnxtxt --package p.wick --target cpu",
    "compare net.onnxtxt --package p.wick --cpu avx2",
    "compare net.onnxtxt --package p.wick --no-host",
    "compare net.onnxtxt --package p.wick --prefetch auto",
    "compare net.onnxtxt --package p.wick --effort 0",
    "compile net.onnxtxt --memory-budget much", "compile net.onnxtxt --convert f32",
    "compile net.onnxtxt --convert i4:33", "compile net.onnxtxt --print-after none",
    "compile net.onnxtxt --print-after foldd", "compile net.onnxtxt --stop-after none",
    "compile net.onnxtxt --emit none-at-all", "compile net.onnxtxt --emit packag",
    "compile net.onnxtxt --emit package --stop-after simplify",
    "compile net.onnxtxt --emit asm --stop-after simplify",
    "compile net.onnxtxt --emit program --stop-after simplify",
    "compile net.onnxtxt --emit program --bind n=1 --stop-after admit",
    "compile net.onnxtxt --emit program --bind n=1 --stop-after lower",
    "compile net.onnxtxt --emit graph --bind n=1 --bind n=2",
    "compile net.onnxtxt --emit dot --shape x=1 --shape x=2",
    "devices --device none", "devices --device cpux", "devices --device accel:none",
    "diff x.npy none.json",
    "isa --machine none", "inspect none", "inspect x.npy",
    "ops --model net.onnxtxt --markdown", "ops --model net.onnxtxt --onnx",
    "ops --model net.onnxtxt --caffe2", "ops --model net.onnxtxt --ir",
    "ops --model net.onnxtxt --passes", "ops --model net.onnxtxt --gradients",
    "ops --json", "ops -v", "ops --parts", "ops --target cpu", "ops --bind n=1",
    "ops --shape x=1", "ops --length x=1", "ops --value x=x.npy", "ops --strict-opset",
    "ops --init-net x.npy", "ops --value-info x.npy",
    "ops --model net.onnxtxt --bind n=1 --bind n=2",
    "plan none.csv", "plan x.npy -o x.npy",
    "quantize net.onnxtxt", "quantize net.onnxtxt -o q.onnx",
    "quantize net.onnxtxt -o q.onnx --random 1 --percentile 49.9",
    "quantize net.onnxtxt -o q.onnx --random 1 --percentile 100.1",
    "quantize none.onnx -o q.onnx --random 0",
    "quantize none.onnx -o q.onnx --random 1 --percentile 50",
    "quantize none.onnx -o q.onnx --random 1 --percentile 100",
    "sweep net.onnxtxt", "sweep net.onnxtxt -o d", "sweep none.onnx --set array=4 -o d",
    "sweep net.onnxtxt --set array=4 --what-if --model rtl -o d",
    "sweep net.onnxtxt --prefetch auto --what-if --model schedule -o d",
    "sweep net.onnxtxt --effort 0 --what-if --model schedule -o d",
    "sweep net.onnxtxt --without none --what-if --model schedule -o d",
    "test none", "test . --filter none", "test . --target eval --random-weights 0",
    "test . --target eval --random-weights 1", "test . --target none",
    "train net.onnxtxt", "train net.onnxtxt -o t.onnx", "train net.onnxtxt -o t.onnx --data x.npy",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --epochs 1 --steps 1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --memory-budget much",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --resume",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --checkpoint-every 1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --validate 1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --validate -0.1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --validate 0.99",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --lr -0.1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --weight-decay -0.1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --clip-norm -0.1",
    "train none.onnx -o t.onnx --data x.npy --loss mse --lr 0 --weight-decay 0 --clip-norm 0",
    "train none.onnx -o t.onnx --data x.npy --loss mse --validate 0",
    "train net.onnxtxt -o - --data x.npy --loss mse --history -",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --history - --plot -",
    "train net.onnxtxt -o t.onnx --data x.npy --loss none",
    "train net.onnxtxt -o t.onnx --data x.npy --loss msee",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --of y",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --of none",
    "train net.onnxtxt -o t.onnx --data x.npy --loss mse --of z",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --labels x.npy",
    "train net.onnxtxt -o x.npy --data x.npy --loss y",
    "train net.onnxtxt -o net.onnxtxt --data x.npy --loss y",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --history t.onnx",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 3",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 1 --accumulate 3",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 2 --validate 0.5",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 2 --accumulate 2 --validate 0.5",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 1 --validate 0.1",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 1 --epochs 9223372036854775807",
    "train net.onnxtxt -o t.onnx --data x.npy --loss y --batch 1 --accumulate 9223372036854775807",
    "zoo none-at-all", "zoo resnet51", "zoo mlpp",
    /* sim: what the model that is chosen makes no use of */
    "sim", "sim --model timing", "sim --model functional", "sim --build s.s",
    "sim s.s --model timing --prefetch auto", "sim s.s --model timing --with-modes",
    "sim s.s --model timing --effort 0", "sim s.s --model timing --quantize-random 1",
    "sim s.s --model timing --bind n=1", "sim p.wick --model timing --effort 0",
    "sim s.s --model timing --input x.npy", "sim s.s --model timing --random 1",
    "sim s.s --model timing --entry 0", "sim s.s --model timing --part 0",
    "sim s.s --model timing --csv a.csv", "sim s.s --model timing --machine none",
    "sim s.s --model timing --json s.s", "sim s.s --model timing --html s.s",
    "sim s.s --model timing --trace s.s", "sim s.s --model timing --csv s.s",
    "sim s.s --model timing --dump x=s.s", "sim s.s --model timing --json a --html a",
    "sim m.cfg --model timing --machine m.cfg --json m.cfg",
    "sim none.s --model timing", "sim --seed 1", "sim --stalls --seed 1",
    "sim --random-reset --seed 1", "sim --tune now --fst a", "sim --tune now --coverage a",
    "sim --tune never --fst a", "sim --tune now",
    "sim s.s --model functional --dram latency=1", "sim s.s --model functional --dram bytes=2",
    "sim s.s --model functional --dram size=65536,dram_latency=1",
    "sim s.s --model functional --dram dram_size=65536,error=1",
    "sim s.s --model timing --dram error=1", "sim s.s --model timing --dram sizes=1",
};

static const char *const sim_options[] = {
    "--build", "--rtl=a", "--rebuild", "--tune=now", "--fst=a", "--coverage=a", "--dram=latency=1",
    "--max-cycles=1", "--timeout=1", "--seed=1", "--stalls", "--random-reset", "--unchecked",
    "--unverified", "--causes", "--commands", "--dump=a=b", "--json=a", "--csv=a", "--with-modes",
    "--html=a", "--trace=a"};

static void put_files(void) {
  put_file("net.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_param: \"n\" } "
           "dim { dim_value: 2 } } } } }\n"
           "initializer { name: \"w\" dims: 2 data_type: 1 float_data: [1, 2] }\n"
           "node { op_type: \"Mul\" input: \"x\" input: \"w\" output: \"y\" }\n"
           "node { op_type: \"Neg\" input: \"y\" output: \"z\" }\n"
           "output { name: \"y\" type { tensor_type { elem_type: 1 } } }\n"
           "output { name: \"z\" type { tensor_type { elem_type: 1 } } } }\n");
  put_file("w.bin", "12345678");
  put_file("ext.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } "
           "dim { dim_value: 2 } } } } }\n"
           "initializer { name: \"w\" dims: 2 data_type: 1 data_location: EXTERNAL "
           "external_data { key: \"location\" value: \"w.bin\" } }\n"
           "node { op_type: \"Mul\" input: \"x\" input: \"w\" output: \"y\" }\n"
           "output { name: \"y\" type { tensor_type { elem_type: 1 } } } }\n");
  put_file("s.s", ".machine tiny\n.memory x 0x1000 64\n.random x 1\n"
           "ld.ld0 dram=x n0=64 spm=0 c0=64\nend\n");
  assert_null(wk_write_file("p.wick", "WICKPKG", 8));
  put_file("m.cfg", "array = 8;\n");
  put_npy("x.npy", 2, 2, (const float[4]){0});
}

/* "COMMAND LINE | PLACE: what it says (its code)" */
static void add_line(wk_str *b, const char *line) {
  char copy[256], *words[16] = {0}, *save = NULL;
  size_t n = 0;
  snprintf(copy, sizeof copy, "%s", line);
  for (char *at = strtok_r(copy, " ", &save); at; at = strtok_r(NULL, " ", &save)) words[n++] = at;
  const wk_cmd *c = NULL;
  for (size_t i = 0; i < WK_COUNTOF(cmds); i++)
    if (!strcmp(cmds[i]->command.name, words[0])) c = cmds[i];
  assert_non_null(c);
  wk_str out = {0};
  wk_status s = run_words(c, words, &out);
  wk_str_printf(b, "%s | ", line);
  if (s && s->place) wk_str_printf(b, "%s: ", s->place);
  if (s) wk_str_printf(b, "%s (%d)", s->message, (int)s->code);
  wk_str_printf(b, "%s\n", out.n ? "; prints" : s ? "" : "done");
  wk_status_free(s);
  wk_str_free(&out);
}

static wk_str all_lines(void) {
  static const char *const models[] = {"timing", "functional", "rtl s.s --build"};
  wk_str b = {0};
  char line[128];
  put_files();
  for (size_t i = 0; i < WK_COUNTOF(lines); i++) add_line(&b, lines[i]);
  for (size_t m = 0; m < WK_COUNTOF(models); m++)
    for (size_t i = 0; i < WK_COUNTOF(sim_options); i++) {
      snprintf(line, sizeof line, "sim --model %s %s", models[m], sim_options[i]);
      add_line(&b, line);
    }
  return b;
}

/* As many sets as there is room for, and one more. */
static void many_bindings(void **state) {
  (void)state;
  for (int n = 64; n <= 65; n++) {
    char *words[70] = {(char *)"compile", (char *)"none.onnx"};
    for (int i = 0; i < n; i++) words[2 + i] = (char *)"--bind=n=1";
    if (n > 64) expect_refused(&wk_cmd_compile, words, WK_USAGE, NULL, "more than 64 bindings");
    else expect_refused(&wk_cmd_compile, words, WK_IO, "none.onnx",
                        "cannot open: No such file or directory");
  }
}

static void options_that_do_not_go_together(void **state) {
  (void)state;
  wk_str b = all_lines();
  expect_lines(&b, expected, WK_COUNTOF(expected));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(options_that_do_not_go_together),
                                     cmocka_unit_test(many_bindings)};
  if (argc > 1 && !strcmp(argv[1], "rows")) {
    enter_folder(NULL);
    wk_str b = all_lines();
    leave_folder(NULL);
    return print_lines(&b, "the commands say of options");
  }
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
