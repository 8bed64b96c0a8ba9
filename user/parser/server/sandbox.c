// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/server/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parser/server/call_filter.h"

/* Number of bits in a capability set; dropping unknown ones has no effect. */
#define CAPABILITIES_MAX 64

#define NOBODY 65534 /* the kernel's default in /proc/sys/kernel/overflowuid */
/*
 * Ids that nobody else uses: above those of containers (systemd's UIDS-GIDS, to 0x6fffffff) and of
 * directory services (SSSD, to 2000200000), below systemd's foreign ids (from 0x7ffe0000).
 */
#define FIRST_ID 0x78000000u
#define ID_MASK  0x03ffffffu
#define GIB      (1ULL << 30)

#ifdef __SANITIZE_ADDRESS__
/* The shadow memory of AddressSanitizer takes all address space; its reports go to stderr. */
#define SANITIZED true
#else
#define SANITIZED false
#endif

/*
 * Address space for mapped files and for what is built from them. Measured: files of 110 MB
 * (libLLVM) and 33 MB (cc1) take 170 and 54 MB, and 6 MB with debug information (libc) take 47 MB;
 * browsers have debug files of 4 GB. A limit that protects a small machine would be too low for
 * those, so instead the parser is the first to be killed when memory is short (below).
 */
#define ADDRESS_SPACE   (8 * GIB)
#define DESCRIPTORS_MAX 256

static bool become(uid_t id)
{
	return !setgroups(0, NULL) && !setresgid(id, id, id) && !setresuid(id, id, id);
}

/*
 * A process can kill others of its user, and daemons run as "nobody", so the parser becomes a user
 * of its own. A user namespace may not have that id. In a container, root may lack the permission,
 * or there may be no user "nobody" either; then it keeps its ids.
 */
static int give_up_names(void)
{
	uint32_t random = 0;

	if (geteuid())
		return 0;
	(void)getrandom(&random, sizeof(random), GRND_NONBLOCK);
	if (become(FIRST_ID + (random & ID_MASK)) || (errno == EINVAL && become(NOBODY)))
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

/* Must be called while we still have privileges. Without privileges it fails, but is not needed. */
static void give_up_bounding_set(void)
{
	for (int capability = 0; capability < CAPABILITIES_MAX; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

/* Never raises a limit: the user may have set a lower one. */
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
		errno = 0; /* without this, its size determines when it is chosen */
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
	return code ? error_set_errno(err, code, "cannot drop privileges") : 0;
}

/* System calls. Those that the architecture does not have are negative, and are skipped. */

static const int allowed[] = {
	SCMP_SYS(read),         SCMP_SYS(pread64),       SCMP_SYS(write),
	SCMP_SYS(lseek),        SCMP_SYS(_llseek),       SCMP_SYS(close),
	SCMP_SYS(fcntl),        SCMP_SYS(fcntl64),       SCMP_SYS(fstat),
	SCMP_SYS(fstat64),      SCMP_SYS(newfstatat),    SCMP_SYS(fstatat64),
	SCMP_SYS(statx),        SCMP_SYS(recvmsg),       SCMP_SYS(sendmsg),
	SCMP_SYS(poll),         SCMP_SYS(ppoll),         SCMP_SYS(ppoll_time64),
	SCMP_SYS(munmap),       SCMP_SYS(mremap),        SCMP_SYS(brk),
	SCMP_SYS(madvise),      SCMP_SYS(futex),         SCMP_SYS(futex_time64),
	SCMP_SYS(sched_yield),  SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64),
	SCMP_SYS(gettimeofday), SCMP_SYS(getpid),        SCMP_SYS(gettid),
	SCMP_SYS(getrandom),    SCMP_SYS(uname),         SCMP_SYS(sysinfo),
	SCMP_SYS(sigaltstack),  SCMP_SYS(rt_sigaction),  SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigreturn),     SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),         SCMP_SYS(exit_group),
};

/* Socket calls include those made through socketcall, if libseccomp supports that. */
static const int deadly[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(clone),
	SCMP_SYS(clone3),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(kcmp),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(socket),
	SCMP_SYS(socketpair),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(mount),
	SCMP_SYS(umount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(setuid),
	SCMP_SYS(setuid32),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresuid32),
	SCMP_SYS(capset),
	SCMP_SYS(memfd_create),
};

/* Allowed only without PROT_EXEC. */
static const int not_executable[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};

#define LIST(numbers)                                           \
	{                                                       \
		numbers, sizeof(numbers) / sizeof((numbers)[0]) \
	}

int sandbox_confine(struct error *err)
{
	const struct call_filter filter = {
		.allowed = LIST(allowed),
		.deadly = LIST(deadly),
		.not_executable = LIST(not_executable),
		.own_signal = SCMP_SYS(tgkill), /* used by abort(3) */
	};
	int code = limit(RLIMIT_NPROC, 0);

	if (!code)
		code = call_filter_load(&filter);
	return code ? error_set_errno(err, code, "cannot restrict system calls (seccomp)") : 0;
}
