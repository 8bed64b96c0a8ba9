// SPDX-License-Identifier: GPL-2.0-or-later
/* A number from the stream is used as an index only after it was checked that the item exists. */
#include "net/checkpoint/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/update/scan.h"
#include "model/process/process.h"
#include "model/process/series.h"
#include "model/site/stack.h"
#include "net/checkpoint/code.h"
#include "net/checkpoint/fields.h"

struct checkpoint_loader {
	struct model *model;
	const struct map64 *modules;
	struct process *process; /* the process that is being loaded, or NULL */
	VEC(uint64_t) left;      /* by region: bytes that no piece covers yet */
	uint64_t reach;          /* end of the previous piece */
	size_t ages;             /* number of sites that have their ages */
	size_t leaks;            /* number of sites that have their leaks */
	bool begun;
	bool ended;
};

int checkpoint_loader_new(struct checkpoint_loader **ret_loader, struct model *model,
			  const struct map64 *modules)
{
	struct checkpoint_loader *loader = calloc(1, sizeof(*loader));

	if (!loader)
		return -ENOMEM;
	loader->model = model;
	loader->modules = modules;
	*ret_loader = loader;
	return 0;
}

void checkpoint_loader_free(struct checkpoint_loader *loader)
{
	if (!loader)
		return;
	process_free(loader->process);
	vec_free(&loader->left);
	free(loader);
}

int checkpoint_loaded(const struct checkpoint_loader *loader)
{
	return loader->ended ? 0 : -EBADMSG;
}

static int load_model(struct checkpoint_loader *loader, struct unpack *body)
{
	if (loader->begun)
		return -EBADMSG;
	loader->begun = true;
	unpack_fields(body, &fields_model, loader->model);
	return body->bad ? -EBADMSG : 0;
}

/* Returns a NULL-terminated array of words. The caller frees the array; the words belong to the
 * body. Returns NULL if malformed. */
static const char **load_words(struct unpack *body)
{
	uint64_t count = unpack_bounded(body, unpack_left(body));
	const char **words = body->bad ? NULL : calloc(count + 1, sizeof(*words));

	for (uint64_t i = 0; words && i < count; i++) {
		words[i] = unpack_text(body);
		body->bad |= !words[i];
	}
	return words;
}

static bool is_in_order(const struct checkpoint_loader *loader, const struct process *process)
{
	const struct model *model = loader->model;
	size_t count = model->processes.count;

	return process->number < model->opened &&
	       (!count || model->processes.items[count - 1]->number < process->number) &&
	       (process->closed || !process->settled);
}

static int load_process(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process copy = {.number = 0};
	struct event event = {.kind = EVENT_PROCESS};
	const char *reason, **words;
	struct process *process;
	int err;

	if (loader->process)
		return -EBADMSG;
	unpack_fields(body, &fields_process, &copy);
	event.process.comm = unpack_text(body);
	event.process.exe = unpack_text(body);
	event.process.arch = unpack_text(body);
	event.process.cgroup = unpack_text(body);
	event.process.container = unpack_text(body);
	reason = unpack_text(body);
	words = load_words(body);
	event.process.command = words;
	err = body->bad || !is_in_order(loader, &copy) ? -EBADMSG : 0;
	if (!err)
		err = process_new(&process, &event, &loader->model->config, copy.number);
	free((void *)words);
	if (err)
		return err;
	loader->process = process;
	copy.config = process->config;
	copy.users.items = process->users.items;
	copy.users.capacity = process->users.capacity;
	copy.comm = process->comm;
	copy.program = process->program;
	copy.stacks.max = process->stacks.max;
	*process = copy;
	loader->left.count = 0;
	loader->reach = loader->ages = loader->leaks = 0;
	return reason ? scan_update_fail(process, reason) : 0;
}

static int load_user(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct user user = {.pid = 0};

	unpack_fields(body, &fields_user, &user);
	if (body->bad || process_user(process, user.pid))
		return -EBADMSG;
	return vec_push(&process->users, user);
}

static int load_mapping(struct checkpoint_loader *loader, struct unpack *body)
{
	struct mapping mapping;

	unpack_fields(body, &fields_mapping, &mapping);
	if (body->bad || mapping.start >= mapping.end)
		return -EBADMSG;
	if (loader->modules && mapping.module != MODULE_NONE)
		mapping.module = map64_get(loader->modules, mapping.module);
	return vec_push(&loader->process->mappings.history, mapping);
}

static int load_wrapper(struct checkpoint_loader *loader, struct unpack *body)
{
	struct event_wrapper wrapper;

	unpack_fields(body, &fields_wrapper, &wrapper);
	if (body->bad || wrapper.api == API_NONE)
		return -EBADMSG;
	return mappings_add_wrapper(&loader->process->mappings, &wrapper);
}

static bool is_stack(const struct process *process, const struct stack *stack)
{
	bool one_other = !stack->other || (!stack->count && !process->stacks.other);

	return stack->stop <= STOP_NOT_TAKEN && stack->wrapper < API_COUNT &&
	       stack->wrappers <= stack->count && one_other && (stack->other || stack->count);
}

static int load_stack(struct checkpoint_loader *loader, struct unpack *body)
{
	uint64_t frames[STACK_FRAMES_MAX], last = 0;
	unsigned int flags = unpack_byte(body);
	struct stack stack = {
		.truncated = flags & STACK_TRUNCATED,
		.guessed = flags & STACK_GUESSED,
		.placeholder = flags & STACK_PLACEHOLDER,
		.other = flags & STACK_OTHER,
		.frames = frames,
	};

	stack.stop = unpack_byte(body);
	stack.wrapper = unpack_byte(body);
	stack.wrappers = unpack_byte(body);
	stack.clock = (uint32_t)unpack_bounded(body, UINT32_MAX);
	stack.count = (uint32_t)unpack_bounded(body, STACK_MAX_FRAMES);
	for (uint32_t i = 0; i < stack.count; i++)
		frames[i] = unpack_difference(body, &last);
	if (body->bad || !is_stack(loader->process, &stack))
		return -EBADMSG;
	return stacks_enter(&loader->process->stacks, stack, flags & STACK_SHARED);
}

static int load_stack_id(struct checkpoint_loader *loader, struct unpack *body)
{
	struct stacks *stacks = &loader->process->stacks;
	uint64_t id = unpack_fixed(body, 8);
	uint32_t index = (uint32_t)unpack_bounded(body, UINT32_MAX);

	if (body->bad || index >= stacks->items.count)
		return -EBADMSG;
	return stacks_enter_id(stacks, id, index);
}

/* Sites are loaded in their original order, which rebuilds the chain of sites of each stack. */
static int load_site(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	uint32_t index = (uint32_t)process->sites.count;
	struct site site = {.process_number = process->number};
	struct stack *stack;

	unpack_fields(body, &fields_site, &site);
	if (body->bad || site.api == API_NONE || site.stack >= process->stacks.items.count ||
	    (site.live_blocks && !site.allocations && !site.inherited_blocks))
		return -EBADMSG;
	stack = stack_change(&process->stacks, site.stack);
	if (!stack || cow_grow(&process->sites, 1, sizeof(site)))
		return -ENOMEM;
	site.next = stack->site;
	stack->site = index;
	memcpy(cow_write(&process->sites, index, sizeof(site)), &site, sizeof(site));
	return 0;
}

static bool is_site(const struct process *process, uint32_t site)
{
	return site == SITE_NONE || site < process->sites.count;
}

static bool is_stack_index(const struct process *process, uint32_t stack)
{
	return stack == STACK_NONE || stack < process->stacks.items.count;
}

static int load_region(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct region region;

	unpack_fields(body, &fields_region, &region);
	if (body->bad || !is_site(process, region.site) || process->regions.root)
		return -EBADMSG;
	if (vec_push(&loader->left, region.bytes))
		return -ENOMEM;
	return regions_enter(&process->regions, &region);
}

/* Subtracts the bytes of the piece from those that its region has left. */
static int enter_piece(struct checkpoint_loader *loader, struct unpack *body,
		       struct piece *ret_piece, uint32_t *list)
{
	uint64_t *left;

	unpack_fields(body, &fields_piece, ret_piece);
	if (body->bad || ret_piece->region >= loader->left.count ||
	    ret_piece->start >= ret_piece->end)
		return -EBADMSG;
	left = &loader->left.items[ret_piece->region];
	if (ret_piece->end - ret_piece->start > *left)
		return -EBADMSG;
	*left -= ret_piece->end - ret_piece->start;
	return regions_enter_piece(&loader->process->regions, ret_piece, list);
}

static int load_piece(struct checkpoint_loader *loader, struct unpack *body)
{
	struct piece piece = {.start = 0};
	uint64_t reach = loader->reach;
	int err = enter_piece(loader, body, &piece, NULL);

	loader->reach = piece.end;
	return !err && piece.start < reach ? -EBADMSG : err;
}

static struct block unpack_block(struct unpack *body)
{
	struct checkpoint_block copy = {0};

	unpack_fields(body, &fields_block, &copy);
	return (struct block){.address = copy.address,
			      .size = copy.size & UINT64_MAX >> 8,
			      .sample = copy.sample,
			      .site = copy.site,
			      .time = copy.time};
}

static int load_block(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct block block = unpack_block(body), old;
	int code;

	if (body->bad || !block.address || !is_site(process, block.site))
		return -EBADMSG;
	code = heap_put(&process->heap, &block, &old);
	return code == 1 ? -EBADMSG : code;
}

static int load_pending(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct pending pending = {.pieces = PIECE_NONE};
	struct piece piece;
	uint64_t count;
	int err = 0;

	unpack_fields(body, &fields_pending, &pending);
	pending.block = unpack_block(body);
	count = unpack_bounded(body, unpack_left(body));
	if (body->bad || !is_site(process, pending.block.site) || pending.api == API_NONE ||
	    !(api_row((enum api)pending.api)->flags & COOKIE_FLAG_BEGIN) ||
	    pendings_has(&process->pendings, pending.tid, pending.api))
		return -EBADMSG;
	for (uint64_t i = 0; i < count && !err; i++)
		err = enter_piece(loader, body, &piece, &pending.pieces);
	return err ? err : pendings_push(&process->pendings, &pending);
}

static int load_ending(struct checkpoint_loader *loader, struct unpack *body)
{
	uint64_t tid = unpack_bounded(body, UINT32_MAX);

	return body->bad ? -EBADMSG : map64_set(&loader->process->ending, tid, 1);
}

static int load_freed(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct freed freed;

	unpack_fields(body, &fields_freed, &freed);
	if (body->bad || process->sanity.freed.count >= FREED_MAX ||
	    !is_site(process, freed.site) ||
	    (freed.address && freed.stack >= process->stacks.items.count))
		return -EBADMSG;
	return sanity_enter_freed(&process->sanity, &freed);
}

static int load_error(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct sanity_error error;

	unpack_fields(body, &fields_error, &error);
	if (body->bad || process->sanity.errors.count >= SANITY_ERROR_MAX ||
	    !is_site(process, error.site) || !is_stack_index(process, error.freed_at) ||
	    !is_stack_index(process, error.freed_again_at))
		return -EBADMSG;
	return sanity_enter_error(&process->sanity, &error);
}

static int load_last_call(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct last_call call;

	unpack_fields(body, &fields_last_call, &call);
	if (body->bad)
		return -EBADMSG;
	if (!process->last_calls)
		process->last_calls = calloc(LAST_CALLS, sizeof(*process->last_calls));
	if (!process->last_calls)
		return -ENOMEM;
	process->last_calls[call.tid % LAST_CALLS] = call;
	return 0;
}

static int load_series(struct checkpoint_loader *loader, struct unpack *body)
{
	uint32_t site = (uint32_t)unpack_bounded(body, UINT32_MAX);
	struct series series = {.from = (uint32_t)unpack_bounded(body, UINT32_MAX)};
	uint64_t last = series.from, before;

	series.count = (uint32_t)unpack_bounded(body, SERIES_POINTS);
	for (uint32_t i = 0; i < series.count; i++) {
		before = last;
		series.until[i] = (uint32_t)unpack_difference(body, &last);
		series.low[i] = unpack_number(body);
		series.high[i] = unpack_number(body);
		body->bad |= last <= before || last > UINT32_MAX;
	}
	if (body->bad || site >= loader->process->sites.count ||
	    process_series(loader->process, site))
		return -EBADMSG;
	return process_enter_series(loader->process, site, &series);
}

static int load_ages(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct ages ages;

	unpack_fields(body, &fields_ages, &ages);
	if (body->bad || !process->closed || loader->ages >= process->sites.count)
		return -EBADMSG;
	if (!process->ages)
		process->ages = calloc(process->sites.count + 1, sizeof(*process->ages));
	if (!process->ages)
		return -ENOMEM;
	process->ages[loader->ages++] = ages;
	return 0;
}

static int load_leaks(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct snapshot_leaks leaks = {.oldest_ns = 0};

	for (int i = 0; i < CHECKPOINT_CLASSES; i++) {
		unpack_fields(body, &fields_sum, &leaks.classes[i]);
		unpack_fields(body, &fields_example, &leaks.examples[i]);
	}
	leaks.oldest_ns = unpack_number(body);
	leaks.youngest_ns = unpack_number(body);
	if (body->bad || loader->leaks >= process->sites.count)
		return -EBADMSG;
	if (!process->leaks)
		process->leaks = calloc(process->sites.count + 1, sizeof(*process->leaks));
	if (!process->leaks)
		return -ENOMEM;
	process->leaks[loader->leaks++] = leaks;
	process->leak_count = loader->leaks;
	return 0;
}

static int load_stack_only(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	struct snapshot_sum *all = process ? &process->scan.classes[LEAK_STACK]
					   : &loader->model->others.sums.scan.classes[LEAK_STACK];
	uint32_t site = (uint32_t)unpack_bounded(body, UINT32_MAX);
	struct snapshot_leaks *leaks;

	if (site == CHECKPOINT_NO_SITE) {
		unpack_fields(body, &fields_sum, all);
		return body->bad ? -EBADMSG : 0;
	}
	if (!process || site >= loader->leaks)
		return -EBADMSG;
	leaks = &process->leaks[site];
	unpack_fields(body, &fields_sum, &leaks->classes[LEAK_STACK]);
	unpack_fields(body, &fields_example, &leaks->examples[LEAK_STACK]);
	return body->bad ? -EBADMSG : 0;
}

static int load_tagged(struct checkpoint_loader *loader, struct unpack *body)
{
	loader->process->scan.tagged = unpack_number(body);
	return body->bad ? -EBADMSG : 0;
}

/* Returns true if the chain of spare entries contains each spare entry exactly once. */
static bool spares_are_chained(const struct sanity *sanity)
{
	size_t spares = 0, found = 0;
	uint32_t spare = sanity->spare;

	for (size_t i = 0; i < sanity->freed.count; i++)
		spares += !sanity->freed.items[i].address;
	while (spare && found <= spares) {
		if (spare > sanity->freed.count || sanity->freed.items[spare - 1].address)
			return false;
		spare = sanity->freed.items[spare - 1].stack;
		found++;
	}
	return found == spares;
}

/* Returns true if the totals of the process equal the sums over its sites. */
static bool sums_agree(const struct process *process)
{
	uint64_t blocks = 0, bytes = 0;

	for (uint32_t i = 0; i < process->sites.count; i++) {
		const struct site *site = process_site_at(process, i);
		bool mapped = api_row((enum api)site->api)->family == FAMILY_MAP;

		blocks += mapped ? 0 : site->live_blocks;
		bytes += mapped ? 0 : site->live_bytes;
	}
	return blocks == process->live_blocks && bytes == process->live_bytes;
}

static int compare_present(const void *a, const void *b, void *ctx)
{
	const struct mapping *history = ctx;
	uint64_t left = history[*(const uint32_t *)a].start;
	uint64_t right = history[*(const uint32_t *)b].start;

	return (left > right) - (left < right);
}

static int find_present(struct mappings *mappings)
{
	const struct mapping *history = mappings->history.items;

	for (uint32_t i = 0; i < mappings->history.count; i++)
		if (history[i].until == MAPPING_PRESENT && vec_push(&mappings->present, i))
			return -ENOMEM;
	if (mappings->present.count)
		qsort_r(mappings->present.items, mappings->present.count,
			sizeof(*mappings->present.items), compare_present, mappings->history.items);
	for (size_t i = 1; i < mappings->present.count; i++)
		if (history[mappings->present.items[i]].start <
		    history[mappings->present.items[i - 1]].end)
			return -EBADMSG;
	return 0;
}

static int load_process_end(struct checkpoint_loader *loader, struct unpack *body)
{
	struct process *process = loader->process;
	int err = find_present(&process->mappings);

	(void)body;
	if (err)
		return err;
	for (size_t i = 0; i < loader->left.count; i++)
		if (loader->left.items[i])
			return -EBADMSG;
	if (!process->users.count || (process->ages && loader->ages < process->sites.count) ||
	    (process->settled && process->heap.count) || !spares_are_chained(&process->sanity) ||
	    !sums_agree(process))
		return -EBADMSG;
	err = model_enter(loader->model, process);
	if (!err)
		loader->process = NULL;
	return err;
}

static int load_end(struct checkpoint_loader *loader, struct unpack *body)
{
	loader->ended = true;
	return body->at == body->end ? 0 : -EBADMSG;
}

static int (*const records[CHECKPOINT_RECORDS])(struct checkpoint_loader *loader,
						struct unpack *body) = {
	[CHECKPOINT_MODEL] = load_model,       [CHECKPOINT_PROCESS] = load_process,
	[CHECKPOINT_USER] = load_user,         [CHECKPOINT_MAPPING] = load_mapping,
	[CHECKPOINT_WRAPPER] = load_wrapper,   [CHECKPOINT_STACK] = load_stack,
	[CHECKPOINT_STACK_ID] = load_stack_id, [CHECKPOINT_SITE] = load_site,
	[CHECKPOINT_REGION] = load_region,     [CHECKPOINT_PIECE] = load_piece,
	[CHECKPOINT_BLOCK] = load_block,       [CHECKPOINT_PENDING] = load_pending,
	[CHECKPOINT_ENDING] = load_ending,     [CHECKPOINT_FREED] = load_freed,
	[CHECKPOINT_ERROR] = load_error,       [CHECKPOINT_LAST_CALL] = load_last_call,
	[CHECKPOINT_SERIES] = load_series,     [CHECKPOINT_AGES] = load_ages,
	[CHECKPOINT_LEAKS] = load_leaks,       [CHECKPOINT_PROCESS_END] = load_process_end,
	[CHECKPOINT_END] = load_end,           [CHECKPOINT_STACK_ONLY] = load_stack_only,
	[CHECKPOINT_TAGGED] = load_tagged,
};

/* Returns true for a record of a process within one, and for others outside. */
static bool is_in_place(const struct checkpoint_loader *loader, unsigned int record)
{
	if (record == CHECKPOINT_STACK_ONLY || record == CHECKPOINT_PROCESS)
		return true;
	if (record == CHECKPOINT_TAGGED)
		return loader->process;
	return (record > CHECKPOINT_PROCESS && record < CHECKPOINT_END) == !!loader->process;
}

static int load_record(struct checkpoint_loader *loader, struct unpack *body)
{
	unsigned int record = unpack_byte(body);

	if (!record || record >= CHECKPOINT_RECORDS || loader->ended ||
	    (!loader->begun && record != CHECKPOINT_MODEL) || !is_in_place(loader, record))
		return -EBADMSG;
	return records[record](loader, body);
}

int checkpoint_load(struct checkpoint_loader *loader, struct unpack *body)
{
	int err = 0;

	while (!err && body->at < body->end)
		err = load_record(loader, body);
	return err;
}
