/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans for allocators that are compiled here, for installed ones, and for invalid files.
 *
 * Under sanitizers a fifth as many files are damaged. EXHAUSTIVE=1 damages all of them (see
 * sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdlib.h>

#include "symbol/elf/module_table.h"
#include "symbol/probe_site/plan.h"
#include "tests/unit/cross.h"
#include "tests/unit/sweep.h"

#define FLAGS "-O2 -fno-builtin -nostdlib -shared "

/* An allocator that defines malloc and the operators, as a shared object. */
static const char allocator_source[] =
	"typedef __SIZE_TYPE__ size_t;\n"
	"static char pool[4096];\n"
	"static size_t used;\n"
	"static void *take(size_t n) { void *p = pool + used; used += n; return p; }\n"
	"static void give(void *p) { if (p) used--; }\n"
	"void *malloc(size_t n) { return take(n); }\n"
	"void free(void *p) { give(p); }\n"
	"void cfree(void *) __attribute__((alias(\"free\")));\n"
	"void *memalign(size_t a, size_t n) { return take(n + a); }\n"
	"void *aligned_alloc(size_t, size_t) __attribute__((alias(\"memalign\")));\n"
	"static __attribute__((noinline, used)) void *valloc(size_t n) { return take(n); }\n"
	"static void *zeroed(size_t n, size_t m) { return take(n * m); }\n"
	"static void *pick(void) { return zeroed; }\n"
	"void *calloc(size_t, size_t) __attribute__((ifunc(\"pick\")));\n"
	/* through malloc: directly, by another operator, by a tail jump */
	"void *_Znwm(size_t n) { void *p = malloc(n); if (!p) used = 0; return p; }\n"
	"void *_Znam(size_t n) { return _Znwm(n); }\n"
	"void _ZdlPv(void *p) { free(p); }\n"
	/* not through free, but of observed blocks */
	"void _ZdaPv(void *p) { give(p); used--; }\n"
	/* on its own */
	"void *_ZnwmSt11align_val_t(size_t n, size_t a) { return take(n | a); }\n"
	"void _ZdlPvSt11align_val_t(void *p, size_t a) { give(p); used -= a; }\n"
	"void _dl_debug_state(void) { used = 0; }\n"
	"void __call_tls_dtors(void) { used = 1; }\n";

/* A library that only defines the operators. */
static const char operators_source[] = "typedef __SIZE_TYPE__ size_t;\n"
				       "void *malloc(size_t);\n"
				       "void free(void *);\n"
				       "void *_Znwm(size_t n) { return malloc(n); }\n"
				       "void *_Znam(size_t n) { return malloc(n); }\n"
				       "void _ZdlPv(void *p) { free(p); }\n";

static const char linker_source[] = "char _rtld_global[8];\n"
				    "void *malloc(__SIZE_TYPE__ n) { return _rtld_global + n; }\n"
				    "void _dl_debug_state(void) { _rtld_global[0] = 1; }\n";

struct planned {
	struct module_table *table;
	struct module *module;
	const struct probe_plan *plan;
};

static struct planned plan_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct planned planned;
	struct error err;

	assert_true(fd >= 0);
	assert_int_equal(module_table_new(&planned.table), 0);
	if (module_intern(planned.table, fd, path, &planned.module, &err) ||
	    probe_plan_make(planned.module, &planned.plan, &err))
		fail_msg("%s", err.text);
	assert_ptr_equal(planned.plan, planned.module->plan);
	return planned;
}

static struct planned plan_source(struct scratch *scratch, const char *source, const char *command)
{
	scratch_write(scratch, "a.c", source, strlen(source), 0644);
	assert_int_equal(scratch_run(scratch, command), 0);
	return plan_file(scratch_path(scratch, "a.so"));
}

static const struct probe_site *site_of(const struct planned *planned, const char *symbol)
{
	for (size_t i = 0; i < planned->plan->site_count; i++)
		if (!strcmp(planned->plan->sites[i].symbol, symbol))
			return &planned->plan->sites[i];
	return NULL;
}

static const char *refusal_of(const struct planned *planned, const char *symbol)
{
	for (size_t i = 0; i < planned->plan->refusal_count; i++)
		if (!strcmp(planned->plan->refusals[i].symbol, symbol))
			return planned->plan->refusals[i].reason;
	return NULL;
}

static size_t count_wrappers(const struct planned *planned, enum api api)
{
	size_t count = 0;

	for (size_t i = 0; i < planned->plan->wrapper_count; i++) {
		assert_true(planned->plan->wrappers[i].start < planned->plan->wrappers[i].end);
		count += planned->plan->wrappers[i].api == api;
	}
	return count;
}

/* Operators are marked in code of any machine. A pointer to Thumb code says that it is one. */
static void check_mark_of(struct scratch *scratch, const char *command, bool thumb)
{
	static const char source[] = "void free(void *block);\n"
				     "void _ZdlPvj(void *block, unsigned int size)\n"
				     "{\n"
				     "	(void)size;\n"
				     "	free(block);\n"
				     "}\n";
	struct planned planned = plan_source(scratch, source, command);
	const struct probe_mark *mark = planned.plan->marks;

	assert_int_equal(planned.plan->mark_count, 1);
	assert_int_equal(mark->api, API_DELETE);
	assert_int_equal(mark->passed_size, 1);
	assert_int_equal(mark->aligned, -1);
	assert_int_equal(mark->thumb, thumb);
	assert_int_equal(mark->entry & 1, 0);
	module_table_free(planned.table);
}

static void test_marks_of_other_machines(void **state)
{
	check_mark_of(*state, "gcc -m32 -O1 -shared -nostdlib -fPIC -o a.so a.c", false);
	cross_require("arm-linux-gnueabihf-gcc");
	check_mark_of(*state, "arm-linux-gnueabihf-gcc -mthumb -shared -nostdlib -o a.so a.c",
		      true);
	check_mark_of(*state, "arm-linux-gnueabihf-gcc -marm -shared -nostdlib -o a.so a.c", false);
}

static void check_allocator(const struct planned *planned)
{
	const struct probe_site *site = site_of(planned, "malloc");

	assert_true(planned->plan->allocator);
	assert_true(planned->plan->hooks[HOOK_LINK_MAP] > 0);
	assert_true(planned->plan->hooks[HOOK_THREAD_EXITS] > 0);
	assert_non_null(site);
	assert_int_equal(site->api, API_MALLOC);
	assert_true(site->needs_return);
	assert_non_null(site_of(planned, "free"));
	assert_false(site_of(planned, "free")->needs_return);
	assert_null(site_of(planned, "cfree"));
	assert_non_null(site_of(planned, "aligned_alloc"));
	assert_null(site_of(planned, "memalign"));
	assert_null(site_of(planned, "valloc"));
	assert_non_null(strstr(refusal_of(planned, "calloc"), "indirect"));
}

static void check_operators(const struct planned *planned)
{
	assert_int_equal(count_wrappers(planned, API_NEW), 1);
	assert_int_equal(count_wrappers(planned, API_NEW_ARRAY), 1);
	assert_int_equal(count_wrappers(planned, API_DELETE), 1);
	assert_int_equal(count_wrappers(planned, API_DELETE_ARRAY), 0);
	assert_non_null(site_of(planned, "_ZdaPv"));
	assert_false(site_of(planned, "_ZdaPv")->needs_return);
	assert_true(site_of(planned, "_ZnwmSt11align_val_t")->by_exits);
	assert_false(site_of(planned, "_ZnwmSt11align_val_t")->needs_return);
	assert_true(planned->plan->exit_count > 0);
	assert_non_null(site_of(planned, "_ZdlPvSt11align_val_t"));
	assert_int_equal(planned->plan->site_count, 6);
	assert_int_equal(planned->plan->refusal_count, 1);
}

/* Works however calls within the library are bound. */
static void test_allocator(void **state)
{
	static const char *const commands[] = {
		"gcc " FLAGS "-fPIC -o a.so a.c",
		"gcc " FLAGS "-fPIC -Wl,-z,now -fcf-protection -o a.so a.c",
		"gcc " FLAGS "-fPIC -fno-plt -o a.so a.c",
		"gcc " FLAGS "-fPIC -Wl,-Bsymbolic -o a.so a.c",
		"gcc " FLAGS "-fPIC -fno-inline -o a.so a.c && strip a.so",
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct planned planned = plan_source(*state, allocator_source, commands[i]);

		check_allocator(&planned);
		check_operators(&planned);
		module_table_free(planned.table);
	}
}

/* Operators new as implemented by allocators: each is probed once, and none twice. */
static void test_kinds_of_operator_new(void **state)
{
	static const char source[] =
		"typedef __SIZE_TYPE__ size_t;\n"
		"char pool[4096], *free_list; size_t used;\n"
		"void *(*handler)(size_t);\n"
		"void *malloc(size_t n) { char *p = pool + used; used += n; return p; }\n"
		/* its own fast path, then malloc */
		"void *_Znwm(size_t n) { char *p = free_list;\n"
		"	if (p) { free_list = *(char **)p; return p; } return malloc(n); }\n"
		/* always jumps to that one */
		"void *_Znam(size_t n) { used++; return _Znwm(n); }\n"
		/* jumps to an unknown target, or returns */
		"void *_ZnwmRKSt9nothrow_t(size_t n, void *t) {\n"
		"	if (n > 99) return handler(n); used -= n; return pool + used; }\n"
		/* calls malloc, but not always */
		"void *_ZnamRKSt9nothrow_t(size_t n, void *t) {\n"
		"	if (!n) return pool; n = 1 + (size_t)malloc(n); return (void *)n; }\n"
		/* its code jumps to its entry */
		"asm(\".globl _ZnwmSt11align_val_t; .type _ZnwmSt11align_val_t, @function\\n\"\n"
		"    \"_ZnwmSt11align_val_t: .cfi_startproc\\n push %rbx; pop %rbx\\n\"\n"
		"    \"test %rax, %rax; jne 1f; jmp _ZnwmSt11align_val_t@PLT; 1: ret\\n\"\n"
		"    \".cfi_endproc; .size _ZnwmSt11align_val_t, . - _ZnwmSt11align_val_t\");\n";
	struct planned planned = plan_source(*state, source, "gcc " FLAGS "-fPIC -o a.so a.c");
	const char *const own[] = {"_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"};
	unsigned int handed_over = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		assert_non_null(site_of(&planned, own[i]));
		assert_true(site_of(&planned, own[i])->by_exits);
	}
	assert_null(site_of(&planned, "_Znam"));
	assert_int_equal(count_wrappers(&planned, API_NEW_ARRAY), 1);
	assert_int_equal(count_wrappers(&planned, API_NEW), 0);
	assert_non_null(strstr(refusal_of(&planned, "_ZnwmSt11align_val_t"), "its own entry"));
	for (size_t i = 0; i < planned.plan->exit_count; i++)
		handed_over += planned.plan->exits[i].kind == EXIT_HANDS_OVER;
	assert_int_equal(handed_over, 1);
	module_table_free(planned.table);
}

/* A function that frees by calling another one is not a second free. */
static void test_free_that_calls_free(void **state)
{
	static const char source[] = "void free(void *p) { asm volatile(\"\" : : \"r\"(p)); }\n"
				     "void cfree(void *p) { free(p); }\n"
				     "void *malloc(__SIZE_TYPE__ n) { return (void *)n; }\n";
	struct planned planned = plan_source(*state, source, "gcc " FLAGS "-fPIC -o a.so a.c");

	assert_int_equal(planned.plan->site_count, 2);
	assert_null(site_of(&planned, "cfree"));
	assert_int_equal(planned.plan->refusal_count, 0);
	module_table_free(planned.table);
}

/* _Znwm is for 64-bit objects. On i386, operator new takes an unsigned int, and is called _Znwj. */
static void test_allocator_i386(void **state)
{
	static const char command[] = "sed -i 's/_Znwm/_Znwj/; s/_Znam/_Znaj/; s/return _Znwm/"
				      "return _Znwj/' a.c && gcc -m32 " FLAGS "-fPIC -o a.so a.c";
	struct planned planned;

	scratch_write(*state, "a.c", "int a;", 6, 0644);
	if (scratch_run(*state, "gcc -m32 " FLAGS "-o a.so a.c")) {
		print_message("skipped: the compiler makes no i386 code\n");
		skip();
	}
	planned = plan_source(*state, allocator_source, command);
	assert_false(planned.module->elf64);
	check_allocator(&planned);
	assert_int_equal(count_wrappers(&planned, API_NEW), 1);
	assert_int_equal(count_wrappers(&planned, API_NEW_ARRAY), 1);
	assert_int_equal(count_wrappers(&planned, API_DELETE), 1);
	module_table_free(planned.table);
}

static void test_library_with_operators_only(void **state)
{
	struct planned planned =
		plan_source(*state, operators_source, "gcc " FLAGS "-fPIC -o a.so a.c");

	assert_false(planned.plan->allocator);
	assert_int_equal(planned.plan->site_count, 0);
	assert_int_equal(planned.plan->refusal_count, 0);
	assert_int_equal(planned.plan->wrapper_count, 3);
	module_table_free(planned.table);
}

/* As in libbsd: realloc is in another library, and is seen there. */
static void test_library_with_reallocarray_only(void **state)
{
	static const char source[] = "void *realloc(void *, unsigned long);\n"
				     "void *reallocarray(void *p, unsigned long n, unsigned long s)"
				     "{ return realloc(p, n * s); }\n";
	struct planned planned = plan_source(*state, source, "gcc " FLAGS "-fPIC -o a.so a.c");

	assert_int_equal(planned.plan->site_count, 0);
	assert_int_equal(planned.plan->refusal_count, 0);
	module_table_free(planned.table);
}

static void test_static_program(void **state)
{
	static const char source[] = "int main() { delete new int; return 0; }";
	struct planned planned = plan_source(*state, source, "g++ -x c++ -O0 -static -o a.so a.c");

	assert_true(planned.plan->allocator);
	assert_non_null(site_of(&planned, "malloc"));
	assert_true(count_wrappers(&planned, API_NEW) > 0);
	assert_true(count_wrappers(&planned, API_DELETE) > 0);
	assert_null(refusal_of(&planned, "_Znwm"));
	module_table_free(planned.table);
}

static void test_glibc_linker(void **state)
{
	struct planned planned =
		plan_source(*state, linker_source, "gcc " FLAGS "-fPIC -o a.so a.c");

	assert_false(planned.plan->allocator);
	assert_int_equal(planned.plan->site_count, 0);
	assert_true(planned.plan->hooks[HOOK_LINK_MAP] > 0);
	assert_int_equal(planned.plan->hooks[HOOK_THREAD_EXITS], 0);
	module_table_free(planned.table);
}

/* A function without a size extends to the next symbol. */
static void test_no_size(void **state)
{
	static const char source[] = "asm(\".globl malloc, next; .type malloc, @function;\"\n"
				     "    \".type next, @function;\"\n"
				     "    \"malloc: test %rdi, %rdi; je 1f; 1: ret;\"\n"
				     "    \"next: .byte 6, 6, 6, 6\");\n";
	struct planned planned = plan_source(*state, source, "gcc " FLAGS "-o a.so a.c");

	assert_int_equal(planned.plan->site_count, 1);
	assert_int_equal(planned.plan->sites[0].offset - planned.plan->sites[0].entry, 3);
	assert_int_equal(planned.plan->sites[0].original, 0x74);
	module_table_free(planned.table);
}

static void test_nothing(void **state)
{
	struct planned planned =
		plan_source(*state, "int nothing;", "gcc " FLAGS "-fPIC -o a.so a.c");

	assert_false(planned.plan->allocator);
	assert_int_equal(planned.plan->site_count + planned.plan->wrapper_count +
				 planned.plan->refusal_count + planned.plan->hooks[HOOK_LINK_MAP],
			 0);
	module_table_free(planned.table);
}

/* What holds for every plan. */
static void check_sites(const struct planned *planned)
{
	const struct probe_plan *plan = planned->plan;

	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];
		uint8_t byte;

		assert_true(!i || site->offset > plan->sites[i - 1].offset);
		assert_in_range(site->offset - site->entry, 0, 64);
		assert_int_equal(pread(planned->module->fd, &byte, 1, (off_t)site->offset), 1);
		assert_int_equal(site->original, byte);
		assert_string_not_equal(site->instruction, "");
		assert_string_not_equal(site->reason, "");
		assert_int_equal(site->needs_return || site->by_exits, api_needs_return(site->api));
		assert_int_equal(site->by_exits, api_row(site->api)->throws);
		print_message("%s+%d: %s (%s)\n", site->symbol, (int)(site->offset - site->entry),
			      site->instruction, site->reason);
	}
}

static void check_exits(const struct planned *planned)
{
	const struct probe_plan *plan = planned->plan;

	for (size_t i = 0; i < plan->exit_count; i++) {
		const struct probe_exit *exit = &plan->exits[i];
		uint8_t byte;

		assert_true(!i || exit->offset > plan->exits[i - 1].offset);
		assert_int_equal(pread(planned->module->fd, &byte, 1, (off_t)exit->offset), 1);
		assert_int_equal(exit->original, byte);
		if (exit->kind == EXIT_RETURN)
			assert_int_equal(byte, 0xc3);
	}
}

static const char *libc_path(void)
{
	Dl_info info;

	assert_true(dladdr((void *)gnu_get_libc_version, &info));
	return info.dli_fname;
}

static void test_libc(void **state)
{
	static const char *const required[] = {"malloc",         "calloc", "realloc", "free",
					       "posix_memalign", "mmap",   "munmap",  "mremap"};
	struct planned planned = plan_file(libc_path());
	const struct probe_site *site;

	(void)state;
	assert_true(planned.plan->allocator);
	assert_int_equal(planned.plan->refusal_count, 0);
	check_sites(&planned);
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		assert_non_null(site_of(&planned, required[i]));
	assert_null(site_of(&planned, "cfree"));
	assert_null(site_of(&planned, "mmap64"));
	site = site_of(&planned, "free");
	if (planned.module->machine == 62 && !strncmp(gnu_get_libc_version(), "2.36", 4)) {
		assert_int_equal(site->offset - site->entry, 3);
		assert_true(site->emulated);
		assert_true(site_of(&planned, "malloc")->emulated);
	}
	module_table_free(planned.table);
}

/* Gates are possible at all functions of the C library that handle blocks, and at no other. */
static void test_gates(void **state)
{
	struct planned planned = {0};
	struct error err;

	(void)state;
	if (!arch_gate(EM_X86_64, false))
		skip();
	assert_int_equal(module_table_new(&planned.table), 0);
	assert_int_equal(module_intern(planned.table, open(libc_path(), O_RDONLY | O_CLOEXEC),
				       libc_path(), &planned.module, &err),
			 0);
	planned.module->wants_gates = true;
	assert_int_equal(probe_plan_make(planned.module, &planned.plan, &err), 0);
	for (size_t i = 0; i < planned.plan->site_count; i++) {
		const struct probe_site *site = &planned.plan->sites[i];
		bool heap = api_row(site->api)->family == FAMILY_HEAP;

		assert_int_equal(site->gate.refusal, GATE_POSSIBLE);
		assert_int_equal(site->gate.size != 0, heap);
		assert_true(!heap || site->gate.end > site->gate.offset + site->gate.size);
	}
	module_table_free(planned.table);
}

/* Asks the compiler for the library. If it is not installed, the name comes back unchanged. */
static bool find_library(const char *name, char *path, size_t size)
{
	char command[128];
	FILE *pipe;
	bool found;

	snprintf(command, sizeof(command), "gcc -print-file-name=%s", name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	found = fgets(path, (int)size, pipe) && path[0] == '/';
	pclose(pipe);
	path[strcspn(path, "\n")] = 0;
	return found;
}

static void test_installed_allocators(void **state)
{
	static const char *const names[] = {"libjemalloc.so.2",         "libtcmalloc.so.4",
					    "libtcmalloc_minimal.so.4", "libtcmalloc_debug.so.4",
					    "libmimalloc.so.2",         "libasan.so"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct planned planned;
		char path[PATH_MAX];

		if (!find_library(names[i], path, sizeof(path))) {
			print_message("%s is not installed\n", names[i]);
			continue;
		}
		print_message("%s\n", path);
		planned = plan_file(path);
		assert_true(planned.plan->allocator);
		assert_non_null(site_of(&planned, "malloc"));
		assert_non_null(site_of(&planned, "free"));
		assert_int_equal(planned.plan->refusal_count, 0);
		check_sites(&planned);
		check_exits(&planned);
		module_table_free(planned.table);
	}
}

static void test_libstdcxx(void **state)
{
	struct planned planned;
	char path[PATH_MAX];

	(void)state;
	if (!find_library("libstdc++.so.6", path, sizeof(path))) {
		print_message("skipped: libstdc++ is not installed\n");
		skip();
	}
	planned = plan_file(path);
	assert_int_equal(planned.plan->site_count, 0);
	assert_int_equal(planned.plan->refusal_count, 0);
	assert_true(count_wrappers(&planned, API_NEW) >= 4);
	assert_true(count_wrappers(&planned, API_DELETE_ARRAY) >= 4);
	module_table_free(planned.table);
}

static void plan_hostile(struct scratch *scratch, const char *bytes, size_t size)
{
	struct module_table *table;
	const struct probe_plan *plan;
	struct module *module;
	struct error err;
	int fd;

	scratch_write(scratch, "hostile", bytes, size, 0644);
	fd = open(scratch_path(scratch, "hostile"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(module_table_new(&table), 0);
	if (module_intern(table, fd, "hostile", &module, &err))
		close(fd);
	else
		probe_plan_make(module, &plan, &err);
	module_table_free(table);
}

/* Truncated files, and files with changed bytes, only give errors or odd plans. */
static void test_hostile_files(void **state)
{
	struct planned planned =
		plan_source(*state, allocator_source, "gcc " FLAGS "-fPIC -o a.so a.c");
	off_t size = lseek(planned.module->fd, 0, SEEK_END), step = (off_t)sweep_step(5);
	char *bytes = malloc((size_t)size);

	assert_non_null(bytes);
	assert_int_equal(pread(planned.module->fd, bytes, (size_t)size, 0), size);
	for (off_t cut = 0; cut < size; cut += 97 * step)
		plan_hostile(*state, bytes, (size_t)cut);
	for (off_t i = 0; i < size; i += step * (i < 1024 ? 1 : 61)) {
		char was = bytes[i];

		bytes[i] ^= (char)(1 << i % 8);
		plan_hostile(*state, bytes, (size_t)size);
		bytes[i] = (char)0xff;
		plan_hostile(*state, bytes, (size_t)size);
		bytes[i] = was;
	}
	free(bytes);
	module_table_free(planned.table);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_allocator),
		TEST(test_kinds_of_operator_new),
		TEST(test_free_that_calls_free),
		TEST(test_allocator_i386),
		TEST(test_library_with_operators_only),
		TEST(test_marks_of_other_machines),
		TEST(test_library_with_reallocarray_only),
		TEST(test_static_program),
		TEST(test_glibc_linker),
		TEST(test_no_size),
		TEST(test_nothing),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_installed_allocators),
		cmocka_unit_test(test_libstdcxx),
		TEST(test_hostile_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
