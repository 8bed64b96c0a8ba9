// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/liveness/cache.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_STEPS_MAX     (1 << 19) /* some 40 MiB */
#define CACHE_FUNCTIONS_MAX (1 << 15)
#define QUESTION_COST_MAX   (1 << 20) /* about a second */

int liveness_cache_open(struct liveness_cache *cache, int fd, struct error *err)
{
	int status = liveness_code_open(&cache->code, fd, err);

	if (status)
		return status;
	status = liveness_callees_open(&cache->callees, &cache->code);
	if (!status)
		return 0;
	liveness_cache_close(cache);
	return error_set_errno(err, status, "cannot analyze code");
}

static void clear(struct liveness_cache *cache)
{
	struct liveness_function **function;

	vec_each (function, &cache->functions) {
		liveness_function_free(*function);
		free(*function);
	}
	vec_free(&cache->functions);
	map64_free(&cache->index);
	cache->steps = 0;
}

void liveness_cache_close(struct liveness_cache *cache)
{
	clear(cache);
	liveness_callees_close(&cache->callees);
	liveness_code_close(&cache->code);
}

static int add(struct liveness_cache *cache, struct liveness_function *function)
{
	if (vec_reserve(&cache->functions, cache->functions.count + 1) ||
	    map64_set(&cache->index, function->start, (uint32_t)cache->functions.count))
		return -ENOMEM;
	cache->functions.items[cache->functions.count++] = function;
	cache->steps += function->steps.count;
	return 0;
}

static struct liveness_function *decode(struct liveness_cache *cache, const struct cfi_fde *fde)
{
	struct liveness_function *function;

	if (cache->callees.cost > cache->cost_max)
		return NULL;
	function = malloc(sizeof(*function));
	if (!function)
		return NULL;
	if (!liveness_function_decode(&cache->callees, fde, function) && !add(cache, function))
		return function;
	liveness_function_free(function);
	free(function);
	return NULL;
}

const struct liveness_function *liveness_cache_function(struct liveness_cache *cache,
							uint64_t vaddr)
{
	const struct cfi_fde *fde = liveness_code_fde(&cache->code, vaddr);
	uint32_t index;

	if (!fde)
		return NULL;
	index = map64_get(&cache->index, fde->vaddr);
	return index != MAP64_NONE ? cache->functions.items[index] : decode(cache, fde);
}

void liveness_cache_start(struct liveness_cache *cache)
{
	cache->cost_max = cache->callees.cost + QUESTION_COST_MAX;
	if (cache->steps > CACHE_STEPS_MAX || cache->functions.count > CACHE_FUNCTIONS_MAX)
		clear(cache);
}
