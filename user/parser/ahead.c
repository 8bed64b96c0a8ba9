/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <unistd.h>

#include "os/proc.h"
#include "parser/client.h"

#define FILES_MAX 128 /* as many as wait in a socket without blocking who sends them */

struct seen {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

static bool is_seen(const struct seen *seen, size_t count, const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < count; i++)
		if (seen[i].inode == mapping->inode && seen[i].dev_major == mapping->dev_major &&
		    seen[i].dev_minor == mapping->dev_minor)
			return true;
	return false;
}

/* In the order in which they will be asked for. */
void parser_read_ahead(struct parser *parser, pid_t pid)
{
	struct seen seen[FILES_MAX];
	struct proc_maps maps;
	size_t count = 0;

	if (proc_maps_read(pid, &maps))
		return;
	for (size_t i = 0; i < maps.count && count < FILES_MAX; i++) {
		const struct proc_mapping *mapping = &maps.items[i];
		int fd;

		if (!mapping->executable || !mapping->inode || is_seen(seen, count, mapping))
			continue;
		seen[count++] =
			(struct seen){mapping->dev_major, mapping->dev_minor, mapping->inode};
		fd = proc_open_mapped(pid, mapping);
		if (fd < 0)
			continue;
		parser_ahead(parser, fd, mapping->path);
		close(fd);
	}
	proc_maps_free(&maps);
}
