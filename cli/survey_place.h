/* SPDX-License-Identifier: Apache-2.0
 * From the nodes of a file to the targets that have what became of them. */
#ifndef WICK_CLI_SURVEY_PLACE_H
#define WICK_CLI_SURVEY_PLACE_H

#include "cli/survey.h"

/* Fills run->place. imported: the module as the report's nodes made it; p: how its copy `cut` was
 * cut. A value of the import that still has its name in the copy was made by what makes it there;
 * whatever else led to it belongs to that, too. */
void wk_survey_place_nodes(wk_survey *s, const wk_module *imported, const wk_module *cut,
                           const wk_parts *p, wk_survey_run *run);

#endif
