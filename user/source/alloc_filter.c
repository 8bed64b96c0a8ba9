/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/alloc_filter.h"

#include <stddef.h>
#include <string.h>

#include "bpf/abi.h"
#include "symbol/elf/module.h"
#include "symbol/probe_site/plan.h"

/* Allocators whose functions are known to call other heap functions only by internal names. */
static bool is_leaf_object(const struct module *module, const struct probe_plan *plan)
{
	static const char *const names[] = {"libjemalloc.", "libtcmalloc", "libmimalloc"};
	const char *slash = strrchr(module->path, '/'), *name = slash ? slash + 1 : module->path;

	if (module->executable)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return plan->hooks[HOOK_THREAD_EXITS] != 0; /* glibc */
}

/* Other functions are no leaves: reallocarray calls realloc, and realloc and memalign may call
 * malloc. */
uint64_t alloc_filter_leaf_flag(const struct module *module, const struct probe_plan *plan,
				enum api api)
{
	if ((api != API_MALLOC && api != API_CALLOC) || !is_leaf_object(module, plan))
		return 0;
	return (uint64_t)COOKIE_FLAG_LEAF << 24;
}
