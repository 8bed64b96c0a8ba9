/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model that is sent as a whole equals its original: the report is the same, both immediately and
 * after all following events, wherever the stream is cut. Invalid data is not accepted as a model.
 *
 * Under sanitizers fewer traces are cut, each in fewer places, and fewer records are damaged.
 * EXHAUSTIVE=1 runs all cases (see sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "net/checkpoint/merged_model.h"
#include "net/checkpoint/load.h"
#include "net/checkpoint/received_model.h"
#include "net/stream/read.h"
#include "net/stream/write.h"
#include "tests/unit/render.h"
#include "tests/unit/sweep.h"

#define EVENTS    6000
#define PIDS      5
#define ADDRESSES 400
#define REGIONS   24
#define PAGE      4096ULL
#define MS        1000000ULL
#define BASE      0x10000ULL
#define MAPPED    0x700000000000ULL
#define CODE      0x400000ULL
#define LIBRARY   0x500000ULL
#define OPERATORS 0x600000ULL
#define CODE_SIZE 0x10000ULL

/* Pseudo-random numbers, the same in every run (xorshift64, Marsaglia 2003). */
struct chance {
	uint64_t state;
};

static uint64_t draw(struct chance *chance, uint64_t below)
{
	chance->state ^= chance->state << 13;
	chance->state ^= chance->state >> 7;
	chance->state ^= chance->state << 17;
	return chance->state % below;
}

static int append(void *ctx, const void *bytes, size_t size)
{
	pack_bytes(ctx, bytes, size);
	return ((struct pack *)ctx)->err;
}

/* ---- a trace in which everything happens that is possible ---- */

struct sender {
	struct stream_writer *writer;
	struct chance chance;
	uint64_t now_ns;
	uint32_t pid, tid;
	bool alive[PIDS];
	uint64_t last[64 * (PIDS + 2)]; /* the last allocation of each thread */
};

static void send_event(struct sender *sender, struct event event)
{
	sender->now_ns += draw(&sender->chance, 40 * MS);
	event.time_ns = sender->now_ns;
	event.pid = event.pid ? event.pid : sender->pid;
	event.tid = event.tid ? event.tid : sender->tid;
	assert_int_equal(stream_write_event(sender->writer, &event), 0);
}

static struct event_process image(uint64_t start_time, enum origin origin)
{
	static const char *const command[] = {"target", "-x", "", NULL};

	return (struct event_process){.start_time_ns = start_time,
				      .ppid = 1,
				      .origin = origin,
				      .from_start = true,
				      .comm = "target",
				      .exe = "/bin/target",
				      .command = command,
				      .arch = "x86_64",
				      .cgroup = "/some/where"};
}

static void tell_code(struct sender *sender)
{
	send_event(sender, (struct event){.kind = EVENT_MAPPING,
					  .mapping = {CODE, CODE + CODE_SIZE, 0, 1, 0}});
	send_event(sender, (struct event){.kind = EVENT_MAPPING,
					  .mapping = {LIBRARY, LIBRARY + CODE_SIZE, 0, 2,
						      MAPPING_FLAG_ALLOCATOR}});
	send_event(sender, (struct event){.kind = EVENT_MAPPING,
					  .mapping = {OPERATORS, OPERATORS + CODE_SIZE, 0, 3, 0}});
	send_event(sender, (struct event){.kind = EVENT_WRAPPER,
					  .wrapper = {OPERATORS, OPERATORS + 64, API_NEW}});
}

static uint64_t place_of(struct sender *sender)
{
	static const uint64_t places[] = {CODE + 16, CODE + 32, LIBRARY + 8, OPERATORS + 8};

	return places[draw(&sender->chance, 4)];
}

static void tell_stack(struct sender *sender)
{
	uint64_t frames[] = {place_of(sender), CODE + 64 + draw(&sender->chance, 8), CODE + 128};
	bool cut = !draw(&sender->chance, 4);

	send_event(sender, (struct event){.kind = EVENT_STACK,
					  .flags = cut ? EVENT_FLAG_TRUNCATED : 0,
					  .stack = {1 + draw(&sender->chance, 30), frames, 3, 0}});
}

static struct event_call call_at(struct sender *sender, uint64_t address, uint64_t size)
{
	return (struct event_call){.address = address,
				   .size = size,
				   .caller = place_of(sender),
				   .stack = draw(&sender->chance, 34)};
}

static uint64_t some_address(struct sender *sender)
{
	return BASE + 64 * draw(&sender->chance, ADDRESSES);
}

static uint64_t some_size(struct sender *sender)
{
	return draw(&sender->chance, 1ULL << draw(&sender->chance, 20));
}

static uint16_t some_flags(struct sender *sender)
{
	static const uint8_t operators[] = {API_NONE, API_NONE, API_NEW, API_DELETE, API_NEW_ARRAY};
	unsigned int failed = draw(&sender->chance, 20) ? 0 : EVENT_FLAG_FAILED;

	return (uint16_t)(failed | (unsigned int)operators[draw(&sender->chance, 5)] << 8);
}

static void tell_alloc(struct sender *sender)
{
	uint64_t address = some_address(sender);

	sender->last[sender->tid] = address;
	send_event(sender, (struct event){.kind = EVENT_ALLOC,
					  .api = draw(&sender->chance, 5) ? API_MALLOC : API_CALLOC,
					  .flags = some_flags(sender),
					  .call = call_at(sender, address, some_size(sender))});
}

static void tell_free(struct sender *sender)
{
	struct event event = {.kind = EVENT_FREE,
			      .api = API_FREE,
			      .call = call_at(sender, some_address(sender), SIZE_UNKNOWN)};

	if (draw(&sender->chance, 2))
		event.call.address = sender->last[sender->tid];
	send_event(sender, event);
}

static void tell_realloc(struct sender *sender)
{
	struct event event = {
		.kind = EVENT_BEGIN, .api = API_REALLOC, .call = call_at(sender, 0, 0)};

	event.call.args[0] = some_address(sender);
	event.call.args[1] = some_size(sender);
	send_event(sender, event);
}

static void tell_end(struct sender *sender)
{
	static const enum api apis[] = {API_REALLOC, API_MMAP, API_MUNMAP, API_REALLOC};
	enum api api = apis[draw(&sender->chance, 4)];
	uint64_t mapped = MAPPED + PAGE * draw(&sender->chance, REGIONS);

	send_event(sender, (struct event){.kind = EVENT_END,
					  .api = api,
					  .flags = some_flags(sender),
					  .call = call_at(sender,
							  api == API_REALLOC ? some_address(sender)
									     : mapped,
							  PAGE * (1 + draw(&sender->chance, 4)))});
}

static void tell_map(struct sender *sender)
{
	struct event event = {.kind = EVENT_BEGIN, .call = call_at(sender, 0, 0)};

	event.api = draw(&sender->chance, 2) ? API_MMAP : API_MUNMAP;
	event.call.args[0] = MAPPED + PAGE * draw(&sender->chance, REGIONS);
	event.call.args[1] = PAGE * (1 + draw(&sender->chance, 4));
	send_event(sender, event);
}

static void deliver_losses(struct sender *sender)
{
	const struct snapshot_losses losses = {.stacks = draw(&sender->chance, 9), .children = 1};

	send_event(sender, (struct event){.kind = EVENT_LOSSES, .losses = &losses});
}

static void tell_thread(struct sender *sender)
{
	send_event(sender, (struct event){.kind = draw(&sender->chance, 2) ? EVENT_THREAD_EXITS
									   : EVENT_THREAD_GONE});
}

/* Processes start, exit, and start again under the same pid. */
static void tell_birth(struct sender *sender)
{
	uint32_t child = 1 + (uint32_t)draw(&sender->chance, PIDS);
	uint64_t kind = draw(&sender->chance, 8);

	if (child == sender->pid && kind < 2)
		send_event(sender, (struct event){.kind = EVENT_EXEC,
						  .process = image(sender->now_ns, ORIGIN_EXEC)});
	else if (child == sender->pid)
		return;
	else if (sender->alive[child - 1])
		send_event(sender,
			   (struct event){.kind = kind ? EVENT_EXIT : EVENT_LEAVE, .pid = child});
	else if (kind < 6)
		send_event(sender, (struct event){.kind = EVENT_FORK,
						  .pid = child,
						  .fork = {sender->pid, sender->now_ns, kind < 2,
							   "child"}});
	else
		send_event(sender,
			   (struct event){.kind = EVENT_PROCESS,
					  .pid = child,
					  .process = image(sender->now_ns, ORIGIN_ATTACHED)});
	if (child != sender->pid)
		sender->alive[child - 1] = !sender->alive[child - 1];
}

static void turn(struct sender *sender)
{
	uint32_t pid = 1 + (uint32_t)draw(&sender->chance, PIDS);

	if (!sender->alive[pid - 1])
		return;
	sender->pid = pid;
	sender->tid = 64 * pid + (uint32_t)draw(&sender->chance, 3); /* new threads come last */
}

static void tell_something(struct sender *sender)
{
	static void (*const senders[])(struct sender *) = {
		tell_stack,     tell_alloc,   tell_alloc, tell_alloc, tell_alloc,
		tell_free,      tell_realloc, tell_end,   tell_end,   tell_map,
		deliver_losses, tell_thread,  turn,       tell_free,
	};

	senders[draw(&sender->chance, sizeof(senders) / sizeof(senders[0]))](sender);
	if (!draw(&sender->chance, 150))
		tell_birth(sender);
	if (!draw(&sender->chance, 400))
		tell_code(sender);
	if (!draw(&sender->chance, 60))
		assert_int_equal(stream_flush(sender->writer), 0);
}

static void tell_scan(struct sender *sender)
{
	struct stream_scan_site site = {.process_number = 0, .site = 0, .api = 1};
	const struct stream_scan failed = {.scan = {.reason = "it was not the time"}};
	const struct stream_scan done = {
		.sites = 1, .scan = {.passes = 1, .tagged = 3, .classes[LEAK_STACK] = {2, 64}}};

	site.leaks.classes[LEAK_DEFINITE] = (struct snapshot_sum){3, 300};
	site.leaks.examples[LEAK_DEFINITE] = (struct snapshot_example){.address = 7, .read = 2};
	site.leaks.classes[LEAK_STACK] = (struct snapshot_sum){2, 64};
	site.leaks.examples[LEAK_STACK] = (struct snapshot_example){.address = 9, .size = 32};
	assert_int_equal(stream_write_scan_site(sender->writer, &site), 0);
	assert_int_equal(stream_write_scan(sender->writer, &done), 0);
	assert_int_equal(stream_write_scan(sender->writer, &failed), 0);
}

/* The whole stream, as bytes. */
static struct pack trace(const struct stream_settings *settings, uint64_t seed)
{
	struct pack bytes = {0};
	struct sender sender = {.chance = {seed}, .pid = 1, .tid = 64, .alive = {true}};
	const struct stream_module module = {.id = 1, .path = "/bin/target", .build_id = "ab12"};

	assert_int_equal(stream_writer_new(&sender.writer, true, append, &bytes), 0);
	assert_int_equal(stream_write_settings(sender.writer, settings), 0);
	assert_int_equal(stream_write_module(sender.writer, &module), 0);
	send_event(&sender,
		   (struct event){.kind = EVENT_PROCESS, .process = image(7, ORIGIN_LAUNCHED)});
	tell_code(&sender);
	for (int i = 0; i < EVENTS; i++) {
		tell_something(&sender);
		if (i == EVENTS / 3)
			tell_scan(&sender);
	}
	assert_int_equal(stream_write_unprobed(sender.writer), 0);
	assert_int_equal(stream_flush(sender.writer), 0);
	stream_writer_free(sender.writer);
	assert_int_equal(bytes.err, 0);
	return bytes;
}

/* ---- a reader ---- */

struct heard {
	struct received_model received; /* must be the first member */
	struct checkpoint_loader *loader;
	struct stream_reader *reader;
	int loaded; /* the result of checkpoint_loaded at the resume */
};

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	struct heard *heard = ctx;
	const struct model_config config = stream_model_config(settings);

	if (heard->received.model)
		return 0; /* events apply to the loaded model */
	return model_new(&heard->received.model, &config);
}

static int on_event(void *ctx, const struct event *event)
{
	return model_event(((struct heard *)ctx)->received.model, event);
}

static int on_checkpoint(void *ctx, struct unpack *body)
{
	struct heard *heard = ctx;

	if (!heard->loader)
		assert_int_equal(checkpoint_loader_new(&heard->loader, heard->received.model, NULL),
				 0);
	return checkpoint_load(heard->loader, body);
}

static int on_resume(void *ctx, const struct stream_resume *resume)
{
	struct heard *heard = ctx;

	(void)resume;
	heard->loaded = checkpoint_loaded(heard->loader);
	return heard->loaded;
}

static struct heard *reader_open(void)
{
	struct heard *heard = calloc(1, sizeof(*heard));
	const struct stream_handler handler = {
		.settings = on_settings,
		.event = on_event,
		.scan_site = received_model_scan_site,
		.scan = received_model_scan,
		.unprobed = received_model_unprobed,
		.checkpoint = on_checkpoint,
		.resume = on_resume,
		.ctx = heard,
	};

	assert_non_null(heard);
	heard->loaded = 1;
	assert_int_equal(stream_reader_new(&heard->reader, &handler), 0);
	return heard;
}

static void reader_close(struct heard *heard)
{
	stream_reader_free(heard->reader);
	checkpoint_loader_free(heard->loader);
	received_model_free(&heard->received);
	model_free(heard->received.model);
	free(heard);
}

static void read_bytes(struct heard *heard, const uint8_t *bytes, size_t size)
{
	struct error err = {0};
	int code = stream_read(heard->reader, bytes, size, &err);

	assert_string_equal(code ? err.text : "", "");
}

static char *report(const struct heard *heard)
{
	const struct format_options options = {0};
	struct snapshot *snapshot;
	char *text;

	assert_int_equal(model_snapshot(heard->received.model, 1000000 * MS, &snapshot), 0);
	snapshot->taken_at = 0;
	snapshot->taken_at_ms = 0;
	memset(&snapshot->tool, 0, sizeof(snapshot->tool));
	text = render(&format_json, snapshot, &options);
	snapshot_free(snapshot);
	return text;
}

static void expect_same(const struct heard *one, const struct heard *other)
{
	char *ours = report(one), *theirs = report(other);

	if (strcmp(ours, theirs)) {
		size_t at = 0;

		while (ours[at] == theirs[at])
			at++;
		at -= at < 200 ? at : 200;
		fail_msg("%.300s\nis not\n%.300s", ours + at, theirs + at);
	}
	free(ours);
	free(theirs);
}

/* ---- the tests ---- */

/* The end of the frame that contains the byte `behind`. */
static size_t frame_end(const struct pack *bytes, size_t behind)
{
	size_t at = HELLO_SIZE;

	while (at <= behind && at + FRAME_HEAD_SIZE <= bytes->count) {
		struct frame_head head;

		assert_int_equal(frame_head_unpack(bytes->bytes + at, &head), 0);
		at += FRAME_HEAD_SIZE + head.size;
	}
	return at;
}

/* Reads up to `cut`, saves the model, loads it and reads the rest; then reads the same in two
 * parts. */
static void cut_at(const struct pack *bytes, size_t cut, size_t again)
{
	struct heard *whole = reader_open(), *late = reader_open();
	struct pack saved = {0};
	struct merged_model *merged;

	assert_int_equal(merged_model_new(&merged, 1ULL << 40), 0);
	/* Data beyond the frame are held back, and are not in the model. */
	assert_int_equal(merged_model_read(merged, bytes->bytes, cut + 3), 0);
	assert_int_equal(merged_model_position(merged), cut);
	assert_int_equal(merged_model_wanted(merged), cut + 3);
	assert_int_equal(merged_model_save(merged, append, &saved), 0);
	read_bytes(late, saved.bytes, saved.count);
	assert_int_equal(late->loaded, 0);
	assert_int_equal(stream_wanted(late->reader), cut);
	read_bytes(whole, bytes->bytes, cut);
	expect_same(late, whole);
	read_bytes(late, bytes->bytes + cut, again - cut);
	read_bytes(whole, bytes->bytes + cut, again - cut);
	expect_same(late, whole);
	read_bytes(late, bytes->bytes + again, bytes->count - again);
	read_bytes(whole, bytes->bytes + again, bytes->count - again);
	assert_int_equal(stream_heard(late->reader), stream_heard(whole->reader));
	expect_same(late, whole);
	merged_model_free(merged);
	pack_free(&saved);
	reader_close(whole);
	reader_close(late);
}

static const struct stream_settings settings = {
	.apis = API_SET_ALL, .wrappers = true, .page_size = 4096, .begun_ns = 1, .version = "0"};

static void cut_everywhere(const struct stream_settings *written, uint64_t seed)
{
	struct pack bytes = trace(written, seed);

	for (size_t part = 1; part < 8; part += sweep_step(3)) {
		size_t cut = frame_end(&bytes, bytes.count / 9 * part);

		cut_at(&bytes, cut, frame_end(&bytes, cut + (bytes.count - cut) / 2));
	}
	pack_free(&bytes);
}

static void test_model_sent_at_any_point(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 12; seed += sweep_step(5))
		cut_everywhere(&settings, seed * 0x9e3779b97f4a7c15ULL);
}

static void test_model_sent_with_all_settings(void **state)
{
	struct stream_settings all = settings;

	(void)state;
	all.sanity = all.scans = all.omits = true;
	for (uint64_t seed = 1; seed < 6; seed += sweep_step(4))
		cut_everywhere(&all, seed * 0x9e3779b97f4a7c15ULL);
	all.sample = 65536;
	all.sanity = false;
	cut_everywhere(&all, 77);
}

static void test_model_too_large(void **state)
{
	struct pack bytes = trace(&settings, 5);
	struct merged_model *merged;

	(void)state;
	assert_int_equal(merged_model_new(&merged, 10), 0);
	assert_int_equal(merged_model_read(merged, bytes.bytes, bytes.count), -ENOSPC);
	merged_model_free(merged);
	pack_free(&bytes);
}

/* The records of a model, concatenated over its frames. */
static int keep_records(void *ctx, struct unpack *body)
{
	pack_bytes(ctx, body->at, unpack_left(body));
	return 0;
}

static int ignore_resume(void *ctx, const struct stream_resume *resume)
{
	(void)ctx, (void)resume;
	return 0;
}

static struct pack records_of(const struct pack *bytes)
{
	struct pack saved = {0}, records = {0};
	const struct stream_handler handler = {
		.checkpoint = keep_records,
		.resume = ignore_resume,
		.ctx = &records,
	};
	struct stream_reader *reader;
	struct merged_model *merged;
	struct error err;

	assert_int_equal(merged_model_new(&merged, 1ULL << 40), 0);
	assert_int_equal(
		merged_model_read(merged, bytes->bytes, frame_end(bytes, bytes->count / 2)), 0);
	assert_int_equal(merged_model_save(merged, append, &saved), 0);
	assert_int_equal(stream_reader_new(&reader, &handler), 0);
	assert_int_equal(stream_read(reader, saved.bytes, saved.count, &err), 0);
	stream_reader_free(reader);
	merged_model_free(merged);
	pack_free(&saved);
	return records;
}

/* Damaged records are refused, or give a model that can be reported and takes further events. */
static bool load_damaged(const struct stream_settings *written, const struct pack *records,
			 const struct pack *rest)
{
	struct heard *heard = reader_open();
	struct unpack body = {.at = records->bytes, .end = records->bytes + records->count};
	struct error err;
	bool loaded;

	assert_int_equal(on_settings(heard, written), 0);
	loaded = !on_checkpoint(heard, &body) && !checkpoint_loaded(heard->loader);
	if (loaded) {
		free(report(heard));
		assert_int_equal(stream_read(heard->reader, rest->bytes, rest->count, &err), 0);
		free(report(heard));
	}
	reader_close(heard);
	return loaded;
}

static void test_damaged_model(void **state)
{
	struct stream_settings all = settings;
	struct pack bytes, records, damaged = {0};
	struct chance chance = {99};

	(void)state;
	all.sanity = true;
	bytes = trace(&all, 3);
	records = records_of(&bytes);
	assert_true(load_damaged(&all, &records, &bytes));
	for (size_t round = 0; round < 300; round += sweep_step(6)) {
		damaged.count = 0;
		pack_bytes(&damaged, records.bytes, records.count);
		for (uint64_t i = draw(&chance, 3); i < 3; i++)
			damaged.bytes[draw(&chance, damaged.count)] ^=
				(uint8_t)(1 + draw(&chance, 255));
		load_damaged(&all, &damaged, &bytes);
	}
	for (size_t size = 0; size < records.count; size += 1 + size / 16) {
		damaged.count = 0;
		pack_bytes(&damaged, records.bytes, size);
		assert_false(load_damaged(&all, &damaged, &bytes));
	}
	pack_free(&bytes);
	pack_free(&records);
	pack_free(&damaged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_sent_at_any_point),
		cmocka_unit_test(test_model_sent_with_all_settings),
		cmocka_unit_test(test_model_too_large),
		cmocka_unit_test(test_damaged_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
