/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap, munmap and mremap in every way that they can succeed and fail. The program keeps a list of
 * its regions, so that it knows exactly what is left of them.
 */
#include "truth.h"

#include <fcntl.h>
#include <sys/syscall.h>

#ifndef SYS_mmap /* ARM; the unit of the offset differs, but the offset is 0 here */
#define SYS_mmap SYS_mmap2
#endif

#define PAGE        ((size_t)4096)
#define REGIONS_MAX 64
#define RW          (PROT_READ | PROT_WRITE)
#define ANON        (MAP_PRIVATE | MAP_ANONYMOUS)

/* What one call mapped, and how much of it is left. It counts as one mapping until nothing is
 * left. */
struct region {
	struct site *site;
	size_t bytes;
};

struct piece {
	uintptr_t start, end;
	struct region *region;
};

static struct region regions[REGIONS_MAX];
static struct piece pieces[REGIONS_MAX];
static size_t region_count, piece_count;

static void piece_add(uintptr_t start, uintptr_t end, struct region *region)
{
	if (start >= end)
		return;
	if (piece_count == REGIONS_MAX)
		abort();
	pieces[piece_count++] = (struct piece){start, end, region};
}

static void region_add(uintptr_t start, uintptr_t end, struct site *site)
{
	if (region_count == REGIONS_MAX)
		abort();
	regions[region_count] = (struct region){site, end - start};
	piece_add(start, end, &regions[region_count++]);
}

/* [start, end) is unmapped or replaced: cut it out of every piece. */
static void region_cut(uintptr_t start, uintptr_t end)
{
	struct piece old[REGIONS_MAX];
	size_t count = piece_count, i;

	memcpy(old, pieces, sizeof(old));
	piece_count = 0;
	for (i = 0; i < count; i++) {
		const struct piece *piece = &old[i];
		uintptr_t from = start > piece->start ? start : piece->start;
		uintptr_t to = end < piece->end ? end : piece->end;

		if (from >= to) {
			piece_add(piece->start, piece->end, piece->region);
			continue;
		}
		piece->region->bytes -= to - from;
		truth_shrunk(piece->region->site, to - from, !piece->region->bytes);
		piece_add(piece->start, from, piece->region);
		piece_add(to, piece->end, piece->region);
	}
}

static uintptr_t page_up(uintptr_t address)
{
	return (address + PAGE - 1) & ~(PAGE - 1);
}

/* The kernel maps whole pages. A failed call with size 0 does not count as a failed allocation. */
static char *mapped(struct site *site, void *address, size_t size)
{
	uintptr_t start = (uintptr_t)address, end = page_up(start + size);

	if (!size)
		return NULL;
	truth_allocated(site, end - start, address);
	if (address == MAP_FAILED)
		return NULL;
	region_cut(start, end);
	region_add(start, end, site);
	return address;
}

NOINLINE static char *t_mmap(size_t size)
{
	SITE("mmap");
	void *address = mmap(NULL, size, RW, ANON, -1, 0);

	return mapped(&site, address, size);
}

NOINLINE static char *t_mmap64(size_t size)
{
	SITE("mmap");
	void *address = mmap64(NULL, size, PROT_NONE, ANON, -1, 0);

	return mapped(&site, address, size);
}

NOINLINE static char *t_mmap_file(int fd, size_t size)
{
	SITE("mmap");
	void *address = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	return mapped(&site, address, size);
}

NOINLINE static char *t_mmap_shared(size_t size)
{
	SITE("mmap");
	void *address = mmap(NULL, size, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return mapped(&site, address, size);
}

NOINLINE static char *t_mmap_fixed(char *where, size_t size)
{
	SITE("mmap");
	void *address = mmap(where, size, RW, ANON | MAP_FIXED, -1, 0);

	return mapped(&site, address, size);
}

NOINLINE static void t_munmap(char *address, size_t size)
{
	if (munmap(address, size) == 0)
		region_cut((uintptr_t)address, page_up((uintptr_t)address + size));
}

/* The part of the old region that is unmapped: all of it, unless the call keeps it mapped. */
static char *remapped(struct site *site, char *old, size_t gone, void *address, size_t size)
{
	if (address != MAP_FAILED)
		region_cut((uintptr_t)old, (uintptr_t)old + gone);
	return mapped(site, address, size);
}

NOINLINE static char *t_mremap(char *old, size_t old_size, size_t size, int flags)
{
	SITE("mremap");
	void *address = mremap(old, old_size, size, flags);

	return remapped(&site, old, old_size, address, size);
}

NOINLINE static char *t_mremap_fixed(char *old, size_t old_size, size_t size, char *where)
{
	SITE("mremap");
	void *address = mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, where);

	return remapped(&site, old, old_size, address, size);
}

NOINLINE static char *t_mremap_keep(char *old, size_t size)
{
	SITE("mremap");
	void *address = mremap(old, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	return remapped(&site, old, 0, address, size);
}

NOINLINE static struct block t_malloc(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void whole_and_parts(void)
{
	char *p = t_mmap(16 * PAGE);

	t_munmap(p, 16 * PAGE);
	t_mmap(16 * PAGE);
	t_mmap64(2 * PAGE);
	p = t_mmap(16 * PAGE);
	t_munmap(p, 4 * PAGE);
	t_munmap(p + 12 * PAGE, 4 * PAGE);
	t_munmap(p + 6 * PAGE, 2 * PAGE);
	t_munmap(p + 6 * PAGE, 2 * PAGE); /* again: succeeds, although nothing is there */
	p = t_mmap(5000);
	t_munmap(p, 5000);
	p = t_mmap(2 * PAGE);
	t_munmap(p, PAGE + 1);
	p = t_mmap(12 * PAGE);
	t_mmap_fixed(p, 4 * PAGE);
	t_mmap_fixed(p + 8 * PAGE, 4 * PAGE);
	t_munmap(p + 2 * PAGE, 8 * PAGE); /* a part of three regions */
}

static void other_kinds(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *p = t_mmap_file(fd, 3 * PAGE);

	t_munmap(p, PAGE);
	close(fd);
	p = t_mmap_shared(4 * PAGE);
	t_munmap(p + 2 * PAGE, PAGE);
}

static void failures(void)
{
	char *p = t_mmap(4 * PAGE);

	t_mmap(0);
	t_mmap(truth_opaque(PTRDIFF_MAX));
	t_mmap_fixed(p + 1, PAGE);
	t_mmap_fixed(p, 0);
	t_mmap_file(-1, PAGE);
	t_munmap(p + 1, PAGE);
	t_munmap(p, 0);
	t_mremap(p + 1, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	t_mremap(p, PAGE, 0, MREMAP_MAYMOVE);
	t_mremap_fixed(p, 4 * PAGE, 4 * PAGE, p + 2 * PAGE); /* onto itself */
}

static void remaps(void)
{
	char *area = t_mmap(64 * PAGE), *p;

	p = t_mremap(area, 8 * PAGE, 16 * PAGE, 0); /* no room to grow */
	if (p)
		abort();
	p = t_mremap(area, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
	p = t_mremap(p, 16 * PAGE, 4 * PAGE, 0);
	p = t_mremap_fixed(p, 4 * PAGE, 4 * PAGE, area + 20 * PAGE);
	p = t_mremap_fixed(p, 4 * PAGE, 2 * PAGE, area + 40 * PAGE);
	t_mremap_keep(t_mmap(8 * PAGE), 8 * PAGE);
	p = t_mmap_shared(4 * PAGE);
	t_mremap(p, 0, 4 * PAGE, MREMAP_MAYMOVE); /* a second mapping of shared memory */
}

/* Memory that the allocator maps for itself counts as an allocation, not as a mapping. */
static void allocator(void)
{
	int i;

	for (i = 0; i < 5; i++)
		t_free(t_malloc((size_t)8 << 20));
	t_malloc((size_t)8 << 20);
}

/* A mapping that was made by a direct system call. Neither the call nor its munmap is counted. */
static void unbooked(void)
{
	long address = syscall(SYS_mmap, NULL, 4 * PAGE, RW, ANON, -1, 0L);

	t_munmap((char *)address, 4 * PAGE);
}

int main(void)
{
	char extra[128];
	size_t i, count = 0, bytes = 0;

	whole_and_parts();
	other_kinds();
	failures();
	remaps();
	allocator();
	unbooked();
	for (i = 0; i < region_count; i++) {
		count += regions[i].bytes != 0;
		bytes += regions[i].bytes;
	}
	snprintf(extra, sizeof(extra), ",\"mappings\":{\"maps\":%zu,\"bytes\":%zu}", count, bytes);
	truth_tell(STDOUT_FILENO, extra);
	return 0;
}
