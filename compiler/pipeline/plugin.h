/* SPDX-License-Identifier: Apache-2.0
 * Targets and devices from shared objects (compiler/target/plugin.h,
 * runtime/device.h). They are loaded once, for the whole process, by any thread, and stay. */
#ifndef WICK_PIPELINE_PLUGIN_H
#define WICK_PIPELINE_PLUGIN_H

#include "compiler/support/options.h"
#include "compiler/target/target.h"

/* Row of an option table; main.c loads the plugins of every command that has it. */
#define WK_PLUGIN_OPTION "plugin"
enum { WK_MAX_PLUGINS = 16 };

/* Loads these files. One that has been loaded is passed by. WK_IO: there is no such file; WK_INPUT:
 * it is no plugin, or one of another Wick; WK_USAGE: its target or device is there already;
 * WK_RESOURCE: too many. */
wk_status wk_plugins_load(const wk_strings *files) WK_MUST_CHECK;
/* Those that the environment names in WICK_PLUGINS, a colon between two. */
wk_status wk_plugins_load_listed(void) WK_MUST_CHECK;

/* Target i of those that came with plugins; NULL past the last. */
const wk_target *wk_plugin_target(size_t i);

#endif
