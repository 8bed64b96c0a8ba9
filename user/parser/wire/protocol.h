/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tracer asks the parser process, and the answers, as bytes; nothing else knows how they
 * lie. Answers come from a process that has read hostile files: taking one checks every count,
 * string, enum and order, and says -EBADMSG for what no sound parser would send.
 *
 * A request (with the file's descriptor) is answered by FRAME_DONE or FRAME_FAILED. Before that
 * the parser may send FRAME_WANT, any number of times, and is answered by FRAME_FILE.
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
	FRAME_SPAWN = 1, /* to the keeper: a new parser; it answers with FRAME_READY and a socket */

	FRAME_MODULE, /* requests to a parser */
	FRAME_PLAN,
	FRAME_TABLE,
	FRAME_NAMES,
	FRAME_DYNAMIC,
	FRAME_LIVENESS, /* what a stopped function can still read: its frame as a whole … */
	FRAME_SLOT,     /* … or one word of it */
	FRAME_AHEAD,    /* not answered: FRAME_EARLY will be asked for */
	FRAME_EARLY,    /* what was read ahead of that file, in one answer */
	FRAME_REQUEST_END,

	FRAME_FILE, /* the separate debug file that was wanted; without descriptor: there is none */

	FRAME_READY, /* answers */
	FRAME_DONE,
	FRAME_FAILED, /* with code and text */
	FRAME_WANT,
};

/* What is read ahead of a file. */
enum early_kind {
	EARLY_MODULE,
	EARLY_PLAN,
	EARLY_TABLE,
	EARLY_KINDS,
};

#define PROTOCOL_NAMES_MAX  1024 /* places in one request */
#define PROTOCOL_INLINE_MAX PARSER_INLINE_MAX
#define PROTOCOL_PLAN_MAX   1024 /* sites, exits, wrappers, refusals each */
/* Bytes of an answer: none is longer than the longest table. */
#define PROTOCOL_ANSWER_MAX  (CFI_ROW_MAX * sizeof(struct unwind_row) + (1 << 20))
#define PROTOCOL_REQUEST_MAX (1 << 16)

struct request {
	const char *path;   /* for messages */
	const char *prefix; /* FRAME_PLAN: module->prefix */
	bool full;          /* FRAME_TABLE: not pruned */
	bool interrupted;   /* FRAME_LIVENESS, FRAME_SLOT: see liveness_frame */
	uint32_t module;    /* its id: FRAME_NAMES, then the places; FRAME_LIVENESS, then the */
			    /* place; FRAME_SLOT, then the place and the offset from the CFA */
	uint32_t count;
	uint64_t offsets[PROTOCOL_NAMES_MAX];
};

void request_put(struct wire *wire, const struct request *request);
/* path lives as long as the view's bytes. 0 or -EBADMSG. */
int request_take(struct wire_view *view, struct request *ret_request);

/* FRAME_FAILED. Taken, the code is one that says something of the file, and the text is plain. */
void failure_put(struct wire *wire, const struct error *err);
int failure_take(struct wire_view *view, struct error *ret_err);

/* FRAME_WANT. */
void want_put(struct wire *wire, const struct debug_want *want);
int want_take(struct wire_view *view, struct debug_want *ret_want);

/* FRAME_DONE of each request; taking gives 0, -EBADMSG or -ENOMEM. */
void module_put(struct wire *wire, const struct module *module);
int module_take(struct wire_view *view, struct module *module);

void plan_put(struct wire *wire, const struct probe_plan *plan);
/* The module's segments say where code can be. */
int plan_take(struct wire_view *view, const struct module *module, struct probe_plan **ret_plan);

void table_put(struct wire *wire, const struct cfi_table *table);
int table_take(struct wire_view *view, struct cfi_table *ret_table);

/*
 * The names of one place after the other, as far as the parser came in its time; at least one
 * place. Taken strings live as long as the view's bytes. Taking a place gives 0 or -EBADMSG.
 */
void names_put(struct wire *wire, const struct symbol_name *names, size_t count);
int names_take(struct wire_view *view, struct symbol_name ret_names[PROTOCOL_INLINE_MAX],
	       size_t *ret_count);

/* FRAME_DONE of FRAME_EARLY: the answer to one request behind the other; those that there are not
 * have no bytes. Taking gives 0, -EBADMSG or -ENOMEM, and then nothing is owned. */
void early_put(struct wire *wire, const struct wire *part);
int early_take(struct wire_view *view, struct wire ret_parts[EARLY_KINDS]);
void early_drop(struct wire parts[EARLY_KINDS]); /* all that are still there */

void dynamic_put(struct wire *wire, const struct elf_dynamic *dynamic);
int dynamic_take(struct wire_view *view, struct elf_dynamic *ret_dynamic);

#endif
