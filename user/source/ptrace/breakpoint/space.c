/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/breakpoint/space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "os/process/maps.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"

int space_open(struct space **ret_memory, pid_t tid)
{
	struct space *memory = calloc(1, sizeof(*memory));
	char path[PROCFS_PATH_SIZE];

	if (!memory)
		return -ENOMEM;
	procfs_path(path, tid, "mem");
	memory->users = 1;
	memory->fd = open(path, O_RDWR | O_CLOEXEC);
	if (memory->fd < 0) {
		free(memory);
		return -errno;
	}
	*ret_memory = memory;
	return 0;
}

int space_fork(struct space **ret_memory, const struct space *parent, pid_t child)
{
	struct space *memory;
	int err = space_open(&memory, child);

	if (err)
		return err;
	memory->arch = parent->arch;
	memory->is_32bit = parent->is_32bit;
	memory->slot = parent->slot;
	err = vec_copy(&memory->breakpoints, &parent->breakpoints);
	if (!err)
		err = vec_copy(&memory->code, &parent->code);
	if (!err)
		err = map64_copy(&memory->index, &parent->index);
	if (err) {
		space_unref(memory);
		return err;
	}
	*ret_memory = memory;
	return 0;
}

void space_unref(struct space *memory)
{
	if (!memory || --memory->users)
		return;
	close(memory->fd);
	map64_free(&memory->index);
	vec_free(&memory->breakpoints);
	vec_free(&memory->code);
	vec_free(&memory->stacks);
	free(memory);
}

int space_read(const struct space *memory, uint64_t address, void *bytes, size_t size)
{
	return space_read_some(memory, address, bytes, size) == size ? 0 : -EFAULT;
}

size_t space_read_some(const struct space *memory, uint64_t address, void *bytes, size_t size)
{
	ssize_t got = pread(memory->fd, bytes, size, (off_t)address);

	return got > 0 ? (size_t)got : 0;
}

int space_write(const struct space *memory, uint64_t address, const void *bytes, size_t size)
{
	return pwrite(memory->fd, bytes, size, (off_t)address) == (ssize_t)size ? 0 : -EFAULT;
}

static int read_memory(void *ctx, uint64_t address, void *bytes, size_t size)
{
	return space_read(ctx, address, bytes, size);
}

static int write_memory(void *ctx, uint64_t address, const void *bytes, size_t size)
{
	return space_write(ctx, address, bytes, size);
}

struct arch_memory space_as_memory(struct space *memory)
{
	return (struct arch_memory){read_memory, write_memory, memory};
}

struct breakpoint *breakpoint_find(const struct space *memory, uint64_t address)
{
	uint32_t index = map64_get(&memory->index, address);

	return index == MAP64_NONE ? NULL : &memory->breakpoints.items[index];
}

/* Stores the breakpoint instruction, and returns its size. */
static size_t trap_of(const struct space *memory, int mode, uint8_t ret_trap[ARCH_BREAKPOINT_MAX])
{
	return memory->arch->breakpoint(mode, ret_trap);
}

/* Undoes a breakpoint that overlaps the code at `address`. */
static void uncover(const struct space *memory, uint64_t address, uint8_t code[ARCH_CODE_MAX],
		    size_t size, const struct breakpoint *other)
{
	uint8_t trap[ARCH_BREAKPOINT_MAX];
	size_t covered = trap_of(memory, other->mode, trap);

	for (size_t i = 0; i < covered; i++)
		if (other->address + i - address < size)
			code[other->address + i - address] = other->code[i];
}

/* The code without breakpoints, padded with zeros after the last mapped page. */
static int read_code(const struct space *memory, uint64_t address, uint8_t code[ARCH_CODE_MAX])
{
	size_t size;

	memset(code, 0, ARCH_CODE_MAX);
	size = space_read_some(memory, address, code, ARCH_CODE_MAX);
	for (size_t i = 0; i < size + ARCH_BREAKPOINT_MAX - 1; i++) {
		const struct breakpoint *other =
			breakpoint_find(memory, address + i - (ARCH_BREAKPOINT_MAX - 1));

		if (other)
			uncover(memory, address, code, size, other);
	}
	return size ? 0 : -EFAULT;
}

/* Reads the code with its own breakpoint, but without those after it. */
static int read_code_as_it_is(const struct space *memory, const struct breakpoint *breakpoint,
			      uint8_t code[ARCH_CODE_MAX])
{
	uint8_t trap[ARCH_BREAKPOINT_MAX];
	int err = read_code(memory, breakpoint->address, code);

	return err ? err
		   : space_read(memory, breakpoint->address, code,
				trap_of(memory, breakpoint->mode, trap));
}

static int breakpoint_write(const struct space *memory, uint64_t address, int mode)
{
	uint8_t trap[ARCH_BREAKPOINT_MAX];
	size_t size = trap_of(memory, mode, trap);

	return space_write(memory, address, trap, size);
}

static int breakpoint_new(struct space *memory, uint64_t address, int mode, int original,
			  struct breakpoint **ret_breakpoint)
{
	struct breakpoint breakpoint = {
		.address = address, .mode = (uint8_t)mode, .hit_ns = clock_now_ns()};
	uint32_t index = (uint32_t)memory->breakpoints.count;

	if (read_code(memory, address, breakpoint.code))
		return -EFAULT;
	if (original >= 0 && breakpoint.code[0] != original)
		return -EEXIST;
	if (!memory->arch->can_step(breakpoint.code, mode))
		return -EOPNOTSUPP;
	if (vec_push(&memory->breakpoints, breakpoint))
		return -ENOMEM;
	if (map64_set(&memory->index, address, index) || breakpoint_write(memory, address, mode)) {
		map64_delete(&memory->index, address);
		memory->breakpoints.count--;
		return -EFAULT;
	}
	*ret_breakpoint = &memory->breakpoints.items[index];
	return 0;
}

bool breakpoint_restore(struct space *memory, struct breakpoint *breakpoint)
{
	uint8_t code[ARCH_CODE_MAX];

	return !read_code_as_it_is(memory, breakpoint, code) &&
	       !memcmp(code, breakpoint->code, sizeof(code)) &&
	       !breakpoint_write(memory, breakpoint->address, breakpoint->mode);
}

bool space_traps(const struct space *memory, uint64_t address, int mode)
{
	uint8_t code[ARCH_CODE_MAX] = {0};

	return space_read_some(memory, address, code, ARCH_BREAKPOINT_MAX) &&
	       memory->arch->traps(code, mode);
}

bool breakpoint_is_set(const struct space *memory, const struct breakpoint *breakpoint)
{
	uint8_t trap[ARCH_BREAKPOINT_MAX], code[ARCH_BREAKPOINT_MAX];
	size_t size = trap_of(memory, breakpoint->mode, trap);

	return !space_read(memory, breakpoint->address, code, size) && !memcmp(code, trap, size);
}

/* Moves the last one to its place. */
static void breakpoint_forget(struct space *memory, size_t i)
{
	struct breakpoint *last = &memory->breakpoints.items[--memory->breakpoints.count];

	map64_delete(&memory->index, memory->breakpoints.items[i].address);
	if (last == &memory->breakpoints.items[i])
		return;
	memory->breakpoints.items[i] = *last;
	(void)map64_set(&memory->index, last->address, (uint32_t)i); /* cannot fail */
}

/* Returns a known breakpoint if it is still in place: remapped code has none. Otherwise places a
 * new one. */
static int breakpoint_get(struct space *memory, uint64_t address, int mode, int original,
			  struct breakpoint **ret_breakpoint)
{
	struct breakpoint *known = breakpoint_find(memory, address);

	if (known && breakpoint_is_set(memory, known)) {
		*ret_breakpoint = known;
		return 0;
	}
	if (known)
		breakpoint_forget(memory, (size_t)(known - memory->breakpoints.items));
	return breakpoint_new(memory, address, mode, original, ret_breakpoint);
}

int breakpoint_place(struct space *memory, uint64_t pointer, enum probe_kind kind, uint64_t cookie,
		     int original)
{
	struct breakpoint *breakpoint;
	int err;

	if (!memory->arch)
		return -EOPNOTSUPP;
	err = breakpoint_get(memory, arch_code_address(memory->arch, pointer),
			     arch_code_mode(memory->arch, pointer, memory->is_32bit), original,
			     &breakpoint);
	if (err)
		return err;
	breakpoint->kinds |= 1u << kind;
	breakpoint->cookies[kind] = cookie;
	return 0;
}

int breakpoint_place_return(struct space *memory, uint64_t pointer, bool is_32bit)
{
	uint64_t address = arch_code_address(memory->arch, pointer);
	struct breakpoint *breakpoint = breakpoint_find(memory, address);
	int err = 0;

	if (!breakpoint)
		err = breakpoint_new(memory, address,
				     arch_code_mode(memory->arch, pointer, is_32bit), -1,
				     &breakpoint);
	if (!err)
		breakpoint->returns = true;
	return err;
}

void breakpoints_remove(struct space *memory)
{
	const struct breakpoint *breakpoint;
	uint8_t trap[ARCH_BREAKPOINT_MAX];

	vec_each (breakpoint, &memory->breakpoints)
		if (breakpoint_is_set(memory, breakpoint))
			space_write(memory, breakpoint->address, breakpoint->code,
				    trap_of(memory, breakpoint->mode, trap));
}

void breakpoints_forget_unmapped(struct space *memory)
{
	for (size_t i = memory->breakpoints.count; i--;)
		if (!breakpoint_is_set(memory, &memory->breakpoints.items[i]))
			breakpoint_forget(memory, i);
}

const struct code_mapping *code_find(const struct space *memory, uint64_t address)
{
	size_t low = 0, high = memory->code.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct code_mapping *code = &memory->code.items[middle];

		if (address - code->start < code->size)
			return code;
		if (code->start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const struct stack_range *range_of(const struct space *memory, uint64_t sp)
{
	const struct stack_range *range;

	vec_each (range, &memory->stacks)
		if (sp >= range->start && sp < range->end)
			return range;
	return NULL;
}

#define STACKS_MAX 4096

/* Only a cache: stacks grow, and mappings change. */
static const struct stack_range *range_read(struct space *memory, pid_t pid, uint64_t sp)
{
	const struct stack_range *found = NULL;
	struct proc_maps maps;

	if (proc_maps_read(proc_living_thread(pid), &maps))
		return NULL;
	if (memory->stacks.count >= STACKS_MAX)
		memory->stacks.count = 0;
	for (size_t i = 0; i < maps.count && !found; i++) {
		const struct proc_mapping *mapping = &maps.items[i];
		const struct stack_range range = {mapping->start, mapping->end};

		if (sp >= range.start && sp < range.end && !vec_push(&memory->stacks, range))
			found = &memory->stacks.items[memory->stacks.count - 1];
	}
	proc_maps_free(&maps);
	return found;
}

bool space_is_same_stack(struct space *memory, pid_t pid, uint64_t sp, uint64_t other)
{
	const struct stack_range *range = range_of(memory, sp);

	if (!range)
		range = range_read(memory, pid, sp);
	return !range || (other >= range->start && other <= range->end);
}
