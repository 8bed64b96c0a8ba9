/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/kernel_words.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "os/process/procfs.h"

#define NAME_SIZE    32
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A number of a file in /proc. */
struct number {
	const char *before; /* the text before it */
	int base;
};

static bool has_user_data(pid_t pid, const char *descriptor)
{
	char name[NAME_SIZE], *link;
	bool has;

	snprintf(name, sizeof(name), "fd/%.10s", descriptor);
	if (procfs_read_link(pid, name, &link))
		return false;
	has = !strcmp(link, "anon_inode:[eventpoll]") || !strcmp(link, "anon_inode:[io_uring]");
	free(link);
	return has;
}

int data_descriptors_find(pid_t pid, struct data_descriptors *ret_descriptors)
{
	char path[PROCFS_PATH_SIZE];
	struct data_descriptors descriptors = {0};
	const struct dirent *entry;
	DIR *directory;
	int err = 0;

	procfs_path(path, pid, "fd");
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(directory)))
		if (has_user_data(pid, entry->d_name))
			err = vec_push(&descriptors, atoi(entry->d_name));
	closedir(directory);
	if (err)
		vec_free(&descriptors);
	else
		*ret_descriptors = descriptors;
	return err;
}

static int add_number(const char *line, const struct number *number, struct kernel_words *words)
{
	const char *digits = strstr(line, number->before);
	char *end;
	uint64_t word;

	if (!digits)
		return 0;
	digits += strlen(number->before);
	word = strtoull(digits, &end, number->base);
	return end == digits ? 0 : vec_push(words, word);
}

/* Skips a file that cannot be read: the process or descriptor may be gone. */
static int add_numbers(pid_t pid, const char *name, const struct number *numbers, size_t count,
		       struct kernel_words *words)
{
	char *text, *line, *rest;
	size_t size;
	int err = procfs_read(pid, name, &text, &size);

	if (err)
		return err == -ENOMEM ? err : 0;
	rest = text;
	while (!err && (line = strsep(&rest, "\n")))
		for (size_t i = 0; !err && i < count; i++)
			err = add_number(line, &numbers[i], words);
	free(text);
	return err;
}

int kernel_words_read(pid_t pid, const struct data_descriptors *descriptors,
		      struct kernel_words *words)
{
	static const struct number of_timers[] = {{"/", 16}}; /* signal: 10/00005581a2c3d4e5 */
	static const struct number of_descriptors[] = {
		{" data:", 16},     /* tfd:        4 events:       19 data:     5581a2c3d4e5 */
		{": 0x", 16},       /*     0: 0x5641c09622a0/8192 */
		{"addr:0x", 16},    /*     1: opcode:READ, … addr:0x5641c09622a0, … */
		{"user_data:", 10}, /* … user_data:94018291385504 */
	};
	int err = add_numbers(pid, "timers", of_timers, COUNT(of_timers), words);

	for (size_t i = 0; !err && i < descriptors->count; i++) {
		char name[NAME_SIZE];

		snprintf(name, sizeof(name), "fdinfo/%d", descriptors->items[i]);
		err = add_numbers(pid, name, of_descriptors, COUNT(of_descriptors), words);
	}
	return err;
}
