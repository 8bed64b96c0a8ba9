/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the numbers in each struct of a model. Saving and loading both use them. */
#ifndef MTRACE_NET_CHECKPOINT_FIELDS_H
#define MTRACE_NET_CHECKPOINT_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "net/stream/pack.h"

/* One number of a struct, or an array of them. */
struct checkpoint_field {
	uint16_t offset;
	uint8_t size;  /* bytes of one number; 0 for a double, which must not be negative */
	uint8_t count; /* length of the array */
	uint64_t max;
};

struct checkpoint_fields {
	const struct checkpoint_field *items;
	size_t count;
};

extern const struct checkpoint_fields fields_model, fields_process, fields_user, fields_mapping,
	fields_wrapper, fields_site, fields_region, fields_piece, fields_block, fields_pending,
	fields_freed, fields_error, fields_last_call, fields_ages, fields_sum, fields_example;

void pack_fields(struct pack *pack, const struct checkpoint_fields *fields, const void *from);
void unpack_fields(struct unpack *view, const struct checkpoint_fields *fields, void *ret_to);

/* A block as it is saved, without bit fields. */
struct checkpoint_block {
	uint64_t address, size;
	uint32_t site, time;
	uint8_t sample;
};

#endif
