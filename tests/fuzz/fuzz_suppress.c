// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A suppression file, and a stack to match against it: whatever the file says, no block appears or
 * disappears. Regular expressions are left out, because the C library handles them.
 */
#include "fuzz.h"

#include <string.h>

#include "model/suppress/parse.h"
#include "model/suppress/suppress.h"
#include "symbol/names/demangle.h"

static struct snapshot_frame frames[] = {
	{.function = "operator new(unsigned long)", .wrapper = true, .module = "/l/libstdc++.so.6"},
	{.function = "cache::put(int)", .file = "/src/cache.cc", .line = 12, .module = "/bin/app"},
	{.address = 0x1234},
	{.function = "main", .file = "main.c", .line = 3, .module = "/bin/app"},
};
static struct snapshot_stack stacks[] = {{.frames = frames, .frame_count = 4}, {.id = 1}};

static void apply(const struct suppressions *suppressions)
{
	struct snapshot_site sites[] = {
		{.api = API_NEW,
		 .leaks.classes = {[LEAK_DEFINITE] = {1, 10}, [LEAK_POSSIBLE] = {2, 20}}},
		{.api = API_MALLOC, .stack = 1, .leaks.classes[LEAK_INDIRECT] = {4, 40}},
		{.api = API_MALLOC, .stack = 2, .leaks.classes[LEAK_DEFINITE] = {8, 80}},
	};
	struct snapshot_process process = {
		.scan = {.done = true,
			 .classes = {[LEAK_DEFINITE] = {9, 90},
				     [LEAK_POSSIBLE] = {2, 20},
				     [LEAK_INDIRECT] = {4, 40}}},
		.sites = sites,
		.site_count = 3,
		.stacks = stacks,
		.stack_count = 2,
	};
	struct snapshot *snapshot = snapshot_new();
	struct snapshot_sum sum;

	require(snapshot, "there is memory");
	snapshot->processes = &process;
	snapshot->process_count = 1;
	require(suppressions_apply(suppressions, LEAK_SET_LOST, snapshot) <= 2,
		"a site without a stack stays");
	sum = process.scan.suppressed;
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++) {
		sum.blocks += process.scan.classes[leak].blocks;
		sum.bytes += process.scan.classes[leak].bytes;
	}
	require(sum.blocks == 15 && sum.bytes == 150, "what leaves a class is suppressed");
	snapshot_free(snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suppression_text file = {"fuzz", (const char *)data, size, demangle};
	struct suppressions *suppressions;
	struct error err;

	if (!size || (memmem(data, size, "ignore:", 7) && memchr(data, '/', size)))
		return 0;
	suppressions = suppressions_new();
	require(suppressions, "there is memory");
	(void)suppressions_parse(suppressions, &file, &err);
	apply(suppressions);
	suppressions_free(suppressions);
	return 0;
}
