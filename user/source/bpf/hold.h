/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --hold-exec: who executes a program waits (os/exec/guard.h) until the allocators of its file, and
 * of the libraries that the dynamic linker will map, have their probes.
 */
#ifndef MTRACE_SOURCE_BPF_HOLD_H
#define MTRACE_SOURCE_BPF_HOLD_H

#include <stdbool.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/vec.h"
#include "os/exec/guard.h"

struct trace_source;

/* What a program maps at its start. */
struct known_program {
	uint64_t until_ns; /* believed until then: libraries may be replaced */
	VEC(uint32_t) modules;
};

struct hold {
	struct exec_guard guard;
	int fd;                        /* epoll: readable when guard.socket is; 0: none */
	uint64_t restarted_ns;         /* 0: never */
	struct map64 index_of_program; /* hash of what the answer depends on → index */
	VEC(struct known_program) programs;
	uint64_t late; /* programs that were let go before their probes were in place */
};

/* From now on. 0 or -errno with words; without --hold-exec it does nothing. */
int hold_open(struct trace_source *bpf, struct error *err);
/* A descriptor to poll, or -1. It stays the same when the guard is restarted. */
int hold_fd(const struct trace_source *bpf);
/* The next one that waits: 1 or 0. Starts another guard if this one has exited. */
int hold_take(struct trace_source *bpf, struct held_exec *ret_held);
/* Place its probes; all records that came before have been read. Then let it go. 0 or -ENOMEM. */
int hold_serve(struct trace_source *bpf, struct held_exec *held);
/* Hold nobody any more. */
void hold_close(struct trace_source *bpf);

#endif
