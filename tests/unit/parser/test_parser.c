/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser process gives the same answers as the parsers themselves, can do nothing else, and if
 * it fails, only the names of one file are lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/log.h"
#include "os/process/proc.h"
#include "parser/client/prefetch.h"
#include "parser/client/client.h"
#include "parser/server/server.h"
#include "parser/wire/channel.h"
#include "parser/wire/protocol.h"
#include "symbol/elf/module_read.h"
#include "symbol/elf/module_table.h"
#include "tests/unit/parser/bad_parsers.h"
#include "tests/unit/scratch.h"

#define NS_PER_MS   1000000ULL
#define PATIENCE_NS (500 * NS_PER_MS)
#define PLACES      3000

/* An open file in the module table of a parser. */
struct subject {
	struct parser *parser;
	struct module_table *table;
	struct module *module;
};

static void start(struct subject *subject, const struct parser_config *config)
{
	struct error err;

	assert_int_equal(parser_start(&subject->parser, config), 0);
	if (parser_check(subject->parser, &err))
		fail_msg("%s", err.text);
	assert_int_equal(module_table_new(&subject->table), 0);
	module_table_set_reader(subject->table,
				(struct module_reader){parser_read_module, subject->parser});
}

static int intern(struct subject *subject, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct error err;
	int code;

	assert_true(fd >= 0);
	code = module_intern(subject->table, fd, path, &subject->module, &err);
	if (code)
		close(fd);
	return code;
}

/* The process must be gone, and not even be a zombie. */
static void check_gone(pid_t pid)
{
	for (int i = 0; i < 500 && !kill(pid, 0); i++)
		poll(NULL, 0, 10);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void stop(struct subject *subject)
{
	pid_t pid = parser_pid(subject->parser);

	module_table_free(subject->table);
	parser_stop(subject->parser);
	check_gone(pid);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

static void build(struct scratch *scratch)
{
	assert_int_equal(scratch_run(scratch, "printf 'int f(int n) { return n * 42; }\\n"
					      "int main(int count, char **arguments) "
					      "{ return f(count + !arguments); }\\n' > p.c && "
					      "gcc -g -O0 -o good p.c && cp good bad"),
			 0);
}

static const char *own_libc(void)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
					    "/proc/self/exe"};
	size_t i = 0;

	while (access(paths[i], R_OK))
		i++;
	return paths[i];
}

/*
 * Answers.
 */

static void test_module(void **state)
{
	const struct parser_config config = {0};
	struct module direct = {0};
	struct subject subject;

	(void)state;
	start(&subject, &config);
	assert_int_equal(intern(&subject, own_libc()), 0);
	direct.fd = subject.module->fd;
	assert_int_equal(module_read(&direct, NULL), 0);
	assert_string_equal(direct.build_id, subject.module->build_id);
	assert_int_equal(direct.machine, subject.module->machine);
	assert_int_equal(direct.segment_count, subject.module->segment_count);
	for (size_t i = 0; i < direct.segment_count; i++) {
		assert_int_equal(direct.segments[i].vaddr, subject.module->segments[i].vaddr);
		assert_int_equal(direct.segments[i].size, subject.module->segments[i].size);
	}
	assert_int_equal(intern(&subject, "/etc/passwd"), -ENOEXEC);
	free(direct.segments);
	stop(&subject);
}

static void test_plan(void **state)
{
	const struct parser_config config = {0};
	const struct probe_plan *plan, *again, *direct;
	struct subject subject;
	struct module module;

	(void)state;
	start(&subject, &config);
	assert_int_equal(intern(&subject, own_libc()), 0);
	module = *subject.module;
	assert_int_equal(parser_plan(subject.parser, subject.module, &plan, NULL), 0);
	assert_int_equal(parser_plan(subject.parser, subject.module, &again, NULL), 0);
	assert_ptr_equal(plan, again);
	assert_int_equal(probe_plan_make(&module, &direct, NULL), 0);
	assert_int_equal(plan->site_count, direct->site_count);
	assert_int_equal(plan->allocator, direct->allocator);
	assert_memory_equal(plan->hooks, direct->hooks, sizeof(plan->hooks));
	for (size_t i = 0; i < plan->site_count; i++) {
		assert_int_equal(plan->sites[i].offset, direct->sites[i].offset);
		assert_int_equal(plan->sites[i].original, direct->sites[i].original);
		assert_string_equal(plan->sites[i].symbol, direct->sites[i].symbol);
		assert_string_equal(plan->sites[i].reason, direct->sites[i].reason);
	}
	probe_plan_free(module.plan);
	stop(&subject);
}

static void check_table(struct subject *subject, bool full)
{
	struct cfi_table table, direct;

	assert_int_equal(parser_table(subject->parser, subject->module, full, &table, NULL), 0);
	assert_int_equal(cfi_table_build(subject->module->fd, full, &direct, NULL), 0);
	assert_int_equal(table.rows.count, direct.rows.count);
	assert_memory_equal(table.rows.items, direct.rows.items,
			    table.rows.count * sizeof(*table.rows.items));
	cfi_table_free(&table);
	cfi_table_free(&direct);
}

static void test_table(void **state)
{
	const struct parser_config config = {0};
	struct subject subject;

	(void)state;
	start(&subject, &config);
	assert_int_equal(intern(&subject, own_libc()), 0);
	check_table(&subject, false);
	check_table(&subject, true);
	stop(&subject);
}

static void read_ahead(const struct subject *subject, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	parser_prefetch(subject->parser, fd, path);
	close(fd);
}

static void check_answers(struct subject *subject, const char *path)
{
	const struct probe_plan *plan, *direct;
	struct module module;

	assert_int_equal(intern(subject, path), 0);
	check_table(subject, true);
	check_table(subject, false);
	check_table(subject, false);
	module = *subject->module;
	module.plan = NULL;
	assert_int_equal(parser_plan(subject->parser, subject->module, &plan, NULL), 0);
	assert_int_equal(probe_plan_make(&module, &direct, NULL), 0);
	assert_int_equal(plan->site_count, direct->site_count);
	probe_plan_free(module.plan);
}

/* A prefetched answer equals that of a request, and is used only once. */
static void test_prefetch(void **state)
{
	const struct parser_config config = {0};
	struct subject subject;

	(void)state;
	start(&subject, &config);
	parser_prefetch_process(subject.parser, getpid());
	parser_prefetch_process(subject.parser, parser_pid(subject.parser)); /* not our process */
	read_ahead(&subject, "/etc/passwd");
	check_answers(&subject, own_libc());
	check_answers(&subject, "/proc/self/exe");
	assert_int_equal(intern(&subject, "/etc/passwd"), -ENOEXEC);
	stop(&subject);
}

/* A file that was written in the meantime is read again. */
static void test_prefetched_file_changes(void **state)
{
	const struct parser_config config = {0};
	struct subject subject;

	build(*state);
	start(&subject, &config);
	read_ahead(&subject, scratch_path(*state, "bad"));
	assert_int_equal(intern(&subject, scratch_path(*state, "bad")),
			 0); /* now it is prefetched */
	assert_int_equal(scratch_run(*state, "cat /proc/self/exe > bad"), 0);
	check_answers(&subject, scratch_path(*state, "bad"));
	stop(&subject);
}

static void test_dynamic(void **state)
{
	const struct parser_config config = {0};
	struct elf_dynamic dynamic, direct;
	struct subject subject;
	int fd;

	build(*state);
	start(&subject, &config);
	fd = open(scratch_path(*state, "good"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(parser_read_dynamic(subject.parser, fd, "good", &dynamic), 0);
	assert_int_equal(elf_dynamic_read(fd, &direct), 0);
	assert_true(elf_identity_equal(&dynamic.identity, &direct.identity));
	assert_string_equal(dynamic.interpreter, direct.interpreter);
	assert_int_equal(dynamic.needed.count, direct.needed.count);
	assert_string_equal(dynamic.needed.items[0], direct.needed.items[0]);
	elf_dynamic_free(&dynamic);
	elf_dynamic_free(&direct);
	close(fd);
	stop(&subject);
}

/* The names of a batch, compared one by one. */
struct names_check {
	struct symbolizer *direct;
	const struct module *module;
	const uint64_t *offsets;
	size_t named;
};

static void compare_names(void *ctx, size_t index, const struct symbol_name *names, size_t count)
{
	struct symbol_name expected[PARSER_INLINE_MAX];
	struct names_check *check = ctx;

	assert_int_equal(symbolizer_names(check->direct, check->module, check->offsets[index],
					  expected, PARSER_INLINE_MAX),
			 count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(!names[i].function, !expected[i].function);
		if (names[i].function)
			assert_string_equal(names[i].function, expected[i].function);
		if (names[i].file)
			assert_string_equal(names[i].file, expected[i].file);
		assert_int_equal(names[i].line, expected[i].line);
		assert_int_equal(names[i].inlined, expected[i].inlined);
	}
	check->named++;
}

static size_t count_direct(struct names_check *check)
{
	struct symbol_name names[PARSER_INLINE_MAX];
	size_t named = 0;

	for (size_t i = 0; i < PLACES; i++)
		named += symbolizer_names(check->direct, check->module, check->offsets[i], names,
					  PARSER_INLINE_MAX) > 0;
	return named;
}

/* More than one batch. If this machine has debug files, they are found for the parser. */
static void test_names(void **state)
{
	const struct parser_config config = {0};
	struct debug_search search = {0};
	const struct symbolizer_config direct = {debug_search_find, &search};
	uint64_t offsets[PLACES];
	struct subject subject;
	struct names_check check = {.offsets = offsets};
	size_t got;

	(void)state;
	start(&subject, &config);
	assert_int_equal(intern(&subject, own_libc()), 0);
	assert_int_equal(symbolizer_new(&check.direct, &direct), 0);
	check.module = subject.module;
	for (size_t i = 0; i < PLACES; i++)
		offsets[i] = 0x28000 + i * 321;
	for (size_t done = 0; done < PLACES; done += got) {
		check.offsets = offsets + done;
		got = parser_names(subject.parser, subject.module, check.offsets, PLACES - done,
				   compare_names, &check);
		assert_in_range(got, 1, PLACES - done);
	}
	check.offsets = offsets;
	assert_true(check.named > PLACES / 2);
	assert_int_equal(check.named, count_direct(&check));
	symbolizer_free(check.direct);
	debug_search_end(&search);
	stop(&subject);
}

/* The name of a single place. */
struct one_name {
	char function[32];
	uint32_t line;
};

static void take_one(void *ctx, size_t index, const struct symbol_name *names, size_t count)
{
	struct one_name *one = ctx;

	assert_int_equal(index, 0);
	assert_int_equal(count, 1);
	snprintf(one->function, sizeof(one->function), "%s", names[0].function);
	one->line = names[0].line;
}

/* The name of a program's main(), which only the debug information knows. */
static struct one_name name_of_main(struct scratch *scratch, const char *program)
{
	const struct parser_config config = {0};
	struct one_name one = {.line = 0};
	struct subject subject;
	uint64_t offset;
	FILE *symbols = fopen(scratch_path(scratch, "main"), "r");

	assert_int_equal(fscanf(symbols, "%lx", &offset), 1);
	fclose(symbols);
	offset++; /* in a PIE, addresses of code equal file offsets */
	start(&subject, &config);
	assert_int_equal(intern(&subject, scratch_path(scratch, program)), 0);
	parser_names(subject.parser, subject.module, &offset, 1, take_one, &one);
	stop(&subject);
	return one;
}

static void check_main(struct scratch *scratch, const char *program, bool known)
{
	struct one_name one = name_of_main(scratch, program);

	assert_int_equal(one.line, known ? 2 : 0);
	assert_string_equal(one.function, known ? "main" : "");
}

/* The parser may not open files: the debug file next to the program is passed to it. */
static void test_separate_debug_file(void **state)
{
	build(*state);
	assert_int_equal(scratch_run(*state,
				     "nm good | sed -n 's/ T main$//p' > main && "
				     "objcopy --remove-section=.note.gnu.build-id good && "
				     "objcopy --only-keep-debug good p.debug && "
				     "objcopy --strip-all --add-gnu-debuglink=p.debug good && "
				     "mkdir .debug && mv p.debug .debug"),
			 0);
	check_main(*state, "good", true);
	assert_int_equal(scratch_run(*state, "printf x >> .debug/p.debug"), 0);
	check_main(*state, "good", false);
}

/* dwz(1) moves the common part of two programs to a third file, next to the one that refers to
 * it. */
static void test_alternate_debug_file(void **state)
{
	build(*state);
	assert_int_equal(scratch_run(*state,
				     "{ echo '#include <stdio.h>'; cat p.c; } > q.c && "
				     "gcc -g -O0 -o good q.c && cp good bad && "
				     "nm good | sed -n 's/ T main$//p' > main && "
				     "dwz -r -m common good bad && objcopy -N main good && "
				     "objcopy --only-keep-debug good p.debug && cp good apart && "
				     "objcopy --strip-all --add-gnu-debuglink=p.debug apart && "
				     "mkdir .debug && mv p.debug .debug && cp common .debug"),
			 0);
	assert_string_equal(name_of_main(*state, "good").function, "main");
	assert_string_equal(name_of_main(*state, "apart").function, "main");
	assert_int_equal(scratch_run(*state, "rm common"), 0);
	assert_string_not_equal(name_of_main(*state, "good").function, "main");
	assert_string_equal(name_of_main(*state, "apart").function, "main");
}

/* Failures (bad_parsers.h). */

static void check_survived(struct scratch *scratch, void (*work)(int socket))
{
	const struct parser_config config = {.patience_ns = PATIENCE_NS, .work = work};
	uint64_t started_ns;
	struct subject subject;
	pid_t pid;

	start(&subject, &config);
	started_ns = clock_now_ns();
	pid = parser_pid(subject.parser);
	assert_int_equal(intern(&subject, scratch_path(scratch, "bad")), -ENOEXEC);
	assert_true(clock_now_ns() - started_ns < 4500 * NS_PER_MS);
	check_gone(pid);
	pid = parser_pid(subject.parser);
	/* The bad file is remembered, and others are read. */
	assert_int_equal(intern(&subject, scratch_path(scratch, "bad")), -ENOEXEC);
	assert_int_equal(parser_pid(subject.parser), pid);
	assert_int_equal(intern(&subject, scratch_path(scratch, "good")), 0);
	assert_int_equal(intern(&subject, own_libc()), 0);
	/* After a change, it counts as another file. */
	assert_int_equal(scratch_run(scratch, "printf x >> bad"), 0);
	assert_int_equal(intern(&subject, scratch_path(scratch, "bad")), 0);
	assert_int_equal(scratch_run(scratch, "cp good bad"), 0);
	stop(&subject);
}

static void test_failures(void **state)
{
	build(*state);
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		check_survived(*state, works[i]);
}

/* A parser that fails on a prefetched file does not discredit the requested file. */
static void check_not_blamed(struct scratch *scratch, void (*work)(int socket))
{
	const struct parser_config config = {.patience_ns = PATIENCE_NS, .work = work};
	struct subject subject;
	pid_t pid;

	start(&subject, &config);
	pid = parser_pid(subject.parser);
	read_ahead(&subject, scratch_path(scratch, "bad"));
	check_answers(&subject, scratch_path(scratch, "good"));
	check_gone(pid);
	/* Nor is the prefetched file remembered as bad: these parsers only look at their first
	 * file. */
	assert_int_equal(intern(&subject, scratch_path(scratch, "bad")), 0);
	stop(&subject);
}

static void test_prefetch_failures(void **state)
{
	build(*state);
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		check_not_blamed(*state, works[i]);
}

static void second_prefetch(const struct subject *subject, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	parser_second_prefetch(subject->parser, fd, path);
	close(fd);
}

/* The second parser answers for files that it has prefetched. All other requests go to the first
 * one. */
static void test_second_parser(void **state)
{
	const struct parser_config config = {0};
	struct subject subject;

	(void)state;
	start(&subject, &config);
	second_prefetch(&subject, own_libc()); /* there is none yet */
	assert_int_equal(parser_second_start(subject.parser), 0);
	assert_int_equal(parser_second_start(subject.parser), 0);
	second_prefetch(&subject, own_libc());
	second_prefetch(&subject, "/etc/passwd");
	read_ahead(&subject, "/proc/self/exe");
	check_answers(&subject, own_libc());
	check_answers(&subject, "/proc/self/exe");
	assert_int_equal(intern(&subject, "/etc/passwd"), -ENOEXEC);
	parser_prefetch_end(subject.parser);
	parser_prefetch_end(subject.parser);
	check_table(&subject, false);
	assert_int_equal(parser_second_start(subject.parser), 0);
	second_prefetch(&subject, own_libc()); /* exited with the first one */
	stop(&subject);
}

/* However the second parser fails, the first one answers. */
static void check_first_answers(struct scratch *scratch, void (*work)(int socket))
{
	const struct parser_config config = {.patience_ns = PATIENCE_NS, .work = work};
	uint64_t started_ns;
	struct subject subject;
	pid_t pid;

	start(&subject, &config);
	pid = parser_pid(subject.parser);
	assert_int_equal(intern(&subject, scratch_path(scratch, "good")), 0);
	assert_int_equal(parser_second_start(subject.parser), 0);
	second_prefetch(&subject, scratch_path(scratch, "bad"));
	started_ns = clock_now_ns();
	check_answers(&subject, scratch_path(scratch, "bad"));
	assert_true(clock_now_ns() - started_ns < 4500 * NS_PER_MS);
	assert_int_equal(parser_pid(subject.parser), pid);
	stop(&subject);
}

static void test_second_parser_failures(void **state)
{
	build(*state);
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		check_first_answers(*state, works[i]);
}

/* A file that is not beside the program is not passed to a parser, whatever it requests. */
static void work_steal(int socket)
{
	const struct debug_want want = {.link = "/bin/true"};
	const struct symbol_name stolen = {.function = "stolen", .line = 1};
	const struct symbol_name honest = {.function = "honest", .line = 2};
	struct wire wire = {0};
	struct frame frame;

	take_request(socket);
	want_put(&wire, &want);
	channel_send(socket, FRAME_WANT, &wire, -1, CHANNEL_FOREVER);
	if (channel_receive(socket, 0, CHANNEL_FOREVER, &frame))
		return;
	wire.count = 0;
	names_put(&wire, frame.fd >= 0 ? &stolen : &honest, 1);
	channel_send(socket, FRAME_DONE, &wire, -1, CHANNEL_FOREVER);
	poll(NULL, 0, -1);
}

static int read_directly(void *ctx, struct module *module, struct error *err)
{
	(void)ctx;
	return module_read(module, err);
}

static void test_other_files_are_not_passed(void **state)
{
	const struct parser_config config = {.patience_ns = PATIENCE_NS, .work = work_steal};
	const uint64_t offset = 0x1000;
	struct subject subject;
	struct one_name one;

	build(*state);
	start(&subject, &config);
	module_table_set_reader(subject.table, (struct module_reader){read_directly, NULL});
	assert_int_equal(intern(&subject, scratch_path(*state, "good")), 0);
	assert_int_equal(parser_names(subject.parser, subject.module, &offset, 1, take_one, &one),
			 1);
	assert_string_equal(one.function, "honest");
	stop(&subject);
}

/* A parser that is killed while idle is replaced silently. */
static void test_killed_parser_is_replaced(void **state)
{
	const struct parser_config config = {0};
	struct subject subject;
	pid_t pid;

	build(*state);
	start(&subject, &config);
	assert_int_equal(intern(&subject, own_libc()), 0);
	for (int i = 0; i < 3; i++) {
		pid = parser_pid(subject.parser);
		assert_int_equal(kill(pid, SIGKILL), 0);
		check_gone(pid);
		check_table(&subject, false);
		assert_int_not_equal(parser_pid(subject.parser), pid);
	}
	stop(&subject);
}

/* A stopped parser looks as if it hung: the file is given up. */
static void test_stopped_parser_times_out(void **state)
{
	const struct parser_config config = {.patience_ns = PATIENCE_NS};
	struct cfi_table table;
	struct subject subject;
	pid_t pid;

	build(*state);
	start(&subject, &config);
	assert_int_equal(intern(&subject, scratch_path(*state, "bad")), 0);
	pid = parser_pid(subject.parser);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(parser_table(subject.parser, subject.module, false, &table, NULL),
			 -ENOEXEC);
	assert_int_equal(intern(&subject, scratch_path(*state, "good")), 0);
	check_gone(pid);
	check_table(&subject, false);
	stop(&subject);
}

/* ^C reaches the whole process group of the terminal. Only the tracer reacts to it. */
static void test_terminal_signals_are_ignored(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGPIPE};
	const struct parser_config config = {0};
	struct subject subject;
	pid_t pid;

	(void)state;
	start(&subject, &config);
	pid = parser_pid(subject.parser);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		assert_int_equal(kill(pid, signals[i]), 0);
	assert_int_equal(intern(&subject, own_libc()), 0);
	assert_int_equal(parser_pid(subject.parser), pid);
	stop(&subject);
}

/* The zygote and the parser exit with the tracer. */
static void test_helpers_exit_with_the_tracer(void **state)
{
	const struct parser_config config = {0};
	struct subject subject;
	pid_t tracer, parser;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	tracer = fork();
	if (!tracer) {
		start(&subject, &config);
		parser = parser_pid(subject.parser);
		if (write(ends[1], &parser, sizeof(parser)) == sizeof(parser))
			raise(SIGKILL);
		_exit(EXIT_FAILURE);
	}
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
	assert_int_equal(read(ends[0], &parser, sizeof(parser)), sizeof(parser));
	check_gone(parser);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_module),
		TEST(test_plan),
		TEST(test_table),
		TEST(test_dynamic),
		TEST(test_names),
		TEST(test_separate_debug_file),
		TEST(test_alternate_debug_file),
		TEST(test_failures),
		TEST(test_prefetch),
		TEST(test_prefetched_file_changes),
		TEST(test_prefetch_failures),
		TEST(test_second_parser),
		TEST(test_second_parser_failures),
		TEST(test_other_files_are_not_passed),
		TEST(test_killed_parser_is_replaced),
		TEST(test_stopped_parser_times_out),
		TEST(test_terminal_signals_are_ignored),
		TEST(test_helpers_exit_with_the_tracer),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
