/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressions: leaks that the user knows and does not want reported. They apply to a snapshot
 * whose stacks have names. This folder reads no files itself.
 *
 * There are three formats, which can be mixed in a file; '#' starts a comment line:
 *
 *	ignore:PATTERN	our own, like --ignore: matches the function of any frame against the
 *			glob PATTERN (* and ?), or the extended regular expression in /PATTERN/
 *	leak:PATTERN	LeakSanitizer's: PATTERN is a part of the function, source file or module
 *			of any frame; * matches anything, ^ and $ match the ends
 *	{ … }		memcheck's: a name, "Memcheck:Leak", optionally match-leak-kinds:, and
 *			frames starting with the innermost: fun:, obj:, src: with * and ?, and
 *			"..." for any number. Blocks of other tools and kinds are skipped
 *
 * memcheck's stacks start with the allocation function; ours have it in the site. Its patterns
 * contain mangled names, while our names are demangled. So patterns without wildcards are demangled
 * when they are read; the others are counted, because they match nothing.
 */
#ifndef MTRACE_MODEL_SUPPRESS_SUPPRESS_H
#define MTRACE_MODEL_SUPPRESS_SUPPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot/snapshot.h"

struct suppressions;

/* Creates an empty set. Returns NULL if out of memory. */
struct suppressions *suppressions_new(void);
void suppressions_free(struct suppressions *suppressions); /* NULL is fine */

/* Returns the number of mangled names with wildcards, which match nothing here. */
size_t suppressions_mangled(const struct suppressions *suppressions);

/*
 * Moves matching leaks from the classes of sites and scans to `suppressed`. The name of the first
 * suppression that matches a site is stored in suppressed_by. Only blocks of `classes` (bits by
 * enum leak_class) are moved. Returns the number of sites with suppressed leaks, or -ENOMEM.
 */
int suppressions_apply(const struct suppressions *suppressions, uint32_t classes,
		       struct snapshot *snapshot);

#endif
