/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deferred records in the maps of the BPF programs. */
#include "source/bpf/untold.h"

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

static bool births_any(const struct trace_source *bpf)
{
	return count_now(&bpf->program->skeleton->bss->untold_birth_count) != bpf->births_found;
}

size_t births_untold(const struct trace_source *bpf, uint32_t ret_pids[BIRTHS_UNTOLD])
{
	return births_any(bpf) ? keys_of(bpf->program->skeleton->maps.untold_births, BIRTHS_UNTOLD,
					 ret_pids)
			       : 0;
}

static bool take_birth(struct trace_source *bpf, pid_t pid, struct record_fork *ret_birth)
{
	int map = bpf_map__fd(bpf->program->skeleton->maps.untold_births);
	uint32_t key = (uint32_t)pid;

	if (!births_any(bpf) || bpf_map_lookup_elem(map, &key, ret_birth))
		return false;
	(void)bpf_map_delete_elem(map, &key);
	bpf->births_found++;
	return true;
}

static size_t births_of(const struct trace_source *bpf, pid_t parent, uint64_t before_ns,
			uint32_t ret_pids[BIRTHS_UNTOLD])
{
	int map = bpf_map__fd(bpf->program->skeleton->maps.untold_births);
	size_t all = births_untold(bpf, ret_pids), count = 0;
	struct record_fork birth;

	for (size_t i = 0; i < all; i++)
		if (!bpf_map_lookup_elem(map, &ret_pids[i], &birth) &&
		    birth.parent == (uint32_t)parent && birth.head.time_ns < before_ns)
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

size_t execs_untold(const struct trace_source *bpf, uint32_t ret_pids[EXECS_UNTOLD])
{
	return execs_any(bpf)
		       ? keys_of(bpf->program->skeleton->maps.untold_execs, EXECS_UNTOLD, ret_pids)
		       : 0;
}

/* Between the check and taking it, the record may have been replaced by the next one, which is
 * still being written. Then /proc supplies what is missing. */
static bool take_exec(struct trace_source *bpf, pid_t pid, uint64_t before_ns,
		      struct record_exec *ret_exec)
{
	struct mtrace_bpf *skeleton = bpf->program->skeleton;
	int map = bpf_map__fd(skeleton->maps.untold_execs);
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
	return count_now(&bpf->program->skeleton->bss->untold_mapping_count) != bpf->mappings_found;
}

size_t mappings_untold(const struct trace_source *bpf, uint32_t ret_pids[MAPPINGS_UNTOLD])
{
	return mappings_any(bpf) ? keys_of(bpf->program->skeleton->maps.untold_mappings,
					   MAPPINGS_UNTOLD, ret_pids)
				 : 0;
}

bool mappings_take(struct trace_source *bpf, pid_t pid, uint64_t *ret_since_ns)
{
	int map = bpf_map__fd(bpf->program->skeleton->maps.untold_mappings);
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

const struct untold_ops untold_ops = {
	.birth = take_birth,
	.exec = take_exec,
	.births_of = births_of,
	.forget = forget,
};
