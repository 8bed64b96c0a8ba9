/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes Protocol Buffers messages (protobuf.dev/programming-guides/encoding). */
#ifndef MTRACE_REPORT_PPROF_PROTO_H
#define MTRACE_REPORT_PPROF_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* All-zero memory is an empty message. */
struct proto {
	VEC(char) bytes;
	int err; /* 0 or -ENOMEM: later fields are missing */
};

/* A number field, which may be negative. Writes nothing for 0, the default. */
void proto_number(struct proto *proto, uint32_t field, uint64_t number);
/* A length-delimited field: bytes, a text, or a message. */
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size);
void proto_text(struct proto *proto, uint32_t field, const char *text);
void proto_message(struct proto *proto, uint32_t field, const struct proto *message);
/* A repeated field of numbers, packed. */
void proto_numbers(struct proto *proto, uint32_t field, const uint64_t *numbers, size_t count);

/* Empties it, but keeps its memory. */
void proto_clear(struct proto *proto);
void proto_free(struct proto *proto);

#endif
