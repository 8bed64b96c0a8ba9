/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small web server's bookkeeping, with three leaks of the kind that reviews miss. It serves a few
 * hundred made-up requests and exits; `make quickstart` traces it.
 *
 *	remember_session	a new session replaces the one in its slot, which is not freed
 *	parse_agent		the copy is freed, but not on the early return
 *	describe_error		the caller thinks the text is static
 *
 * Everything else is freed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 400
#define SESSIONS 64

struct session {
	unsigned int user;
	char cart[200];
};

struct request {
	char *path;
	const char *agent;
	unsigned int user;
};

static struct session *sessions[SESSIONS];

static void *checked(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static struct request *read_request(unsigned int number)
{
	static const char *const agents[] = {"curl/7.88.1", "Mozilla/5.0 (X11)", "health-check"};
	struct request *request = checked(malloc(sizeof(*request)));

	request->path = checked(malloc(64));
	snprintf(request->path, 64, "/item/%u", number % 50);
	request->agent = agents[number % 3];
	request->user = number * 7 % 100;
	return request;
}

static void free_request(struct request *request)
{
	free(request->path);
	free(request);
}

static void remember_session(unsigned int user)
{
	struct session *session = checked(calloc(1, sizeof(*session)));

	session->user = user;
	sessions[user % SESSIONS] = session;
}

static int parse_agent(const char *agent)
{
	char *copy = checked(malloc(strlen(agent) + 1)), *slash;
	int version;

	slash = strchr(strcpy(copy, agent), '/');
	if (!slash)
		return 0;
	version = atoi(slash + 1);
	free(copy);
	return version;
}

static const char *describe_error(int status)
{
	char *text = checked(malloc(32));

	snprintf(text, 32, "error %d", status);
	return text;
}

static char *render_page(const struct request *request)
{
	char *page = NULL;
	size_t size = 0, row;

	for (row = 0; row < 10; row++) {
		page = checked(realloc(page, size + 128));
		size += (size_t)snprintf(page + size, 128, "<p>%s %zu</p>", request->path, row);
	}
	return page;
}

static size_t serve(unsigned int number)
{
	struct request *request = read_request(number);
	char *page = render_page(request);
	size_t sent = strlen(page);

	if (parse_agent(request->agent) > 0)
		remember_session(request->user);
	if (number % 20 == 19)
		sent += strlen(describe_error(404));
	free(page);
	free_request(request);
	return sent;
}

static void end_sessions(void)
{
	for (size_t i = 0; i < SESSIONS; i++)
		free(sessions[i]);
}

int main(void)
{
	size_t sent = 0;

	for (unsigned int number = 0; number < REQUESTS; number++)
		sent += serve(number);
	end_sessions();
	printf("served %d requests, %zu bytes\n", REQUESTS, sent);
	return 0;
}
