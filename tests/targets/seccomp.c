/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp strict|filter: enters a seccomp sandbox, then allocates. The sandbox would kill the
 * program if a probe made it execute any other system call.
 */
#include "truth.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(nr)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

NOINLINE static struct block t_before(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_inside(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static int lock_by_filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int i, strict = argc > 1 && !strcmp(argv[1], "strict");

	/* Grow the heap before entering the sandbox, so that later calls need no brk. */
	t_free(t_before(60000));
	if (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : lock_by_filter())
		return 3;
	for (i = 0; i < 100; i++) {
		t_free(t_inside(100));
		t_inside(10);
	}
	truth_tell(STDOUT_FILENO, "");
	syscall(SYS_exit, 0);
	return 1;
}
