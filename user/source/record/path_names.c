// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/record/path_names.h"

#include <string.h>

bool path_of_names(const char names[PATH_NAMES_SIZE], char ret_path[PATH_NAMES_SIZE + 1])
{
	size_t at = PATH_NAMES_SIZE, used = 0, count = 0;
	bool whole = true;

	ret_path[at] = '\0';
	while (used < PATH_NAMES_SIZE) {
		size_t length = strnlen(names + used, PATH_NAMES_SIZE - used);

		if (!length || length >= at)
			break;
		at -= length;
		memcpy(ret_path + at, names + used, length);
		ret_path[--at] = '/';
		used += length + 1;
		count++;
		whole &= length < NAME_SIZE_MAX - 1;
	}
	memmove(ret_path, ret_path + at, PATH_NAMES_SIZE + 1 - at);
	return whole && count && count < PATH_DEPTH_MAX && used < PATH_NAMES_SIZE - NAME_SIZE_MAX;
}
