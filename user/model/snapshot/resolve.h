/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills in the names of a snapshot. */
#ifndef MTRACE_MODEL_SNAPSHOT_RESOLVE_H
#define MTRACE_MODEL_SNAPSHOT_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot/snapshot.h"

/* Called with the names of place `index`, innermost first; called once per place. */
typedef void frame_names_taker(void *ctx, size_t index, const struct frame_name *names,
			       size_t count);

/* The interface to the caller's symbolizer. */
struct resolver {
	/*
	 * Looks up the names of places in a module, given as file offsets in ascending order. Calls
	 * `take` for those that have names; the strings must be valid during the call.
	 */
	void (*names)(void *ctx, uint32_t module_id, const uint64_t *offsets, size_t count,
		      frame_names_taker *take, void *take_ctx);
	/* Returns the path and the build id (hexadecimal, or NULL) of a module. */
	void (*module)(void *ctx, uint32_t module_id, const char **ret_path,
		       const char **ret_build_id);
	/* Called occasionally to report progress; may be NULL. */
	void (*progress)(void *ctx, size_t done, size_t total);
	void *ctx;
	/* Converts a file offset to an address in the module; may be NULL. */
	uint64_t (*vaddr)(void *ctx, uint32_t module_id, uint64_t offset);
};

/*
 * Fills in the names of all frames of the top sites of each process (snapshot_is_top), and of all
 * sites whose blocks may be leaked, because suppressions need them. Inlined calls become separate
 * frames. Each distinct (module, offset) is looked up once. Other stacks get only their end_module.
 * Returns 0 or -ENOMEM.
 */
int snapshot_resolve(struct snapshot *snapshot, const struct resolver *resolver, size_t top);

#endif
