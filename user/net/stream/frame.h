/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outer form of a stream: a hello, and frames behind it. docs/STREAM.md has every byte.
 *
 * A frame's checksum holds for its place in the stream as well: one that is missing, told twice or
 * told elsewhere is seen.
 */
#ifndef MTRACE_NET_STREAM_FRAME_H
#define MTRACE_NET_STREAM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/stream/pack.h"
#include "net/stream/squeeze.h"

#define STREAM_MAGIC      "\x89MTB\r\n\x1a\n"
#define STREAM_MAGIC_SIZE 8
#define STREAM_MAJOR      1 /* of another one nothing is understood … */
#define STREAM_MINOR      2 /* … of another of these, all that is known here */
#define HELLO_SIZE        32

#define STREAM_LITTLE 1
#define STREAM_BIG    2

/* Who speaks. Little else can be believed before he is known. */
struct stream_hello {
	uint16_t major;
	uint16_t minor;
	uint8_t order;    /* of the machine that traces: STREAM_LITTLE or STREAM_BIG */
	uint8_t word;     /* bytes of its pointers */
	uint32_t machine; /* e_machine of the tracer; 0: not told */
};

void hello_pack(uint8_t ret_bytes[HELLO_SIZE], const struct stream_hello *hello);
/* 0, or -EBADMSG or -EPROTONOSUPPORT with words. */
int hello_unpack(const uint8_t bytes[HELLO_SIZE], struct stream_hello *ret_hello,
		 struct error *err);
/* Of this program. */
struct stream_hello hello_own(void);

/* Kinds of frames. Values are for ever; what is not known is skipped, if it is not needed. */
enum stream_kind {
	STREAM_SETTINGS = 1, /* what shapes the books; before all but the hello */
	STREAM_MODULE,       /* before the first mapping of it */
	STREAM_EVENTS,
	STREAM_SCAN_SITES, /* of the leak scan whose … */
	STREAM_SCAN,       /* … end this is */
	STREAM_UNPROBED,   /* from here on probes are taken out */
	STREAM_END,        /* the last one */
	STREAM_BOOKS,      /* instead of all that came before … */
	STREAM_RESUME,     /* … and from where on the stream goes on behind them */
	STREAM_SCANNED,    /* what became of a scan that a client has ordered */
};

#define FRAME_HEAD_SIZE 16
#define FRAME_BODY_MAX  (8u << 20) /* bytes, before and after compression */
#define FRAME_SQUEEZED  0x1        /* flag: the body is compressed */
#define FRAME_NEEDED    0x2        /* flag: without it, what follows would be misunderstood */

struct frame_head {
	uint8_t kind;
	uint8_t flags;
	uint32_t size; /* of the body as it is stored */
	uint64_t checksum;
};

/*
 * Append the frame of this number (the first is 0) to `out`, compressed if there is a squeeze and
 * it becomes smaller. 0, -ENOMEM, or -EMSGSIZE for a body beyond FRAME_BODY_MAX.
 */
int frame_pack(struct pack *out, unsigned int kind, uint64_t number, const struct pack *body,
	       struct squeeze *squeeze);

/* 0 or -EBADMSG: no frame is that long, or has such flags. */
int frame_head_unpack(const uint8_t bytes[FRAME_HEAD_SIZE], struct frame_head *ret_head);
/* Is it the frame that was sent? `bytes`: the head, and the body behind it. */
bool frame_is_whole(const uint8_t *bytes, const struct frame_head *head, uint64_t number);
/*
 * The body itself: in `stored` if that is what it is, else in *room. 0, -ENOMEM, -EBADMSG, or
 * -EOPNOTSUPP where nothing can be decompressed. *squeeze is made when it is needed first.
 */
int frame_body(const struct frame_head *head, const uint8_t *stored, struct squeeze **squeeze,
	       struct pack *room, struct unpack *ret_body);

#endif
