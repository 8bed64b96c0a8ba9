/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/gate/gated.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "gate/gates.h"
#include "gate/left.h"
#include "os/process/maps.h"
#include "source/process/cookie.h"
#include "source/process/file_code.h"
#include "source/process/wanted.h"
#include "symbol/elf/module_table.h"

#define NS_PER_MS 1000000

/* Sampled blocks to have room for: those of a heap of this size. */
#define HEAP_SIZE (64ULL << 30)

struct gated_module {
	const struct module *module;
	struct gates *gates; /* NULL until they are placed */
	bool started;
	bool copied;                     /* it is also mapped elsewhere */
	const struct probe_site **sites; /* of its functions, in the order of the gates */
	size_t count;
	uint64_t low, high; /* of its mappings */
	int code;           /* descriptor of the gates' code, or -1 … */
	char path[32];      /* … and a path to it */
};

/* If more calls are sampled, they cost more than the others save. */
#define MEAN_LEAST 1024

bool gated_wanted(const struct source_config *config)
{
	const struct alloc_filter *filter = &config->alloc_filter;

	if (config->gates == GATES_NEVER ||
	    (config->gates == GATES_AUTO && filter->sample < MEAN_LEAST))
		return false;
	return config->scope == SCOPE_NAMED && !config->sanity &&
	       alloc_filter_samples_at_first(filter) && !filter->min_size && !filter->max_size;
}

int gated_clean(const struct traced_process *process, struct error *err)
{
	return gates_left_remove(traced_process_reader(process), err);
}

static bool is_heap_site(const struct source_config *config, const struct probe_site *site)
{
	return api_row(site->api)->family == FAMILY_HEAP && wanted_site(config, site);
}

static bool names_aligned(const struct probe_site *site)
{
	return strstr(site->symbol, "align");
}

static const enum stub_kind stub_kinds[API_COUNT] = {
	[API_MALLOC] = STUB_SIZE_FIRST,
	[API_CALLOC] = STUB_COUNT_SIZE,
	[API_REALLOC] = STUB_REALLOC,
	[API_REALLOCARRAY] = STUB_REALLOC_COUNT,
	[API_FREE] = STUB_FREE,
	[API_POSIX_MEMALIGN] = STUB_SIZE_THIRD,
	[API_ALIGNED_ALLOC] = STUB_SIZE_SECOND,
	[API_VALLOC] = STUB_SIZE_FIRST,
	[API_PVALLOC] = STUB_SIZE_FIRST,
	[API_NEW] = STUB_NEW,
	[API_NEW_ARRAY] = STUB_NEW,
	[API_DELETE] = STUB_FREE,
	[API_DELETE_ARRAY] = STUB_FREE,
};

/* Which gate serves a function. An operator whose name says "nothrow" returns NULL instead of
 * throwing. */
static enum stub_kind kind_of(const struct probe_site *site)
{
	enum stub_kind kind = stub_kinds[site->api];

	if (kind != STUB_NEW)
		return kind;
	if (strstr(site->symbol, "nothrow"))
		return STUB_SIZE_FIRST;
	return names_aligned(site) ? STUB_NEW_ALIGNED : STUB_NEW;
}

/* The function that operator new calls instead of itself; GATES_NO_OTHER if there is none. */
static size_t other_of(const struct gated_module *gated, enum stub_kind kind)
{
	enum api api = kind == STUB_NEW ? API_MALLOC : API_ALIGNED_ALLOC;

	if (kind != STUB_NEW && kind != STUB_NEW_ALIGNED)
		return GATES_NO_OTHER;
	for (size_t i = 0; i < gated->count; i++)
		if (gated->sites[i]->api == api &&
		    (api == API_ALIGNED_ALLOC || !names_aligned(gated->sites[i])))
			return i;
	return GATES_NO_OTHER;
}

/* Returns why the module has no gates; NULL if it can have them. */
static const char *why_not(const struct gated_module *gated)
{
	if (!gated->count)
		return "it has no heap function";
	if (gated->module->plan->sanitizer)
		return "a sanitizer's allocator";
	for (size_t i = 0; i < gated->count; i++) {
		const struct probe_site *site = gated->sites[i];
		enum stub_kind kind = kind_of(site);

		if (!site->gate.size)
			return site->symbol;
		if ((kind == STUB_NEW || kind == STUB_NEW_ALIGNED) &&
		    other_of(gated, kind) == GATES_NO_OTHER)
			return site->symbol;
	}
	return NULL;
}

/* With --gates always, the user wants to know. */
static void report_refusal(const struct traced_process *process, const struct module *module,
			   const char *why)
{
	if (process->config->gates == GATES_ALWAYS)
		log_warn("%s: no gates: %s", module->path, why);
	else
		log_info("%s: no gates: %s", module->path, why);
}

static void module_forget(struct gated_module *gated)
{
	if (gated->code >= 0)
		close(gated->code);
	gates_forget(gated->gates);
	free(gated->sites);
	free(gated);
}

static struct gated_module *module_new(const struct traced_process *process,
				       const struct module *module)
{
	struct gated_module *gated = calloc(1, sizeof(*gated));

	if (!gated)
		return NULL;
	gated->module = module;
	gated->code = -1;
	gated->sites = calloc(module->plan->site_count + 1, sizeof(*gated->sites));
	for (size_t i = 0; gated->sites && i < module->plan->site_count; i++)
		if (is_heap_site(process->config, &module->plan->sites[i]))
			gated->sites[gated->count++] = &module->plan->sites[i];
	return gated;
}

bool gated_defer(struct traced_process *process, const struct module *module)
{
	struct gated_module *gated;
	const char *objection;

	if (!gated_wanted(process->config) || process->shared || process->awaits_exec ||
	    module->machine != EM_X86_64 || !module->elf64 || !module->plan->site_count)
		return false;
	gated = module_new(process, module);
	if (!gated)
		return false;
	objection = why_not(gated);
	if (!objection && !vec_push(&process->gated, gated))
		return true;
	if (objection && gated->count)
		report_refusal(process, module, objection);
	module_forget(gated);
	return false;
}

/* The address of a file offset in the code of the module; 0 if it is mapped nowhere, or twice. */
static uint64_t address_of(const struct proc_maps *maps, const struct module *module,
			   uint64_t offset)
{
	uint64_t address = 0;

	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];

		if (!mapping->executable || !file_code_is_of(mapping, module) ||
		    offset < mapping->offset ||
		    offset - mapping->offset >= mapping->end - mapping->start)
			continue;
		if (address || mapping->writable || mapping->shared)
			return 0;
		address = mapping->start + offset - mapping->offset;
	}
	return address;
}

static int describe_function(const struct gated_module *gated, const struct proc_maps *maps,
			     size_t i, struct gate_function *function)
{
	const struct probe_site *site = gated->sites[i];

	function->kind = kind_of(site);
	function->offset = site->gate.offset;
	function->site = address_of(maps, gated->module, site->gate.offset);
	if (!function->site)
		return -ENOENT;
	function->start = function->site - (site->gate.offset - site->entry);
	function->end = function->start + (site->gate.end - site->entry);
	function->displaced = site->gate.size;
	function->other = other_of(gated, function->kind);
	return pread(gated->module->fd, function->original, site->gate.size,
		     (off_t)site->gate.offset) == site->gate.size
		       ? 0
		       : -EIO;
}

/* What the instructions of the module may refer to: all its mappings. */
static void find_span(struct gated_module *gated, const struct proc_maps *maps)
{
	gated->low = UINT64_MAX;
	gated->high = 0;
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];

		if (!file_code_is_of(mapping, gated->module))
			continue;
		gated->low = mapping->start < gated->low ? mapping->start : gated->low;
		gated->high = mapping->end > gated->high ? mapping->end : gated->high;
	}
}

static bool is_mapped(const struct proc_maps *maps, const struct module *module)
{
	for (size_t i = 0; i < maps->count; i++)
		if (file_code_is_of(&maps->items[i], module))
			return true;
	return false;
}

static bool has_other_allocator(const struct traced_process *process, const struct proc_maps *maps,
				const struct module *libc)
{
	const struct module *module;

	for (uint32_t id = 0; (module = module_get(process->config->modules, id)); id++)
		if (module != libc && module->plan && module->plan->allocator &&
		    is_mapped(maps, module))
			return true;
	return false;
}

/*
 * glibc's reallocarray jumps to the realloc that the program uses. If that is in another module,
 * its gate reports the call, because the block is then in the set of that module's gates.
 */
static void omit_reallocarray(const struct traced_process *process, struct gated_module *gated,
			      const struct proc_maps *maps)
{
	size_t kept = 0;

	if (!gated->module->plan->hooks[HOOK_THREAD_EXITS] ||
	    !has_other_allocator(process, maps, gated->module))
		return;
	for (size_t i = 0; i < gated->count; i++)
		if (gated->sites[i]->api != API_REALLOCARRAY)
			gated->sites[kept++] = gated->sites[i];
	gated->count = kept;
}

static int place_gates(const struct traced_process *process, struct gated_module *gated,
		       const struct proc_maps *maps, struct error *err)
{
	struct gate_function *functions = calloc(gated->count, sizeof(*functions));
	struct gates_config config = {
		.machine = EM_X86_64,
		.mean = process->config->alloc_filter.sample,
		.blocks = HEAP_SIZE / process->config->alloc_filter.sample,
	};
	struct stat file;
	int code = functions ? 0 : -ENOMEM;

	if (!code && fstat(gated->module->fd, &file))
		code = -errno;
	config.file_size = code ? 0 : (uint64_t)file.st_size;
	find_span(gated, maps);
	config.low = gated->low;
	config.high = gated->high;
	for (size_t i = 0; !code && i < gated->count; i++)
		code = describe_function(gated, maps, i, &functions[i]);
	if (code)
		error_set_errno(err, code, "its code is not mapped as usual");
	else
		code = gates_place(&gated->gates, process->pid, functions, gated->count, &config,
				   err);
	free(functions);
	return code;
}

/* The probe of a gate: its offset in the code, and its cookie. Returns false if there is none. */
static bool probe_of(const struct traced_process *process, const struct gated_module *gated,
		     size_t i, int number, enum probe_kind kind, uint64_t *ret_offset,
		     uint64_t *ret_cookie)
{
	const struct probe_site *site = gated->sites[i];
	bool frees = !api_allocates(site->api);
	enum gate_part part = GATE_WHOLE;

	if (kind !=
	    (frees ? cookie_kind(process, gated->module, gated->module->plan, site) : PROBE_GATE))
		return false;
	*ret_offset = gates_probe(gated->gates, i, number);
	*ret_cookie = cookie_of_site(process, gated->module, gated->module->plan, site);
	if (gates_probe(gated->gates, i, 1))
		part = number ? GATE_END : GATE_BEGIN;
	if (!frees)
		*ret_cookie |= (uint64_t)part << COOKIE_OBJECT_SHIFT;
	return *ret_offset != 0;
}

static int attach_kind(struct traced_process *process, const struct gated_module *gated,
		       enum probe_kind kind)
{
	uint64_t *offsets = calloc(gated->count, 2 * sizeof(*offsets));
	uint64_t *cookies = calloc(gated->count, 2 * sizeof(*cookies));
	struct probe_request request = {
		.kind = kind,
		.pid = process->pid,
		.path = gated->path,
		.offsets = offsets,
		.cookies = cookies,
	};
	int err = -ENOMEM;

	for (size_t i = 0; offsets && cookies && i < 2 * gated->count; i++)
		request.count += probe_of(process, gated, i / 2, i % 2, kind,
					  &offsets[request.count], &cookies[request.count]);
	if (offsets && cookies)
		err = request.count ? prober_attach(process->prober, &request, &process->links) : 0;
	free(offsets);
	free(cookies);
	return err;
}

static int attach_probes(struct traced_process *process, struct gated_module *gated,
			 struct error *err)
{
	/* Frees first: a block whose free is missed would stay live forever. */
	static const enum probe_kind kinds[] = {PROBE_FREE, PROBE_FREE_PLAIN, PROBE_GATE};
	int code;

	gated->code = gates_open_code(gated->gates);
	if (gated->code < 0)
		return error_set_errno(err, gated->code, "cannot open the code of its gates");
	snprintf(gated->path, sizeof(gated->path), "/proc/self/fd/%d", gated->code);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		code = attach_kind(process, gated, kinds[i]);
		if (code)
			return error_set_errno(err, code, "cannot probe its gates");
	}
	return 0;
}

static int place_module(struct traced_process *process, struct gated_module *gated,
			const struct proc_maps *maps)
{
	struct error err = {0}, removal = {0};
	int code;

	omit_reallocarray(process, gated, maps);
	code = place_gates(process, gated, maps, &err);
	if (!code)
		code = attach_probes(process, gated, &err);
	if (!code) {
		log_info("%s: %zu gates; the process was stopped for %.1f ms", gated->module->path,
			 gated->count, (double)gates_stop(gated->gates)->stopped_ns / NS_PER_MS);
		return 0;
	}
	report_refusal(process, gated->module, err.text);
	if (gates_remove(gated->gates, &removal))
		log_warn("process %d: cannot remove gates: %s", (int)process->pid, removal.text);
	gated->gates = NULL;
	return code;
}

/* Removes a module that has no gates after all. */
static void give_up(struct traced_process *process, size_t i)
{
	module_forget(process->gated.items[i]);
	process->gated.items[i] = process->gated.items[--process->gated.count];
}

const struct module *gated_place(struct traced_process *process)
{
	struct proc_maps maps = {0};
	const struct module *module;
	size_t i = 0;

	while (i < process->gated.count && process->gated.items[i]->gates)
		i++;
	if (i == process->gated.count)
		return NULL;
	module = process->gated.items[i]->module;
	if (proc_maps_read(traced_process_reader(process), &maps) ||
	    place_module(process, process->gated.items[i], &maps))
		give_up(process, i);
	proc_maps_free(&maps);
	return module;
}

static struct gated_module *find(const struct traced_process *process, const struct module *module)
{
	for (size_t i = 0; i < process->gated.count; i++)
		if (process->gated.items[i]->module == module)
			return process->gated.items[i];
	return NULL;
}

/* Attaches those offsets of a request that are in replaced pages, or the others. */
static int attach_part(const struct traced_process *process, const struct gated_module *gated,
		       const struct probe_request *request, bool replaced,
		       struct probe_links *links)
{
	uint64_t *offsets = calloc(request->count + 1, sizeof(*offsets));
	uint64_t *cookies = calloc(request->count + 1, sizeof(*cookies));
	struct probe_request part = *request;
	int err = offsets && cookies ? 0 : -ENOMEM;

	part.count = 0;
	for (size_t i = 0; !err && i < request->count; i++) {
		if (gates_replace(gated->gates, request->offsets[i]) != replaced)
			continue;
		offsets[part.count] = request->offsets[i];
		cookies[part.count++] = request->cookies ? request->cookies[i] : 0;
	}
	part.offsets = offsets;
	part.cookies = request->cookies ? cookies : NULL;
	part.path = replaced ? gated->path : request->path;
	if (!err && part.count)
		err = prober_attach(process->prober, &part, links);
	free(offsets);
	free(cookies);
	return err;
}

int gated_attach(const struct traced_process *process, const struct module *module,
		 const struct probe_request *request, struct probe_links *links)
{
	const struct gated_module *gated = find(process, module);
	int err;

	if (!gated || !gated->gates || gated->copied)
		return prober_attach(process->prober, request, links);
	err = attach_part(process, gated, request, false, links);
	return err ? err : attach_part(process, gated, request, true, links);
}

bool gated_finds_copy(struct traced_process *process, const struct module *module, uint64_t address)
{
	struct gated_module *gated = find(process, module);

	if (!gated || !gated->gates || gated->copied ||
	    (address >= gated->low && address < gated->high))
		return false;
	gated->copied = true;
	return true;
}

bool gated_has(const struct traced_process *process, const struct module *module)
{
	return find(process, module) != NULL;
}

const struct module *gated_drop(struct traced_process *process)
{
	const struct module *module;

	if (!process->gated.count)
		return NULL;
	module = process->gated.items[0]->module;
	give_up(process, 0);
	return module;
}

bool gated_waits(const struct traced_process *process)
{
	for (size_t i = 0; i < process->gated.count; i++)
		if (process->gated.items[i]->gates && !process->gated.items[i]->started)
			return true;
	return false;
}

void gated_start(struct traced_process *process)
{
	for (size_t i = 0; i < process->gated.count; i++) {
		struct gated_module *gated = process->gated.items[i];

		if (gated->gates && !gated->started)
			gates_sample(gated->gates, process->prober->sample);
		gated->started = gated->gates != NULL;
	}
}

struct module *gated_module_at(const struct traced_process *process,
			       const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < process->gated.count; i++) {
		const struct gated_module *gated = process->gated.items[i];

		if (mapping->start >= gated->low && mapping->end <= gated->high)
			return module_get(process->config->modules, gated->module->id);
	}
	return NULL;
}

void gated_sample(const struct traced_process *process, uint32_t sample)
{
	for (size_t i = 0; i < process->gated.count; i++)
		if (process->gated.items[i]->started)
			gates_sample(process->gated.items[i]->gates, sample);
}

uint64_t gated_missed(const struct traced_process *process)
{
	uint64_t all = 0, missed;

	for (size_t i = 0; i < process->gated.count; i++)
		if (process->gated.items[i]->gates &&
		    !gates_missed(process->gated.items[i]->gates, &missed))
			all += missed;
	return all;
}

void gated_remove(struct traced_process *process)
{
	struct error err;

	for (size_t i = 0; i < process->gated.count; i++) {
		if (gates_remove(process->gated.items[i]->gates, &err))
			log_warn("process %d: cannot remove gates: %s", (int)process->pid,
				 err.text);
		process->gated.items[i]->gates = NULL;
	}
	gated_forget(process);
}

void gated_forget(struct traced_process *process)
{
	for (size_t i = 0; i < process->gated.count; i++)
		module_forget(process->gated.items[i]);
	vec_free(&process->gated);
}
