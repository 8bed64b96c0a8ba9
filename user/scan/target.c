/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private memory: the page map says which pages are the process's own. Other pages hold no pointer
 * of the process: file pages are unmodified, and absent pages were never touched. Reading a swapped
 * page would bring it back into memory, so it is not read unless requested; its content is then
 * unknown.
 *
 * Shared memory: a page that is not mapped may still have been written (fork does not copy the page
 * tables of shared mappings). So it is read through the mapped file, which /proc/PID/map_files
 * opens; SEEK_DATA skips holes in the file. Reading a file does not make the process larger. If the
 * file cannot be opened (without privileges), the pages that the process has mapped are read, and
 * the others are unknown.
 */
#include "scan/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/map64.h"
#include "os/memory/pagemap.h"
#include "os/process/maps.h"
#include "scan/read/roots.h"

#define EXTENTS      256
#define PAGE_SIZE    4096u
#define WINDOW       (64u << 20)  /* largest address range of one query */
#define LOOK_STEP    (512u << 10) /* a few pages in each step of shared memory are looked at … */
#define LOOKED_WHOLE (16u << 20)  /* … and every page before this many bytes */
#define OPENED_MAX   256          /* a process must not use up our descriptors */

struct scan_target {
	struct target_options options;
	struct proc_maps maps;
	struct roots roots;
	struct memory memory;
	struct pagemap *pagemap;
	struct scan_memory access;
	VEC(int) files;             /* for each range: a file to read shared memory from, or -1 */
	VEC(int) opened;            /* those files, each once */
	struct map64 range_of_file; /* file_key() → the first range of that file */
	VEC(struct scan_bytes) registers;
	unsigned int word, chunk; /* see scan_input */
	uint64_t thread_pointer;
	/* What the page map said about [known_from, known_to) of private memory. */
	struct pagemap_extent extents[EXTENTS];
	size_t extent_count;
	uint64_t known_from, known_to;
	uint64_t looked; /* bytes of pages looked at one by one */
};

/* The index of the range that contains the address; there must be one. */
static size_t range_at(const struct scan_target *target, uint64_t address)
{
	size_t low = 0, high = target->roots.ranges.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (target->roots.ranges.items[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t page_floor(uint64_t address)
{
	return address & ~(uint64_t)(PAGE_SIZE - 1);
}

/*
 * Looking at every page would take a third of the time of the scan, so that is only done for a few
 * MiB. Pages shared by fork form long runs until they are written to.
 */
static uint64_t share_step(struct scan_target *target)
{
	if (target->looked >= LOOKED_WHOLE)
		return LOOK_STEP;
	target->looked += PAGEMAP_LOOK_BYTES;
	return PAGEMAP_LOOK_BYTES;
}

static void find_shares(struct scan_target *target)
{
	uint64_t next = 0;

	for (size_t i = 0; i < target->extent_count; i++) {
		struct pagemap_extent extent = target->extents[i];

		while (!extent.swapped && extent.end > next && extent.start < extent.end) {
			if (extent.start < next)
				extent.start = next;
			next = extent.start + share_step(target);
			if (pagemap_shares(target->pagemap, &extent)) {
				atomic_store(&target->memory.shares, true);
				return;
			}
			extent.start = next;
		}
	}
}

static int ask(struct scan_target *target, enum pagemap_pages pages, uint64_t from, uint64_t to)
{
	int err;

	from = page_floor(from);
	to = page_floor(to + PAGE_SIZE - 1);
	err = pagemap_read(target->pagemap, pages, from, to, target->extents, EXTENTS,
			   &target->extent_count, &target->known_to);
	target->known_from = from;
	if (!err && !atomic_load(&target->memory.shares))
		find_shares(target);
	return err;
}

static bool give(uint64_t address, uint64_t end, const struct scan_extent *extent,
		 struct scan_extent *ret_extent)
{
	*ret_extent = *extent;
	if (ret_extent->start < address)
		ret_extent->start = address;
	if (ret_extent->end > end)
		ret_extent->end = end;
	return ret_extent->start < ret_extent->end;
}

/* The first known extent that overlaps [address, end). */
static bool find_known(const struct scan_target *target, uint64_t address, uint64_t end,
		       struct scan_extent *ret_extent)
{
	for (size_t i = 0; i < target->extent_count; i++) {
		const struct pagemap_extent *known = &target->extents[i];
		struct scan_extent extent = {known->start, known->end,
					     !known->swapped || target->options.read_swapped};

		if (known->end > address && give(address, end, &extent, ret_extent))
			return true;
	}
	return false;
}

static int next_private(struct scan_target *target, uint64_t address, uint64_t end, uint64_t limit,
			struct scan_extent *ret_extent)
{
	while (address < end) {
		uint64_t to = limit - address > WINDOW ? address + WINDOW : limit;

		if (address < target->known_from || address >= target->known_to) {
			int err = ask(target, PAGEMAP_OWN, address, to > end ? to : end);

			if (err)
				return err;
		}
		if (find_known(target, address, end, ret_extent))
			return 1;
		address = target->known_to;
	}
	return 0;
}

static const struct proc_mapping *mapping_of(const struct scan_target *target, size_t range)
{
	return &target->maps.items[target->roots.mappings.items[range]];
}

static uint64_t file_offset(const struct scan_target *target, size_t range, uint64_t address)
{
	const struct proc_mapping *mapping = mapping_of(target, range);

	return address - mapping->start + mapping->offset;
}

/* Alternates between mapped extents and the unknown gaps between them. */
static int next_unopened(struct scan_target *target, uint64_t address, uint64_t end,
			 struct scan_extent *ret_extent)
{
	struct scan_extent extent = {address, end, false};
	struct pagemap_extent mapped;
	uint64_t next;
	size_t count;
	int err = pagemap_read(target->pagemap, PAGEMAP_ALL, page_floor(address),
			       page_floor(end + PAGE_SIZE - 1), &mapped, 1, &count, &next);

	if (err)
		return err;
	if (!count)
		extent.end = next;
	else if (mapped.start > address)
		extent.end = mapped.start;
	else
		extent = (struct scan_extent){address, mapped.end, !mapped.swapped};
	return give(address, end, &extent, ret_extent);
}

/* Uses the holes of the file, which tmpfs and most other file systems report. */
static int next_shared(struct scan_target *target, size_t range, uint64_t address, uint64_t end,
		       struct scan_extent *ret_extent)
{
	int file = target->files.items[range];
	uint64_t offset = file_offset(target, range, address);
	struct scan_extent extent = {address, end, true};
	off_t data, hole;

	if (file < 0)
		return next_unopened(target, address, end, ret_extent);
	data = lseek(file, (off_t)offset, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? 0 : give(address, end, &extent, ret_extent);
	hole = lseek(file, data, SEEK_HOLE);
	extent.start = address + ((uint64_t)data - offset);
	extent.end = hole < 0 ? end : address + ((uint64_t)hole - offset);
	return give(address, end, &extent, ret_extent);
}

static int next_extent(void *ctx, uint64_t address, uint64_t end, struct scan_extent *ret_extent)
{
	struct scan_target *target = ctx;
	size_t range = range_at(target, address);

	if (target->roots.kinds.items[range] == RANGE_SHARED)
		return next_shared(target, range, address, end, ret_extent);
	return next_private(target, address, end, target->roots.ranges.items[range].end,
			    ret_extent);
}

static bool is_shared(const struct scan_target *target, uint64_t address)
{
	size_t range = range_at(target, address);

	return target->roots.kinds.items[range] == RANGE_SHARED &&
	       address < target->roots.ranges.items[range].end && target->files.items[range] >= 0;
}

/* Bytes after the end of the file cannot hold anything. */
static ssize_t read_shared(const struct scan_target *target, const struct memory_piece *piece,
			   unsigned char *out)
{
	size_t range = range_at(target, piece->address);
	ssize_t got = pread(target->files.items[range], out, piece->size,
			    (off_t)file_offset(target, range, piece->address));

	if (got < 0)
		return 0;
	memset(out + got, 0, piece->size - (size_t)got);
	return (ssize_t)piece->size;
}

/* The number of leading pieces of the same kind. */
static size_t count_alike(const struct scan_target *target, const struct memory_piece *pieces,
			  size_t count, bool shared)
{
	size_t alike = 0;

	while (alike < count && is_shared(target, pieces[alike].address) == shared)
		alike++;
	return alike;
}

static size_t bytes_of(const struct memory_piece *pieces, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += pieces[i].size;
	return bytes;
}

static ssize_t read_pieces(void *ctx, const struct memory_piece *pieces, size_t count, void *buffer)
{
	struct scan_target *target = ctx;
	unsigned char *out = buffer;

	while (count) {
		bool shared = is_shared(target, pieces->address);
		size_t alike = shared ? 1 : count_alike(target, pieces, count, false);
		ssize_t got = shared ? read_shared(target, pieces, out)
				     : memory_read(&target->memory, pieces, alike, out);

		if (got < 0)
			return got;
		out += got;
		if ((size_t)got < bytes_of(pieces, alike))
			break;
		pieces += alike;
		count -= alike;
	}
	return out - (unsigned char *)buffer;
}

static uint64_t file_key(const struct proc_mapping *mapping)
{
	return hash_u64((uint64_t)mapping->dev_major << 32 | mapping->dev_minor) ^ mapping->inode;
}

/* Compares paths as well: subvolumes of btrfs have the same device, and may have the same inodes.
 */
static bool is_same_file(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && !strcmp(a->path, b->path);
}

/* Opens the file of a range, unless an earlier range has it. *ret_file is -1 if it cannot be
 * opened, or if too many are open. Returns 0 or -ENOMEM. */
static int open_file(struct scan_target *target, size_t range, int *ret_file)
{
	const struct proc_mapping *mapping = mapping_of(target, range);
	uint64_t key = file_key(mapping);
	uint32_t known = map64_get(&target->range_of_file, key);

	*ret_file = -1;
	if (known != MAP64_NONE && is_same_file(mapping, mapping_of(target, known))) {
		*ret_file = target->files.items[known];
		return 0;
	}
	if (target->opened.count == OPENED_MAX)
		return 0;
	if (vec_reserve(&target->opened, target->opened.count + 1) ||
	    map64_set(&target->range_of_file, key, (uint32_t)range))
		return -ENOMEM;
	*ret_file = proc_open_mapped(target->options.pid, mapping);
	if (*ret_file >= 0)
		target->opened.items[target->opened.count++] = *ret_file;
	return 0;
}

static int open_files(struct scan_target *target)
{
	for (size_t i = 0; i < target->roots.ranges.count; i++) {
		int file = -1, err = 0;

		if (target->roots.kinds.items[i] == RANGE_SHARED)
			err = open_file(target, i, &file);
		if (err || vec_push(&target->files, file < 0 ? -1 : file))
			return -ENOMEM;
	}
	return 0;
}

static int take_registers(struct scan_target *target, const struct thread_registers *threads,
			  size_t count)
{
	target->word = sizeof(void *);
	for (size_t i = 0; i < count; i++) {
		if (threads[i].word) {
			target->word = threads[i].word;
			target->chunk = threads[i].chunk;
			target->thread_pointer = threads[i].thread;
		}
		if (threads[i].size &&
		    vec_push(&target->registers, (struct scan_bytes){.bytes = threads[i].bytes,
								     .size = threads[i].size}))
			return -ENOMEM;
	}
	return 0;
}

static int open_all(struct scan_target *target, const struct thread_registers *threads,
		    size_t count)
{
	pid_t pid = target->options.pid;
	int err = memory_open(&target->memory, pid);

	if (err) {
		target->memory.file = -1;
		return err;
	}
	err = pagemap_open(&target->pagemap, pid, true);
	if (!err)
		err = proc_maps_read(pid, &target->maps);
	if (!err)
		err = roots_find(&target->maps, threads, count, target->options.stopped,
				 &target->roots);
	if (!err)
		err = open_files(target);
	return err ? err : take_registers(target, threads, count);
}

int target_open(struct scan_target **ret_target, const struct target_options *options,
		const struct thread_registers *threads, size_t thread_count)
{
	struct scan_target *target = calloc(1, sizeof(*target));
	int err;

	if (!target)
		return -ENOMEM;
	target->options = *options;
	target->access = (struct scan_memory){next_extent, read_pieces, target};
	err = open_all(target, threads, thread_count);
	if (err)
		target_close(target);
	else
		*ret_target = target;
	return err;
}

void target_close(struct scan_target *target)
{
	int *file;

	if (!target)
		return;
	vec_each (file, &target->opened)
		close(*file);
	vec_free(&target->opened);
	vec_free(&target->files);
	map64_free(&target->range_of_file);
	vec_free(&target->registers);
	roots_free(&target->roots);
	proc_maps_free(&target->maps);
	pagemap_close(target->pagemap);
	memory_close(&target->memory);
	free(target);
}

bool target_is_there(const struct scan_target *target)
{
	struct memory_piece piece = {.size = 1};
	char byte;

	if (!target->roots.images.count)
		return false;
	piece.address = target->roots.images.items[0].start;
	return target->memory.file >= 0
		       ? pread(target->memory.file, &byte, 1, (off_t)piece.address) == 1
		       : memory_read(&target->memory, &piece, 1, &byte) == 1;
}

void target_describe(const struct scan_target *target, struct scan_input *ret_input)
{
	*ret_input = (struct scan_input){
		.memory = &target->access,
		.ranges = target->roots.ranges.items,
		.range_count = target->roots.ranges.count,
		.images = target->roots.images.items,
		.image_count = target->roots.images.count,
		.registers = target->registers.items,
		.register_count = target->registers.count,
		.word = target->word,
		.step = target->word,
		.chunk = target->chunk,
		.thread_pointer = target->thread_pointer,
	};
	if (target->options.kernel_words) {
		ret_input->kernel_words = target->options.kernel_words->items;
		ret_input->kernel_word_count = target->options.kernel_words->count;
	}
}
