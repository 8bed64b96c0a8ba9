/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the fuzz targets. Each defines LLVMFuzzerTestOneInput(), which takes any bytes. They
 * must give a result or an error, and no result may break what its users rely on.
 *
 * 	clang -fsanitize=fuzzer,address,undefined …	a libFuzzer program
 * 	any compiler, -DFUZZ_MAIN			runs each file of its command line once
 */
#ifndef MTRACE_TESTS_FUZZ_H
#define MTRACE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

/* An open file with these bytes. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file can be written");
	return fd;
}

#ifdef FUZZ_MAIN

#define FUZZ_FILE_MAX (1 << 24)

static void run_file(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *data = malloc(FUZZ_FILE_MAX);
	size_t size;

	require(file && data, "a file can be read");
	size = fread(data, 1, FUZZ_FILE_MAX, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	return 0;
}

#endif
#endif
