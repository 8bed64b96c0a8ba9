// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/wire/protocol.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/probe_site/function_code.h"

#define TEXT_MAX     (1 << 15) /* of a name: longer than any name that is demangled */
#define SEGMENTS_MAX 4096
#define PREFIX_MAX   64

#define MARK_POSITION_MAX 3 /* of an argument, counting from 1 */

_Static_assert(sizeof(struct request) + PATH_MAX < PROTOCOL_REQUEST_MAX, "requests fit");

/* Copies to an array of fixed size. Replaces control characters, which a terminal might interpret,
 * by "?". */
static void take_text(struct wire_view *view, char *ret_text, size_t size)
{
	const char *text = wire_take_string(view, size - 1);
	size_t i;

	if (!text)
		view->failed = true;
	for (i = 0; text && text[i]; i++)
		ret_text[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	ret_text[i] = '\0';
}

/* Copies a string; NULL if there is none. Returns 0 or -ENOMEM. */
static int take_copy(struct wire_view *view, size_t max, char **ret_text)
{
	const char *text = wire_take_string(view, max);

	*ret_text = text ? strdup(text) : NULL;
	return text && !*ret_text ? -ENOMEM : 0;
}

/* Allocates an array. Its count cannot exceed the number of bytes in the view. Returns NULL if it
 * does, or if out of memory. */
static void *array_new(struct wire_view *view, uint32_t count, size_t size)
{
	if (view->failed || count > (size_t)(view->end - view->at)) {
		view->failed = true;
		return NULL;
	}
	return calloc(count ? count : 1, size);
}

/* Requests. */

void request_put(struct wire *wire, const struct request *request)
{
	wire_put_string(wire, request->path, PATH_MAX);
	wire_put_string(wire, request->prefix, PREFIX_MAX);
	wire_put_u8(wire, request->full);
	wire_put_u8(wire, request->interrupted);
	wire_put_u32(wire, request->module);
	wire_put_u32(wire, request->count);
	wire_put(wire, request->offsets, request->count * sizeof(request->offsets[0]));
}

int request_take(struct wire_view *view, struct request *ret_request)
{
	const void *offsets;
	size_t size;

	ret_request->path = wire_take_string(view, PATH_MAX);
	ret_request->prefix = wire_take_string(view, PREFIX_MAX);
	ret_request->full = wire_take_bool(view);
	ret_request->interrupted = wire_take_bool(view);
	ret_request->module = wire_take_u32(view);
	ret_request->count = wire_take_u32_max(view, PROTOCOL_NAMES_MAX);
	size = ret_request->count * sizeof(ret_request->offsets[0]);
	offsets = wire_take(view, size);
	if (offsets && size)
		memcpy(ret_request->offsets, offsets, size);
	return ret_request->path ? wire_finish(view) : -EBADMSG;
}

/* Failures. */

void failure_put(struct wire *wire, const struct error *err)
{
	wire_put_u32(wire, (uint32_t)-err->code);
	wire_put_string(wire, err->text, ERROR_TEXT_SIZE - 1);
}

/* If the parser ran out of memory, the file is to blame; it must not look as if we did. */
static int failure_code(uint32_t number)
{
	static const int codes[] = {-ENOTSUP, -ENOENT, -E2BIG};

	if (number == ENOMEM)
		return -E2BIG;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if ((uint32_t)-codes[i] == number)
			return codes[i];
	return -ENOEXEC;
}

int failure_take(struct wire_view *view, struct error *ret_err)
{
	ret_err->code = failure_code(wire_take_u32(view));
	take_text(view, ret_err->text, sizeof(ret_err->text));
	return wire_finish(view);
}

/* Separate debug files. */

void want_put(struct wire *wire, const struct debug_want *want)
{
	wire_put_u8(wire, want->alternate);
	wire_put_u8(wire, (uint8_t)want->build_id_size);
	wire_put(wire, want->build_id, want->build_id_size);
	wire_put_string(wire, want->link, PATH_MAX);
	wire_put_u8(wire, (uint8_t)want->candidate);
}

int want_take(struct wire_view *view, struct debug_want *ret_want)
{
	const void *build_id;

	*ret_want = (struct debug_want){.alternate = wire_take_bool(view)};
	ret_want->build_id_size = wire_take_u8(view);
	if (ret_want->build_id_size > DEBUG_BUILD_ID_MAX)
		return -EBADMSG;
	build_id = wire_take(view, ret_want->build_id_size);
	if (build_id)
		memcpy(ret_want->build_id, build_id, ret_want->build_id_size);
	ret_want->link = wire_take_string(view, PATH_MAX);
	ret_want->candidate = wire_take_u8(view);
	return wire_finish(view);
}

/* Modules. */

void module_put(struct wire *wire, const struct module *module)
{
	wire_put_string(wire, module->build_id, sizeof(module->build_id) - 1);
	wire_put_u32(wire, (uint32_t)module->machine);
	wire_put_u8(wire, module->elf64);
	wire_put_u8(wire, module->big_endian);
	wire_put_u8(wire, module->executable);
	wire_put_u32(wire, (uint32_t)module->segment_count);
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		wire_put_u64(wire, segment->offset);
		wire_put_u64(wire, segment->vaddr);
		wire_put_u64(wire, segment->size);
		wire_put_u8(wire, segment->executable);
	}
}

static void take_build_id(struct wire_view *view, struct module *module)
{
	take_text(view, module->build_id, sizeof(module->build_id));
	if (module->build_id[strspn(module->build_id, "0123456789abcdef")])
		view->failed = true;
}

static int take_segments(struct wire_view *view, struct module *module)
{
	uint32_t count = wire_take_u32_max(view, SEGMENTS_MAX);
	struct module_segment *segments = array_new(view, count, sizeof(*segments));

	if (!segments)
		return view->failed ? -EBADMSG : -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		segments[i].offset = wire_take_u64(view);
		segments[i].vaddr = wire_take_u64(view);
		segments[i].size = wire_take_u64(view);
		segments[i].executable = wire_take_bool(view);
	}
	module->segments = segments;
	module->segment_count = count;
	return 0;
}

static void drop_segments(struct module *module)
{
	free(module->segments);
	module->segments = NULL;
	module->segment_count = 0;
}

int module_take(struct wire_view *view, struct module *module)
{
	int err;

	take_build_id(view, module);
	module->machine = (int)wire_take_u32_max(view, UINT16_MAX);
	module->elf64 = wire_take_bool(view);
	module->big_endian = wire_take_bool(view);
	module->executable = wire_take_bool(view);
	err = take_segments(view, module);
	if (!err)
		err = wire_finish(view);
	if (err)
		drop_segments(module);
	return err;
}

/* Probe plans. */

static void site_put(struct wire *wire, const struct probe_site *site)
{
	wire_put_u8(wire, (uint8_t)site->api);
	wire_put_u8(wire, site->needs_return);
	wire_put_u8(wire, site->by_exits);
	wire_put_u8(wire, site->emulated);
	wire_put_u8(wire, site->thumb);
	wire_put_u64(wire, site->offset);
	wire_put_u64(wire, site->entry);
	wire_put_u8(wire, site->original);
	wire_put_string(wire, site->symbol, sizeof(site->symbol) - 1);
	wire_put_string(wire, site->instruction, sizeof(site->instruction) - 1);
	wire_put_string(wire, site->reason, sizeof(site->reason) - 1);
	wire_put_u64(wire, site->gate.offset);
	wire_put_u64(wire, site->gate.end);
	wire_put_u8(wire, site->gate.size);
	wire_put_u8(wire, site->gate.refusal);
}

/* Positions of arguments are sent counting from 1. */
static void mark_put(struct wire *wire, const struct probe_mark *mark)
{
	wire_put_u8(wire, (uint8_t)mark->api);
	wire_put_u64(wire, mark->offset);
	wire_put_u64(wire, mark->entry);
	wire_put_u32(wire, mark->size);
	wire_put_u8(wire, (uint8_t)(mark->passed_size + 1));
	wire_put_u8(wire, (uint8_t)(mark->aligned + 1));
	wire_put_u8(wire, mark->thumb);
}

void plan_put(struct wire *wire, const struct probe_plan *plan)
{
	wire_put_u8(wire, plan->allocator);
	wire_put_u8(wire, (uint8_t)plan->sanitizer);
	for (int hook = 0; hook < HOOK_COUNT; hook++)
		wire_put_u64(wire, plan->hooks[hook]);
	wire_put_u32(wire, (uint32_t)plan->site_count);
	for (size_t i = 0; i < plan->site_count; i++)
		site_put(wire, &plan->sites[i]);
	wire_put_u32(wire, (uint32_t)plan->exit_count);
	for (size_t i = 0; i < plan->exit_count; i++) {
		wire_put_u8(wire, (uint8_t)plan->exits[i].kind);
		wire_put_u64(wire, plan->exits[i].offset);
		wire_put_u8(wire, plan->exits[i].original);
	}
	wire_put_u32(wire, (uint32_t)plan->wrapper_count);
	for (size_t i = 0; i < plan->wrapper_count; i++) {
		wire_put_u8(wire, (uint8_t)plan->wrappers[i].api);
		wire_put_u64(wire, plan->wrappers[i].start);
		wire_put_u64(wire, plan->wrappers[i].end);
	}
	wire_put_u32(wire, (uint32_t)plan->mark_count);
	for (size_t i = 0; i < plan->mark_count; i++)
		mark_put(wire, &plan->marks[i]);
	wire_put_u32(wire, (uint32_t)plan->refusal_count);
	for (size_t i = 0; i < plan->refusal_count; i++) {
		wire_put_u8(wire, (uint8_t)plan->refusals[i].api);
		wire_put_string(wire, plan->refusals[i].symbol,
				sizeof(plan->refusals[i].symbol) - 1);
		wire_put_string(wire, plan->refusals[i].reason,
				sizeof(plan->refusals[i].reason) - 1);
	}
}

static enum api take_api(struct wire_view *view)
{
	uint8_t api = wire_take_u8(view);

	if (api == API_NONE || api >= API_COUNT)
		view->failed = true;
	return view->failed ? API_NONE : (enum api)api;
}

/* A breakpoint outside of code would corrupt data. */
static bool is_code(const struct module *module, uint64_t offset)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		if (segment->executable && offset >= segment->offset &&
		    offset - segment->offset < segment->size)
			return true;
	}
	return false;
}

static void take_hooks(struct wire_view *view, const struct module *module, struct probe_plan *plan)
{
	for (int hook = 0; hook < HOOK_COUNT; hook++) {
		plan->hooks[hook] = wire_take_u64(view);
		if (plan->hooks[hook] && !is_code(module, plan->hooks[hook]))
			view->failed = true;
	}
}

static void take_gate(struct wire_view *view, const struct module *module, uint64_t entry,
		      struct probe_gate *gate)
{
	gate->offset = wire_take_u64(view);
	gate->end = wire_take_u64(view);
	gate->size = wire_take_u8(view);
	gate->refusal = wire_take_u8(view);
	if (gate->size > GATE_DISPLACED_MAX || gate->refusal >= GATE_REFUSALS ||
	    (gate->size && (gate->offset < entry || gate->offset > gate->end ||
			    gate->end - gate->offset < gate->size ||
			    !is_code(module, gate->offset) || !is_code(module, gate->end - 1))))
		view->failed = true;
}

static void take_site(struct wire_view *view, const struct module *module, struct probe_site *site)
{
	site->api = take_api(view);
	site->needs_return = wire_take_bool(view);
	site->by_exits = wire_take_bool(view);
	site->emulated = wire_take_bool(view);
	site->thumb = wire_take_bool(view);
	site->offset = wire_take_u64(view);
	site->entry = wire_take_u64(view);
	site->original = wire_take_u8(view);
	take_text(view, site->symbol, sizeof(site->symbol));
	take_text(view, site->instruction, sizeof(site->instruction));
	take_text(view, site->reason, sizeof(site->reason));
	take_gate(view, module, site->entry, &site->gate);
	if (!is_code(module, site->offset) || site->offset < site->entry ||
	    (site->api && (site->needs_return || site->by_exits) != api_needs_return(site->api)) ||
	    (site->needs_return && site->by_exits))
		view->failed = true;
}

static int take_sites(struct wire_view *view, const struct module *module, struct probe_plan *plan)
{
	uint32_t count = wire_take_u32_max(view, PROTOCOL_PLAN_MAX);

	plan->sites = array_new(view, count, sizeof(*plan->sites));
	if (!plan->sites)
		return view->failed ? -EBADMSG : -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		take_site(view, module, &plan->sites[i]);
		if (i && plan->sites[i].offset < plan->sites[i - 1].offset)
			view->failed = true;
	}
	plan->site_count = count;
	return 0;
}

static void take_exit(struct wire_view *view, const struct module *module, struct probe_exit *exit)
{
	uint8_t kind = wire_take_u8(view);

	exit->offset = wire_take_u64(view);
	exit->original = wire_take_u8(view);
	if (kind >= EXIT_COUNT || !is_code(module, exit->offset))
		view->failed = true;
	else
		exit->kind = (enum exit_kind)kind;
}

static int take_exits(struct wire_view *view, const struct module *module, struct probe_plan *plan)
{
	uint32_t count = wire_take_u32_max(view, PROTOCOL_PLAN_MAX);

	plan->exits = array_new(view, count, sizeof(*plan->exits));
	if (!plan->exits)
		return view->failed ? -EBADMSG : -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		take_exit(view, module, &plan->exits[i]);
		if (i && plan->exits[i].offset <= plan->exits[i - 1].offset)
			view->failed = true;
	}
	plan->exit_count = count;
	return 0;
}

static int take_wrappers(struct wire_view *view, struct probe_plan *plan)
{
	uint32_t count = wire_take_u32_max(view, PROTOCOL_PLAN_MAX);

	plan->wrappers = array_new(view, count, sizeof(*plan->wrappers));
	if (!plan->wrappers)
		return view->failed ? -EBADMSG : -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		plan->wrappers[i].api = take_api(view);
		plan->wrappers[i].start = wire_take_u64(view);
		plan->wrappers[i].end = wire_take_u64(view);
		if (plan->wrappers[i].end < plan->wrappers[i].start)
			view->failed = true;
	}
	plan->wrapper_count = count;
	return 0;
}

static int8_t take_position(struct wire_view *view)
{
	uint8_t position = wire_take_u8(view);

	if (position > MARK_POSITION_MAX)
		view->failed = true;
	return (int8_t)(position - 1);
}

static void take_mark(struct wire_view *view, const struct module *module, struct probe_mark *mark)
{
	mark->api = take_api(view);
	mark->offset = wire_take_u64(view);
	mark->entry = wire_take_u64(view);
	mark->size = wire_take_u32_max(view, FUNCTION_CODE_MAX);
	mark->passed_size = take_position(view);
	mark->aligned = take_position(view);
	mark->thumb = wire_take_bool(view);
	if (!is_code(module, mark->offset) || mark->offset - mark->entry > UINT8_MAX ||
	    !api_is_operator(mark->api))
		view->failed = true;
}

static int take_marks(struct wire_view *view, const struct module *module, struct probe_plan *plan)
{
	uint32_t count = wire_take_u32_max(view, PROTOCOL_PLAN_MAX);

	plan->marks = array_new(view, count, sizeof(*plan->marks));
	if (!plan->marks)
		return view->failed ? -EBADMSG : -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		take_mark(view, module, &plan->marks[i]);
	plan->mark_count = count;
	return 0;
}

static int take_refusals(struct wire_view *view, struct probe_plan *plan)
{
	uint32_t count = wire_take_u32_max(view, PROTOCOL_PLAN_MAX);

	plan->refusals = array_new(view, count, sizeof(*plan->refusals));
	if (!plan->refusals)
		return view->failed ? -EBADMSG : -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		plan->refusals[i].api = take_api(view);
		take_text(view, plan->refusals[i].symbol, sizeof(plan->refusals[i].symbol));
		take_text(view, plan->refusals[i].reason, sizeof(plan->refusals[i].reason));
	}
	plan->refusal_count = count;
	return 0;
}

static enum sanitizer take_sanitizer(struct wire_view *view)
{
	uint8_t sanitizer = wire_take_u8(view);

	if (sanitizer >= SANITIZER_COUNT)
		view->failed = true;
	return view->failed ? SANITIZER_NONE : (enum sanitizer)sanitizer;
}

int plan_take(struct wire_view *view, const struct module *module, struct probe_plan **ret_plan)
{
	struct probe_plan *plan = calloc(1, sizeof(*plan));
	int err;

	if (!plan)
		return -ENOMEM;
	plan->allocator = wire_take_bool(view);
	plan->sanitizer = take_sanitizer(view);
	take_hooks(view, module, plan);
	err = take_sites(view, module, plan);
	if (!err)
		err = take_exits(view, module, plan);
	if (!err)
		err = take_wrappers(view, plan);
	if (!err)
		err = take_marks(view, module, plan);
	if (!err)
		err = take_refusals(view, plan);
	if (!err)
		err = wire_finish(view);
	if (err)
		probe_plan_free(plan);
	else
		*ret_plan = plan;
	return err;
}

/* Unwind tables. */

static const struct unwind_abi *const abis[] = {
	&unwind_abi_x86_64,  &unwind_abi_i386, &unwind_abi_powerpc,
	&unwind_abi_aarch64, &unwind_abi_arm,
};
#define ABI_COUNT (sizeof(abis) / sizeof(abis[0]))

/* Identifies the ABI by its dwarf_ip, which is unique. Addresses do not work, because each file
 * that includes arch/unwind_row.h has its own copies. */
static uint8_t abi_number(const struct unwind_abi *abi)
{
	uint8_t number = 0;

	while (number < ABI_COUNT && abis[number]->dwarf_ip != abi->dwarf_ip)
		number++;
	return number;
}

void table_put(struct wire *wire, const struct cfi_table *table)
{
	wire_put_u8(wire, abi_number(table->abi));
	wire_put(wire, &table->counts, sizeof(table->counts));
	wire_put_u32(wire, (uint32_t)table->rows.count);
	wire_put(wire, table->rows.items, table->rows.count * sizeof(*table->rows.items));
}

/* On processors with a link register, all encodings of saved registers are valid. */
static bool row_is_sound(const struct unwind_abi *abi, const struct unwind_row *row)
{
	if (abi->link)
		return unwind_row_cfa(row) <= UNWIND_CFA_LAST;
	return unwind_row_cfa(row) <= UNWIND_CFA_GAP && unwind_row_bp(row) <= UNWIND_BP_LOST;
}

static bool rows_are_sound(const struct unwind_abi *abi, const struct unwind_row *rows,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((i && rows[i].offset <= rows[i - 1].offset) || !row_is_sound(abi, &rows[i]))
			return false;
	return count && unwind_row_cfa(&rows[count - 1]) == UNWIND_CFA_GAP;
}

static int take_rows(struct wire_view *view, struct cfi_table *table)
{
	uint32_t count = wire_take_u32_max(view, CFI_ROW_MAX);
	size_t size = count * sizeof(*table->rows.items);
	const void *rows = wire_take(view, size);

	if (wire_finish(view))
		return -EBADMSG;
	if (vec_reserve(&table->rows, count))
		return -ENOMEM;
	if (count)
		memcpy(table->rows.items, rows, size);
	table->rows.count = count;
	return rows_are_sound(table->abi, table->rows.items, count) ? 0 : -EBADMSG;
}

int table_take(struct wire_view *view, struct cfi_table *ret_table)
{
	struct cfi_table table = {.abi = abis[0]};
	uint8_t abi = wire_take_u8(view);
	const void *counts = wire_take(view, sizeof(table.counts));
	int err;

	if (abi >= ABI_COUNT || !counts)
		return -EBADMSG;
	table.abi = abis[abi];
	memcpy(&table.counts, counts, sizeof(table.counts));
	err = take_rows(view, &table);
	if (err)
		cfi_table_free(&table);
	else
		*ret_table = table;
	return err;
}

/* Names. */

void names_put(struct wire *wire, const struct symbol_name *names, size_t count)
{
	wire_put_u8(wire, (uint8_t)count);
	for (size_t i = 0; i < count; i++) {
		wire_put_u8(wire, names[i].inlined);
		wire_put_u32(wire, names[i].line);
		wire_put_string(wire, names[i].function, TEXT_MAX);
		wire_put_string(wire, names[i].file, TEXT_MAX);
	}
}

int names_take(struct wire_view *view, struct symbol_name ret_names[PROTOCOL_INLINE_MAX],
	       size_t *ret_count)
{
	uint8_t count = wire_take_u8(view);

	if (count > PROTOCOL_INLINE_MAX)
		return -EBADMSG;
	for (uint8_t i = 0; i < count; i++) {
		ret_names[i].inlined = wire_take_bool(view);
		ret_names[i].line = wire_take_u32(view);
		ret_names[i].function = wire_take_string(view, TEXT_MAX);
		ret_names[i].file = wire_take_string(view, TEXT_MAX);
	}
	*ret_count = count;
	return view->failed ? -EBADMSG : 0;
}

/* Prefetched answers. */

void prefetch_put(struct wire *wire, const struct wire *part)
{
	size_t size = part->failed ? 0 : part->count;

	wire_put_u32(wire, (uint32_t)size);
	wire_put(wire, part->items, size);
}

void prefetch_drop(struct wire parts[PREFETCH_KINDS])
{
	for (int kind = 0; kind < PREFETCH_KINDS; kind++)
		wire_free(&parts[kind]);
}

int prefetch_take(struct wire_view *view, struct wire ret_parts[PREFETCH_KINDS])
{
	int err = 0;

	for (int kind = 0; kind < PREFETCH_KINDS; kind++)
		ret_parts[kind] = (struct wire){0};
	for (int kind = 0; kind < PREFETCH_KINDS && !err; kind++) {
		uint32_t size = wire_take_u32_max(view, PROTOCOL_ANSWER_MAX);
		const void *bytes = wire_take(view, size);

		if (bytes)
			wire_put(&ret_parts[kind], bytes, size);
		err = ret_parts[kind].failed ? -ENOMEM : 0;
	}
	if (!err)
		err = wire_finish(view);
	if (err)
		prefetch_drop(ret_parts);
	return err;
}

/* Dynamic sections. */

void dynamic_put(struct wire *wire, const struct elf_dynamic *dynamic)
{
	wire_put(wire, &dynamic->identity, sizeof(dynamic->identity));
	wire_put_string(wire, dynamic->interpreter, PATH_MAX);
	wire_put_string(wire, dynamic->rpath, PATH_MAX);
	wire_put_string(wire, dynamic->runpath, PATH_MAX);
	wire_put_u32(wire, (uint32_t)dynamic->needed.count);
	for (size_t i = 0; i < dynamic->needed.count; i++)
		wire_put_string(wire, dynamic->needed.items[i], PATH_MAX);
}

static int take_needed(struct wire_view *view, struct string_list *needed)
{
	uint32_t count = wire_take_u32_max(view, ELF_NEEDED_MAX);
	int err = 0;

	for (uint32_t i = 0; !err && i < count; i++) {
		const char *name = wire_take_string(view, PATH_MAX);

		err = name ? string_list_add(needed, name) : -EBADMSG;
	}
	return err;
}

int dynamic_take(struct wire_view *view, struct elf_dynamic *ret_dynamic)
{
	struct elf_dynamic dynamic = {0};
	const void *identity = wire_take(view, sizeof(dynamic.identity));
	int err = identity ? 0 : -EBADMSG;

	if (identity)
		memcpy(&dynamic.identity, identity, sizeof(dynamic.identity));
	if (!err)
		err = take_copy(view, PATH_MAX, &dynamic.interpreter);
	if (!err)
		err = take_copy(view, PATH_MAX, &dynamic.rpath);
	if (!err)
		err = take_copy(view, PATH_MAX, &dynamic.runpath);
	if (!err)
		err = take_needed(view, &dynamic.needed);
	if (!err)
		err = wire_finish(view);
	if (err)
		elf_dynamic_free(&dynamic);
	else
		*ret_dynamic = dynamic;
	return err;
}
