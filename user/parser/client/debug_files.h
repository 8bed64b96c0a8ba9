/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The separate debug files that a parser wants during one request. */
#ifndef MTRACE_PARSER_CLIENT_DEBUG_FILES_H
#define MTRACE_PARSER_CLIENT_DEBUG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "parser/wire/channel.h"
#include "symbol/elf/module.h"
#include "symbol/names/debugfile.h"

/* Zero-initialize it, and set `folders` and `debuginfod`. */
struct debug_files {
	const char *folders; /* see debug_search */
	bool debuginfod;     /* ask a server for what is not on this machine */

	struct debug_search search;
	unsigned int wanted;
	uint64_t time_ns; /* that the files take to read, in all */
};

/*
 * Answers FRAME_WANT with a descriptor of a file, or without one. *deadline_ns is extended by the
 * time that the search takes, and by the time that a slow disk needs for the file, within a limit
 * for all files. Returns 0 or -errno; -EBADMSG for a frame that a correct parser would not send.
 */
int debug_files_answer(struct debug_files *files, int socket, const struct module *module,
		       const struct frame *frame, uint64_t *deadline_ns);
void debug_files_end(struct debug_files *files);

#endif
