/* SPDX-License-Identifier: Apache-2.0
 * The one table of targets, and the instances that --target asks for. */
#ifndef WICK_PIPELINE_TARGETS_H
#define WICK_PIPELINE_TARGETS_H

#include "compiler/pipeline/plugin.h"

/* --target, --cpu, --no-host, --plugin as typed by the user, and the settings of targets. */
typedef struct {
  const char *target; /* NULL: the host alone */
  const char *cpu;    /* short for cpu:NAME */
  bool no_host;
  wk_strings place; /* PATTERN=TARGET */
  wk_option_pairs settings; /* those that are not here are as the targets have them */
  wk_strings plugins;
} wk_target_args;

/* Settings as an initialiser: WK_SETTINGS({"effort", "2"}, {"marks", "yes"}). */
#define WK_SETTINGS(...)                                                                           \
  {(wk_option_pair[]){__VA_ARGS__}, sizeof((wk_option_pair[]){__VA_ARGS__}) /                      \
   sizeof(wk_option_pair), 0}

#define WK_PLUGIN_ROW(type, list)                                                                  \
  {WK_PLUGIN_OPTION, 0, "FILE.so", "load a target, custom operators, or what runs the code of "    \
   "either; so does the list in the environment, WICK_PLUGINS=FILE.so:FILE.so",                    \
   .kind = WK_OPTION_LIST, .offset = offsetof(type, list)}

/* Rows of an option table whose struct has a wk_target_args member `member`; `what` begins the text
 * of --target. */
#define WK_TARGET_OPTIONS(type, member, what)                                                      \
  {"target", 0, "TARGET,…", what " in order of preference, NAME or NAME:MACHINE ('wick targets' "  \
   "lists them); what none of them can run goes to the host, the CPU (default: the host)",         \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, member.target)},                             \
  {"cpu", 0, "NAME", "processor or instruction set of the host (default: this machine's); short "  \
   "for cpu:NAME", .kind = WK_OPTION_STRING, .offset = offsetof(type, member.cpu)},                \
  {"no-host", 0, NULL, "refuse what the targets cannot run instead of leaving it to the host, "    \
   "which gets only what --place gives it",                                                        \
   .kind = WK_OPTION_FLAG, .offset = offsetof(type, member.no_host)},                              \
  {"place", 0, "PATTERN=TARGET", "operators with such names (*, ?, [a-z] as in the shell) are "    \
   "for this one of the targets, and for no other; " WK_TARGET_ENDS "=cpu, with --no-host: what "  \
   "none of them can run before their first product and behind their last operator is for the "    \
   "host",                                                                                         \
   .kind = WK_OPTION_LIST,                                                                         \
   .offset = offsetof(type, member.place)},                                                        \
  {.kind = WK_OPTION_ROWS, .offset = offsetof(type, member.settings), .rows = wk_setting_row},     \
  WK_PLUGIN_ROW(type, member.plugins)

/* The evaluator is no target but may stand in its place where models are run. */
#define WK_TARGET_EVAL "eval"
bool wk_target_is_eval(const wk_target_args *a);

/* Target i, NULL past the last: those that are built in, then those of plugins. The host is the
 * last. */
const wk_target *wk_target_at(size_t i);
const wk_target *wk_target_host(void);

/* Opens what is asked for; the host is added at the end unless it is listed or not wanted; with
 * no_host it is there if `place` names it, for what it names, or for the ends. A setting goes to
 * all targets that have it, and there must be one. WK_USAGE names what there is not. Free with
 * wk_targets_close also after an error. */
wk_status wk_targets_open(const wk_target_args *a, wk_targets *out) WK_MUST_CHECK;
void wk_targets_close(wk_targets *t);
/* WK_USAGE: a pattern of --place fits no operator of the module. */
wk_status wk_targets_check_pins(const wk_targets *t, const wk_module *m) WK_MUST_CHECK;
/* WK_UNSUPPORTED unless the code of all of them runs on this machine; a: what they were opened
 * with. */
wk_status wk_targets_check_here(const wk_targets *t, const wk_target_args *a) WK_MUST_CHECK;
/* "cpu:avx2", "accel:base,cpu:avx2" */
char *wk_targets_text(const wk_targets *t, wk_arena *a);

/* ---- settings -------------------------------------------------------------------------------- */

/* Setting i of all targets, each name once, in the order of the targets; NULL past the last. */
const wk_target_setting *wk_setting_at(size_t i);
/* The first of that name; NULL: no target has it. */
const wk_target_setting *wk_setting_find(const char *name);
/* Rows of option tables: settings that decide what is compiled, and those that explain it. */
bool wk_setting_row(size_t i, wk_option *out);
bool wk_setting_explains_row(size_t i, wk_option *out);

/* Gives every target those that it has; WK_USAGE: nobody has one, or a value is wrong. */
wk_status wk_settings_apply(const wk_option_pairs *settings, const wk_targets *t) WK_MUST_CHECK;
/* The first that is given: "effort"; NULL: none is. */
const char *wk_settings_given(const wk_option_pairs *settings);
/* Those that decide what is compiled, as typed: " --effort=2". */
void wk_settings_text(wk_str *b, const wk_option_pairs *settings);

#endif
