/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orphans WAY TIMES: runs TIMES processes. In each, a thread forks repeatedly while another one
 * ends the process, so that some exit between a fork and the tracer's notification of it. All
 * children allocate and exit. Prints the number of children once all have exited; it hangs if one
 * does not.
 *
 *	exit	the process ends by exit_group
 *	kill	the process ends by SIGKILL
 *	exec	only the threads end: the process executes another program
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int children; /* a pipe that stays open as long as there are children; each writes a byte */

static void end_by_exit(void)
{
	_exit(0);
}

static void end_by_kill(void)
{
	kill(getpid(), SIGKILL);
}

static void end_by_exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static const struct way {
	const char *name;
	void (*end)(void);
} ways[] = {{"exit", end_by_exit}, {"kill", end_by_kill}, {"exec", end_by_exec}};

static void *bear(void *unused)
{
	void *volatile block;

	(void)unused;
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			block = malloc(100);
			free(block);
			_exit(write(children, "c", 1) != 1);
		}
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

static void live(const struct way *way, int number)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, bear, NULL))
		_exit(1);
	usleep((useconds_t)(number * 37 % 5000));
	way->end();
}

static void begin(const struct way *way, int times)
{
	for (int i = 0; i < times; i++) {
		pid_t pid = fork();

		if (!pid)
			live(way, i);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	size_t way = 0;
	int ends[2], count = 0;
	char byte;

	while (argc == 3 && way < 3 && strcmp(argv[1], ways[way].name))
		way++;
	if (argc != 3 || way == 3 || pipe2(ends, O_CLOEXEC))
		return 2;
	children = ends[1];
	begin(&ways[way], atoi(argv[2]));
	close(children);
	while (read(ends[0], &byte, 1) == 1)
		count++;
	printf("%d\n", count);
	return 0;
}
