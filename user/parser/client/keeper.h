/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper: a child of the tracer that does nothing but start parsers, and end them. It is forked
 * once, at the start, when there is nothing yet that a parser should not have: later the tracer has
 * gigabytes of books, and BPF maps in its memory. It gives up all privileges, reads no file, and
 * gets no data but the tracer's wish for a new parser; so a parser's end is nothing special, and
 * no concern of the tracer's SIGCHLD.
 *
 * It ignores what a terminal sends to all of a process group, and ends with the tracer, as the
 * parser ends with it.
 */
#ifndef MTRACE_PARSER_CLIENT_KEEPER_H
#define MTRACE_PARSER_CLIENT_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct keeper {
	pid_t pid; /* 0: none */
	int control;
};

/* What a parser does: returns when its socket is closed. */
typedef void keeper_work(int socket);

/* 0 or -errno. Does not wait for the keeper. */
int keeper_start(struct keeper *ret_keeper, keeper_work *work);
/* Ask for a parser in place of the one there is; it comes while the tracer does something else. */
int keeper_ask(const struct keeper *keeper);
/*
 * Take it: its socket, and its pid for messages. It works once it has sent FRAME_READY there.
 * 0, -EPIPE if the keeper is gone, or -errno with words.
 */
int keeper_take(const struct keeper *keeper, uint64_t deadline_ns, int *ret_socket, pid_t *ret_pid,
		struct error *err);
/* End both and reap the keeper. Zeroed memory is fine. */
void keeper_stop(struct keeper *keeper);

#endif
