/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcounter.so, to be preloaded into any program: counts the calls that succeed, and forwards them
 * to the C library. The counts of each image of a process are in the file COUNTS/PID.IMAGE, as two
 * words: allocations and frees. The file is always current, even if the process is killed. A
 * realloc that succeeds is a free and an allocation. A forked child starts at zero. A child that
 * shares its parent's memory counts in its parent's file, because it uses its parent's heap.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_SIZE 512

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *address);

struct counts {
	uint64_t allocations, frees;
};

static struct counts early; /* for constructors that run before ours */
static struct counts *counts = &early;
static char directory[PATH_SIZE];

static void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Uses system calls, so that its mmap is not counted. */
static struct counts *counts_new(void)
{
	char path[PATH_SIZE * 2];
	void *mapping;
	int fd = -1;

	for (int image = 0; fd < 0; image++) {
		snprintf(path, sizeof(path), "%s/%d.%d", directory, (int)getpid(), image);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			abort();
	}
	if (ftruncate(fd, sizeof(struct counts)))
		abort();
	mapping = (void *)syscall(SYS_mmap, NULL, sizeof(struct counts), PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0L);
	if (mapping == MAP_FAILED)
		abort();
	close(fd);
	return mapping;
}

static void forked(void)
{
	counts = counts_new();
}

/* The program may change its environment later. */
__attribute__((constructor)) static void begin(void)
{
	const char *told = getenv("COUNTS");

	if (!told)
		return;
	snprintf(directory, sizeof(directory), "%s", told);
	counts = counts_new();
	*counts = early;
	pthread_atfork(NULL, NULL, forked);
}

static void *counted(void *address)
{
	if (address)
		count(&counts->allocations);
	return address;
}

void *malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

void *calloc(size_t number, size_t size)
{
	return counted(__libc_calloc(number, size));
}

void *realloc(void *old, size_t size)
{
	void *address = __libc_realloc(old, size);

	if (old && (address || !size))
		count(&counts->frees);
	return counted(address);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return counted(__libc_memalign(alignment, size));
}

void *memalign(size_t alignment, size_t size)
{
	return counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **ret_address, size_t alignment, size_t size)
{
	void *address;

	if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1))
		return EINVAL;
	address = counted(__libc_memalign(alignment, size));
	if (!address)
		return ENOMEM;
	*ret_address = address;
	return 0;
}

void free(void *address)
{
	if (address)
		count(&counts->frees);
	__libc_free(address);
}
