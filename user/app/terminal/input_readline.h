/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines from a terminal, with or without readline. */
#ifndef MTRACE_APP_TERMINAL_INPUT_READLINE_H
#define MTRACE_APP_TERMINAL_INPUT_READLINE_H

#include "app/terminal/input.h"

/* Input from a terminal; input_plain in a build without readline. */
const struct shell_input_ops *input_terminal(void);

#endif
