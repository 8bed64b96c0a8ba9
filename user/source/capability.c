/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF source needs of kernel, privileges and limits, found by looking and by trying. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "source/bpf_program.h"
#include "source/source.h"

#define PROBE_BUFFER_BYTES (64 << 10)
#define UNWIND_ROWS_PROBE  1024
#define FILES_WANTED       1024
#define CAP_BPF_NUMBER     39
#define CAP_PERFMON_NUMBER 38

typedef void capability_check(struct capability *ret);

static void detail_set(struct capability *ret, bool ok, const char *detail, const char *advice)
{
	ret->ok = ok;
	snprintf(ret->detail, sizeof(ret->detail), "%s", detail);
	snprintf(ret->advice, sizeof(ret->advice), "%s", ok ? "" : advice);
}

/* First line of a small file, without its end; false if it cannot be read. */
static bool line_read(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fgets(line, size, file);

	if (file)
		fclose(file);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

static void check_kernel(struct capability *ret)
{
	struct utsname name;
	int major = 0, minor = 0;
	char text[128];

	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	snprintf(text, sizeof(text), "Linux %.80s, %.20s", name.release, name.machine);
	detail_set(ret, major > 5 || (major == 5 && minor >= 15), text,
		   "Linux 5.15 or newer is needed; 6.13 is the first with uprobe sessions");
}

static void check_btf(struct capability *ret)
{
	bool ok = !access("/sys/kernel/btf/vmlinux", R_OK);

	detail_set(ret, ok, ok ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux",
		   "a kernel built with CONFIG_DEBUG_INFO_BTF");
}

static void check_uprobes(struct capability *ret)
{
	char type[32];
	bool ok = line_read("/sys/bus/event_source/devices/uprobe/type", type, sizeof(type));

	detail_set(ret, ok, ok ? "the kernel has them" : "the kernel has none",
		   "a kernel built with CONFIG_UPROBE_EVENTS");
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static void check_capability(struct capability *ret, unsigned int number)
{
	uint64_t have = effective_capabilities();
	bool ok = have & (1ULL << number | 1ULL << CAP_SYS_ADMIN);

	detail_set(ret, ok, ok ? "granted" : "not granted",
		   "run as root, or grant it: setcap, systemd's AmbientCapabilities=");
}

static void check_cap_bpf(struct capability *ret)
{
	check_capability(ret, CAP_BPF_NUMBER);
}

static void check_cap_perfmon(struct capability *ret)
{
	check_capability(ret, CAP_PERFMON_NUMBER);
}

static void check_cap_ptrace(struct capability *ret)
{
	check_capability(ret, CAP_SYS_PTRACE);
}

static void check_lockdown(struct capability *ret)
{
	char text[128] = "off";
	bool readable = line_read("/sys/kernel/security/lockdown", text, sizeof(text));

	detail_set(ret, !readable || !strstr(text, "[confidentiality]"), text,
		   "boot without lockdown=confidentiality: it forbids reading a program's memory");
}

/* A traced process takes a descriptor for each of its modules and for each library's probes. */
static void check_files(struct capability *ret)
{
	struct rlimit limit = {0};
	char text[128];

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(text, sizeof(text), "%llu descriptors", (unsigned long long)limit.rlim_cur);
	detail_set(ret, limit.rlim_cur >= FILES_WANTED, text,
		   "ulimit -n 65536, to trace programs with many libraries");
}

static void check_programs(struct capability *ret)
{
	struct program_config config = {.depth = 1, .buffer_bytes = PROBE_BUFFER_BYTES};
	struct program program;
	struct error err = {0};
	char text[160];

	if (program_load(&program, &config, &err)) {
		detail_set(ret, false, "a traced call of our own was not seen",
			   "see the lines above; mtrace-bpf -vv says what the kernel answers");
		return;
	}
	snprintf(text, sizeof(text), "tried on a child of our own: %s", program.means->words);
	detail_set(ret, true, text, "");
	program_unload(&program);
}

static void check_stacks(struct capability *ret)
{
	struct program_config config = {
		.depth = STACK_MAX_FRAMES,
		.unwind_rows = UNWIND_ROWS_PROBE,
		.buffer_bytes = PROBE_BUFFER_BYTES,
	};
	struct program program;

	if (program_load(&program, &config, NULL)) {
		detail_set(ret, false, "the kernel refuses the unwinder",
			   "a newer kernel; until then stacks are by frame pointers");
		return;
	}
	detail_set(ret, true, "by unwind tables", "");
	program_unload(&program);
}

static void check_seccomp(struct capability *ret)
{
	struct program_config config = {.depth = 1, .buffer_bytes = PROBE_BUFFER_BYTES};
	struct program program;
	bool safe;

	if (program_load(&program, &config, NULL)) {
		detail_set(ret, false, "not known", "the programs have to work first");
		return;
	}
	safe = program.seccomp_safe;
	program_unload(&program);
	detail_set(ret, safe, safe ? "return probes leave them alive" : "a return probe kills them",
		   "Linux 6.14 or newer; until then such processes are refused");
}

static const struct {
	const char *name;
	bool needed;
	capability_check *check;
} checks[] = {
	{"kernel", true, check_kernel},
	{"BTF", true, check_btf},
	{"uprobes", true, check_uprobes},
	{"CAP_BPF", true, check_cap_bpf},
	{"CAP_PERFMON", true, check_cap_perfmon},
	{"CAP_SYS_PTRACE", true, check_cap_ptrace},
	{"lockdown", true, check_lockdown},
	{"open files", false, check_files},
	{"BPF programs", true, check_programs},
	{"exact stacks", false, check_stacks},
	{"seccomp targets", false, check_seccomp},
};

_Static_assert(sizeof(checks) / sizeof(checks[0]) <= CAPABILITY_MAX, "room for every check");

size_t source_bpf_capabilities(struct capability ret[CAPABILITY_MAX])
{
	size_t count = sizeof(checks) / sizeof(checks[0]);

	for (size_t i = 0; i < count; i++) {
		ret[i] = (struct capability){.name = checks[i].name, .needed = checks[i].needed};
		checks[i].check(&ret[i]);
	}
	return count;
}
