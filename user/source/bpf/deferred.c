/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deferred records in the maps of the BPF programs. */
#include "source/bpf/deferred.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "mtrace.skel.h"
#include "source/bpf/load/loaded_programs.h"

static size_t keys_of(const struct bpf_map *map, size_t most, uint32_t *ret_pids)
{
	const uint32_t *last = NULL;
	size_t count = 0;

	while (count < most && !bpf_map_get_next_key(bpf_map__fd(map), last, &ret_pids[count]))
		last = &ret_pids[count++];
	return count;
}

static uint32_t count_now(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/*
 * Forks.
 */

static bool forks_any(const struct trace_source *bpf)
{
	return count_now(&bpf->program->skeleton->bss->deferred_fork_count) != bpf->forks_found;
}

size_t forks_deferred(const struct trace_source *bpf, uint32_t ret_pids[FORKS_DEFERRED])
{
	return forks_any(bpf) ? keys_of(bpf->program->skeleton->maps.deferred_forks, FORKS_DEFERRED,
					ret_pids)
			      : 0;
}

static bool take_fork(struct trace_source *bpf, pid_t pid, struct record_fork *ret_fork)
{
	int map = bpf_map__fd(bpf->program->skeleton->maps.deferred_forks);
	uint32_t key = (uint32_t)pid;

	if (!forks_any(bpf) || bpf_map_lookup_elem(map, &key, ret_fork))
		return false;
	(void)bpf_map_delete_elem(map, &key);
	bpf->forks_found++;
	return true;
}

static size_t forks_of(const struct trace_source *bpf, pid_t parent, uint64_t before_ns,
		       uint32_t ret_pids[FORKS_DEFERRED])
{
	int map = bpf_map__fd(bpf->program->skeleton->maps.deferred_forks);
	size_t all = forks_deferred(bpf, ret_pids), count = 0;
	struct record_fork fork;

	for (size_t i = 0; i < all; i++)
		if (!bpf_map_lookup_elem(map, &ret_pids[i], &fork) &&
		    fork.parent == (uint32_t)parent && fork.head.time_ns < before_ns)
			ret_pids[count++] = ret_pids[i];
	return count;
}

/*
 * Execs.
 */

static bool execs_any(const struct trace_source *bpf)
{
	return count_now(&bpf->program->skeleton->bss->execs_waiting) != 0;
}

size_t execs_deferred(const struct trace_source *bpf, uint32_t ret_pids[EXECS_DEFERRED])
{
	return execs_any(bpf) ? keys_of(bpf->program->skeleton->maps.deferred_execs, EXECS_DEFERRED,
					ret_pids)
			      : 0;
}

/* Between the check and taking it, the record may have been replaced by the next one, which is
 * still being written. Then /proc supplies what is missing. */
static bool take_exec(struct trace_source *bpf, pid_t pid, uint64_t before_ns,
		      struct record_exec *ret_exec)
{
	struct mtrace_bpf *skeleton = bpf->program->skeleton;
	int map = bpf_map__fd(skeleton->maps.deferred_execs);
	uint32_t key = (uint32_t)pid;

	if (!execs_any(bpf) || bpf_map_lookup_elem(map, &key, ret_exec) || !ret_exec->head.length ||
	    ret_exec->head.time_ns >= before_ns ||
	    bpf_map_lookup_and_delete_elem(map, &key, ret_exec))
		return false;
	__atomic_sub_fetch(&skeleton->bss->execs_waiting, 1, __ATOMIC_SEQ_CST);
	if (!ret_exec->head.length)
		*ret_exec =
			(struct record_exec){.head = {.kind = RECORD_EXEC, .pid = key, .tid = key}};
	return true;
}

/*
 * Mappings.
 */

static bool mappings_any(const struct trace_source *bpf)
{
	return count_now(&bpf->program->skeleton->bss->deferred_mapping_count) !=
	       bpf->mappings_found;
}

size_t mappings_deferred(const struct trace_source *bpf, uint32_t ret_pids[MAPPINGS_DEFERRED])
{
	return mappings_any(bpf) ? keys_of(bpf->program->skeleton->maps.deferred_mappings,
					   MAPPINGS_DEFERRED, ret_pids)
				 : 0;
}

bool mappings_take(struct trace_source *bpf, pid_t pid, uint64_t *ret_since_ns)
{
	int map = bpf_map__fd(bpf->program->skeleton->maps.deferred_mappings);
	uint32_t key = (uint32_t)pid;

	if (bpf_map_lookup_and_delete_elem(map, &key, ret_since_ns))
		return false;
	bpf->mappings_found++;
	return true;
}

static void forget(struct trace_source *bpf, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	(void)bpf_map_delete_elem(bpf_map__fd(bpf->program->skeleton->maps.processes), &key);
}

const struct deferred_ops deferred_ops = {
	.fork = take_fork,
	.exec = take_exec,
	.forks_of = forks_of,
	.forget = forget,
};
