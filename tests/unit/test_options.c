/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/options.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
  const char *output, *target;
  bool profile;
  int emit;
  int64_t threads, seed, repeat;
  double rtol;
  wk_strings bind, kinds;
} values;

static const char *const emits[] = {"package", "bundle", "llvm-ir", NULL};
#define AT(field) offsetof(values, field)
static const wk_option compile_options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"output", 'o', "FILE", "write the result to FILE",
     .kind = WK_OPTION_STRING, .offset = AT(output)},
    {"emit", 0, "WHAT", "what to write",
     .kind = WK_OPTION_CHOICE, .offset = AT(emit), .choices = emits},
    {.kind = WK_OPTION_GROUP, .help = "Machine"},
    {"target", 't', "NAME", "compile for this machine; the names are those that 'wick ops' prints "
     "in its first line, and more words make this text long enough to wrap",
     .kind = WK_OPTION_STRING, .offset = AT(target)},
    {"threads", 'j', "N", "worker threads",
     .kind = WK_OPTION_INT, .offset = AT(threads), .min = 1, .max = 1024},
    {"seed", 0, "N", "seed", .kind = WK_OPTION_INT, .offset = AT(seed)},
    {"repeat", 0, "N", "runs",
     .kind = WK_OPTION_INT, .offset = AT(repeat), .min = 1, .max = INT64_MAX},
    {"rtol", 0, "R", "relative tolerance",
     .kind = WK_OPTION_DOUBLE, .offset = AT(rtol), .min = 0, .max = INT64_MAX},
    {"profile", 'p', NULL, "print a table", .kind = WK_OPTION_FLAG, .offset = AT(profile)},
    {"bind", 'b', "SYMBOL=N", "fix a dimension", .kind = WK_OPTION_LIST, .offset = AT(bind)},
    {"kind-with-a-long-name", 0, "WHAT", "kinds",
     .kind = WK_OPTION_LIST, .offset = AT(kinds), .choices = emits},
    {0}};
static const wk_command compile = {
    "compile", "MODEL.onnx", "compile a model",
    "First paragraph, in two\nlines of source.\n\nExamples:\n  wick compile m.onnx   # kept\n"
    "  .dotted \\ line\n\nLast.",
    compile_options, 1, 1};
static const wk_command run = {"run", "FILE...", "run a model", NULL, NULL, 0, -1};
static const wk_command *const commands[] = {&compile, &run, NULL};
static const wk_cli program = {"wick", "0.1", "compiles neural networks", NULL,
                                   "  0  success\n  2  usage\n", commands};

typedef struct {
  wk_status status;
  values v;
  wk_strings args;
  bool help;
} parsed;

/* Splits the line at spaces and parses it. */
static parsed parse_as(const wk_command *c, const char *line) {
  static char words[512];
  parsed p = {.v = {.emit = -1, .threads = 1}};
  char *argv[32];
  int argc = 0;
  snprintf(words, sizeof words, "%s %s", c->name, line);
  for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) argv[argc++] = w;
  argv[argc] = NULL;
  p.status = wk_options_parse(c, argc, argv, &p.v, &p.args, &p.help);
  return p;
}

static parsed parse(const char *line) { return parse_as(&compile, line); }

static void drop(parsed *p) {
  wk_status_free(p->status);
  wk_vec_free(&p->v.bind);
  wk_vec_free(&p->v.kinds);
  wk_vec_free(&p->args);
}

static void accepts_every_kind(void **state) {
  (void)state;
  parsed p = parse("m.onnx -o out --target=cpu --emit bundle -j8 --seed -5 --rtol 1e-3 -p "
                   "--bind a=1 -bb=2 --kind-with-a-long-name llvm-ir");
  assert_null(p.status);
  assert_string_equal(p.v.output, "out");
  assert_string_equal(p.v.target, "cpu");
  assert_int_equal(p.v.emit, 1);
  assert_int_equal(p.v.threads, 8);
  assert_int_equal(p.v.seed, -5);
  assert_true(p.v.rtol > 0.00099 && p.v.rtol < 0.00101);
  assert_true(p.v.profile);
  assert_int_equal(p.v.bind.n, 2);
  assert_string_equal(p.v.bind.data[0], "a=1");
  assert_string_equal(p.v.bind.data[1], "b=2");
  assert_int_equal(p.v.kinds.n, 1);
  assert_int_equal(p.args.n, 1);
  assert_string_equal(p.args.data[0], "m.onnx");
  assert_false(p.help);
  drop(&p);
}

static void keeps_defaults_and_order(void **state) {
  (void)state;
  parsed p = parse_as(&run, "b a - -- --x -y");
  assert_null(p.status);
  const char *want[] = {"b", "a", "-", "--x", "-y"};
  assert_int_equal(p.args.n, WK_COUNTOF(want));
  for (size_t i = 0; i < p.args.n; i++) assert_string_equal(p.args.data[i], want[i]);
  assert_int_equal(p.v.emit, -1);
  drop(&p);
  p = parse("m --out x"); /* unambiguous abbreviation */
  assert_null(p.status);
  assert_string_equal(p.v.output, "x");
  drop(&p);
}

static void help_stops_parsing(void **state) {
  (void)state;
  static const char *const lines[] = {"--help", "-h", "-p --help --nonsense", "m n -ph"};
  for (size_t i = 0; i < WK_COUNTOF(lines); i++) {
    parsed p = parse(lines[i]);
    assert_null(p.status);
    assert_true(p.help);
    drop(&p);
  }
}

static void refuses_with_one_line(void **state) {
  (void)state;
  static const struct {
    const char *line, *message;
  } cases[] = {
      {"--taget cpu m", "unknown option '--taget'; did you mean '--target'?"},
      {"--taget=cpu m", "unknown option '--taget'; did you mean '--target'?"},
      {"m --zebra", "unknown option '--zebra'"},
      {"m -z", "unknown option '-z'"},
      {"m -px", "unknown option '-x'"},
      {"m -seed", "unknown option '-s'; did you mean '--seed'?"},
      {"m --t", "option '--t' is ambiguous: '--target' or '--threads'"},
      {"m --emit pakage", "option '--emit': unknown value 'pakage'; did you mean 'package'?"},
      {"m --emit zebra",
       "option '--emit': unknown value 'zebra' (choose from package, bundle, llvm-ir)"},
      {"m --kind-with-a-long-name bundel",
       "option '--kind-with-a-long-name': unknown value 'bundel'; did you mean 'bundle'?"},
      {"m --seed 12x", "option '--seed': '12x' is not an integer"},
      {"m --seed=", "option '--seed': '' is not an integer"},
      {"m --seed 99999999999999999999",
       "option '--seed': '99999999999999999999' does not fit in 64 bits"},
      {"m --repeat 0", "option '--repeat': '0' is not allowed (at least 1)"},
      {"m --repeat 99999999999999999999",
       "option '--repeat': '99999999999999999999' is outside 1 to 9223372036854775807"},
      {"m -j 0", "option '--threads': '0' is outside 1 to 1024"},
      {"m --rtol 1,5", "option '--rtol': '1,5' is not a number"},
      {"m --rtol inf", "option '--rtol': 'inf' is not a number"},
      {"m --rtol -1", "option '--rtol': '-1' is not allowed (at least 0)"},
      {"m --output=", "option '--output': the name is empty: FILE"},
      {"m --output", "option '--output' needs an argument: FILE"},
      {"m -po", "option '-o' needs an argument: FILE"},
      {"m --profile=3", "option '--profile' takes no argument"},
      {"m --help=3", "option '--help' takes no argument"},
      {"-p", "missing argument: MODEL.onnx"},
      {"", "missing argument: MODEL.onnx"},
      {"a b", "unexpected argument 'b'"},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    parsed p = parse(cases[i].line);
    assert_non_null(p.status);
    assert_string_equal(p.status->message, cases[i].message);
    assert_int_equal(p.status->code, WK_USAGE);
    assert_null(p.status->notes);
    drop(&p);
  }
}

/* A number at the ends of what is allowed, and one beyond. */
typedef struct {
  int64_t whole;
  double real;
} numbers;

static void numbers_have_bounds(void **state) {
  (void)state;
  static const struct {
    wk_option_kind kind;
    int64_t min, max;
    const char *text, *message; /* NULL: taken */
  } cases[] = {
      {WK_OPTION_INT, 1, 1024, "1", NULL},
      {WK_OPTION_INT, 1, 1024, "1024", NULL},
      {WK_OPTION_INT, 1, 1024, "0", "option '--n': '0' is outside 1 to 1024"},
      {WK_OPTION_INT, 1, 1024, "1025", "option '--n': '1025' is outside 1 to 1024"},
      {WK_OPTION_INT, -5, 0, "-5", NULL},
      {WK_OPTION_INT, -5, 0, "0", NULL},
      {WK_OPTION_INT, -5, 0, "-6", "option '--n': '-6' is outside -5 to 0"},
      {WK_OPTION_INT, -5, 0, "1", "option '--n': '1' is outside -5 to 0"},
      {WK_OPTION_INT, 0, 9, "+9", NULL},
      {WK_OPTION_INT, 0, 9, "9 ", "option '--n': '9 ' is not an integer"},
      {WK_OPTION_INT, 0, 9, "9.0", "option '--n': '9.0' is not an integer"},
      {WK_OPTION_INT, 0, 9, "0x1", "option '--n': '0x1' is not an integer"},
      {WK_OPTION_INT, 2, INT64_MAX, "2", NULL},
      {WK_OPTION_INT, 2, INT64_MAX, "1", "option '--n': '1' is not allowed (at least 2)"},
      {WK_OPTION_INT, 2, INT64_MAX, "9223372036854775807", NULL},
      {WK_OPTION_INT, 2, INT64_MAX, "9223372036854775808",
       "option '--n': '9223372036854775808' is outside 2 to 9223372036854775807"},
      {WK_OPTION_INT, 2, INT64_MAX, "-9223372036854775809",
       "option '--n': '-9223372036854775809' is not allowed (at least 2)"},
      {WK_OPTION_INT, 0, 0, "-9223372036854775808", NULL},
      {WK_OPTION_INT, 0, 0, "-9223372036854775809",
       "option '--n': '-9223372036854775809' does not fit in 64 bits"},
      {WK_OPTION_DOUBLE, 0, 0, "-1e300", NULL},
      {WK_OPTION_DOUBLE, 0, 0, "1e400", "option '--n': '1e400' is not a number"},
      {WK_OPTION_DOUBLE, 0, 0, "nan", "option '--n': 'nan' is not a number"},
      {WK_OPTION_DOUBLE, 0, 0, "", "option '--n': '' is not a number"},
      {WK_OPTION_DOUBLE, 0, 100, "0", NULL},
      {WK_OPTION_DOUBLE, 0, 100, "100", NULL},
      {WK_OPTION_DOUBLE, 0, 100, "-1e-9", "option '--n': '-1e-9' is not allowed (at least 0)"},
      {WK_OPTION_DOUBLE, 0, 100, "100.001",
       "option '--n': '100.001' is not allowed (at most 100)"},
      {WK_OPTION_DOUBLE, -3, 0, "-3", NULL},
      {WK_OPTION_DOUBLE, -3, 0, "-3.5", "option '--n': '-3.5' is not allowed (at least -3)"},
      {WK_OPTION_DOUBLE, -3, 0, "0.5", "option '--n': '0.5' is not allowed (at most 0)"},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    bool is_int = cases[i].kind == WK_OPTION_INT, help;
    const wk_option options[] = {
        {"n", 'n', "N", "a number", .kind = cases[i].kind,
         .offset = is_int ? offsetof(numbers, whole) : offsetof(numbers, real),
         .min = cases[i].min, .max = cases[i].max},
        {0}};
    const wk_command c = {"do", "", "does it", NULL, options, 0, 0};
    numbers v = {-77, -77};
    wk_strings args = {0};
    char *argv[] = {"do", "-n", (char *)cases[i].text, NULL};
    wk_status s = wk_options_parse(&c, 3, argv, &v, &args, &help);
    const char *want = cases[i].message, *got = s ? s->message : NULL;
    if (!want != !got || (want && strcmp(want, got)))
      fail_msg("%zu: '%s': %s", i, cases[i].text, got ? got : "is taken");
    if (got) {
      assert_true(v.whole == -77 && v.real == -77);
    } else {
      assert_true(v.whole == (is_int ? strtoll(cases[i].text, NULL, 10) : -77));
      assert_true(v.real == (is_int ? -77 : strtod(cases[i].text, NULL)));
    }
    wk_status_free(s);
    wk_vec_free(&args);
  }
}

static void finds_commands(void **state) {
  (void)state;
  const wk_command *c;
  assert_null(wk_cli_find(&program, "run", &c));
  assert_ptr_equal(c, &run);
  wk_status s = wk_cli_find(&program, "complie", &c);
  assert_non_null(s);
  assert_string_equal(s->message, "unknown command 'complie'; did you mean 'compile'?");
  assert_null(c);
  wk_status_free(s);
}

static char *text_of(void (*print)(FILE *, const wk_cli *, const wk_command *),
                     const wk_command *c) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  print(f, &program, c);
  fclose(f);
  return text;
}

static void program_help(FILE *f, const wk_cli *p, const wk_command *c) {
  (void)c;
  wk_cli_help(f, p);
}

static void program_man(FILE *f, const wk_cli *p, const wk_command *c) {
  (void)c;
  wk_cli_man(f, p);
}

static void bash(FILE *f, const wk_cli *p, const wk_command *c) {
  (void)c;
  wk_options_bash(f, p);
}

static void prints_help(void **state) {
  (void)state;
  char *text = text_of(wk_options_help, &compile);
  assert_string_equal(
      text,
      "Usage: wick compile [OPTION]... MODEL.onnx\n"
      "\n"
      "Compile a model.\n"
      "\n"
      "First paragraph, in two lines of source.\n"
      "\n"
      "Examples:\n"
      "  wick compile m.onnx   # kept\n"
      "  .dotted \\ line\n"
      "\n"
      "Last.\n"
      "\n"
      "Output:\n"
      "  -o, --output=FILE    write the result to FILE\n"
      "      --emit=WHAT      what to write: package, bundle, llvm-ir\n"
      "\n"
      "Machine:\n"
      "  -t, --target=NAME    compile for this machine; the names are those that 'wick\n"
      "                       ops' prints in its first line, and more words make this\n"
      "                       text long enough to wrap\n"
      "  -j, --threads=N      worker threads\n"
      "      --seed=N         seed\n"
      "      --repeat=N       runs\n"
      "      --rtol=R         relative tolerance\n"
      "  -p, --profile        print a table\n"
      "  -b, --bind=SYMBOL=N  fix a dimension (may be repeated)\n"
      "      --kind-with-a-long-name=WHAT\n"
      "                       kinds: package, bundle, llvm-ir (may be repeated)\n"
      "  -h, --help           show this text\n");
  free(text);
  text = text_of(wk_options_help, &run);
  assert_string_equal(text, "Usage: wick run [OPTION]... FILE...\n\nRun a model.\n\nOptions:\n"
                            "  -h, --help  show this text\n");
  free(text);
  text = text_of(program_help, NULL);
  assert_string_equal(text,
                      "Usage: wick COMMAND [OPTION]... [ARGUMENT]...\n\n"
                      "wick: compiles neural networks.\n\n"
                      "Commands:\n  compile  compile a model\n  run      run a model\n\n"
                      "'wick COMMAND --help' shows a command's options.\n\n"
                      "Exit status:\n  0  success\n  2  usage\n");
  free(text);
}

static void prints_man_pages(void **state) {
  (void)state;
  char *text = text_of(wk_options_man, &compile);
  assert_string_equal(
      text,
      ".TH WICK\\-COMPILE 1 \"\" \"wick 0.1\" \"User Commands\"\n"
      ".SH NAME\nwick\\-compile \\- compile a model\n"
      ".SH SYNOPSIS\n.B wick compile\n[\\fIOPTION\\fR]...\nMODEL.onnx\n"
      ".SH DESCRIPTION\n"
      "First paragraph, in two\nlines of source.\n.PP\nExamples:\n"
      ".PP\n.nf\n  wick compile m.onnx   # kept\n  .dotted \\e line\n.fi\n.PP\nLast.\n"
      ".SH OPTIONS\n"
      ".SS Output\n"
      ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fIFILE\\fR\nwrite the result to FILE\n"
      ".TP\n\\fB\\-\\-emit\\fR=\\fIWHAT\\fR\nwhat to write: package, bundle, llvm\\-ir\n"
      ".SS Machine\n"
      ".TP\n\\fB\\-t\\fR, \\fB\\-\\-target\\fR=\\fINAME\\fR\n"
      "compile for this machine; the names are those that 'wick ops' prints in its first line, and "
      "more words make this text long enough to wrap\n"
      ".TP\n\\fB\\-j\\fR, \\fB\\-\\-threads\\fR=\\fIN\\fR\nworker threads\n"
      ".TP\n\\fB\\-\\-seed\\fR=\\fIN\\fR\nseed\n"
      ".TP\n\\fB\\-\\-repeat\\fR=\\fIN\\fR\nruns\n"
      ".TP\n\\fB\\-\\-rtol\\fR=\\fIR\\fR\nrelative tolerance\n"
      ".TP\n\\fB\\-p\\fR, \\fB\\-\\-profile\\fR\nprint a table\n"
      ".TP\n\\fB\\-b\\fR, \\fB\\-\\-bind\\fR=\\fISYMBOL=N\\fR\n"
      "fix a dimension (may be repeated)\n"
      ".TP\n\\fB\\-\\-kind\\-with\\-a\\-long\\-name\\fR=\\fIWHAT\\fR\n"
      "kinds: package, bundle, llvm\\-ir (may be repeated)\n"
      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow this text\n"
      ".SH EXIT STATUS\n.PP\n.nf\n  0  success\n  2  usage\n.fi\n"
      ".SH SEE ALSO\n.BR wick (1)\n");
  free(text);
  text = text_of(program_man, NULL);
  assert_string_equal(text,
                      ".TH WICK 1 \"\" \"wick 0.1\" \"User Commands\"\n"
                      ".SH NAME\nwick \\- compiles neural networks\n"
                      ".SH SYNOPSIS\n.B wick\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... "
                      "[\\fIARGUMENT\\fR]...\n"
                      ".SH COMMANDS\n"
                      ".TP\n.BR wick\\-compile (1)\ncompile a model\n"
                      ".TP\n.BR wick\\-run (1)\nrun a model\n"
                      ".SH EXIT STATUS\n.PP\n.nf\n  0  success\n  2  usage\n.fi\n");
  free(text);
}

/* Paragraphs, blocks and what troff would take for requests; help of the same text. */
static void lays_out_descriptions(void **state) {
  (void)state;
  static const struct {
    const char *text, *man, *help;
  } cases[] = {
      {"One.", "One.\n", "One.\n"},
      {"One\ntwo.\n\nThree.\n", "One\ntwo.\n.PP\nThree.\n", "One two.\n\nThree.\n"},
      {"One.\n\n  block\n  of two\n\nThree.", /* no .PP of its own in front of a block */
       "One.\n.PP\n.nf\n  block\n  of two\n.fi\n.PP\nThree.\n",
       "One.\n\n  block\n  of two\n\nThree.\n"},
      {"One.\n  block\nThree.", "One.\n.PP\n.nf\n  block\n.fi\n.PP\nThree.\n",
       "One.\n  block\nThree.\n"},
      {"  block\n", ".PP\n.nf\n  block\n.fi\n", "  block\n"},
      {".dot\n'tick\na-b\\c.", "\\&.dot\n\\&'tick\na\\-b\\ec.\n", ".dot 'tick a-b\\c.\n"},
      {"twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes and so on",
       "twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes and so on\n",
       "twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes\n"
       "and so on\n"},
      {"twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes 12 more",
       "twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes 12 more\n",
       "twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes 12\n"
       "more\n"}, /* 80 columns are full */
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const wk_command c = {"do", "", "does it", cases[i].text, NULL, 0, 0};
    char *text = text_of(wk_options_man, &c), want[600];
    snprintf(want, sizeof want, "...\n\n.SH DESCRIPTION\n%s.SH OPTIONS\n", cases[i].man);
    if (!strstr(text, want)) fail_msg("%zu: %s", i, text);
    free(text);
    text = text_of(wk_options_help, &c);
    snprintf(want, sizeof want, "Does it.\n\n%s\nOptions:\n", cases[i].help);
    if (!strstr(text, want)) fail_msg("%zu: %s", i, text);
    free(text);
  }
}

/* The program's own description, in its help and its manual page, where it has one. */
static void programs_have_descriptions(void **state) {
  (void)state;
  wk_cli described = program;
  described.description = "One\nparagraph.\n\nAnother - last.";
  char *text[2];
  for (int man = 0; man < 2; man++) {
    size_t size;
    FILE *f = open_memstream(&text[man], &size);
    (man ? wk_cli_man : wk_cli_help)(f, &described);
    fclose(f);
  }
  assert_non_null(strstr(text[0], "wick: compiles neural networks.\n\nOne paragraph.\n\n"
                                  "Another - last.\n\nCommands:\n"));
  assert_non_null(strstr(text[1], "\\fR]...\n.SH DESCRIPTION\nOne\nparagraph.\n.PP\n"
                                  "Another \\- last.\n.SH COMMANDS\n"));
  free(text[0]), free(text[1]);
}

/* What bash would offer when the cursor is at the end of the words. */
static char *complete(const char *script, const char *words) {
  char path[] = "/tmp/wick-options-XXXXXX", line[600];
  int fd = mkstemp(path);
  FILE *f = fdopen(fd, "w");
  fprintf(f, "%s\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_wick\n", script, words);
  fputs("echo \"${COMPREPLY[*]}\"\n", f);
  fclose(f);
  snprintf(line, sizeof line, "bash %s", path);
  FILE *pipe = popen(line, "r");
  char *answer = calloc(1, 4096);
  size_t n = fread(answer, 1, 4095, pipe);
  if (n) answer[n - 1] = 0; /* the newline */
  int rc = pclose(pipe);
  unlink(path);
  assert_int_equal(rc, 0);
  return answer;
}

static void completes_in_bash(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"wick ''", "compile run --help --version"},
      {"wick co", "compile"},
      {"wick compile --t", "--target --threads"},
      {"wick compile --emit ''", "package bundle llvm-ir"},
      {"wick compile --emit = b", "bundle"},
      {"wick compile --emit =", "package bundle llvm-ir"},
      {"wick compile --seed ''", ""},
      {"wick compile -o /etc/passw", "/etc/passwd"},
      {"wick run -", "--help"},
      {"wick run /etc/passw", "/etc/passwd"},
  };
  char *script = text_of(bash, NULL);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char *answer = complete(script, cases[i][0]);
    if (strncmp(answer, cases[i][1], strlen(cases[i][1])) != 0 ||
        (!*cases[i][1] && *answer) || strchr(answer, '\n'))
      fail_msg("'%s' completes to '%s'", cases[i][0], answer);
    free(answer);
  }
  free(script);
}

/* ---- rows from elsewhere --------------------------------------------------------------------- */

typedef struct {
  wk_option_pairs list, other;
  wk_strings files;
} named;

static bool colour_row(size_t i, wk_option *out) {
  static const char *const names[] = {"red", "green", "blue"}, *const args[] = {"N", "[N]", "FILE"};
  if (i == WK_COUNTOF(names)) return false;
  out->name = names[i];
  out->arg = args[i];
  out->help = "how much of it";
  return true;
}

static bool hidden_row(size_t i, wk_option *out) {
  if (i) return false;
  out->name = "ultraviolet";
  out->arg = "N";
  out->help = "cannot be seen";
  return true;
}

static const wk_option named_options[] = {
    {.kind = WK_OPTION_ROWS, .offset = offsetof(named, list), .rows = colour_row},
    {"red", 0, "SHADE", "its own", .kind = WK_OPTION_PAIR, .offset = offsetof(named, list)},
    {.kind = WK_OPTION_ROWS, .offset = offsetof(named, other), .rows = hidden_row,
     .is_unlisted = true},
    {"file", 'f', "FILE", "files", .kind = WK_OPTION_LIST, .offset = offsetof(named, files)},
    {0}};
static const wk_command paint = {"paint", "", "paints", NULL, named_options, 0, 1};

/* What the words are parsed to: "red=1 …; ultraviolet=…", or what is said of them. */
static void paint_is(const char *want, int argc, char *const *argv) {
  named v = {0};
  wk_strings args = {0};
  wk_str b = {0};
  bool help;
  wk_status s = wk_options_parse(&paint, argc, argv, &v, &args, &help);
  for (size_t i = 0; i < v.list.n; i++)
    wk_str_printf(&b, "%s=%s ", v.list.data[i].name, v.list.data[i].value);
  for (size_t i = 0; i < v.other.n; i++)
    wk_str_printf(&b, "; %s=%s", v.other.data[i].name, v.other.data[i].value);
  assert_string_equal(s ? s->message : b.n ? b.s : "", want);
  wk_status_free(s);
  wk_str_free(&b);
  wk_vec_free(&args);
  wk_options_free(&paint, &v);
  assert_null(v.list.data);
}
#define PAINT_IS(want, ...)                                                            \
  paint_is(want, (int)(sizeof((char *[]){"paint", __VA_ARGS__}) / sizeof(char *)),     \
           (char *[]){"paint", __VA_ARGS__, NULL})

static void rows_from_elsewhere(void **state) {
  (void)state;
  PAINT_IS("green=2 red=1 ", "--green=2", "--red", "1");
  PAINT_IS("green= blue=x ", "--green", "--blue", "x");
  PAINT_IS("red=3 green=2 ", "--red=1", "--green=2", "--re=3");
  PAINT_IS("; ultraviolet=9", "--ultraviolet", "9");
  PAINT_IS("option '--blue': the name is empty: FILE", "--blue=");
  PAINT_IS("option '--red' needs an argument: SHADE", "--red");
  PAINT_IS("unknown option '--blu_'; did you mean '--blue'?", "--blu_=1");
  wk_option *all = wk_option_rows(named_options, true);
  static const char *const names[] = {"green", "blue", "red", "ultraviolet", "file"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++) assert_string_equal(all[i].name, names[i]);
  assert_null(all[WK_COUNTOF(names)].name);
  free(all);
  assert_true(wk_option_has(named_options, "red"));
  assert_false(wk_option_has(named_options, "green"));
  assert_false(wk_option_has(NULL, "green"));
}

static void unlisted_rows_are_in_no_text(void **state) {
  (void)state;
  wk_option *listed = wk_option_rows(named_options, false);
  static const char *const names[] = {"green", "blue", "red", "file"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++) assert_string_equal(listed[i].name, names[i]);
  assert_null(listed[WK_COUNTOF(names)].name);
  free(listed);
}

/* Whatever stands around it, and unknown options have no argument. */
static void options_that_are_found_first(void **state) {
  (void)state;
  char *argv[] = {"paint", "--unknown", "x", "-f", "a", "--fil=b", "-z", "--red=1", "--",
                  "--file=c", NULL};
  wk_strings files = {0};
  wk_options_find(&paint, 10, argv, "file", &files);
  assert_int_equal(files.n, 2);
  assert_string_equal(files.data[0], "a");
  assert_string_equal(files.data[1], "b");
  wk_vec_free(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_every_kind),   cmocka_unit_test(keeps_defaults_and_order),
      cmocka_unit_test(help_stops_parsing),   cmocka_unit_test(refuses_with_one_line),
      cmocka_unit_test(finds_commands),       cmocka_unit_test(prints_help),
      cmocka_unit_test(prints_man_pages),     cmocka_unit_test(completes_in_bash),
      cmocka_unit_test(lays_out_descriptions), cmocka_unit_test(numbers_have_bounds),
      cmocka_unit_test(programs_have_descriptions), cmocka_unit_test(rows_from_elsewhere),
      cmocka_unit_test(unlisted_rows_are_in_no_text),
      cmocka_unit_test(options_that_are_found_first),
  };
  return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
