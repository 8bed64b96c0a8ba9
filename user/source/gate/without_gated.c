/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For builds without gates. */
#include "source/gate/gated.h"

bool gated_wanted(const struct source_config *config)
{
	(void)config;
	return false;
}

int gated_clean(const struct traced_process *process, struct error *err)
{
	(void)process;
	(void)err;
	return 0;
}

bool gated_defer(struct traced_process *process, const struct module *module)
{
	(void)process;
	(void)module;
	return false;
}

const struct module *gated_place(struct traced_process *process)
{
	(void)process;
	return NULL;
}

int gated_attach(const struct traced_process *process, const struct module *module,
		 const struct probe_request *request, struct probe_links *links)
{
	(void)module;
	return prober_attach(process->prober, request, links);
}

bool gated_finds_copy(struct traced_process *process, const struct module *module, uint64_t address)
{
	(void)process;
	(void)module;
	(void)address;
	return false;
}

bool gated_has(const struct traced_process *process, const struct module *module)
{
	(void)process;
	(void)module;
	return false;
}

const struct module *gated_drop(struct traced_process *process)
{
	(void)process;
	return NULL;
}

void gated_start(struct traced_process *process)
{
	(void)process;
}

bool gated_waits(const struct traced_process *process)
{
	(void)process;
	return false;
}

struct module *gated_module_at(const struct traced_process *process,
			       const struct proc_mapping *mapping)
{
	(void)process;
	(void)mapping;
	return NULL;
}

void gated_sample(const struct traced_process *process, uint32_t sample)
{
	(void)process;
	(void)sample;
}

uint64_t gated_missed(const struct traced_process *process)
{
	(void)process;
	return 0;
}

void gated_remove(struct traced_process *process)
{
	(void)process;
}

void gated_forget(struct traced_process *process)
{
	(void)process;
}
