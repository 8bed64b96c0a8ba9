/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks that the user knows of and does not want to hear of again. Works on a snapshot whose stacks
 * have names; reads no file itself.
 *
 * Three ways to write them, which may be mixed in one file; '#' begins a comment line:
 *
 *	ignore:PATTERN	ours, as --ignore: the function of any frame is matched by the glob
 *			PATTERN (* and ?), or by the extended regular expression in /PATTERN/
 *	leak:PATTERN	LeakSanitizer's: PATTERN is a part of the function, source file or module
 *			of any frame; * stands for anything, ^ and $ for the ends
 *	{ … }		memcheck's: a name, "Memcheck:Leak", match-leak-kinds: if need be, and
 *frames from the innermost on: fun:, obj:, src: with * and ?, and "..." for any number. Blocks of
 *other tools and other kinds are read over
 *
 * memcheck's stacks begin with the allocation function; ours have it in the site. Its patterns hold
 * mangled names; ours are demangled, so those without wildcards are demangled as they are read, and
 * the others are counted: they match nothing.
 */
#ifndef MTRACE_MODEL_SUPPRESS_SUPPRESS_H
#define MTRACE_MODEL_SUPPRESS_SUPPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot/snapshot.h"

struct suppressions;

/* No suppressions yet; NULL if out of memory. */
struct suppressions *suppressions_new(void);
void suppressions_free(struct suppressions *suppressions); /* NULL is fine */

/* How many hold mangled names with wildcards, so that they match nothing here. */
size_t suppressions_mangled(const struct suppressions *suppressions);

/*
 * Move what they excuse from the classes of sites and scans to `suppressed`; the first that excuses
 * anything of a site gets its name into suppressed_by. Only blocks of `classes` (bits by enum
 * leak_class) are moved. Returns the number of sites with suppressed blocks, or -ENOMEM.
 */
int suppressions_apply(const struct suppressions *suppressions, uint32_t classes,
		       struct snapshot *snapshot);

#endif
