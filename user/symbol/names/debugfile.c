// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/debugfile.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file/regular.h"
#include "os/process/rights.h"

#define SYSTEM_FOLDER "/usr/lib/debug"

/* Opens a path that the author of a file has chosen. Returns a descriptor, or a negative number. */
typedef int opener(const char *path, const struct stat *author, struct stat *ret_file);

/* The files that are found, one after the other, until the wanted one is reached. */
struct candidates {
	struct debug_search *search;
	const struct debug_want *want;
	unsigned int skip;
};

/* Openers. */

static int open_chosen_by_user(const char *path, const struct stat *author, struct stat *ret_file)
{
	(void)author;
	return file_open_regular(path, ret_file);
}

static int open_in_system_folder(const char *path, const struct stat *author, struct stat *ret_file)
{
	int fd = file_open_regular(path, ret_file);
	bool is_ours = fd >= 0 && (!ret_file->st_uid || ret_file->st_uid == geteuid());

	(void)author;
	if (fd < 0 || (is_ours && !(ret_file->st_mode & (S_IWGRP | S_IWOTH))))
		return fd;
	close(fd);
	return -1;
}

/* Files of root that not everyone can read are opened only for a program that is for root alone. */
static int open_beside(const char *path, const struct stat *author, struct stat *ret_file)
{
	const struct rights rights = rights_of_author(author);
	int fd = rights_open_regular(&rights, path, ret_file);
	bool is_private = !(author->st_mode & (S_IRWXG | S_IRWXO));

	if (fd < 0 || rights.uid || is_private || ret_file->st_mode & S_IROTH)
		return fd;
	close(fd);
	return -1;
}

static int open_alternate(const char *path, const struct stat *author, struct stat *ret_file)
{
	const struct rights rights =
		author->st_uid ? rights_of_author(author) : rights_of_everyone();

	return rights_open_regular(&rights, path, ret_file);
}

/* Candidates. */

static bool is_usable(int fd, const struct stat *file)
{
	char magic[SELFMAG];

	return file->st_size <= (off_t)DEBUG_FILE_MAX && pread(fd, magic, SELFMAG, 0) == SELFMAG &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

/* Takes ownership of the path. Returns the wanted candidate, or -1. */
static int try_path(struct candidates *candidates, char *path, opener *open,
		    const struct stat *author)
{
	struct debug_search *search = candidates->search;
	struct stat file;
	int fd = path ? open(path, author, &file) : -1;

	if (fd >= 0 && is_usable(fd, &file) && !candidates->skip--) {
		free(search->found);
		search->found = path;
		search->found_file = file;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

static char *join(const char *start, size_t length, const char *middle, const char *end)
{
	char *path;

	return asprintf(&path, "%.*s%s%s", (int)length, start, middle, end) < 0 ? NULL : path;
}

static char *join_below_system(const char *folder, size_t length, const char *name)
{
	char *path;

	return asprintf(&path, SYSTEM_FOLDER "%.*s/%s", (int)length, folder, name) < 0 ? NULL
										       : path;
}

/* FOLDER/.build-id/ab/cdef….debug */
static int find_by_build_id(struct candidates *candidates, const char *folder, size_t length,
			    opener *open)
{
	const struct debug_want *want = candidates->want;
	char name[2 * DEBUG_BUILD_ID_MAX + sizeof("/.debug")];
	size_t used = 0;

	if (want->build_id_size < 2 || want->build_id_size > DEBUG_BUILD_ID_MAX)
		return -1;
	for (size_t i = 0; i < want->build_id_size; i++)
		used += (size_t)sprintf(name + used, i == 1 ? "/%02x" : "%02x", want->build_id[i]);
	strcpy(name + used, ".debug");
	return try_path(candidates, join(folder, length, "/.build-id/", name), open, NULL);
}

static bool is_plain_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static bool goes_up(const char *path)
{
	return strstr(path, "/../");
}

/* In the folder of the file, in its .debug, and in the same folder below SYSTEM_FOLDER. */
static int find_by_name(struct candidates *candidates, const char *file, const struct stat *author)
{
	const char *name = candidates->want->link, *slash = strrchr(file, '/');
	size_t length = slash ? (size_t)(slash - file) : 0;
	int fd;

	if (!slash || !is_plain_name(name))
		return -1;
	fd = try_path(candidates, join(file, length, "/", name), open_beside, author);
	if (fd < 0)
		fd = try_path(candidates, join(file, length, "/.debug/", name), open_beside,
			      author);
	if (fd < 0 && !goes_up(file))
		fd = try_path(candidates, join_below_system(file, length, name),
			      open_in_system_folder, NULL);
	return fd;
}

/* The link is a path, relative to the file that has it. */
static int find_alternate(struct candidates *candidates, const char *file,
			  const struct stat *author)
{
	const char *link = candidates->want->link, *slash = strrchr(file, '/');
	size_t length = slash ? (size_t)(slash - file) : 0;

	return try_path(candidates, link[0] == '/' ? strdup(link) : join(file, length, "/", link),
			open_alternate, author);
}

/* Uses only the last component of the link: its directory is that of the build machine. */
static int find_in_folder(struct candidates *candidates, const char *folder, size_t length)
{
	const char *link = candidates->want->link;
	const char *slash = link ? strrchr(link, '/') : NULL;
	int fd = find_by_build_id(candidates, folder, length, open_chosen_by_user);

	if (slash)
		link = slash + 1;
	if (fd >= 0 || !link || !is_plain_name(link))
		return fd;
	return try_path(candidates, join(folder, length, "/", link), open_chosen_by_user, NULL);
}

static int find_in_folders(struct candidates *candidates)
{
	const char *folder = candidates->search->folders;
	int fd = -1;

	while (folder && *folder && fd < 0) {
		size_t length = strcspn(folder, ":");

		if (length)
			fd = find_in_folder(candidates, folder, length);
		folder += length + (folder[length] == ':');
	}
	return fd;
}

/* Alternate files are looked for from the debug file that was found before, if there is one. */
static int find_by_link(struct candidates *candidates, const struct module *module)
{
	const struct debug_search *search = candidates->search;
	bool is_found = candidates->want->alternate && search->found;
	struct stat author = search->found_file;
	char *file = strdup(is_found ? search->found : module->path); /* search->found changes */
	int fd = -1;

	if (file && (is_found || !fstat(module->fd, &author)))
		fd = candidates->want->alternate ? find_alternate(candidates, file, &author)
						 : find_by_name(candidates, file, &author);
	free(file);
	return fd;
}

int debug_search_find(void *ctx, const struct module *module, const struct debug_want *want)
{
	struct candidates candidates = {.search = ctx, .want = want, .skip = want->candidate};
	int fd = find_by_build_id(&candidates, SYSTEM_FOLDER, sizeof(SYSTEM_FOLDER) - 1,
				  open_in_system_folder);

	if (fd < 0 && want->link)
		fd = find_by_link(&candidates, module);
	if (fd < 0)
		fd = find_in_folders(&candidates);
	candidates.search->passed = want->candidate - (fd < 0 ? candidates.skip : 0);
	return fd;
}

void debug_search_end(struct debug_search *search)
{
	free(search->found);
	search->found = NULL;
}
