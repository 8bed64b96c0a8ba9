/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loader [leaderless]: loads and unloads libraries while it runs, in a thread other than the first.
 * Prints READY, then executes the commands on standard input, one per line, and answers each with
 * the truth so far. The libraries are copies of the plugin, which allocates for the program.
 *
 *	w	allocate
 *	o PATH	load the library and have it allocate
 *	n PATH	the same in a new linker namespace, with its own C library
 *	c	unload the library that was loaded last
 *	l	the first thread exits; with "leaderless" it exits before READY
 *	q	exit, as at end of file
 */
#include "truth.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#define TIMES 20
#define SIZE  123

static sem_t leader_may_go;
static void *library;

NOINLINE static struct block t_work(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void work(void)
{
	int i;

	for (i = 0; i < TIMES; i++) {
		struct block block = t_work(SIZE);

		if (i % 2)
			t_free(block);
	}
}

static void use(void *opened)
{
	static struct site site = {.function = "t_plugin", .api = "malloc"};
	void *(*allocate)(size_t);
	int i;

	if (!opened)
		abort();
	library = opened;
	*(void **)&allocate = dlsym(opened, "t_plugin");
	for (i = 0; i < TIMES; i++)
		truth_allocated(&site, SIZE, allocate(SIZE));
}

/* Returns when the kernel shows the first thread as a zombie. */
static void end_leader(void)
{
	char text[256] = "", *end;
	FILE *file;

	sem_post(&leader_may_go);
	do {
		sched_yield();
		file = fopen("/proc/self/stat", "re");
		if (!file || !fgets(text, sizeof(text), file))
			abort();
		fclose(file);
		end = strrchr(text, ')');
	} while (!end || end[2] != 'Z');
}

static void obey(char *line)
{
	char *path = line + 2;

	line[strcspn(line, "\n")] = '\0';
	switch (line[0]) {
	case 'w':
		work();
		break;
	case 'o':
		use(dlopen(path, RTLD_NOW));
		break;
	case 'n':
		use(dlmopen(LM_ID_NEWLM, path, RTLD_NOW));
		break;
	case 'c':
		dlclose(library);
		break;
	case 'l':
		end_leader();
		break;
	default:
		_exit(0);
	}
	truth_tell(STDOUT_FILENO, "");
}

static void *serve(void *leaderless)
{
	char line[PATH_MAX + 3];

	if (leaderless)
		end_leader();
	truth_write(STDOUT_FILENO, "READY\n", 6);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	sem_init(&leader_may_go, 0, 0);
	if (pthread_create(&thread, NULL, serve, argc > 1 ? "" : NULL))
		return 1;
	sem_wait(&leader_may_go);
	pthread_exit(NULL);
}
