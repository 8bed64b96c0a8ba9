// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of whole programs for other machines. The program (tests/unit/cross/chain.c) runs under
 * emulation, and dumps its stack and the return addresses that must be found on it. The walk is
 * done here, with the tables of the program's modules, as from a probe at a function's entry.
 *
 * Under sanitizers only every fourth combination of compiler and flags is tried. EXHAUSTIVE=1 tries
 * all of them (see sweep.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/unwind_link.h"
#include "symbol/cfi/machine.h"
#include "symbol/cfi_table.h"
#include "tests/unit/cross.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sweep.h"

#define STACK_MAX  0x10000
#define FRAMES_MAX 64
#define CODE_BYTES 16

/* The tables of a file, kept for later walks: building them takes far longer than a walk. */
struct module {
	struct module *next;
	char path[PATH_MAX];
	struct stat status;
	struct cfi_table tables[2]; /* pruned, full */
};

static struct module *modules;

struct mapping {
	uint64_t start, end, offset;
	char path[512];
	const struct module *module; /* NULL until a walk needs it */
};

struct code {
	uint64_t address;
	uint8_t bytes[CODE_BYTES];
};

/* The program's dump. */
struct dump {
	const char *root; /* of the program's file system */
	unsigned int machine;
	bool is_big;
	const struct unwind_abi *abi;
	struct mapping mappings[64];
	size_t mapping_count;
	struct code codes[FRAMES_MAX];
	size_t code_count;
	uint64_t expected[FRAMES_MAX];
	size_t expected_count;
	struct unwind_linked start;
	uint64_t stack;
	uint8_t bytes[STACK_MAX];
	size_t size;
};

static int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address, abi_u64 *ret_word)
{
	const struct dump *dump = ctx;
	uint64_t at = address - dump->stack;

	*ret_word = 0;
	if (at >= dump->size || dump->size - at < abi->word)
		return -1;
	for (unsigned int i = 0; i < abi->word; i++)
		*ret_word |= (uint64_t)dump->bytes[at + i]
			     << 8 * (dump->is_big ? abi->word - 1 - i : i);
	return 0;
}

/*
 * The file.
 */

static size_t read_hex(const char *text, uint8_t *bytes, size_t max)
{
	size_t count = 0;
	unsigned int byte;

	while (count < max && sscanf(text + 2 * count, "%2x", &byte) == 1)
		bytes[count++] = (uint8_t)byte;
	return count;
}

static void read_map(struct dump *dump, const char *line)
{
	struct mapping *mapping = &dump->mappings[dump->mapping_count];
	unsigned long long start, end, offset;
	char mode[8];

	mapping->path[0] = 0;
	if (dump->mapping_count == 64 || sscanf(line, "map %llx-%llx %7s %llx %*s %*s %511s",
						&start, &end, mode, &offset, mapping->path) < 4)
		return;
	mapping->start = start;
	mapping->end = end;
	mapping->offset = offset;
	if (mode[2] == 'x')
		dump->mapping_count++;
}

static void read_registers(struct dump *dump, const char *line)
{
	unsigned long long ip, sp, bp, second;

	assert_int_equal(sscanf(line, "registers %llx %llx %llx %llx", &ip, &sp, &bp, &second), 4);
	dump->start = (struct unwind_linked){
		.frame = {.sp = sp, .bp = bp},
		.link = {.place = UNWIND_BP_UNKNOWN},
		.second = {.value = second},
	};
	unwind_link_set_ip(dump->abi, ip, &dump->start);
}

static void read_expected(struct dump *dump, char *line)
{
	char *state, *word = strtok_r(line + strlen("expected"), " \n", &state);

	for (; word && dump->expected_count < FRAMES_MAX; word = strtok_r(NULL, " \n", &state))
		dump->expected[dump->expected_count++] =
			strtoull(word, NULL, 16) & dump->abi->ip_mask;
}

static void read_line(struct dump *dump, char *line)
{
	char *at;
	int skip = 0;
	unsigned long long address;

	if (!strncmp(line, "map ", 4))
		read_map(dump, line);
	else if (!strncmp(line, "registers ", 10))
		read_registers(dump, line);
	else if (!strncmp(line, "expected", 8))
		read_expected(dump, line);
	else if (sscanf(line, "stack %llx %n", &address, &skip) == 1) {
		dump->stack = address;
		dump->size = read_hex(line + skip, dump->bytes, STACK_MAX);
	} else if (sscanf(line, "code %llx %n", &address, &skip) == 1) {
		struct code *code = &dump->codes[dump->code_count++];

		at = line + skip;
		code->address = address;
		read_hex(at, code->bytes, CODE_BYTES);
	}
}

static void read_dump(struct dump *dump, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	assert_non_null(file);
	while (getline(&line, &size, file) > 0)
		read_line(dump, line);
	free(line);
	fclose(file);
	assert_true(dump->size > 0 && dump->expected_count > 3 && dump->mapping_count > 0);
}

/*
 * The walk.
 */

/* Each build of the program has the same path, and may have the same inode number. */
static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void build_tables(struct module *module)
{
	int fd = open(module->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	for (int full = 0; full < 2; full++)
		assert_int_equal(cfi_table_build(fd, full, &module->tables[full], NULL), 0);
	close(fd);
}

static void free_tables(struct module *module)
{
	cfi_table_free(&module->tables[0]);
	cfi_table_free(&module->tables[1]);
}

/* A file that cannot be opened has empty tables. */
static const struct module *find_module(const char *root, const char *name)
{
	struct module *module = modules;
	struct stat status = {0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, name);
	stat(path, &status);
	while (module && strcmp(module->path, path))
		module = module->next;
	if (module && is_unchanged(&module->status, &status))
		return module;
	if (!module) {
		module = calloc(1, sizeof(*module));
		assert_non_null(module);
		strcpy(module->path, path);
		module->next = modules;
		modules = module;
	}
	free_tables(module);
	module->status = status;
	build_tables(module);
	return module;
}

static int free_modules(void **state)
{
	(void)state;
	while (modules) {
		struct module *module = modules;

		modules = module->next;
		free_tables(module);
		free(module);
	}
	return 0;
}

/* Code that is in no file: returns a row if it is a signal trampoline. */
static struct unwind_row code_row(const struct dump *dump, uint64_t ip)
{
	struct unwind_row row = {.kinds = UNWIND_CFA_GAP};

	for (size_t i = 0; i < dump->code_count; i++)
		if (dump->codes[i].address == ip)
			cfi_trampoline_row(dump->machine, dump->codes[i].bytes, CODE_BYTES, &row);
	return row;
}

static struct unwind_row find_row(struct dump *dump, uint64_t ip, bool is_interrupted)
{
	uint64_t address = ip - !is_interrupted;

	for (size_t i = 0; i < dump->mapping_count; i++) {
		struct mapping *mapping = &dump->mappings[i];

		if (address < mapping->start || address >= mapping->end || mapping->path[0] != '/')
			continue;
		if (!mapping->module)
			mapping->module = find_module(dump->root, mapping->path);
		return *cfi_table_find(&mapping->module->tables[is_interrupted],
				       address - mapping->start + mapping->offset);
	}
	return code_row(dump, ip);
}

struct walked {
	uint64_t frames[FRAMES_MAX];
	size_t count;
	enum unwind_result result;
	unsigned int signals;
};

static void walk(struct dump *dump, struct walked *walked)
{
	struct unwind_linked linked = dump->start;
	bool is_interrupted = false;

	*walked = (struct walked){0};
	while (walked->count < FRAMES_MAX) {
		struct unwind_row row = find_row(dump, linked.frame.ip, is_interrupted);

		walked->frames[walked->count++] = linked.frame.ip;
		walked->result = is_interrupted ? unwind_any_step(dump, dump->abi, &row, &linked)
						: unwind_call_step(dump, dump->abi, &row, &linked);
		is_interrupted = walked->result == UNWIND_INTERRUPTED;
		walked->signals += is_interrupted;
		if (walked->result && !is_interrupted)
			return;
	}
}

static void print_walk(const struct dump *dump, const struct walked *walked)
{
	print_error("ended by %d; frames:", walked->result);
	for (size_t i = 0; i < walked->count; i++)
		print_error(" %llx", (unsigned long long)walked->frames[i]);
	print_error("\nexpected:");
	for (size_t i = 0; i < dump->expected_count; i++)
		print_error(" %llx", (unsigned long long)dump->expected[i]);
	print_error("\n");
	for (size_t i = 0; i < dump->mapping_count; i++)
		print_error("%llx-%llx %llx %s\n", (unsigned long long)dump->mappings[i].start,
			    (unsigned long long)dump->mappings[i].end,
			    (unsigned long long)dump->mappings[i].offset, dump->mappings[i].path);
}

/* On Arm, the start code of glibc's threads has no unwind information, so the stack may end
 * there. */
static bool is_end(const struct dump *dump, const struct walked *walked)
{
	return walked->result == UNWIND_END ||
	       (walked->result == UNWIND_NO_TABLE && dump->abi->link == UNWIND_LINK_PUSHED &&
		walked->frames[walked->count - 1] == dump->expected[dump->expected_count - 1]);
}

/* All expected frames were found in order, and the stack ends where it should. */
static void check_walk(struct dump *dump, bool by_signal, const char *command)
{
	struct walked walked;
	size_t found = 0;

	walk(dump, &walked);
	for (size_t i = 0; i < walked.count && found < dump->expected_count; i++)
		found += walked.frames[i] == dump->expected[found];
	if (found < dump->expected_count || !is_end(dump, &walked) || walked.signals != by_signal) {
		print_walk(dump, &walked);
		fail_msg("%s: %zu of %zu frames, %u signals", command, found, dump->expected_count,
			 walked.signals);
	}
}

/*
 * Programs.
 */

struct machine {
	const char *compiler;
	const char *emulator;
	const struct unwind_abi *abi;
	unsigned int number;
	bool is_big;
};

static const struct machine aarch64 = {"aarch64-linux-gnu", "qemu-aarch64", &unwind_abi_aarch64,
				       EM_AARCH64, false};
static const struct machine hard = {"arm-linux-gnueabihf", "qemu-arm", &unwind_abi_arm, EM_ARM,
				    false};
static const struct machine soft = {"arm-linux-gnueabi", "qemu-arm", &unwind_abi_arm, EM_ARM,
				    false};
static const struct machine powerpc = {"powerpc-linux-gnu", "qemu-ppc", &unwind_abi_powerpc, EM_PPC,
				       true};

static void check_dump(const struct machine *machine, bool by_signal, const char *path,
		       const char *root, const char *name)
{
	struct dump *dump = calloc(1, sizeof(*dump));

	assert_non_null(dump);
	dump->root = root;
	dump->machine = machine->number;
	dump->abi = machine->abi;
	dump->is_big = machine->is_big;
	read_dump(dump, path);
	check_walk(dump, by_signal, name);
	free(dump);
}

static void check_run(struct scratch *scratch, const struct machine *machine, const char *how,
		      const char *command)
{
	char run[512];

	snprintf(run, sizeof(run), "timeout 60 %s -L /usr/%s ./chain dump %s", machine->emulator,
		 machine->compiler, how);
	if (scratch_run(scratch, run))
		fail_msg("%s; %s", command, run);
	check_dump(machine, *how == 's', scratch_path(scratch, "dump"), "", command);
}

/* Without unwind information, stacks do not lead through signal frames. */
static void check_machine(struct scratch *scratch, const struct machine *machine, bool is_described,
			  const char *extra)
{
	static const char *const optimisations[] = {"-O0", "-O1", "-O2", "-Os",
						    "-O2 -fno-omit-frame-pointer"};
	static size_t builds;
	char command[512];

	snprintf(command, sizeof(command), "%s-gcc", machine->compiler);
	cross_require(command);
	cross_require(machine->emulator);
	for (size_t i = 0; i < sizeof(optimisations) / sizeof(optimisations[0]); i++) {
		if (!sweep_takes(&builds, 4))
			continue;
		snprintf(command, sizeof(command),
			 "%s-gcc -pthread -fno-optimize-sibling-calls %s %s -o chain",
			 machine->compiler, optimisations[i], extra);
		cross_build(scratch, command, "chain.c");
		check_run(scratch, machine, "", command);
		check_run(scratch, machine, "thread", command);
		if (!is_described)
			continue;
		check_run(scratch, machine, "signal", command);
		check_run(scratch, machine, "siginfo", command);
	}
}

static void test_aarch64(void **state)
{
	check_machine(*state, &aarch64, true, "");
	check_machine(*state, &aarch64, true, "-mbranch-protection=standard");
}

static void test_aarch64_static(void **state)
{
	check_machine(*state, &aarch64, true, "-static");
}

static void test_thumb(void **state)
{
	check_machine(*state, &hard, true, "-mthumb -funwind-tables");
}

/* The C library is Thumb code. */
static void test_arm_on_thumb(void **state)
{
	check_machine(*state, &hard, true, "-marm -funwind-tables");
}

static void test_arm(void **state)
{
	check_machine(*state, &soft, true, "-marm -funwind-tables");
}

static void test_arm_debug_frame(void **state)
{
	check_machine(*state, &hard, true, "-mthumb -g");
}

static void test_powerpc(void **state)
{
	check_machine(*state, &powerpc, true, "");
}

/* Uses the back chain only. */
static void test_powerpc_bare(void **state)
{
	check_machine(*state, &powerpc, false,
		      "-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions");
}

/* Checks a dump that was made elsewhere, for example on another kernel: test_unwind_cross COMPILER
 * DUMP SIGNALS ROOT */
static int check_file(char **arguments)
{
	static const struct machine *const machines[] = {&aarch64, &hard, &soft, &powerpc};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strcmp(machines[i]->compiler, arguments[0]))
			check_dump(machines[i], atoi(arguments[2]), arguments[1], arguments[3],
				   arguments[1]);
	return free_modules(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_aarch64, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_aarch64_static, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_thumb, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_arm_on_thumb, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_arm, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_arm_debug_frame, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_powerpc, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_powerpc_bare, scratch_setup, scratch_teardown),
	};

	if (argc == 5)
		return check_file(argv + 1);
	return cmocka_run_group_tests(tests, NULL, free_modules);
}
