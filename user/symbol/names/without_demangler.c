// SPDX-License-Identifier: GPL-2.0-or-later
/* For builds without libiberty (WITH_DWARF=0): names stay mangled. */
#include "symbol/names/demangle.h"

#include <string.h>

bool is_mangled(const char *symbol)
{
	(void)symbol;
	return false;
}

char *demangle(const char *symbol)
{
	return strndup(symbol, strcspn(symbol, "@"));
}
