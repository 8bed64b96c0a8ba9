/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what the BPF source needs from the kernel, privileges and limits, by inspection and by
 * trying. */
#include "source/bpf/load/capability.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/exec/marks.h"
#include "source/bpf/load/calls.h"
#include "source/bpf/load/program.h"

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

/* Reads the first line of a small file, without its newline. Returns false if it cannot be read. */
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
	detail_set(ret, major > 5 || (major == 5 && minor >= 17), text,
		   "Linux 5.17 or newer; 6.13 adds uprobe sessions");
}

static void check_btf(struct capability *ret)
{
	bool ok = !access("/sys/kernel/btf/vmlinux", R_OK);

	detail_set(ret, ok, ok ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux",
		   "a kernel built with CONFIG_DEBUG_INFO_BTF");
}

static void check_compiler(struct capability *ret)
{
	bool ok = calls_are_compiled();

	detail_set(ret, ok, ok ? "on" : "off: BPF programs would be interpreted",
		   "sysctl net.core.bpf_jit_enable=1");
}

static void check_uprobes(struct capability *ret)
{
	char type[32];
	bool ok = line_read("/sys/bus/event_source/devices/uprobe/type", type, sizeof(type));

	detail_set(ret, ok, ok ? "supported" : "not supported",
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
		   "run as root, or grant it (setcap, or systemd's AmbientCapabilities=)");
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
		   "boot without lockdown=confidentiality, which forbids BPF to read a program's "
		   "memory");
}

/* A traced process needs a descriptor for each of its modules and for each library's probes. */
static void check_files(struct capability *ret)
{
	struct rlimit limit = {0};
	char text[128];

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(text, sizeof(text), "%llu descriptors", (unsigned long long)limit.rlim_cur);
	detail_set(ret, limit.rlim_cur >= FILES_WANTED, text,
		   "ulimit -n 65536 for programs with many libraries");
}

/* Checks what --hold-exec needs. */
static void check_hold_exec(struct capability *ret)
{
	int err = exec_marks_try();

	detail_set(ret, !err, err ? strerror(-err) : "programs can be held before they start",
		   err == -EPERM ? "run as root, or grant CAP_SYS_ADMIN"
				 : "Linux 5.0 or newer with CONFIG_FANOTIFY_ACCESS_PERMISSIONS");
}

/* No trace starts without the parser: root must not parse the files of traced programs. */
static void check_parser(struct capability *ret)
{
	const struct parser_config config = {0};
	struct parser *parser;
	bool ok = !parser_start(&parser, &config);

	if (ok) {
		ok = !parser_check(parser, NULL);
		parser_stop(parser);
	}
	detail_set(ret, ok, ok ? "runs without privileges" : "cannot be confined",
		   "a kernel with CONFIG_SECCOMP_FILTER");
}

/* The result of loading the programs and running them on a child of our own. */
struct program_trial {
	bool works;
	bool unwinds; /* the kernel also accepts the unwinder */
	bool seccomp_safe;
	const char *words; /* describes the chosen way */
	bool follows;
	bool inherits;            /* children inherit probes, and no other process has them */
	const char *family_words; /* describes the way to follow children */
};

static bool try_load(struct program_trial *trial, const struct program_config *config)
{
	struct loaded_programs program;

	if (program_load(&program, config, NULL))
		return false;
	trial->works = !program_load_exits(&program);
	trial->unwinds = config->unwind_rows != 0;
	trial->seccomp_safe = program.seccomp_safe;
	trial->words = program.means->words;
	program_unload(&program);
	return trial->works;
}

static void try_family(struct program_trial *trial)
{
	const struct program_config config = {
		.depth = 1,
		.buffer_bytes = PROBE_BUFFER_BYTES,
		.scope = SCOPE_FAMILY,
	};
	struct loaded_programs program;

	if (program_load(&program, &config, NULL))
		return;
	trial->follows = true;
	trial->inherits = !program.prober.everybody;
	trial->family_words = program.means->words;
	program_unload(&program);
}

static struct program_trial try_programs(void)
{
	const struct program_config unwinding = {
		.depth = STACK_MAX_FRAMES,
		.unwind_rows = UNWIND_ROWS_PROBE,
		.buffer_bytes = PROBE_BUFFER_BYTES,
	};
	const struct program_config plain = {.depth = 1, .buffer_bytes = PROBE_BUFFER_BYTES};
	struct program_trial trial = {0};

	if (try_load(&trial, &unwinding) || try_load(&trial, &plain))
		try_family(&trial);
	return trial;
}

static void check_programs(const struct program_trial *trial, struct capability *ret)
{
	char text[160] = "a test call was not traced";

	if (trial->works)
		snprintf(text, sizeof(text), "tested on a child process: %s", trial->words);
	detail_set(ret, trial->works, text,
		   "see the lines above; mtrace-bpf -vv shows the kernel's messages");
}

static void check_stacks(const struct program_trial *trial, struct capability *ret)
{
	detail_set(ret, trial->unwinds,
		   trial->unwinds ? "unwind tables" : "the kernel rejects the unwinder",
		   "a newer kernel; until then, stacks use frame pointers");
}

static void check_seccomp(const struct program_trial *trial, struct capability *ret)
{
	if (!trial->works)
		detail_set(ret, false, "not known", "the BPF programs must work first");
	else
		detail_set(ret, trial->seccomp_safe,
			   trial->seccomp_safe ? "return probes are safe"
					       : "return probes kill them",
			   "Linux 6.14 or newer; until then, these processes are refused");
}

static void check_children(const struct program_trial *trial, struct capability *ret)
{
	char text[160] = "not known";

	if (trial->follows)
		snprintf(text, sizeof(text), "%s: %s",
			 trial->inherits ? "they inherit probes"
					 : "probes are in every process that maps a file",
			 trial->family_words);
	detail_set(ret, trial->inherits, text,
		   trial->follows ? "Linux 6.12 or newer; until then, --follow-fork also slows "
				    "down other processes"
				  : "the BPF programs must work first");
}

static const struct {
	const char *name;
	bool needed;
	capability_check *check;
} checks[] = {
	{"kernel", true, check_kernel},
	{"BTF", true, check_btf},
	{"BPF compiler", true, check_compiler},
	{"uprobes", true, check_uprobes},
	{"CAP_BPF", true, check_cap_bpf},
	{"CAP_PERFMON", true, check_cap_perfmon},
	{"CAP_SYS_PTRACE", true, check_cap_ptrace},
	{"lockdown", true, check_lockdown},
	{"open files", false, check_files},
	{"file parser", true, check_parser},
	{"--hold-exec", false, check_hold_exec},
};

static const struct {
	const char *name;
	bool needed;
	void (*check)(const struct program_trial *trial, struct capability *ret);
} trial_checks[] = {
	{"BPF programs", true, check_programs},
	{"exact stacks", false, check_stacks},
	{"seccomp targets", false, check_seccomp},
	{"child processes", false, check_children},
};

#define CHECK_COUNT       (sizeof(checks) / sizeof(checks[0]))
#define TRIAL_CHECK_COUNT (sizeof(trial_checks) / sizeof(trial_checks[0]))

_Static_assert(CHECK_COUNT + TRIAL_CHECK_COUNT <= CAPABILITY_MAX, "room for every check");

size_t source_bpf_capabilities(struct capability ret[CAPABILITY_MAX])
{
	struct program_trial trial = try_programs();

	for (size_t i = 0; i < CHECK_COUNT; i++, ret++) {
		*ret = (struct capability){.name = checks[i].name, .needed = checks[i].needed};
		checks[i].check(ret);
	}
	for (size_t i = 0; i < TRIAL_CHECK_COUNT; i++, ret++) {
		*ret = (struct capability){.name = trial_checks[i].name,
					   .needed = trial_checks[i].needed};
		trial_checks[i].check(&trial, ret);
	}
	return CHECK_COUNT + TRIAL_CHECK_COUNT;
}
