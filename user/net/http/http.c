/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs libmicrohttpd without threads: our loop watches its epoll descriptor and lets it work once
 * when that is ready. A separate timer closes connections of slow clients, because libmicrohttpd's
 * own timeout only affects idle ones.
 */
#include "net/http/http.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "net/connection/address.h"
#include "net/connection/sha256.h"
#include "net/http/body.h"
#include "net/http/brake.h"
#include "net/http/host.h"
#include "net/http/visitors.h"

#define NS_PER_SECOND 1000000000ULL
#define CLOCK_NS      (NS_PER_SECOND / 4)
#define IDLE_SECONDS  5
#define RUNS_AT_ONCE  4
#define SECRET_MAX    1024
#define PEM_MAX       (1u << 20)
#define HEALTH_PATH   "/healthz"
#define OPTIONS_MAX   16

struct http {
	struct http_config config;
	struct MHD_Daemon *daemon;
	struct loop_watch *on_ready, *on_clock, *on_more;
	struct visitors visitors;
	bool secret; /* requests must have credentials with this digest: */
	uint8_t digest[SHA256_SIZE];
	struct brake brake;
	struct host_names names; /* what the Host header can be, without credentials and TLS */
	char *cert, *key;
	char text[ADDRESS_TEXT_SIZE + 16];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Responses. */

static void body_done(void *body)
{
	http_body_release(body);
}

static struct MHD_Response *response_of(const struct http_answer *answer)
{
	struct MHD_Response *response;

	if (!answer->body)
		return NULL;
	response = MHD_create_response_from_buffer_with_free_callback_cls(
		answer->body->size, answer->body->bytes, body_done, answer->body);
	if (!response) {
		http_body_release(answer->body);
		return NULL;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	return response;
}

static struct http_answer answer_words(unsigned int status, const char *words)
{
	char *copy = strdup(words);

	return (struct http_answer){status, "text/plain; charset=utf-8",
				    copy ? http_body_new(copy, strlen(words)) : NULL};
}

static enum MHD_Result send_answer(struct MHD_Connection *connection,
				   const struct http_answer *answer)
{
	struct MHD_Response *response = response_of(answer);
	enum MHD_Result done = MHD_NO; /* closes the connection */

	if (response) {
		if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
			MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
		done = MHD_queue_response(connection, answer->status, response);
		MHD_destroy_response(response);
	}
	return done;
}

static enum MHD_Result refuse(struct MHD_Connection *connection)
{
	const struct http_answer answer =
		answer_words(MHD_HTTP_UNAUTHORIZED, "user name and password required\n");
	struct MHD_Response *response = response_of(&answer);
	enum MHD_Result done = MHD_NO;

	if (response) {
		done = MHD_queue_basic_auth_fail_response(connection, "mtrace-bpf", response);
		MHD_destroy_response(response);
	}
	return done;
}

static enum MHD_Result refuse_for(struct MHD_Connection *connection, unsigned int seconds)
{
	const struct http_answer answer =
		answer_words(MHD_HTTP_TOO_MANY_REQUESTS,
			     "too many wrong passwords from this address: try again later\n");
	struct MHD_Response *response = response_of(&answer);
	enum MHD_Result done = MHD_NO;
	char text[16];

	snprintf(text, sizeof(text), "%u", seconds);
	if (response) {
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
		done = MHD_queue_response(connection, answer.status, response);
		MHD_destroy_response(response);
	}
	return done;
}

static enum MHD_Result refuse_host(struct MHD_Connection *connection)
{
	const struct http_answer answer = answer_words(
		MHD_HTTP_MISDIRECTED_REQUEST,
		"the Host header has a name that is not known to be this machine's: add it with "
		"--prometheus-host NAME, or use --prometheus-auth or --prometheus-tls\n");

	return send_answer(connection, &answer);
}

/* Comparing digests makes the timing independent of the secret. */
static int digest_of(const char *user, const char *password, uint8_t ret_digest[SHA256_SIZE])
{
	const struct sha256_part parts[] = {
		{user, strlen(user)}, {":", 1}, {password, strlen(password)}};

	return sha256(parts, sizeof(parts) / sizeof(parts[0]), ret_digest);
}

enum welcome { WELCOME, WRONG_PASSWORD, NO_PASSWORD };

static enum welcome welcome_of(const struct http *http, struct MHD_Connection *connection)
{
	enum welcome welcome = NO_PASSWORD;
	uint8_t digest[SHA256_SIZE];
	char *password = NULL, *user;

	user = MHD_basic_auth_get_username_password(connection, &password);
	if (user && password)
		welcome =
			!digest_of(user, password, digest) &&
					bytes_equal_constant_time(digest, http->digest, SHA256_SIZE)
				? WELCOME
				: WRONG_PASSWORD;
	MHD_free(user);
	MHD_free(password);
	return welcome;
}

static uint64_t origin_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info && info->client_addr ? address_origin(info->client_addr) : 0;
}

/* Returns true if the request may be answered. Otherwise refuses it. */
static bool authenticate(struct http *http, struct MHD_Connection *connection,
			 enum MHD_Result *ret_done)
{
	uint64_t origin = origin_of(connection), now = now_ns();
	unsigned int seconds = brake_wait(&http->brake, origin, now);
	enum welcome welcome = seconds ? NO_PASSWORD : welcome_of(http, connection);

	if (welcome == WELCOME)
		return true;
	if (welcome == WRONG_PASSWORD)
		brake_wrong(&http->brake, origin, now);
	*ret_done = seconds ? refuse_for(connection, seconds) : refuse(connection);
	return false;
}

/* Returns false if the request names another machine. Only browsers can be misled; they always send
 * a name, and with TLS they check it themselves. */
static bool is_for_us(const struct http *http, struct MHD_Connection *connection)
{
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	return http->secret || http->cert || !host || host_is_ours(&http->names, host);
}

/* Responds as soon as the head of a request is complete; a body is never read. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	const union MHD_ConnectionInfo *state =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http *http = ctx;
	struct http_answer answer = {0};
	enum MHD_Result done;
	const char *accept;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	if (state && state->socket_context)
		((struct visitor *)state->socket_context)->heard = true;
	if (!is_for_us(http, connection))
		return refuse_host(connection);
	if (http->secret && strcmp(path, HEALTH_PATH) && !authenticate(http, connection, &done))
		return done;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
		answer = answer_words(MHD_HTTP_METHOD_NOT_ALLOWED,
				      "only GET and HEAD are supported\n");
		return send_answer(connection, &answer);
	}
	accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	http->config.answer(http->config.ctx, path, accept ? accept : "", &answer);
	return send_answer(connection, &answer);
}

/* Connections. */

/* Called before on_connection. */
static enum MHD_Result on_accept(void *ctx, const struct sockaddr *from, socklen_t size)
{
	struct http *http = ctx;

	(void)size;
	visitors_make_room(&http->visitors, address_origin(from));
	return MHD_YES;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct visitor *visitor = *state;
	struct http *http = ctx;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (visitor)
			visitor->fd = -1;
		return;
	}
	if (info)
		*state = visitors_add(&http->visitors, info->connect_fd, origin_of(connection),
				      now_ns());
}

static void on_more(void *ctx, uint32_t what);

/* Runs the daemon as often as it has work that waits for no descriptor. */
static void http_run(struct http *http)
{
	MHD_UNSIGNED_LONG_LONG timeout = 1;

	/* If the first run has freed a connection, only the second one resumes listening. */
	MHD_run(http->daemon);
	for (int i = 1; i < RUNS_AT_ONCE; i++) {
		MHD_run(http->daemon);
		if (MHD_get_timeout(http->daemon, &timeout) != MHD_YES || timeout)
			return;
	}
	if (!http->on_more &&
	    loop_add_timer(http->config.loop, 0, 0, on_more, http, &http->on_more))
		log_debug("a request has to wait");
}

static void on_more(void *ctx, uint32_t what)
{
	struct http *http = ctx;

	(void)what;
	loop_remove(http->config.loop, http->on_more);
	http->on_more = NULL;
	http_run(http);
}

static void on_ready(void *ctx, uint32_t what)
{
	(void)what;
	http_run(ctx);
}

static void on_clock(void *ctx, uint32_t what)
{
	struct http *http = ctx;

	(void)what;
	visitors_cut_slow(&http->visitors, now_ns());
	http_run(http);
}

/* Opening the server. */

/* Reads a small file. With `secret`, the file must not be accessible by others. Returns 0, or
 * -errno with a message in *err. */
static int read_small(const char *path, size_t limit, bool secret, char **ret_text,
		      struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = calloc(1, limit + 1);
	struct stat stat;
	ssize_t size = -1;
	int code = 0;

	if (fd < 0 || !text || fstat(fd, &stat))
		code = text ? -errno : -ENOMEM;
	else if (!S_ISREG(stat.st_mode))
		code = -EINVAL;
	else if (secret && stat.st_mode & (S_IRWXG | S_IRWXO))
		code = -EPERM;
	if (!code)
		size = read(fd, text, limit + 1);
	if (!code && size < 0)
		code = -errno;
	if (!code && (size_t)size > limit)
		code = -EFBIG;
	if (fd >= 0)
		close(fd);
	if (!code) {
		*ret_text = text;
		return 0;
	}
	free(text);
	if (code == -EPERM)
		return error_set(err, code, "other users can read %s (chmod 600 %s)", path, path);
	return error_set_errno(err, code, "cannot read %s", path);
}

static int read_secret(struct http *http, struct error *err)
{
	char *text = NULL, *colon;
	int code = 0;

	if (!http->config.auth_file)
		return 0;
	code = read_small(http->config.auth_file, SECRET_MAX, true, &text, err);
	if (code)
		return code;
	text[strcspn(text, "\r\n")] = '\0';
	colon = strchr(text, ':');
	if (!colon || colon == text || !colon[1]) {
		code = error_set(err, -EINVAL, "%s has no line of the form user:password",
				 http->config.auth_file);
	} else {
		*colon = '\0';
		code = digest_of(text, colon + 1, http->digest);
		if (code)
			error_set(err, code, "out of memory");
		http->secret = true;
	}
	explicit_bzero(text, SECRET_MAX);
	free(text);
	return code;
}

static int read_tls(struct http *http, struct error *err)
{
	const char *comma;
	char *path;
	int code;

	if (!http->config.tls_files)
		return 0;
	comma = strchr(http->config.tls_files, ',');
	if (!comma)
		return error_set(err, -EINVAL, "--prometheus-tls needs two files: CERT,KEY");
	path = strndup(http->config.tls_files, (size_t)(comma - http->config.tls_files));
	if (!path)
		return error_set(err, -ENOMEM, "out of memory");
	code = read_small(path, PEM_MAX, false, &http->cert, err);
	free(path);
	return code ? code : read_small(comma + 1, PEM_MAX, true, &http->key, err);
}

/* PORT alone means the loopback. A port is required, because with an arbitrary one nobody would
 * know where to connect. */
static int find_place(const char *where, struct addresses *ret_addresses, struct error *err)
{
	const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where;
	char words[ADDRESS_HOST_SIZE + 8];

	if (!*port || port[strspn(port, "0123456789")])
		return error_set(err, -EINVAL, "\"%s\" has no port: use ADDR:PORT or PORT", where);
	snprintf(words, sizeof(words), "%s%s",
		 !colon           ? "127.0.0.1:"
		 : colon == where ? "127.0.0.1"
				  : "",
		 where);
	return address_find(ret_addresses, words, 0, err);
}

static int listen_at(struct http *http, int *ret_fd, struct error *err)
{
	char text[ADDRESS_TEXT_SIZE];
	struct addresses places;
	int code = find_place(http->config.where, &places, err);

	if (code)
		return code;
	code = -EADDRNOTAVAIL;
	for (size_t i = 0; i < places.count && code; i++) {
		code = address_listen(&places.list[i], ret_fd);
		places.list[0] = code ? places.list[0] : places.list[i];
	}
	if (code)
		return error_set_errno(err, code, "cannot listen on %s", http->config.where);
	address_text(&places.list[0], text);
	snprintf(http->text, sizeof(http->text), "%s://%s", http->cert ? "https" : "http", text);
	if (!address_is_loopback(&places.list[0]) && !(http->secret && http->cert))
		log_warn("%s at %s (use --prometheus-auth and --prometheus-tls)",
			 http->secret ? "passwords and metrics are sent unencrypted"
				      : "anyone who can connect can read the metrics",
			 text);
	return 0;
}

static void on_log(void *ctx, const char *format, va_list arguments)
{
	char text[256];

	(void)ctx;
	vsnprintf(text, sizeof(text), format, arguments);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http: %s", text);
}

static int daemon_start(struct http *http, int fd, struct error *err)
{
	const unsigned int flags =
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (http->cert ? MHD_USE_TLS : 0u);
	struct MHD_OptionItem options[OPTIONS_MAX] = {
		{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, VISITORS_MAX, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_MEMORY, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, http},
		{MHD_OPTION_END, 0, NULL},
		{MHD_OPTION_END, 0, NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	if (http->cert) {
		options[5] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, http->cert};
		options[6] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, http->key};
	}
	http->daemon = MHD_start_daemon(flags, 0, on_accept, http, on_request, http,
					MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_ARRAY,
					options, MHD_OPTION_END);
	if (http->daemon)
		return 0;
	close(fd);
	return error_set(err, -EIO,
			 http->cert ? "cannot serve with certificate and key %s"
				    : "cannot serve on %s",
			 http->cert ? http->config.tls_files : http->config.where);
}

static int watch(struct http *http, struct error *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct loop *loop = http->config.loop;
	int code =
		info ? loop_add_fd(loop, info->epoll_fd, EPOLLIN, on_ready, http, &http->on_ready)
		     : -EIO;

	if (!code)
		code = loop_add_timer(loop, CLOCK_NS, CLOCK_NS, on_clock, http, &http->on_clock);
	return code ? error_set_errno(err, code, "cannot serve on %s", http->config.where) : 0;
}

int http_open(struct http **ret_http, const struct http_config *config, struct error *err)
{
	struct http *http = calloc(1, sizeof(*http));
	int fd = -1, code;

	if (!http)
		return error_set(err, -ENOMEM, "out of memory");
	http->config = *config;
	visitors_init(&http->visitors);
	host_names_find(&http->names, config->where);
	code = config->hosts ? host_names_allow(&http->names, config->hosts, err) : 0;
	if (!code)
		code = read_secret(http, err);
	if (!code)
		code = read_tls(http, err);
	if (!code)
		code = listen_at(http, &fd, err);
	if (!code)
		code = daemon_start(http, fd, err);
	if (!code)
		code = watch(http, err);
	if (code) {
		http_close(http);
		return code;
	}
	*ret_http = http;
	return 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	loop_remove(http->config.loop, http->on_ready);
	loop_remove(http->config.loop, http->on_clock);
	loop_remove(http->config.loop, http->on_more);
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	if (http->key)
		explicit_bzero(http->key, strlen(http->key));
	free(http->key);
	free(http->cert);
	free(http);
}

const char *http_text(const struct http *http)
{
	return http->text;
}
