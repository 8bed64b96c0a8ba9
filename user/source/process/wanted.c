/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/process/wanted.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --only selects apis, but the whole family is probed: a block's allocation and its free, or
 * operator new and its malloc, may be different apis. The model filters. */
bool wanted_site(const struct source_config *config, const struct probe_site *site)
{
	for (int api = 1; api < API_COUNT; api++)
		if (config->apis & (1u << api) &&
		    api_row((enum api)api)->family == api_row(site->api)->family)
			return true;
	return false;
}

/* The exits are wanted if any function with exits is: they all belong to one family. */
bool wanted_exits(const struct source_config *config, const struct probe_plan *plan)
{
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].by_exits && wanted_site(config, &plan->sites[i]))
			return true;
	return false;
}

bool wanted_omits(const struct source_config *config, const struct module *module)
{
	const char *base = strrchr(module->path, '/');

	base = base ? base + 1 : module->path;
	for (const char *const *omit = config->omit; omit && *omit; omit++)
		if (!strcmp(*omit, module->path) || !strcmp(*omit, base))
			return true;
	return false;
}

/* Returns true if --allocator names this module: by its path, by the file at that path, or by its
 * last component. */
static bool is_object(const struct module *module, const char *object)
{
	const char *base = strrchr(module->path, '/');
	struct stat named, opened;

	if (!strcmp(object, module->path) || !strcmp(object, base ? base + 1 : module->path))
		return true;
	return strchr(object, '/') && !stat(object, &named) && !fstat(module->fd, &opened) &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* The prefix given for a module; "" if it was named without one; NULL if it was not named. */
const char *wanted_prefix(const struct source_config *config, const struct module *module)
{
	for (const char *const *given = config->allocators; given && *given; given++) {
		const char *colon = strrchr(*given, ':');
		char object[PATH_MAX];

		if (colon && strchr(colon, '/'))
			colon = NULL;
		snprintf(object, sizeof(object), "%.*s",
			 colon ? (int)(colon - *given) : (int)strlen(*given), *given);
		if (is_object(module, object))
			return colon ? colon + 1 : "";
	}
	return NULL;
}
