// SPDX-License-Identifier: GPL-2.0-or-later
/* The library is loaded on demand: it pulls in curl, which has more code than this program. */
#include "parser/client/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <stdlib.h>

struct debuginfod_library {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_find_debuginfo) *find;
	__typeof__(debuginfod_end) *end;
};

static int find(const struct debuginfod_library *library, const uint8_t *build_id, size_t size)
{
	debuginfod_client *client = library->begin();
	int fd;

	if (!client)
		return -1;
	fd = library->find(client, build_id, (int)size, NULL);
	library->end(client);
	return fd >= 0 ? fd : -1;
}

int debuginfod_open(const uint8_t *build_id, size_t size)
{
	void *handle = size ? dlopen("libdebuginfod.so.1", RTLD_LAZY) : NULL;
	struct debuginfod_library library;

	if (!handle)
		return -1;
	/* The library stays loaded, because curl does not support unloading well. */
	*(void **)&library.begin = dlsym(handle, "debuginfod_begin");
	*(void **)&library.find = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library.end = dlsym(handle, "debuginfod_end");
	if (!library.begin || !library.find || !library.end)
		return -1;
	return find(&library, build_id, size);
}
