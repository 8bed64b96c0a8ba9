// SPDX-License-Identifier: GPL-2.0-or-later
#include "gate/place/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate/place/memory.h"
#include "os/process/procfs.h"

#define DELETED   " (deleted)"
#define SEALS     (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
#define NO_FILE   (-1)
#define LINK_SIZE 64

/* From headers that are newer than some C libraries: linux/memfd.h, asm-generic/mman-common.h */
#define CREATE_EXECUTABLE 0x10U /* MFD_EXEC */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* What has been done, so that it can be undone. */
struct mapping_steps {
	struct remote_thread *remote;
	int memory;
	const struct gate_image *image;
	const struct gate_runs *runs;
	int file; /* the memfd, a descriptor of the process, or NO_FILE */
	bool data, code;
	const char *failed; /* the step that failed */
};

/* System calls in the process. */

static uint64_t data_address(const struct gate_image *image)
{
	return image->address + image->code_size;
}

/* Kernels before 4.17 do not know MAP_FIXED_NOREPLACE, and may choose another address. */
static int map_at(struct remote_thread *remote, const struct remote_mapping *mapping)
{
	uint64_t address;
	int err = remote_mmap(remote, mapping, &address);

	if (err || address == mapping->address)
		return err;
	remote_munmap(remote, address, mapping->size);
	return -EEXIST;
}

static int call(struct remote_thread *remote, long number, uint64_t first, uint64_t second,
		uint64_t third)
{
	const uint64_t arguments[6] = {first, second, third};
	int64_t result;
	int err = remote_call(remote, number, arguments, &result);

	return err ? err : (int)result;
}

static int map_data(struct mapping_steps *steps)
{
	const struct gate_image *image = steps->image;
	const struct remote_mapping mapping = {
		.address = data_address(image),
		.size = image->data_size,
		.protection = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		.file = -1,
	};
	int err;

	steps->failed = "mmap";
	err = map_at(steps->remote, &mapping);
	if (err)
		return err;
	steps->data = true;
	steps->failed = "madvise(MADV_WIPEONFORK)";
	return call(steps->remote, SYS_madvise, mapping.address, mapping.size, MADV_WIPEONFORK);
}

/* The data has the name meanwhile: the system call needs it in the process's memory. Kernels before
 * 6.3 refuse the flag for executable files, and need none. */
static int create_file(struct mapping_steps *steps)
{
	uint64_t name = data_address(steps->image);
	const uint64_t flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int file = gate_memory_write(steps->memory, name, GATE_CODE_NAME, sizeof(GATE_CODE_NAME));

	steps->failed = "memfd_create";
	if (!file)
		file = call(steps->remote, SYS_memfd_create, name, flags | CREATE_EXECUTABLE, 0);
	if (file == -EINVAL)
		file = call(steps->remote, SYS_memfd_create, name, flags, 0);
	if (file < 0)
		return file;
	steps->file = file;
	return 0;
}

static bool is_gate_link(const char *link)
{
	return link && !strcmp(link, GATE_CODE_PATH DELETED);
}

/*
 * Opens the file of the process for writing. Another process may share its descriptors and replace
 * this one by a file that only we may write. So a descriptor that only names the file (O_PATH) is
 * checked before the file is opened.
 */
static int open_file(pid_t tid, int file)
{
	char path[PROCFS_PATH_SIZE], link[32], *target = NULL;
	int name, opened = -ESTALE;

	snprintf(link, sizeof(link), "fd/%d", file);
	procfs_path(path, tid, link);
	name = open(path, O_PATH | O_CLOEXEC);
	if (name < 0)
		return -errno;
	snprintf(link, sizeof(link), "fd/%d", name);
	if (!procfs_read_link(getpid(), link, &target) && is_gate_link(target)) {
		procfs_path(path, getpid(), link);
		opened = open(path, O_RDWR | O_CLOEXEC);
		opened = opened < 0 ? -errno : opened;
	}
	free(target);
	close(name);
	return opened;
}

/* A file is written like memory. */
static int write_file(int file, const struct mapping_steps *steps)
{
	const struct gate_image *image = steps->image;
	int err = gate_memory_write(file, image->code_offset, image->code, image->code_size);
	const struct gate_run *run;

	vec_each (run, &steps->runs->list)
		if (!err)
			err = gate_memory_write(file, run->offset, run->bytes, run->size);
	return err || !fcntl(file, F_ADD_SEALS, SEALS) ? err : -errno;
}

static int fill_file(struct mapping_steps *steps)
{
	int file = open_file(steps->remote->tid, steps->file), err;

	steps->failed = "opening /proc/PID/fd";
	if (file < 0)
		return file;
	steps->failed = "writing a memfd";
	err = write_file(file, steps);
	close(file);
	return err;
}

static int map_code(struct mapping_steps *steps)
{
	const struct remote_mapping mapping = {
		.address = steps->image->address,
		.size = steps->image->code_size,
		.protection = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		.file = steps->file,
		.offset = steps->image->code_offset,
	};
	int err = map_at(steps->remote, &mapping);

	steps->failed = "mmap of code";
	steps->code = !err;
	return err;
}

static int close_file(struct mapping_steps *steps)
{
	int file = steps->file;

	steps->failed = "close";
	steps->file = NO_FILE;
	return call(steps->remote, SYS_close, (uint64_t)file, 0, 0);
}

static int fill_data(struct mapping_steps *steps)
{
	static const char zeros[sizeof(GATE_CODE_NAME)];
	const struct gate_image *image = steps->image;
	int err = gate_memory_write(steps->memory, data_address(image), zeros, sizeof(zeros));

	steps->failed = "writing /proc/PID/mem";
	return err ? err
		   : gate_memory_write(steps->memory, data_address(image), image->data,
				       image->data_filled);
}

/* The last step: it undoes itself. */
static int replace_pages(struct mapping_steps *steps)
{
	steps->failed = "mremap";
	return gate_runs_replace(steps->runs, steps->remote, steps->file);
}

static void undo(struct mapping_steps *steps)
{
	const struct gate_image *image = steps->image;

	if (steps->file != NO_FILE)
		close_file(steps);
	if (steps->code)
		remote_munmap(steps->remote, image->address, image->code_size);
	if (steps->data)
		remote_munmap(steps->remote, data_address(image), image->data_size);
}

int gate_image_map(struct remote_thread *remote, int memory, const struct gate_image *image,
		   const struct gate_runs *runs, struct error *err)
{
	static int (*const all[])(struct mapping_steps *) = {map_data, create_file, fill_file,
							     map_code, fill_data,   replace_pages};
	struct mapping_steps steps = {
		.remote = remote, .memory = memory, .image = image, .runs = runs, .file = NO_FILE};
	const char *failed;
	int code = 0;

	for (size_t i = 0; !code && i < sizeof(all) / sizeof(all[0]); i++)
		code = all[i](&steps);
	if (!code) {
		close_file(&steps);
		return 0;
	}
	failed = steps.failed;
	undo(&steps);
	return error_set_errno(err, code, "cannot place gates in %d: %s failed", (int)remote->pid,
			       failed);
}

int gate_image_unmap(struct remote_thread *remote, const struct gate_image *image)
{
	return remote_munmap(remote, image->address, image->code_size + image->data_size);
}

/* The link to what is mapped there: one link, because a process may have very many mappings. */
static void code_link(const struct gate_image *image, char name[LINK_SIZE])
{
	snprintf(name, LINK_SIZE, "map_files/%" PRIx64 "-%" PRIx64, image->address,
		 image->address + image->code_size);
}

bool gate_image_is_mapped(pid_t pid, const struct gate_image *image)
{
	char name[LINK_SIZE], *target = NULL;
	bool mapped;

	code_link(image, name);
	mapped = !procfs_read_link(pid, name, &target) && is_gate_link(target);
	free(target);
	return mapped;
}

int gate_image_open(pid_t pid, const struct gate_image *image)
{
	char path[PROCFS_PATH_SIZE], name[LINK_SIZE];
	int file;

	code_link(image, name);
	procfs_path(path, pid, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	return file < 0 ? -errno : file;
}
