/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of a saved model, shared by save.c and load.c only. */
#ifndef MTRACE_NET_BOOKS_CODE_H
#define MTRACE_NET_BOOKS_CODE_H

#include "model/parts.h"
#include "net/stream/pack.h"

#define BOOKS_CLASSES 5          /* that other records tell of: those before LEAK_STACK */
#define BOOKS_NO_SITE UINT32_MAX /* a stack-only record is for all sites together */

/* In this order. The records of a process are between BOOKS_PROCESS and BOOKS_PROCESS_END. */
enum books_record {
	BOOKS_MODEL = 1,
	BOOKS_PROCESS,
	BOOKS_USER,
	BOOKS_MAPPING,
	BOOKS_WRAPPER,
	BOOKS_STACK,
	BOOKS_STACK_ID,
	BOOKS_SITE,
	BOOKS_REGION,
	BOOKS_PIECE,
	BOOKS_BLOCK,
	BOOKS_PENDING,
	BOOKS_ENDING,
	BOOKS_FREED,
	BOOKS_ERROR,
	BOOKS_LAST_CALL,
	BOOKS_SERIES,
	BOOKS_AGES,
	BOOKS_LEAKS,
	BOOKS_PROCESS_END,
	BOOKS_END,
	BOOKS_STACK_ONLY, /* since minor version 3: in a process, or before the first one */
	BOOKS_TAGGED,     /* since minor version 4: in a process */
	BOOKS_RECORDS
};

#define STACK_TRUNCATED   0x01
#define STACK_GUESSED     0x02
#define STACK_PLACEHOLDER 0x04
#define STACK_OTHER       0x08
#define STACK_SHARED      0x10

#define STACK_FRAMES_MAX 256

#endif
