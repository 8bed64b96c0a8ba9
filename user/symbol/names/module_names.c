// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/module_names.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "symbol/names/debug_want.h"
#include "symbol/names/demangle.h"
#include "symbol/names/dwarf_index.h"
#include "symbol/names/symbol_index.h"

struct module_names {
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module;
	GElf_Addr symbol_bias; /* libdwfl's addresses minus the file's */
	Dwarf_Addr dwarf_bias; /* libdwfl's addresses minus those of the DWARF */
	struct symbol_index *symbols;
	struct dwarf_index *index; /* NULL if there is no debug information */
	VEC(char *) strings;       /* used by the last result */
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = debug_want_find,
	.section_address = dwfl_offline_section_address,
};

static void free_strings(struct module_names *names)
{
	char **text;

	vec_each (text, &names->strings)
		free(*text);
	names->strings.count = 0;
}

void module_names_close(struct module_names *names)
{
	if (!names)
		return;
	dwarf_index_free(names->index);
	symbol_index_free(names->symbols);
	dwfl_end(names->dwfl);
	free_strings(names);
	vec_free(&names->strings);
	free(names);
}

/* libdwfl takes ownership of its descriptor, so pass a duplicate. */
static int report_module(struct module_names *names, const struct module *module,
			 struct debug_source *source)
{
	void **userdata;
	int fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return -errno;
	dwfl_report_begin(names->dwfl);
	names->dwfl_module = dwfl_report_elf(names->dwfl, module->path, module->path, fd, 0, true);
	if (!names->dwfl_module)
		close(fd);
	dwfl_report_end(names->dwfl, NULL, NULL);
	if (!names->dwfl_module)
		return -ENOEXEC;
	dwfl_module_info(names->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = source;
	return 0;
}

/* A failure is ignored: modules without usable debug information still have symbols. */
static void open_dwarf(struct module_names *names)
{
	Dwarf *dwarf = dwfl_module_getdwarf(names->dwfl_module, &names->dwarf_bias);

	if (dwarf && dwarf_index_new(dwarf, &names->index))
		names->index = NULL;
}

/* Makes debug_want_find() refuse later requests: `source` goes out of scope. */
static void source_forget(struct module_names *names)
{
	void **userdata;

	dwfl_module_info(names->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = NULL;
}

/* Indexes the symbols of all tables that libdwfl finds. */
static int open_symbols(struct module_names *names)
{
	int count = dwfl_module_getsymtab(names->dwfl_module);

	names->symbols = symbol_index_new();
	if (!names->symbols)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		struct symbol_entry entry = {0};

		entry.name = dwfl_module_getsym_info(names->dwfl_module, i, &entry.symbol,
						     &entry.address, &entry.section, &entry.elf,
						     &entry.bias);
		if (symbol_index_add(names->symbols, &entry))
			return -ENOMEM;
	}
	symbol_index_sort(names->symbols);
	return 0;
}

static bool open_tables(struct module_names *names, const struct module *module,
			struct debug_source *source)
{
	names->dwfl = dwfl_begin(&callbacks);
	return names->dwfl && !report_module(names, module, source) &&
	       dwfl_module_getelf(names->dwfl_module, &names->symbol_bias) && !open_symbols(names);
}

struct module_names *module_names_open(const struct module *module,
				       const struct symbolizer_config *config)
{
	struct debug_source source = {module, config->find, config->ctx};
	struct module_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	if (!open_tables(names, module, &source)) {
		module_names_close(names);
		return NULL;
	}
	open_dwarf(names);
	source_forget(names);
	return names;
}

/* Returns the demangled name, or NULL if it is empty without its @VERSION. Valid until the next
 * lookup. */
static const char *keep_name(struct module_names *names, const char *symbol)
{
	char *text = symbol ? demangle(symbol) : NULL;

	if (text && (!*text || vec_push(&names->strings, text))) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *linkage_name(Dwarf_Die *scope)
{
	static const unsigned int attributes[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(scope, attributes[i], &attribute));

		if (name)
			return name;
	}
	return NULL;
}

static bool is_written_in_c(Dwarf_Die *unit)
{
	int language = dwarf_srclang(unit);

	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

/*
 * Returns the most descriptive name. For functions with internal linkage, gcc writes no linkage
 * name, so every lambda would be called "operator()". Use the symbol table for those.
 */
static const char *scope_symbol(const struct module_names *names, struct dwarf_place *place,
				size_t scope, Dwarf_Addr address)
{
	const char *name = linkage_name(&place->scopes[scope]);

	if (!name && !scope && !is_written_in_c(&place->unit)) {
		name = symbol_index_find(names->symbols, address + names->dwarf_bias);
		name = name && is_mangled(name) ? name : NULL;
	}
	return name ? name : dwarf_diename(&place->scopes[scope]);
}

static void set_line(struct symbol_name *name, const char *file, int line)
{
	name->file = file && *file ? file : NULL;
	name->line = file && line > 0 ? (uint32_t)line : 0;
}

/* Sets the line of the instruction. */
static void name_line(struct symbol_name *name, struct dwarf_place *place, Dwarf_Addr address)
{
	Dwarf_Line *line = dwarf_getsrc_die(&place->unit, address);
	int number = 0;

	if (line && !dwarf_lineno(line, &number))
		set_line(name, dwarf_linesrc(line, NULL, NULL), number);
}

static Dwarf_Word scope_number(Dwarf_Die *scope, unsigned int attribute_name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (dwarf_formudata(dwarf_attr(scope, attribute_name, &attribute), &number))
		return 0;
	return number;
}

/* Sets the line of an inlined call, in the function that contains it. */
static void name_call_line(struct symbol_name *name, struct dwarf_place *place, Dwarf_Die *inlined)
{
	Dwarf_Word number = scope_number(inlined, DW_AT_call_file);
	Dwarf_Word line = scope_number(inlined, DW_AT_call_line);
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(&place->unit, &files, &count) || number >= count || line > INT32_MAX)
		return;
	set_line(name, dwarf_filesrc(files, number, NULL, NULL), (int)line);
}

/* The innermost frame is the last scope. The line of every other frame is that of the call inlined
 * into it. */
static size_t name_scopes(struct module_names *names, struct dwarf_place *place, Dwarf_Addr address,
			  struct symbol_name *ret_names, size_t max)
{
	size_t count = place->scope_count < max ? place->scope_count : max;

	for (size_t i = 0; i < count; i++) {
		size_t scope = place->scope_count - 1 - i;

		ret_names[i] = (struct symbol_name){.inlined = scope > 0};
		ret_names[i].function =
			keep_name(names, scope_symbol(names, place, scope, address));
		if (i)
			name_call_line(&ret_names[i], place, &place->scopes[scope + 1]);
		else
			name_line(&ret_names[i], place, address);
	}
	return count;
}

/* Takes the name from the symbol table. Also used if debug information has the line but not the
 * function; `place` is then not NULL. */
static size_t name_symbol(struct module_names *names, struct dwarf_place *place, GElf_Addr address,
			  struct symbol_name *ret_name)
{
	const char *text = symbol_index_find(names->symbols, address);

	*ret_name = (struct symbol_name){.function = keep_name(names, text)};
	if (place)
		name_line(ret_name, place, address - names->dwarf_bias);
	return ret_name->function || ret_name->file;
}

size_t module_names_at(struct module_names *names, uint64_t vaddr, struct symbol_name *ret_names,
		       size_t max)
{
	GElf_Addr address = vaddr + names->symbol_bias;
	Dwarf_Addr dwarf_address = address - names->dwarf_bias;
	struct dwarf_place place;
	bool has_unit = names->index && dwarf_index_find(names->index, dwarf_address, &place);

	free_strings(names);
	if (has_unit && place.scope_count)
		return name_scopes(names, &place, dwarf_address, ret_names, max);
	return name_symbol(names, has_unit ? &place : NULL, address, ret_names);
}
