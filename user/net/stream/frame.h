/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outer format of a stream: a hello, followed by frames. docs/STREAM.md describes every byte.
 *
 * The checksum of a frame also covers its number, so missing, repeated and misplaced frames are
 * detected.
 */
#ifndef MTRACE_NET_STREAM_FRAME_H
#define MTRACE_NET_STREAM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/stream/pack.h"
#include "net/stream/compressor.h"

#define STREAM_MAGIC      "\x89MTB\r\n\x1a\n"
#define STREAM_MAGIC_SIZE 8
#define STREAM_MAJOR      1 /* streams of other major versions cannot be read … */
#define STREAM_MINOR      4 /* … those of other minor versions can, as far as known here */
#define HELLO_SIZE        32

#define STREAM_LITTLE 1
#define STREAM_BIG    2

/* The first bytes of a stream. They tell how to read the rest. */
struct stream_hello {
	uint16_t major;
	uint16_t minor;
	uint8_t order;    /* byte order of the tracing machine: STREAM_LITTLE or STREAM_BIG */
	uint8_t word;     /* size of its pointers in bytes */
	uint32_t machine; /* e_machine of the tracer; 0: unknown */
};

void hello_pack(uint8_t ret_bytes[HELLO_SIZE], const struct stream_hello *hello);
/* Returns 0, or -EBADMSG or -EPROTONOSUPPORT with a message in *err. */
int hello_unpack(const uint8_t bytes[HELLO_SIZE], struct stream_hello *ret_hello,
		 struct error *err);
/* The hello of this program. */
struct stream_hello hello_own(void);

/* Kinds of frames. The values never change. Readers skip unknown kinds without FRAME_NEEDED. */
enum stream_kind {
	STREAM_SETTINGS = 1, /* what shapes the model; first after the hello */
	STREAM_MODULE,       /* before its first mapping */
	STREAM_EVENTS,
	STREAM_SCAN_SITES, /* from a leak scan … */
	STREAM_SCAN,       /* … that ends with this */
	STREAM_UNPROBED,   /* probes are being removed from here on */
	STREAM_END,        /* the last frame */
	STREAM_BOOKS,      /* a checkpoint: replaces everything before … */
	STREAM_RESUME,     /* … and this tells where the stream continues */
	STREAM_SCANNED,    /* the result of a scan that a client has ordered */
};

#define FRAME_HEAD_SIZE 16
#define FRAME_BODY_MAX  (8u << 20) /* in bytes, before and after compression */
#define FRAME_SQUEEZED  0x1        /* flag: the body is compressed */
#define FRAME_NEEDED    0x2        /* flag: readers that do not know the kind must not skip it */

struct frame_head {
	uint8_t kind;
	uint8_t flags;
	uint32_t size; /* of the body as it is stored */
	uint64_t checksum;
};

/*
 * Appends a frame to `out`. `number` is its position in the stream, starting at 0. Compresses it if
 * there is a compressor and the result is smaller. Returns 0, -ENOMEM, or -EMSGSIZE if the body
 * exceeds FRAME_BODY_MAX.
 */
int frame_pack(struct pack *out, unsigned int kind, uint64_t number, const struct pack *body,
	       struct compressor *compressor);

/* Returns 0, or -EBADMSG if the size is too large or the flags are unknown. */
int frame_head_unpack(const uint8_t bytes[FRAME_HEAD_SIZE], struct frame_head *ret_head);
/* Verifies the checksum. `bytes` is the head followed by the body. */
bool frame_is_whole(const uint8_t *bytes, const struct frame_head *head, uint64_t number);
/*
 * Finds the body: in `stored`, or decompressed in *room. Creates *compressor when it is first
 * needed. Returns 0, -ENOMEM, -EBADMSG, or -EOPNOTSUPP if decompression is not built in.
 */
int frame_body(const struct frame_head *head, const uint8_t *stored, struct compressor **compressor,
	       struct pack *room, struct unpack *ret_body);

#endif
