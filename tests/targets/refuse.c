/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refuse ERRNO COMMAND [ARG…]: run a command for which bpf() and perf_event_open() fail, as on a
 * kernel without them (ENOSYS), or where they are not allowed (EPERM, EACCES).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSE(nr, number)                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((number)&SECCOMP_RET_DATA))

int main(int argc, char **argv)
{
	unsigned int number = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_bpf, number),
		REFUSE(SYS_perf_event_open, number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (!number || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	execvp(argv[2], argv + 2);
	return 127;
}
