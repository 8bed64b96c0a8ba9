/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends with a pointer to a block left on the stack, where nothing reads it: "returned" in the
 * frame of a function that has returned, "array" in an array that was never written. "live": the
 * block is still used after the pointer was last written. "wait": as "array", but it waits for a
 * line before that, and then for the end of its input. Compiled without optimisation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 5
#define WORDS 64

static void returned(void)
{
	char *block = malloc(BYTES);

	if (block)
		block[0] = 'a';
}

static void fill(void)
{
	char *volatile array[WORDS];

	for (int i = 0; i < WORDS; i++)
		array[i] = i ? array[0] : malloc(BYTES);
}

/* It lies where fill's array was. */
static void end_over_array(void)
{
	char *volatile array[WORDS];

	if (getpid() < 0) {
		array[0] = NULL;
		puts(array[0]);
	}
	exit(0);
}

/* Likewise. */
static void wait_over_array(void)
{
	static char byte; /* an address in the frame would make all above it live */
	char *volatile array[WORDS];

	if (write(1, "LEAKED\n", 7) != 7)
		puts(array[0]);
	while (read(0, &byte, 1) > 0)
		;
}

static void wait_for_line(void)
{
	char byte;

	if (write(1, "READY\n", 6) != 6)
		abort();
	while (read(0, &byte, 1) > 0 && byte != '\n')
		;
}

static void live(void)
{
	char *block = malloc(BYTES);

	if (getpid() > 0)
		_exit(0);
	block[0] = 'a';
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "returned";

	if (!strcmp(how, "returned"))
		returned();
	if (!strcmp(how, "array")) {
		fill();
		end_over_array();
	}
	if (!strcmp(how, "wait")) {
		wait_for_line();
		fill();
		wait_over_array();
	}
	if (!strcmp(how, "live"))
		live();
	return 0;
}
