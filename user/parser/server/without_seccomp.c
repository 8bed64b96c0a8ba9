// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The filter as a program in classic BPF (Documentation/userspace-api/seccomp_filter.rst). Each
 * comparison is followed by its result, so no jump is longer than one rule.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "parser/server/call_filter.h"

#define STEPS_MAX 1024

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define ARCHITECTURE AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#define ARCHITECTURE AUDIT_ARCH_ARM
#elif defined(__powerpc__) && !defined(__powerpc64__)
#define ARCHITECTURE AUDIT_ARCH_PPC
#endif /* other architectures must be added before this compiles for them */

/* Arguments have 64 bits; this is the offset of the lower 32. */
#define LOW_HALF         (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)
#define ARGUMENT(number) ((uint32_t)offsetof(struct seccomp_data, args) + 8 * (number) + LOW_HALF)

#define LOAD(offset)      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define ANSWER(value)     BPF_STMT(BPF_RET | BPF_K, value)
#define UNLESS(value, by) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, by)

struct steps {
	struct sock_filter list[STEPS_MAX];
	size_t count;
	bool full;
};

static void add(struct steps *steps, const struct sock_filter *some, size_t count)
{
	for (size_t i = 0; i < count && !steps->full; i++) {
		steps->full = steps->count == STEPS_MAX;
		if (!steps->full)
			steps->list[steps->count++] = some[i];
	}
}

static void add_list(struct steps *steps, const struct call_list *list, uint32_t answer)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct sock_filter some[] = {UNLESS(list->numbers[i], 1), ANSWER(answer)};

		if (list->numbers[i] >= 0)
			add(steps, some, sizeof(some) / sizeof(some[0]));
	}
}

static void add_not_executable(struct steps *steps, const struct call_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct sock_filter some[] = {
			UNLESS(list->numbers[i], 4),
			LOAD(ARGUMENT(2)),
			BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
			ANSWER(SECCOMP_RET_ERRNO | EPERM),
			ANSWER(SECCOMP_RET_ALLOW),
		};

		if (list->numbers[i] >= 0)
			add(steps, some, sizeof(some) / sizeof(some[0]));
	}
}

static void add_own_signal(struct steps *steps, int number)
{
	const struct sock_filter some[] = {
		UNLESS(number, 4),
		LOAD(ARGUMENT(0)),
		UNLESS(getpid(), 1),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_ERRNO | EPERM),
	};

	add(steps, some, sizeof(some) / sizeof(some[0]));
}

int call_filter_load(const struct call_filter *filter)
{
	static const struct sock_filter begin[] = {
		LOAD((uint32_t)offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD((uint32_t)offsetof(struct seccomp_data, nr)),
	};
	static const struct sock_filter end[] = {ANSWER(SECCOMP_RET_ERRNO | EPERM)};
	static struct steps steps;
	struct sock_fprog program = {.filter = steps.list};

	steps.count = 0;
	add(&steps, begin, sizeof(begin) / sizeof(begin[0]));
	add_list(&steps, &filter->allowed, SECCOMP_RET_ALLOW);
	add_not_executable(&steps, &filter->not_executable);
	add_own_signal(&steps, filter->own_signal);
	add_list(&steps, &filter->deadly, SECCOMP_RET_KILL_PROCESS);
	add(&steps, end, sizeof(end) / sizeof(end[0]));
	program.len = (unsigned short)steps.count;
	if (steps.full)
		return -E2BIG;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
}
