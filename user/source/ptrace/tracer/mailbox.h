/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the command and its guardian (guardian.h) have in common: memory that both map. The
 * guardian writes records into a ring like the kernel's; the command asks for one thing at a time,
 * by a mailbox, and waits for the answer. A socket between them rings, and its end tells each that
 * the other one is gone.
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
	REQUEST_FORGET,  /* and not any more */
	REQUEST_PLACE,   /* breakpoints: struct place */
	REQUEST_CODE,    /* its executable mappings: struct code_mapping, sorted */
	REQUEST_GO_ON,   /* the thread `pid` that stands at a RECORD_HELD */
	REQUEST_LOSSES,  /* answered by LOSS_COUNT counters */
	REQUEST_WATCH,   /* hold a process at its end: enum hold_from as `count` */
	REQUEST_LET_END, /* and not any more */
	REQUEST_STOP,    /* all its threads; answered when they stand, with `count` registers */
	REQUEST_RELEASE, /* they go on */
	REQUEST_DETACH,  /* everything; the guardian ends once its last thread is let go */
	REQUEST_COUNT,
};

struct place {
	uint64_t address;
	uint64_t cookie;
	int32_t result;   /* 0 or -errno */
	uint16_t kind;    /* enum probe_kind */
	int16_t original; /* byte; -1 if it is not known */
};

#define MAILBOX_BYTES (1u << 20)

struct mailbox {
	uint32_t ringing; /* something is asked; set by the command, cleared with the answer */
	uint32_t request; /* enum request */
	int32_t pid;
	uint32_t count; /* of what is in the letter */
	int32_t answer; /* 0 or -errno */
	uint32_t pad;
	union {
		struct place places[MAILBOX_BYTES / sizeof(struct place)];
		struct code_mapping code[MAILBOX_BYTES / sizeof(struct code_mapping)];
		uint64_t losses[LOSS_COUNT];
	} letter;
};

#define PLACES_MAX (MAILBOX_BYTES / sizeof(struct place))
#define CODE_MAX   (MAILBOX_BYTES / sizeof(struct code_mapping))

/* Of a thread that stands; its registers follow. */
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

#define SHARED_REGISTERS (256u << 20) /* bytes; touched as far as they are needed */
#define SHARED_ROWS      (1u << 21)
#define SHARED_PAGES     (1u << 20)

/* Made before the guardian is born. */
struct shared {
	struct mailbox *mailbox;
	struct unwind_row *rows; /* SHARED_ROWS of them; only the command writes */
	struct unwind_page *pages;
	char *registers; /* SHARED_REGISTERS bytes */
	struct ring ring;
	int bell; /* an eventfd that rings when records should be read */
};

/* 0 or -errno; close in any case. */
int shared_open(struct shared *shared, uint64_t ring_bytes);
void shared_close(struct shared *shared);

#define WAKE_SIGNAL SIGUSR1 /* interrupts the guardian's wait */

/* The command's side. 0 or -errno; -EPIPE if the guardian is gone. */
int mailbox_ask(struct mailbox *mailbox, int socket, pid_t guardian, enum request request,
		pid_t pid);

/* The guardian's. */
static inline bool mailbox_is_ringing(const struct mailbox *mailbox)
{
	return __atomic_load_n(&mailbox->ringing, __ATOMIC_ACQUIRE);
}
void mailbox_answer(struct mailbox *mailbox, int socket, int answer);

#endif
