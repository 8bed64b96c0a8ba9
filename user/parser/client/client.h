/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of traced programs are untrusted input, and the tracer is root. So the tracer only
 * opens them, and another process reads them, which can do nothing else (parser/server/sandbox.h).
 * Whatever happens to that process affects only the request, never the trace. If it crashes, the
 * file gets a second try, because the process may have been killed for other reasons. If it crashes
 * again, does not answer in time, or sends a malformed answer, it is replaced, the file is never
 * given to a parser again, and a warning says so.
 *
 * Every function waits for its answer. Errors have a message: -ENOEXEC and others about the file,
 * -ENOMEM of this process, -EIO if there is no parser any more.
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
	bool debuginfod; /* query the servers of $DEBUGINFOD_URLS for missing debug information */
	uint64_t patience_ns; /* time for an answer, besides that for the file's size; 0: default */
	void (*work)(int socket); /* the code of the parser process; NULL: server_run */
};

/* Starts a parser. Call this before this process contains anything that a parser must not have.
 * Returns 0 or -errno. */
int parser_start(struct parser **ret_parser, const struct parser_config *config);
/* Checks that a parser has started and dropped its privileges. Returns 0, or -errno with a message
 * in *err. */
int parser_check(struct parser *parser, struct error *err);
/* Stops the parser; no process remains. NULL is fine. */
void parser_stop(struct parser *parser);
pid_t parser_pid(const struct parser *parser); /* 0 if no parser has been taken yet */

/*
 * Sets additional folders, separated by colons, to search for separate debug files
 * (symbol/names/debugfile.h). Names that were not found before may be found after this. Returns 0
 * or -ENOMEM.
 */
int parser_search(struct parser *parser, const char *folders);
const char *parser_folders(const struct parser *parser); /* "" if none were set */

/* A module_reader and an elf_dynamic_reader; ctx is the parser. */
int parser_read_module(void *ctx, struct module *module, struct error *err);
int parser_read_dynamic(void *ctx, int fd, const char *path, struct elf_dynamic *ret_dynamic);

/* Like probe_plan_make. The plan is made once and kept in module->plan. */
int parser_plan(struct parser *parser, struct module *module, const struct probe_plan **ret_plan,
		struct error *err);

/* Like cfi_table_build. */
int parser_table(struct parser *parser, const struct module *module, bool full,
		 struct cfi_table *ret_table, struct error *err);

/* As liveness_frame and liveness_slot. Return 0 or -errno. */
int parser_frame_liveness(struct parser *parser, const struct module *module, uint64_t offset,
			  bool interrupted, struct frame_liveness *ret_frame);
int parser_slot_liveness(struct parser *parser, const struct module *module, uint64_t offset,
			 bool interrupted, int32_t cfa_offset, enum liveness *ret_liveness);

/*
 * Prefetches a file while the tracer does something else. There is no answer; a failure shows when
 * the file is asked for. prefetch.h does this for all files of a process.
 */
void parser_prefetch(struct parser *parser, int fd, const char *path);
/* Stops the second parser, and drops prefetched answers: no more files will be asked for. */
void parser_prefetch_end(struct parser *parser);

/* parser_second_start starts a second parser to share the work; parser_second_prefetch prefetches a
 * file there. Returns 0 or -errno. */
int parser_second_start(struct parser *parser);
void parser_second_prefetch(struct parser *parser, int fd, const char *path);

/* Called with the names of place `index`. The strings are only valid during the call. */
typedef void parser_names_taker(void *ctx, size_t index, const struct symbol_name *names,
				size_t count);

/*
 * Looks up the names of places in a module, like symbolizer_names. Returns the number of places
 * that were looked up, starting with the first. It stops after some milliseconds, so that the
 * caller can do other work. `take` is called for places that have names. Returns 0 if the module
 * has none, or no more.
 */
size_t parser_names(struct parser *parser, const struct module *module, const uint64_t *offsets,
		    size_t count, parser_names_taker *take, void *ctx);

#endif
