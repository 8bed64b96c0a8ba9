/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include <errno.h>
#include <string.h>

/* clang-format off: a table is read by columns. */
#define HEAP   FAMILY_HEAP
#define MAP    FAMILY_MAP
#define NONE   (-1)
#define PLAIN  0
#define BEGINS COOKIE_FLAG_BEGIN
#define FREES  COOKIE_FLAG_FREE
#define MAPS   (COOKIE_FLAG_MAP | COOKIE_FLAG_BEGIN)
#define UNMAPS (COOKIE_FLAG_MAP | COOKIE_FLAG_BEGIN | COOKIE_FLAG_UNMAP)

#define NEW_SYMBOLS(new, size)                                           \
	new size, new size "St11align_val_t", new size "RKSt9nothrow_t", \
		new size "St11align_val_tRKSt9nothrow_t"
#define DELETE_SYMBOLS(delete)                                              \
	delete "Pv", delete "Pvm", delete "Pvj", delete "PvRKSt9nothrow_t", \
		delete "PvSt11align_val_t", delete "PvmSt11align_val_t",    \
		delete "PvjSt11align_val_t", delete "PvSt11align_val_tRKSt9nothrow_t"

static const struct api_row api_rows[] = {
	/*                      name                 group                        size count  old
	   out  throws */
	[API_NONE] = {"unknown", "", HEAP, PLAIN, NONE, NONE, NONE, NONE, false, {NULL}},
	[API_MALLOC] = {"malloc", "malloc", HEAP, PLAIN, 0, NONE, NONE, NONE, false, {"malloc"}},
	[API_CALLOC] = {"calloc", "malloc", HEAP, PLAIN, 1, 0, NONE, NONE, false, {"calloc"}},
	[API_REALLOC] = {"realloc", "malloc", HEAP, BEGINS, 1, NONE, 0, NONE, false, {"realloc"}},
	[API_REALLOCARRAY] =
		{"reallocarray", "malloc", HEAP, BEGINS, 2, 1, 0, NONE, false, {"reallocarray"}},
	[API_FREE] = {"free", "malloc", HEAP, FREES, NONE, NONE, 0, NONE, false, {"free", "cfree"}},
	[API_POSIX_MEMALIGN] = {"posix_memalign",
				"malloc",
				HEAP,
				BEGINS,
				2,
				NONE,
				NONE,
				0,
				false,
				{"posix_memalign"}},
	[API_ALIGNED_ALLOC] = {"aligned_alloc",
			       "malloc",
			       HEAP,
			       PLAIN,
			       1,
			       NONE,
			       NONE,
			       NONE,
			       false,
			       {"aligned_alloc", "memalign"}},
	[API_VALLOC] = {"valloc", "malloc", HEAP, PLAIN, 0, NONE, NONE, NONE, false, {"valloc"}},
	[API_PVALLOC] = {"pvalloc", "malloc", HEAP, PLAIN, 0, NONE, NONE, NONE, false, {"pvalloc"}},
	[API_NEW] = {"operator new",
		     "new",
		     HEAP,
		     PLAIN,
		     0,
		     NONE,
		     NONE,
		     NONE,
		     true,
		     {NEW_SYMBOLS("_Znw", "m"), NEW_SYMBOLS("_Znw", "j")}},
	[API_NEW_ARRAY] = {"operator new[]",
			   "new",
			   HEAP,
			   PLAIN,
			   0,
			   NONE,
			   NONE,
			   NONE,
			   true,
			   {NEW_SYMBOLS("_Zna", "m"), NEW_SYMBOLS("_Zna", "j")}},
	[API_DELETE] = {"operator delete",
			"new",
			HEAP,
			FREES,
			NONE,
			NONE,
			0,
			NONE,
			false,
			{DELETE_SYMBOLS("_Zdl")}},
	[API_DELETE_ARRAY] = {"operator delete[]",
			      "new",
			      HEAP,
			      FREES,
			      NONE,
			      NONE,
			      0,
			      NONE,
			      false,
			      {DELETE_SYMBOLS("_Zda")}},
	[API_MMAP] = {"mmap", "mmap", MAP, MAPS, 1, NONE, NONE, NONE, false, {"mmap", "mmap64"}},
	[API_MUNMAP] = {"munmap", "mmap", MAP, UNMAPS, 1, NONE, 0, NONE, false, {"munmap"}},
	[API_MREMAP] = {"mremap", "mmap", MAP, MAPS, 2, NONE, 0, NONE, false, {"mremap"}},
	[API_MMAP_LIBC] = {"mmap (libc)", "mmap", MAP, PLAIN, 1, NONE, NONE, NONE, false, {NULL}},
};
/* clang-format on */

_Static_assert(sizeof(api_rows) / sizeof(api_rows[0]) == API_COUNT, "a row for every api");

const struct api_row *api_row(enum api api)
{
	return &api_rows[(unsigned int)api < API_COUNT ? api : API_NONE];
}

const char *api_name(enum api api)
{
	return api_row(api)->name;
}

/* Called for each symbol of each file. Most names differ within the first few characters, and for
 * those strcmp() is slow. */
static bool is_same(const char *one, const char *other)
{
	while (*one && *one == *other)
		one++, other++;
	return *one == *other;
}

static bool row_has_symbol(const struct api_row *row, const char *symbol)
{
	for (int i = 0; i < API_SYMBOLS_MAX && row->symbols[i]; i++)
		if (is_same(row->symbols[i], symbol))
			return true;
	return false;
}

static enum api api_of_standard(const char *symbol)
{
	for (int api = 1; api < API_COUNT; api++)
		if (row_has_symbol(&api_rows[api], symbol))
			return (enum api)api;
	return API_NONE;
}

/* Non-standard names: jemalloc's own, which no other library uses, and mimalloc's, which without
 * the prefix could be anyone's. */
static const struct extra_name {
	const char *symbol;
	enum api api;
	bool plain; /* also recognized without a prefix */
} extra_names[] = {
	{"mallocx", API_MALLOC, true},
	{"rallocx", API_REALLOC, true},
	{"dallocx", API_FREE, true},
	{"sdallocx", API_FREE, true},
	{"malloc_small", API_MALLOC, false},
	{"zalloc", API_MALLOC, false},
	{"zalloc_small", API_MALLOC, false},
	{"malloc_aligned", API_MALLOC, false},
	{"zalloc_aligned", API_MALLOC, false},
	{"mallocn", API_CALLOC, false},
	{"calloc_aligned", API_CALLOC, false},
	{"realloc_aligned", API_REALLOC, false},
	{"rezalloc", API_REALLOC, false},
	{"rezalloc_aligned", API_REALLOC, false},
	{"reallocn", API_REALLOCARRAY, false},
	{"recalloc", API_REALLOCARRAY, false},
	{"free_size", API_FREE, false},
	{"free_aligned", API_FREE, false},
	{"free_size_aligned", API_FREE, false},
	{"new", API_NEW, false},
	{"new_nothrow", API_NEW, false},
	{"new_aligned", API_NEW, false},
	{"new_aligned_nothrow", API_NEW, false},
};

const char *const api_prefixes[] = {"je_", "_rjem_", "mi_", "tc_", "rp", NULL};

static enum api api_of_extra(const char *symbol, bool plain)
{
	for (size_t i = 0; i < sizeof(extra_names) / sizeof(extra_names[0]); i++)
		if ((extra_names[i].plain || !plain) && !strcmp(extra_names[i].symbol, symbol))
			return extra_names[i].api;
	return API_NONE;
}

enum api api_of_symbol(const char *symbol)
{
	enum api api = api_of_standard(symbol);

	return api == API_NONE ? api_of_extra(symbol, true) : api;
}

void api_each_symbol(void (*visit)(void *ctx, const char *symbol), void *ctx)
{
	for (int api = 1; api < API_COUNT; api++)
		for (int i = 0; i < API_SYMBOLS_MAX && api_rows[api].symbols[i]; i++)
			visit(ctx, api_rows[api].symbols[i]);
	for (size_t i = 0; i < sizeof(extra_names) / sizeof(extra_names[0]); i++)
		if (extra_names[i].plain)
			visit(ctx, extra_names[i].symbol);
}

enum api api_of_prefixed(const char *symbol, const char *prefix)
{
	size_t length = strlen(prefix);
	enum api api;

	if (strncmp(symbol, prefix, length))
		return API_NONE;
	api = api_of_standard(symbol + length);
	if (api_row(api)->family != FAMILY_HEAP)
		return API_NONE;
	return api == API_NONE ? api_of_extra(symbol + length, false) : api;
}

bool api_allocates(enum api api)
{
	return !(api_row(api)->flags & (COOKIE_FLAG_FREE | COOKIE_FLAG_UNMAP));
}

bool api_is_operator(enum api api)
{
	return api >= API_NEW && api <= API_DELETE_ARRAY;
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
