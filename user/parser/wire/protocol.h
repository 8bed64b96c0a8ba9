/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests to the parser process, and its answers, as bytes. No other code knows their layout.
 * Answers come from a process that has read untrusted files: the take functions check every count,
 * string, enum and order, and return -EBADMSG for anything that a correct parser would not send.
 *
 * A request (with the descriptor of the file) is answered by FRAME_DONE or FRAME_FAILED. Before
 * that the parser may send any number of FRAME_WANT, each of which is answered by FRAME_FILE.
 */
#ifndef MTRACE_PARSER_WIRE_PROTOCOL_H
#define MTRACE_PARSER_WIRE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "os/library/elf_dynamic.h"
#include "parser/wire/limits.h"
#include "parser/wire/wire.h"
#include "symbol/cfi_table.h"
#include "symbol/elf/module.h"
#include "symbol/names/debugfile.h"
#include "symbol/names/symbolizer.h"
#include "symbol/probe_site/plan.h"

enum frame_kind {
	FRAME_SPAWN = 1, /* zygote: start a parser; answered by FRAME_READY with a socket */

	FRAME_MODULE, /* requests to a parser: */
	FRAME_PLAN,
	FRAME_TABLE,
	FRAME_NAMES,
	FRAME_DYNAMIC,
	FRAME_LIVENESS, /* what a stopped function can still read: its frame as a whole … */
	FRAME_SLOT,     /* … or one word of it */
	FRAME_PREFETCH, /* prefetch a file; no answer, FRAME_EARLY will follow */
	FRAME_EARLY,    /* get all prefetched answers for the file at once */
	FRAME_REQUEST_END,

	FRAME_FILE, /* the debug file that was wanted; without a descriptor if there is none */

	FRAME_READY, /* answers: */
	FRAME_DONE,
	FRAME_FAILED, /* with code and text */
	FRAME_WANT,
};

/* What is prefetched of a file. */
enum prefetch_kind {
	PREFETCH_MODULE,
	PREFETCH_PLAN,
	PREFETCH_TABLE,
	PREFETCH_KINDS,
};

#define PROTOCOL_NAMES_MAX  1024 /* places per request */
#define PROTOCOL_INLINE_MAX PARSER_INLINE_MAX
#define PROTOCOL_PLAN_MAX   1024 /* maximum number each of sites, exits, wrappers and refusals */
/* Maximum size of an answer, in bytes: the longest table is the longest answer. */
#define PROTOCOL_ANSWER_MAX  (CFI_ROW_MAX * sizeof(struct unwind_row) + (1 << 20))
#define PROTOCOL_REQUEST_MAX (1 << 16)

struct request {
	const char *path;   /* for messages */
	const char *prefix; /* FRAME_PLAN: module->prefix */
	bool full;          /* FRAME_TABLE: do not prune the table; FRAME_PLAN: with gates */
	bool interrupted;   /* FRAME_LIVENESS, FRAME_SLOT: see liveness_frame */
	/* Id of the module. offsets: the places of FRAME_NAMES; one place for FRAME_LIVENESS; one
	 * place and an offset from the CFA for FRAME_SLOT. */
	uint32_t module;
	uint32_t count;
	uint64_t offsets[PROTOCOL_NAMES_MAX];
};

void request_put(struct wire *wire, const struct request *request);
/* path is valid as long as the bytes of the view. Returns 0 or -EBADMSG. */
int request_take(struct wire_view *view, struct request *ret_request);

/* FRAME_FAILED. failure_take returns only codes that say something about the file, and printable
 * text. */
void failure_put(struct wire *wire, const struct error *err);
int failure_take(struct wire_view *view, struct error *ret_err);

/* FRAME_WANT. */
void want_put(struct wire *wire, const struct debug_want *want);
int want_take(struct wire_view *view, struct debug_want *ret_want);

/* FRAME_DONE for each request. The take functions return 0, -EBADMSG or -ENOMEM. */
void module_put(struct wire *wire, const struct module *module);
int module_take(struct wire_view *view, struct module *module);

void plan_put(struct wire *wire, const struct probe_plan *plan);
/* The segments of `module` tell where code can be. */
int plan_take(struct wire_view *view, const struct module *module, struct probe_plan **ret_plan);

void table_put(struct wire *wire, const struct cfi_table *table);
int table_take(struct wire_view *view, struct cfi_table *ret_table);

/*
 * The names of one place after the other, for as many places as the parser managed in time, at
 * least one. Strings are valid as long as the bytes of the view. names_take reads one place and
 * returns 0 or -EBADMSG.
 */
void names_put(struct wire *wire, const struct symbol_name *names, size_t count);
int names_take(struct wire_view *view, struct symbol_name ret_names[PROTOCOL_INLINE_MAX],
	       size_t *ret_count);

/* FRAME_DONE for FRAME_EARLY: all prefetched answers, concatenated; a missing answer is empty.
 * prefetch_take returns 0, -EBADMSG or -ENOMEM. On failure there is nothing to free. */
void prefetch_put(struct wire *wire, const struct wire *part);
int prefetch_take(struct wire_view *view, struct wire ret_parts[PREFETCH_KINDS]);
void prefetch_drop(struct wire parts[PREFETCH_KINDS]); /* frees all remaining parts */

void dynamic_put(struct wire *wire, const struct elf_dynamic *dynamic);
int dynamic_take(struct wire_view *view, struct elf_dynamic *ret_dynamic);

#endif
