/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID: information, mappings, mapped files, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory/resident.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "tests/unit/scratch.h"

#define NS_PER_SECOND 1000000000ULL

static void parse_maps(const char *text, int expect, struct proc_maps *ret_maps)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(file);
	assert_int_equal(proc_maps_parse(file, ret_maps), expect);
	fclose(file);
}

static void test_maps_fields(void **state)
{
	struct proc_maps maps;

	(void)state;
	parse_maps("7f8e1c000000-7f8e1c021000 r-xp 0001f000 fd:1a3 1234567890123"
		   "              /usr/lib/libc.so.6\n"
		   "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
		   "10000-20000 rw-s fffffffff000 00:05 99\n",
		   0, &maps);
	assert_int_equal(maps.count, 3);
	assert_int_equal(maps.items[0].start, 0x7f8e1c000000);
	assert_int_equal(maps.items[0].end, 0x7f8e1c021000);
	assert_int_equal(maps.items[0].offset, 0x1f000);
	assert_int_equal(maps.items[0].dev_major, 0xfd);
	assert_int_equal(maps.items[0].dev_minor, 0x1a3);
	assert_int_equal(maps.items[0].inode, 1234567890123);
	assert_true(maps.items[0].readable && maps.items[0].executable);
	assert_false(maps.items[0].writable || maps.items[0].shared || maps.items[0].deleted);
	assert_string_equal(maps.items[0].path, "/usr/lib/libc.so.6");
	assert_int_equal(maps.items[1].end, 0xffffffffff601000);
	assert_false(maps.items[1].readable);
	assert_string_equal(maps.items[1].path, "[vsyscall]");
	assert_true(maps.items[2].shared && maps.items[2].writable);
	assert_int_equal(maps.items[2].offset, 0xfffffffff000);
	assert_string_equal(maps.items[2].path, "");
	proc_maps_free(&maps);
	assert_int_equal(maps.count, 0);
}

static void test_maps_paths(void **state)
{
	static const struct {
		const char *text, *path;
		bool deleted;
	} cases[] = {
		{"/a b/c  d ", "/a b/c  d ", false},
		{"/tmp/x (deleted)", "/tmp/x", true},
		{"/tmp/x (deleted) (deleted)", "/tmp/x (deleted)", true},
		{"/tmp/two\\012lines", "/tmp/two\nlines", false},
		{"/tmp/\\012\\012 (deleted)", "/tmp/\n\n", true},
		{"/tmp/back\\slash\\0123", "/tmp/back\\slash\n3", false},
		{"/tmp/\\134 \\040 \\01", "/tmp/\\134 \\040 \\01", false},
		{"/tmp/\xff\xfe", "/tmp/\xff\xfe", false},
		{"/memfd:name (deleted)", "/memfd:name", true},
		{"/SYSV00000000 (deleted)", "/SYSV00000000", true},
		{"anon_inode:[perf_event]", "anon_inode:[perf_event]", false},
		{"[anon: a heap of mine]", "[anon: a heap of mine]", false},
		{"[heap]", "[heap]", false},
		{"", "", false},
	};
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proc_maps maps;

		snprintf(line, sizeof(line), "1000-2000 r--p 00000000 08:01 7     %s\n",
			 cases[i].text);
		parse_maps(line, 0, &maps);
		assert_int_equal(maps.count, 1);
		assert_string_equal(maps.items[0].path, cases[i].path);
		assert_int_equal(maps.items[0].deleted, cases[i].deleted);
		proc_maps_free(&maps);
	}
}

static void test_maps_garbage(void **state)
{
	static const char *const texts[] = {
		"\n",
		"hello\n",
		"1000-2000 r-xp\n",
		"1000-2000 r-x 0 08:01 7 /x\n",
		"2000-1000 r-xp 0 08:01 7 /x\n",
		"1000-1000 r-xp 0 08:01 7 /x\n",
		"1000-2000 r-xp 0 08:01 7 /x\nand then this\n",
	};
	struct proc_maps maps = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		parse_maps(texts[i], -EINVAL, &maps);
	assert_null(maps.items);
}

static const struct proc_mapping *mapping_at(const struct proc_maps *maps, const void *address)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->items[i].start <= (uintptr_t)address &&
		    (uintptr_t)address < maps->items[i].end)
			return &maps->items[i];
	fail_msg("no mapping at %p", address);
	return NULL;
}

static void test_maps_of_self(void **state)
{
	const struct proc_mapping *text;
	struct proc_maps maps;
	char *exe = realpath("/proc/self/exe", NULL);

	(void)state;
	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	text = mapping_at(&maps, (void *)(uintptr_t)test_maps_of_self);
	assert_true(text->executable && text->readable && !text->writable);
	assert_string_equal(text->path, exe);
	assert_true(mapping_at(&maps, &maps)->writable);
	for (size_t i = 1; i < maps.count; i++)
		assert_true(maps.items[i - 1].end <= maps.items[i].start);
	proc_maps_free(&maps);
	free(exe);
}

static void test_info_of_self(void **state)
{
	struct proc_info info;
	uint64_t now = clock_now_ns();

	(void)state;
	assert_int_equal(proc_info_read(getpid(), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.tgid, getpid());
	assert_int_equal(info.ppid, getppid());
	assert_int_equal(info.state, 'R');
	assert_false(info.kernel_thread);
	/* Monotonic time stops during suspend, boot time does not. */
	assert_true(info.start_time_ns > 0);
	assert_true(info.start_time_ns < now + 3600 * NS_PER_SECOND);
	assert_non_null(strstr(info.exe, "test_os"));
	assert_non_null(info.command[0]);
	assert_non_null(strstr(info.command[0], "test_os"));
	proc_info_free(&info);
	assert_null(info.exe);
	proc_info_free(&info);
	proc_info_free(NULL);
}

static void test_info_nasty_names(void **state)
{
	static const char *const names[] = {
		"a) R (b", ") Z 1 1 1", "(((", ")))", "", " ", "two\nlines", "\nTgid:\t1", "x\\ny",
	};
	char old[17] = {0};

	(void)state;
	prctl(PR_GET_NAME, old);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct proc_info info;

		prctl(PR_SET_NAME, names[i]);
		assert_int_equal(proc_info_read(getpid(), &info), 0);
		assert_string_equal(info.comm, names[i]);
		assert_int_equal(info.state, 'R');
		assert_int_equal(info.ppid, getppid());
		assert_int_equal(info.tgid, getpid());
		proc_info_free(&info);
	}
	prctl(PR_SET_NAME, old);
}

/* A child that waits on a pipe until the test closes it. */
struct child {
	pid_t pid;
	int hold;
};

static struct child child_start(void (*prepare)(void))
{
	struct child child;
	int hold[2], ready[2];
	char byte;

	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child.pid = fork();
	if (!child.pid) {
		close(hold[1]);
		if (prepare)
			prepare();
		_exit(write(ready[1], "", 1) != 1 || read(hold[0], &byte, 1) != 0);
	}
	close(hold[0]);
	child.hold = hold[1];
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void child_end(struct child child)
{
	int status;

	close(child.hold);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	assert_int_equal(status, 0);
}

static void test_info_of_a_zombie(void **state)
{
	struct child child = child_start(NULL);
	struct proc_info info;
	struct proc_maps maps;
	siginfo_t what;

	(void)state;
	close(child.hold);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &what, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_info_read(child.pid, &info), 0);
	assert_int_equal(info.state, 'Z');
	assert_int_equal(info.ppid, getpid());
	assert_null(info.exe);
	assert_string_equal(info.command[0], info.comm);
	assert_null(info.command[1]);
	assert_false(info.kernel_thread);
	proc_info_free(&info);
	assert_int_equal(proc_maps_read(child.pid, &maps), 0);
	assert_int_equal(maps.count, 0);
	proc_maps_free(&maps);
	waitpid(child.pid, NULL, 0);
}

static void test_info_of_a_gone_process(void **state)
{
	struct child child = child_start(NULL);
	struct proc_mapping mapping = {.start = 0x1000, .end = 0x2000, .path = (char[]){"/bin/sh"}};
	struct proc_info info;
	struct proc_maps maps;
	char byte;

	(void)state;
	child_end(child);
	assert_int_equal(proc_info_read(child.pid, &info), -ESRCH);
	assert_int_equal(proc_maps_read(child.pid, &maps), -ESRCH);
	assert_int_equal(proc_open_mapped(child.pid, &mapping), -ESRCH);
	assert_int_equal(proc_memory_read(child.pid, (uintptr_t)&byte, &byte, 1), -ESRCH);
	assert_int_equal(proc_info_read(-1, &info), -ESRCH);
}

static void test_info_of_a_kernel_thread(void **state)
{
	struct proc_info info;
	struct proc_maps maps;

	(void)state;
	if (proc_info_read(2, &info) || strcmp(info.comm, "kthreadd")) {
		print_message("skipped: pid 2 is no kernel thread here (a pid namespace?)\n");
		skip();
	}
	assert_true(info.kernel_thread);
	assert_null(info.exe);
	assert_null(info.command[0]);
	proc_info_free(&info);
	assert_int_equal(proc_maps_read(2, &maps), 0);
	assert_int_equal(maps.count, 0);
	proc_maps_free(&maps);
}

struct thread {
	pthread_barrier_t started, checked;
	pid_t tid;
};

static void *thread_main(void *ctx)
{
	struct thread *thread = ctx;

	thread->tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "worker (1)");
	pthread_barrier_wait(&thread->started);
	pthread_barrier_wait(&thread->checked);
	return NULL;
}

static void test_info_of_a_thread(void **state)
{
	struct thread thread;
	struct proc_info info;
	pthread_t id;

	(void)state;
	pthread_barrier_init(&thread.started, NULL, 2);
	pthread_barrier_init(&thread.checked, NULL, 2);
	assert_int_equal(pthread_create(&id, NULL, thread_main, &thread), 0);
	pthread_barrier_wait(&thread.started);
	assert_int_equal(proc_info_read(thread.tid, &info), 0);
	assert_int_equal(info.pid, thread.tid);
	assert_int_equal(info.tgid, getpid());
	assert_int_not_equal(info.pid, info.tgid);
	assert_string_equal(info.comm, "worker (1)");
	proc_info_free(&info);
	pthread_barrier_wait(&thread.checked);
	pthread_join(id, NULL);
}

static void become_seccomped(void)
{
	static const struct {
		uint16_t code;
		uint8_t jt, jf;
		uint32_t k;
	} allow = {0x06, 0, 0, 0x7fff0000}; /* BPF_RET | BPF_K, SECCOMP_RET_ALLOW */
	struct {
		uint16_t length;
		const void *filter;
	} program = {1, &allow};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		_exit(1);
}

static void test_info_seccomp(void **state)
{
	struct child filtered = child_start(become_seccomped);
	struct proc_info info;

	(void)state;
	assert_int_equal(proc_info_read(filtered.pid, &info), 0);
	assert_true(info.seccomp);
	proc_info_free(&info);
	child_end(filtered);
	/* We may have a filter ourselves, for example in a container. */
	assert_int_equal(proc_info_read(getpid(), &info), 0);
	assert_int_equal(info.seccomp, prctl(PR_GET_SECCOMP) > 0);
	proc_info_free(&info);
}

/* A page that starts with `bytes`, mapped from a file in the scratch directory. */
static void *map_file(struct scratch *scratch, const char *name, const char *bytes)
{
	void *address;
	int fd;

	scratch_write(scratch, name, bytes, strlen(bytes), 0644);
	fd = open(scratch_path(scratch, name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	address = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(address, MAP_FAILED);
	close(fd);
	return address;
}

static void check_opens(const void *address, const char *path, bool deleted, const char *bytes)
{
	const struct proc_mapping *mapping;
	struct proc_maps maps;
	char got[64] = {0};
	int fd;

	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	mapping = mapping_at(&maps, address);
	assert_string_equal(mapping->path, path);
	assert_int_equal(mapping->deleted, deleted);
	fd = proc_open_mapped(getpid(), mapping);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(fd, got, sizeof(got)), strlen(bytes));
	assert_string_equal(got, bytes);
	close(fd);
	proc_maps_free(&maps);
}

static void test_open_mapped(void **state)
{
	struct scratch *scratch = *state;
	void *address = map_file(scratch, "plain", "contents");

	check_opens(address, scratch_path(scratch, "plain"), false, "contents");
	munmap(address, 4096);
}

static void test_open_mapped_nasty_name(void **state)
{
	struct scratch *scratch = *state;
	void *address = map_file(scratch, "a b\nc (d) ", "contents");

	check_opens(address, scratch_path(scratch, "a b\nc (d) "), false, "contents");
	munmap(address, 4096);
}

/* Also if another file has taken its name. Needs the privilege to follow map_files. */
static void test_open_mapped_deleted(void **state)
{
	struct scratch *scratch = *state;
	void *address = map_file(scratch, "file", "the old one");

	if (geteuid()) {
		print_message("skipped: needs root (map_files)\n");
		skip();
	}
	unlink(scratch_path(scratch, "file"));
	check_opens(address, scratch_path(scratch, "file"), true, "the old one");
	scratch_write(scratch, "file", "the new one", 11, 0644);
	check_opens(address, scratch_path(scratch, "file"), true, "the old one");
	munmap(address, 4096);
}

/* Without map_files, a file must have the right device and inode. */
static void test_open_mapped_refuses_another_file(void **state)
{
	struct scratch *scratch = *state;
	struct proc_mapping mapping = {.start = 0x1000, .end = 0x2000};
	char path[PATH_MAX];
	struct stat stat_of;

	scratch_write(scratch, "impostor", "x", 1, 0644);
	strcpy(path, scratch_path(scratch, "impostor"));
	mapping.path = path;
	assert_int_equal(proc_open_mapped(getpid(), &mapping), -ESTALE);
	assert_int_equal(stat(path, &stat_of), 0);
	mapping.inode = stat_of.st_ino;
	mapping.dev_major = 0xfff;
	assert_int_equal(proc_open_mapped(getpid(), &mapping), -ESTALE);
	mapping.path = (char[]){"[heap]"};
	assert_int_equal(proc_open_mapped(getpid(), &mapping), -ENOENT);
	/* Opening it would block. */
	unlink(path);
	assert_int_equal(mkfifo(path, 0644), 0);
	mapping.path = path;
	assert_int_equal(proc_open_mapped(getpid(), &mapping), -EACCES);
}

/* As a user who may not read map_files. */
static void test_open_mapped_without_map_files(void **state)
{
	struct scratch *scratch = *state;
	struct proc_mapping mapping = {.start = 0x1000, .end = 0x2000, .path = (char[]){"/gone"}};
	struct stat stat_of;
	int file, found;

	scratch_write(scratch, "open", "x", 1, 0644);
	file = open(scratch_path(scratch, "open"), O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(fstat(file, &stat_of), 0);
	assert_int_equal(unlink(scratch_path(scratch, "open")), 0);
	mapping.inode = stat_of.st_ino;
	mapping.dev_major = major(stat_of.st_dev);
	mapping.dev_minor = minor(stat_of.st_dev);
	found = proc_open_mapped(getpid(), &mapping);
	assert_true(found >= 0);
	close(found);
	close(file);
	assert_int_equal(proc_open_mapped(getpid(), &mapping), -ENOENT);
	assert_int_equal(stat("/proc/self/exe", &stat_of), 0);
	mapping.inode = stat_of.st_ino;
	mapping.dev_major = major(stat_of.st_dev);
	mapping.dev_minor = minor(stat_of.st_dev);
	found = proc_open_mapped(getpid(), &mapping);
	assert_true(found >= 0);
	close(found);
}

static void test_memory_read(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *buffer = malloc(2 * page);

	(void)state;
	memset(pages, 'm', 2 * page);
	munmap(pages + page, page);
	assert_int_equal(proc_memory_read(getpid(), (uintptr_t)pages, buffer, page), page);
	assert_int_equal(buffer[0], 'm');
	assert_int_equal(buffer[page - 1], 'm');
	/* Across the edge, the read is short. Beyond it, it is an error. */
	assert_int_equal(proc_memory_read(getpid(), (uintptr_t)pages + page - 8, buffer, 16), 8);
	assert_int_equal(proc_memory_read(getpid(), (uintptr_t)pages + page, buffer, 1), -EFAULT);
	assert_int_equal(proc_memory_read(getpid(), UINT64_MAX - 7, buffer, 8), -EFAULT);
	assert_int_equal(proc_memory_read(getpid(), (uintptr_t)pages, buffer, 0), 0);
	munmap(pages, page);
	free(buffer);
}

static void test_resident(void **state)
{
	uint64_t bytes, available;

	(void)state;
	assert_int_equal(resident_bytes(getpid(), &bytes), 0);
	assert_int_equal(resident_available(&available), 0);
	assert_true(bytes >= 100 * 4096 && available > bytes);
	assert_int_equal(resident_bytes(-1, &bytes), -ESRCH);
}

static void test_clock_advances(void **state)
{
	uint64_t before = clock_now_ns();
	uint64_t after = clock_now_ns();

	(void)state;
	assert_true(before > 0);
	assert_true(before <= after);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps_fields),
		cmocka_unit_test(test_maps_paths),
		cmocka_unit_test(test_maps_garbage),
		cmocka_unit_test(test_maps_of_self),
		cmocka_unit_test(test_info_of_self),
		cmocka_unit_test(test_info_nasty_names),
		cmocka_unit_test(test_info_of_a_zombie),
		cmocka_unit_test(test_info_of_a_gone_process),
		cmocka_unit_test(test_info_of_a_kernel_thread),
		cmocka_unit_test(test_info_of_a_thread),
		cmocka_unit_test(test_info_seccomp),
		WITH_SCRATCH(test_open_mapped),
		WITH_SCRATCH(test_open_mapped_nasty_name),
		WITH_SCRATCH(test_open_mapped_deleted),
		WITH_SCRATCH(test_open_mapped_refuses_another_file),
		WITH_SCRATCH(test_open_mapped_without_map_files),
		cmocka_unit_test(test_memory_read),
		cmocka_unit_test(test_resident),
		cmocka_unit_test(test_clock_advances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
