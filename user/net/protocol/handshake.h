/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between server and client before the stream: three of fixed size, followed by orders
 * of eight bytes. docs/STREAM.md describes every byte.
 *
 * Both may know a token. Neither sends it: each proves that it knows it, using random numbers from
 * the other side. So an eavesdropper cannot reuse anything, and an impostor of the server learns
 * nothing.
 */
#ifndef MTRACE_NET_PROTOCOL_HANDSHAKE_H
#define MTRACE_NET_PROTOCOL_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/connection/sha256.h"

#define HANDSHAKE_VERSION 1
#define NONCE_SIZE        32

#define GREETING_SIZE 48 /* server → client */
#define REQUEST_SIZE  96 /* client → server */
#define ANSWER_SIZE   64 /* server → client, followed by the stream */
#define ORDER_SIZE    8  /* client → server, any time later */

struct handshake_greeting {
	bool wants_proof;
	bool wants_tls; /* nothing else is said without TLS */
	uint8_t nonce[NONCE_SIZE];
};

struct handshake_request {
	uint64_t trace;   /* the trace that it is reading; 0: any */
	uint64_t offset;  /* in bytes; 0: from the beginning */
	bool takes_model; /* accepts a checkpoint in place of what is no longer kept */
	uint8_t nonce[NONCE_SIZE];
	uint8_t proof[SHA256_SIZE];
};

enum handshake_status {
	HANDSHAKE_WELCOME,
	HANDSHAKE_WRONG_PROOF,
	HANDSHAKE_OTHER_TRACE, /* not the trace that it was reading */
	HANDSHAKE_GONE,        /* the requested data is no longer kept */
	HANDSHAKE_FULL,        /* too many clients */
	HANDSHAKE_STATUS_COUNT
};

struct handshake_answer {
	enum handshake_status status;
	bool control;        /* the client is in control */
	bool has_checkpoint; /* a separate stream comes first: a checkpoint, and a resume record for
				… */
	bool comes_back; /* clients that cannot follow are disconnected, and get a checkpoint when
			    they reconnect */
	bool scans;      /* accepts ORDER_SCAN */
	uint64_t trace;  /* never 0 */
	uint64_t offset; /* … the offset at which the stream starts */
	uint8_t proof[SHA256_SIZE];
};

enum order_kind {
	ORDER_END = 1,  /* end the trace */
	ORDER_SCAN = 2, /* scan for leaks now; the stream contains the answer */
};

struct handshake_order {
	enum order_kind kind;
	bool live;    /* ORDER_SCAN: scan while the process runs */
	uint32_t tag; /* ORDER_SCAN: identifies the answer; at most HANDSHAKE_TAG_MAX */
	uint32_t pid; /* ORDER_SCAN: the process to scan; 0: all */
};

#define HANDSHAKE_TAG_MAX 0x7fffff

/* The shared secret. size 0: none. */
struct handshake_token {
	uint8_t bytes[256];
	size_t size;
};

#define TOKEN_MIN 16

/* Reads the token from a file that nobody else can read. It needs at least TOKEN_MIN bytes, not
 * counting a newline at the end. Returns 0, or -errno with a message in *err. */
int token_read(struct handshake_token *ret_token, const char *path, struct error *err);

/* The first bytes of every request. A client without TLS sends them immediately, so that a server
 * that wants TLS can recognize it. */
#define REQUEST_START 8
void request_begin(uint8_t ret_bytes[REQUEST_START]);
/* Returns true if a request can start with this byte; TLS never does. */
bool request_begins(uint8_t first);

/* The pack functions compute the proofs. */
void greeting_pack(uint8_t ret_bytes[GREETING_SIZE], const struct handshake_greeting *greeting);
void request_pack(uint8_t ret_bytes[REQUEST_SIZE], const struct handshake_request *request,
		  const struct handshake_token *token, const uint8_t greeting[GREETING_SIZE]);
void answer_pack(uint8_t ret_bytes[ANSWER_SIZE], const struct handshake_answer *answer,
		 const struct handshake_token *token, const uint8_t request[REQUEST_SIZE]);
void order_pack(uint8_t ret_bytes[ORDER_SIZE], const struct handshake_order *order);

/* Return 0, -EBADMSG or -EPROTONOSUPPORT. */
int greeting_unpack(const uint8_t bytes[GREETING_SIZE], struct handshake_greeting *ret_greeting);
int request_unpack(const uint8_t bytes[REQUEST_SIZE], struct handshake_request *ret_request);
int answer_unpack(const uint8_t bytes[ANSWER_SIZE], struct handshake_answer *ret_answer);
int order_unpack(const uint8_t bytes[ORDER_SIZE], struct handshake_order *ret_order);

/* Return true if the sender of the bytes knows the token. */
bool request_is_proven(const uint8_t bytes[REQUEST_SIZE], const struct handshake_token *token,
		       const uint8_t greeting[GREETING_SIZE]);
bool answer_is_proven(const uint8_t bytes[ANSWER_SIZE], const struct handshake_token *token,
		      const uint8_t request[REQUEST_SIZE]);

/* The reason why a client was refused, for humans. */
const char *handshake_status_text(enum handshake_status status);

#endif
