/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/probes.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "os/process/proc.h"
#include "symbol/elf/module_table.h"
#include "source/process/cookie.h"
#include "source/gate/gated.h"
#include "source/process/file_code.h"
#include "source/process/wanted.h"
#include "symbol/probe_site/plan.h"

#define BREAKPOINT_NONE 0 /* never a probed byte: it would be `add` */

static struct probe_links *links_of(struct traced_process *process)
{
	return process->shared ? &process->shared->links : &process->links;
}

/* The kernel may accept a probe in Thumb code, but it kills the program. */
static bool refuse_thumb(struct traced_process *process, const struct module *module,
			 const struct probe_site *site)
{
	if (!site->thumb)
		return false;
	log_info("%s: %s is not probed: uprobes do not work in Thumb code", module->path,
		 site->symbol);
	process->unprobed_sites++;
	return true;
}

static int attach(struct traced_process *process, const struct module *module, enum probe_kind kind,
		  const uint64_t *offsets, const uint64_t *cookies, size_t count)
{
	const struct probe_request request = {
		.kind = kind,
		.pid = process->shared ? 0 : process->pid,
		.path = module->open_path,
		.offsets = offsets,
		.cookies = cookies,
		.count = count,
	};

	return gated_attach(process, module, &request, links_of(process));
}

typedef bool site_choice_fn(const struct probe_site *site);

static bool is_any_site(const struct probe_site *site)
{
	(void)site;
	return true;
}

static bool is_map_site(const struct probe_site *site)
{
	return api_row(site->api)->family == FAMILY_MAP;
}

static bool is_heap_site(const struct probe_site *site)
{
	return !is_map_site(site);
}

/*
 * Returns true if the code of a chosen site in the process is not that of the file, so that no
 * probe can be placed. Probes of all processes are not checked.
 */
static bool code_differs(const struct traced_process *process, const struct module *module,
			 const struct probe_plan *plan, site_choice_fn *chosen)
{
	struct proc_maps maps = {0};
	bool differs = false;

	if (process->shared || process->awaits_exec ||
	    proc_maps_read(traced_process_reader(process), &maps))
		return false;
	for (size_t i = 0; !differs && i < plan->site_count; i++)
		differs = chosen(&plan->sites[i]) &&
			  file_code_differs(process, &maps, module, plan->sites[i].offset);
	proc_maps_free(&maps);
	return differs;
}

/* One function that is not probed makes the others useless: a free would be missed. */
static bool refuse_changed(struct traced_process *process, const struct module *module,
			   const struct probe_plan *plan, site_choice_fn *chosen)
{
	if (!plan->site_count || !code_differs(process, module, plan, chosen))
		return false;
	for (size_t i = 0; i < plan->site_count; i++)
		process->unprobed_sites +=
			chosen(&plan->sites[i]) && wanted_site(process->config, &plan->sites[i]);
	log_info("%s: not probed: another tool has changed its code in process %d", module->path,
		 (int)process->pid);
	return true;
}

/* Attaches all chosen sites of one kind with one request. */
static int attach_kind(struct traced_process *process, const struct module *module,
		       const struct probe_plan *plan, enum probe_kind kind, site_choice_fn *chosen)
{
	uint64_t *offsets = calloc(plan->site_count, sizeof(*offsets));
	uint64_t *cookies = calloc(plan->site_count, sizeof(*cookies));
	size_t count = 0;
	int err = -ENOMEM;

	if (!offsets || !cookies)
		goto out;
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];

		if (!chosen(site) || cookie_kind(process, module, plan, site) != kind ||
		    !wanted_site(process->config, site) || refuse_thumb(process, module, site))
			continue;
		offsets[count] = site->offset;
		cookies[count++] = cookie_of_site(process, module, plan, site);
		log_info("%s: %s+%u: %s (%s)", module->path, site->symbol,
			 (unsigned int)(site->offset - site->entry), site->instruction,
			 site->reason);
	}
	err = attach(process, module, kind, offsets, cookies, count);
out:
	free(offsets);
	free(cookies);
	return err;
}

static uint64_t mark_argument(int8_t position)
{
	return position < 0 ? COOKIE_NO_ARG : (uint64_t)position;
}

/* The block of a delete is its first argument. */
static uint64_t mark_cookie(const struct traced_process *process, const struct probe_mark *mark)
{
	return (uint64_t)mark->api | mark_argument(mark->passed_size) << 8 |
	       mark_argument(mark->aligned) << 12 | cookie_anybody(process) |
	       (mark->offset - mark->entry) << 32 | (uint64_t)mark->size << 40;
}

/* The BPF programs only handle marks of 64-bit code (bpf/sanity.bpf.h). */
static bool reads_marks(const struct module *module)
{
	return module->elf64;
}

static int attach_marks(struct traced_process *process, const struct module *module,
			const struct probe_plan *plan)
{
	uint64_t *offsets = calloc(plan->mark_count, sizeof(*offsets));
	uint64_t *cookies = calloc(plan->mark_count, sizeof(*cookies));
	int err = -ENOMEM;

	if (!offsets || !cookies)
		goto out;
	for (size_t i = 0; i < plan->mark_count; i++) {
		offsets[i] = plan->marks[i].offset;
		cookies[i] = mark_cookie(process, &plan->marks[i]);
	}
	err = attach(process, module, PROBE_OPERATOR, offsets, cookies, plan->mark_count);
out:
	free(offsets);
	free(cookies);
	return err;
}

/* Probes all exits, before the entries: calls through an unprobed exit would never end. */
static int attach_exits(struct traced_process *process, const struct module *module,
			const struct probe_plan *plan)
{
	uint64_t *offsets = calloc(plan->exit_count, sizeof(*offsets));
	uint64_t *cookies = calloc(plan->exit_count, sizeof(*cookies));
	int err = -ENOMEM;

	if (!offsets || !cookies)
		goto out;
	for (size_t i = 0; i < plan->exit_count; i++) {
		offsets[i] = plan->exits[i].offset;
		cookies[i] = plan->exits[i].kind;
	}
	err = attach(process, module, PROBE_EXIT, offsets, cookies, plan->exit_count);
out:
	free(offsets);
	free(cookies);
	return err;
}

static const enum probe_kind hook_kinds[HOOK_COUNT] = {
	[HOOK_LINK_MAP] = PROBE_LINK_MAP,
	[HOOK_THREAD_EXITS] = PROBE_THREAD_EXITS,
	[HOOK_THROW] = PROBE_THROW,
};

static int attach_hook(struct traced_process *process, const struct module *module,
		       const struct probe_plan *plan, enum hook hook)
{
	const uint64_t *offset = &plan->hooks[hook];

	return *offset ? attach(process, module, hook_kinds[hook], offset, NULL, 1) : 0;
}

static int attach_hooks(struct traced_process *process, const struct module *module,
			const struct probe_plan *plan)
{
	int err = 0;

	for (int hook = 0; !err && hook < HOOK_COUNT; hook++)
		if (hook != HOOK_THROW || process->shared || process->watches_exits)
			err = attach_hook(process, module, plan, (enum hook)hook);
	return err;
}

/* From now on, exceptions matter. Also probes throwing in modules that were probed before. */
static int watch_throws(struct traced_process *process, const struct module *late)
{
	struct module *module;
	int err = 0;

	if (process->shared || process->watches_exits)
		return 0;
	for (uint32_t id = 0; !err && (module = module_get(process->config->modules, id)); id++)
		if (module != late && module->plan &&
		    map64_get(&process->attached, id) != MAP64_NONE)
			err = attach_hook(process, module, module->plan, HOOK_THROW);
	process->watches_exits = true;
	return err;
}

/*
 * In the order of attaching. Frees come first: a block whose free is missed would stay live
 * forever.
 */
static const enum probe_kind site_kinds[] = {PROBE_FREE, PROBE_FREE_PLAIN, PROBE_EXIT_ENTRY,
					     PROBE_CALL};

static int attach_chosen(struct traced_process *process, const struct module *module,
			 const struct probe_plan *plan, site_choice_fn *chosen)
{
	bool exits = chosen != is_map_site && wanted_exits(process->config, plan);
	int err;

	if (refuse_changed(process, module, plan, chosen))
		return 0;
	err = exits ? watch_throws(process, module) : 0;
	if (!err && exits)
		err = attach_exits(process, module, plan);
	/* Marks first: otherwise a call may come without its operator's mark. */
	if (!err && process->config->sanity && plan->mark_count && reads_marks(module))
		err = attach_marks(process, module, plan);
	for (size_t i = 0;
	     !err && plan->site_count && i < sizeof(site_kinds) / sizeof(site_kinds[0]); i++)
		err = attach_kind(process, module, plan, site_kinds[i], chosen);
	return err;
}

static int attach_sites(struct traced_process *process, const struct module *module,
			const struct probe_plan *plan)
{
	bool gated = gated_has(process, module);
	int err = attach_chosen(process, module, plan, gated ? is_map_site : is_any_site);

	return err ? err : attach_hooks(process, module, plan);
}

/* What is not served by gates is probed as usual. */
static int commit_gates(struct traced_process *process)
{
	const struct module *module;
	int err = 0;

	while (!err && (module = gated_place(process)))
		err = attach_sites(process, module, module->plan);
	return err;
}

/* Probes in all processes are placed once: now, or later if a translator is running. */
static int attach_shared(struct traced_process *process, const struct module *module,
			 const struct probe_plan *plan, uint64_t *ret_placed_ns)
{
	struct shared_probes *shared = process->shared;
	uint32_t index = map64_get(&shared->attached, module->id);
	int err = 0;

	if (index == MAP64_NONE) {
		index = (uint32_t)shared->placed_ns.count;
		if (vec_push(&shared->placed_ns, 0) ||
		    map64_set(&shared->attached, module->id, index))
			return -ENOMEM;
		if (!shared->paused)
			err = attach_sites(process, module, plan);
		shared->placed_ns.items[index] = clock_now_ns();
	}
	*ret_placed_ns = shared->placed_ns.items[index];
	return err;
}

static int attach_module(struct traced_process *process, const struct module *module,
			 const struct probe_plan *plan)
{
	uint64_t placed_ns = 0;
	int err;

	if (process->shared) {
		err = attach_shared(process, module, plan, &placed_ns);
	} else {
		err = gated_defer(process, module) ? 0 : attach_sites(process, module, plan);
		placed_ns = clock_now_ns();
	}
	if (!plan->site_count)
		return err;
	if (!process->shared) {
		process->attached_ns = placed_ns;
		process->uncommitted = true;
	}
	if (placed_ns > process->placed_ns)
		process->placed_ns = placed_ns;
	return err;
}

static int commit_events(struct traced_process *process)
{
	int err = commit_gates(process);

	return err ? err : prober_commit(process->prober, process->pid, links_of(process));
}

int probes_commit(struct traced_process *process)
{
	int err = process->ops->commit ? process->ops->commit(process) : 0;

	if (process->uncommitted)
		process->attached_ns = process->placed_ns = clock_now_ns();
	process->uncommitted = false;
	if (err && err != -ENOMEM && err != -ESRCH) /* its exit is reported elsewhere */
		log_warn("process %d: cannot place probes: %s", (int)process->pid, strerror(-err));
	return err == -ENOMEM ? err : 0;
}

int probes_attach_copy(struct traced_process *process, const struct module *module)
{
	return attach_chosen(process, module, module->plan, is_any_site);
}

int probes_after_exec(struct traced_process *process)
{
	const struct module *module;
	int err = 0;

	while (!err && (module = gated_drop(process)))
		err = attach_chosen(process, module, module->plan, is_heap_site);
	return err;
}

static void count_sites(struct traced_process *process, const struct probe_plan *plan)
{
	for (size_t i = 0; i < plan->site_count; i++)
		process->site_count += wanted_site(process->config, &plan->sites[i]);
}

static void count_refusals(struct traced_process *process, const struct module *module,
			   const struct probe_plan *plan)
{
	for (size_t i = 0; i < plan->refusal_count; i++)
		log_info("%s: %s is not probed: %s", module->path, plan->refusals[i].symbol,
			 plan->refusals[i].reason);
	process->unprobed_sites += plan->refusal_count;
}

/* A sanitizer's allocator changes the meaning of the figures. */
static void log_sanitizer(struct traced_process *process, const struct probe_plan *plan)
{
	static const char *const words[SANITIZER_COUNT] = {
		[SANITIZER_LEAK] = "LeakSanitizer: tracing the sanitizer's allocator",
		[SANITIZER_ADDRESS] =
			"AddressSanitizer: tracing the sanitizer's allocator; sizes are the "
			"requested ones, without red zones and quarantined blocks",
	};

	if (plan->sanitizer == SANITIZER_NONE || process->sanitizer_reported)
		return;
	process->sanitizer_reported = true;
	log_warn("process %d is built with %s", (int)process->pid, words[plan->sanitizer]);
}

/* The state of a module's probes: the values of traced_process.attached. */
enum attached {
	ATTACHED_AHEAD = 1, /* placed but not mapped yet, so not counted as a loss */
	ATTACHED_COUNTED,
};

static uint32_t attached_state(const struct traced_process *process, const struct module *module)
{
	return map64_get(&process->attached, module->id);
}

bool probes_reach(const struct traced_process *process, int machine)
{
	return process->ops != &attached_probe_ops || arch_has_uprobes(machine);
}

/* The plan of a module, or NULL if it must not or cannot be probed. */
static const struct probe_plan *plan_of(struct traced_process *process, struct module *module)
{
	const struct probe_plan *plan;
	struct error err = {0};

	if (process->translated || wanted_omits(process->config, module))
		return NULL;
	if (module_is_x32(module)) {
		log_warn("%s: x32 code is not traced", module->path);
		process->unprobed_sites++;
		return NULL;
	}
	if (!probes_reach(process, module->machine)) {
		log_warn("%s: 32-bit code is not traced: this kernel has no uprobes for it",
			 module->path);
		process->unprobed_sites++;
		return NULL;
	}
	if (!module->plan) {
		module->prefix = wanted_prefix(process->config, module);
		module->wants_gates = gated_wanted(process->config);
	}
	if (!parser_plan(process->config->parser, module, &plan, &err))
		return plan;
	log_info("%s: %s", module->path, err.text);
	return NULL;
}

static void refuse_module(struct traced_process *process, const struct module *module,
			  const struct probe_plan *plan, int code)
{
	if (code != -ESRCH) /* its exit is reported elsewhere */
		log_warn("%s: cannot place probes: %s", module->path, strerror(-code));
	process->unprobed_sites += plan->site_count;
}

static int place(struct traced_process *process, const struct module *module,
		 const struct probe_plan *plan)
{
	int code = process->ops->place(process, module, plan);

	if (!code || traced_process_must_fail(process, code))
		return code;
	refuse_module(process, module, plan, code);
	return 0;
}

int probes_attach_ahead(struct traced_process *process, struct module *module)
{
	const struct probe_plan *plan;

	if (attached_state(process, module) != MAP64_NONE)
		return 0;
	plan = plan_of(process, module);
	if (map64_set(&process->attached, module->id, ATTACHED_AHEAD))
		return -ENOMEM;
	return plan ? place(process, module, plan) : 0;
}

int probes_attach(struct traced_process *process, struct module *module)
{
	uint32_t state = attached_state(process, module);
	const struct probe_plan *plan;

	if (state == ATTACHED_COUNTED)
		return 0;
	plan = plan_of(process, module);
	if (map64_set(&process->attached, module->id, ATTACHED_COUNTED))
		return -ENOMEM;
	if (!plan)
		return 0;
	if (module->prefix && !plan->site_count)
		log_warn("%s: no allocation function with the prefix \"%s\"", module->path,
			 module->prefix);
	log_sanitizer(process, plan);
	process->allocator_objects += plan->site_count != 0;
	count_refusals(process, module, plan);
	count_sites(process, plan);
	return state == ATTACHED_AHEAD ? 0 : place(process, module, plan);
}

int probes_share_again(struct traced_process *nobody)
{
	const struct map64 *shared = &nobody->shared->attached;
	struct module *module;
	int err = 0;

	for (uint32_t id = 0; err != -ENOMEM && (module = module_get(nobody->config->modules, id));
	     id++) {
		if (map64_get(shared, id) == MAP64_NONE)
			continue;
		err = attach_sites(nobody, module, module->plan);
		if (err)
			refuse_module(nobody, module, module->plan, err);
	}
	return err == -ENOMEM ? err : 0;
}

int probes_share(struct traced_process *process, struct module *module)
{
	return module->plan && !wanted_omits(process->config, module)
		       ? place(process, module, module->plan)
		       : 0;
}

/*
 * Verification: a probe that the kernel accepted may still be missing (if the text was remapped to
 * anonymous memory, for example), and would silently miss every call.
 */

static void verify_byte(struct traced_process *process, const struct module *module,
			const char *what, uint8_t original, uint64_t address)
{
	const struct arch *arch = arch_of_machine(module->machine);
	uint8_t code[ARCH_CODE_MAX] = {BREAKPOINT_NONE};
	size_t size = arch ? ARCH_BREAKPOINT_MAX : 1;

	/* With multi-byte instructions, a breakpoint may start with the original byte. */
	if (proc_memory_read(traced_process_reader(process), address, code, size) !=
		    (ssize_t)size ||
	    code[0] != original || (arch && arch->traps(code, 0)))
		return;
	process->unprobed_sites++;
	log_info("%s: the breakpoint on %s is missing in process %d", module->path, what,
		 process->pid);
}

/* The address of a file offset; 0 if it is not in the mapping. */
static uint64_t address_in(const struct delivered_mapping *mapping, uint64_t offset)
{
	if (offset < mapping->offset || offset - mapping->offset >= mapping->end - mapping->start)
		return 0;
	return mapping->start + offset - mapping->offset;
}

static void probes_verify(struct traced_process *process, const struct module *module,
			  const struct delivered_mapping *mapping)
{
	const struct probe_plan *plan = module->plan;
	bool exits;

	if (!plan || process->translated || (process->shared && process->shared->paused) ||
	    wanted_omits(process->config, module))
		return;
	exits = wanted_exits(process->config, plan) && !gated_has(process, module);
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];
		uint64_t address = address_in(mapping, site->offset);

		if (address && wanted_site(process->config, site) &&
		    (is_map_site(site) || !gated_has(process, module)))
			verify_byte(process, module, site->symbol, site->original, address);
	}
	for (size_t i = 0; exits && i < plan->exit_count; i++) {
		const struct probe_exit *exit = &plan->exits[i];
		uint64_t address = address_in(mapping, exit->offset);

		if (address)
			verify_byte(process, module, "an exit of operator new", exit->original,
				    address);
	}
}

const struct probe_ops attached_probe_ops = {
	.place = attach_module, .commit = commit_events, .verify = probes_verify};

/*
 * Enumeration of probes.
 */

static int each_hook(struct probe_taker *taker, const struct probe_plan *plan)
{
	int err = 0;

	for (int hook = 0; !err && hook < HOOK_COUNT; hook++)
		if (plan->hooks[hook])
			err = taker->take(taker->ctx, hook_kinds[hook], plan->hooks[hook], 0,
					  BREAKPOINT_UNKNOWN);
	return err;
}

static int each_exit(struct probe_taker *taker, const struct probe_plan *plan)
{
	int err = 0;

	for (size_t i = 0; !err && i < plan->exit_count; i++)
		err = taker->take(taker->ctx, PROBE_EXIT, plan->exits[i].offset,
				  plan->exits[i].kind, plan->exits[i].original);
	return err;
}

static int each_mark(const struct traced_process *process, struct probe_taker *taker,
		     const struct probe_plan *plan)
{
	int err = 0;

	for (size_t i = 0; !err && i < plan->mark_count; i++)
		err = taker->take(taker->ctx, PROBE_OPERATOR,
				  plan->marks[i].offset | plan->marks[i].thumb,
				  mark_cookie(process, &plan->marks[i]), BREAKPOINT_UNKNOWN);
	return err;
}

int probes_each(const struct traced_process *process, const struct module *module,
		struct probe_taker *taker)
{
	const struct probe_plan *plan = module->plan;
	int err;

	if (!plan || process->translated || wanted_omits(process->config, module))
		return 0;
	err = wanted_exits(process->config, plan) ? each_exit(taker, plan) : 0;
	if (!err && process->config->sanity)
		err = each_mark(process, taker, plan);
	for (size_t i = 0; !err && i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];

		if (wanted_site(process->config, site))
			err = taker->take(taker->ctx, cookie_kind(process, module, plan, site),
					  site->offset | site->thumb,
					  cookie_of_site(process, module, plan, site),
					  site->original);
	}
	return err ? err : each_hook(taker, plan);
}

static bool site_is_mapped(const struct traced_process *process, uint32_t module, uint64_t offset)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct delivered_mapping *mapping = &process->mappings[i];

		if (mapping->module == module && offset >= mapping->offset &&
		    offset - mapping->offset < mapping->end - mapping->start)
			return true;
	}
	return false;
}

bool probes_found(const struct traced_process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct module *module =
			module_get(process->config->modules, process->mappings[i].module);

		if (module && module->plan && module->plan->site_count)
			return true;
	}
	return !process->mapping_count;
}

/* Code that a program has moved to anonymous memory has no breakpoints: there is nothing to verify,
 * and its calls are missed. */
void probes_count_unmapped(struct traced_process *process)
{
	struct module *module;

	for (uint32_t id = 0; (module = module_get(process->config->modules, id)); id++) {
		const struct probe_plan *plan = module->plan;

		if (map64_get(&process->attached, id) != ATTACHED_COUNTED || !plan ||
		    wanted_omits(process->config, module))
			continue;
		for (size_t i = 0; i < plan->site_count; i++) {
			const struct probe_site *site = &plan->sites[i];

			if (!wanted_site(process->config, site) ||
			    site_is_mapped(process, id, site->offset))
				continue;
			process->unprobed_sites++;
			log_info("%s: %s is not mapped from the file in process %d", module->path,
				 site->symbol, process->pid);
		}
	}
}
