/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --hold-exec: a process that executes a program is paused (os/exec/guard.h) until the allocators
 * in its file, and in the libraries that the dynamic linker will map, are probed.
 */
#ifndef MTRACE_SOURCE_BPF_HOLD_H
#define MTRACE_SOURCE_BPF_HOLD_H

#include <stdbool.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/vec.h"
#include "os/exec/guard.h"

struct trace_source;

/* The modules that a program maps at its start. */
struct known_program {
	uint64_t until_ns; /* valid until then: libraries may be replaced */
	VEC(uint32_t) modules;
};

struct hold {
	struct exec_guard guard;
	int fd;                        /* epoll: readable when guard.socket is; 0: none */
	uint64_t restarted_ns;         /* 0: never */
	struct map64 index_of_program; /* program_key() → index */
	VEC(struct known_program) programs;
	uint64_t late; /* programs that were released before their probes were in place */
};

/* Starts holding programs. Returns 0 or -errno; sets *err. Does nothing without --hold-exec. */
int hold_open(struct trace_source *bpf, struct error *err);
/* A descriptor to poll, or -1. It stays the same when the guard is restarted. */
int hold_fd(const struct trace_source *bpf);
/* Returns 1 and the next paused program, or 0. Starts another guard if this one has exited. */
int hold_take(struct trace_source *bpf, struct held_exec *ret_held);
/* Places its probes, then releases it. All earlier records must have been read. Returns 0 or
 * -ENOMEM. */
int hold_serve(struct trace_source *bpf, struct held_exec *held);
/* Stops holding programs. */
void hold_close(struct trace_source *bpf);

#endif
