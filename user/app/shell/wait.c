// SPDX-License-Identifier: GPL-2.0-or-later
/* Long commands run the event loop: the trace continues, and ^C arrives. */
#include "app/shell/wait.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "os/process/proc.h"

#define NS_PER_MS 1000000ULL
#define TURN_MS   50

struct shell_keys {
	struct shell *shell;
	struct termios before;
	struct loop_watch *watch;
	bool pressed;
};

static void on_key(void *ctx, uint32_t what)
{
	struct shell_keys *keys = ctx;
	char bytes[64];

	/* consume all bytes of the key; leave a hangup to the next reader */
	if (!(what & EPOLLIN) || read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0) {
		loop_remove(keys->shell->config.loop, keys->watch);
		keys->watch = NULL;
	}
	keys->pressed = true;
}

struct shell_keys *shell_keys_begin(struct shell *shell)
{
	struct shell_keys *keys;
	struct termios raw;

	if (!shell->terminal)
		return NULL;
	keys = calloc(1, sizeof(*keys));
	if (!keys)
		return NULL;
	keys->shell = shell;
	if (tcgetattr(STDIN_FILENO, &keys->before) ||
	    loop_add_fd(shell->config.loop, STDIN_FILENO, EPOLLIN, on_key, keys, &keys->watch)) {
		free(keys);
		return NULL;
	}
	raw = keys->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	return keys;
}

void shell_keys_end(struct shell_keys *keys)
{
	if (!keys)
		return;
	loop_remove(keys->shell->config.loop, keys->watch);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &keys->before);
	free(keys);
}

static int wait_ms(uint64_t ns)
{
	uint64_t ms = ns / NS_PER_MS + 1;

	return ms < TURN_MS ? (int)ms : TURN_MS;
}

enum shell_wake shell_wait(struct shell *shell, const struct shell_keys *keys, uint64_t ns)
{
	uint64_t until_ns = clock_now_ns() + ns, now_ns;

	for (;;) {
		if (shell->config.over(shell->config.ctx))
			return SHELL_WAKE_OVER;
		if (shell->interrupted)
			return SHELL_WAKE_INTERRUPT;
		if (keys && keys->pressed)
			return SHELL_WAKE_KEY;
		now_ns = clock_now_ns();
		if (now_ns >= until_ns)
			return SHELL_WAKE_TIME;
		if (loop_once(shell->config.loop, wait_ms(until_ns - now_ns)) < 0)
			return SHELL_WAKE_OVER;
	}
}

/* ---- shell commands ---- */

/* The command gets our parent's signal mask, and default handling of the signals that we ignore. */
static int spawn(struct shell *shell, const char *command, int input, pid_t *ret_pid)
{
	char *const words[] = {"sh", "-c", (char *)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t handled;
	int err;

	sigemptyset(&handled);
	sigaddset(&handled, SIGPIPE);
	sigaddset(&handled, SIGTSTP);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, loop_original_mask(shell->config.loop));
	posix_spawnattr_setsigdefault(&attributes, &handled);
	err = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!err)
		err = posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

int shell_spawn(struct shell *shell, const char *command, int input, int *ret_status)
{
	bool reported = false;
	pid_t pid, got;
	int code = spawn(shell, command, input, &pid);

	if (code)
		return code;
	while (!(got = waitpid(pid, ret_status, WNOHANG)) || (got < 0 && errno == EINTR)) {
		if (!reported && shell->config.over(shell->config.ctx)) {
			kill(pid, SIGTERM);
			reported = true;
		}
		if (loop_once(shell->config.loop, TURN_MS) < 0)
			break;
	}
	return got < 0 ? -errno : 0;
}

bool shell_is_interrupted(void *ctx)
{
	struct shell *shell = ctx;

	shell->config.poll(shell->config.ctx);
	return shell->interrupted || shell->config.over(shell->config.ctx);
}
