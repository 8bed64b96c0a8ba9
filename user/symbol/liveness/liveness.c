// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/liveness/liveness.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/liveness/cache.h"
#include "symbol/liveness/decode/step.h"
#include "symbol/liveness/rows.h"
#include "symbol/liveness/search.h"

#define RED_ZONE 128 /* bytes below the stack pointer that a function may use */

struct module_liveness {
	struct liveness_cache cache;
};

/* Where a frame resumes. */
struct frame_site {
	const struct liveness_function *function;
	const struct cfi_fde *fde;
	uint64_t from;   /* virtual address of the instruction to resume at */
	uint64_t row_at; /* address whose row describes the frame */
};

int liveness_open(int fd, struct module_liveness **ret, struct error *err)
{
	struct module_liveness *liveness = calloc(1, sizeof(*liveness));
	int status;

	if (!liveness)
		return error_set_errno(err, -ENOMEM, "cannot analyze code");
	status = liveness_cache_open(&liveness->cache, fd, err);
	if (status)
		free(liveness);
	else
		*ret = liveness;
	return status;
}

void liveness_close(struct module_liveness *liveness)
{
	if (!liveness)
		return;
	liveness_cache_close(&liveness->cache);
	free(liveness);
}

/* Returns false if there is no call frame information. */
static bool find_site(struct module_liveness *liveness, uint64_t offset, bool interrupted,
		      struct frame_site *ret_site)
{
	liveness_cache_start(&liveness->cache);
	if (!liveness_code_address(&liveness->cache.code, offset, &ret_site->from))
		return false;
	ret_site->row_at = ret_site->from - !interrupted;
	ret_site->fde = liveness_code_fde(&liveness->cache.code, ret_site->row_at);
	ret_site->function = liveness_cache_function(&liveness->cache, ret_site->row_at);
	return ret_site->fde;
}

/* Returns false if the function cannot be analysed. */
static bool is_analysed(const struct frame_site *site)
{
	return site->function && site->function->known;
}

static bool find_cfa(const struct module_liveness *liveness, const struct frame_site *site,
		     struct liveness_cfa *ret_cfa)
{
	struct liveness_rows rows;

	return liveness_rows_start(&rows, &liveness->cache.code, site->fde, 0) &&
	       liveness_rows_seek(&rows, site->row_at) && liveness_rows_cfa(&rows, ret_cfa);
}

void liveness_frame(struct module_liveness *liveness, uint64_t offset, bool interrupted,
		    struct frame_liveness *ret)
{
	struct liveness_cfa cfa;
	struct frame_site site;

	*ret = (struct frame_liveness){.known = false};
	for (unsigned int i = 0; i < LIVENESS_SAVED; i++)
		ret->registers[i] = LIVENESS_UNKNOWN;
	if (!find_site(liveness, offset, interrupted, &site) || !find_cfa(liveness, &site, &cfa) ||
	    !liveness_rows_saved(&liveness->cache.code, site.fde, site.row_at, ret->saved))
		return;
	ret->unwound = true;
	ret->known = is_analysed(&site);
	ret->cfa_from_bp = cfa.by_bp;
	ret->cfa_offset = cfa.offset;
	for (unsigned int i = 0; ret->known && i < LIVENESS_SAVED; i++)
		ret->registers[i] = (uint8_t)liveness_search_register(
			&liveness->cache, site.function, site.from, i, ret->saved[i] != 0);
	/* The code may be done with the frame pointer, but exceptions are unwound with it. */
	if (cfa.by_bp)
		ret->registers[LIVENESS_BP] = LIVENESS_READ;
}

/* Returns true if callees and signal handlers may overwrite the slot. */
static bool is_below_stack(const struct frame_site *site, struct liveness_range slot)
{
	size_t index = liveness_function_step(site->function, site->from);
	int32_t sp;

	if (index == SIZE_MAX)
		return false;
	sp = site->function->steps.items[index].sp;
	return sp != LIVENESS_NOWHERE && sp != LIVENESS_LOST &&
	       (int64_t)slot.at + slot.size <= (int64_t)sp - RED_ZONE;
}

enum liveness liveness_slot(struct module_liveness *liveness, uint64_t offset, bool interrupted,
			    int32_t cfa_offset)
{
	struct liveness_range slot = {cfa_offset, liveness->cache.code.abi.word};
	int64_t end = (int64_t)slot.at + slot.size;
	struct frame_site site;

	if (slot.at <= -LIVENESS_OFFSET_MAX || slot.at >= LIVENESS_OFFSET_MAX ||
	    !find_site(liveness, offset, interrupted, &site) || !is_analysed(&site))
		return LIVENESS_UNKNOWN;
	if (end > -(int64_t)slot.size && slot.at < 0)
		return LIVENESS_READ; /* the return address */
	/* This is a cold part: the rest of the function may have taken addresses. */
	if (!site.function->fresh)
		return LIVENESS_UNKNOWN;
	if (is_below_stack(&site, slot))
		return LIVENESS_DEAD;
	return liveness_search_slot(&liveness->cache, site.function, site.from, slot);
}
