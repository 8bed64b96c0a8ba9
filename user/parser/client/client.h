/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of traced programs are hostile input, and the tracer is root. So it opens them, and
 * another process reads them, which can do nothing else (parser/server/sandbox.h). Whatever becomes
 * of that one costs what it was asked for, never the trace: if it crashes it gets a second try at
 * the file, since it may have been killed for other reasons; if it crashes again, or does not
 * answer in time, or not sensibly, then it is replaced, the file is never given to a parser again,
 * and one line says so.
 *
 * Every function waits for its answer. Failures are -ENOEXEC and others of the file, -ENOMEM of
 * this process, -EIO if there is no parser any more, with words.
 */
#ifndef MTRACE_PARSER_CLIENT_CLIENT_H
#define MTRACE_PARSER_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/library/elf_dynamic.h"
#include "parser/wire/limits.h"
#include "symbol/cfi_table.h"
#include "symbol/elf/module.h"
#include "symbol/liveness/liveness.h"
#include "symbol/names/symbolizer.h"
#include "symbol/probe_site/plan.h"

struct parser;

struct parser_config {
	bool debuginfod; /* ask the servers of $DEBUGINFOD_URLS for missing debug information */
	uint64_t patience_ns;     /* for an answer, besides what the file's size allows; 0: usual */
	void (*work)(int socket); /* what the parser process runs; NULL: server_run */
};

/* Start it, before there is anything in this process that it must not have. 0 or -errno. */
int parser_start(struct parser **ret_parser, const struct parser_config *config);
/* Has it started, and given up its privileges? 0 or -errno with words. */
int parser_check(struct parser *parser, struct error *err);
/* End it; no process is left. NULL is fine. */
void parser_stop(struct parser *parser);
pid_t parser_pid(const struct parser *parser); /* 0 if none has been taken yet */

/*
 * Folders between colons in which to look for separate debug files, too (symbol/names/debugfile.h);
 * names that were looked up without them may be found now. 0 or -ENOMEM.
 */
int parser_search(struct parser *parser, const char *folders);
const char *parser_folders(const struct parser *parser); /* "" if none were given */

/* A module_reader and an elf_dynamic_reader; ctx is the parser. */
int parser_read_module(void *ctx, struct module *module, struct error *err);
int parser_read_dynamic(void *ctx, int fd, const char *path, struct elf_dynamic *ret_dynamic);

/* As probe_plan_make: made once, kept in module->plan. */
int parser_plan(struct parser *parser, struct module *module, const struct probe_plan **ret_plan,
		struct error *err);

/* As cfi_table_build. */
int parser_table(struct parser *parser, const struct module *module, bool full,
		 struct cfi_table *ret_table, struct error *err);

/* As liveness_frame and liveness_slot. Return 0 or -errno. */
int parser_frame_liveness(struct parser *parser, const struct module *module, uint64_t offset,
			  bool interrupted, struct frame_liveness *ret_frame);
int parser_slot_liveness(struct parser *parser, const struct module *module, uint64_t offset,
			 bool interrupted, int32_t cfa_offset, enum liveness *ret_liveness);

/*
 * Reads a file before it is asked for, while the tracer does something else. Nothing is answered; a
 * failure shows when the file is asked for. ahead.h does this for all files of a process.
 */
void parser_ahead(struct parser *parser, int fd, const char *path);
/* Ends the second parser: no more files will be asked for. */
void parser_ahead_end(struct parser *parser);

/* Starts a second parser that shares the work; reads a file ahead there. Returns 0 or -errno. */
int parser_second_start(struct parser *parser);
void parser_second_ahead(struct parser *parser, int fd, const char *path);

/* Takes the names of place `index`; the strings live until it returns. */
typedef void parser_names_taker(void *ctx, size_t index, const struct symbol_name *names,
				size_t count);

/*
 * Names of places of a module, as symbolizer_names gives them. Returns how many places were looked
 * at, the first ones; fewer than asked for after some milliseconds, so that the caller can see to
 * other things. `take` is called for those that have names. 0: the module has none (any more).
 */
size_t parser_names(struct parser *parser, const struct module *module, const uint64_t *offsets,
		    size_t count, parser_names_taker *take, void *ctx);

#endif
