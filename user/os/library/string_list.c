/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/library/string_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

int string_list_take(struct string_list *list, char *string)
{
	int err = string ? vec_push(list, string) : -ENOMEM;

	if (err)
		free(string);
	return err;
}

int string_list_add(struct string_list *list, const char *string)
{
	return string_list_take(list, strdup(string));
}

bool string_list_has(const struct string_list *list, const char *string)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], string))
			return true;
	return false;
}

void string_list_free(struct string_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	vec_free(list);
}
