/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of a saved model, shared by save.c and load.c only. */
#ifndef MTRACE_NET_CHECKPOINT_CODE_H
#define MTRACE_NET_CHECKPOINT_CODE_H

#include "model/parts.h"
#include "net/stream/pack.h"

#define CHECKPOINT_CLASSES 5          /* in other records: those before LEAK_STACK */
#define CHECKPOINT_NO_SITE UINT32_MAX /* a stack-only record is for all sites together */

/* In this order. The records of a process are between CHECKPOINT_PROCESS and
 * CHECKPOINT_PROCESS_END. */
enum checkpoint_record {
	CHECKPOINT_MODEL = 1,
	CHECKPOINT_PROCESS,
	CHECKPOINT_USER,
	CHECKPOINT_MAPPING,
	CHECKPOINT_WRAPPER,
	CHECKPOINT_STACK,
	CHECKPOINT_STACK_ID,
	CHECKPOINT_SITE,
	CHECKPOINT_REGION,
	CHECKPOINT_PIECE,
	CHECKPOINT_BLOCK,
	CHECKPOINT_PENDING,
	CHECKPOINT_ENDING,
	CHECKPOINT_FREED,
	CHECKPOINT_ERROR,
	CHECKPOINT_LAST_CALL,
	CHECKPOINT_SERIES,
	CHECKPOINT_AGES,
	CHECKPOINT_LEAKS,
	CHECKPOINT_PROCESS_END,
	CHECKPOINT_END,
	CHECKPOINT_STACK_ONLY, /* since minor version 3: in a process, or before the first one */
	CHECKPOINT_TAGGED,     /* since minor version 4: in a process */
	CHECKPOINT_RECORDS
};

#define STACK_TRUNCATED   0x01
#define STACK_GUESSED     0x02
#define STACK_PLACEHOLDER 0x04
#define STACK_OTHER       0x08
#define STACK_SHARED      0x10

#define STACK_FRAMES_MAX 256

#endif
