// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/client/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map64.h"
#include "os/process/proc.h"
#include "parser/client/debug_files.h"
#include "parser/client/patience.h"
#include "parser/client/prefetch_list.h"
#include "parser/client/zygote.h"
#include "parser/server/server.h"
#include "parser/wire/channel.h"
#include "parser/wire/liveness_answer.h"
#include "parser/wire/protocol.h"

#define NS_PER_SECOND      1000000000ULL
#define ZYGOTE_PATIENCE_NS (10 * NS_PER_SECOND)

#define TRIES 2 /* attempts for a file that crashes the parser */

struct parser {
	struct parser_config config;
	struct zygote zygote;
	int socket; /* -1 if there is none */
	pid_t pid;
	bool asked;            /* a parser was requested from the zygote, but not taken yet */
	bool lost;             /* there is no parser and there will be none */
	bool prefetching;      /* it may be reading prefetched files … */
	uint64_t prefetch_ns;  /* … and gets this much more time for them */
	struct parser *second; /* also prefetches; or NULL */
	struct prefetch_list prefetched; /* prefetched files, by file_key() */
	struct map64 failed; /* file_key() → 1: do not give these files to a parser again */
	char *folders;       /* see parser_search */
};

/* A request and the handling of its answer. */
struct exchange {
	enum frame_kind kind;
	const struct module *module; /* only fd and path are used */
	const struct request *request;
	int (*take)(struct wire_view *view, void *ctx); /* returns 0, -EBADMSG or -ENOMEM */
	void *ctx;
	uint64_t deadline_ns;
	struct debug_files debug_files;
};

/* The consequence of an unreadable file, for humans. */
static const char *const costs[FRAME_REQUEST_END] = {
	[FRAME_MODULE] = "its mappings are ignored",
	[FRAME_PLAN] = "it is not probed",
	[FRAME_TABLE] = "no unwind table; stacks end in this file",
	[FRAME_NAMES] = "no names",
	[FRAME_DYNAMIC] = "its libraries are probed only when they are mapped",
	[FRAME_LIVENESS] = "stale words on the stack count as references",
	[FRAME_SLOT] = "stale words on the stack count as references",
};

/* Starting and stopping. */

int parser_start(struct parser **ret_parser, const struct parser_config *config)
{
	struct parser *parser = calloc(1, sizeof(*parser));
	int err;

	if (!parser)
		return -ENOMEM;
	parser->config = *config;
	parser->socket = -1;
	err = zygote_start(&parser->zygote, config->work ? config->work : server_run);
	if (!err)
		err = zygote_ask(&parser->zygote);
	if (err) {
		parser_stop(parser);
		return err;
	}
	parser->asked = true;
	*ret_parser = parser;
	return 0;
}

static void parser_drop(struct parser *parser)
{
	if (parser->socket >= 0)
		close(parser->socket);
	parser->socket = -1;
	parser->prefetching = false;
	parser->prefetch_ns = 0;
}

void parser_stop(struct parser *parser)
{
	if (!parser)
		return;
	parser_prefetch_end(parser);
	parser_drop(parser);
	zygote_stop(&parser->zygote);
	map64_free(&parser->failed);
	free(parser->folders);
	free(parser);
}

pid_t parser_pid(const struct parser *parser)
{
	return parser->pid;
}

/* Receives its first message. */
static int parser_greet(struct parser *parser, uint64_t deadline_ns, struct error *err)
{
	struct frame frame;
	struct wire_view view;
	int code = channel_receive(parser->socket, 2 * ERROR_TEXT_SIZE, deadline_ns, &frame);

	if (code)
		return error_set_errno(err, code, "cannot start the file parser");
	view = wire_view(&frame.body);
	if (frame.kind == FRAME_FAILED && !failure_take(&view, err))
		code = err->code;
	else if (frame.kind != FRAME_READY)
		code = error_set_errno(err, -EBADMSG, "cannot start the file parser");
	frame_free(&frame);
	return code;
}

static int parser_take(struct parser *parser, struct error *err)
{
	uint64_t deadline_ns = clock_now_ns() + ZYGOTE_PATIENCE_NS;
	int code = parser->asked ? 0 : zygote_ask(&parser->zygote);

	parser->asked = false;
	if (code)
		return error_set_errno(err, code, "cannot start the file parser");
	code = zygote_take(&parser->zygote, deadline_ns, &parser->socket, &parser->pid, err);
	if (!code)
		code = parser_greet(parser, deadline_ns, err);
	if (!code)
		log_debug("process %d parses program files", (int)parser->pid);
	return code;
}

/* Discards a parser that has failed, whatever it is doing. The next one will be ready when it is
 * needed. */
static void parser_replace(struct parser *parser)
{
	parser_drop(parser);
	parser->asked = !zygote_ask(&parser->zygote);
}

/* A parser remembers what it has read and what it could not find, so start with a new one. */
int parser_search(struct parser *parser, const char *folders)
{
	char *copy = strdup(folders);

	if (!copy)
		return -ENOMEM;
	free(parser->folders);
	parser->folders = copy;
	if (parser->socket >= 0)
		parser_replace(parser);
	return 0;
}

const char *parser_folders(const struct parser *parser)
{
	return parser->folders ? parser->folders : "";
}

/* The parser never sends anything unprompted, so a readable socket means that it has exited. */
static bool parser_is_idle(const struct parser *parser)
{
	struct pollfd polled = {.fd = parser->socket, .events = POLLIN};

	return parser->socket >= 0 && poll(&polled, 1, 0) == 0;
}

int parser_check(struct parser *parser, struct error *err)
{
	struct error words;
	int code;

	if (!err)
		err = &words;
	if (parser->lost)
		return error_set(err, -EIO, "the file parser is no longer running");
	if (parser_is_idle(parser))
		return 0;
	parser_drop(parser);
	code = parser_take(parser, err);
	if (!code)
		return 0;
	parser_drop(parser);
	parser->lost = true;
	return code;
}

/* Files that failed. */

/* The key changes when the file is rewritten, so it gets a new chance. */
static uint64_t file_key(const struct stat *status)
{
	uint64_t key = hash_u64(status->st_dev) ^ status->st_ino;

	key = hash_u64(key) ^ (uint64_t)status->st_size;
	key = hash_u64(key) ^ (uint64_t)status->st_mtim.tv_sec;
	return hash_u64(key) ^ (uint64_t)status->st_mtim.tv_nsec;
}

static const char *what_happened(int code)
{
	if (code == -ETIMEDOUT)
		return "parsing timed out";
	return code == -EBADMSG ? "the file parser sent an invalid reply"
				: "the file parser crashed";
}

static int file_fails(struct parser *parser, const struct exchange *exchange,
		      const struct stat *status, int code, struct error *err)
{
	const char *path = exchange->module->path;

	log_warn("%s: %s: %s", path, what_happened(code), costs[exchange->kind]);
	if (map64_set(&parser->failed, file_key(status), 1))
		return error_set_errno(err, -ENOMEM, "cannot read %s", path);
	return error_set(err, -ENOEXEC, "cannot read %s: %s", path, what_happened(code));
}

/* Exchanges. */

static uint64_t patience(const struct parser *parser, const struct stat *status)
{
	uint64_t patience_ns = parser->config.patience_ns;

	return patience_ns ? patience_ns : PATIENCE_NS + time_to_read(status);
}

/* Returns 0, 1 if the file was rejected (with a message in *err), -ENOMEM, or another -errno if the
 * parser failed. */
static int take_frame(struct exchange *exchange, const struct frame *frame, struct error *err)
{
	struct wire_view view = wire_view(&frame->body);

	if (frame->kind == FRAME_DONE)
		return exchange->take(&view, exchange->ctx);
	if (frame->kind == FRAME_FAILED && !failure_take(&view, err))
		return 1;
	return -EBADMSG;
}

static int exchange_send(const struct parser *parser, const struct exchange *exchange)
{
	struct wire words = {0};
	int err;

	request_put(&words, exchange->request);
	err = channel_send(parser->socket, exchange->kind, &words, exchange->module->fd,
			   exchange->deadline_ns);
	wire_free(&words);
	return err;
}

static int exchange_run(const struct parser *parser, struct exchange *exchange, struct error *err)
{
	int code = exchange_send(parser, exchange);

	while (!code) {
		struct frame frame;

		code = channel_receive(parser->socket, PROTOCOL_ANSWER_MAX, exchange->deadline_ns,
				       &frame);
		if (code)
			break;
		if (frame.kind != FRAME_WANT) {
			code = take_frame(exchange, &frame, err);
			frame_free(&frame);
			break;
		}
		code = exchange->kind == FRAME_NAMES
			       ? debug_files_answer(&exchange->debug_files, parser->socket,
						    exchange->module, &frame,
						    &exchange->deadline_ns)
			       : -EBADMSG;
		frame_free(&frame);
	}
	debug_files_end(&exchange->debug_files);
	return code;
}

static int exchange_try(struct parser *parser, struct exchange *exchange, const struct stat *status,
			struct error *err)
{
	int code = parser_check(parser, err);

	if (code) {
		log_warn("%s; new program files are not probed or named", err->text);
		return 1;
	}
	exchange->deadline_ns = clock_now_ns() + patience(parser, status) + parser->prefetch_ns;
	exchange->debug_files = (struct debug_files){.folders = parser->folders,
						     .debuginfod = parser->config.debuginfod};
	code = exchange_run(parser, exchange, err);
	if (code < 0)
		parser_replace(parser);
	return code;
}

/* If the parser fails while it has prefetched files, one of those may be to blame. Retries once
 * with a new parser, which has none. */
static int exchange_first(struct parser *parser, struct exchange *exchange,
			  const struct stat *status, struct error *err)
{
	bool prefetching = parser->prefetching;
	int code = exchange_try(parser, exchange, status, err);

	return prefetching && code < 0 && code != -ENOMEM
		       ? exchange_try(parser, exchange, status, err)
		       : code;
}

static void second_end(struct parser *parser)
{
	parser_stop(parser->second);
	parser->second = NULL;
}

static int take_prefetched(struct wire_view *view, void *ctx)
{
	struct prefetch_entry *file = ctx;

	return prefetch_take(view, file->answers);
}

/* Fetches the answers for a prefetched file. Missing ones are requested individually later. */
static void ask_prefetched(struct parser *parser, struct prefetch_entry *file,
			   const struct exchange *exchange, const struct stat *status)
{
	struct parser *reader = file->is_second ? parser->second : parser;
	struct exchange early = {
		.kind = FRAME_EARLY,
		.module = exchange->module,
		.request = exchange->request,
		.take = take_prefetched,
		.ctx = file,
	};
	struct error err;

	file->asked = true;
	if (reader && exchange_try(reader, &early, status, &err) && file->is_second)
		second_end(parser);
}

/* Returns PREFETCH_KINDS if this kind of request is not prefetched. */
static enum prefetch_kind prefetch_kind_of(const struct exchange *exchange)
{
	static const enum frame_kind frames[PREFETCH_KINDS] = {
		[PREFETCH_MODULE] = FRAME_MODULE,
		[PREFETCH_PLAN] = FRAME_PLAN,
		[PREFETCH_TABLE] = FRAME_TABLE,
	};
	bool is_usual = !exchange->request->full && !exchange->request->prefix;
	enum prefetch_kind kind = PREFETCH_MODULE;

	while (kind < PREFETCH_KINDS && (!is_usual || frames[kind] != exchange->kind))
		kind++;
	return kind;
}

static struct wire *find_prefetched(struct parser *parser, const struct exchange *exchange,
				    const struct stat *status)
{
	struct prefetch_entry *file = prefetch_list_find(&parser->prefetched, file_key(status));
	enum prefetch_kind kind = prefetch_kind_of(exchange);

	if (!file || kind == PREFETCH_KINDS)
		return NULL;
	if (!file->asked)
		ask_prefetched(parser, file, exchange, status);
	return file->answers[kind].count ? &file->answers[kind] : NULL;
}

/* Uses a prefetched answer. Returns 0; otherwise the parser has to be asked. */
static int take_answer(struct parser *parser, const struct exchange *exchange,
		       const struct stat *status)
{
	struct wire *answer = find_prefetched(parser, exchange, status);
	struct wire_view view;
	int code;

	if (!answer)
		return -ENOENT;
	view = wire_view(answer);
	code = exchange->take(&view, exchange->ctx);
	wire_free(answer);
	return code;
}

static int exchange_do(struct parser *parser, struct exchange *exchange, struct error *err)
{
	const char *path = exchange->module->path;
	struct error words;
	struct stat status;
	int code;

	if (!err)
		err = &words;
	if (parser->lost)
		return error_set(err, -EIO, "cannot read %s: the file parser is no longer running",
				 path);
	if (fstat(exchange->module->fd, &status))
		return error_set_errno(err, -errno, "cannot read %s", path);
	if (map64_get(&parser->failed, file_key(&status)) != MAP64_NONE)
		return error_set(err, -ENOEXEC,
				 "cannot read %s: the file parser failed on it before", path);
	if (!take_answer(parser, exchange, &status))
		return 0;
	code = exchange_first(parser, exchange, &status, err);
	for (int i = 1; code == -EPIPE && i < TRIES; i++)
		code = exchange_try(parser, exchange, &status, err);
	if (code > 0)
		return parser->lost ? -EIO : err->code;
	if (code == -ENOMEM)
		return error_set_errno(err, code, "cannot read %s", path);
	return code ? file_fails(parser, exchange, &status, code, err) : 0;
}

/* Prefetching. */

/* Sending blocks only if the socket buffer is unusually small. */
#define PREFETCH_PATIENCE_NS NS_PER_SECOND

static int pass_ahead(struct parser *parser, int fd, const char *path, const struct stat *status)
{
	const struct request request = {.path = path};
	const struct module module = {.fd = fd, .path = (char *)path};
	struct exchange exchange = {
		.kind = FRAME_PREFETCH,
		.module = &module,
		.request = &request,
	};
	int err = parser_check(parser, NULL);

	if (err)
		return err;
	exchange.deadline_ns = clock_now_ns() + PREFETCH_PATIENCE_NS;
	err = exchange_send(parser, &exchange);
	if (err) {
		parser_replace(parser);
		return err;
	}
	parser->prefetching = true;
	parser->prefetch_ns += time_to_read(status);
	return 0;
}

/* Prefetches a file only once, even if several processes map it. */
static bool may_give(struct parser *parser, int fd, bool is_second, struct stat *ret_status)
{
	return !fstat(fd, ret_status) &&
	       !prefetch_list_find(&parser->prefetched, file_key(ret_status)) &&
	       !prefetch_list_add(&parser->prefetched, file_key(ret_status), is_second);
}

void parser_prefetch(struct parser *parser, int fd, const char *path)
{
	struct stat status;

	if (may_give(parser, fd, false, &status))
		(void)pass_ahead(parser, fd, path, &status);
}

int parser_second_start(struct parser *parser)
{
	return parser->second ? 0 : parser_start(&parser->second, &parser->config);
}

void parser_second_prefetch(struct parser *parser, int fd, const char *path)
{
	struct stat status;

	if (parser->second && may_give(parser, fd, true, &status) &&
	    pass_ahead(parser->second, fd, path, &status))
		second_end(parser);
}

void parser_prefetch_end(struct parser *parser)
{
	second_end(parser);
	prefetch_list_free(&parser->prefetched);
	parser->prefetching = false;
	parser->prefetch_ns = 0;
}

/* The requests. */

static int ask(struct parser *parser, enum frame_kind kind, const struct module *module,
	       const struct request *request, int (*take)(struct wire_view *view, void *ctx),
	       void *ctx, struct error *err)
{
	struct exchange exchange = {
		.kind = kind,
		.module = module,
		.request = request,
		.take = take,
		.ctx = ctx,
	};

	return exchange_do(parser, &exchange, err);
}

static int take_module(struct wire_view *view, void *ctx)
{
	return module_take(view, ctx);
}

int parser_read_module(void *ctx, struct module *module, struct error *err)
{
	const struct request request = {.path = module->path};

	return ask(ctx, FRAME_MODULE, module, &request, take_module, module, err);
}

static int take_dynamic(struct wire_view *view, void *ctx)
{
	return dynamic_take(view, ctx);
}

int parser_read_dynamic(void *ctx, int fd, const char *path, struct elf_dynamic *ret_dynamic)
{
	const struct request request = {.path = path};
	const struct module module = {.fd = fd, .path = (char *)path};

	return ask(ctx, FRAME_DYNAMIC, &module, &request, take_dynamic, ret_dynamic, NULL);
}

static int take_plan(struct wire_view *view, void *ctx)
{
	struct module *module = ctx;

	module->free_plan = probe_plan_free;
	return plan_take(view, module, &module->plan);
}

int parser_plan(struct parser *parser, struct module *module, const struct probe_plan **ret_plan,
		struct error *err)
{
	const struct request request = {
		.path = module->path, .prefix = module->prefix, .full = module->wants_gates};
	int code = module->plan ? 0
				: ask(parser, FRAME_PLAN, module, &request, take_plan, module, err);

	if (!code)
		*ret_plan = module->plan;
	return code;
}

static int take_table(struct wire_view *view, void *ctx)
{
	return table_take(view, ctx);
}

int parser_table(struct parser *parser, const struct module *module, bool full,
		 struct cfi_table *ret_table, struct error *err)
{
	const struct request request = {.path = module->path, .full = full};

	return ask(parser, FRAME_TABLE, module, &request, take_table, ret_table, err);
}

static int take_frame_liveness(struct wire_view *view, void *ctx)
{
	return frame_liveness_take(view, ctx);
}

int parser_frame_liveness(struct parser *parser, const struct module *module, uint64_t offset,
			  bool interrupted, struct frame_liveness *ret_frame)
{
	const struct request request = {
		.path = module->path,
		.interrupted = interrupted,
		.module = module->id,
		.count = 1,
		.offsets = {offset},
	};

	return ask(parser, FRAME_LIVENESS, module, &request, take_frame_liveness, ret_frame, NULL);
}

static int take_liveness(struct wire_view *view, void *ctx)
{
	return liveness_take(view, ctx);
}

int parser_slot_liveness(struct parser *parser, const struct module *module, uint64_t offset,
			 bool interrupted, int32_t cfa_offset, enum liveness *ret_liveness)
{
	const struct request request = {
		.path = module->path,
		.interrupted = interrupted,
		.module = module->id,
		.count = 2,
		.offsets = {offset, (uint64_t)(int64_t)cfa_offset},
	};

	return ask(parser, FRAME_SLOT, module, &request, take_liveness, ret_liveness, NULL);
}

struct names_answer {
	parser_names_taker *take;
	void *ctx;
	size_t count; /* number of places requested */
	size_t done;
};

static int take_names(struct wire_view *view, void *ctx)
{
	struct symbol_name names[PROTOCOL_INLINE_MAX];
	struct names_answer *answer = ctx;
	size_t count, done = 0;

	while (view->at < view->end && done < answer->count) {
		if (names_take(view, names, &count))
			return -EBADMSG;
		if (count)
			answer->take(answer->ctx, done, names, count);
		done++;
	}
	answer->done = done;
	return done ? wire_finish(view) : -EBADMSG;
}

size_t parser_names(struct parser *parser, const struct module *module, const uint64_t *offsets,
		    size_t count, parser_names_taker *take, void *ctx)
{
	struct request request = {.path = module->path, .module = module->id};
	struct names_answer answer = {.take = take, .ctx = ctx};
	struct error err;

	if (!count)
		return 0;
	request.count = count < PROTOCOL_NAMES_MAX ? (uint32_t)count : PROTOCOL_NAMES_MAX;
	memcpy(request.offsets, offsets, request.count * sizeof(*offsets));
	answer.count = request.count;
	if (!ask(parser, FRAME_NAMES, module, &request, take_names, &answer, &err))
		return answer.done;
	log_info("%s", err.text);
	return 0;
}
