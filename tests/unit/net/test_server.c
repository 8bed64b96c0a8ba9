/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server with accepted and refused clients, all in one event loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/protocol/client.h"
#include "net/protocol/server.h"
#include "tests/unit/scratch.h"

#define LIMIT    (256u << 10)
#define HASTY_NS (300 * 1000000ULL)

static const struct handshake_order order_end = {.kind = ORDER_END};

struct world {
	struct scratch *scratch;
	struct loop *loop;
	struct server *server;
	struct addresses place;
	struct addresses far; /* where it listens on the loopback, if it does */
	unsigned int ends;    /* requested by a client */
	uint64_t written;
};

/* What a client has received. */
struct got {
	struct world *world;
	struct client *client;
	uint64_t trace;
	uint64_t offset;
	uint64_t stop_at; /* the client breaks the connection after this many bytes; 0: never */
	bool control;
	bool open;
	bool over;
	struct error why;
};

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 2654435761u >> 11);
}

static void on_peer_report(void *ctx, const char *peer, const char *what)
{
	(void)ctx;
	assert_non_null(peer);
	assert_non_null(what);
}

static void on_end(void *ctx)
{
	((struct world *)ctx)->ends++;
}

static int setup_patience(void **state, uint64_t patience_ns)
{
	struct world *world = calloc(1, sizeof(*world));
	struct server_config config = {.report_peer = on_peer_report,
				       .end = on_end,
				       .ctx = world,
				       .limit = LIMIT,
				       .hello_ns = patience_ns,
				       .stall_ns = patience_ns};
	char words[128];
	struct error err;

	scratch_setup((void **)&world->scratch);
	snprintf(words, sizeof(words), "unix:%s/socket", world->scratch->root);
	assert_int_equal(loop_new(&world->loop), 0);
	assert_int_equal(address_find(&world->place, words, 0, &err), 0);
	config.loop = world->loop;
	assert_int_equal(server_open(&world->server, &config, &err), 0);
	assert_int_equal(server_listen(world->server, &world->place.list[0], &err), 0);
	*state = world;
	return 0;
}

static int setup(void **state)
{
	return setup_patience(state, 0);
}

/* Long enough for eight connections, and a fifth of it is short enough for a test. */
static int setup_brisk(void **state)
{
	return setup_patience(state, 10 * HASTY_NS);
}

static int setup_hasty(void **state)
{
	return setup_patience(state, HASTY_NS);
}

static int teardown(void **state)
{
	struct world *world = *state;

	server_close(world->server);
	loop_free(world->loop);
	scratch_teardown((void **)&world->scratch);
	free(world);
	return 0;
}

static void write_some(struct world *world, size_t size)
{
	uint8_t *bytes = malloc(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(world->written + i);
	assert_int_equal(server_output(world->server, bytes, size), 0);
	world->written += size;
	free(bytes);
}

static void on_open(void *ctx, const struct handshake_answer *answer)
{
	struct got *got = ctx;

	got->open = true;
	got->control = answer->control;
	got->trace = answer->trace;
}

static int on_bytes(void *ctx, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	struct got *got = ctx;

	for (size_t i = 0; i < size; i++)
		assert_int_equal(at[i], byte_at(got->offset + i));
	got->offset += size;
	return got->stop_at && got->offset >= got->stop_at ? -ECANCELED : 0;
}

static void on_over(void *ctx, const struct error *why)
{
	struct got *got = ctx;

	got->over = true;
	got->why = *why;
}

/* Resumes where the client was. */
static void begin(struct got *got)
{
	const struct client_config config = {
		.loop = got->world->loop,
		.addresses = got->world->far.count ? got->world->far : got->world->place,
		.trace = got->trace,
		.offset = got->offset,
		.open = on_open,
		.bytes = on_bytes,
		.over = on_over,
		.ctx = got,
	};

	client_free(got->client);
	got->over = got->open = false;
	assert_int_equal(client_new(&got->client, &config), 0);
}

static void until(struct world *world, const bool *flag)
{
	while (!*flag)
		assert_true(loop_once(world->loop, 10000) > 0);
}

static void until_offset(struct got *got, uint64_t offset)
{
	while (got->offset < offset)
		assert_true(loop_once(got->world->loop, 10000) > 0);
}

static void until_count(struct world *world, enum server_count count, uint64_t value)
{
	while (server_count(world->server, count) < value)
		assert_true(loop_once(world->loop, 10000) >= 0);
}

static void test_clients_receive_the_whole_stream(void **state)
{
	struct world *world = *state;
	struct got early = {.world = world}, late = {.world = world};

	begin(&early);
	until(world, &early.open);
	assert_true(early.control);
	write_some(world, 100000);
	begin(&late);
	until(world, &late.open);
	assert_false(late.control);
	write_some(world, 50000);
	server_end(world->server);
	until(world, &early.over);
	until(world, &late.over);
	assert_true(early.offset == 150000 && late.offset == 150000);
	assert_int_equal(early.why.code, -ENODATA);
	until_count(world, SERVER_DELIVERED, 2);
	assert_int_equal(server_clients(world->server), 0);
	client_free(early.client);
	client_free(late.client);
}

/* However often the connection breaks, the client receives exactly what it missed. */
static void test_client_resumes(void **state)
{
	struct world *world = *state;
	struct got got = {.world = world};

	for (int i = 1; i <= 20; i++) {
		write_some(world, 10007);
		got.stop_at = got.offset + 5003;
		begin(&got);
		until(world, &got.over);
		assert_int_equal(got.why.code, -ECANCELED);
	}
	got.stop_at = 0;
	begin(&got);
	until_offset(&got, world->written);
	assert_false(server_is_full(world->server));
	client_free(got.client);
}

/* A caller that ignores the limit does not get unlimited memory. */
static void test_hard_bound(void **state)
{
	static const uint8_t bytes[64 << 10];
	struct world *world = *state;
	unsigned int pieces = 0;

	while (!server_output(world->server, bytes, sizeof(bytes)))
		pieces++;
	assert_int_equal(server_output(world->server, bytes, 1), -ENOSPC);
	assert_true(pieces * sizeof(bytes) < 4 * LIMIT + (1u << 20));
}

/* Data that no client has received are kept. Data that the controlling client has received are
 * dropped, except for what it may need to resume. */
static void test_backlog_is_limited(void **state)
{
	struct world *world = *state;
	struct got got = {.world = world}, late = {.world = world};

	write_some(world, LIMIT);
	assert_true(server_is_full(world->server));
	begin(&got);
	until_offset(&got, LIMIT);
	for (int i = 0; i < 20; i++) {
		write_some(world, LIMIT / 10);
		until_offset(&got, world->written);
	}
	write_some(world, 1);
	assert_false(server_is_full(world->server));
	begin(&late);
	until(world, &late.over);
	assert_int_equal(late.why.code, -EACCES);
	assert_non_null(strstr(late.why.text, "--backlog"));
	until_offset(&got, world->written);
	got.stop_at = 1; /* it disconnects, but can still resume */
	write_some(world, 1);
	until(world, &got.over);
	got.stop_at = 0;
	begin(&got);
	until(world, &got.open);
	got.trace ^= 1;
	begin(&got);
	until(world, &got.over);
	assert_non_null(strstr(got.why.text, "another trace"));
	assert_int_equal(server_count(world->server, SERVER_LATE), 2);
	client_free(got.client);
	client_free(late.client);
}

static void test_oldest_client_is_in_control(void **state)
{
	struct world *world = *state;
	struct got first = {.world = world}, second = {.world = world};

	begin(&first);
	until(world, &first.open);
	begin(&second);
	until(world, &second.open);
	client_order(second.client, &order_end);
	client_order(first.client, &order_end);
	while (!world->ends)
		loop_once(world->loop, 10000);
	client_free(first.client);
	while (server_clients(world->server) > 1)
		loop_once(world->loop, 10000);
	assert_int_equal(world->ends, 1);
	client_order(second.client, &order_end); /* now it is the oldest client */
	while (world->ends < 2)
		loop_once(world->loop, 10000);
	client_free(second.client);
}

static int raw(const struct world *world)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&world->place.list[0].where,
				 world->place.list[0].size),
			 0);
	return fd;
}

static void push(int fd, const void *bytes, size_t size)
{
	if (send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		assert_true(errno == EPIPE || errno == ECONNRESET || errno == EAGAIN);
}

static void test_invalid_requests(void **state)
{
	static const uint8_t zeros[4096];
	struct world *world = *state;
	struct got got = {.world = world};

	for (uint64_t i = 1; i <= 200; i++) {
		int fd = raw(world);

		push(fd, zeros, i % 2 ? REQUEST_SIZE : sizeof(zeros));
		until_count(world, SERVER_NONSENSE, i);
		close(fd);
	}
	write_some(world, 1000);
	begin(&got);
	until_offset(&got, 1000);
	client_free(got.client);
}

/* Connections of the loopback: the server listens on 127.0.0.1, and a peer can be any 127.x.y.z. */

static void listen_far(struct world *world)
{
	struct error err;

	assert_int_equal(address_find(&world->far, "127.0.0.1:0", 0, &err), 0);
	assert_int_equal(server_listen(world->server, &world->far.list[0], &err), 0);
	assert_int_equal(
		address_find(&world->far, strrchr(server_text(world->server), ' ') + 1, 0, &err),
		0);
}

static int far_raw(struct world *world, const char *source)
{
	uint64_t before = server_count(world->server, SERVER_ACCEPTED);
	struct sockaddr_in from = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&world->far.list[0].where,
				 world->far.list[0].size),
			 0);
	until_count(world, SERVER_ACCEPTED, before + 1);
	return fd;
}

static void flood(struct world *world, const char *source, int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fds[i] = far_raw(world, source);
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

static bool try_open(struct got *got)
{
	begin(got);
	while (!got->open && !got->over)
		assert_true(loop_once(got->world->loop, 10000) > 0);
	return got->open;
}

/* Neither a client in the middle of its handshake nor a new one suffers from a flood. */
static void test_flood_from_another_address(void **state)
{
	const struct handshake_request request = {.trace = 0};
	const struct handshake_token none = {.size = 0};
	uint8_t greeting[GREETING_SIZE] = {0}, bytes[REQUEST_SIZE];
	struct world *world = *state;
	struct got got = {.world = world};
	int fds[3 * WAITING_MAX], slow;

	listen_far(world);
	slow = far_raw(world, "127.0.0.3");
	flood(world, "127.0.0.2", fds, 3 * WAITING_MAX);
	assert_int_equal(server_count(world->server, SERVER_CROWDED),
			 3 * WAITING_MAX - WAITING_SHARE);
	assert_true(try_open(&got));
	request_pack(bytes, &request, &none, greeting);
	push(slow, bytes, sizeof(bytes));
	while (server_clients(world->server) < 2)
		assert_true(loop_once(world->loop, 10000) > 0);
	close(slow);
	close_all(fds, 3 * WAITING_MAX);
	client_free(got.client);
}

/* A refused client that disconnects makes room at once. */
static void test_refused_clients_leave(void **state)
{
	struct world *world = *state;
	struct got got = {.world = world, .trace = 1};

	for (int i = 0; i < 2 * WAITING_SHARE; i++) {
		assert_false(try_open(&got));
		assert_non_null(strstr(got.why.text, "another trace"));
	}
	got.trace = 0;
	assert_true(try_open(&got));
	client_free(got.client);
}

/* Many addresses can take all the room, but only until the time limit. */
static void test_flood_from_many_addresses(void **state)
{
	struct world *world = *state;
	struct got got = {.world = world};
	int fds[2 * WAITING_MAX];
	char source[32];

	listen_far(world);
	for (int i = 0; i < 2 * WAITING_MAX; i++) {
		snprintf(source, sizeof(source), "127.0.1.%d", i + 1);
		fds[i] = far_raw(world, source);
	}
	assert_true(server_count(world->server, SERVER_CROWDED) > 0);
	until_count(world, SERVER_SILENT, WAITING_MAX);
	assert_true(try_open(&got));
	close_all(fds, 2 * WAITING_MAX);
	client_free(got.client);
}

/* Idle connections of the same address, or of the same user, do not keep a client out until they
 * time out. */
static void assert_idle_connections_yield(struct world *world, const int *fds)
{
	struct got got = {.world = world};

	while (!try_open(&got))
		;
	assert_int_equal(server_count(world->server, SERVER_SILENT), 0);
	close_all(fds, WAITING_SHARE);
	client_free(got.client);
}

static void test_idle_connections_of_the_same_address(void **state)
{
	struct world *world = *state;
	int fds[WAITING_SHARE];

	listen_far(world);
	flood(world, "127.0.0.1", fds, WAITING_SHARE);
	assert_idle_connections_yield(world, fds);
}

static void test_idle_connections_of_the_same_user(void **state)
{
	struct world *world = *state;
	int fds[WAITING_SHARE];

	for (int i = 0; i < WAITING_SHARE; i++) {
		fds[i] = raw(world);
		until_count(world, SERVER_ACCEPTED, (uint64_t)i + 1);
	}
	assert_idle_connections_yield(world, fds);
}

static void test_silent_clients_are_dropped(void **state)
{
	struct world *world = *state;
	int fds[WAITING_SHARE];

	for (int i = 0; i < WAITING_SHARE; i++)
		fds[i] = raw(world);
	until_count(world, SERVER_SILENT, WAITING_SHARE);
	close_all(fds, WAITING_SHARE);
}

/* A client that reads nothing is dropped. A client that has received everything may be silent
 * forever. */
static void test_stalled_client_is_dropped(void **state)
{
	const struct handshake_token none = {.size = 0};
	const struct handshake_request request = {.trace = 0};
	struct world *world = *state;
	uint8_t greeting[GREETING_SIZE] = {0}, bytes[REQUEST_SIZE];
	struct got got = {.world = world};
	int fd;

	begin(&got);
	until(world, &got.open);
	fd = raw(world);
	request_pack(bytes, &request, &none, greeting);
	push(fd, bytes, sizeof(bytes));
	while (server_clients(world->server) < 2)
		loop_once(world->loop, 10000);
	for (int i = 0; i < 64; i++) {
		write_some(world, LIMIT / 2);
		until_offset(&got, world->written);
	}
	until_count(world, SERVER_LAGGED, 1);
	assert_int_equal(server_clients(world->server), 1);
	close(fd);
	fd = raw(world);
	client_free(got.client);
	until_count(world, SERVER_SILENT, 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clients_receive_the_whole_stream, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_client_resumes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backlog_is_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hard_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_oldest_client_is_in_control, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalid_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood_from_another_address, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_clients_leave, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood_from_many_addresses, setup_brisk,
						teardown),
		cmocka_unit_test_setup_teardown(test_idle_connections_of_the_same_address,
						setup_brisk, teardown),
		cmocka_unit_test_setup_teardown(test_idle_connections_of_the_same_user, setup_brisk,
						teardown),
		cmocka_unit_test_setup_teardown(test_silent_clients_are_dropped, setup_hasty,
						teardown),
		cmocka_unit_test_setup_teardown(test_stalled_client_is_dropped, setup_hasty,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
