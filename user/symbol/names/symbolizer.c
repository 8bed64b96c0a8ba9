// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/symbolizer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "symbol/names/module_names.h"

struct symbolized {
	bool is_tried;
	struct module_names *names; /* NULL if there are none */
};

struct symbolizer {
	struct symbolizer_config config;
	VEC(struct symbolized) modules; /* by id */
};

int symbolizer_new(struct symbolizer **ret_symbolizer, const struct symbolizer_config *config)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return -ENOMEM;
	symbolizer->config = *config;
	*ret_symbolizer = symbolizer;
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	struct symbolized *module;

	if (!symbolizer)
		return;
	vec_each (module, &symbolizer->modules)
		module_names_close(module->names);
	vec_free(&symbolizer->modules);
	free(symbolizer);
}

/* Returns NULL if nothing is known about the module. */
static struct module_names *names_of(struct symbolizer *symbolizer, const struct module *module)
{
	struct symbolized *symbolized;

	while (symbolizer->modules.count <= module->id)
		if (vec_push(&symbolizer->modules, (struct symbolized){0}))
			return NULL;
	symbolized = &symbolizer->modules.items[module->id];
	if (!symbolized->is_tried)
		symbolized->names = module_names_open(module, &symbolizer->config);
	symbolized->is_tried = true;
	return symbolized->names;
}

size_t symbolizer_names(struct symbolizer *symbolizer, const struct module *module, uint64_t offset,
			struct symbol_name *ret_names, size_t max)
{
	struct module_names *names;
	uint64_t vaddr;

	if (!max || !offset || module_offset_to_vaddr(module, offset - 1, &vaddr))
		return 0;
	names = names_of(symbolizer, module);
	return names ? module_names_at(names, vaddr, ret_names, max) : 0;
}
