/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dlopener LIBRARY OTHER: load LIBRARY, let it allocate, unload it; then the same with OTHER, which
 * the linker may map at the same address. Both are copies of the plugin. Names must be those of the
 * library that was mapped at the time of the call.
 */
#include "truth.h"

#include <dlfcn.h>

#define FIRST  10
#define SECOND 5

static void use(const char *path, struct site *site, int times)
{
	void *library = dlopen(path, RTLD_NOW), *(*allocate)(size_t);
	int i;

	if (!library)
		abort();
	*(void **)&allocate = dlsym(library, "t_plugin");
	for (i = 0; i < times; i++)
		truth_allocated(site, 321, allocate(321));
	dlclose(library);
}

int main(int argc, char **argv)
{
	static struct site site = {.function = "t_plugin", .api = "malloc"};

	if (argc != 3)
		return 2;
	use(argv[1], &site, FIRST);
	use(argv[2], &site, SECOND);
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
