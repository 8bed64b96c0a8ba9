/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forker: creates children by fork, vfork and posix_spawn, which allocate, free their parent's
 * blocks and exit. The truth is that of the parent only, and these calls do not count in it.
 */
#include "truth.h"

#include <spawn.h>
#include <sys/wait.h>

#define CHILDREN 20

NOINLINE static struct block t_parent(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static void t_child(struct block block)
{
	int i;

	for (i = 0; i < 100; i++)
		free(malloc((size_t)i + 1));
	free(block.address);
	munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	_exit(0);
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		abort();
}

static pid_t spawned(void)
{
	char *argv[] = {(char *)"true", NULL};
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, argv + 1) ? -1 : pid;
}

static pid_t vforked(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return pid;
}

static pid_t forked(struct block block)
{
	pid_t pid = fork();

	if (!pid)
		t_child(block);
	return pid;
}

int main(void)
{
	int i;

	for (i = 0; i < CHILDREN; i++) {
		struct block kept = t_parent(100), gone = t_parent(50);

		wait_for(forked(kept));
		t_free(gone);
		wait_for(i % 2 ? spawned() : vforked());
	}
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
