// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every request comes with its file, so an answer does not depend on earlier requests, and a new
 * parser can continue after another one has died. Only libdw's state of modules that were asked for
 * names is kept, because it is expensive to build. All of it is discarded when it may have become
 * large: reports ask for one module after the other, and a module that is needed again is read
 * again.
 */
#include "parser/server/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "parser/server/prefetched.h"
#include "parser/server/passed_module.h"
#include "parser/wire/channel.h"
#include "parser/wire/liveness_answer.h"
#include "parser/wire/protocol.h"

#define NS_PER_MS 1000000ULL

/* An answer is sent after this time or size, even if it is incomplete. */
#define NAMES_TIME_NS (10 * NS_PER_MS)
#define NAMES_BYTES   (1 << 20)

#define KEPT_MODULES (1 << 20)
#define KEPT_FILES   48           /* each uses up to four descriptors */
#define KEPT_BYTES   (1ULL << 30) /* of files, including debug files */

struct parser_server {
	int socket;
	struct prefetched prefetched;
	struct symbolizer *symbolizer;
	VEC(struct module *) kept; /* by id; NULL if not kept */
	size_t kept_count;
	uint64_t kept_bytes;                    /* total size of their files */
	VEC(struct module_liveness *) liveness; /* by id; NULL: not analysed yet */
};

/* Takes the descriptor out of the frame, so that frame_free does not close it. */
static int frame_take_file(struct frame *frame)
{
	int fd = frame->fd;

	frame->fd = -1;
	return fd;
}

/* The requests: each function writes its answer, or returns -errno with a message in *err. */

static int serve_module(struct parser_server *server, const struct request *request,
			struct frame *frame, struct wire *answer, struct error *err)
{
	struct module *module;
	int code = module_of_descriptor(frame_take_file(frame), request->path, &module, err);

	(void)server;
	if (code)
		return code;
	module_put(answer, module);
	module_free(module);
	return 0;
}

static int serve_plan(struct parser_server *server, const struct request *request,
		      struct frame *frame, struct wire *answer, struct error *err)
{
	const struct probe_plan *plan;
	struct module *module;
	int code = module_of_descriptor(frame_take_file(frame), request->path, &module, err);

	(void)server;
	if (code)
		return code;
	module->prefix = request->prefix;
	module->wants_gates = request->full;
	code = probe_plan_make(module, &plan, err);
	if (!code)
		plan_put(answer, plan);
	module_free(module);
	return code;
}

static int serve_table(struct parser_server *server, const struct request *request,
		       struct frame *frame, struct wire *answer, struct error *err)
{
	struct cfi_table table;
	int code = cfi_table_build(frame->fd, request->full, &table, err);

	(void)server;
	if (code)
		return code;
	table_put(answer, &table);
	cfi_table_free(&table);
	return 0;
}

static int serve_dynamic(struct parser_server *server, const struct request *request,
			 struct frame *frame, struct wire *answer, struct error *err)
{
	struct elf_dynamic dynamic;
	int code = elf_dynamic_read(frame->fd, &dynamic);

	(void)server;
	if (code)
		return error_set_errno(err, code, "cannot read %s", request->path);
	dynamic_put(answer, &dynamic);
	elf_dynamic_free(&dynamic);
	return 0;
}

static int serve_prefetched(struct parser_server *server, const struct request *request,
			    struct frame *frame, struct wire *answer, struct error *err)
{
	(void)request;
	(void)err;
	prefetched_write_answers(&server->prefetched, frame->fd, answer);
	return 0;
}

/* Names. */

static void count_file(struct parser_server *server, int fd)
{
	struct stat status;

	if (!fstat(fd, &status) && status.st_size > 0)
		server->kept_bytes += (uint64_t)status.st_size;
}

/* A debug_finder that asks the tracer. If that fails, no further frame can arrive either. */
static int find_debug_file(void *ctx, const struct module *module, const struct debug_want *want)
{
	struct parser_server *server = ctx;
	struct wire words = {0};
	struct frame frame;
	int fd, err;

	(void)module;
	want_put(&words, want);
	err = channel_send(server->socket, FRAME_WANT, &words, -1, CHANNEL_FOREVER);
	wire_free(&words);
	if (err || channel_receive(server->socket, 0, CHANNEL_FOREVER, &frame))
		return -1;
	fd = frame.kind == FRAME_FILE ? frame_take_file(&frame) : -1;
	frame_free(&frame);
	if (fd >= 0)
		count_file(server, fd);
	return fd;
}

static void forget_all(struct parser_server *server)
{
	struct module_liveness **liveness;
	struct module **module;

	symbolizer_free(server->symbolizer);
	server->symbolizer = NULL;
	vec_each (liveness, &server->liveness)
		liveness_close(*liveness);
	vec_each (module, &server->kept)
		module_free(*module);
	server->liveness.count = 0;
	server->kept.count = server->kept_count = 0;
	server->kept_bytes = 0;
}

static int make_room(struct parser_server *server)
{
	struct symbolizer_config config = {.find = find_debug_file, .ctx = server};

	if (server->kept_count >= KEPT_FILES || server->kept_bytes >= KEPT_BYTES)
		forget_all(server);
	return server->symbolizer ? 0 : symbolizer_new(&server->symbolizer, &config);
}

static bool is_kept(const struct parser_server *server, uint32_t id)
{
	return id < server->kept.count && server->kept.items[id];
}

static int keep_module(struct parser_server *server, const struct request *request,
		       struct frame *frame, struct error *err)
{
	struct module *module;
	int code;

	if (request->module >= KEPT_MODULES)
		return error_set(err, -E2BIG, "cannot read %s: too many files", request->path);
	if (is_kept(server, request->module))
		return 0;
	code = make_room(server);
	while (!code && server->kept.count <= request->module)
		code = vec_push(&server->kept, NULL);
	if (code)
		return error_set_errno(err, code, "cannot read %s", request->path);
	code = module_of_descriptor(frame_take_file(frame), request->path, &module, err);
	if (code)
		return code;
	module->id = request->module;
	count_file(server, module->fd);
	server->kept.items[module->id] = module;
	server->kept_count++;
	return 0;
}

static void put_names(struct parser_server *server, const struct request *request,
		      struct wire *answer)
{
	const struct module *module = server->kept.items[request->module];
	struct symbol_name names[PROTOCOL_INLINE_MAX];
	uint64_t started_ns = clock_now_ns();

	for (uint32_t i = 0; i < request->count; i++) {
		names_put(answer, names,
			  symbolizer_names(server->symbolizer, module, request->offsets[i], names,
					   PROTOCOL_INLINE_MAX));
		if (answer->count >= NAMES_BYTES || clock_now_ns() - started_ns >= NAMES_TIME_NS)
			return;
	}
}

static int serve_names(struct parser_server *server, const struct request *request,
		       struct frame *frame, struct wire *answer, struct error *err)
{
	int code = keep_module(server, request, frame, err);

	if (!code)
		put_names(server, request, answer);
	return code;
}

/* What can still be read. */

/* Keeps the analysis of the module, because one frame after the other is asked for. */
static int keep_liveness(struct parser_server *server, const struct request *request,
			 struct frame *frame, struct module_liveness **ret_liveness,
			 struct error *err)
{
	int code = keep_module(server, request, frame, err);

	if (code)
		return code;
	while (!code && server->liveness.count <= request->module)
		code = vec_push(&server->liveness, NULL);
	if (code)
		return error_set_errno(err, code, "cannot read %s", request->path);
	if (!server->liveness.items[request->module])
		code = liveness_open(server->kept.items[request->module]->fd,
				     &server->liveness.items[request->module], err);
	*ret_liveness = server->liveness.items[request->module];
	return code;
}

static int serve_liveness(struct parser_server *server, const struct request *request,
			  struct frame *frame, struct wire *answer, struct error *err)
{
	struct frame_liveness found;
	struct module_liveness *liveness;
	int code = keep_liveness(server, request, frame, &liveness, err);

	if (code)
		return code;
	liveness_frame(liveness, request->offsets[0], request->interrupted, &found);
	frame_liveness_put(answer, &found);
	return 0;
}

static int serve_slot(struct parser_server *server, const struct request *request,
		      struct frame *frame, struct wire *answer, struct error *err)
{
	struct module_liveness *liveness;
	int code = keep_liveness(server, request, frame, &liveness, err);

	if (code)
		return code;
	liveness_put(answer, liveness_slot(liveness, request->offsets[0], request->interrupted,
					   (int32_t)request->offsets[1]));
	return 0;
}

/* The loop. */

typedef int server_function(struct parser_server *server, const struct request *request,
			    struct frame *frame, struct wire *answer, struct error *err);

static server_function *const functions[FRAME_REQUEST_END] = {
	[FRAME_MODULE] = serve_module,     [FRAME_PLAN] = serve_plan,
	[FRAME_TABLE] = serve_table,       [FRAME_NAMES] = serve_names,
	[FRAME_DYNAMIC] = serve_dynamic,   [FRAME_EARLY] = serve_prefetched,
	[FRAME_LIVENESS] = serve_liveness, [FRAME_SLOT] = serve_slot,
};

static int answer(struct parser_server *server, const struct request *request, struct frame *frame)
{
	struct wire words = {0};
	struct error err = {0};
	int code = functions[frame->kind](server, request, frame, &words, &err);

	if (code) {
		words.count = 0;
		failure_put(&words, &err);
	}
	code = channel_send(server->socket, code ? FRAME_FAILED : FRAME_DONE, &words, -1,
			    CHANNEL_FOREVER);
	wire_free(&words);
	return code;
}

static int serve(struct parser_server *server, struct frame *frame)
{
	struct wire_view view = wire_view(&frame->body);
	bool prefetch = frame->kind == FRAME_PREFETCH;
	struct request request;

	if (frame->fd < 0 || frame->kind >= FRAME_REQUEST_END ||
	    (!prefetch && !functions[frame->kind]) || request_take(&view, &request))
		return -EBADMSG;
	return prefetch ? prefetched_add(&server->prefetched, frame_take_file(frame), request.path)
			: answer(server, &request, frame);
}

static bool is_asked(const struct parser_server *server)
{
	struct pollfd polled = {.fd = server->socket, .events = POLLIN};

	return poll(&polled, 1, 0) != 0;
}

/* Pending requests have priority over prefetching. */
static void prefetch_while_idle(struct parser_server *server)
{
	while (prefetched_waits(&server->prefetched) && !is_asked(server))
		prefetched_read_next(&server->prefetched);
}

void server_run(int socket)
{
	struct parser_server server = {.socket = socket};
	int err = 0;

	while (!err) {
		struct frame frame;

		prefetch_while_idle(&server);
		err = channel_receive(socket, PROTOCOL_REQUEST_MAX, CHANNEL_FOREVER, &frame);
		if (err)
			break;
		err = serve(&server, &frame);
		frame_free(&frame);
	}
	forget_all(&server);
	vec_free(&server.kept);
	vec_free(&server.liveness);
	prefetched_free(&server.prefetched);
}
