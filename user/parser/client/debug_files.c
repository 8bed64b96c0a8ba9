// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/client/debug_files.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "parser/client/debuginfod.h"
#include "parser/client/patience.h"
#include "parser/wire/protocol.h"

#define WANTED_MAX (4 * DEBUG_CANDIDATES_MAX)

/* A server is asked for the candidate after those on this machine. */
static int find_file(struct debug_files *files, const struct module *module,
		     const struct debug_want *want)
{
	struct debug_search *search = &files->search;
	int fd;

	search->folders = files->folders;
	fd = debug_search_find(search, module, want);
	if (fd < 0 && files->debuginfod && search->passed == want->candidate)
		fd = debuginfod_open(want->build_id, want->build_id_size);
	return fd;
}

/* All debug files together get no more time than one file can. */
static uint64_t time_for_file(struct debug_files *files, const struct stat *status)
{
	uint64_t left_ns = READ_NS_MAX - files->time_ns, wanted_ns = time_to_read(status);
	uint64_t time_ns = wanted_ns < left_ns ? wanted_ns : left_ns;

	files->time_ns += time_ns;
	return time_ns;
}

int debug_files_answer(struct debug_files *files, int socket, const struct module *module,
		       const struct frame *frame, uint64_t *deadline_ns)
{
	struct wire_view view = wire_view(&frame->body);
	uint64_t asked_ns = clock_now_ns();
	struct debug_want want;
	struct stat status;
	int fd, err;

	if (files->wanted++ >= WANTED_MAX || want_take(&view, &want))
		return -EBADMSG;
	fd = find_file(files, module, &want);
	*deadline_ns += clock_now_ns() - asked_ns;
	if (fd >= 0 && !fstat(fd, &status))
		*deadline_ns += time_for_file(files, &status);
	err = channel_send(socket, FRAME_FILE, NULL, fd, *deadline_ns);
	if (fd >= 0)
		close(fd);
	return err;
}

void debug_files_end(struct debug_files *files)
{
	debug_search_end(&files->search);
}
