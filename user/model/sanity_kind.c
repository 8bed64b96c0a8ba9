/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/sanity_kind.h"

static const struct {
	const char *name, *words;
} kinds[] = {
	[SANITY_DOUBLE_FREE] = {"double_free", "double free"},
	[SANITY_INVALID_FREE] = {"invalid_free", "invalid free"},
	[SANITY_MISMATCHED_FREE] = {"mismatched_free", "mismatched free"},
	[SANITY_SIZE_MISMATCH] = {"size_mismatch", "wrong size"},
};

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == SANITY_KIND_COUNT, "all kinds named");

const char *sanity_kind_name(enum sanity_kind kind)
{
	return kinds[kind].name;
}

const char *sanity_kind_words(enum sanity_kind kind)
{
	return kinds[kind].words;
}
