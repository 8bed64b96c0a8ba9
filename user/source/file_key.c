// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/file_key.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mtrace.skel.h"

#define MINOR_BITS 20 /* of a device, inside the kernel */

/* The kernel's name of the file that is mapped at an address of ours. */
static int key_at(const struct program *program, const void *address,
		  struct unwind_file_key *ret_key)
{
	uint64_t arguments[] = {(uintptr_t)address};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments,
			    .ctx_size_in = sizeof(arguments));
	int fd = bpf_program__fd(program->skeleton->progs.identify);

	if (bpf_prog_test_run_opts(fd, &run))
		return -errno;
	*ret_key = program->skeleton->bss->identified;
	return run.retval || !ret_key->inode ? -ENOENT : 0;
}

static int identify(void *ctx, int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *address = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	struct unwind_file_key key = {0};
	int err;

	if (address == MAP_FAILED)
		return -errno;
	err = key_at(ctx, address, &key);
	munmap(address, page);
	if (err)
		return err;
	*ret_device = makedev(key.device >> MINOR_BITS, key.device & ((1u << MINOR_BITS) - 1));
	*ret_inode = key.inode;
	return 0;
}

struct module_identifier file_key_identifier(struct program *program)
{
	return (struct module_identifier){identify, program};
}
