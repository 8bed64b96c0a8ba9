/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include <errno.h>
#include <string.h>

#define NONE (-1)

static const struct api_row api_rows[] = {
	[API_NONE] = {.name = "unknown",
		      .group = "",
		      .size = NONE,
		      .count = NONE,
		      .old = NONE,
		      .out = NONE},
	[API_MALLOC] = {.name = "malloc",
			.group = "malloc",
			.size = 0,
			.count = NONE,
			.old = NONE,
			.out = NONE,
			.symbols = {"malloc"}},
	[API_CALLOC] = {.name = "calloc",
			.group = "malloc",
			.size = 1,
			.count = 0,
			.old = NONE,
			.out = NONE,
			.symbols = {"calloc"}},
	[API_REALLOC] = {.name = "realloc",
			 .group = "malloc",
			 .flags = COOKIE_FLAG_BEGIN,
			 .size = 1,
			 .count = NONE,
			 .old = 0,
			 .out = NONE,
			 .symbols = {"realloc"}},
	[API_REALLOCARRAY] = {.name = "reallocarray",
			      .group = "malloc",
			      .flags = COOKIE_FLAG_BEGIN,
			      .size = 2,
			      .count = 1,
			      .old = 0,
			      .out = NONE,
			      .symbols = {"reallocarray"}},
	[API_FREE] = {.name = "free",
		      .group = "malloc",
		      .flags = COOKIE_FLAG_FREE,
		      .size = NONE,
		      .count = NONE,
		      .old = 0,
		      .out = NONE,
		      .symbols = {"free", "cfree"}},
	[API_POSIX_MEMALIGN] = {.name = "posix_memalign",
				.group = "malloc",
				.flags = COOKIE_FLAG_BEGIN,
				.size = 2,
				.count = NONE,
				.old = NONE,
				.out = 0,
				.symbols = {"posix_memalign"}},
	[API_ALIGNED_ALLOC] = {.name = "aligned_alloc",
			       .group = "malloc",
			       .size = 1,
			       .count = NONE,
			       .old = NONE,
			       .out = NONE,
			       .symbols = {"aligned_alloc", "memalign"}},
	[API_VALLOC] = {.name = "valloc",
			.group = "malloc",
			.size = 0,
			.count = NONE,
			.old = NONE,
			.out = NONE,
			.symbols = {"valloc"}},
	[API_PVALLOC] = {.name = "pvalloc",
			 .group = "malloc",
			 .size = 0,
			 .count = NONE,
			 .old = NONE,
			 .out = NONE,
			 .symbols = {"pvalloc"}},
	[API_NEW] = {.name = "operator new",
		     .group = "new",
		     .size = 0,
		     .count = NONE,
		     .old = NONE,
		     .out = NONE,
		     .throws = true,
		     .symbols = {"_Znwm", "_ZnwmSt11align_val_t", "_ZnwmRKSt9nothrow_t",
				 "_ZnwmSt11align_val_tRKSt9nothrow_t", "_Znwj",
				 "_ZnwjSt11align_val_t", "_ZnwjRKSt9nothrow_t",
				 "_ZnwjSt11align_val_tRKSt9nothrow_t"}},
	[API_NEW_ARRAY] = {.name = "operator new[]",
			   .group = "new",
			   .size = 0,
			   .count = NONE,
			   .old = NONE,
			   .out = NONE,
			   .throws = true,
			   .symbols = {"_Znam", "_ZnamSt11align_val_t", "_ZnamRKSt9nothrow_t",
				       "_ZnamSt11align_val_tRKSt9nothrow_t", "_Znaj",
				       "_ZnajSt11align_val_t", "_ZnajRKSt9nothrow_t",
				       "_ZnajSt11align_val_tRKSt9nothrow_t"}},
	[API_DELETE] = {.name = "operator delete",
			.group = "new",
			.flags = COOKIE_FLAG_FREE,
			.size = NONE,
			.count = NONE,
			.old = 0,
			.out = NONE,
			.symbols = {"_ZdlPv", "_ZdlPvm", "_ZdlPvj", "_ZdlPvRKSt9nothrow_t",
				    "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
				    "_ZdlPvjSt11align_val_t",
				    "_ZdlPvSt11align_val_tRKSt9nothrow_t"}},
	[API_DELETE_ARRAY] = {.name = "operator delete[]",
			      .group = "new",
			      .flags = COOKIE_FLAG_FREE,
			      .size = NONE,
			      .count = NONE,
			      .old = 0,
			      .out = NONE,
			      .symbols = {"_ZdaPv", "_ZdaPvm", "_ZdaPvj", "_ZdaPvRKSt9nothrow_t",
					  "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t",
					  "_ZdaPvjSt11align_val_t",
					  "_ZdaPvSt11align_val_tRKSt9nothrow_t"}},
	[API_MMAP] = {.name = "mmap",
		      .group = "mmap",
		      .family = FAMILY_MAP,
		      .flags = COOKIE_FLAG_MAP | COOKIE_FLAG_BEGIN,
		      .size = 1,
		      .count = NONE,
		      .old = NONE,
		      .out = NONE,
		      .symbols = {"mmap", "mmap64"}},
	[API_MUNMAP] = {.name = "munmap",
			.group = "mmap",
			.family = FAMILY_MAP,
			.flags = COOKIE_FLAG_MAP | COOKIE_FLAG_BEGIN | COOKIE_FLAG_UNMAP,
			.size = 1,
			.count = NONE,
			.old = 0,
			.out = NONE,
			.symbols = {"munmap"}},
	[API_MREMAP] = {.name = "mremap",
			.group = "mmap",
			.family = FAMILY_MAP,
			.flags = COOKIE_FLAG_MAP | COOKIE_FLAG_BEGIN,
			.size = 2,
			.count = NONE,
			.old = 0,
			.out = NONE,
			.symbols = {"mremap"}},
	[API_MMAP_LIBC] = {.name = "mmap (libc)",
			   .group = "mmap",
			   .family = FAMILY_MAP,
			   .size = 1,
			   .count = NONE,
			   .old = NONE,
			   .out = NONE},
};

_Static_assert(sizeof(api_rows) / sizeof(api_rows[0]) == API_COUNT, "a row for every api");

const struct api_row *api_row(enum api api)
{
	return &api_rows[(unsigned int)api < API_COUNT ? api : API_NONE];
}

const char *api_name(enum api api)
{
	return api_row(api)->name;
}

static bool row_has_symbol(const struct api_row *row, const char *symbol)
{
	for (int i = 0; i < API_SYMBOLS_MAX && row->symbols[i]; i++)
		if (!strcmp(row->symbols[i], symbol))
			return true;
	return false;
}

enum api api_of_symbol(const char *symbol)
{
	for (int api = 1; api < API_COUNT; api++)
		if (row_has_symbol(&api_rows[api], symbol))
			return (enum api)api;
	return API_NONE;
}

bool api_allocates(enum api api)
{
	return !(api_row(api)->flags & (COOKIE_FLAG_FREE | COOKIE_FLAG_UNMAP));
}

bool api_needs_return(enum api api)
{
	return !(api_row(api)->flags & COOKIE_FLAG_FREE);
}

static uint64_t cookie_argument(int8_t position)
{
	return position < 0 ? COOKIE_NO_ARG : (uint64_t)position;
}

uint64_t api_cookie(enum api api)
{
	const struct api_row *row = api_row(api);

	return (uint64_t)api | cookie_argument(row->size) << 8 | cookie_argument(row->count) << 12 |
	       cookie_argument(row->old) << 16 | cookie_argument(row->out) << 20 |
	       (uint64_t)row->flags << 24;
}

static uint32_t word_set(const char *word, size_t length)
{
	uint32_t set = 0;

	for (int api = 1; api < API_COUNT; api++) {
		const struct api_row *row = &api_rows[api];

		if ((strlen(row->group) == length && !strncmp(row->group, word, length)) ||
		    (strlen(row->name) == length && !strncmp(row->name, word, length)))
			set |= 1u << api;
	}
	return set;
}

int api_set_parse(const char *text, uint32_t *ret_set, const char **ret_bad)
{
	uint32_t set = 0;

	for (;;) {
		size_t length = strcspn(text, ",");
		uint32_t found = word_set(text, length);

		if (!found) {
			*ret_bad = text;
			return -EINVAL;
		}
		set |= found;
		if (!text[length])
			break;
		text += length + 1;
	}
	*ret_set = set;
	return 0;
}
