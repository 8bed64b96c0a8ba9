/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads another process's memory, with holes, and finds out what not to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory/memory.h"
#include "os/memory/pagemap.h"

#define PAGES 16
#define HUGE  (1ULL << 36)

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A child with a copy of our memory, which does nothing. */
static pid_t child_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static char *map_pages(size_t bytes)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static struct memory_piece piece_of(const char *address, size_t size)
{
	return (struct memory_piece){.address = (uintptr_t)address, .size = size};
}

static void test_pieces(void **state)
{
	char *pages = map_pages(PAGES * page_size());
	struct memory_piece pieces[3];
	struct memory memory;
	char buffer[64] = {0};
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		snprintf(pages + i * page_size(), 16, "page %zu", i);
	pieces[0] = piece_of(pages + 3 * page_size(), 6);
	pieces[1] = piece_of(pages, 6);
	pieces[2] = piece_of(pages + 15 * page_size(), 8);
	pid = child_start();
	assert_int_equal(memory_open(&memory, pid), 0);
	assert_int_equal(memory_read(&memory, pieces, 3, buffer), 20);
	assert_string_equal(buffer, "page 3page 0page 15");
	child_end(pid);
	assert_int_equal(memory_read(&memory, pieces, 3, buffer), -ESRCH);
	memory_close(&memory);
	assert_int_equal(memory_open(&memory, pid), -ESRCH);
	munmap(pages, PAGES * page_size());
}

/* Everything before a hole is read, to the byte. A page without permissions is not a hole. */
static void test_holes(void **state)
{
	size_t size = page_size();
	char *pages = map_pages(PAGES * size);
	char *buffer = malloc(PAGES * size);
	struct memory_piece all = piece_of(pages + 8, (PAGES - 1) * size);
	struct memory_piece two[] = {piece_of(pages, 2 * size), piece_of(pages + 5 * size, 8)};
	struct memory memory;
	pid_t pid;

	(void)state;
	memset(pages, 'x', PAGES * size);
	mprotect(pages + 2 * size, size, PROT_NONE);
	munmap(pages + 5 * size, size);
	pid = child_start();
	assert_int_equal(memory_open(&memory, pid), 0);
	assert_int_equal(memory_read(&memory, &all, 1, buffer), 5 * size - 8);
	assert_int_equal(buffer[2 * size], 'x');
	assert_int_equal(memory_read(&memory, two, 2, buffer), 2 * size);
	all.address += 5 * size;
	assert_int_equal(memory_read(&memory, &all, 1, buffer), 0);
	child_end(pid);
	memory_close(&memory);
	free(buffer);
	munmap(pages, PAGES * size);
}

/* The pages of [start, end) that have contents, as "12-14 20-20". */
static const char *extents_text(pid_t pid, bool use_scan, enum pagemap_pages pages, char *start,
				size_t size, char *text)
{
	struct pagemap_extent extents[2];
	uint64_t base = (uintptr_t)start, next = base;
	struct pagemap *pagemap;
	size_t count;
	char *out = text;

	*text = '\0';
	assert_int_equal(pagemap_open(&pagemap, pid, use_scan), 0);
	while (next < base + size) {
		assert_int_equal(
			pagemap_read(pagemap, pages, next, base + size, extents, 2, &count, &next),
			0);
		for (size_t i = 0; i < count; i++)
			out += sprintf(out, "%d-%d ",
				       (int)((extents[i].start - base) / page_size()),
				       (int)((extents[i].end - base) / page_size()) - 1);
	}
	pagemap_close(pagemap);
	return text;
}

static void check_extents(bool use_scan)
{
	size_t size = page_size();
	char *pages = map_pages(PAGES * size);
	FILE *file = tmpfile();
	char text[256];
	char *mapped;
	pid_t pid;

	assert_int_equal(ftruncate(fileno(file), (off_t)(PAGES * size)), 0);
	mapped = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
	for (size_t i = 2; i < 5; i++)
		pages[i * size] = mapped[i * size] = 'x';
	pages[7 * size] = pages[9 * size] = pages[15 * size] = 'x';
	assert_int_equal(*(volatile char *)(mapped + 5 * size), 0);
	pid = child_start();
	assert_string_equal(extents_text(pid, use_scan, PAGEMAP_ALL, pages, PAGES * size, text),
			    "2-4 7-7 9-9 15-15 ");
	assert_string_equal(extents_text(pid, use_scan, PAGEMAP_OWN, mapped, PAGES * size, text),
			    "2-4 ");
	child_end(pid);
	munmap(pages, PAGES * size);
	munmap(mapped, PAGES * size);
	fclose(file);
}

static void test_extents_by_scan(void **state)
{
	(void)state;
	check_extents(true);
}

static void test_extents_by_entries(void **state)
{
	(void)state;
	check_extents(false);
}

/* Fields of /proc/PID/stat: 10 minflt, 24 rss. */
static void faults_and_pages(pid_t pid, unsigned long *ret_faults, unsigned long *ret_pages)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file,
				"%*d %*s %*c %*d %*d %*d %*d %*d %*u %lu %*u %*u %*u %*u %*u %*d "
				"%*d %*d %*d %*d %*d %*u %*u %lu",
				ret_faults, ret_pages),
			 2);
	fclose(file);
}

/* A query of 64 GiB of reserved memory, and reads of its contents, fault in no page. */
static void test_nothing_is_faulted_in(void **state)
{
	char *pages = map_pages(HUGE);
	unsigned long faults[2], resident[2];
	char text[64], byte;
	struct memory_piece piece = piece_of(pages + HUGE / 2, 1);
	struct memory memory;
	pid_t pid;

	(void)state;
	pages[HUGE / 2] = 'x';
	pid = child_start();
	assert_int_equal(memory_open(&memory, pid), 0);
	while (faults_and_pages(pid, &faults[0], &resident[0]), usleep(10000),
	       faults_and_pages(pid, &faults[1], &resident[1]), faults[0] != faults[1])
		;
	extents_text(pid, true, PAGEMAP_OWN, pages, HUGE, text);
	assert_int_equal(atoll(text), HUGE / 2 / page_size());
	assert_int_equal(memory_read(&memory, &piece, 1, &byte), 1);
	assert_int_equal(byte, 'x');
	faults_and_pages(pid, &faults[1], &resident[1]);
	assert_int_equal(faults[0], faults[1]);
	assert_int_equal(resident[0], resident[1]);
	child_end(pid);
	memory_close(&memory);
	munmap(pages, HUGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_extents_by_scan),
		cmocka_unit_test(test_extents_by_entries),
		cmocka_unit_test(test_nothing_is_faulted_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
