/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/breakpoint/foreign_uprobes.h"

#include <string.h>

#include "os/process/maps.h"
#include "os/process/proc.h"
#include "source/ptrace/breakpoint/space.h"

#define LOOK_NS 500000000ULL
#define UPROBES "[uprobes]" /* the kernel's mapping for uprobes */

static bool has_uprobes(pid_t pid)
{
	struct proc_maps maps;
	bool has = false;

	if (proc_maps_read(proc_living_thread(pid), &maps))
		return false;
	for (size_t i = 0; i < maps.count && !has; i++)
		has = !strcmp(maps.items[i].path, UPROBES);
	proc_maps_free(&maps);
	return has;
}

/* Restores missing breakpoints. Returns the last hit of any of them; 0: none was missing. */
static uint64_t restore_all(struct space *memory, uint64_t now_ns)
{
	struct breakpoint *breakpoint;
	uint64_t since_ns = 0;

	vec_each (breakpoint, &memory->breakpoints) {
		if (!breakpoint->address || breakpoint_is_set(memory, breakpoint) ||
		    !breakpoint_restore(memory, breakpoint))
			continue;
		if (breakpoint->hit_ns > since_ns)
			since_ns = breakpoint->hit_ns;
		breakpoint->hit_ns = now_ns;
	}
	return since_ns;
}

static uint64_t last_hit_ns(const struct space *memory)
{
	const struct breakpoint *breakpoint;
	uint64_t last_ns = 0;

	vec_each (breakpoint, &memory->breakpoints)
		if (breakpoint->kinds && breakpoint->hit_ns > last_ns)
			last_ns = breakpoint->hit_ns;
	return last_ns;
}

static uint64_t later(uint64_t one_ns, uint64_t other_ns)
{
	return one_ns > other_ns ? one_ns : other_ns;
}

/* Until a breakpoint is hit, it is unknown whether hits reach us. */
static void suspect_uprobes(struct owner *owner, uint64_t now_ns)
{
	owner->unconfirmed = true;
	owner->uprobes_ns = now_ns;
}

static void check_owner(const struct tracer *tracer, struct owner *owner, uint64_t now_ns)
{
	uint64_t since_ns;

	if (tracer->detaches || owner->bystander || owner->ending)
		return;
	since_ns = restore_all(owner->memory, now_ns);
	if (since_ns) {
		owner->losses[LOSS_GAP_NS] += now_ns - later(since_ns, owner->uprobes_ns);
		suspect_uprobes(owner, now_ns);
	} else if (!owner->has_uprobes && has_uprobes(owner->pid)) {
		owner->has_uprobes = true;
		owner->uprobes_ns = later(tracer->checked_ns, last_hit_ns(owner->memory));
	}
}

/* The kernel may keep uprobes whose tracer is gone, and take their hits. */
void foreign_uprobes_start(struct owner *owner)
{
	owner->has_uprobes = has_uprobes(owner->pid);
	if (owner->has_uprobes)
		suspect_uprobes(owner, clock_now_ns());
}

void foreign_uprobes_hit(struct owner *owner)
{
	if (!owner->unconfirmed)
		return;
	owner->unconfirmed = false;
	owner->uprobes_ns = 0;
}

void foreign_uprobes_check(struct tracer *tracer)
{
	uint64_t now_ns = clock_now_ns();
	struct owner *const *owner;

	if (now_ns - tracer->checked_ns < LOOK_NS)
		return;
	vec_each (owner, &tracer->owners)
		check_owner(tracer, *owner, now_ns);
	tracer->checked_ns = now_ns;
}

void foreign_uprobes_check_now(const struct tracer *tracer, struct owner *owner)
{
	check_owner(tracer, owner, clock_now_ns());
}

/* No gap while other breakpoints are hit: partial losses show up in the model. */
uint64_t foreign_uprobes_gap_ns(const struct owner *owner)
{
	if (!owner->uprobes_ns ||
	    (!owner->unconfirmed && last_hit_ns(owner->memory) > owner->uprobes_ns))
		return 0;
	return clock_now_ns() - owner->uprobes_ns;
}
