/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/place/area.h"
#include "gate/place/image.h"
#include "gate/place/memory.h"
#include "gate/place/place.h"
#include "os/process/maps.h"

/* More than any gates need. */
#define PARKING_MAX (1024 * GATE_PAGE)

static bool is_of_gates(const struct proc_mapping *mapping)
{
	return !strcmp(mapping->path, GATE_CODE_PATH);
}

/* The gates' own code is the last part of their file. */
static bool is_code(const struct proc_maps *maps, const struct proc_mapping *mapping)
{
	if (!is_of_gates(mapping))
		return false;
	for (size_t i = 0; i < maps->count; i++)
		if (is_of_gates(&maps->items[i]) && maps->items[i].inode == mapping->inode &&
		    maps->items[i].offset > mapping->offset)
			return false;
	return true;
}

/* The image whose code is mapping `i`. The data follows it. */
static struct gate_image image_of(const struct proc_maps *maps, size_t i)
{
	const struct proc_mapping *code = &maps->items[i];
	struct gate_image image = {
		.address = code->start,
		.code_size = code->end - code->start,
		.code_offset = code->offset,
		.parking_size = PARKING_MAX,
	};

	if (i + 1 < maps->count && maps->items[i + 1].start == code->end &&
	    maps->items[i + 1].writable && !maps->items[i + 1].inode)
		image.data_size = maps->items[i + 1].end - code->end;
	return image;
}

/* Reads the code from an open file, or from memory, and closes it. */
static int read_code(int file, uint64_t offset, const struct gate_image *image, uint8_t *ret_bytes)
{
	int err;

	if (file < 0)
		return file;
	err = gate_memory_read(file, offset, ret_bytes, image->code_size);
	close(file);
	return err;
}

/* Returns 1 if the code in memory differs from its file: probes are in it. */
static int is_probed(pid_t pid, const struct gate_image *image)
{
	uint8_t *memory = malloc(image->code_size), *file = malloc(image->code_size);
	int result = memory && file ? 0 : -ENOMEM;

	if (!result)
		result = read_code(gate_image_open(pid, image), image->code_offset, image, file);
	if (!result)
		result = read_code(gate_memory_open(pid, O_RDONLY), image->address, image, memory);
	if (!result)
		result = memcmp(memory, file, image->code_size) != 0;
	free(memory);
	free(file);
	return result;
}

static int remove_image(pid_t pid, const struct gate_image *image, struct error *err)
{
	int code = is_probed(pid, image);
	struct gate_stop stop;
	bool left = false;

	if (code < 0)
		return error_set_errno(err, code, "cannot read the gates in %d", (int)pid);
	if (code)
		return error_set(err, -EBUSY, "another tracer samples process %d by gates",
				 (int)pid);
	code = gate_remove(pid, image, &left, &stop, err);
	if (!code && left)
		return error_set(err, -EBUSY,
				 "cannot remove the gates that an earlier trace left in %d: a "
				 "thread is inside",
				 (int)pid);
	return code;
}

int gates_left_remove(pid_t pid, struct error *err)
{
	struct proc_maps maps = {0};
	int code = proc_maps_read(pid, &maps);

	if (code)
		error_set_errno(err, code, "cannot read the mappings of %d", (int)pid);
	for (size_t i = 0; !code && i < maps.count; i++) {
		const struct gate_image image = image_of(&maps, i);

		if (is_code(&maps, &maps.items[i]) && image.data_size)
			code = remove_image(pid, &image, err);
	}
	proc_maps_free(&maps);
	return code;
}
