/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code, compared with addr2line's frame by frame on programs with much inlining; and found
 * in separate debug files, in symbol tables, and in invalid files.
 *
 * Under sanitizers fewer programs are compiled and fewer files damaged. EXHAUSTIVE=1 runs all cases
 * (see sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "symbol/elf/module_table.h"
#include "symbol/names/demangle.h"
#include "symbol/names/symbolizer.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sweep.h"

#define FRAMES 64

static const char program[] =
	"#include <cstdlib>\n"
	"#include <map>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace shapes {\n"
	"struct point { int x, y; int sum() const { return x + y; } };\n"
	"template <typename T> static inline T twice(T v) { return v + v; }\n"
	"class bag {\n"
	"	std::vector<std::string> items;\n"
	"	std::map<std::string, int> index;\n"
	"public:\n"
	"	void add(const char *s) { items.emplace_back(s); index[s] += twice(1); }\n"
	"	size_t total() const { size_t n = 0; for (auto &i : items) n += i.size();\n"
	"		return n; }\n"
	"};\n"
	"}\n"
	"static __attribute__((noinline)) int hidden(int n) { return n * rand(); }\n"
	"inline int helper(int n) {\n"
	"	return n > 3 ? n * 7 : shapes::twice(n) + hidden(n);\n"
	"}\n"
	"__attribute__((noinline)) int outer(int n) {\n"
	"	shapes::point p{n, helper(n)};\n"
	"	int s = 0;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		s += helper(i) ^ p.sum();\n"
	"	return s;\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	shapes::bag b;\n"
	"	for (int i = 0; i < argc; i++)\n"
	"		b.add(argv[i]);\n"
	"	return outer(argc) + (int)b.total();\n"
	"}\n";

/* A function with a public and an internal name. */
static const char plain_program[] = "int answer(int n)\n"
				    "{\n"
				    "	return n * 42;\n"
				    "}\n"
				    "int __answer(int n) __attribute__((alias(\"answer\")));\n"
				    "int main(void) { return answer(1); }\n";

struct opened {
	struct module_table *table;
	struct module *module;
	struct symbolizer *symbolizer;
	struct debug_search *search;
};

/* Additional folders with separate debug files; see test_folders. */
static const char *folders;

static struct opened open_file(const char *path)
{
	struct opened opened = {.search = calloc(1, sizeof(*opened.search))};
	struct symbolizer_config config = {debug_search_find, opened.search};
	struct error err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && opened.search);
	opened.search->folders = folders;
	assert_int_equal(module_table_new(&opened.table), 0);
	assert_int_equal(symbolizer_new(&opened.symbolizer, &config), 0);
	if (module_intern(opened.table, fd, path, &opened.module, &err))
		fail_msg("%s", err.text);
	return opened;
}

static void close_file(struct opened *opened)
{
	symbolizer_free(opened->symbolizer);
	module_table_free(opened->table);
	debug_search_end(opened->search);
	free(opened->search);
}

static uint64_t offset_of(const struct module *module, uint64_t vaddr)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		if (vaddr - segment->vaddr < segment->size)
			return vaddr - segment->vaddr + segment->offset;
	}
	fail_msg("%#lx is not in the file", (unsigned long)vaddr);
	return 0;
}

/* The names of the instruction at an address, looked up like a return address after it. */
static size_t names_at(struct opened *opened, uint64_t vaddr, struct symbol_name names[FRAMES])
{
	return symbolizer_names(opened->symbolizer, opened->module,
				offset_of(opened->module, vaddr) + 1, names, FRAMES);
}

static FILE *run(struct scratch *scratch, const char *command)
{
	char line[512];
	FILE *pipe;

	snprintf(line, sizeof(line), "cd %s && %s", scratch->root, command);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	return pipe;
}

/* addr2line's answer for one address: the lines "function" and "file:line" for each frame. */
struct expected {
	uint64_t vaddr;
	char functions[FRAMES][4096];
	char places[FRAMES][4096];
	size_t count;
};

static bool read_line(FILE *file, char *line, size_t size)
{
	char *extra;

	if (!fgets(line, (int)size, file))
		return false;
	line[strcspn(line, "\n")] = 0;
	extra = strstr(line, " (discriminator");
	if (extra)
		*extra = 0;
	return true;
}

/* On entry, `line` holds the address, or is empty; on return, it holds that of the next answer. */
static bool read_answer(FILE *file, char *line, size_t size, struct expected *answer)
{
	if (!*line && !read_line(file, line, size))
		return false;
	answer->vaddr = strtoull(line, NULL, 16);
	answer->count = 0;
	*line = 0;
	while (read_line(file, line, size) && strncmp(line, "0x", 2)) {
		assert_true(answer->count < FRAMES);
		snprintf(answer->functions[answer->count], 4096, "%s", line);
		assert_true(read_line(file, answer->places[answer->count++], 4096));
		*line = 0;
	}
	return true;
}

/* Where addr2line has no line, there is linker code or padding, for which it gives the preceding
 * name. */
static bool has_place(const struct expected *answer)
{
	return answer->count && !strstr(answer->places[answer->count - 1], ":?") &&
	       !strstr(answer->places[answer->count - 1], ":0");
}

static const char *line_part(const char *place)
{
	return strrchr(place, ':');
}

static void compare(struct opened *opened, const struct expected *answer, bool only_lines)
{
	struct symbol_name names[FRAMES];
	size_t count = names_at(opened, answer->vaddr, names);

	if (count != answer->count)
		fail_msg("%#lx: %zu frames, not %zu", (unsigned long)answer->vaddr, count,
			 answer->count);
	for (size_t i = 0; i < count; i++) {
		char place[4096];

		snprintf(place, sizeof(place), names[i].line ? "%s:%u" : "%s:?", names[i].file,
			 names[i].line);
		assert_string_equal(names[i].function, answer->functions[i]);
		if (only_lines)
			assert_string_equal(line_part(place), line_part(answer->places[i]));
		else
			assert_string_equal(place, answer->places[i]);
		assert_int_equal(names[i].inlined, i + 1 < count);
	}
}

/* Every second byte of the code. Offsets within an instruction count as the instruction. */
static const char ask_addr2line[] =
	"objdump -h p | awk '$2 == \".text\" { print $3, $4 }' | { read size start; "
	"i=0; while [ $i -lt $((0x$size)) ]; do printf '0x%x\\n' $((0x$start + i)); "
	"i=$((i + 2)); done; } | addr2line -afiC -e p";

static size_t compare_with_addr2line(struct scratch *scratch, bool only_lines)
{
	struct opened opened = open_file(scratch_path(scratch, "p"));
	struct expected *answer = malloc(sizeof(*answer));
	FILE *pipe = run(scratch, ask_addr2line);
	char line[4096] = "";
	size_t count = 0;

	assert_non_null(answer);
	while (read_answer(pipe, line, sizeof(line), answer))
		if (has_place(answer)) {
			compare(&opened, answer, only_lines);
			count++;
		}
	pclose(pipe);
	free(answer);
	close_file(&opened);
	return count;
}

/* Without padding, whose line is ambiguous. */
#define LAID_OUT "-falign-functions=1 -fno-reorder-blocks-and-partition -o p $PWD/p.cc"

static void test_names_equal_addr2line(void **state)
{
	/* addr2line 2.40 takes the wrong file for the first row of a DWARF 5 line sequence. */
	static const struct {
		const char *command;
		bool only_lines;
	} variants[] = {
		{"g++ -O2 -gdwarf-5 " LAID_OUT, true},
		{"g++ -O2 -gdwarf-4 -no-pie " LAID_OUT, false},
		{"g++ -O0 -gdwarf-4 " LAID_OUT, false},
	};

	scratch_write(*state, "p.cc", program, strlen(program), 0644);
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i += sweep_step(2)) {
		assert_int_equal(scratch_run(*state, variants[i].command), 0);
		assert_true(compare_with_addr2line(*state, variants[i].only_lines) > 300);
	}
}

static uint64_t address_of(struct scratch *scratch, const char *file, const char *function)
{
	char command[256], line[64] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" { print $1 }'", file,
		 function);
	pipe = run(scratch, command);
	assert_true(read_line(pipe, line, sizeof(line)));
	pclose(pipe);
	return strtoull(line, NULL, 16);
}

static void build_plain(struct scratch *scratch, const char *command)
{
	scratch_write(scratch, "p.c", plain_program, strlen(plain_program), 0644);
	assert_int_equal(scratch_run(scratch, command), 0);
}

/* Checks the first frame of `answer`, found in file "p" at its address in "full". */
static void check_answer(struct scratch *scratch, const char *function, const char *file,
			 uint32_t line)
{
	uint64_t vaddr = address_of(scratch, "full", "answer");
	struct opened opened = open_file(scratch_path(scratch, "p"));
	struct symbol_name names[FRAMES];
	size_t count = names_at(&opened, vaddr, names);

	assert_int_equal(count, function != NULL);
	if (function) {
		assert_string_equal(names[0].function, function);
		assert_int_equal(names[0].file != NULL, file != NULL);
		assert_int_equal(names[0].line, line);
		assert_false(names[0].inlined);
	}
	if (function && file)
		assert_string_equal(strrchr(names[0].file, '/') + 1, file);
	close_file(&opened);
}

static void test_separate_debug_file(void **state)
{
	build_plain(*state, "gcc -O0 -g -Wl,--build-id=none -o full p.c && cp full p && "
			    "objcopy --only-keep-debug p p.debug && "
			    "objcopy --strip-all --add-gnu-debuglink=p.debug p");
	check_answer(*state, "answer", "p.c", 2);
	assert_int_equal(scratch_run(*state, "mkdir .debug && mv p.debug .debug"), 0);
	check_answer(*state, "answer", "p.c", 2);
	assert_int_equal(scratch_run(*state, "printf x >> .debug/p.debug"), 0);
	check_answer(*state, NULL, NULL, 0); /* not the right debug file */
	assert_int_equal(scratch_run(*state, "rm .debug/p.debug && mkfifo .debug/p.debug"), 0);
	check_answer(*state, NULL, NULL, 0);
}

/* Found by the name in the link, and by build ID. A wrong file is not used. */
static void test_folders(void **state)
{
	struct scratch *scratch = *state;
	char list[256];

	build_plain(scratch,
		    "gcc -O0 -g -Wl,--build-id=0xabcdef0123456789 -o full p.c && cp full p && "
		    "objcopy --only-keep-debug p p.debug && "
		    "objcopy --strip-all --add-gnu-debuglink=p.debug p && "
		    "mkdir -p links ids/.build-id/ab && mv p.debug links");
	check_answer(scratch, NULL, NULL, 0);
	snprintf(list, sizeof(list), ":/no/such/folder::%s/links:", scratch->root);
	folders = list;
	check_answer(scratch, "answer", "p.c", 2);
	assert_int_equal(scratch_run(scratch,
				     "mv links/p.debug ids/.build-id/ab/cdef0123456789.debug; "
				     "gcc -O0 -g -Wl,--build-id=0x0123 -o links/p.debug p.c"),
			 0);
	check_answer(scratch, NULL, NULL, 0);
	snprintf(list, sizeof(list), "%s/links:%s/ids", scratch->root, scratch->root);
	check_answer(scratch, "answer", "p.c", 2);
	folders = NULL;
}

/* Gives the program a link with this name and checksum, as in .gnu_debuglink. */
static void write_link(struct scratch *scratch, const char *name, uint32_t crc)
{
	char section[64] = {0};
	size_t size = (strlen(name) + 4) / 4 * 4;

	memcpy(section, name, strlen(name));
	memcpy(section + size, &crc, sizeof(crc));
	scratch_write(scratch, "link", section, size + sizeof(crc), 0600);
	assert_int_equal(scratch_run(scratch, "objcopy --remove-section=.gnu_debuglink p; objcopy "
					      "--add-section .gnu_debuglink=link p"),
			 0);
}

static uint32_t crc_of(struct scratch *scratch, const char *name)
{
	char command[128], text[16] = "";
	FILE *file;

	snprintf(command, sizeof(command),
		 "python3 -c 'import zlib; print(zlib.crc32(open(\"%s\", \"rb\").read()))' > crc",
		 name);
	assert_int_equal(scratch_run(scratch, command), 0);
	file = fopen(scratch_path(scratch, "crc"), "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	return (uint32_t)strtoul(text, NULL, 10);
}

/* The author of a program chooses its link. It may only name a file beside the program, with the
 * right checksum. */
static void test_links_lead_nowhere_else(void **state)
{
	struct scratch *scratch = *state;
	uint32_t crc;

	build_plain(scratch, "gcc -O0 -g -Wl,--build-id=none -o full p.c && cp full p && "
			     "objcopy --only-keep-debug p q && strip p && mkdir d && cp q d");
	crc = crc_of(scratch, "q");
	write_link(scratch, "q", crc);
	check_answer(scratch, "answer", "p.c", 2);
	write_link(scratch, "d/q", crc);
	check_answer(scratch, NULL, NULL, 0);
	write_link(scratch, "../q", crc);
	check_answer(scratch, NULL, NULL, 0);
	write_link(scratch, "/proc/kmsg", crc);
	check_answer(scratch, NULL, NULL, 0);
	write_link(scratch, "q", 0); /* not "any checksum" */
	check_answer(scratch, NULL, NULL, 0);
	assert_int_equal(scratch_run(scratch, "ln -s /proc/kmsg k; truncate -s 8T q"), 0);
	write_link(scratch, "k", crc);
	check_answer(scratch, NULL, NULL, 0);
	write_link(scratch, "q", crc);
	check_answer(scratch, NULL, NULL, 0);
}

/* A symbolic link in the place of the debug file, to a file of root. */
static void test_links_lead_to_nothing_that_the_author_cannot_read(void **state)
{
	struct scratch *scratch = *state;

	if (geteuid())
		skip();
	build_plain(scratch, "gcc -O0 -g -Wl,--build-id=none -o full p.c && cp full p && "
			     "objcopy --only-keep-debug p secret && strip p && ln -s secret q");
	write_link(scratch, "q", crc_of(scratch, "secret"));
	assert_int_equal(scratch_run(scratch, "chmod 600 secret; chmod 755 p"), 0);
	check_answer(scratch, NULL, NULL, 0);
	assert_int_equal(scratch_run(scratch, "chown 12345 p"), 0);
	check_answer(scratch, NULL, NULL, 0);
	assert_int_equal(scratch_run(scratch, "chown 12345 secret"), 0);
	check_answer(scratch, "answer", "p.c", 2);
	assert_int_equal(scratch_run(scratch, "chmod 775 p"), 0); /* its group is an author, too */
	check_answer(scratch, NULL, NULL, 0);
	assert_int_equal(scratch_run(scratch, "chmod 604 secret"), 0);
	check_answer(scratch, "answer", "p.c", 2);
	assert_int_equal(scratch_run(scratch, "chown 0 p secret; chmod 700 p; chmod 600 secret"),
			 0);
	check_answer(scratch, "answer", "p.c", 2); /* a program for root alone */
}

static void test_names_from_symbols_only(void **state)
{
	build_plain(*state, "gcc -O0 -o full p.c && cp full p");
	check_answer(*state, "answer", NULL, 0);
	assert_int_equal(scratch_run(*state, "strip p"), 0);
	check_answer(*state, NULL, NULL, 0);
	assert_int_equal(scratch_run(*state, "gcc -shared -fPIC -o full p.c && strip -o p full"),
			 0);
	check_answer(*state, "answer", NULL, 0); /* from .dynsym */
}

/* ARM's mapping symbols, as if this were ARM: at the start and in the middle of a function without
 * size. */
static void test_mapping_symbols(void **state)
{
	static const char marked[] = ".globl main, answer\n"
				     "main: ret\n"
				     "\"$d\": ret\n"
				     "answer:\n"
				     "\"$a\": nop\n"
				     "\"$x.1\": nop\n"
				     "\"$t\":\n"
				     "	ret\n"
				     ".section .note.GNU-stack,\"\",%progbits\n";
	struct symbol_name names[1];
	struct opened opened;
	uint64_t offset;

	scratch_write(*state, "p.s", marked, strlen(marked), 0644);
	assert_int_equal(scratch_run(*state, "gcc -o p p.s"), 0);
	opened = open_file(scratch_path(*state, "p"));
	offset = offset_of(opened.module, address_of(*state, "p", "answer"));
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(
			symbolizer_names(opened.symbolizer, opened.module, offset + i, names, 1),
			1);
		assert_string_equal(names[0].function, "answer");
	}
	close_file(&opened);
}

static void test_limits(void **state)
{
	struct symbol_name names[1];
	struct opened opened;
	uint64_t offset;

	build_plain(*state, "gcc -O0 -g -o p p.c");
	opened = open_file(scratch_path(*state, "p"));
	offset = offset_of(opened.module, address_of(*state, "p", "answer"));
	assert_int_equal(symbolizer_names(opened.symbolizer, opened.module, offset + 1, names, 1),
			 1);
	assert_int_equal(symbolizer_names(opened.symbolizer, opened.module, offset + 1, names, 0),
			 0);
	assert_int_equal(symbolizer_names(opened.symbolizer, opened.module, 0, names, 1), 0);
	assert_int_equal(symbolizer_names(opened.symbolizer, opened.module, UINT64_MAX, names, 1),
			 0);
	close_file(&opened);
}

/* The call is the last instruction of its line: the return address belongs to the next function. */
static void test_return_address(void **state)
{
	struct symbol_name names[FRAMES];
	struct opened opened;
	uint64_t next;

	build_plain(*state, "gcc -O0 -g -falign-functions=1 -o full p.c && cp full p");
	opened = open_file(scratch_path(*state, "p"));
	next = offset_of(opened.module, address_of(*state, "full", "main"));
	assert_int_equal(symbolizer_names(opened.symbolizer, opened.module, next, names, FRAMES),
			 1);
	assert_string_equal(names[0].function, "answer");
	assert_int_equal(names[0].line, 4);
	close_file(&opened);
}

static void name_everything(struct scratch *scratch, const char *bytes, size_t size)
{
	struct symbolizer_config config = {0};
	struct symbol_name names[FRAMES];
	struct symbolizer *symbolizer;
	struct module_table *table;
	struct module *module;
	int fd;

	scratch_write(scratch, "hostile", bytes, size, 0644);
	fd = open(scratch_path(scratch, "hostile"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(module_table_new(&table), 0);
	assert_int_equal(symbolizer_new(&symbolizer, &config), 0);
	if (module_intern(table, fd, scratch->path, &module, NULL))
		close(fd);
	else
		for (uint64_t offset = 0x1000; offset < 0x1300; offset += 23)
			symbolizer_names(symbolizer, module, offset, names, FRAMES);
	symbolizer_free(symbolizer);
	module_table_free(table);
}

/* Changes bytes pseudo-randomly, the same in every run. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void test_hostile_files(void **state)
{
	static char bytes[65536], changed[sizeof(bytes)];
	uint32_t seed = 1;
	size_t size;
	FILE *file;

	build_plain(*state, "gcc -O1 -g -o p p.c");
	file = fopen(scratch_path(*state, "p"), "r");
	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	assert_in_range(size, 1024, sizeof(bytes) - 1);
	fclose(file);
	for (size_t cut = 0; cut < size; cut += 211)
		name_everything(*state, bytes, cut);
	for (size_t round = 0; round < 3000; round += sweep_step(5)) {
		memcpy(changed, bytes, size);
		for (uint32_t i = next_random(&seed) % 20; i < 20; i++)
			changed[next_random(&seed) % size] = (char)next_random(&seed);
		name_everything(*state, changed, size);
	}
}

static void check_demangled(const char *symbol, const char *expected)
{
	char *text = demangle(symbol);

	assert_string_equal(text, expected);
	free(text);
}

static void test_demangle(void **state)
{
	(void)state;
	check_demangled("malloc", "malloc");
	check_demangled("malloc@@GLIBC_2.2.5", "malloc");
	check_demangled("", "");
	check_demangled("_Znwm", "operator new(unsigned long)");
	check_demangled("_ZN3foo3barEi", "foo::bar(int)");
	check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			"core::fmt::Write::write_fmt");
	check_demangled("_RNvC7mycrate4main", "mycrate::main");
	check_demangled("_Zwhatever", "_Zwhatever");
	check_demangled("_R", "_R");
}

/* Each parameter is twice the previous one: 2^30 words if written out. */
static void test_demangle_hostile(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char symbol[512] = "_Z1f1a4pairIS_S_E";
	char *long_symbol = malloc(100000);

	(void)state;
	for (int i = 1; i < 4; i++)
		snprintf(symbol + strlen(symbol), 16, "S0_IS%c_S%c_E", digits[i], digits[i]);
	check_demangled(symbol,
			"f(a, pair<a, a>, pair<pair<a, a>, pair<a, a> >, "
			"pair<pair<pair<a, a>, pair<a, a> >, pair<pair<a, a>, pair<a, a> > >, "
			"pair<pair<pair<pair<a, a>, pair<a, a> >, pair<pair<a, a>, pair<a, a> > >, "
			"pair<pair<pair<a, a>, pair<a, a> >, pair<pair<a, a>, pair<a, a> > > >)");
	for (int i = 4; i < 30; i++)
		snprintf(symbol + strlen(symbol), 16, "S0_IS%c_S%c_E", digits[i], digits[i]);
	check_demangled(symbol, symbol);

	assert_non_null(long_symbol);
	memset(long_symbol, 'P', 99999);
	memcpy(long_symbol, "_Z1f", 4);
	long_symbol[99999] = 0;
	check_demangled(long_symbol, long_symbol);
	free(long_symbol);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names_equal_addr2line),
		TEST(test_separate_debug_file),
		TEST(test_links_lead_nowhere_else),
		TEST(test_links_lead_to_nothing_that_the_author_cannot_read),
		TEST(test_folders),
		TEST(test_names_from_symbols_only),
		TEST(test_limits),
		TEST(test_mapping_symbols),
		TEST(test_return_address),
		TEST(test_hostile_files),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
