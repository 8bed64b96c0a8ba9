/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills in the names of a snapshot. */
#ifndef MTRACE_MODEL_SNAPSHOT_RESOLVE_H
#define MTRACE_MODEL_SNAPSHOT_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot/snapshot.h"

/* Where a resolver puts the names of place `index`, innermost first; it calls once for each. */
typedef void frame_names_taker(void *ctx, size_t index, const struct frame_name *names,
			       size_t count);

/* How a snapshot gets its names: the caller's symbolizer, seen from below. */
struct resolver {
	/*
	 * Names of the code at places of a module, given as file offsets, in rising order. `take`
	 * is called for those that have names; the strings need to live until it returns.
	 */
	void (*names)(void *ctx, uint32_t module_id, const uint64_t *offsets, size_t count,
		      frame_names_taker *take, void *take_ctx);
	/* Path and build id (hex, or NULL) of a module. */
	void (*module)(void *ctx, uint32_t module_id, const char **ret_path,
		       const char **ret_build_id);
	/* Called now and then with what is done of the whole; may be NULL. */
	void (*progress)(void *ctx, size_t done, size_t total);
	void *ctx;
	/* Where a file offset lies in the module's own terms, if that is known; may be NULL. */
	uint64_t (*vaddr)(void *ctx, uint32_t module_id, uint64_t offset);
};

/*
 * Fills in the names of all frames of the top sites of each process (snapshot_is_top), and of all
 * sites whose blocks may be leaked, because suppressions need them. Inlined calls become frames of
 * their own. Each distinct (module, offset) is looked up once. Other stacks get their end_module
 * only. Returns 0 or -ENOMEM.
 */
int snapshot_resolve(struct snapshot *snapshot, const struct resolver *resolver, size_t top);

#endif
