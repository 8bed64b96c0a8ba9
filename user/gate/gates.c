/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/gates.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "gate/place/area.h"
#include "gate/place/image.h"
#include "gate/place/memory.h"
#include "gate/template.h"

#define GATE_ALIGNMENT 64 /* of a gate's code: a cache line */

struct gates {
	pid_t pid;
	struct gate_image image;
	struct gate_patch *patches; /* one per function, as all arrays here */
	size_t *offsets;            /* of their gates in the code */
	uint64_t *sites;            /* offsets of their jumps in the module's file */
	enum stub_kind *kinds;
	size_t count;
	uint8_t *code;
	struct stub_data *head;
	struct gate_stop stop;
};

static uint64_t aligned(uint64_t size, uint64_t alignment)
{
	return (size + alignment - 1) / alignment * alignment;
}

static struct gates *gates_new(pid_t pid, const struct gate_function *functions, size_t count)
{
	struct gates *gates = calloc(1, sizeof(*gates));

	if (!gates)
		return NULL;
	gates->pid = pid;
	gates->count = count;
	gates->patches = calloc(count + 1, sizeof(*gates->patches));
	gates->offsets = calloc(count + 1, sizeof(*gates->offsets));
	gates->sites = calloc(count + 1, sizeof(*gates->sites));
	gates->kinds = calloc(count + 1, sizeof(*gates->kinds));
	gates->head = calloc(1, sizeof(*gates->head));
	if (!gates->patches || !gates->offsets || !gates->sites || !gates->kinds || !gates->head) {
		gates_forget(gates);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		gates->kinds[i] = functions[i].kind;
		gates->sites[i] = functions[i].offset;
	}
	return gates;
}

/* Lays out the code: the image of the stub, then one gate after the other. */
static int lay_out(struct gates *gates)
{
	size_t size;
	const uint8_t *stub = gate_image(&size);

	for (size_t i = 0; i < gates->count; i++) {
		gates->offsets[i] = aligned(size, GATE_ALIGNMENT);
		size = gates->offsets[i] + gate_layout_of(gates->kinds[i]).size;
	}
	gates->image.code_size = aligned(size, GATE_PAGE);
	gates->code = calloc(1, gates->image.code_size);
	if (!gates->code)
		return -ENOMEM;
	memcpy(gates->code, stub, gate_image(&size) ? size : 0);
	gates->image.code = gates->code;
	return 0;
}

static void add_range(struct stub_data *head, uint64_t start, uint64_t end)
{
	if (head->range_count < STUB_RANGES)
		head->ranges[head->range_count++] = (struct stub_range){start, end};
}

/* A power of two with room for the blocks. */
static uint32_t line_count_for(uint64_t blocks)
{
	const uint32_t least = 1u << 14, most = 1u << 20; /* 1 MiB, 64 MiB of address space */
	uint32_t lines = least;

	while (lines < most && lines * STUB_LINE_BLOCKS / 3 * 2 < blocks)
		lines *= 2;
	return lines;
}

static void fill_head(struct gates *gates, const struct gate_function *functions,
		      const struct gates_config *config)
{
	struct stub_data *head = gates->head;

	head->mean = config->mean;
	if (getrandom(&head->seed, sizeof(head->seed), GRND_NONBLOCK) < 0)
		head->seed = (uint64_t)gates->pid << 32 ^ gates->image.address;
	head->line_count = line_count_for(config->blocks);
	add_range(head, gates->image.address, gates->image.address + gates->image.code_size);
	for (size_t i = 0; i < gates->count; i++)
		add_range(head, functions[i].start, functions[i].end);
	for (size_t i = 0; i < config->caller_count; i++)
		add_range(head, config->callers[i].start, config->callers[i].end);
	gates->image.data = (const uint8_t *)head;
	gates->image.data_filled = sizeof(*head);
}

/* The address of the copy in a function's gate, by which the function is called without passing
 * the gate. */
static uint64_t copy_of(const struct gates *gates, size_t function)
{
	if (function == GATES_NO_OTHER)
		return 0;
	return gates->image.address + gates->offsets[function] +
	       gate_layout_of(gates->kinds[function]).copy;
}

static enum gate_refusal make_one(struct gates *gates, const struct gate_function *function,
				  size_t i, const struct arch_gate *arch)
{
	struct gate_patch *patch = &gates->patches[i];
	struct gate_order order = {
		.kind = function->kind,
		.address = gates->image.address + gates->offsets[i],
		.image = gates->image.address,
		.data = gates->image.address + gates->image.code_size,
		.other = copy_of(gates, function->other),
		.displaced = {function->original, function->displaced, function->site},
	};

	patch->address = function->site;
	patch->displaced = function->displaced;
	patch->jump_size = (uint8_t)arch->jump_size;
	memcpy(patch->original, function->original, sizeof(patch->original));
	if (!arch->jump(function->site, order.address, patch->jump))
		return GATE_FAR;
	return gate_make(arch, &order, gates->code + gates->offsets[i]);
}

static int make_all(struct gates *gates, const struct gate_function *functions,
		    const struct arch_gate *arch, struct error *err)
{
	enum gate_refusal refusal = GATE_POSSIBLE;

	for (size_t i = 0; i < gates->count; i++) {
		refusal = make_one(gates, &functions[i], i, arch);
		if (refusal)
			return error_set(err, -ENOTSUP,
					 "the function at %#" PRIx64
					 " cannot have a gate (reason %d)",
					 functions[i].start, (int)refusal);
	}
	return 0;
}

static int prepare(struct gates *gates, const struct gate_function *functions,
		   const struct gates_config *config, struct error *err)
{
	const struct arch_gate *arch = arch_gate(config->machine, false);
	uint64_t size;
	int code;

	if (!arch)
		return error_set(err, -ENOTSUP, "this processor has no gates");
	code = lay_out(gates);
	if (code)
		return error_set_errno(err, code, "cannot make gates");
	gates->image.data_size =
		STUB_SET_AT + (size_t)line_count_for(config->blocks) * STUB_SET_LINE;
	gates->image.code_offset = aligned(config->file_size, GATE_PAGE) + GATE_PAGE;
	/* A jump may be on two pages. */
	gates->image.parking_size = 2 * gates->count * GATE_PAGE;
	size = gates->image.code_size + gates->image.data_size + gates->image.parking_size;
	code = gate_area_find(gates->pid, config->low, config->high, size, &gates->image.address);
	if (code)
		return error_set_errno(err, code, "no room near its functions");
	fill_head(gates, functions, config);
	return make_all(gates, functions, arch, err);
}

int gates_place(struct gates **ret_gates, pid_t pid, const struct gate_function *functions,
		size_t count, const struct gates_config *config, struct error *err)
{
	struct gates *gates = gates_new(pid, functions, count);
	int code;

	*ret_gates = NULL;
	if (!gates)
		return error_set_errno(err, -ENOMEM, "cannot make gates");
	code = prepare(gates, functions, config, err);
	if (!code)
		code = gate_place(pid, &gates->image, gates->patches, count, &gates->stop, err);
	if (code)
		gates_forget(gates);
	else
		*ret_gates = gates;
	return code;
}

const struct gate_stop *gates_stop(const struct gates *gates)
{
	return &gates->stop;
}

int gates_open_code(const struct gates *gates)
{
	return gate_image_open(gates->pid, &gates->image);
}

uint64_t gates_probe(const struct gates *gates, size_t function, int number)
{
	size_t offset = gate_layout_of(gates->kinds[function]).probes[number];

	return offset ? gates->image.code_offset + gates->offsets[function] + offset : 0;
}

bool gates_replace(const struct gates *gates, uint64_t offset)
{
	for (size_t i = 0; i < gates->count; i++) {
		uint64_t first = gates->sites[i], last = first + gates->patches[i].jump_size - 1U;

		if (offset / GATE_PAGE == first / GATE_PAGE ||
		    offset / GATE_PAGE == last / GATE_PAGE)
			return true;
	}
	return false;
}

/* Reads or writes a field of the data's head. */
static int access_field(const struct gates *gates, size_t offset, void *field, size_t size,
			bool write)
{
	uint64_t address = gates->image.address + gates->image.code_size + offset;
	int memory = gate_memory_open(gates->pid, write ? O_RDWR : O_RDONLY), err;

	if (memory < 0)
		return memory;
	err = write ? gate_memory_write(memory, address, field, size)
		    : gate_memory_read(memory, address, field, size);
	close(memory);
	return err;
}

int gates_sample(const struct gates *gates, uint32_t sample)
{
	return access_field(gates, offsetof(struct stub_data, sample), &sample, sizeof(sample),
			    true);
}

int gates_missed(const struct gates *gates, uint64_t *ret_missed)
{
	return access_field(gates, offsetof(struct stub_data, missed), ret_missed,
			    sizeof(*ret_missed), false);
}

int gates_remove(struct gates *gates, struct error *err)
{
	struct gate_stop stop;
	bool left;
	int code;

	if (!gates)
		return 0;
	code = gate_remove(gates->pid, &gates->image, &left, &stop, err);
	gates_forget(gates);
	return code;
}

void gates_forget(struct gates *gates)
{
	if (!gates)
		return;
	free(gates->patches);
	free(gates->offsets);
	free(gates->sites);
	free(gates->kinds);
	free(gates->head);
	free(gates->code);
	free(gates);
}
