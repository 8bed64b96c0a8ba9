// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/probe_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/vec.h"
#include "symbol/api_functions.h"
#include "symbol/elf_image.h"
#include "symbol/site_choice.h"
#include "symbol/wrapper.h"

#define ARGUMENTS_OF_MAP_CALLS 0x1f /* their records hold up to five */
#define ALIGNED_OPERATOR       "St11align_val_t"

struct planner {
	struct module *module;
	struct elf_image image;
	struct api_functions functions;
	struct wrapper_search search;
	bool nop5_is_free;
	bool allocator;
	VEC(struct probe_site) sites;
	VEC(struct probe_wrapper) wrappers;
	VEC(struct probe_refusal) refusals;
};

/* uprobes are optimised from Linux 6.18 on. */
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

static bool is_delete(enum api api)
{
	return api == API_DELETE || api == API_DELETE_ARRAY;
}

static bool is_operator(enum api api)
{
	return is_new(api) || is_delete(api);
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

/* A function that runs into another one: which of them was called cannot be told there. */
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
		.needs_return = api_needs_return(function->api),
		.entry = function->offset,
	};
	struct site_choice choice;

	site_choose(code, arguments_of(function->api), &choice);
	site.emulated = choice.emulated;
	site.offset = function->offset + choice.offset;
	if (is_taken(planner, site.offset))
		return refuse(planner, function, "it runs into another one, which is probed there");
	site.original = code->bytes[choice.offset];
	memcpy(site.symbol, function->symbol, sizeof(site.symbol));
	memcpy(site.instruction, choice.instruction, sizeof(site.instruction));
	memcpy(site.reason, choice.reason, sizeof(site.reason));
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
	if (function->thumb)
		return "Thumb code cannot be probed";
	return NULL;
}

/* Functions other than operators. */
static int plan_plain(struct planner *planner)
{
	const struct api_function *function;
	int code = 0;

	vec_each (function, &planner->functions.list) {
		const char *reason = why_not_probed(function);

		if (is_operator(function->api))
			continue;
		code = reason ? refuse(planner, function, reason) : add_site(planner, function);
		if (code)
			return code;
	}
	return 0;
}

static int add_wrapper(struct planner *planner, struct api_function *function)
{
	function->wrapper = true;
	if (wrapper_search_observe(&planner->search, function->vaddr))
		return -ENOMEM;
	return vec_push(&planner->wrappers, (struct probe_wrapper){
						    .api = function->api,
						    .start = function->offset,
						    .end = function->offset + function->size,
					    });
}

/* An object without malloc cannot but call another's, and that is probed. */
static bool is_wrapper(struct planner *planner, const struct api_function *function)
{
	return !planner->allocator ||
	       wrapper_detect(&planner->search, function->vaddr, function->size);
}

/* Wrappers of wrappers too: until a round finds no more. */
static int plan_wrappers(struct planner *planner)
{
	struct api_function *function;
	bool found;

	do {
		found = false;
		vec_each (function, &planner->functions.list) {
			if (!is_operator(function->api) || function->wrapper ||
			    why_not_probed(function) || !is_wrapper(planner, function))
				continue;
			found = true;
			if (add_wrapper(planner, function))
				return -ENOMEM;
		}
	} while (found);
	return 0;
}

static bool is_aligned_operator(const struct api_function *function)
{
	return strstr(function->symbol, ALIGNED_OPERATOR);
}

/* Are blocks seen that this operator delete frees? Aligned new goes with aligned delete. */
static bool is_new_observed(const struct planner *planner, const struct api_function *deleter)
{
	const struct api_function *function;

	vec_each (function, &planner->functions.list)
		if (is_new(function->api) && function->wrapper &&
		    is_aligned_operator(function) == is_aligned_operator(deleter))
			return true;
	return false;
}

/* An operator that has an allocator of its own inside. */
static int plan_operator(struct planner *planner, const struct api_function *function)
{
	const char *reason = why_not_probed(function);

	if (!reason && is_new(function->api))
		reason = "a return probe would abort the program when it throws";
	if (!reason && !is_new_observed(planner, function))
		reason = "the operator new that it belongs to is not probed";
	return reason ? refuse(planner, function, reason) : add_site(planner, function);
}

static int plan_operators(struct planner *planner)
{
	const struct api_function *function;
	int code = plan_wrappers(planner);

	vec_each (function, &planner->functions.list) {
		if (code)
			return code;
		if (is_operator(function->api) && !function->wrapper)
			code = plan_operator(planner, function);
	}
	return code;
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
	if (planner->sites.count)
		qsort(planner->sites.items, planner->sites.count, sizeof(*planner->sites.items),
		      compare_sites);
	*plan = (struct probe_plan){
		.sites = planner->sites.items,
		.site_count = planner->sites.count,
		.wrappers = planner->wrappers.items,
		.wrapper_count = planner->wrappers.count,
		.refusals = planner->refusals.items,
		.refusal_count = planner->refusals.count,
		.allocator = planner->allocator,
	};
	memcpy(plan->hooks, planner->functions.hooks, sizeof(plan->hooks));
	planner->module->plan = plan;
	return 0;
}

static int plan_functions(struct planner *planner)
{
	int code = wrapper_search_open(&planner->search, &planner->image);

	if (!code)
		code = plan_plain(planner);
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
		if (code) {
			vec_free(&planner.sites);
			vec_free(&planner.wrappers);
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
	free(plan->wrappers);
	free(plan->refusals);
	free(plan);
}
