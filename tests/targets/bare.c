/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program without any library that does nothing. */
void _start(void);

void _start(void)
{
	for (;;)
		;
}
