/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper: maps the files that standard input names, up to an empty line, as code. Prints their
 * number, and then allocates once for each further line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_code(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY);
	void *code = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &status))
		code = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    0);
	close(fd);
	return code != MAP_FAILED;
}

int main(void)
{
	char line[4096];
	int count = 0;

	while (fgets(line, sizeof(line), stdin) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		count += map_code(line);
	}
	printf("%d\n", count);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		void *volatile block = malloc(333);

		free(block);
	}
	return 0;
}
