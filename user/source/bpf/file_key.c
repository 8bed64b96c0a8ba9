// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/bpf/file_key.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mtrace.skel.h"

#define MINOR_BITS 20 /* of a device, inside the kernel */

/* Runs a program on an address in our memory or on an open file, and returns what it found. */
static int key_by(const struct loaded_programs *program, const struct bpf_program *identifier,
		  uint64_t place, uint64_t *ret_device, uint64_t *ret_inode)
{
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &place, .ctx_size_in = sizeof(place));
	const struct unwind_file_key *key = &program->skeleton->bss->identified;

	if (bpf_prog_test_run_opts(bpf_program__fd(identifier), &run))
		return -errno;
	if (run.retval || !key->inode)
		return -ENOENT;
	*ret_device = makedev(key->device >> MINOR_BITS, key->device & ((1u << MINOR_BITS) - 1));
	*ret_inode = key->inode;
	return 0;
}

static int identify(void *ctx, int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	const struct loaded_programs *program = ctx;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *address = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (address == MAP_FAILED)
		return -errno;
	err = key_by(program, program->skeleton->progs.identify, (uintptr_t)address, ret_device,
		     ret_inode);
	munmap(address, page);
	return err;
}

static int identify_open(void *ctx, int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	const struct loaded_programs *program = ctx;

	return key_by(program, program->skeleton->progs.identify_open, (uint64_t)fd, ret_device,
		      ret_inode);
}

struct module_identifier file_key_identifier(struct loaded_programs *program)
{
	return (struct module_identifier){identify, program};
}

struct module_identifier file_key_exec_identifier(struct loaded_programs *program)
{
	return (struct module_identifier){identify_open, program};
}
