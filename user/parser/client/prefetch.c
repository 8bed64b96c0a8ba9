/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files are passed to the parsers in the order in which they will be asked for. Before that, files
 * are distributed between the two parsers, largest first: a single library may contain as much code
 * as all others.
 */
#include "parser/client/prefetch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/process/maps.h"

#define FILES_MAX 128 /* number of messages that fit in a socket without blocking the sender */

/* Less code than this is read before a second parser could have started. */
#define SECOND_BYTES (4ULL << 20)

struct file {
	const struct proc_mapping *mapping; /* the first mapping of the file */
	uint64_t bytes;                     /* size of its code */
	bool is_second;
};

struct files {
	struct file items[FILES_MAX];
	size_t count;
	uint64_t bytes;
};

static struct file *find_file(struct files *files, const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct proc_mapping *known = files->items[i].mapping;

		if (known->inode == mapping->inode && known->dev_major == mapping->dev_major &&
		    known->dev_minor == mapping->dev_minor)
			return &files->items[i];
	}
	return NULL;
}

static void find_files(struct files *files, const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];
		struct file *file;

		if (!mapping->executable || !mapping->inode)
			continue;
		file = find_file(files, mapping);
		if (!file && files->count < FILES_MAX) {
			file = &files->items[files->count++];
			*file = (struct file){.mapping = mapping};
		}
		if (!file)
			continue;
		file->bytes += mapping->end - mapping->start;
		files->bytes += mapping->end - mapping->start;
	}
}

static int compare_bytes(const void *a, const void *b)
{
	const struct file *left = *(struct file *const *)a, *right = *(struct file *const *)b;

	return left->bytes < right->bytes ? 1 : -(left->bytes > right->bytes);
}

/* Assigns each file to the parser that has less to do. */
static void share(struct files *files)
{
	struct file *by_bytes[FILES_MAX] = {NULL};
	uint64_t first = 0, second = 0;

	for (size_t i = 0; i < files->count; i++)
		by_bytes[i] = &files->items[i];
	qsort(by_bytes, files->count, sizeof(*by_bytes), compare_bytes);
	for (size_t i = 0; i < files->count; i++) {
		by_bytes[i]->is_second = second < first;
		*(by_bytes[i]->is_second ? &second : &first) += by_bytes[i]->bytes;
	}
}

static void give(struct parser *parser, pid_t pid, const struct file *file)
{
	int fd = proc_open_mapped(pid, file->mapping);

	if (fd < 0)
		return;
	if (file->is_second)
		parser_second_prefetch(parser, fd, file->mapping->path);
	else
		parser_prefetch(parser, fd, file->mapping->path);
	close(fd);
}

/* With a single processor, the tracer itself needs it. */
static bool wants_second(const struct files *files)
{
	return files->bytes >= SECOND_BYTES && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

void parser_prefetch_process(struct parser *parser, pid_t pid)
{
	struct files files = {.count = 0};
	struct proc_maps maps;

	if (proc_maps_read(pid, &maps))
		return;
	find_files(&files, &maps);
	if (wants_second(&files) && !parser_second_start(parser))
		share(&files);
	for (size_t i = 0; i < files.count; i++)
		give(parser, pid, &files.items[i]);
	proc_maps_free(&maps);
}
