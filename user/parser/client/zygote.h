/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The zygote: a child of the tracer that only starts and kills parsers. It is forked once, at the
 * start, while the tracer contains nothing that a parser must not have: later, the tracer has a
 * model of gigabytes, and BPF maps, in its memory. The zygote drops all privileges, reads no file,
 * and receives nothing from the tracer except requests for a new parser. So the exit of a parser is
 * harmless, and does not reach the tracer's SIGCHLD.
 *
 * The zygote ignores signals that a terminal sends to a whole process group. It dies with the
 * tracer, and the parser dies with the zygote.
 */
#ifndef MTRACE_PARSER_CLIENT_ZYGOTE_H
#define MTRACE_PARSER_CLIENT_ZYGOTE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct zygote {
	pid_t pid; /* 0 if there is none */
	int control;
};

/* The code of a parser; returns when its socket is closed. */
typedef void zygote_work(int socket);

/* Starts the zygote and does not wait for it. Returns 0 or -errno. */
int zygote_start(struct zygote *ret_zygote, zygote_work *work);
/* Requests a parser that replaces the current one. It starts while the tracer does something
 * else. */
int zygote_ask(const struct zygote *zygote);
/*
 * Takes the requested parser: its socket, and its pid for messages. It is ready once it has sent
 * FRAME_READY there. Returns 0, or -errno with a message in *err; -EPIPE if the zygote has exited.
 */
int zygote_take(const struct zygote *zygote, uint64_t deadline_ns, int *ret_socket, pid_t *ret_pid,
		struct error *err);
/* Kills both processes and reaps the zygote. An all-zero zygote is fine. */
void zygote_stop(struct zygote *zygote);

#endif
