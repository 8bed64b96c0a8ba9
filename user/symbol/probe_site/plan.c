// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/probe_site/plan.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/vec.h"
#include "symbol/elf/image.h"
#include "symbol/probe_site/api_functions.h"
#include "symbol/probe_site/choice.h"
#include "symbol/probe_site/exit_search.h"
#include "symbol/probe_site/wrapper.h"

#define ARGUMENTS_OF_MAP_CALLS 0x1f /* their records have up to five */
#define REASON_SIZE            96
#define ALIGNED_OPERATOR       "St11align_val_t"
#define MARK_ARGUMENTS         0x7  /* block or size, size, alignment */
#define MARK_DISTANCE_MAX      0xff /* of a mark's probe from the entry: limited by its cookie */

struct planner {
	struct module *module;
	struct elf_image image;
	struct api_functions functions;
	struct wrapper_search search;
	struct exit_search exit_search;
	struct map64 candidates; /* addresses of operators new that have no probe yet */
	bool nop5_is_free;
	bool allocator;
	VEC(struct probe_site) sites;
	VEC(struct probe_exit) exits;
	VEC(struct probe_wrapper) wrappers;
	VEC(struct probe_mark) marks;
	VEC(struct probe_refusal) refusals;
};

/* Linux 6.18 and later optimise uprobes on nop5. */
static bool kernel_optimises_nop5(void)
{
	struct utsname names;
	int major, minor;

	return !uname(&names) && sscanf(names.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 18));
}

static bool is_new(enum api api)
{
	return api == API_NEW || api == API_NEW_ARRAY;
}

static bool is_aligned_operator(const struct api_function *function)
{
	return strstr(function->symbol, ALIGNED_OPERATOR);
}

static uint32_t argument_bit(int8_t position)
{
	return position < 0 ? 0 : 1u << position;
}

/* The arguments that a probe of this api reads. */
static uint32_t arguments_of(enum api api)
{
	const struct api_row *row = api_row(api);

	if (row->family == FAMILY_MAP)
		return ARGUMENTS_OF_MAP_CALLS;
	return argument_bit(row->size) | argument_bit(row->count) | argument_bit(row->old) |
	       argument_bit(row->out);
}

static int refuse(struct planner *planner, const struct api_function *function, const char *reason)
{
	struct probe_refusal refusal = {.api = function->api};

	memcpy(refusal.symbol, function->symbol, sizeof(refusal.symbol));
	snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
	return vec_push(&planner->refusals, refusal);
}

/* If one function falls through into another, a shared site cannot tell which one was called. */
static bool is_taken(const struct planner *planner, uint64_t offset)
{
	const struct probe_site *site;

	vec_each (site, &planner->sites)
		if (site->offset == offset)
			return true;
	return false;
}

static int add_chosen(struct planner *planner, const struct api_function *function,
		      const struct function_code *code)
{
	struct probe_site site = {
		.api = function->api,
		.needs_return = api_needs_return(function->api) && !function->by_exits,
		.by_exits = function->by_exits,
		.thumb = function->thumb,
		.entry = function->offset,
	};
	struct site_choice choice;

	site_choose(code, arguments_of(function->api), &choice);
	site.emulated = choice.emulated;
	site.offset = function->offset + choice.offset;
	if (is_taken(planner, site.offset))
		return refuse(planner, function, "it shares its probe site with another function");
	site.original = code->bytes[choice.offset];
	memcpy(site.symbol, function->symbol, sizeof(site.symbol));
	memcpy(site.instruction, choice.instruction, sizeof(site.instruction));
	memcpy(site.reason, choice.reason, sizeof(site.reason));
	if (planner->module->wants_gates && api_row(site.api)->family == FAMILY_HEAP)
		site.gate =
			gate_site_find(&planner->image,
				       &(struct gate_code){code->bytes, code->size, code->address},
				       function->offset);
	return vec_push(&planner->sites, site);
}

static int add_site(struct planner *planner, const struct api_function *function)
{
	struct function_code code = {
		.address = function->vaddr,
		.machine = planner->module->machine,
		.elf64 = planner->module->elf64,
		.nop5_is_free = planner->nop5_is_free,
	};
	int result;

	code.bytes = elf_image_code(&planner->image, function->vaddr, function->size, &code.size);
	if (!code.bytes)
		return refuse(planner, function, "its code cannot be read");
	result = add_chosen(planner, function, &code);
	free((void *)code.bytes);
	return result ? result : wrapper_search_observe(&planner->search, function->vaddr);
}

static const char *why_not_probed(const struct api_function *function)
{
	if (function->indirect)
		return "an indirect function: which code is called is decided at run time";
	return NULL;
}

/* Skips aliases of free that call another free function: the block would be freed twice, as nested
 * frees are not tracked. */
static bool frees_by_another(struct planner *planner, const struct api_function *function)
{
	return !api_needs_return(function->api) && function->rank &&
	       wrapper_detect(&planner->search, function->vaddr | function->thumb, function->size);
}

/* A reallocarray in a module without realloc (libbsd) must call the realloc of another module. */
static bool hands_on(const struct planner *planner, const struct api_function *function)
{
	const struct api_function *other;

	if (function->api != API_REALLOCARRAY)
		return false;
	vec_each (other, &planner->functions.list)
		if (other->api == API_REALLOC)
			return false;
	return true;
}

/* Plans functions other than operators: those with the first name of their api, or all others. */
static int plan_plain(struct planner *planner, bool first_names)
{
	const struct api_function *function;
	int code = 0;

	vec_each (function, &planner->functions.list) {
		const char *reason = why_not_probed(function);

		if (api_is_operator(function->api) || first_names == (function->rank > 0) ||
		    (!reason && frees_by_another(planner, function)) || hands_on(planner, function))
			continue;
		code = reason ? refuse(planner, function, reason) : add_site(planner, function);
		if (code)
			return code;
	}
	return 0;
}

static bool is_marked(const struct planner *planner, uint64_t offset)
{
	const struct probe_mark *mark;

	vec_each (mark, &planner->marks)
		if (mark->offset == offset)
			return true;
	return false;
}

/* Sized delete has "Pvm" (32-bit: "Pvj") in its name. The size is its second argument. */
static int8_t size_position(const struct api_function *function)
{
	if (is_new(function->api))
		return 0;
	return strstr(function->symbol, "Pvm") || strstr(function->symbol, "Pvj") ? 1 : -1;
}

static struct probe_mark mark_of(const struct api_function *function,
				 const struct function_code *code)
{
	struct probe_mark mark = {
		.api = function->api,
		.entry = function->offset,
		.size = (uint32_t)function->size,
		.passed_size = size_position(function),
		.aligned = -1,
		.thumb = function->thumb,
	};
	struct site_choice choice;

	if (mark.passed_size >= 0 && is_aligned_operator(function))
		mark.aligned = (int8_t)(mark.passed_size + 1);
	site_choose(code, MARK_ARGUMENTS, &choice);
	mark.offset = function->offset + (choice.offset <= MARK_DISTANCE_MAX ? choice.offset : 0);
	return mark;
}

static int add_mark(struct planner *planner, const struct api_function *function)
{
	struct function_code code = {
		.address = function->vaddr,
		.machine = planner->module->machine,
		.elf64 = planner->module->elf64,
		.nop5_is_free = planner->nop5_is_free,
	};
	struct probe_mark mark;

	code.bytes = elf_image_code(&planner->image, function->vaddr, function->size, &code.size);
	if (!code.bytes)
		return 0;
	mark = mark_of(function, &code);
	free((void *)code.bytes);
	if (is_taken(planner, mark.offset) || is_marked(planner, mark.offset))
		return 0;
	return vec_push(&planner->marks, mark);
}

static int add_wrapper(struct planner *planner, struct api_function *function)
{
	function->wrapper = true;
	if (wrapper_search_observe(&planner->search, function->vaddr) ||
	    add_mark(planner, function))
		return -ENOMEM;
	return vec_push(&planner->wrappers, (struct probe_wrapper){
						    .api = function->api,
						    .start = function->offset,
						    .end = function->offset + function->size,
					    });
}

/* Determines whether every call of this operator new calls an observed function. */
static int is_new_wrapper(struct planner *planner, const struct api_function *function,
			  bool *ret_wrapper)
{
	struct function_exits exits = {0};
	int code = exit_search_run(&planner->exit_search, function->vaddr, &exits);

	*ret_wrapper = exits.calls_observed && !exits.has_own_path;
	if (exits.objection)
		*ret_wrapper = wrapper_detect(&planner->search, function->vaddr | function->thumb,
					      function->size);
	function_exits_free(&exits);
	return code;
}

/* In a module without malloc, operators must call the malloc of another module, which is probed. */
static int is_wrapper(struct planner *planner, const struct api_function *function,
		      bool *ret_wrapper)
{
	*ret_wrapper = true;
	if (!planner->allocator)
		return 0;
	if (is_new(function->api))
		return is_new_wrapper(planner, function, ret_wrapper);
	*ret_wrapper =
		wrapper_detect(&planner->search, function->vaddr | function->thumb, function->size);
	return 0;
}

static bool is_unplanned_operator(const struct api_function *function)
{
	return api_is_operator(function->api) && !function->wrapper && !function->by_exits &&
	       !why_not_probed(function);
}

/* Repeats until no more wrappers are found: wrappers may call wrappers. */
static int plan_wrappers(struct planner *planner)
{
	struct api_function *function;
	bool found, wrapper;
	int code;

	do {
		found = false;
		vec_each (function, &planner->functions.list) {
			if (!is_unplanned_operator(function))
				continue;
			code = is_wrapper(planner, function, &wrapper);
			if (!code && wrapper)
				code = add_wrapper(planner, function);
			if (code)
				return code;
			found |= wrapper;
		}
	} while (found);
	return 0;
}

/* Returns true if the blocks that this operator delete frees are observed. Aligned delete belongs
 * to aligned new. */
static bool is_new_observed(const struct planner *planner, const struct api_function *deleter)
{
	const struct api_function *function;

	vec_each (function, &planner->functions.list)
		if (is_new(function->api) && (function->wrapper || function->by_exits) &&
		    is_aligned_operator(function) == is_aligned_operator(deleter))
			return true;
	return false;
}

/* Operators that jump to the same code share exits. */
static int add_exit(struct planner *planner, const struct function_exit *found)
{
	struct probe_exit added = {.kind = found->kind}, *known;
	size_t size = 0;
	uint8_t *byte;

	if (elf_image_code_offset(&planner->image, found->vaddr, &added.offset))
		return -ENOEXEC;
	vec_each (known, &planner->exits)
		if (known->offset == added.offset)
			return 0;
	byte = elf_image_code(&planner->image, found->vaddr, 1, &size);
	if (byte)
		added.original = *byte;
	free(byte);
	return size ? vec_push(&planner->exits, added) : -ENOEXEC;
}

static int watch_exits(struct planner *planner, struct api_function *function,
		       const struct function_exits *exits)
{
	const struct function_exit *found;
	int code;

	function->by_exits = true;
	map64_delete(&planner->candidates, function->vaddr);
	vec_each (found, &exits->list) {
		code = add_exit(planner, found);
		if (code)
			return code;
	}
	return add_site(planner, function);
}

/*
 * Probes one operator new that contains its own allocator at its exits. Called with `crossing`
 * false first, for those that do not jump into another candidate: once one of them is probed, those
 * that jump into it are its wrappers. Sets *ret_any if there was one.
 */
static int plan_exits(struct planner *planner, bool crossing, bool *ret_any)
{
	struct api_function *function;
	int code = 0;

	*ret_any = false;
	vec_each (function, &planner->functions.list) {
		struct function_exits exits = {0};

		if (code || *ret_any || !is_unplanned_operator(function) || !is_new(function->api))
			continue;
		code = exit_search_run(&planner->exit_search, function->vaddr, &exits);
		if (!code && !exits.objection && exits.enters_candidate == crossing) {
			*ret_any = true;
			code = watch_exits(planner, function, &exits);
		}
		function_exits_free(&exits);
	}
	return code;
}

static const char *why_no_new(struct planner *planner, const struct api_function *function,
			      char reason[REASON_SIZE])
{
	struct function_exits exits = {0};

	if (exit_search_run(&planner->exit_search, function->vaddr, &exits) || !exits.objection)
		exits.objection = "its exits are not known";
	snprintf(reason, REASON_SIZE, "a return probe would kill a program when it throws; %s",
		 exits.objection);
	function_exits_free(&exits);
	return reason;
}

/* Plans the remaining operators: delete, and those that cannot be probed. */
static int plan_operator(struct planner *planner, const struct api_function *function)
{
	const char *reason = why_not_probed(function);
	char words[REASON_SIZE];

	if (!reason && is_new(function->api))
		reason = why_no_new(planner, function, words);
	if (!reason && !is_new_observed(planner, function))
		reason = "the operator new that it belongs to is not probed";
	return reason ? refuse(planner, function, reason) : add_site(planner, function);
}

static int list_candidates(struct planner *planner)
{
	const struct api_function *function;

	vec_each (function, &planner->functions.list)
		if (is_new(function->api) && map64_set(&planner->candidates, function->vaddr, 1))
			return -ENOMEM;
	return 0;
}

static int plan_news(struct planner *planner)
{
	int code = list_candidates(planner);
	bool any = true;

	while (!code && any) {
		code = plan_wrappers(planner);
		if (!code)
			code = plan_exits(planner, false, &any);
		if (!code && !any)
			code = plan_exits(planner, true, &any);
	}
	return code;
}

static int plan_operators(struct planner *planner)
{
	const struct api_function *function;
	int code = exit_search_open(&planner->exit_search, &planner->search, &planner->candidates);

	if (!code)
		code = plan_news(planner);
	vec_each (function, &planner->functions.list) {
		if (!code && api_is_operator(function->api) && !function->wrapper &&
		    !function->by_exits)
			code = plan_operator(planner, function);
	}
	exit_search_close(&planner->exit_search);
	return code;
}

static int compare_exits(const void *a, const void *b)
{
	const struct probe_exit *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

static int compare_sites(const void *a, const void *b)
{
	const struct probe_site *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

static int planner_finish(struct planner *planner)
{
	struct probe_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return -ENOMEM;
	/* If an operator shares its address with another api, callers cannot be told apart. */
	if (planner->functions.shared_operators)
		planner->marks.count = 0;
	if (planner->sites.count)
		qsort(planner->sites.items, planner->sites.count, sizeof(*planner->sites.items),
		      compare_sites);
	if (planner->exits.count)
		qsort(planner->exits.items, planner->exits.count, sizeof(*planner->exits.items),
		      compare_exits);
	*plan = (struct probe_plan){
		.exits = planner->exits.items,
		.exit_count = planner->exits.count,
		.sites = planner->sites.items,
		.site_count = planner->sites.count,
		.wrappers = planner->wrappers.items,
		.wrapper_count = planner->wrappers.count,
		.marks = planner->marks.items,
		.mark_count = planner->marks.count,
		.refusals = planner->refusals.items,
		.refusal_count = planner->refusals.count,
		.allocator = api_functions_define_plain(&planner->functions, API_MALLOC),
		.sanitizer = planner->functions.sanitizer,
	};
	memcpy(plan->hooks, planner->functions.hooks, sizeof(plan->hooks));
	planner->module->plan = plan;
	planner->module->free_plan = probe_plan_free;
	return 0;
}

static int plan_functions(struct planner *planner)
{
	int code = wrapper_search_open(&planner->search, &planner->image);

	if (!code)
		code = plan_plain(planner, true);
	if (!code)
		code = plan_plain(planner, false);
	if (!code)
		code = plan_operators(planner);
	wrapper_search_close(&planner->search);
	return code;
}

static int planner_run(struct planner *planner, struct error *err)
{
	int code = api_functions_collect(&planner->functions, &planner->image, err);

	if (code)
		return code;
	planner->allocator = api_functions_define(&planner->functions, API_MALLOC);
	code = planner->functions.list.count ? plan_functions(planner) : 0;
	if (!code)
		code = planner_finish(planner);
	return code ? error_set_errno(err, code, "cannot plan probes in %s", planner->module->path)
		    : 0;
}

int probe_plan_make(struct module *module, const struct probe_plan **ret_plan, struct error *err)
{
	struct planner planner = {.module = module, .nop5_is_free = kernel_optimises_nop5()};
	int code;

	if (!module->plan) {
		code = elf_image_open(&planner.image, module, err);
		if (code)
			return code;
		code = planner_run(&planner, err);
		api_functions_free(&planner.functions);
		elf_image_close(&planner.image);
		map64_free(&planner.candidates);
		if (code) {
			vec_free(&planner.sites);
			vec_free(&planner.exits);
			vec_free(&planner.wrappers);
			vec_free(&planner.marks);
			vec_free(&planner.refusals);
			return code;
		}
	}
	*ret_plan = module->plan;
	return 0;
}

void probe_plan_free(struct probe_plan *plan)
{
	if (!plan)
		return;
	free(plan->sites);
	free(plan->exits);
	free(plan->wrappers);
	free(plan->marks);
	free(plan->refusals);
	free(plan);
}
