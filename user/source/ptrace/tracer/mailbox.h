/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that the command and its tracer process (tracer_process.h) share. The tracer process
 * writes records to a ring like the kernel's. The command sends one request at a time through a
 * mailbox, and waits for the reply. A socket between them wakes the peer, and its end shows that
 * the peer is gone.
 */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_MAILBOX_H
#define MTRACE_SOURCE_PTRACE_TRACER_MAILBOX_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/unwind_row.h"
#include "bpf/abi.h"
#include "source/record/ring.h"
#include "source/process/probe_request.h"

enum request {
	REQUEST_SEIZE,   /* trace all threads of a process */
	REQUEST_FORGET,  /* stop tracing it */
	REQUEST_PLACE,   /* breakpoints: struct breakpoint_place */
	REQUEST_CODE,    /* its executable mappings: struct code_mapping, sorted */
	REQUEST_GO_ON,   /* resume the thread `pid` that is stopped at a RECORD_HELD */
	REQUEST_LOSSES,  /* the reply has LOSS_COUNT counters */
	REQUEST_WATCH,   /* pause a process at its exit: enum hold_from as `count` */
	REQUEST_LET_END, /* let it exit */
	REQUEST_STOP,    /* stop all its threads; the reply has `count` registers */
	REQUEST_RELEASE, /* resume them */
	REQUEST_DETACH,  /* detach everything; the tracer process then exits */
	REQUEST_COUNT,
};

struct breakpoint_place {
	uint64_t address;
	uint64_t cookie;
	int32_t result;   /* 0 or -errno */
	uint16_t kind;    /* enum probe_kind */
	int16_t original; /* byte; -1: unknown */
};

#define MAILBOX_BYTES (1u << 20)

struct mailbox {
	uint32_t ringing; /* a request is pending; set by the command, cleared with the reply */
	uint32_t request; /* enum request */
	int32_t pid;
	uint32_t count; /* number of items */
	int32_t answer; /* 0 or -errno */
	uint32_t pad;
	union {
		struct breakpoint_place places[MAILBOX_BYTES / sizeof(struct breakpoint_place)];
		struct code_mapping code[MAILBOX_BYTES / sizeof(struct code_mapping)];
		uint64_t losses[LOSS_COUNT];
	} items;
};

#define PLACES_MAX (MAILBOX_BYTES / sizeof(struct breakpoint_place))
#define CODE_MAX   (MAILBOX_BYTES / sizeof(struct code_mapping))

/* Header of a stopped thread; its registers follow. */
struct shared_registers {
	int32_t tid;
	uint32_t word;
	uint32_t red_zone;
	uint32_t chunk;
	uint32_t size;
	uint32_t pad;
	uint64_t stack;
	uint64_t thread;
};

#define SHARED_REGISTERS (256u << 20) /* bytes; only touched as needed */
#define SHARED_ROWS      (1u << 21)
#define SHARED_PAGES     (1u << 20)

/* Created before the tracer process is forked. */
struct shared {
	struct mailbox *mailbox;
	struct unwind_row *rows; /* SHARED_ROWS of them; only the command writes */
	struct unwind_page *pages;
	char *registers; /* SHARED_REGISTERS bytes */
	struct ring ring;
	int bell; /* an eventfd that rings when records should be read */
};

/* Returns 0 or -errno; call shared_close() in any case. */
int shared_open(struct shared *shared, uint64_t ring_bytes);
void shared_close(struct shared *shared);

#define WAKE_SIGNAL SIGUSR1 /* interrupts the tracer process's wait */

/* The command's side: sends a request and waits. Returns the reply, or -EPIPE if the tracer process
 * is gone. */
int mailbox_ask(struct mailbox *mailbox, int socket, pid_t tracer_process, enum request request,
		pid_t pid);

/* The tracer process's side. */
static inline bool mailbox_is_ringing(const struct mailbox *mailbox)
{
	return __atomic_load_n(&mailbox->ringing, __ATOMIC_ACQUIRE);
}
void mailbox_answer(struct mailbox *mailbox, int socket, int answer);

#endif
