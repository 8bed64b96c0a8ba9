// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/unwind/stack_dump.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/unwind_link.h"
#include "base/hash.h"
#include "bpf/walk.h"
#include "source/unwind/tables.h"

/* A walk over the part of the stack that was sent. */
struct stack_dump_walk {
	struct traced_process *process;
	int (*read_mappings)(struct traced_process *process, uint64_t since_ns);
	const struct record_stack_dump *record;
	const struct unwind_abi *abi;
	union {
		struct unwind_linked linked;
		struct unwind_frame frame; /* its first member */
	};
	uint32_t depth;
	bool has_looked; /* has reread the mappings */
	struct finished_stack stack;
};

static int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address, abi_u64 *ret_word)
{
	const struct record_stack_dump *record = ((const struct stack_dump_walk *)ctx)->record;
	uint64_t distance = address - record->sp;

	if (distance >= record->size || record->size - distance < abi->word)
		return -1;
	*ret_word = 0;
	memcpy(ret_word, (const char *)(record + 1) + distance, abi->word);
	return 0;
}

static bool walk_push(struct stack_dump_walk *walk, uint64_t frame)
{
	if (walk->stack.count >= walk->depth)
		return false;
	walk->stack.frames[walk->stack.count++] = frame;
	return true;
}

/* The module that contains an address. Rereads the mappings once, for code that was not mapped by
 * the dynamic linker. */
static const struct module *find_module(struct stack_dump_walk *walk, uint64_t address,
					uint64_t *ret_offset)
{
	const struct module *module = mapping_find(walk->process, address, ret_offset);

	if (module || walk->has_looked || walk->record->stop != STOP_LATE)
		return module;
	walk->has_looked = true;
	walk->read_mappings(walk->process, walk->record->head.time_ns);
	return mapping_find(walk->process, address, ret_offset);
}

static bool table_row(struct stack_dump_walk *walk, const struct module *module, uint64_t offset,
		      bool interrupted, struct unwind_row *ret_row)
{
	if (interrupted)
		return unwind_tables_exact(walk->process->tables, module, offset, ret_row);
	return unwind_tables_row(walk->process->tables, module, offset, ret_row);
}

/* Finds the row of the frame, at its next instruction or at the call that it returns from. Returns
 * 0 or enum stack_stop. */
static enum stack_stop find_row(struct stack_dump_walk *walk, bool interrupted,
				struct unwind_row *ret_row)
{
	uint64_t address = walk->frame.ip - !interrupted, offset;
	const struct module *module = find_module(walk, address, &offset);

	if (!module)
		return (enum stack_stop)walk->record->stop;
	return table_row(walk, module, offset, interrupted, ret_row) ? 0 : STOP_NO_TABLE;
}

/* Walks to the end, or as far as possible. The frame is the last one pushed, unless it was
 * interrupted. */
static enum stack_stop walk_on(struct stack_dump_walk *walk, bool interrupted)
{
	for (;;) {
		enum unwind_result result;
		struct unwind_row row;
		enum stack_stop stop;

		if (interrupted && !walk_push(walk, walk->frame.ip | STACK_EXACT))
			return STOP_DEPTH;
		stop = find_row(walk, interrupted, &row);
		if (stop)
			return stop;
		result = unwind_any_step(walk, walk->abi, &row, &walk->linked);
		interrupted = result == UNWIND_INTERRUPTED;
		if (interrupted)
			walk->stack.frames[walk->stack.count - 1] |= STACK_EXACT;
		if (result && !interrupted)
			return result == UNWIND_UNREADABLE ? STOP_STACK_DUMP : stop_of(result);
		if (!interrupted && !walk_push(walk, walk->frame.ip))
			return STOP_DEPTH;
	}
}

static bool is_sound(const struct record_stack_dump *record)
{
	return record->count && record->count <= STACK_MAX_FRAMES &&
	       record->size <= STACK_DUMP_BYTES &&
	       record->head.length == sizeof(*record) + record->size;
}

static uint64_t stack_id(const struct traced_process *process, const struct finished_stack *stack)
{
	return hash_bytes_seeded(stack->frames, stack->count * sizeof(*stack->frames),
				 process->mappings_delivered << 8 | stack->stop) |
	       1; /* 0 means none */
}

/* NULL if there is none. */
static const struct unwind_abi *abi_of(const struct record_stack_dump *record)
{
	bool is_32bit = record->head.flags & RECORD_FLAG_32BIT;
	const struct arch *arch = arch_native(is_32bit);

	return arch ? arch->abi(is_32bit) : NULL;
}

static struct unwind_register link_of(const struct record_stack_dump *record)
{
	uint64_t link = record->frames[STACK_DUMP_LINK];

	return (struct unwind_register){link, link ? UNWIND_BP_HELD : UNWIND_BP_UNKNOWN};
}

int stack_dump_finish(struct traced_process *process, const struct record_stack_dump *record,
		      uint32_t depth,
		      int (*read_mappings)(struct traced_process *process, uint64_t since_ns),
		      struct finished_stack *ret_stack)
{
	struct stack_dump_walk walk = {
		.process = process,
		.read_mappings = read_mappings,
		.record = record,
		.abi = abi_of(record),
		.depth = depth,
		.linked =
			{
				.frame = {record->ip, record->sp, record->bp, record->bp_place},
				.link = link_of(record),
				.second.place = UNWIND_BP_UNKNOWN,
			},
		.stack.count = record->count,
	};

	if (!process || !process->tables || !walk.abi || !is_sound(record))
		return -EINVAL;
	memcpy(walk.stack.frames, record->frames, record->count * sizeof(*record->frames));
	walk.stack.stop = walk_on(&walk, record->stop == STOP_SIGNAL);
	walk.stack.id = stack_id(process, &walk.stack);
	*ret_stack = walk.stack;
	return 0;
}

void stack_dump_remember(struct stack_dump_ids *ids, uint64_t dump, uint64_t stack)
{
	size_t slot = dump % STACK_DUMPS_PENDING;

	ids->pending[slot].dump = dump;
	ids->pending[slot].stack = stack;
}

uint64_t stack_dump_finished_id(const struct stack_dump_ids *ids, uint64_t id)
{
	size_t slot = id % STACK_DUMPS_PENDING;

	return id && ids->pending[slot].dump == id ? ids->pending[slot].stack : id;
}
