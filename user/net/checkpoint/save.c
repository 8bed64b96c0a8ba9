// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/checkpoint/save.h"

#include <errno.h>
#include <stdlib.h>

#include "model/site/stack.h"
#include "net/checkpoint/code.h"
#include "net/checkpoint/fields.h"
#include "net/stream/write.h"

#define FULL (128u << 10) /* bytes after which a frame is written */

struct saver {
	struct stream_writer *writer;
	struct pack out;
	int err;
	const struct process *process;
};

/* Must be called at the end of each record. Writes a frame if there is enough data. */
static void next(struct saver *saver)
{
	if (saver->out.count < FULL || saver->err)
		return;
	saver->err = stream_write_checkpoint(saver->writer, &saver->out);
	saver->out.count = 0;
}

static void save(struct saver *saver, enum checkpoint_record record,
		 const struct checkpoint_fields *fields, const void *from)
{
	pack_byte(&saver->out, record);
	pack_fields(&saver->out, fields, from);
	next(saver);
}

static void save_process(struct saver *saver, const struct process *process)
{
	const struct process_program *program = process->program;
	struct pack *out = &saver->out;
	char *const *word;

	pack_byte(out, CHECKPOINT_PROCESS);
	pack_fields(out, &fields_process, process);
	pack_text(out, process->comm);
	pack_text(out, program->exe);
	pack_text(out, program->arch);
	pack_text(out, program->cgroup);
	pack_text(out, program->container);
	pack_text(out, process->scan_reason);
	pack_number(out, program->command.count);
	vec_each (word, &program->command)
		pack_text(out, *word);
	next(saver);
}

static void save_image(struct saver *saver, const struct process *process)
{
	const struct event_wrapper *wrapper;
	const struct mapping *mapping;
	const struct user *user;

	vec_each (user, &process->users)
		save(saver, CHECKPOINT_USER, &fields_user, user);
	vec_each (mapping, &process->mappings.history)
		save(saver, CHECKPOINT_MAPPING, &fields_mapping, mapping);
	vec_each (wrapper, &process->mappings.wrappers.sorted)
		save(saver, CHECKPOINT_WRAPPER, &fields_wrapper, wrapper);
}

static void save_stack(struct saver *saver, const struct stacks *stacks, uint32_t index)
{
	const struct stack *stack = stack_at(stacks, index);
	struct pack *out = &saver->out;
	unsigned int flags = 0;
	uint64_t last = 0;

	flags |= stack->truncated ? STACK_TRUNCATED : 0;
	flags |= stack->guessed ? STACK_GUESSED : 0;
	flags |= stack->placeholder ? STACK_PLACEHOLDER : 0;
	flags |= stack->other ? STACK_OTHER : 0;
	flags |= stacks_is_shared(stacks, index) ? STACK_SHARED : 0;
	pack_byte(out, CHECKPOINT_STACK);
	pack_byte(out, flags);
	pack_byte(out, stack->stop);
	pack_byte(out, stack->wrapper);
	pack_byte(out, stack->wrappers);
	pack_number(out, stack->clock);
	pack_number(out, stack->count);
	for (uint32_t i = 0; i < stack->count; i++)
		pack_difference(out, stack->frames[i], &last);
	next(saver);
}

static void save_stack_id(void *ctx, uint64_t id, uint32_t index)
{
	struct saver *saver = ctx;

	pack_byte(&saver->out, CHECKPOINT_STACK_ID);
	pack_fixed(&saver->out, id, 8);
	pack_number(&saver->out, index);
	next(saver);
}

static void save_places(struct saver *saver, const struct process *process)
{
	for (uint32_t i = 0; i < process->stacks.items.count; i++)
		save_stack(saver, &process->stacks, i);
	cow_map_visit(&process->stacks.by_id, save_stack_id, saver);
	for (uint32_t i = 0; i < process->sites.count; i++) {
		struct site site = process_site_view(process, i);

		save(saver, CHECKPOINT_SITE, &fields_site, &site);
	}
}

static struct checkpoint_block block_fields(const struct block *block)
{
	return (struct checkpoint_block){block->address, block->size, block->site, block->time,
					 block->sample};
}

static void save_block(void *ctx, const struct block *block)
{
	struct saver *saver = ctx;
	struct checkpoint_block fields = block_fields(block);

	save(saver, CHECKPOINT_BLOCK, &fields_block, &fields);
}

static void save_regions(struct saver *saver, const struct regions *regions)
{
	const struct region *region;
	const struct piece *piece;

	vec_each (region, &regions->regions)
		save(saver, CHECKPOINT_REGION, &fields_region, region);
	for (piece = regions_at(regions, 0); piece; piece = regions_at(regions, piece->end))
		save(saver, CHECKPOINT_PIECE, &fields_piece, piece);
}

/* Includes the pieces that the call has taken out of the model. */
static void save_pending(struct saver *saver, const struct pending *pending)
{
	const struct regions *regions = &saver->process->regions;
	struct checkpoint_block block = block_fields(&pending->block);
	uint32_t list, count = 0;

	pack_byte(&saver->out, CHECKPOINT_PENDING);
	pack_fields(&saver->out, &fields_pending, pending);
	pack_fields(&saver->out, &fields_block, &block);
	for (list = pending->pieces; list; list = regions->pieces.items[list - 1].left)
		count++;
	pack_number(&saver->out, count);
	for (list = pending->pieces; list; list = regions->pieces.items[list - 1].left)
		pack_fields(&saver->out, &fields_piece, &regions->pieces.items[list - 1]);
	next(saver);
}

/* Saves the pending calls of a thread, interrupted calls before those that interrupted them. */
static void save_pile(struct saver *saver, const struct pendings *pendings, uint32_t newest)
{
	VEC(uint32_t) pile = {0};

	for (; newest != MAP64_NONE; newest = pendings->items.items[newest].below)
		if (vec_push(&pile, newest)) {
			saver->err = -ENOMEM;
			break;
		}
	for (size_t i = pile.count; i-- > 0 && !saver->err;)
		save_pending(saver, &pendings->items.items[pile.items[i]]);
	vec_free(&pile);
}

/* Loops over all entries of a map. */
#define map64_each(entry, map)                                                             \
	for ((entry) = (map)->entries; (entry) && (entry) <= (map)->entries + (map)->mask; \
	     (entry)++)                                                                    \
		if ((entry)->value != MAP64_NONE)

static void save_calls(struct saver *saver, const struct process *process)
{
	const struct map64_entry *entry;

	map64_each(entry, &process->pendings.newest)
		save_pile(saver, &process->pendings, entry->value);
	map64_each(entry, &process->ending)
	{
		pack_byte(&saver->out, CHECKPOINT_ENDING);
		pack_number(&saver->out, entry->key);
		next(saver);
	}
	for (size_t i = 0; process->last_calls && i < LAST_CALLS; i++)
		if (process->last_calls[i].tid % LAST_CALLS == i && process->last_calls[i].address)
			save(saver, CHECKPOINT_LAST_CALL, &fields_last_call,
			     &process->last_calls[i]);
}

static void save_memory(struct saver *saver, const struct process *process)
{
	const struct freed *freed;

	save_regions(saver, &process->regions);
	heap_visit(&process->heap, save_block, saver);
	save_calls(saver, process);
	vec_each (freed, &process->sanity.freed)
		save(saver, CHECKPOINT_FREED, &fields_freed, freed);
}

static void save_series(struct saver *saver, uint32_t site, const struct series *series)
{
	struct pack *out = &saver->out;
	uint64_t last = series->from;

	pack_byte(out, CHECKPOINT_SERIES);
	pack_number(out, site);
	pack_number(out, series->from);
	pack_number(out, series->count);
	for (uint32_t i = 0; i < series->count; i++) {
		pack_difference(out, series->until[i], &last);
		pack_number(out, series->low[i]);
		pack_number(out, series->high[i]);
	}
	next(saver);
}

static void save_leaks(struct saver *saver, const struct snapshot_leaks *leaks)
{
	pack_byte(&saver->out, CHECKPOINT_LEAKS);
	for (int i = 0; i < CHECKPOINT_CLASSES; i++) {
		pack_fields(&saver->out, &fields_sum, &leaks->classes[i]);
		pack_fields(&saver->out, &fields_example, &leaks->examples[i]);
	}
	pack_number(&saver->out, leaks->oldest_ns);
	pack_number(&saver->out, leaks->youngest_ns);
	next(saver);
}

static void save_stack_only(struct saver *saver, uint32_t site, const struct snapshot_sum *sum,
			    const struct snapshot_example *example)
{
	if (!sum->blocks)
		return;
	pack_byte(&saver->out, CHECKPOINT_STACK_ONLY);
	pack_number(&saver->out, site);
	pack_fields(&saver->out, &fields_sum, sum);
	if (example)
		pack_fields(&saver->out, &fields_example, example);
	next(saver);
}

static void save_findings(struct saver *saver, const struct process *process)
{
	const struct sanity_error *error;

	vec_each (error, &process->sanity.errors)
		save(saver, CHECKPOINT_ERROR, &fields_error, error);
	for (uint32_t i = 0; i < process->series.count; i++)
		if (process->series.items[i])
			save_series(saver, i, process->series.items[i]);
	for (size_t i = 0; process->ages && i < process->sites.count; i++)
		save(saver, CHECKPOINT_AGES, &fields_ages, &process->ages[i]);
	for (size_t i = 0; i < process->leak_count; i++)
		save_leaks(saver, &process->leaks[i]);
	save_stack_only(saver, CHECKPOINT_NO_SITE, &process->scan.classes[LEAK_STACK], NULL);
	for (size_t i = 0; i < process->leak_count; i++)
		save_stack_only(saver, (uint32_t)i, &process->leaks[i].classes[LEAK_STACK],
				&process->leaks[i].examples[LEAK_STACK]);
	if (!process->scan.tagged)
		return;
	pack_byte(&saver->out, CHECKPOINT_TAGGED);
	pack_number(&saver->out, process->scan.tagged);
	next(saver);
}

static void save_checkpoint(struct saver *saver, const struct process *process)
{
	saver->process = process;
	save_process(saver, process);
	save_image(saver, process);
	save_places(saver, process);
	if (!process->settled)
		save_memory(saver, process);
	save_findings(saver, process);
	pack_byte(&saver->out, CHECKPOINT_PROCESS_END);
	next(saver);
}

int checkpoint_save(const struct model *model, struct stream_writer *writer)
{
	struct saver saver = {.writer = writer};
	struct process *const *process;
	int err;

	save(&saver, CHECKPOINT_MODEL, &fields_model, model);
	save_stack_only(&saver, CHECKPOINT_NO_SITE, &model->others.sums.scan.classes[LEAK_STACK],
			NULL);
	vec_each (process, &model->processes)
		if (*process && !saver.err)
			save_checkpoint(&saver, *process);
	pack_byte(&saver.out, CHECKPOINT_END);
	err = saver.err ? saver.err : saver.out.err;
	if (!err)
		err = stream_write_checkpoint(writer, &saver.out);
	pack_free(&saver.out);
	return err;
}
