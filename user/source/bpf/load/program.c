/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/load/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/gate.h"
#include "os/file/descriptors.h"
#include "base/log.h"
#include "base/vec.h"
#include "bpf/sample.h"
#include "mtrace.skel.h"
#include "os/process/pid_namespace.h"
#include "source/bpf/load/calls.h"
#include "source/bpf/load/link.h"
#include "source/bpf/load/self_test.h"

static const struct prober_ops bpf_prober_ops;

#define ROWS_PER_PAGE 2 /* estimate, per page of code (UNWIND_PAGE_SIZE) */

#define SCOPES_ALL  (1u << SCOPE_NAMED | 1u << SCOPE_FAMILY | 1u << SCOPE_SYSTEM)
#define FAMILY_ONLY (1u << SCOPE_FAMILY)

/* Best first. If children cannot inherit probes, SCOPE_FAMILY needs probes in all processes. */
static const struct means means_table[] = {
	{"task", PAIRING_TASK, ATTACH_INHERITED, FAMILY_ONLY,
	 "perf events that children inherit and task storage"},
	{"hash", PAIRING_HASH, ATTACH_INHERITED, FAMILY_ONLY,
	 "perf events that children inherit and a hash map"},
	{"session", PAIRING_SESSION, ATTACH_MULTI, SCOPES_ALL, "uprobe sessions"},
	{"task", PAIRING_TASK, ATTACH_MULTI, SCOPES_ALL, "multi-uprobes and task storage"},
	{"hash", PAIRING_HASH, ATTACH_MULTI, SCOPES_ALL, "multi-uprobes and a hash map"},
	{"perf-task", PAIRING_TASK, ATTACH_PERF, SCOPES_ALL,
	 "one perf event per probe and task storage"},
	{"perf-hash", PAIRING_HASH, ATTACH_PERF, SCOPES_ALL,
	 "one perf event per probe and a hash map"},
};

#define MEANS_COUNT (sizeof(means_table) / sizeof(means_table[0]))

/* Messages of libbpf and the verifier are only shown with -vv. */
static int libbpf_log(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text, *rest, *line;

	if (level == LIBBPF_DEBUG || log_get_level() < LOG_DEBUG ||
	    vasprintf(&text, format, args) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_debug("%s", line);
	free(text);
	return 0;
}

/*
 * The kernel's tick in nanoseconds: the step of its coarse clocks. CONFIG_HZ has it, too, but is
 * not available without /proc/config.gz or /boot, as in a container.
 */
static uint64_t kernel_tick_ns(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec)
		return 0;
	return (uint64_t)tick.tv_nsec;
}

static void configure_alloc_filter(struct mtrace_bpf *skeleton,
				   const struct alloc_filter *alloc_filter)
{
	skeleton->rodata->config_filters_calls = alloc_filter_is_on(alloc_filter);
	skeleton->rodata->config_min_size = alloc_filter->min_size;
	skeleton->rodata->config_max_size = alloc_filter_max_size(alloc_filter);
	skeleton->rodata->config_sample = alloc_filter->sample;
	for (uint32_t level = 0; alloc_filter->sample && level < SAMPLE_LEVELS; level++) {
		const struct sample_rate rate =
			sample_rate_of(sample_mean_at(alloc_filter->sample, level));

		memcpy((void *)&skeleton->rodata->config_rates[level], &rate, sizeof(rate));
	}
}

static enum mappings_by mappings_by(const struct kernel_types *kernel)
{
	if (kernel->ids[KERNEL_MAPPING_ITERATOR])
		return MAPPINGS_ITERATED;
	return kernel->ids[KERNEL_MAPLE_TREE] ? MAPPINGS_WALKED : MAPPINGS_ASKED;
}

static void constants_configure(struct mtrace_bpf *skeleton, const struct means *means,
				const struct program_config *config,
				const struct kernel_types *kernel)
{
	skeleton->rodata->config_depth = config->depth;
	skeleton->rodata->config_unwind = config->unwind_rows != 0;
	skeleton->rodata->config_pairing = means->pairing;
	skeleton->rodata->config_scope = config->scope;
	skeleton->rodata->config_everybody =
		config->scope != SCOPE_NAMED && means->attach != ATTACH_INHERITED;
	skeleton->rodata->config_places = means->attach == ATTACH_INHERITED;
	if (config->selection)
		memcpy((void *)&skeleton->rodata->config_selection, config->selection,
		       sizeof(*config->selection));
	skeleton->rodata->config_session_mark = 1 + (uint64_t)getpid() % SESSION_MARK_MAX;
	skeleton->rodata->config_wake_bytes = config->buffer_bytes / 8;
	skeleton->rodata->config_stack_dump_room = config->buffer_bytes / 2;
	skeleton->rodata->config_mappings = mappings_by(kernel);
#ifdef __x86_64__ /* on others, not every kernel can call kernel functions */
	skeleton->rodata->config_casts = kernel->ids[KERNEL_CASTS] != 0;
#endif
	skeleton->rodata->config_tick_ns = kernel_tick_ns();
	skeleton->rodata->config_pid_namespace = config->pid_namespace;
	skeleton->rodata->config_sanity = config->sanity;
	configure_alloc_filter(skeleton, &config->alloc_filter);
}

/* Unneeded maps get a single entry: for some, the kernel would clear megabytes. */
static void maps_configure(struct mtrace_bpf *skeleton, const struct means *means,
			   const struct program_config *config)
{
	/* Not every kernel has control groups. */
	bpf_map__set_autocreate(skeleton->maps.selected_cgroup,
				config->selection && config->selection->wants & SELECT_CGROUP);
	bpf_map__set_max_entries(skeleton->maps.events, (uint32_t)config->buffer_bytes);
	if (config->scope != SCOPE_NAMED)
		bpf_map__set_max_entries(skeleton->maps.processes, PROCESSES_FOUND);
	if (!alloc_filter_is_on(&config->alloc_filter))
		bpf_map__set_max_entries(skeleton->maps.reported, 1);
	if (!config->measures)
		bpf_map__set_max_entries(skeleton->maps.ended, 1);
	if (means->pairing != PAIRING_HASH)
		bpf_map__set_max_entries(skeleton->maps.calls_by_tid, 1);
	if (!config->depth)
		bpf_map__set_max_entries(skeleton->maps.stacks_seen, 1);
	if (config->unwind_rows) {
		bpf_map__set_max_entries(skeleton->maps.unwind_rows, config->unwind_rows);
		bpf_map__set_max_entries(skeleton->maps.unwind_pages,
					 config->unwind_rows / ROWS_PER_PAGE);
	}
}

/* A gate only reports calls that it has sampled. */
static bool may_have_gates(const struct program_config *config)
{
	const struct arch *arch = arch_native(false);

	return config->alloc_filter.sample && arch && arch_gate(arch->machine, false);
}

static void programs_configure(struct mtrace_bpf *skeleton, const struct means *means,
			       const struct program_config *config)
{
	bool session = means->pairing == PAIRING_SESSION;
	enum bpf_attach_type type = means->attach == ATTACH_MULTI ? ATTACH_UPROBE_MULTI : 0;

	bpf_program__set_autoload(skeleton->progs.task_fork, config->scope != SCOPE_NAMED);
	bpf_program__set_autoload(skeleton->progs.task_free, config->measures);
	bpf_program__set_autoload(skeleton->progs.call_session, session);
	bpf_program__set_autoload(skeleton->progs.call_entry, !session);
	bpf_program__set_autoload(skeleton->progs.call_return, !session);
	bpf_program__set_autoload(skeleton->progs.call_operator, config->sanity);
	bpf_program__set_autoload(skeleton->progs.call_gate, may_have_gates(config));
	bpf_program__set_autoload(skeleton->progs.call_exit_entry, false);
	bpf_program__set_autoload(skeleton->progs.call_exit, false);
	bpf_program__set_autoload(skeleton->progs.call_throw, false);
	bpf_program__set_autoload(skeleton->progs.count_users, means->attach == ATTACH_INHERITED);
	bpf_program__set_expected_attach_type(skeleton->progs.call_operator, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_gate, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_session, ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(skeleton->progs.call_entry, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_return, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_exit_entry, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_exit, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_throw, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_free, type);
	bpf_program__set_expected_attach_type(skeleton->progs.call_free_plain, type);
	bpf_program__set_expected_attach_type(skeleton->progs.link_map_changed, type);
	bpf_program__set_expected_attach_type(skeleton->progs.thread_exits, type);
}

static void skeleton_configure(struct mtrace_bpf *skeleton, const struct means *means,
			       const struct program_config *config,
			       const struct kernel_types *kernel)
{
	constants_configure(skeleton, means, config, kernel);
	maps_configure(skeleton, means, config);
	programs_configure(skeleton, means, config);
}

static int events_open(struct loaded_programs *program)
{
	const struct mtrace_bpf *skeleton = program->skeleton;

	return probe_events_open(&program->events,
				 (struct event_counter){
					 .program = bpf_program__fd(skeleton->progs.count_users),
					 .users = &skeleton->bss->event_users,
				 });
}

/* Skips ways that cannot work, to avoid long verifier messages. Checks the type for a session's
 * word, which came with sessions; its function is older. */
static bool means_may_work(const struct means *means, const struct kernel_types *kernel)
{
	if (means->pairing == PAIRING_SESSION)
		return kernel->ids[KERNEL_SESSIONS] != 0;
	if (means->attach == ATTACH_MULTI)
		return kernel->ids[KERNEL_MULTI_UPROBES] != 0;
	return true;
}

static void means_unload(struct loaded_programs *program)
{
	prober_leave(&program->prober, &program->self_test);
	probe_events_close(&program->events);
	map64_free(&program->prober.allocators);
	mtrace_bpf__destroy(program->exits);
	mtrace_bpf__destroy(program->skeleton);
	program->exits = program->skeleton = NULL;
}

static int means_load(struct loaded_programs *program, const struct means *means,
		      const struct program_config *config)
{
	int err;

	if (!means_may_work(means, &program->kernel))
		return -EOPNOTSUPP;
	program->prober.ops = &bpf_prober_ops;
	program->skeleton = mtrace_bpf__open();
	if (!program->skeleton)
		return -errno;
	program->means = means;
	skeleton_configure(program->skeleton, means, config, &program->kernel);
	err = calls_fill(program->skeleton->obj, &program->kernel);
	if (!err)
		err = mtrace_bpf__load(program->skeleton);
	if (err == -EACCES)
		err = -EINVAL; /* from the verifier; missing privileges give EPERM */
	if (!err && means->attach == ATTACH_INHERITED)
		err = events_open(program);
	if (!err)
		err = self_test_run(program);
	if (err)
		means_unload(program);
	return err;
}

/* Loads only these programs, with the maps of the others. */
static int exits_prepare(const struct loaded_programs *program, struct mtrace_bpf *exits)
{
	struct bpf_program *bpf;
	struct bpf_map *map;

	bpf_object__for_each_program(bpf, exits->obj) bpf_program__set_autoload(
		bpf, bpf == exits->progs.call_exit_entry || bpf == exits->progs.call_exit ||
			     bpf == exits->progs.call_throw);
	bpf_object__for_each_map(map, exits->obj)
	{
		const struct bpf_map *first =
			bpf_object__find_map_by_name(program->skeleton->obj, bpf_map__name(map));
		int err = first ? 0 : -ENOENT;

		if (!err && bpf_map__autocreate(map))
			err = bpf_map__reuse_fd(map, bpf_map__fd(first));
		if (err)
			return err;
	}
	return 0;
}

int program_load_exits(struct loaded_programs *program)
{
	struct mtrace_bpf *exits;
	int err;

	if (program->exits)
		return 0;
	exits = mtrace_bpf__open();
	if (!exits)
		return -errno;
	skeleton_configure(exits, program->means, &program->config, &program->kernel);
	err = calls_fill(exits->obj, &program->kernel);
	if (!err)
		err = exits_prepare(program, exits);
	if (!err)
		err = mtrace_bpf__load(exits);
	if (err)
		mtrace_bpf__destroy(exits);
	else
		program->exits = exits;
	return err;
}

static int load_failed(int code, const struct program_config *config, struct error *err)
{
	if (code == -EPERM || code == -EACCES)
		return error_set(err, code,
				 "Operation not permitted (needs root, or CAP_BPF, CAP_PERFMON "
				 "and CAP_SYS_PTRACE; see mtrace-bpf doctor)");
	if (descriptors_missing(code))
		return descriptors_explain(code, err);
	if (code == -ENOMEM)
		return error_set(err, code, "out of memory");
	if (config->pairing)
		return error_set_errno(err, code, "--pairing %s does not work on this kernel",
				       config->pairing);
	if (code == -ENOSYS || code == -EOPNOTSUPP)
		return error_set(err, code,
				 "this kernel lacks uprobes or BPF (see mtrace-bpf doctor)");
	return error_set_errno(err, code,
			       "the BPF programs do not work on this kernel "
			       "(see mtrace-bpf doctor)");
}

/* Loads the first one that works, or the requested one. */
static int means_choose(struct loaded_programs *program, const struct program_config *config)
{
	int code = -EINVAL;

	kernel_types_read(&program->kernel);
	for (size_t i = 0; code && code != -EPERM && !descriptors_missing(code) && i < MEANS_COUNT;
	     i++) {
		const struct means *means = &means_table[i];

		if (!(means->scopes & 1u << config->scope) ||
		    (config->pairing && strcmp(config->pairing, means->name)))
			continue;
		code = means_load(program, means, config);
		if (code)
			log_info("%s do not work here: %s", means->words, strerror(-code));
	}
	return code;
}

static void probe_closer_dismiss(struct loaded_programs *program)
{
	probe_closer_close(&program->probe_closer, program->left.items, program->left.count, false);
	vec_free(&program->left);
	probe_closer_end(&program->probe_closer);
}

int program_load(struct loaded_programs *ret_program, const struct program_config *asked,
		 struct error *err)
{
	struct program_config config = *asked;
	struct loaded_programs program = {0};
	int code = pid_namespace_find(&config.pid_namespace, err);

	if (code)
		return code;
	if (!calls_are_compiled())
		return error_set(err, -EOPNOTSUPP,
				 "the BPF JIT compiler is off (sysctl net.core.bpf_jit_enable=1)");
	libbpf_set_print(libbpf_log);
	code = probe_closer_start(&program.probe_closer);
	if (code)
		return error_set_errno(err, code, "cannot start a helper process");
	code = means_choose(&program, &config);
	if (code) {
		probe_closer_dismiss(&program);
		return load_failed(code, &config, err);
	}
	program.skeleton->bss->sample_drawn = alloc_filter_samples_at_first(&config.alloc_filter);
	log_info("calls are traced with %s", program.means->words);
	program.unwinds = config.unwind_rows != 0;
	program.prober.everybody = program.skeleton->rodata->config_everybody;
	program.config = config;
	*ret_program = program;
	return 0;
}

void program_unload(struct loaded_programs *program)
{
	means_unload(program);
	probe_closer_dismiss(program);
}

static int fds_reserve(struct probe_links *links)
{
	return vec_reserve_bytes((void **)&links->fds, &links->fd_capacity, links->fd_count + 1,
				 sizeof(*links->fds));
}

static bool is_of_frees(enum probe_kind kind)
{
	return kind == PROBE_FREE || kind == PROBE_FREE_PLAIN;
}

/* The caller has reserved room. */
static void add_fd(struct probe_links *links, int fd, bool frees)
{
	size_t at = links->fd_count++;

	if (frees) {
		links->fds[at] = links->fds[links->fd_frees];
		at = links->fd_frees++;
	}
	links->fds[at] = fd;
}

static void add_perf(struct probe_links *links, struct bpf_link *link, bool frees)
{
	size_t at = links->perf_count++;

	if (frees) {
		links->perf[at] = links->perf[links->perf_frees];
		at = links->perf_frees++;
	}
	links->perf[at] = link;
}

static int attach_multi(const struct bpf_program *program, const struct probe_request *request,
			bool at_return, struct probe_links *links)
{
	struct link_create_multi create = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = bpf_program__expected_attach_type(program),
		.path = (uintptr_t)request->path,
		.offsets = (uintptr_t)request->offsets,
		.cookies = (uintptr_t)request->cookies,
		.count = (uint32_t)request->count,
		.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)request->pid,
	};
	int fd;

	if (fds_reserve(links))
		return -ENOMEM;
	fd = link_multi(&create);
	if (fd == -EMFILE && descriptors_raise())
		fd = link_multi(&create);
	if (fd < 0)
		return fd;
	add_fd(links, fd, is_of_frees(request->kind));
	return 0;
}

static int attach_perf(const struct bpf_program *program, const struct probe_request *request,
		       bool at_return, struct probe_links *links)
{
	for (size_t i = 0; i < request->count; i++) {
		DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, options,
				    .bpf_cookie = request->cookies ? request->cookies[i] : 0,
				    .retprobe = at_return);
		struct bpf_link *link;

		if (vec_reserve_bytes((void **)&links->perf, &links->perf_capacity,
				      links->perf_count + 1, sizeof(*links->perf)))
			return -ENOMEM;
		link = bpf_program__attach_uprobe_opts(program, request->pid ? request->pid : -1,
						       request->path, request->offsets[i],
						       &options);
		if (!link)
			return -errno;
		add_perf(links, link, is_of_frees(request->kind));
	}
	return 0;
}

static int attach_one(struct loaded_programs *program, const struct bpf_program *bpf,
		      const struct probe_request *request, bool at_return,
		      struct probe_links *links)
{
	if (program->means->attach == ATTACH_MULTI)
		return attach_multi(bpf, request, at_return, links);
	if (program->means->attach == ATTACH_PERF)
		return attach_perf(bpf, request, at_return, links);
	return probe_events_add(&program->events, bpf_program__fd(bpf), request, at_return, links);
}

/* The return first: an entry without its return would stay pending. */
static int attach_call(struct loaded_programs *program, const struct probe_request *request,
		       struct probe_links *links)
{
	int err;

	if (program->means->pairing == PAIRING_SESSION)
		return attach_one(program, program->skeleton->progs.call_session, request, false,
				  links);
	err = attach_one(program, program->skeleton->progs.call_return, request, true, links);
	if (err)
		return err;
	return attach_one(program, program->skeleton->progs.call_entry, request, false, links);
}

static bool is_of_exits(enum probe_kind kind)
{
	return kind == PROBE_EXIT || kind == PROBE_EXIT_ENTRY || kind == PROBE_THROW;
}

static int attach(struct prober *prober, const struct probe_request *request,
		  struct probe_links *links)
{
	struct loaded_programs *program = (struct loaded_programs *)prober;
	int err = request->count && is_of_exits(request->kind) ? program_load_exits(program) : 0;
	const struct mtrace_bpf *skeleton = program->skeleton;
	const struct mtrace_bpf *exits = program->exits ? program->exits : skeleton;
	const struct bpf_program *const at_entry[] = {
		[PROBE_EXIT] = exits->progs.call_exit,
		[PROBE_EXIT_ENTRY] = exits->progs.call_exit_entry,
		[PROBE_THROW] = exits->progs.call_throw,
		[PROBE_GATE] = skeleton->progs.call_gate,
		[PROBE_FREE] = skeleton->progs.call_free,
		[PROBE_FREE_PLAIN] = skeleton->progs.call_free_plain,
		[PROBE_LINK_MAP] = skeleton->progs.link_map_changed,
		[PROBE_THREAD_EXITS] = skeleton->progs.thread_exits,
		[PROBE_OPERATOR] = skeleton->progs.call_operator,
	};

	if (err || !request->count)
		return err;
	if (request->kind == PROBE_EXIT_ENTRY)
		skeleton->bss->exits_watched = 1;
	if (request->kind == PROBE_CALL)
		return attach_call(program, request, links);
	return attach_one(program, at_entry[request->kind], request, false, links);
}

static int commit(struct prober *prober, pid_t pid, struct probe_links *links)
{
	struct loaded_programs *program = (struct loaded_programs *)prober;

	return links->wanted.count ? probe_events_grant(&program->events, pid, links) : 0;
}

/* Duplicates the descriptors that libbpf closes, so that the probe closer process closes them last.
 */
static void perf_take(struct probe_links *links)
{
	for (size_t i = 0; i < links->perf_count; i++) {
		struct bpf_link *link = links->perf[i];
		int fd = fds_reserve(links) ? -1 : fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 0);

		if (fd >= 0)
			add_fd(links, fd, i < links->perf_frees);
		bpf_link__destroy(link);
	}
	links->perf_count = links->perf_frees = 0;
}

/* If out of memory, they stay where they are, and are closed a little later. */
void program_gather(struct loaded_programs *program, struct probe_links *links)
{
	struct probe_links *all = &program->self_test;

	perf_take(links);
	if (!links->fd_count ||
	    vec_reserve_bytes((void **)&all->fds, &all->fd_capacity,
			      all->fd_count + links->fd_count, sizeof(*all->fds)))
		return;
	for (size_t i = 0; i < links->fd_count; i++)
		add_fd(all, links->fds[i], i < links->fd_frees);
	links->fd_count = links->fd_frees = 0;
}

static void close_links(const struct prober *prober, struct probe_links *links)
{
	const struct loaded_programs *program = (const struct loaded_programs *)prober;
	size_t frees;

	perf_take(links);
	/* Frees last: the free of a block whose allocation was seen must not be missed. */
	frees = links->fd_frees;
	probe_closer_close(&program->probe_closer, links->fds + frees, links->fd_count - frees,
			   false);
	probe_closer_close(&program->probe_closer, links->fds, frees, false);
	free(links->fds);
	free(links->perf);
	vec_free(&links->wanted);
	probe_grant_drop(links->grant, &program->probe_closer);
	*links = (struct probe_links){0};
}

static void begin_closing(struct loaded_programs *program)
{
	size_t taken = probe_closer_begin_close(&program->probe_closer, program->left.items,
						program->left.count);

	program->left.count -= taken;
	memmove(program->left.items, program->left.items + taken,
		program->left.count * sizeof(*program->left.items));
}

/* Closing perf events one after the other takes seconds: reports must not wait for that. */
static void leave_links(struct prober *prober, struct probe_links *links)
{
	struct loaded_programs *program = (struct loaded_programs *)prober;

	perf_take(links);
	if (program->means->attach == ATTACH_PERF && links->fd_count &&
	    !vec_append(&program->left, links->fds, links->fd_count)) {
		begin_closing(program);
		links->fd_count = links->fd_frees = 0;
	}
	close_links(prober, links);
}

/* In this order: the programs only look at the map if the count is not 0. */
static int leader_lost(const struct prober *prober, pid_t pid)
{
	const struct loaded_programs *program = (const struct loaded_programs *)prober;
	struct mtrace_bpf *skeleton = program->skeleton;
	uint32_t key = (uint32_t)pid, value = 1;

	__atomic_add_fetch(&skeleton->bss->leader_exited_count, 1, __ATOMIC_SEQ_CST);
	if (!bpf_map_update_elem(bpf_map__fd(skeleton->maps.leader_exited), &key, &value, BPF_ANY))
		return 0;
	__atomic_sub_fetch(&skeleton->bss->leader_exited_count, 1, __ATOMIC_SEQ_CST);
	return -errno;
}

static void leader_found(const struct prober *prober, pid_t pid)
{
	const struct loaded_programs *program = (const struct loaded_programs *)prober;
	struct mtrace_bpf *skeleton = program->skeleton;
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(skeleton->maps.leader_exited), &key);
	__atomic_sub_fetch(&skeleton->bss->leader_exited_count, 1, __ATOMIC_SEQ_CST);
}

static const struct prober_ops bpf_prober_ops = {
	.attach = attach,
	.commit = commit,
	.close = close_links,
	.leave = leave_links,
	.inherit = probe_grant_inherit,
	.leader_lost = leader_lost,
	.leader_found = leader_found,
};

int program_attach_tasks(struct loaded_programs *program, struct error *err)
{
	struct mtrace_bpf *skeleton = program->skeleton;
	const struct {
		const struct bpf_program *bpf;
		const char *tracepoint;
		struct bpf_link **link;
	} rows[] = {
		{skeleton->progs.task_exec, "sched_process_exec", &skeleton->links.task_exec},
		{skeleton->progs.task_exit, "sched_process_exit", &skeleton->links.task_exit},
		{skeleton->progs.task_fork, "sched_process_fork", &skeleton->links.task_fork},
		{skeleton->progs.task_free, "sched_process_free", &skeleton->links.task_free},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!bpf_program__autoload(rows[i].bpf))
			continue;
		*rows[i].link = bpf_program__attach_raw_tracepoint(rows[i].bpf, rows[i].tracepoint);
		if (!*rows[i].link)
			return error_set_errno(err, -errno, "cannot watch %s", rows[i].tracepoint);
	}
	return 0;
}
