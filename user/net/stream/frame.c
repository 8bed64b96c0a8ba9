// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/frame.h"
#include "base/hash.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define CHECKED_SIZE (HELLO_SIZE - 8) /* the part of a hello that its checksum covers */

/* The processor of this program. */
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__i386__)
#define MACHINE EM_386
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__arm__)
#define MACHINE EM_ARM
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__powerpc__)
#define MACHINE EM_PPC
#else
#define MACHINE EM_NONE
#endif

struct stream_hello hello_own(void)
{
	return (struct stream_hello){
		.major = STREAM_MAJOR,
		.minor = STREAM_MINOR,
		.order = __BYTE_ORDER == __LITTLE_ENDIAN ? STREAM_LITTLE : STREAM_BIG,
		.word = sizeof(void *),
		.machine = MACHINE,
	};
}

void hello_pack(uint8_t ret_bytes[HELLO_SIZE], const struct stream_hello *hello)
{
	memset(ret_bytes, 0, HELLO_SIZE);
	for (size_t i = 0; i < STREAM_MAGIC_SIZE; i++)
		ret_bytes[i] = (uint8_t)STREAM_MAGIC[i];
	fixed_put(ret_bytes + 8, hello->major, 2);
	fixed_put(ret_bytes + 10, hello->minor, 2);
	ret_bytes[12] = hello->order;
	ret_bytes[13] = hello->word;
	fixed_put(ret_bytes + 16, hello->machine, 4);
	fixed_put(ret_bytes + CHECKED_SIZE, hash_check(ret_bytes, CHECKED_SIZE, 0), 8);
}

int hello_unpack(const uint8_t bytes[HELLO_SIZE], struct stream_hello *ret_hello, struct error *err)
{
	struct stream_hello hello = {
		.major = (uint16_t)fixed_get(bytes + 8, 2),
		.minor = (uint16_t)fixed_get(bytes + 10, 2),
		.order = bytes[12],
		.word = bytes[13],
		.machine = (uint32_t)fixed_get(bytes + 16, 4),
	};

	if (memcmp(bytes, STREAM_MAGIC, STREAM_MAGIC_SIZE))
		return error_set(err, -EBADMSG, "it is not an mtrace-bpf recording");
	if (fixed_get(bytes + CHECKED_SIZE, 8) != hash_check(bytes, CHECKED_SIZE, 0))
		return error_set(err, -EBADMSG, "its header is damaged");
	if (hello.major != STREAM_MAJOR)
		return error_set(err, -EPROTONOSUPPORT,
				 "it has format version %u, and this mtrace-bpf reads version %u",
				 hello.major, STREAM_MAJOR);
	*ret_hello = hello;
	return 0;
}

/* Starts with the body, because it may be long and does not always follow the head in memory. */
static uint64_t checksum(const uint8_t *head, const uint8_t *body, size_t size, uint64_t number)
{
	return hash_check(head, FRAME_HEAD_SIZE - 8, hash_check(body, size, number));
}

/* Appends the original size and the compressed bytes. Returns false, and appends nothing, if that
 * is not shorter. */
static bool pack_compressed(struct pack *out, const struct pack *body,
			    struct compressor *compressor)
{
	size_t room = compressed_bound(body->count), before = out->count, size;

	pack_fixed(out, body->count, 4);
	if (!pack_has_room(out, room))
		return false;
	size = compress(compressor, out->bytes + out->count, room, body->bytes, body->count);
	if (!size || size + 4 >= body->count) {
		out->count = before;
		return false;
	}
	out->count += size;
	return true;
}

int frame_pack(struct pack *out, unsigned int kind, uint64_t number, const struct pack *body,
	       struct compressor *compressor)
{
	size_t start = out->count, size;
	bool compressed;
	uint8_t *head;

	if (body->err || body->count > FRAME_BODY_MAX)
		return body->err ? body->err : -EMSGSIZE;
	for (size_t i = 0; i < FRAME_HEAD_SIZE; i++)
		pack_byte(out, 0);
	compressed = compressor && pack_compressed(out, body, compressor);
	if (!compressed)
		pack_bytes(out, body->bytes, body->count);
	if (out->err)
		return out->err;
	head = out->bytes + start;
	size = out->count - start - FRAME_HEAD_SIZE;
	head[0] = (uint8_t)kind;
	head[1] = (uint8_t)((compressed ? FRAME_SQUEEZED : 0) |
			    (kind == STREAM_BOOKS || kind == STREAM_RESUME ? FRAME_NEEDED : 0));
	fixed_put(head + 4, size, 4);
	fixed_put(head + 8, checksum(head, head + FRAME_HEAD_SIZE, size, number), 8);
	return 0;
}

int frame_head_unpack(const uint8_t bytes[FRAME_HEAD_SIZE], struct frame_head *ret_head)
{
	struct frame_head head = {
		.kind = bytes[0],
		.flags = bytes[1],
		.size = (uint32_t)fixed_get(bytes + 4, 4),
		.checksum = fixed_get(bytes + 8, 8),
	};

	if (head.size > FRAME_BODY_MAX || head.flags & ~(FRAME_SQUEEZED | FRAME_NEEDED))
		return -EBADMSG;
	*ret_head = head;
	return 0;
}

bool frame_is_whole(const uint8_t *bytes, const struct frame_head *head, uint64_t number)
{
	return checksum(bytes, bytes + FRAME_HEAD_SIZE, head->size, number) == head->checksum;
}

int frame_body(const struct frame_head *head, const uint8_t *stored, struct compressor **compressor,
	       struct pack *room, struct unpack *ret_body)
{
	struct unpack view = {.at = stored, .end = stored + head->size};
	size_t size;
	int code;

	if (head->flags & FRAME_SQUEEZED) {
		code = *compressor ? 0 : compressor_new(compressor);
		size = unpack_fixed(&view, 4);
		if (code || view.bad || size > FRAME_BODY_MAX)
			return code ? code : -EBADMSG;
		room->count = 0;
		if (!pack_has_room(room, size + 1))
			return -ENOMEM;
		code = decompress(*compressor, room->bytes, size, view.at, unpack_left(&view));
		if (code)
			return code;
		view = (struct unpack){.at = room->bytes, .end = room->bytes + size};
	}
	*ret_body = view;
	return 0;
}
