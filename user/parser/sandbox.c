// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITIES_MAX 64 /* as many as the sets have bits; of unknown ones none is there */

#define NOBODY 65534 /* the kernel's own number for nobody: /proc/sys/kernel/overflowuid */
#define GIB    (1ULL << 30)

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true /* its shadow takes all address space; its reports go to standard error */
#else
#define SANITIZED false
#endif

/*
 * Address space: what is mapped of files, and what is made of them. Measured, files of 110 MB
 * (libLLVM) and 33 MB (cc1) take 170 and 54 MB, and 6 MB with its debug information (libc) 47 MB;
 * browsers have debug files of 4 GB. A limit that keeps a small machine from starving would be too
 * small for those, so where memory is short the parser is the first to go (below).
 */
#define ADDRESS_SPACE   (8 * GIB)
#define DESCRIPTORS_MAX 256

/* Containers have roots that may not do this, or know no nobody; those keep their names. */
static int give_up_names(void)
{
	const gid_t group = NOBODY;

	if (geteuid() || (!setgroups(0, NULL) && !setresgid(group, group, group) &&
			  !setresuid(NOBODY, NOBODY, NOBODY)))
		return 0;
	return errno == EPERM || errno == EINVAL ? 0 : -errno;
}

static int give_up_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* While we still may; whoever has no privileges may not, and needs not. */
static void give_up_bounding_set(void)
{
	for (int capability = 0; capability < CAPABILITIES_MAX; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

/* Never raised: whoever started us may have set a lower one. */
static int limit(int resource, rlim_t most)
{
	struct rlimit limits;

	if (getrlimit((__rlimit_resource_t)resource, &limits))
		return -errno;
	if (limits.rlim_max > most)
		limits.rlim_max = most;
	if (limits.rlim_cur > limits.rlim_max)
		limits.rlim_cur = limits.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limits) ? -errno : 0;
}

static int give_up_resources(void)
{
	int err = limit(RLIMIT_CORE, 0);

	if (!err)
		err = limit(RLIMIT_FSIZE, 0);
	if (!err)
		err = limit(RLIMIT_NOFILE, DESCRIPTORS_MAX);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_AS, (rlim_t)ADDRESS_SPACE);
	return err;
}

static void volunteer_for_oom_killer(void)
{
	static const char most[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, most, sizeof(most) - 1) < 0)
		errno = 0; /* then it is chosen by its size */
	close(fd);
}

int sandbox_leave(struct error *err)
{
	static const int namespaces[] = {CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS};
	int code;

	volunteer_for_oom_killer();
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		unshare(namespaces[i]);
	give_up_bounding_set();
	code = chdir("/") ? -errno : give_up_names();
	if (!code)
		code = give_up_capabilities();
	if (!code && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		code = -errno;
	if (!code && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		code = -errno;
	if (!code)
		code = give_up_resources();
	return code ? error_set_errno(err, code, "cannot give up privileges") : 0;
}

/*
 * System calls. A name that an architecture does not have is no rule there.
 */

static const char *const allowed[] = {
	"read",         "pread64",       "write",           "lseek",
	"_llseek",      "close",         "fcntl",           "fcntl64",
	"fstat",        "fstat64",       "newfstatat",      "fstatat64",
	"statx",        "recvmsg",       "sendmsg",         "poll",
	"ppoll",        "ppoll_time64",  "munmap",          "mremap",
	"brk",          "madvise",       "futex",           "futex_time64",
	"sched_yield",  "clock_gettime", "clock_gettime64", "gettimeofday",
	"getpid",       "gettid",        "getrandom",       "uname",
	"sysinfo",      "sigaltstack",   "rt_sigaction",    "rt_sigprocmask",
	"rt_sigreturn", "sigreturn",     "restart_syscall", "exit",
	"exit_group",
};

/* Those of sockets include what goes by socketcall: libseccomp knows its numbers. */
static const char *const deadly[] = {
	"execve",
	"execveat",
	"fork",
	"vfork",
	"clone",
	"clone3",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"kcmp",
	"pidfd_open",
	"pidfd_getfd",
	"pidfd_send_signal",
	"kill",
	"tkill",
	"bpf",
	"perf_event_open",
	"socket",
	"socketpair",
	"connect",
	"bind",
	"listen",
	"accept",
	"accept4",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"userfaultfd",
	"keyctl",
	"add_key",
	"request_key",
	"mount",
	"umount",
	"umount2",
	"pivot_root",
	"chroot",
	"setns",
	"unshare",
	"open_by_handle_at",
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"swapon",
	"swapoff",
	"setuid",
	"setuid32",
	"setresuid",
	"setresuid32",
	"capset",
	"memfd_create",
};

static int add_rules(scmp_filter_ctx filter, uint32_t action, const char *const *names,
		     size_t count)
{
	int code = 0;

	for (size_t i = 0; !code && i < count; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (number != __NR_SCMP_ERROR)
			code = seccomp_rule_add(filter, action, number, 0);
		if (code == -EDOM) /* this architecture has it under no number of its own */
			code = 0;
	}
	return code;
}

/* Memory that is not executed, and a signal to ourselves: abort(3) ends by it. */
static int add_rules_with_arguments(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	const struct scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
	static const char *const names[] = {"mmap", "mmap2", "mprotect"};
	int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, itself);

	for (size_t i = 0; !code && i < sizeof(names) / sizeof(names[0]); i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1, not_executable);
		if (code == -EDOM)
			code = 0;
	}
	return code;
}

static int filter_system_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int code;

	if (!filter)
		return -ENOMEM;
	code = add_rules(filter, SCMP_ACT_ALLOW, allowed, sizeof(allowed) / sizeof(allowed[0]));
	if (!code)
		code = add_rules_with_arguments(filter);
	if (!code)
		code = add_rules(filter, SCMP_ACT_KILL_PROCESS, deadly,
				 sizeof(deadly) / sizeof(deadly[0]));
	if (!code)
		code = seccomp_load(filter);
	seccomp_release(filter);
	return code;
}

int sandbox_confine(struct error *err)
{
	int code = limit(RLIMIT_NPROC, 0);

	if (!code)
		code = filter_system_calls();
	return code ? error_set_errno(err, code, "cannot restrict system calls (seccomp)") : 0;
}
