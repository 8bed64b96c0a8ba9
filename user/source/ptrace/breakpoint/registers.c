/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/breakpoint/registers.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#if defined(__x86_64__)

/* Always the 64-bit registers, so that a thread that switches between 32-bit and 64-bit code loses
 * nothing. */
int task_registers_get(pid_t tid, struct arch_registers *ret_registers)
{
	*ret_registers = (struct arch_registers){.arch = &arch_x86_64};
	return ptrace(PTRACE_GETREGS, tid, NULL, &ret_registers->x86) ? -errno : 0;
}

int task_registers_set(pid_t tid, const struct arch_registers *registers)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, &registers->x86) ? -errno : 0;
}

#else

int task_registers_get(pid_t tid, struct arch_registers *ret_registers)
{
	uint64_t bytes[ARCH_SET_MAX / sizeof(uint64_t)];
	struct iovec set = {.iov_base = bytes, .iov_len = sizeof(bytes)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &set))
		return -errno;
	memset(ret_registers, 0, sizeof(*ret_registers));
	ret_registers->arch = arch_of_set(set.iov_len);
	if (!ret_registers->arch)
		return -EOPNOTSUPP;
	ret_registers->arch->load(ret_registers, bytes);
	return 0;
}

int task_registers_set(pid_t tid, const struct arch_registers *registers)
{
	uint64_t bytes[ARCH_SET_MAX / sizeof(uint64_t)];
	struct iovec set = {.iov_base = bytes, .iov_len = registers->arch->set_size};

	registers->arch->store(registers, bytes);
	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &set) ? -errno : 0;
}

#endif

/* AArch64 has no PTRACE_POKEUSER for a 64-bit tracer, not even for 32-bit threads. */
#if defined(__aarch64__)
#define HAS_POKEUSER 0
#else
#define HAS_POKEUSER 1
#endif

int task_registers_set_ip(pid_t tid, const struct arch_registers *registers)
{
	const struct arch *arch = registers->arch;

	if (arch->ip_place < 0 || !HAS_POKEUSER)
		return task_registers_set(tid, registers);
	return ptrace(PTRACE_POKEUSER, tid, (void *)(intptr_t)arch->ip_place,
		      (void *)(uintptr_t)arch_get(registers, ARCH_IP))
		       ? -errno
		       : 0;
}
