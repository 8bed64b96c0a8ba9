// SPDX-License-Identifier: GPL-2.0-or-later
/* What a parser may ask for: only ELF files beside the program or below /usr/lib/debug are passed
 * on, and for alternate files those that every user can read. */
#include "fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "parser/wire/protocol.h"
#include "symbol/names/debugfile.h"

#define PROGRAM "/usr/bin/env"

static bool begins_with(const char *path, const char *start)
{
	return !strncmp(path, start, strlen(start));
}

static void check(const struct debug_want *want, const char *found, int fd)
{
	struct stat file;
	char magic[4];

	require(!fstat(fd, &file) && S_ISREG(file.st_mode), "the file is a regular one");
	require(pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4), "it is an ELF file");
	if (want->alternate)
		require(file.st_mode & S_IROTH, "everyone can read it");
	else
		require((begins_with(found, "/usr/bin/") &&
			 !strchr(found + strlen("/usr/bin/"), '/')) ||
				begins_with(found, "/usr/bin/.debug/") ||
				begins_with(found, "/usr/lib/debug/"),
			"it is in one of the folders");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module module = {.path = (char *)PROGRAM};
	struct debug_search search = {0};
	struct wire wire = {.items = (uint8_t *)data, .count = size};
	struct wire_view view = wire_view(&wire);
	struct debug_want want;
	int fd;

	if (want_take(&view, &want))
		return 0;
	module.fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	require(module.fd >= 0, "there is a program");
	fd = debug_search_find(&search, &module, &want);
	if (fd >= 0) {
		check(&want, search.found, fd);
		close(fd);
	}
	debug_search_end(&search);
	close(module.fd);
	return 0;
}
