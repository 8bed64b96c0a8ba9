/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How books are told, which both sides know, and nobody else. */
#ifndef MTRACE_NET_BOOKS_CODE_H
#define MTRACE_NET_BOOKS_CODE_H

#include "model/parts.h"
#include "net/stream/pack.h"

/* One behind the other; what is of a process comes between its begin and its end, in this order. */
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
	BOOKS_RECORDS
};

#define STACK_TRUNCATED   0x01
#define STACK_GUESSED     0x02
#define STACK_PLACEHOLDER 0x04
#define STACK_OTHER       0x08
#define STACK_SHARED      0x10

#define STACK_FRAMES_MAX 256

/* A number, or several alike, of a struct. */
struct books_field {
	uint16_t offset;
	uint8_t size;  /* bytes of one; 0: a double, not negative */
	uint8_t count; /* of them */
	uint64_t max;
};

struct books_fields {
	const struct books_field *items;
	size_t count;
};

extern const struct books_fields fields_model, fields_process, fields_user, fields_mapping,
	fields_wrapper, fields_site, fields_region, fields_piece, fields_block, fields_pending,
	fields_freed, fields_error, fields_last_call, fields_ages, fields_sum, fields_example;

void pack_fields(struct pack *pack, const struct books_fields *fields, const void *from);
void unpack_fields(struct unpack *view, const struct books_fields *fields, void *ret_to);

/* A block as it is told: without fields of bits. */
struct books_block {
	uint64_t address, size;
	uint32_t site, time;
	uint8_t sample;
};

#endif
