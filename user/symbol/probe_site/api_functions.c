// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/probe_site/api_functions.h"

#include <errno.h>
#include <string.h>

#include "symbol/probe_site/function_code.h"

#define FUNCTIONS_MAX 256

/*
 * glibc's ld.so has an allocator for its own startup, and some versions export it. Its blocks are
 * never passed to the program, so ignore it. musl's ld.so is its libc.
 */
static const char glibc_linker_symbol[] = "_rtld_global";
#define HOOK_NAMES 2

/* Later names are preferred: they exist in static programs, or where symbols are not stripped. */
static const char *const hook_symbols[HOOK_COUNT][HOOK_NAMES] = {
	[HOOK_LINK_MAP] = {"_dl_debug_state"},
	[HOOK_THREAD_EXITS] = {"__call_tls_dtors", "__libc_thread_freeres"},
	[HOOK_THROW] = {"__cxa_allocate_exception"},
};

static const char *const sanitizer_symbols[SANITIZER_COUNT] = {
	[SANITIZER_LEAK] = "__lsan_init",
	[SANITIZER_ADDRESS] = "__asan_init",
};

/* Strips the version. Returns false for names longer than any name to look for. */
static bool plain_symbol(const char *symbol, char ret_plain[API_SYMBOL_SIZE])
{
	size_t length = 0;

	for (; symbol[length] && symbol[length] != '@'; length++) {
		if (length + 1 == API_SYMBOL_SIZE) {
			ret_plain[0] = 0;
			return false;
		}
		ret_plain[length] = symbol[length];
	}
	ret_plain[length] = 0;
	return true;
}

enum api api_of_versioned(const char *symbol, char ret_plain[API_SYMBOL_SIZE])
{
	return plain_symbol(symbol, ret_plain) ? api_of_symbol(ret_plain) : API_NONE;
}

static int rank_of_symbol(enum api api, const char *symbol)
{
	const struct api_row *row = api_row(api);
	int rank = 0;

	while (rank < API_SYMBOLS_MAX && row->symbols[rank] && strcmp(row->symbols[rank], symbol))
		rank++;
	return rank;
}

static bool comes_first(const struct api_function *one, const struct api_function *other)
{
	return one->api != other->api ? one->api < other->api : one->rank < other->rank;
}

static struct api_function *find_at(struct api_functions *functions, uint64_t vaddr)
{
	struct api_function *function;

	vec_each (function, &functions->list)
		if (function->vaddr == vaddr)
			return function;
	return NULL;
}

/* The smaller of two sizes; 0 means unknown. */
static uint64_t smaller_size(uint64_t one, uint64_t other)
{
	return !other || (one && one < other) ? one : other;
}

static bool is_either_operator(const struct api_function *one, const struct api_function *other)
{
	return api_is_operator(one->api) || api_is_operator(other->api);
}

static int add_function(struct api_functions *functions, struct api_function added)
{
	struct api_function *same = find_at(functions, added.vaddr);

	if (!same) {
		if (functions->list.count >= FUNCTIONS_MAX)
			return -E2BIG;
		return vec_push(&functions->list, added);
	}
	functions->shared_operators |= same->api != added.api && is_either_operator(same, &added);
	added.size = smaller_size(added.size, same->size);
	if (comes_first(&added, same))
		*same = added;
	same->size = added.size;
	return 0;
}

static enum api api_of_name(const struct api_functions *functions, const char *symbol,
			    char ret_plain[API_SYMBOL_SIZE])
{
	if (!functions->prefix)
		return api_of_versioned(symbol, ret_plain);
	return plain_symbol(symbol, ret_plain) ? api_of_prefixed(ret_plain, functions->prefix)
					       : API_NONE;
}

static int take_function(struct api_functions *functions, const struct elf_image *image,
			 const struct elf_symbol *symbol)
{
	struct api_function function = {
		.vaddr = symbol->raw.st_value,
		.size = symbol->raw.st_size,
		.prefixed = functions->prefix && *functions->prefix,
	};
	size_t prefix = functions->prefix ? strlen(functions->prefix) : 0;

	function.api = api_of_name(functions, symbol->name, function.symbol);
	if (function.api == API_NONE)
		return 0;
	function.thumb = image->module->machine == EM_ARM && function.vaddr & 1;
	function.vaddr &= ~(uint64_t)function.thumb;
	if (elf_image_code_offset(image, function.vaddr, &function.offset))
		return 0;
	function.rank = rank_of_symbol(function.api, function.symbol + prefix);
	function.indirect = GELF_ST_TYPE(symbol->raw.st_info) == STT_GNU_IFUNC;
	return add_function(functions, function);
}

static bool is_plain_name(const char *symbol, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(symbol, name, length) && (!symbol[length] || symbol[length] == '@');
}

/* Accepts any binding: in static programs the linker has made hidden symbols local. */
static void take_hook(struct api_functions *functions, const struct elf_image *image,
		      const struct elf_symbol *symbol)
{
	for (int i = 0; i < HOOK_COUNT * HOOK_NAMES; i++) {
		int hook = i / HOOK_NAMES, rank = i % HOOK_NAMES;
		const char *name = hook_symbols[hook][rank];
		uint64_t offset;

		if (!name || !is_plain_name(symbol->name, name) ||
		    rank + 1 < functions->hook_ranks[hook] ||
		    elf_image_code_offset(image, symbol->raw.st_value, &offset))
			continue;
		functions->hooks[hook] = offset;
		functions->hook_ranks[hook] = rank + 1;
	}
}

/* In static position-independent programs malloc is local, because glibc declares it hidden for its
 * own dynamic linker. Names with a known prefix are accepted with any binding. */
static bool is_candidate(const struct api_functions *functions, const struct elf_symbol *symbol)
{
	return functions->whole_program || functions->prefix
		       ? elf_symbol_is_defined_function(symbol)
		       : elf_symbol_is_function(symbol);
}

static void take_sanitizer(struct api_functions *functions, const struct elf_symbol *symbol)
{
	for (int i = functions->sanitizer + 1; i < SANITIZER_COUNT; i++)
		if (is_plain_name(symbol->name, sanitizer_symbols[i]))
			functions->sanitizer = (enum sanitizer)i;
}

/* Records which of the known allocator prefixes occur. */
static void note_prefix(struct api_functions *functions, const char *symbol)
{
	for (unsigned int i = 0; api_prefixes[i]; i++)
		if (*symbol == *api_prefixes[i] &&
		    !strncmp(symbol, api_prefixes[i], strlen(api_prefixes[i])))
			functions->prefixes_met |= 1u << i;
}

static void add_head(void *ctx, const char *name)
{
	if (name)
		name_heads_add(ctx, name);
}

/* Adds all names that take_symbol() looks for. */
static void add_heads(struct name_heads *heads)
{
	api_each_symbol(add_head, heads);
	for (size_t i = 0; api_prefixes[i]; i++)
		add_head(heads, api_prefixes[i]);
	for (int i = 0; i < HOOK_COUNT * HOOK_NAMES; i++)
		add_head(heads, hook_symbols[i / HOOK_NAMES][i % HOOK_NAMES]);
	for (int i = 0; i < SANITIZER_COUNT; i++)
		add_head(heads, sanitizer_symbols[i]);
	add_head(heads, glibc_linker_symbol);
}

static int take_symbol(struct api_functions *functions, const struct elf_image *image,
		       const struct elf_symbol *symbol)
{
	if (!functions->prefix && !name_heads_may_have(&functions->heads, symbol->name))
		return 0;
	note_prefix(functions, symbol->name);
	if (symbol->dynamic && symbol->raw.st_shndx != SHN_UNDEF &&
	    is_plain_name(symbol->name, glibc_linker_symbol))
		functions->glibc_linker = true;
	if (GELF_ST_TYPE(symbol->raw.st_info) == STT_FUNC && symbol->raw.st_shndx != SHN_UNDEF)
		take_hook(functions, image, symbol);
	if (elf_symbol_is_defined_function(symbol))
		take_sanitizer(functions, symbol);
	if (!is_candidate(functions, symbol))
		return 0;
	return take_function(functions, image, symbol);
}

static int take_table(struct api_functions *functions, const struct elf_image *image,
		      Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = elf_image_symbol_count(header, data);
	struct elf_symbol symbol;
	int code = 0;

	for (size_t i = 0; i < count && !code; i++)
		if (elf_image_symbol(image, header, data, i, &symbol))
			code = take_symbol(functions, image, &symbol);
	return code;
}

/* Done last, once per function: a function without a size costs a scan of all symbols. */
static void set_sizes(struct api_functions *functions, const struct elf_image *image)
{
	struct api_function *function;

	vec_each (function, &functions->list) {
		uint64_t size = function->size;

		if (!size)
			size = elf_image_next_function(image, function->vaddr) - function->vaddr;
		function->size = size < FUNCTION_CODE_MAX ? size : FUNCTION_CODE_MAX;
	}
}

/* Collects all functions with this prefix, or the standard ones if it is NULL. */
static int take_tables(struct api_functions *functions, const struct elf_image *image,
		       const char *prefix)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	int code = 0;

	functions->prefix = prefix;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		Elf_Scn *section = NULL;
		GElf_Shdr header;

		while (!code && (section = elf_image_section(image, section, types[i], &header)))
			code = take_table(functions, image, section, &header);
	}
	return code;
}

/* A prefix belongs to an allocator if both a malloc and a free have it. */
static int take_prefix(struct api_functions *functions, const struct elf_image *image,
		       const char *prefix)
{
	struct api_functions found = {0};
	int code = take_tables(&found, image, prefix);
	const struct api_function *function;

	if (!api_functions_define(&found, API_MALLOC) || !api_functions_define(&found, API_FREE))
		found.list.count = 0;
	vec_each (function, &found.list)
		if (!code)
			code = add_function(functions, *function);
	api_functions_free(&found);
	return code;
}

static int take_prefixes(struct api_functions *functions, const struct elf_image *image)
{
	int code = image->module->prefix ? take_tables(functions, image, image->module->prefix) : 0;

	for (size_t i = 0; !code && api_prefixes[i]; i++)
		if (functions->prefixes_met & 1u << i)
			code = take_prefix(functions, image, api_prefixes[i]);
	return code;
}

int api_functions_collect(struct api_functions *functions, const struct elf_image *image,
			  struct error *err)
{
	int code;

	functions->whole_program = image->module->executable && !elf_image_has_interpreter(image);
	add_heads(&functions->heads);
	code = take_tables(functions, image, NULL);
	if (!code)
		code = take_prefixes(functions, image);
	if (code)
		return error_set_errno(err, code, "cannot look for allocation functions in %s",
				       image->module->path);
	if (functions->glibc_linker)
		functions->list.count = 0;
	set_sizes(functions, image);
	return 0;
}

void api_functions_free(struct api_functions *functions)
{
	vec_free(&functions->list);
}

bool api_functions_define(const struct api_functions *functions, enum api api)
{
	const struct api_function *function;

	vec_each (function, &functions->list)
		if (function->api == api)
			return true;
	return false;
}

bool api_functions_define_plain(const struct api_functions *functions, enum api api)
{
	const struct api_function *function;

	vec_each (function, &functions->list)
		if (function->api == api && !function->prefixed)
			return true;
	return false;
}
