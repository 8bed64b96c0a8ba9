/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first word that execvp(3) would find is taken as the program that the command's own program
 * will run, and the words from there on are a command again. If a word only happens to name a
 * program, the cost is an unused probe.
 *
 * If a program changes its root, the search continues there, with the names and libraries of that
 * root. A thread may have a root of its own, so a helper thread goes there and searches.
 */
#include "os/exec/next_program.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/exec/program_path.h"
#include "os/process/procfs.h"

#define PROGRAMS_MAX 4 /* maximum length of a chain of programs that run each other */
#define WORDS_MAX    16

struct program_search {
	pid_t pid;
	char *const *command;
	char *const *environment;
	const struct elf_dynamic_reader *reader;
	struct needed found;
	char root[PATH_MAX]; /* the thread's root as seen from the process's; "" if equal */
	int err;
};

/* Programs that run others in another root, and the option that names the root; NULL if it is their
 * first word. */
static const struct {
	const char *name, *option, *long_option;
} changers[] = {
	{"chroot", NULL, NULL},
	{"unshare", "-R", "--root"},
};

/* Returns the root that an option names, and moves *at to the option's last word. Returns NULL for
 * other options. */
static const char *root_of_option(char *const *command, size_t *at, const char *option,
				  const char *long_option)
{
	const char *word = command[*at];
	size_t length = strlen(long_option);

	if (!strncmp(word, long_option, length) && word[length] == '=')
		return word + length + 1;
	if ((!strcmp(word, option) || !strcmp(word, long_option)) && command[*at + 1])
		return command[++*at];
	return NULL;
}

/* Returns the root that the command's program will change to, or NULL. Sets *ret_next to the index
 * of the word after it. */
static const char *root_of(char *const *command, size_t *ret_next)
{
	const char *slash = strrchr(command[0], '/');
	const char *name = slash ? slash + 1 : command[0], *root = NULL;

	for (size_t i = 0; i < sizeof(changers) / sizeof(changers[0]); i++) {
		if (strcmp(name, changers[i].name))
			continue;
		for (size_t at = 1; !root && at < WORDS_MAX && command[at]; at++) {
			if (changers[i].option)
				root = root_of_option(command, &at, changers[i].option,
						      changers[i].long_option);
			else if (command[at][0] != '-')
				root = command[at];
			*ret_next = at + 1;
		}
		if (!root)
			*ret_next = 1;
	}
	return root;
}

static int enter(struct program_search *search, const char *directory)
{
	char *real = realpath(directory, NULL);
	size_t used = strlen(search->root);
	int err = real ? 0 : -errno;

	if (!err && chroot(real))
		err = -errno;
	if (!err && chdir("/"))
		err = -errno;
	if (!err && strcmp(real, "/") &&
	    snprintf(search->root + used, sizeof(search->root) - used, "%s", real) >=
		    (int)(sizeof(search->root) - used))
		err = -ENAMETOOLONG;
	free(real);
	return err;
}

/* Adds the files that were found, as paths from our root. */
static int add(struct program_search *search, const struct needed *needed)
{
	for (size_t i = 0; i < needed->count; i++) {
		char *path;

		if (asprintf(&path, "%s%s", search->root, needed->paths[i]) < 0)
			return -ENOMEM;
		if (vec_reserve_bytes((void **)&search->found.paths, &search->found.capacity,
				      search->found.count + 1, sizeof(path))) {
			free(path);
			return -ENOMEM;
		}
		search->found.paths[search->found.count++] = path;
	}
	return 0;
}

static int add_program(struct program_search *search, const char *program)
{
	struct needed needed = {0};
	int err = needed_find(program, search->environment, search->reader, &needed, NULL);

	if (!err)
		err = add(search, &needed);
	needed_free(&needed);
	return err == -ENOMEM ? err : 0;
}

/* Returns true for names such as libc.so and libc.so.6: libraries, even if they can be executed. */
static bool is_library(const char *word)
{
	const char *slash = strrchr(word, '/'), *ending = strstr(slash ? slash : word, ".so");

	return ending && (!ending[3] || ending[3] == '.');
}

/* Returns the program that the command's own program will run, and its index; NULL if none was
 * found. */
static char *next_program(struct program_search *search, size_t *ret_at)
{
	size_t at = 1;
	const char *root = root_of(search->command, &at);
	char *program;

	if (root && enter(search, root))
		return NULL;
	for (; at < WORDS_MAX && search->command[at]; at++) {
		if (search->command[at][0] == '-' || is_library(search->command[at]) ||
		    program_find(search->command[at], NULL, &program))
			continue;
		*ret_at = at;
		return program;
	}
	return NULL;
}

static void *follow(void *argument)
{
	struct program_search *search = argument;
	char directory[PROCFS_PATH_SIZE];
	char *program;
	size_t at;

	procfs_path(directory, search->pid, "cwd");
	if (unshare(CLONE_FS) || chdir(directory)) {
		search->err = -errno;
		return NULL;
	}
	for (int i = 0; !search->err && i < PROGRAMS_MAX; i++) {
		program = next_program(search, &at);
		if (!program)
			break;
		search->err = add_program(search, program);
		search->command += at;
		free(program);
	}
	return NULL;
}

int next_programs_find(pid_t pid, char *const *command, char *const *environment,
		       const struct elf_dynamic_reader *reader, struct needed *ret_needed)
{
	struct program_search search = {
		.pid = pid,
		.command = command,
		.environment = environment,
		.reader = reader,
	};
	pthread_t thread;
	int err = -pthread_create(&thread, NULL, follow, &search);

	if (err)
		return err;
	pthread_join(thread, NULL);
	if (search.err)
		needed_free(&search.found);
	else
		*ret_needed = search.found;
	return search.err;
}
