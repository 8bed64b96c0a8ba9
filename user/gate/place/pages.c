/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/place/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate/place/area.h"
#include "gate/place/memory.h"
#include "os/process/maps.h"
#include "os/process/procfs.h"

static uint64_t page_of(uint64_t address)
{
	return address / GATE_PAGE * GATE_PAGE;
}

/* Finding. */

static const struct proc_mapping *mapping_at(const struct proc_maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->count; i++)
		if (address >= maps->items[i].start && address < maps->items[i].end)
			return &maps->items[i];
	return NULL;
}

/* Adds a page, in order of addresses. A page that follows the last one extends it. */
static int add_page(struct gate_runs *runs, const struct proc_mapping *mapping, uint64_t address)
{
	struct gate_run *last = runs->list.count ? &runs->list.items[runs->list.count - 1] : NULL;
	uint64_t offset = mapping->offset + (address - mapping->start);

	if (last && address < last->address + last->size)
		return 0;
	if (last && address == last->address + last->size && offset == last->offset + last->size) {
		last->size += GATE_PAGE;
		return 0;
	}
	return vec_push(&runs->list,
			(struct gate_run){.address = address, .size = GATE_PAGE, .offset = offset});
}

static bool is_usual(const struct proc_mapping *mapping)
{
	return mapping && mapping->inode && mapping->executable && mapping->readable &&
	       !mapping->writable && !mapping->shared && strcmp(mapping->path, GATE_CODE_PATH) != 0;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* The pages of the patches, sorted; each patch has two, which are mostly the same. */
static uint64_t *list_pages(const struct gate_patch *patches, size_t count)
{
	uint64_t *pages = calloc(2 * count + 1, sizeof(*pages));

	for (size_t i = 0; pages && i < count; i++) {
		pages[2 * i] = page_of(patches[i].address);
		pages[2 * i + 1] = page_of(patches[i].address + patches[i].jump_size - 1);
	}
	if (pages)
		qsort(pages, 2 * count, sizeof(*pages), compare_addresses);
	return pages;
}

static int find_runs(struct gate_runs *runs, const struct proc_maps *maps,
		     const struct gate_patch *patches, size_t count)
{
	uint64_t *pages = list_pages(patches, count);
	int code = pages ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < 2 * count; i++) {
		const struct proc_mapping *mapping = mapping_at(maps, pages[i]);

		code = is_usual(mapping) ? add_page(runs, mapping, pages[i]) : -ENOTSUP;
	}
	free(pages);
	return code;
}

/* Reads a run from the file that is mapped there. */
static int read_run(struct gate_run *run, pid_t pid, const struct proc_mapping *mapping)
{
	char path[PROCFS_PATH_SIZE], name[64];
	ssize_t got;
	int file;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, mapping->start,
		 mapping->end);
	procfs_path(path, pid, name);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0)
		return -errno;
	run->bytes = malloc(run->size);
	got = run->bytes ? pread(file, run->bytes, run->size, (off_t)run->offset) : -1;
	close(file);
	if (!run->bytes)
		return -ENOMEM;
	return got == (ssize_t)run->size ? 0 : -ENOTSUP; /* the last page of a file is shorter */
}

/* The program's pages are parked one behind the other, behind the data. */
static int park_and_read(struct gate_runs *runs, pid_t pid, const struct proc_maps *maps,
			 const struct gate_image *image)
{
	uint64_t parking = gate_image_parking(image), end = parking + image->parking_size;
	struct gate_run *run;
	int code = 0;

	vec_each (run, &runs->list) {
		run->parked = parking;
		parking += run->size;
		if (!code && (parking > end || run->offset + run->size > image->code_offset))
			code = -ENOSPC;
		if (!code)
			code = read_run(run, pid, mapping_at(maps, run->address));
	}
	return code;
}

/* Returns true if the file has the instructions that were copied into the gate. */
static bool has_original(const struct gate_runs *runs, const struct gate_patch *patch)
{
	const struct gate_run *run;

	vec_each (run, &runs->list) {
		uint64_t at = patch->address - run->address, left = run->size - at;

		if (at < run->size)
			return !memcmp(run->bytes + at, patch->original,
				       left < patch->displaced ? left : patch->displaced);
	}
	return false;
}

int gate_runs_find(struct gate_runs *runs, pid_t pid, const struct gate_image *image,
		   const struct gate_patch *patches, size_t count, struct error *err)
{
	struct proc_maps maps = {0};
	int code = proc_maps_read(pid, &maps);

	if (!code)
		code = find_runs(runs, &maps, patches, count);
	if (!code)
		code = park_and_read(runs, pid, &maps, image);
	for (size_t i = 0; !code && i < count; i++)
		code = has_original(runs, &patches[i]) ? 0 : -ENOTSUP;
	proc_maps_free(&maps);
	if (code == -ENOTSUP)
		return error_set(err, code,
				 "cannot place gates in %d: a function's code is not mapped from a "
				 "file in the usual way",
				 (int)pid);
	return code ? error_set_errno(err, code, "cannot read the code of %d", (int)pid) : 0;
}

/* The parked pages of a run: they have the same offset, and another file. 0: there are none. */
static uint64_t find_parked(const struct proc_maps *maps, const struct gate_image *image,
			    const struct proc_mapping *replaced)
{
	uint64_t parking = gate_image_parking(image);

	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];
		uint64_t at = mapping->start + (replaced->offset - mapping->offset);

		/* Runs that are parked side by side may have become one mapping. */
		if (mapping->start >= parking && mapping->end <= parking + image->parking_size &&
		    replaced->offset >= mapping->offset && at < mapping->end &&
		    replaced->end - replaced->start <= mapping->end - at)
			return at;
	}
	return 0;
}

int gate_runs_find_replaced(struct gate_runs *runs, pid_t pid, const struct gate_image *image)
{
	struct proc_maps maps = {0};
	int code = proc_maps_read(pid, &maps);
	const struct proc_mapping *own = code ? NULL : mapping_at(&maps, image->address);

	for (size_t i = 0; !code && own && i < maps.count; i++) {
		const struct proc_mapping *mapping = &maps.items[i];
		struct gate_run run = {mapping->start, mapping->end - mapping->start,
				       mapping->offset, 0, NULL};

		if (mapping->inode != own->inode || mapping->dev_major != own->dev_major ||
		    mapping->dev_minor != own->dev_minor || mapping->offset >= image->code_offset)
			continue;
		run.parked = find_parked(&maps, image, mapping);
		if (run.parked)
			code = vec_push(&runs->list, run);
	}
	proc_maps_free(&maps);
	return code;
}

void gate_runs_free(struct gate_runs *runs)
{
	struct gate_run *run;

	vec_each (run, &runs->list)
		free(run->bytes);
	vec_free(&runs->list);
}

/* Contents. */

int gate_runs_check(const struct gate_runs *runs, int memory, pid_t pid, struct error *err)
{
	const struct gate_run *run;

	vec_each (run, &runs->list) {
		uint8_t *bytes = malloc(run->size);
		int code =
			bytes ? gate_memory_read(memory, run->address, bytes, run->size) : -ENOMEM;
		bool same = !code && !memcmp(bytes, run->bytes, run->size);

		free(bytes);
		if (code)
			return error_set_errno(err, code,
					       "cannot read the code of %d at 0x%" PRIx64, (int)pid,
					       run->address);
		if (!same)
			return error_set(err, -EBUSY,
					 "cannot place gates in %d: another tool has changed the "
					 "code at 0x%" PRIx64,
					 (int)pid, run->address);
	}
	return 0;
}

/* Writes what a jump has in a run. */
static void patch_run(struct gate_run *run, const struct gate_patch *patch)
{
	for (size_t i = 0; i < patch->jump_size; i++) {
		uint64_t at = patch->address + i - run->address;

		if (at < run->size)
			run->bytes[at] = patch->jump[i];
	}
}

void gate_runs_patch(struct gate_runs *runs, const struct gate_patch *patches, size_t count)
{
	struct gate_run *run;

	vec_each (run, &runs->list)
		for (size_t i = 0; i < count; i++)
			patch_run(run, &patches[i]);
}

bool gate_runs_contain(const struct gate_runs *runs, uint64_t address)
{
	const struct gate_run *run;

	vec_each (run, &runs->list)
		if (address + GATE_PAGE > run->address && address < run->address + run->size)
			return true;
	return false;
}

/* Moving. */

static int move(struct remote_thread *remote, uint64_t from, uint64_t to, uint64_t size)
{
	const uint64_t arguments[6] = {from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to};
	int64_t result;
	int err = remote_call(remote, SYS_mremap, arguments, &result);

	if (err)
		return err;
	return result < 0 && result > -4096 ? (int)result : 0;
}

static int restore_run(const struct gate_run *run, struct remote_thread *remote)
{
	int err = remote_mprotect(remote, run->parked, run->size, PROT_READ | PROT_EXEC);

	return err ? err : move(remote, run->parked, run->address, run->size);
}

static int replace_run(const struct gate_run *run, struct remote_thread *remote, int file)
{
	const struct remote_mapping mapping = {
		.address = run->address,
		.size = run->size,
		.protection = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE | MAP_FIXED,
		.file = file,
		.offset = run->offset,
	};
	uint64_t address;
	int err = move(remote, run->address, run->parked, run->size);

	if (err)
		return err;
	err = remote_mmap(remote, &mapping, &address);
	if (!err) /* nothing executes it there */
		err = remote_mprotect(remote, run->parked, run->size, PROT_READ);
	if (err)
		restore_run(run, remote);
	return err;
}

int gate_runs_replace(const struct gate_runs *runs, struct remote_thread *remote, int file)
{
	size_t done = 0;
	int err = 0;

	while (!err && done < runs->list.count)
		err = replace_run(&runs->list.items[done++], remote, file);
	if (!err)
		return 0;
	for (done--; done--;)
		restore_run(&runs->list.items[done], remote);
	return err;
}

int gate_runs_restore(const struct gate_runs *runs, struct remote_thread *remote)
{
	const struct gate_run *run;
	int err = 0, failed;

	vec_each (run, &runs->list) {
		failed = restore_run(run, remote);
		err = failed ? failed : err;
	}
	return err;
}
