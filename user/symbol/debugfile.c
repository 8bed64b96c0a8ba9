// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debugfile.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CRC_POLYNOMIAL 0xedb88320u /* of IEEE 802.3, reflected: gdb's documentation, 18.3 */
#define CHUNK          65536

/* Formats with the file's directory and the link. */
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

/* A regular file, whatever the name leads to: nothing that could make us wait. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Takes the path over. Alternate files come without checksum: libdw compares their build id. */
static int try_path(char *path, GElf_Word crc, char **ret_name)
{
	int fd = path ? open_regular(path) : -1;

	if (fd >= 0 && (!crc || is_crc(fd, crc))) {
		*ret_name = path;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

static int find_by_link(const char *file_name, const char *link, GElf_Word crc, char **ret_name)
{
	const char *slash = strrchr(file_name, '/');
	int directory = slash ? (int)(slash - file_name) : 0;
	int fd = -1;

	if (link[0] == '/')
		return try_path(strdup(link), crc, ret_name);
	for (size_t i = 0; slash && fd < 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		char *parent = strndup(file_name, (size_t)directory);
		char *path = NULL;

		if (!parent || asprintf(&path, places[i], parent, link) < 0)
			path = NULL;
		free(parent);
		fd = try_path(path, crc, ret_name);
	}
	return fd;
}

int debugfile_find(Dwfl_Module *dwfl_module, void **userdata, const char *module_name,
		   Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
		   char **ret_name)
{
	int fd = dwfl_build_id_find_debuginfo(dwfl_module, userdata, module_name, base, file_name,
					      link, crc, ret_name);

	if (fd >= 0)
		return fd;
	free(*ret_name);
	*ret_name = NULL;
	return file_name && link ? find_by_link(file_name, link, crc, ret_name) : -1;
}
