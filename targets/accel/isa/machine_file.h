/* SPDX-License-Identifier: Apache-2.0
 * Private to targets/accel/isa: pieces of files of machines, which those of spaces have, too. */
#ifndef WICK_ACCEL_MACHINE_FILE_H
#define WICK_ACCEL_MACHINE_FILE_H

#include <libconfig.h>

#include "targets/accel/isa/machine.h"

typedef struct { char s[512]; } wk_place_text; /* "FILE:LINE" */
wk_place_text wk_machine_place(const char *name, const config_setting_t *s);

/* The text, once what libconfig must not see has been refused. config_destroy unless it fails. */
wk_status wk_machine_config(const char *text, size_t n, const char *name,
                            config_t *out) WK_MUST_CHECK;
/* The key that is set; an unknown one with the nearest. */
wk_status wk_machine_setting_key(const config_setting_t *s, const char *name,
                                 const wk_machine_key **out) WK_MUST_CHECK;
/* Sets key k to the setting's number, when it may have that value. */
wk_status wk_machine_setting_value(const config_setting_t *s, const char *name,
                                   const wk_machine_key *k, wk_machine *m) WK_MUST_CHECK;

#endif
