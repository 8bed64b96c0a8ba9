/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper: a child of the tracer that only starts and kills parsers. It is forked once, at the
 * start, while the tracer contains nothing that a parser must not have: later, the tracer has a
 * model of gigabytes, and BPF maps, in its memory. The keeper drops all privileges, reads no file,
 * and receives nothing from the tracer except requests for a new parser. So the exit of a parser is
 * harmless, and does not reach the tracer's SIGCHLD.
 *
 * The keeper ignores signals that a terminal sends to a whole process group. It dies with the
 * tracer, and the parser dies with the keeper.
 */
#ifndef MTRACE_PARSER_CLIENT_KEEPER_H
#define MTRACE_PARSER_CLIENT_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct keeper {
	pid_t pid; /* 0 if there is none */
	int control;
};

/* The code of a parser; returns when its socket is closed. */
typedef void keeper_work(int socket);

/* Starts the keeper and does not wait for it. Returns 0 or -errno. */
int keeper_start(struct keeper *ret_keeper, keeper_work *work);
/* Requests a parser that replaces the current one. It starts while the tracer does something
 * else. */
int keeper_ask(const struct keeper *keeper);
/*
 * Takes the requested parser: its socket, and its pid for messages. It is ready once it has sent
 * FRAME_READY there. Returns 0, or -errno with a message in *err; -EPIPE if the keeper has exited.
 */
int keeper_take(const struct keeper *keeper, uint64_t deadline_ns, int *ret_socket, pid_t *ret_pid,
		struct error *err);
/* Kills both processes and reaps the keeper. An all-zero keeper is fine. */
void keeper_stop(struct keeper *keeper);

#endif
