// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/protocol/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/stream/pack.h"

#define MAGIC_SIZE     8
#define GREETING_MAGIC "\x89MTS\r\n\x1a\n"
#define REQUEST_MAGIC  "\x89MTC\r\n\x1a\n"
#define ANSWER_MAGIC   "\x89MTA\r\n\x1a\n"

#define WANTS_PROOF      0x1
#define WANTS_TLS        0x2
#define TAKES_BOOKS      0x1
#define IN_CONTROL       0x1
#define CHECKPOINT_FIRST 0x2
#define COMES_BACK       0x4
#define TAKES_SCANS      0x8

/* Separate labels: a proof of one end cannot be used as a proof of the other. */
#define CLIENT_LABEL "mtrace-bpf connect 1"
#define SERVER_LABEL "mtrace-bpf serve 1"

static void begin(uint8_t *bytes, size_t size, const char *magic)
{
	memset(bytes, 0, size);
	for (size_t i = 0; i < MAGIC_SIZE; i++)
		bytes[i] = (uint8_t)magic[i];
	fixed_put(bytes + MAGIC_SIZE, HANDSHAKE_VERSION, 2);
}

static int check(const uint8_t *bytes, const char *magic)
{
	if (memcmp(bytes, magic, MAGIC_SIZE))
		return -EBADMSG;
	return fixed_get(bytes + MAGIC_SIZE, 2) == HANDSHAKE_VERSION ? 0 : -EPROTONOSUPPORT;
}

/* Computes the proof at the end of a message from that message and the one that it answers. Returns
 * 0 or -ENOMEM. */
static int prove(uint8_t ret_proof[SHA256_SIZE], const struct handshake_token *token,
		 const char *label, const uint8_t *before, size_t before_size,
		 const uint8_t *message, size_t size)
{
	const struct sha256_part key = {token->bytes, token->size};
	const struct sha256_part parts[] = {
		{label, strlen(label)},
		{before, before_size},
		{message, size - SHA256_SIZE},
	};

	return hmac_sha256(&key, parts, sizeof(parts) / sizeof(parts[0]), ret_proof);
}

void greeting_pack(uint8_t ret_bytes[GREETING_SIZE], const struct handshake_greeting *greeting)
{
	begin(ret_bytes, GREETING_SIZE, GREETING_MAGIC);
	ret_bytes[10] = (uint8_t)((greeting->wants_proof ? WANTS_PROOF : 0) |
				  (greeting->wants_tls ? WANTS_TLS : 0));
	memcpy(ret_bytes + 16, greeting->nonce, NONCE_SIZE);
}

int greeting_unpack(const uint8_t bytes[GREETING_SIZE], struct handshake_greeting *ret_greeting)
{
	int code = check(bytes, GREETING_MAGIC);

	if (code)
		return code;
	ret_greeting->wants_proof = bytes[10] & WANTS_PROOF;
	ret_greeting->wants_tls = bytes[10] & WANTS_TLS;
	memcpy(ret_greeting->nonce, bytes + 16, NONCE_SIZE);
	return 0;
}

void request_begin(uint8_t ret_bytes[REQUEST_START])
{
	_Static_assert(REQUEST_START == MAGIC_SIZE, "no more than what never changes");
	for (size_t i = 0; i < REQUEST_START; i++)
		ret_bytes[i] = (uint8_t)REQUEST_MAGIC[i];
}

bool request_begins(uint8_t first)
{
	return first == (uint8_t)REQUEST_MAGIC[0];
}

static int request_prove(uint8_t ret_proof[SHA256_SIZE], const uint8_t bytes[REQUEST_SIZE],
			 const struct handshake_token *token, const uint8_t greeting[GREETING_SIZE])
{
	return prove(ret_proof, token, CLIENT_LABEL, greeting, GREETING_SIZE, bytes, REQUEST_SIZE);
}

void request_pack(uint8_t ret_bytes[REQUEST_SIZE], const struct handshake_request *request,
		  const struct handshake_token *token, const uint8_t greeting[GREETING_SIZE])
{
	begin(ret_bytes, REQUEST_SIZE, REQUEST_MAGIC);
	ret_bytes[10] = request->takes_model ? TAKES_BOOKS : 0;
	fixed_put(ret_bytes + 16, request->trace, 8);
	fixed_put(ret_bytes + 24, request->offset, 8);
	memcpy(ret_bytes + 32, request->nonce, NONCE_SIZE);
	/* Without memory the proof stays zero, and the server refuses the request. */
	if (token->size)
		(void)request_prove(ret_bytes + REQUEST_SIZE - SHA256_SIZE, ret_bytes, token,
				    greeting);
}

int request_unpack(const uint8_t bytes[REQUEST_SIZE], struct handshake_request *ret_request)
{
	int code = check(bytes, REQUEST_MAGIC);

	if (code)
		return code;
	ret_request->takes_model = bytes[10] & TAKES_BOOKS;
	ret_request->trace = fixed_get(bytes + 16, 8);
	ret_request->offset = fixed_get(bytes + 24, 8);
	memcpy(ret_request->nonce, bytes + 32, NONCE_SIZE);
	memcpy(ret_request->proof, bytes + REQUEST_SIZE - SHA256_SIZE, SHA256_SIZE);
	return 0;
}

bool request_is_proven(const uint8_t bytes[REQUEST_SIZE], const struct handshake_token *token,
		       const uint8_t greeting[GREETING_SIZE])
{
	uint8_t proof[SHA256_SIZE];
	int code = request_prove(proof, bytes, token, greeting);

	return !code &&
	       bytes_equal_constant_time(proof, bytes + REQUEST_SIZE - SHA256_SIZE, SHA256_SIZE);
}

static int answer_prove(uint8_t ret_proof[SHA256_SIZE], const uint8_t bytes[ANSWER_SIZE],
			const struct handshake_token *token, const uint8_t request[REQUEST_SIZE])
{
	return prove(ret_proof, token, SERVER_LABEL, request, REQUEST_SIZE, bytes, ANSWER_SIZE);
}

void answer_pack(uint8_t ret_bytes[ANSWER_SIZE], const struct handshake_answer *answer,
		 const struct handshake_token *token, const uint8_t request[REQUEST_SIZE])
{
	begin(ret_bytes, ANSWER_SIZE, ANSWER_MAGIC);
	ret_bytes[10] = (uint8_t)answer->status;
	ret_bytes[11] = (uint8_t)((answer->control ? IN_CONTROL : 0) |
				  (answer->has_checkpoint ? CHECKPOINT_FIRST : 0) |
				  (answer->comes_back ? COMES_BACK : 0) |
				  (answer->scans ? TAKES_SCANS : 0));
	fixed_put(ret_bytes + 16, answer->trace, 8);
	fixed_put(ret_bytes + 24, answer->offset, 8);
	if (token->size && answer->status != HANDSHAKE_WRONG_PROOF)
		(void)answer_prove(ret_bytes + ANSWER_SIZE - SHA256_SIZE, ret_bytes, token,
				   request);
}

int answer_unpack(const uint8_t bytes[ANSWER_SIZE], struct handshake_answer *ret_answer)
{
	int code = check(bytes, ANSWER_MAGIC);

	if (!code && bytes[10] >= HANDSHAKE_STATUS_COUNT)
		code = -EBADMSG;
	if (code)
		return code;
	ret_answer->status = (enum handshake_status)bytes[10];
	ret_answer->control = bytes[11] & IN_CONTROL;
	ret_answer->has_checkpoint = bytes[11] & CHECKPOINT_FIRST;
	ret_answer->comes_back = bytes[11] & COMES_BACK;
	ret_answer->scans = bytes[11] & TAKES_SCANS;
	ret_answer->trace = fixed_get(bytes + 16, 8);
	ret_answer->offset = fixed_get(bytes + 24, 8);
	memcpy(ret_answer->proof, bytes + ANSWER_SIZE - SHA256_SIZE, SHA256_SIZE);
	return 0;
}

bool answer_is_proven(const uint8_t bytes[ANSWER_SIZE], const struct handshake_token *token,
		      const uint8_t request[REQUEST_SIZE])
{
	uint8_t proof[SHA256_SIZE];
	int code = answer_prove(proof, bytes, token, request);

	return !code &&
	       bytes_equal_constant_time(proof, bytes + ANSWER_SIZE - SHA256_SIZE, SHA256_SIZE);
}

#define ORDER_LIVE 0x100
#define ORDER_TAG  9  /* number of bits below the tag … */
#define ORDER_PID  32 /* … and below the pid */

void order_pack(uint8_t ret_bytes[ORDER_SIZE], const struct handshake_order *order)
{
	uint64_t bits = order->kind;

	if (order->kind == ORDER_SCAN)
		bits |= (order->live ? ORDER_LIVE : 0) |
			(uint64_t)(order->tag & HANDSHAKE_TAG_MAX) << ORDER_TAG |
			(uint64_t)order->pid << ORDER_PID;
	fixed_put(ret_bytes, bits, ORDER_SIZE);
}

int order_unpack(const uint8_t bytes[ORDER_SIZE], struct handshake_order *ret_order)
{
	uint64_t bits = fixed_get(bytes, ORDER_SIZE);

	*ret_order = (struct handshake_order){.kind = ORDER_END};
	if (bits == ORDER_END)
		return 0;
	if ((bits & 0xff) != ORDER_SCAN)
		return -EBADMSG;
	*ret_order = (struct handshake_order){
		.kind = ORDER_SCAN,
		.live = bits & ORDER_LIVE,
		.tag = (uint32_t)(bits >> ORDER_TAG) & HANDSHAKE_TAG_MAX,
		.pid = (uint32_t)(bits >> ORDER_PID),
	};
	return 0;
}

const char *handshake_status_text(enum handshake_status status)
{
	static const char *const texts[] = {
		[HANDSHAKE_WELCOME] = "welcome",
		[HANDSHAKE_WRONG_PROOF] = "the tokens differ",
		[HANDSHAKE_OTHER_TRACE] = "it now serves another trace",
		[HANDSHAKE_GONE] =
			"it no longer keeps the requested part of the trace (see --backlog)",
		[HANDSHAKE_FULL] = "it has too many clients",
	};
	_Static_assert(sizeof(texts) / sizeof(texts[0]) == HANDSHAKE_STATUS_COUNT,
		       "all have words");

	return texts[status];
}

static int token_load(struct handshake_token *token, int fd)
{
	ssize_t got = read(fd, token->bytes, sizeof(token->bytes));

	if (got < 0)
		return -errno;
	token->size = (size_t)got;
	while (token->size && strchr("\r\n", token->bytes[token->size - 1]))
		token->size--;
	return 0;
}

int token_read(struct handshake_token *ret_token, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat status;
	int code = fd < 0 || fstat(fd, &status) ? -errno : token_load(ret_token, fd);

	if (fd >= 0)
		close(fd);
	if (code)
		return error_set_errno(err, code, "cannot read %s", path);
	if (S_ISREG(status.st_mode) && status.st_mode & 077)
		return error_set(err, -EPERM, "other users can read the token in %s (chmod 600 %s)",
				 path, path);
	if (ret_token->size < TOKEN_MIN)
		return error_set(err, -EINVAL, "the token in %s is too short: at least %d bytes",
				 path, TOKEN_MIN);
	return 0;
}
