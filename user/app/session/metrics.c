/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/terminal/output.h"
#include "base/log.h"
#include "net/http/accept.h"
#include "net/http/body.h"
#include "net/http/http.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "report/format.h"
#include "report/prometheus/prometheus.h"

#define NS_PER_SECOND  1000000000ULL
#define FRESH_NS       NS_PER_SECOND
#define SHARE          20 /* each kind takes at most this fraction of the time */
#define FILE_NS        (15 * NS_PER_SECOND)
#define VERSIONS_MAX   4 /* of each kind, in memory for slow readers */
#define PROFILE_TYPE   "application/octet-stream"
#define STATUS_OK      200
#define STATUS_UNKNOWN 404
#define STATUS_NOT_NOW 503

enum kind { KIND_TEXT, KIND_OPENMETRICS, KIND_HEAP, KIND_ALLOCS, KIND_COUNT };

static const char *const types[KIND_COUNT] = {
	[KIND_TEXT] = PROMETHEUS_TYPE_TEXT,
	[KIND_OPENMETRICS] = PROMETHEUS_TYPE_OPENMETRICS,
	[KIND_HEAP] = PROFILE_TYPE,
	[KIND_ALLOCS] = PROFILE_TYPE,
};

/* The latest version of a kind, and older ones that a reader still uses. */
struct made {
	struct http_body *versions[VERSIONS_MAX]; /* the latest first; NULL: unused */
	uint64_t at_ns;
	uint64_t cost_ns;
};

struct metrics {
	struct session *session;
	struct loop *loop;
	const struct options *options;
	struct http *http;
	struct loop_watch *on_file;
	struct made made[KIND_COUNT];
	bool busy;        /* one is being made */
	bool file_failed; /* already reported */
};

bool metrics_wanted(const struct options *options)
{
	return options->prometheus || options->prometheus_file;
}

/* Making metrics and profiles. */

static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	size_t size;
	char *text;

	if (procfs_read(getpid(), "statm", &text, &size))
		return 0;
	if (sscanf(text, "%*u %lu", &pages) != 1)
		pages = 0;
	free(text);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct prometheus_self self_of(struct session *session)
{
	struct prometheus_self self = {.resident_bytes = resident_bytes()};
	struct timespec cpu;

	if (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu))
		self.cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_SECOND + (uint64_t)cpu.tv_nsec;
	self.has_ring = session_ring_peak(session, &self.ring_used_ppm);
	return self;
}

static bool is_profile(enum kind kind)
{
	return kind == KIND_HEAP || kind == KIND_ALLOCS;
}

static int write_kind(struct metrics *metrics, enum kind kind, const struct snapshot *snapshot,
		      FILE *out)
{
	const struct prometheus_options look = {
		.openmetrics = kind == KIND_OPENMETRICS,
		.processes = metrics->options->prometheus_processes,
		.sites = metrics->options->prometheus_sites,
	};
	const struct format_options profile = {.allocated = kind == KIND_ALLOCS};
	const struct prometheus_self self = self_of(metrics->session);

	return is_profile(kind) ? format_pprof.write(snapshot, &profile, out)
				: prometheus_write(snapshot, &look, &self, out);
}

/* The snapshot needs names for the sites shown, or for all sites in a profile. */
static int take(struct metrics *metrics, enum kind kind, struct snapshot **ret_snapshot,
		struct error *err)
{
	struct report report = metrics->session->report;
	struct snapshot *snapshot;
	int code;

	report.silent = true;
	session_drain(metrics->session); /* on failure, the earlier events are still there */
	code = session_snapshot(metrics->session, &snapshot, err);
	if (code)
		return code;
	code = report_order(&report, snapshot, SORT_USAGE,
			    is_profile(kind) ? 0 : metrics->options->prometheus_sites + 1);
	if (code) {
		snapshot_free(snapshot);
		return error_set_errno(err, code, "cannot make metrics");
	}
	*ret_snapshot = snapshot;
	return 0;
}

static int make_to(struct metrics *metrics, enum kind kind, FILE *out, struct error *err)
{
	struct snapshot *snapshot = NULL;
	int code = take(metrics, kind, &snapshot, err);

	if (code)
		return code;
	code = write_kind(metrics, kind, snapshot, out);
	snapshot_free(snapshot);
	return code ? error_set_errno(err, code, "cannot write metrics") : 0;
}

/* Returns NULL on failure, after reporting it. */
static struct http_body *make(struct metrics *metrics, enum kind kind)
{
	struct error err = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int code;

	if (!out)
		return NULL;
	code = make_to(metrics, kind, out, &err);
	if (fclose(out) || code) {
		log_debug("%s", err.text);
		free(text);
		return NULL;
	}
	return http_body_new(text, size);
}

/* Frees versions that no reader uses. Returns true if there is room for another one. */
static bool made_has_room(struct made *made)
{
	size_t kept = 0;

	for (size_t i = 0; i < VERSIONS_MAX; i++) {
		struct http_body *body = made->versions[i];

		made->versions[i] = NULL;
		if (body && i && body->users == 1)
			http_body_release(body);
		else if (body)
			made->versions[kept++] = body;
	}
	return kept < VERSIONS_MAX;
}

static bool is_fresh(const struct made *made, uint64_t now_ns)
{
	uint64_t due = SHARE * made->cost_ns;

	return made->versions[0] && now_ns - made->at_ns < (due > FRESH_NS ? due : FRESH_NS);
}

static void renew(struct metrics *metrics, enum kind kind)
{
	struct made *made = &metrics->made[kind];
	uint64_t now = clock_now_ns();
	struct http_body *body;

	if (metrics->busy || !metrics->session->model || is_fresh(made, now) ||
	    !made_has_room(made))
		return;
	metrics->busy = true;
	body = make(metrics, kind);
	metrics->busy = false;
	if (!body)
		return;
	memmove(made->versions + 1, made->versions, (VERSIONS_MAX - 1) * sizeof(body));
	made->versions[0] = body;
	made->at_ns = clock_now_ns();
	made->cost_ns = made->at_ns - now;
}

/* Answering. */

static void answer_text(struct http_answer *answer, unsigned int status, const char *type,
			const char *text)
{
	char *copy = strdup(text);

	*answer =
		(struct http_answer){status, type, copy ? http_body_new(copy, strlen(text)) : NULL};
}

static void answer_kind(struct metrics *metrics, enum kind kind, struct http_answer *answer)
{
	struct made *made = &metrics->made[kind];

	renew(metrics, kind);
	if (!made->versions[0]) {
		answer_text(answer, STATUS_NOT_NOW, "text/plain; charset=utf-8", "no data yet\n");
		return;
	}
	*answer = (struct http_answer){STATUS_OK, types[kind], http_body_use(made->versions[0])};
}

static void answer_metrics(struct metrics *metrics, const char *accept, struct http_answer *answer)
{
	answer_kind(metrics, http_wants_openmetrics(accept) ? KIND_OPENMETRICS : KIND_TEXT, answer);
}

static void answer_heap(struct metrics *metrics, const char *accept, struct http_answer *answer)
{
	(void)accept;
	answer_kind(metrics, KIND_HEAP, answer);
}

static void answer_allocs(struct metrics *metrics, const char *accept, struct http_answer *answer)
{
	(void)accept;
	answer_kind(metrics, KIND_ALLOCS, answer);
}

static void answer_health(struct metrics *metrics, const char *accept, struct http_answer *answer)
{
	bool failed = metrics->session->failure;

	(void)accept;
	answer_text(answer, failed ? STATUS_NOT_NOW : STATUS_OK, "text/plain; charset=utf-8",
		    failed ? "the trace failed\n" : "ok\n");
}

static void answer_index(struct metrics *metrics, const char *accept, struct http_answer *answer)
{
	(void)metrics;
	(void)accept;
	answer_text(answer, STATUS_OK, "text/html; charset=utf-8",
		    "<!DOCTYPE html>\n<title>mtrace-bpf</title>\n<h1>mtrace-bpf</h1>\n<ul>\n"
		    "<li><a href=\"/metrics\">/metrics</a>: for Prometheus\n"
		    "<li><a href=\"/debug/pprof/heap\">/debug/pprof/heap</a>: a profile of live "
		    "memory\n"
		    "<li><a href=\"/debug/pprof/allocs\">/debug/pprof/allocs</a>: a profile of all "
		    "allocations\n"
		    "<li><a href=\"/healthz\">/healthz</a>\n</ul>\n");
}

static const struct {
	const char *path;
	void (*answer)(struct metrics *metrics, const char *accept, struct http_answer *answer);
} routes[] = {
	{"/", answer_index},
	{"/metrics", answer_metrics},
	{"/healthz", answer_health},
	{"/debug/pprof/heap", answer_heap},
	{"/debug/pprof/allocs", answer_allocs},
};

static void on_request(void *ctx, const char *path, const char *accept, struct http_answer *answer)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!strcmp(routes[i].path, path)) {
			routes[i].answer(ctx, accept, answer);
			return;
		}
	}
	answer_text(answer, STATUS_UNKNOWN, "text/plain; charset=utf-8", "no such page\n");
}

/* The file. */

static int write_file(struct metrics *metrics, struct error *err)
{
	struct output output;
	int code = output_open(&output, metrics->options->prometheus_file, OUTPUT_PUBLIC, err);

	if (code)
		return code;
	code = make_to(metrics, KIND_TEXT, output.stream, err);
	if (!code)
		return output_commit(&output, err);
	output_abandon(&output);
	return code;
}

/* A failure is reported once, until writing works again. Returns 0 or -errno. */
static int renew_file(struct metrics *metrics)
{
	struct error err;
	int code;

	if (metrics->busy || !metrics->session->model)
		return 0;
	metrics->busy = true;
	code = write_file(metrics, &err);
	metrics->busy = false;
	if (code && !metrics->file_failed)
		log_error("%s", err.text);
	metrics->file_failed = code != 0;
	return code;
}

static void on_file(void *ctx, uint32_t what)
{
	(void)what;
	(void)renew_file(ctx);
}

static int open_file(struct metrics *metrics, struct error *err)
{
	const struct options *options = metrics->options;
	uint64_t every = options->interval_ns ? options->interval_ns : FILE_NS;
	int code;

	if (!options->prometheus_file)
		return 0;
	code = output_check(options->prometheus_file, err);
	if (code)
		return code;
	code = loop_add_timer(metrics->loop, every, every, on_file, metrics, &metrics->on_file);
	return code ? error_set_errno(err, code, "cannot write metrics") : 0;
}

static int open_http(struct metrics *metrics, struct error *err)
{
	const struct http_config config = {
		.loop = metrics->loop,
		.where = metrics->options->prometheus,
		.auth_file = metrics->options->prometheus_auth,
		.tls_files = metrics->options->prometheus_tls,
		.hosts = metrics->options->prometheus_host,
		.answer = on_request,
		.ctx = metrics,
	};
	int code;

	if (!config.where)
		return 0;
	code = http_open(&metrics->http, &config, err);
	if (!code)
		log_warn("metrics at %s/metrics", http_text(metrics->http));
	return code;
}

int metrics_open(struct metrics **ret_metrics, struct session *session, struct loop *loop,
		 struct error *err)
{
	const struct options *options = session->report.options;
	struct metrics *metrics;
	int code;

	*ret_metrics = NULL;
	if (!metrics_wanted(options))
		return 0;
	metrics = calloc(1, sizeof(*metrics));
	if (!metrics)
		return error_set(err, -ENOMEM, "out of memory");
	*metrics = (struct metrics){.session = session, .loop = loop, .options = options};
	code = open_file(metrics, err);
	if (!code)
		code = open_http(metrics, err);
	if (code) {
		metrics_close(metrics);
		return code;
	}
	*ret_metrics = metrics;
	return 0;
}

int metrics_finish(struct metrics *metrics)
{
	return metrics && metrics->options->prometheus_file ? renew_file(metrics) : 0;
}

void metrics_close(struct metrics *metrics)
{
	if (!metrics)
		return;
	http_close(metrics->http);
	loop_remove(metrics->loop, metrics->on_file);
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		for (size_t i = 0; i < VERSIONS_MAX; i++)
			http_body_release(metrics->made[kind].versions[i]);
	free(metrics);
}
