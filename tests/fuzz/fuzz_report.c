// SPDX-License-Identifier: GPL-2.0-or-later
/* A JSON report, read piece by piece: what is accepted is JSON, and no site has an impossible
 * stack. */
#include "fuzz.h"

#include <json-c/json.h>

#include "app/report/report_file.h"

#define DEPTH_MAX 40 /* the outer levels, and 32 that json-c allows in a value */

static void parse_whole(const uint8_t *data, size_t size)
{
	json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	json_object *document;

	require(tokener, "there is memory");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	document = json_tokener_parse_ex(tokener, (const char *)data, (int)size);
	require(json_object_is_type(document, json_type_object), "json-c accepts the document");
	json_object_put(document);
	json_tokener_free(tokener);
}

static void check_process(const struct snapshot_process *process)
{
	for (size_t i = 0; i < process->site_count; i++)
		require(process->sites[i].stack == INDEX_NONE ||
				process->sites[i].stack < process->stack_count,
			"the stack of a site is one of the process, or none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapshot *snapshot;
	struct error err;
	char path[64];
	int fd = fuzz_file(data, size);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!report_file_read(&snapshot, path, &err)) {
		parse_whole(data, size);
		for (size_t i = 0; i < snapshot->process_count; i++)
			check_process(&snapshot->processes[i]);
		snapshot_free(snapshot);
	}
	close(fd);
	return 0;
}
