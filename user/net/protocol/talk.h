/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What server and client say to each other before the stream: three messages of fixed size, and
 * requests of eight bytes behind them. docs/STREAM.md has every byte.
 *
 * Both may know a token. Neither tells it: each proves that it knows it, over numbers that the
 * other one has drawn, so that what was overheard is of no use, and who only pretends to be the
 * server learns nothing.
 */
#ifndef MTRACE_NET_PROTOCOL_TALK_H
#define MTRACE_NET_PROTOCOL_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/connection/sha256.h"

#define TALK_VERSION 1
#define NONCE_SIZE   32

#define GREETING_SIZE 48 /* server → client */
#define REQUEST_SIZE  96 /* client → server */
#define ANSWER_SIZE   64 /* server → client; the stream behind it */
#define ORDER_SIZE    8  /* client → server, at any time after */

struct talk_greeting {
	bool wants_proof;
	bool wants_tls; /* all that is said without it */
	uint8_t nonce[NONCE_SIZE];
};

struct talk_request {
	uint64_t trace;   /* that it has begun to read; 0: any */
	uint64_t offset;  /* from where on, bytes; 0: the beginning */
	bool takes_books; /* instead of what is not kept any more */
	uint8_t nonce[NONCE_SIZE];
	uint8_t proof[SHA256_SIZE];
};

enum talk_status {
	TALK_WELCOME,
	TALK_WRONG_PROOF,
	TALK_OTHER_TRACE, /* not the one that it has begun to read */
	TALK_GONE,        /* what it asks for is not kept any more */
	TALK_FULL,        /* too many clients */
	TALK_STATUS_COUNT
};

struct talk_answer {
	enum talk_status status;
	bool control;    /* its orders count */
	bool books;      /* what comes first is a stream of its own: books, and a resume at … */
	bool comes_back; /* who cannot follow is cut off, and sent books when it comes back */
	bool scans;      /* it takes ORDER_SCAN */
	uint64_t trace;  /* never 0 */
	uint64_t offset; /* … from where on it is sent */
	uint8_t proof[SHA256_SIZE];
};

enum talk_order_kind {
	ORDER_END = 1,  /* end the trace */
	ORDER_SCAN = 2, /* search for leaks now; the stream has the answer */
};

struct talk_order {
	enum talk_order_kind kind;
	bool live;    /* ORDER_SCAN: while it runs */
	uint32_t tag; /* likewise: of the answer, up to TALK_TAG_MAX */
	uint32_t pid; /* likewise; 0: all */
};

#define TALK_TAG_MAX 0x7fffff

/* The secret that both know. size 0: none. */
struct talk_token {
	uint8_t bytes[256];
	size_t size;
};

#define TOKEN_MIN 16

/* A file that nobody else can read, of at least TOKEN_MIN bytes; a newline at its end is none of
 * them. 0 or -errno with words. */
int token_read(struct talk_token *ret_token, const char *path, struct error *err);

/* What every request begins with; who speaks without TLS says it at once, so that a server that
 * wants TLS knows whom it has. */
#define REQUEST_EARLY 8
void request_begin(uint8_t ret_bytes[REQUEST_EARLY]);
bool request_begins(uint8_t first); /* may this be the first byte? Of TLS it is none */

/* The proofs are filled in by those that pack. */
void greeting_pack(uint8_t ret_bytes[GREETING_SIZE], const struct talk_greeting *greeting);
void request_pack(uint8_t ret_bytes[REQUEST_SIZE], const struct talk_request *request,
		  const struct talk_token *token, const uint8_t greeting[GREETING_SIZE]);
void answer_pack(uint8_t ret_bytes[ANSWER_SIZE], const struct talk_answer *answer,
		 const struct talk_token *token, const uint8_t request[REQUEST_SIZE]);
void order_pack(uint8_t ret_bytes[ORDER_SIZE], const struct talk_order *order);

/* 0, or -EBADMSG or -EPROTONOSUPPORT. */
int greeting_unpack(const uint8_t bytes[GREETING_SIZE], struct talk_greeting *ret_greeting);
int request_unpack(const uint8_t bytes[REQUEST_SIZE], struct talk_request *ret_request);
int answer_unpack(const uint8_t bytes[ANSWER_SIZE], struct talk_answer *ret_answer);
int order_unpack(const uint8_t bytes[ORDER_SIZE], struct talk_order *ret_order);

/* Does the sender of the bytes know the token? */
bool request_is_proven(const uint8_t bytes[REQUEST_SIZE], const struct talk_token *token,
		       const uint8_t greeting[GREETING_SIZE]);
bool answer_is_proven(const uint8_t bytes[ANSWER_SIZE], const struct talk_token *token,
		      const uint8_t request[REQUEST_SIZE]);

/* Why a client was turned away, for people. */
const char *talk_status_text(enum talk_status status);

#endif
