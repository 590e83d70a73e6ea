/* SPDX-License-Identifier: Apache-2.0
 * Progress on a terminal. */
#ifndef WICK_CLI_PROGRESS_H
#define WICK_CLI_PROGRESS_H

/* What wk_progress says is from now on one line on the terminal of stderr that is overwritten by
 * the next, until wk_progress_end wipes it; nothing when stderr is not a terminal, when TERM is
 * unset or "dumb", or when NO_COLOR is set. */
void wk_progress_on_terminal(void);

#endif
