/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Releases that are errors (--sanity): of what was freed before, of what is no block, by a function
 * that does not go with the one that allocated, with a wrong size.
 *
 * Memory is released by functions of the kin by which it was allocated: malloc's, operator new's or
 * operator new[]'s. Where the kin of one of the two is not known, nothing is said of them. A
 * block's kin is that of its site.
 *
 * What was freed is remembered, FREED_MAX addresses that were not handed out again since: another
 * free of one of them is a double free, with both stacks. Once the address was handed out again, a
 * second free by its former owner frees the new owner's block, and what will be found is the new
 * owner's free: nobody can tell whose fault it is, but all three stacks are shown.
 *
 * A free of an address that does not live is judged when a snapshot is taken, for only then it is
 * known what was not seen: it is an error only if nothing was lost, and invalid (rather than
 * double) only if every block was known from the process's first instruction on. The others stay
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

enum kin { KIN_UNKNOWN = 0, KIN_MALLOC, KIN_NEW, KIN_NEW_ARRAY };

#define STACK_NONE       UINT32_MAX
#define FREED_MAX        65536
#define SANITY_ERROR_MAX 4096 /* different ones of a process; of more, only the number is kept */

struct freed {
	uint64_t address; /* 0: handed out again */
	uint64_t size;
	uint32_t site;
	uint32_t stack; /* of a spare one: index + 1 of the next spare one */
	uint8_t api;    /* enum api, that freed it */
};

/* The same error at the same places, however often. */
struct sanity_error {
	uint8_t kind;            /* enum sanity_kind */
	uint8_t api;             /* enum api, that released; of a double free, the second */
	uint8_t freed_by;        /* of a double free, the first; else API_NONE */
	uint32_t site;           /* where it was allocated, or SITE_NONE */
	uint32_t freed_at;       /* stack; of a double free, of the first */
	uint32_t freed_again_at; /* stack; STACK_NONE but for a double free */
	uint64_t count;
	uint64_t address; /* of the first one */
	uint64_t size;    /* of that block */
	uint64_t told;    /* the size that delete was told, or SIZE_UNTOLD */
	uint64_t first_seen_ns;
};

/* Zeroed memory is an empty set. */
struct sanity {
	VEC(struct freed) freed;
	uint32_t turn;  /* which one goes next when there are FREED_MAX; about the oldest */
	uint32_t spare; /* index + 1 of the first spare one */
	struct map64 by_address; /* index in freed */
	VEC(struct sanity_error) errors;
	struct map64 by_place; /* hash of kind, site and stacks: index in errors */
	uint64_t more;         /* errors that found no place in the list */
	uint64_t bad_frees;    /* double and invalid ones, listed or not */
};

/* What released a block, or tried to: the operator if it is known, else the function. */
enum api sanity_api(const struct event *event);
/* By which kin the event's call allocates; `wrapped`: its caller is an operator's code. */
enum kin sanity_kin(const struct event *event, bool wrapped);

/* Remembers a freed block. Returns 0 or -ENOMEM. */
int sanity_remember(struct sanity *sanity, const struct freed *freed);
/* Counts an error, and lists it if its place is new. Returns 0 or -ENOMEM. */
int sanity_add_error(struct sanity *sanity, struct sanity_error error);
/* Forgets that the address was freed. */
void sanity_handed_out(struct sanity *sanity, uint64_t address);

/* A child's: what its parent has freed is free in it too. 0 or -ENOMEM. */
int sanity_inherit(struct sanity *sanity, const struct sanity *parent);

/* For what is kept elsewhere, and becomes the same here. 0 or -ENOMEM. */
int sanity_enter_freed(struct sanity *sanity, const struct freed *freed);
int sanity_enter_error(struct sanity *sanity, const struct sanity_error *error);

/* No more frees will come. */
void sanity_close(struct sanity *sanity);
void sanity_free(struct sanity *sanity);

#endif
