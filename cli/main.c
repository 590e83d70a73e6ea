/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "compiler/pipeline/plugin.h"
#include "sim/device.h"

static const wk_cmd cmd_help, cmd_completion, cmd_man;

static const wk_cmd *const cmds[] = {
#define WK_COMMAND_X(name) &wk_cmd_##name,
    WK_COMMANDS(WK_COMMAND_X)
#undef WK_COMMAND_X
        &cmd_help, &cmd_completion, &cmd_man};

static const wk_command *const commands[] = {
#define WK_COMMAND_X(name) &wk_cmd_##name.command,
    WK_COMMANDS(WK_COMMAND_X)
#undef WK_COMMAND_X
        &cmd_help.command, &cmd_completion.command, &cmd_man.command, NULL};

static const wk_cli cli = {
    .name = "wick", .version = WICK_VERSION,
    .summary = "compile neural networks ahead of time",
    .description =
        "Reads ONNX models, optimises them and writes native code: a package that the runtime "
        "loads, or an object file that links into a C program. Results go to standard output, "
        "messages to standard error; a terminal also shows progress, unless NO_COLOR is set or "
        "TERM is dumb.\n"
        "\n"
        "  wick zoo resnet50 -o resnet50.onnx\n"
        "  wick compile resnet50.onnx\n"
        "  wick run resnet50.wick --threads 2 --repeat 10",
    .exit_status = "  0  success\n"
                   "  1  the work ran and the answer is no: a test failed, results differ\n"
                   "  2  wrong usage: unknown option, missing argument, unbound dimension,\n"
                   "     an option that does not fit the model\n"
                   "  3  malformed or inconsistent input file\n"
                   "  4  well-formed input that this version does not handle\n"
                   "  5  a file cannot be opened, read or written\n"
                   "  6  a limit (memory, nodes, depth) is exceeded\n"
                   "  7  a bug: the compiler refused its own work",
    .commands = commands};

/* ---- help, completion, man ------------------------------------------------------------------- */

/* Settings of targets that the environment lists stand in these texts. What cannot be loaded is
 * told to whoever wants to use it. */
static void load_listed(void) { wk_status_free(wk_plugins_load_listed()); }

static wk_status help(const void *options, const wk_strings *args) {
  const wk_command *c;
  (void)options;
  if (args->n == 0) {
    wk_cli_help(stdout, &cli);
    return NULL;
  }
  load_listed();
  WK_TRY(wk_cli_find(&cli, args->data[0], &c));
  wk_options_help(stdout, &cli, c);
  return NULL;
}

static const wk_cmd cmd_help = {.command = {.name = "help", .synopsis = "[COMMAND]",
                                            .summary = "show help, of a command or in general",
                                            .max_args = 1},
                                .run = help};

static wk_status completion(const void *options, const wk_strings *args) {
  (void)options;
  if (strcmp(args->data[0], "bash") != 0)
    return wk_error(WK_USAGE, "no completion for shell '%s' (choose from bash)", args->data[0]);
  load_listed();
  wk_options_bash(stdout, &cli);
  return NULL;
}

static const wk_cmd cmd_completion = {
    .command = {.name = "completion", .synopsis = "bash",
                .summary = "print a completion script for a shell",
                .description = "  source <(wick completion bash)",
                .min_args = 1, .max_args = 1},
    .run = completion};

static wk_status man(const void *options, const wk_strings *args) {
  const wk_command *c;
  (void)options;
  if (args->n == 0) {
    wk_cli_man(stdout, &cli);
    return NULL;
  }
  load_listed();
  WK_TRY(wk_cli_find(&cli, args->data[0], &c));
  wk_options_man(stdout, &cli, c);
  return NULL;
}

static const wk_cmd cmd_man = {.command = {.name = "man", .synopsis = "[COMMAND]",
                                           .summary = "print the manual page of wick or a command",
                                           .description = "  wick man compile | man -l -",
                                           .max_args = 1},
                               .run = man};

/* ---- dispatch -------------------------------------------------------------------------------- */

/* Before the words are parsed: settings of a plugin's target are options. */
static wk_status load_plugins(const wk_command *c, int argc, char **argv) {
  wk_strings files = {0};
  if (!wk_option_has(c->options, WK_PLUGIN_OPTION)) return NULL;
  wk_options_find(c, argc, argv, WK_PLUGIN_OPTION, &files);
  wk_status s = wk_plugins_load_listed();
  if (!s) s = wk_plugins_load(&files);
  wk_vec_free(&files);
  return s;
}

static wk_status run_command(const wk_cmd *c, int argc, char **argv) {
  wk_strings args = {0};
  bool wants_help;
  void *values = wk_xcalloc(1, c->size);
  if (c->defaults) memcpy(values, c->defaults, c->size);
  wk_status loaded = load_plugins(&c->command, argc, argv);
  wk_status s = wk_options_parse(&c->command, argc, argv, values, &args, &wants_help);
  if (loaded && !wants_help) {
    wk_status_free(s); /* an option may have been unknown for want of the plugin */
    s = loaded;
  } else {
    wk_status_free(loaded);
  }
  if (wants_help) wk_options_help(stdout, &cli, &c->command);
  else if (!s) s = c->run(values, &args);
  wk_options_free(&c->command, values);
  wk_vec_free(&args);
  free(values);
  return s;
}

static wk_status dispatch(int argc, char **argv) {
  const wk_command *found;
  if (argc < 2) return wk_error(WK_USAGE, "no command given; 'wick --help' lists the commands");
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
    wk_cli_help(stdout, &cli);
    return NULL;
  }
  if (!strcmp(argv[1], "--version")) {
    printf("wick %s\n", WICK_VERSION);
    return NULL;
  }
  if (argv[1][0] == '-')
    return wk_error(WK_USAGE, "unknown option '%s'; 'wick --help' lists the commands", argv[1]);
  WK_TRY(wk_cli_find(&cli, argv[1], &found));
  for (size_t i = 0; i < WK_COUNTOF(cmds); i++)
    if (&cmds[i]->command == found) return run_command(cmds[i], argc - 1, argv + 1);
  return wk_error(WK_INTERNAL, "%s: no such command", argv[1]);
}

/* Whoever stops reading our output (head) is no error worth a message. */
static int close_output(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return WK_OK;
  if (errno != EPIPE) fprintf(stderr, "wick: standard output: %s\n", strerror(errno ? errno : EIO));
  return WK_IO;
}

/* The next file opened would become a standard stream that the caller has closed, and what is
 * printed would go into that file. The number is taken instead, by something that cannot be used
 * either. */
static bool occupy_closed_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
  }
  return true;
}

/* ---- endings --------------------------------------------------------------------------------- */

static void end_by_bug(const char *file, int line, const char *what) {
  fprintf(stderr, "wick: %s:%d: a bug: %s\n", file, line, what);
  abort();
}

/* Whatever was being written has no name yet (wk_out). */
static void end_without_memory(void) {
  static const char text[] = "wick: out of memory\n";
  ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
  (void)n;
  _exit(WK_RESOURCE);
}

static void end_llvm_without_memory(void *context, const char *reason, bool diagnose) {
  (void)context, (void)reason, (void)diagnose;
  end_without_memory();
}

/* Ours, C++'s (operator new) and LLVM's, whose functions for it have no names in C. */
static void say_when_memory_runs_out(void) {
  void (*(*of_new)(void (*)(void)))(void);
  void (*of_llvm)(void (*)(void *, const char *, bool), void *);
  wk_no_memory_ends(end_without_memory);
  *(void **)&of_new = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
  *(void **)&of_llvm =
      dlsym(RTLD_DEFAULT, "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");
  if (of_new) of_new(end_without_memory);
  if (of_llvm) of_llvm(end_llvm_without_memory, NULL);
}

int main(int argc, char **argv) {
  if (!occupy_closed_streams()) return WK_IO;
  say_when_memory_runs_out();
  wk_bug_ends(end_by_bug);
  wk_progress_on_terminal();
  signal(SIGPIPE, SIG_IGN); /* a write fails instead, and temporary files are removed; */
  signal(SIGXFSZ, SIG_IGN); /* past the largest file as well */
  signal(SIGCHLD, SIG_DFL); /* ignored, as it may be inherited, nobody could be waited for */
  (void)wick_device_register(wk_sim_device()); /* the first: nothing is in its way */
  wk_status s = dispatch(argc, argv);
  int code = s ? (int)s->code : WK_OK;
  int closed = close_output();
  if (s && *s->message) {
    fputs("wick: ", stderr);
    wk_status_print(stderr, s);
  }
  wk_status_free(s);
  return code ? code : closed;
}
