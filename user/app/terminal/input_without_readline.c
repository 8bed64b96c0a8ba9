// SPDX-License-Identifier: GPL-2.0-or-later
/* For builds without readline (WITH_READLINE=0). */
#include "app/terminal/input_readline.h"

const struct shell_input_ops *input_terminal(void)
{
	return &input_plain;
}
