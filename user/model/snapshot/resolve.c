/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds names for the frames of a snapshot. A symbolizer is slow (it reads DWARF), so each distinct
 * place (module, offset) is looked up only once, however many stacks and processes share it. All
 * places of a module are looked up together, so that the symbolizer can process one file after the
 * other.
 */
#include "model/snapshot/resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/event.h"

#define NAMES_MAX      32
#define PROGRESS_STEPS 64 /* number of places between progress reports */

struct named_place {
	uint32_t module; /* index in modules */
	uint64_t offset;
	struct frame_name *names;
	uint32_t name_count;
};

struct named_module {
	uint32_t id;
	const char *path;
	const char *build_id;
	struct map64 by_offset; /* offset → index in places */
};

struct snapshot_naming {
	struct snapshot *snapshot;
	const struct resolver *resolver;
	VEC(struct snapshot_stack *) stacks; /* stacks to name */
	VEC(struct named_module) modules;
	struct map64 by_module; /* id → index in modules */
	VEC(struct named_place) places;
};

static bool stack_is_named(const struct snapshot_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_count; i++)
		if (stack->frames[i].module)
			return true;
	return false;
}

static bool site_may_leak(const struct snapshot_site *site)
{
	return snapshot_leaked(site->leaks.classes).blocks ||
	       site->leaks.classes[LEAK_POSSIBLE].blocks || site->leaks.classes[LEAK_STACK].blocks;
}

static int choose_stack(struct snapshot_naming *naming, const struct snapshot_process *process,
			uint32_t stack, bool *chosen)
{
	if (stack >= process->stack_count || chosen[stack])
		return 0;
	chosen[stack] = true;
	return stack_is_named(&process->stacks[stack])
		       ? 0
		       : vec_push(&naming->stacks, &process->stacks[stack]);
}

static int choose_stacks_of_error(struct snapshot_naming *naming,
				  const struct snapshot_process *process,
				  const struct snapshot_error *error, bool *chosen)
{
	const uint32_t stacks[] = {error->allocated_at, error->freed_at, error->freed_again_at};
	int err = 0;

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]) && !err; i++)
		err = choose_stack(naming, process, stacks[i], chosen);
	return err;
}

/* Collects the stacks of the sites to name, and of all errors, each once; skips those that have
 * names from an earlier call. */
static int choose_stacks(struct snapshot_naming *naming, const struct snapshot_process *process,
			 size_t top)
{
	uint64_t ranks[FAMILY_COUNT] = {0}, own_ranks[FAMILY_COUNT] = {0};
	bool *chosen = calloc(process->stack_count + 1, sizeof(*chosen));
	int err = chosen ? 0 : -ENOMEM;

	for (size_t i = 0; i < process->site_count && !err; i++) {
		const struct snapshot_site *site = &process->sites[i];

		bool is_top = snapshot_is_top(ranks, site, top);

		/* The text report ranks only sites that are not entirely inherited. */
		if (!snapshot_is_inherited(site))
			is_top |= snapshot_is_top(own_ranks, site, top);
		if (is_top || site_may_leak(site))
			err = choose_stack(naming, process, site->stack, chosen);
	}
	for (size_t i = 0; i < process->error_count && !err; i++)
		err = choose_stacks_of_error(naming, process, &process->errors[i], chosen);
	free(chosen);
	return err;
}

/* Copies a text; NULL stays NULL. Returns 0 or -ENOMEM. */
static int keep_text(struct snapshot_naming *naming, const char *text, const char **ret_text)
{
	*ret_text = snapshot_string(naming->snapshot, text);
	return text && !*ret_text ? -ENOMEM : 0;
}

static int module_add(struct snapshot_naming *naming, uint32_t id, uint32_t *ret_index)
{
	const char *path = NULL, *build_id = NULL;
	struct named_module module = {.id = id};

	naming->resolver->module(naming->resolver->ctx, id, &path, &build_id);
	if (keep_text(naming, path, &module.path) ||
	    keep_text(naming, build_id, &module.build_id) || vec_push(&naming->modules, module))
		return -ENOMEM;
	*ret_index = (uint32_t)naming->modules.count - 1;
	return map64_set(&naming->by_module, id, *ret_index);
}

/* Names are looked up by return address. */
static uint64_t frame_place(const struct snapshot_frame *frame)
{
	return frame->offset + frame->exact;
}

static int place_add(struct snapshot_naming *naming, const struct snapshot_frame *frame)
{
	struct named_module *module;
	uint32_t index;

	if (frame->module_id == MODULE_NONE)
		return 0;
	index = map64_get(&naming->by_module, frame->module_id);
	if (index == MAP64_NONE && module_add(naming, frame->module_id, &index))
		return -ENOMEM;
	module = &naming->modules.items[index];
	if (map64_get(&module->by_offset, frame_place(frame)) != MAP64_NONE)
		return 0;
	if (vec_push(&naming->places,
		     (struct named_place){.module = index, .offset = frame_place(frame)}))
		return -ENOMEM;
	return map64_set(&module->by_offset, frame_place(frame),
			 (uint32_t)naming->places.count - 1);
}

static int collect_places(struct snapshot_naming *naming)
{
	for (size_t i = 0; i < naming->stacks.count; i++) {
		const struct snapshot_stack *stack = naming->stacks.items[i];

		for (uint32_t j = 0; j < stack->frame_count; j++)
			if (place_add(naming, &stack->frames[j]))
				return -ENOMEM;
	}
	return 0;
}

/* Places of one module that are looked up together. */
struct name_batch {
	struct snapshot_naming *naming;
	const uint32_t *order; /* indices in places */
	size_t first;          /* index in `order` of the first one */
	size_t count;
	int err;
};

static int name_place(struct snapshot_naming *naming, struct named_place *place,
		      const struct frame_name *names, size_t count)
{
	if (count > NAMES_MAX)
		count = NAMES_MAX;
	place->names = snapshot_alloc(naming->snapshot, count * sizeof(*place->names));
	if (!place->names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		place->names[i] = names[i];
		if (keep_text(naming, names[i].function, &place->names[i].function) ||
		    keep_text(naming, names[i].file, &place->names[i].file))
			return -ENOMEM;
	}
	place->name_count = (uint32_t)count;
	return 0;
}

static int compare_places(const void *a, const void *b, void *ctx)
{
	const struct named_place *places = ctx;
	const struct named_place *left = &places[*(const uint32_t *)a];
	const struct named_place *right = &places[*(const uint32_t *)b];

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

static void report_progress(const struct snapshot_naming *naming, size_t done)
{
	const struct resolver *resolver = naming->resolver;
	size_t total = naming->places.count;

	if (resolver->progress && (done == total || done % PROGRESS_STEPS == 0))
		resolver->progress(resolver->ctx, done, total);
}

static void take_names(void *ctx, size_t index, const struct frame_name *names, size_t count)
{
	struct name_batch *batch = ctx;
	struct snapshot_naming *naming = batch->naming;

	if (!batch->err && count && index < batch->count)
		batch->err = name_place(naming,
					&naming->places.items[batch->order[batch->first + index]],
					names, count);
	report_progress(naming, batch->first + index + 1);
}

static int name_batch(struct name_batch *batch, uint64_t *offsets)
{
	const struct snapshot_naming *naming = batch->naming;
	const struct named_place *places = naming->places.items;
	uint32_t module = places[batch->order[batch->first]].module;

	for (size_t i = 0; i < batch->count; i++)
		offsets[i] = places[batch->order[batch->first + i]].offset;
	naming->resolver->names(naming->resolver->ctx, naming->modules.items[module].id, offsets,
				batch->count, take_names, batch);
	return batch->err;
}

/* Returns the number of places from `first` on that are in one module. */
static size_t batch_size(const struct snapshot_naming *naming, const uint32_t *order, size_t first)
{
	const struct named_place *places = naming->places.items;
	size_t end = first;

	while (end < naming->places.count &&
	       places[order[end]].module == places[order[first]].module)
		end++;
	return end - first;
}

static int name_batches(struct snapshot_naming *naming, const uint32_t *order, uint64_t *offsets)
{
	size_t count = naming->places.count;
	int err = 0;

	for (size_t first = 0, size; first < count && !err; first += size) {
		struct name_batch batch = {.naming = naming, .order = order, .first = first};

		size = batch.count = batch_size(naming, order, first);
		err = name_batch(&batch, offsets);
	}
	if (count)
		report_progress(naming, count);
	return err;
}

static int name_places(struct snapshot_naming *naming)
{
	size_t count = naming->places.count;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	uint64_t *offsets = malloc((count + 1) * sizeof(*offsets));
	int err = order && offsets ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		order[i] = (uint32_t)i;
	if (count && !err)
		qsort_r(order, count, sizeof(*order), compare_places, naming->places.items);
	if (!err)
		err = name_batches(naming, order, offsets);
	free(order);
	free(offsets);
	return err;
}

/* Returns the place of a frame, or NULL if it is in no module. */
static const struct named_place *place_of(const struct snapshot_naming *naming,
					  const struct snapshot_frame *frame)
{
	const struct named_module *module;

	if (frame->module_id == MODULE_NONE)
		return NULL;
	module = &naming->modules.items[map64_get(&naming->by_module, frame->module_id)];
	return &naming->places.items[map64_get(&module->by_offset, frame_place(frame))];
}

/* Writes the frame once for each of its names. Returns the number of frames written. */
static uint32_t expand_frame(const struct snapshot_naming *naming, struct snapshot_frame frame,
			     struct snapshot_frame *ret_frames)
{
	const struct named_place *place = place_of(naming, &frame);

	const struct resolver *resolver = naming->resolver;

	if (place) {
		frame.module = naming->modules.items[place->module].path;
		frame.build_id = naming->modules.items[place->module].build_id;
		frame.vaddr = resolver->vaddr ? resolver->vaddr(resolver->ctx, frame.module_id,
								frame.offset)
					      : frame.offset;
	}
	if (!place || !place->name_count) {
		*ret_frames = frame;
		return 1;
	}
	for (uint32_t i = 0; i < place->name_count; i++) {
		frame.function = place->names[i].function;
		frame.file = place->names[i].file;
		frame.line = place->names[i].line;
		frame.inlined = place->names[i].inlined;
		ret_frames[i] = frame;
	}
	return place->name_count;
}

static int name_stack(struct snapshot_naming *naming, struct snapshot_stack *stack)
{
	struct snapshot_frame *frames;
	uint32_t count = 0;

	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct named_place *place = place_of(naming, &stack->frames[i]);

		count += place && place->name_count ? place->name_count : 1;
	}
	frames = snapshot_alloc(naming->snapshot, count * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	count = 0;
	for (uint32_t i = 0; i < stack->frame_count; i++)
		count += expand_frame(naming, stack->frames[i], &frames[count]);
	stack->frames = frames;
	stack->frame_count = count;
	return 0;
}

static int name_stacks(struct snapshot_naming *naming)
{
	for (size_t i = 0; i < naming->stacks.count; i++)
		if (name_stack(naming, naming->stacks.items[i]))
			return -ENOMEM;
	return 0;
}

/* Sets the end module of every incomplete stack. */
static int name_ends(struct snapshot_naming *naming, const struct snapshot_process *process)
{
	for (size_t i = 0; i < process->stack_count; i++) {
		struct snapshot_stack *stack = &process->stacks[i];
		const char *path = NULL, *build_id = NULL;
		uint32_t module;

		if (stack->stop == STOP_END || !stack->frame_count)
			continue;
		module = stack->frames[stack->frame_count - 1].module_id;
		if (module != MODULE_NONE)
			naming->resolver->module(naming->resolver->ctx, module, &path, &build_id);
		if (keep_text(naming, path, &stack->end_module))
			return -ENOMEM;
	}
	return 0;
}

static void naming_free(struct snapshot_naming *naming)
{
	struct named_module *module;

	vec_each (module, &naming->modules)
		map64_free(&module->by_offset);
	vec_free(&naming->modules);
	vec_free(&naming->stacks);
	vec_free(&naming->places);
	map64_free(&naming->by_module);
}

int snapshot_resolve(struct snapshot *snapshot, const struct resolver *resolver, size_t top)
{
	struct snapshot_naming naming = {.snapshot = snapshot, .resolver = resolver};
	int err = 0;

	for (size_t i = 0; i < snapshot->process_count && !err; i++)
		err = choose_stacks(&naming, &snapshot->processes[i], top);
	if (!err)
		err = collect_places(&naming);
	if (!err)
		err = name_places(&naming);
	if (!err)
		err = name_stacks(&naming);
	for (size_t i = 0; i < snapshot->process_count && !err; i++)
		err = name_ends(&naming, &snapshot->processes[i]);
	naming_free(&naming);
	return err;
}
