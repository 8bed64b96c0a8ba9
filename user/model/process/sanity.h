/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects wrong releases (--sanity): of blocks that were freed before, of addresses that are not
 * blocks, by a function that does not match the one that allocated, or with a wrong size.
 *
 * Memory must be released by a function of the kind that allocated it: malloc's, operator new's or
 * operator new[]'s. If one of the two kinds is unknown, nothing is reported. The kind of a block is
 * that of its site.
 *
 * The last FREED_MAX freed addresses that were not allocated again are remembered: another free of
 * one of them is a double free, which is reported with both stacks. Once the address was allocated
 * again, a second free by its former owner frees the new owner's block, and the free of the new
 * owner is reported: it is impossible to tell whose fault it is, but all three stacks are shown.
 *
 * A free of an address that is not live is checked when a snapshot is taken, because only then all
 * losses are known. It is an error only if nothing was dropped, and invalid (rather than double)
 * only if every block is known since the first instruction of the process. All others remain
 * unmatched frees.
 */
#ifndef MTRACE_MODEL_PROCESS_SANITY_H
#define MTRACE_MODEL_PROCESS_SANITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/block/heap.h"
#include "model/event.h"
#include "model/sanity_kind.h"

enum allocator_kind {
	ALLOCATOR_KIND_UNKNOWN = 0,
	ALLOCATOR_KIND_MALLOC,
	ALLOCATOR_KIND_NEW,
	ALLOCATOR_KIND_NEW_ARRAY
};

#define STACK_NONE       UINT32_MAX
#define FREED_MAX        65536
#define SANITY_ERROR_MAX 4096 /* different errors per process; further ones are only counted */

struct freed {
	uint64_t address; /* 0 if it was allocated again */
	uint64_t size;
	uint32_t site;
	uint32_t stack; /* in a free entry: index + 1 of the next free entry */
	uint8_t api;    /* enum api that freed it */
};

/* One error at the same places, with its count. */
struct sanity_error {
	uint8_t kind;            /* enum sanity_kind */
	uint8_t api;             /* enum api that released; for a double free, the second one */
	uint8_t freed_by;        /* for a double free, the first one; otherwise API_NONE */
	uint32_t site;           /* site of the allocation, or SITE_NONE */
	uint32_t freed_at;       /* stack; for a double free, of the first free */
	uint32_t freed_again_at; /* stack; STACK_NONE except for a double free */
	uint64_t count;
	uint64_t address;     /* of the first occurrence */
	uint64_t size;        /* of that block */
	uint64_t passed_size; /* size that was passed to delete, or SIZE_UNKNOWN */
	uint64_t first_seen_ns;
};

/* An all-zero set is empty. */
struct sanity {
	VEC(struct freed) freed;
	uint32_t turn;  /* the entry to overwrite next when all are used; roughly the oldest */
	uint32_t spare; /* index + 1 of the first free entry */
	struct map64 by_address; /* address → index in freed */
	VEC(struct sanity_error) errors;
	struct map64 by_place; /* hash of kind, site and stacks → index in errors */
	uint64_t more;         /* errors that are not in the list because it is full */
	uint64_t bad_frees;    /* double and invalid frees, listed or not */
};

/* Returns the api that released a block, or tried to: the operator if known, otherwise the
 * function. */
enum api sanity_api(const struct event *event);
/* Returns the kind that the event's call allocates. `wrapped`: its caller is the code of an
 * operator. */
enum allocator_kind sanity_allocator_kind(const struct event *event, bool wrapped);

/* Remembers a freed block. Returns 0 or -ENOMEM. */
int sanity_remember(struct sanity *sanity, const struct freed *freed);
/* Counts an error, and lists it if its place is new. Returns 0 or -ENOMEM. */
int sanity_add_error(struct sanity *sanity, struct sanity_error error);
/* Forgets that the address was freed. */
void sanity_handed_out(struct sanity *sanity, uint64_t address);

/* Copies the freed addresses of the parent to a child. Returns 0 or -ENOMEM. */
int sanity_inherit(struct sanity *sanity, const struct sanity *parent);

/* Rebuild a saved set. Return 0 or -ENOMEM. */
int sanity_enter_freed(struct sanity *sanity, const struct freed *freed);
int sanity_enter_error(struct sanity *sanity, const struct sanity_error *error);

/* Called when no more frees will follow. */
void sanity_close(struct sanity *sanity);
void sanity_free(struct sanity *sanity);

#endif
