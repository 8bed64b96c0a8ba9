/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growable list of strings, which it owns. An all-zero list is empty. */
#ifndef MTRACE_OS_LIBRARY_STRING_LIST_H
#define MTRACE_OS_LIBRARY_STRING_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct string_list {
	char **items;
	size_t count;
	size_t capacity;
};

/* Append a copy of the string, or the string itself (which is freed on failure). Return 0 or
 * -ENOMEM. */
int string_list_add(struct string_list *list, const char *string);
int string_list_take(struct string_list *list, char *string);
bool string_list_has(const struct string_list *list, const char *string);
void string_list_free(struct string_list *list);

#endif
