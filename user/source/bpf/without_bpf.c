/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces the BPF source in builds without it (make WITH_BPF=0): reports that. */
#include <errno.h>
#include <stdio.h>

#include "source/bpf/load/capability.h"
#include "source/bpf/source.h"
#include "source/selection.h"

#define WORDS "this mtrace-bpf was built without BPF"

static int no_bpf(struct source **ret_source, const struct source_config *config, struct error *err)
{
	(void)ret_source;
	(void)config;
	return error_set(err, -EOPNOTSUPP, "%s (WITH_BPF=0)", WORDS);
}

const struct source_ops *source_bpf(void)
{
	static const struct source_ops ops = {.name = "bpf", .open = no_bpf};

	return &ops;
}

size_t source_bpf_capabilities(struct capability ret[CAPABILITY_MAX])
{
	ret[0] = (struct capability){.name = "BPF", .needed = true};
	snprintf(ret[0].detail, sizeof(ret[0].detail), "%s", WORDS);
	snprintf(ret[0].advice, sizeof(ret[0].advice), "build it with libbpf and WITH_BPF=1");
	return 1;
}

/* Selections apply to the whole system, which only BPF can trace. */
int selection_make(const struct selection_words *words, struct selected *ret_selected,
		   struct error *err)
{
	*ret_selected = (struct selected){0};
	return words->comm || words->exe || words->cgroup || words->by_user
		       ? error_set(err, -EOPNOTSUPP, "%s (WITH_BPF=0)", WORDS)
		       : 0;
}

void selection_free(struct selected *selected)
{
	(void)selected;
}
