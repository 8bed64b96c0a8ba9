// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/debugfile.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/process/file.h"

#define CRC_POLYNOMIAL 0xedb88320u /* IEEE 802.3, reflected; see GDB's manual, 18.3 */
#define CHUNK          65536
#define USUAL_FOLDER   "/usr/lib/debug"

/* Format strings; the arguments are the file's directory and the link. */
static const char *const places[] = {"%s/%s", "%s/.debug/%s", "/usr/lib/debug%s/%s"};

static void crc_prepare(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? CRC_POLYNOMIAL : 0);
	}
}

static bool is_crc(int fd, uint32_t wanted)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t *chunk = malloc(CHUNK);
	off_t offset = 0;
	ssize_t got = 0;

	if (!chunk)
		return false;
	crc_prepare(table);
	while ((got = pread(fd, chunk, CHUNK, offset)) > 0) {
		for (ssize_t i = 0; i < got; i++)
			crc = crc >> 8 ^ table[(crc ^ chunk[i]) & 0xff];
		offset += got;
	}
	free(chunk);
	return !got && ~crc == wanted;
}

/* A link may name any file on this machine: accept only ELF files. */
static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

/* Takes ownership of the path. */
static int try_path(struct debug_search *search, char *path, uint32_t crc)
{
	int fd = path ? file_open_regular(path, NULL) : -1;

	if (fd >= 0 && is_elf(fd) && (!crc || is_crc(fd, crc))) {
		free(search->found);
		search->found = path;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

/* FOLDER/.build-id/ab/cdef….debug */
static int find_by_build_id(struct debug_search *search, const char *folder, size_t length,
			    const struct debug_want *want)
{
	char name[2 * DEBUG_BUILD_ID_MAX + sizeof("/")], *path;
	size_t used = 0;

	if (want->build_id_size < 2 || want->build_id_size > DEBUG_BUILD_ID_MAX)
		return -1;
	for (size_t i = 0; i < want->build_id_size; i++)
		used += (size_t)sprintf(name + used, i == 1 ? "/%02x" : "%02x", want->build_id[i]);
	if (asprintf(&path, "%.*s/.build-id/%s.debug", (int)length, folder, name) < 0)
		return -1;
	return try_path(search, path, 0);
}

static int find_by_link(struct debug_search *search, const char *file,
			const struct debug_want *want)
{
	size_t place_count = want->alternate ? 1 : sizeof(places) / sizeof(places[0]);
	const char *slash = strrchr(file, '/');
	int fd = -1;

	if (want->link[0] == '/')
		return try_path(search, strdup(want->link), want->crc);
	for (size_t i = 0; slash && fd < 0 && i < place_count; i++) {
		char *parent = strndup(file, (size_t)(slash - file));
		char *path = NULL;

		if (!parent || asprintf(&path, places[i], parent, want->link) < 0)
			path = NULL;
		free(parent);
		fd = try_path(search, path, want->crc);
	}
	return fd;
}

/* Uses only the last component of the link: its directory is that of the build machine. */
static int find_in_folder(struct debug_search *search, const char *folder, size_t length,
			  const struct debug_want *want)
{
	const char *slash = want->link ? strrchr(want->link, '/') : NULL;
	int fd = find_by_build_id(search, folder, length, want);
	char *path;

	if (fd >= 0 || !want->link)
		return fd;
	if (asprintf(&path, "%.*s/%s", (int)length, folder, slash ? slash + 1 : want->link) < 0)
		return -1;
	return try_path(search, path, want->crc);
}

static int find_in_folders(struct debug_search *search, const struct debug_want *want)
{
	const char *folder = search->folders;
	int fd = -1;

	while (folder && *folder && fd < 0) {
		size_t length = strcspn(folder, ":");

		if (length)
			fd = find_in_folder(search, folder, length, want);
		folder += length + (folder[length] == ':');
	}
	return fd;
}

int debug_search_find(void *ctx, const struct module *module, const struct debug_want *want)
{
	struct debug_search *search = ctx;
	const char *file = want->alternate && search->found ? search->found : module->path;
	char *beside = strdup(file); /* search->found changes */
	int fd = find_by_build_id(search, USUAL_FOLDER, sizeof(USUAL_FOLDER) - 1, want);

	if (fd < 0 && want->link && beside)
		fd = find_by_link(search, beside, want);
	if (fd < 0)
		fd = find_in_folders(search, want);
	free(beside);
	return fd;
}

void debug_search_end(struct debug_search *search)
{
	free(search->found);
	search->found = NULL;
}
