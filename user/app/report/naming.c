/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/report/naming.h"

#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "model/snapshot/resolve.h"
#include "os/process/proc.h"
#include "symbol/elf/module_table.h"

#define NS_PER_MS         1000000ULL
#define KEEP_UP_NS        (20 * NS_PER_MS)
#define PROGRESS_AFTER_NS (500 * NS_PER_MS)
#define PROGRESS_EVERY_NS (100 * NS_PER_MS)

struct naming_run {
	const struct naming *naming;
	uint64_t started_ns;
	uint64_t kept_up_ns;
	uint64_t shown_ns; /* 0: no progress is shown */
};

static void run_keep_up(struct naming_run *run)
{
	uint64_t now = clock_now_ns();

	if (!run->naming->keep_up || now - run->kept_up_ns < KEEP_UP_NS)
		return;
	run->naming->keep_up(run->naming->ctx);
	run->kept_up_ns = clock_now_ns();
}

/* The places passed to the parser start at `first`. */
struct naming_batch {
	frame_names_taker *take;
	void *ctx;
	size_t first;
};

static void batch_take(void *ctx, size_t index, const struct symbol_name *symbols, size_t count)
{
	const struct naming_batch *batch = ctx;
	struct frame_name names[PARSER_INLINE_MAX];

	for (size_t i = 0; i < count; i++)
		names[i] = (struct frame_name){symbols[i].function, symbols[i].file,
					       symbols[i].line, symbols[i].inlined};
	batch->take(batch->ctx, batch->first + index, names, count);
}

static void run_names(void *ctx, uint32_t module_id, const uint64_t *offsets, size_t count,
		      frame_names_taker *take, void *take_ctx)
{
	struct naming_run *run = ctx;
	const struct module *module = module_get(run->naming->modules, module_id);
	struct naming_batch batch = {.take = take, .ctx = take_ctx};
	size_t done = module && module->fd >= 0;

	for (; done && batch.first < count; batch.first += done) {
		run_keep_up(run);
		if (run->naming->enough && run->naming->enough(run->naming->ctx))
			return;
		done = parser_names(run->naming->parser, module, offsets + batch.first,
				    count - batch.first, batch_take, &batch);
	}
}

static void run_module(void *ctx, uint32_t module_id, const char **ret_path,
		       const char **ret_build_id)
{
	const struct naming_run *run = ctx;
	const struct module *module = module_get(run->naming->modules, module_id);

	*ret_path = module ? module->path : NULL;
	*ret_build_id = module && module->build_id[0] ? module->build_id : NULL;
}

/* A return address may be one past the end of the code, so look up the byte before. */
static uint64_t run_vaddr(void *ctx, uint32_t module_id, uint64_t offset)
{
	const struct naming_run *run = ctx;
	const struct module *module = module_get(run->naming->modules, module_id);
	uint64_t vaddr;

	if (!module || !offset || module_offset_to_vaddr(module, offset - 1, &vaddr))
		return offset;
	return vaddr + 1;
}

static void run_progress(void *ctx, size_t done, size_t total)
{
	char done_text[UNITS_TEXT_SIZE], total_text[UNITS_TEXT_SIZE];
	struct naming_run *run = ctx;
	uint64_t now = clock_now_ns();

	if (!run->naming->progress || now - run->started_ns < PROGRESS_AFTER_NS ||
	    now - run->shown_ns < PROGRESS_EVERY_NS)
		return;
	fprintf(stderr, "\rresolving symbols %s/%s\033[K", count_format(done, done_text),
		count_format(total, total_text));
	run->shown_ns = now;
}

int naming_apply(const struct naming *naming, struct snapshot *snapshot, size_t top)
{
	uint64_t now = clock_now_ns();
	struct naming_run run = {.naming = naming, .started_ns = now, .kept_up_ns = now};
	struct resolver resolver = {
		.names = run_names,
		.module = run_module,
		.vaddr = run_vaddr,
		.progress = run_progress,
		.ctx = &run,
	};
	int code = snapshot_resolve(snapshot, &resolver, top);

	if (run.shown_ns)
		fputs("\r\033[K", stderr);
	return code;
}
