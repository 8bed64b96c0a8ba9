/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics: their text and its size, and the negotiation of its format. */
#include <stdlib.h>

#include "net/http/accept.h"
#include "report/prometheus/label.h"
#include "report/prometheus/prometheus.h"
#include "tests/golden/leaks.h"
#include "tests/golden/snapshots.h"
#include "tests/unit/golden.h"

static const struct prometheus_self self = {
	.has_ring = true, .ring_used_ppm = 12500, .resident_bytes = 20 << 20, .cpu_ns = 1500000000};

static char *metrics_of(const struct snapshot *snapshot, bool openmetrics, uint32_t processes,
			uint32_t sites)
{
	const struct prometheus_options options = {openmetrics, processes, sites};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(prometheus_write(snapshot, &options, &self, out), 0);
	fclose(out);
	return text;
}

static void check_text(const char *file, const struct snapshot *snapshot, bool openmetrics,
		       uint32_t processes, uint32_t sites)
{
	check_golden_text(metrics_of(snapshot, openmetrics, processes, sites), file);
}

static void test_golden_texts(void **state)
{
	(void)state;
	check_text("leaky.prom", &leaky_snapshot, false, 50, 20);
	check_text("leaky.openmetrics", &leaky_snapshot, true, 50, 1);
	check_text("server.prom", &server_snapshot, false, 50, 1);
	check_text("hostile.prom", &hostile_snapshot, false, 50, 20);
	check_text("build.prom", &build_snapshot, false, 1, 0);
	check_text("lost.prom", &lost_snapshot, false, 50, 2);
}

static size_t count_series(const char *text)
{
	size_t count = 0;

	for (; *text; text += strcspn(text, "\n") + 1)
		count += *text != '#';
	return count;
}

/* The number of series is bounded as the man page says. */
static void test_number_of_series_is_limited(void **state)
{
	static const struct snapshot *const all[] = {&leaky_snapshot, &server_snapshot,
						     &build_snapshot, &hostile_snapshot,
						     &lost_snapshot};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		for (uint32_t processes = 1; processes < 4; processes++) {
			for (uint32_t sites = 0; sites < 4; sites++) {
				char *text = metrics_of(all[i], false, processes, sites);

				assert_true(count_series(text) <=
					    PROMETHEUS_OF_US +
						    (processes + 2) *
							    (PROMETHEUS_OF_PROCESS +
							     PROMETHEUS_OF_SITE * (sites + 1)));
				free(text);
			}
		}
	}
}

static uint64_t sum_of(const char *text, const char *name)
{
	size_t length = strlen(name);
	uint64_t sum = 0;

	for (; *text; text += strcspn(text, "\n") + 1)
		if (!strncmp(text, name, length) && text[length] == '{')
			sum += strtoull(strstr(text, "} ") + 2, NULL, 10);
	return sum;
}

/* Sums over all series do not depend on how many processes and sites have series of their own. */
static void test_sums_do_not_depend_on_limits(void **state)
{
	static const char *const names[] = {
		"mtrace_bpf_live_bytes",        "mtrace_bpf_allocations_total",
		"mtrace_bpf_site_live_bytes",   "mtrace_bpf_site_allocations_total",
		"mtrace_bpf_site_mapped_bytes", "mtrace_bpf_losses_total",
		"mtrace_bpf_leaked_bytes"};
	char *full = metrics_of(&build_snapshot, false, 1000, 1000);

	(void)state;
	assert_true(sum_of(full, names[0]) > 0);
	for (uint32_t bound = 1; bound < 4; bound++) {
		char *text = metrics_of(&build_snapshot, false, bound, bound - 1);

		for (size_t i = 0; i < COUNT(names); i++)
			assert_int_equal(sum_of(text, names[i]), sum_of(full, names[i]));
		free(text);
	}
	free(full);
}

/* If a pid is reused with the same name, the running process has the series. */
static void test_reused_pid_with_the_same_name(void **state)
{
	struct snapshot_process twice[] = {
		{.pid = 7, .comm = "a", .exited = true, .live = {1, 10}, .traced_until_ns = 5},
		{.pid = 7, .comm = "a", .live = {2, 20}, .traced_until_ns = 9},
		{.pid = 7, .comm = "b", .live = {3, 40}, .traced_until_ns = 9},
	};
	struct snapshot snapshot = {.processes = twice, .process_count = 3};
	char *text = metrics_of(&snapshot, false, 10, 1);

	(void)state;
	assert_non_null(strstr(text, "mtrace_bpf_live_bytes{pid=\"7\",comm=\"a\"} 20\n"));
	assert_non_null(strstr(text, "mtrace_bpf_live_bytes{pid=\"7\",comm=\"b\"} 40\n"));
	assert_non_null(strstr(text, "mtrace_bpf_live_bytes{pid=\"ended\",comm=\"ended\"} 10\n"));
	assert_non_null(
		strstr(text, "mtrace_bpf_process_running{pid=\"ended\",comm=\"ended\"} 0\n"));
	assert_non_null(strstr(text, "mtrace_bpf_traced_processes 2\n"));
	free(text);
}

static void test_sizes(void **state)
{
	struct snapshot_process process = {.pid = 7, .comm = "a"};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	char *text;

	(void)state;
	assert_int_equal(size_class(0), 0);
	assert_int_equal(size_class(1), 0);
	assert_int_equal(size_class(16), 4);
	assert_int_equal(size_class(17), 5);
	assert_int_equal(size_class(UINT64_MAX), SIZE_CLASSES - 1);
	process.sizes[size_class(16)]++;
	process.sizes[size_class(17)]++;
	process.sizes[size_class(UINT64_MAX)]++;
	text = metrics_of(&snapshot, false, 10, 1);
	assert_non_null(strstr(text, "le=\"16.0\"} 1\n"));
	assert_non_null(strstr(text, "le=\"64.0\"} 2\n"));
	assert_non_null(strstr(text, "le=\"1073741824.0\"} 2\n"));
	assert_non_null(strstr(text, "le=\"+Inf\"} 3\n"));
	free(text);
}

static void test_labels(void **state)
{
	static const struct {
		const char *value, *expected;
	} rows[] = {
		{"", ",a=\"\""},
		{"x y{},=", ",a=\"x y{},=\""},
		{"\\\"\n", ",a=\"\\\\\\\"\\n\""},
		{"\xc3\xa4", ",a=\"\xc3\xa4\""},
		{"\xff\xc3", ",a=\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xed\xa0\x80", ",a=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\x1b[1m\x07", ",a=\"\xef\xbf\xbd[1m\xef\xbf\xbd\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		prometheus_label(out, ",", "a", rows[i].value);
		fclose(out);
		assert_string_equal(text, rows[i].expected);
	}
}

static void test_long_label(void **state)
{
	char value[4096], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	memset(value, '"', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	prometheus_label(out, "", "a", value);
	fclose(out);
	assert_true(size <= (size_t)2 * PROMETHEUS_LABEL_MAX + 16);
	assert_non_null(strstr(text, "\xe2\x80\xa6\""));
	free(text);
}

static void test_openmetrics_text_ends_with_eof(void **state)
{
	char *text = metrics_of(&leaky_snapshot, true, 50, 20);
	size_t length = strlen(text);

	(void)state;
	assert_string_equal(text + length - 6, "# EOF\n");
	assert_ptr_equal(strstr(text, "# EOF"), text + length - 6);
	free(text);
}

#define OPENMETRICS "application/openmetrics-text"

static void test_accepted(void **state)
{
	static const struct {
		const char *accept;
		int wanted;
	} rows[] = {
		{"", 0},
		{"*/*", 0},
		{"text/plain", 0},
		{OPENMETRICS, 1},
		{"Application/OpenMetrics-Text ; version=1.0.0", 1},
		{OPENMETRICS ";version=1.0.0," OPENMETRICS
			     ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 1},
		{OPENMETRICS ";q=0.1,text/plain;q=0.5", 0},
		{OPENMETRICS ";q=0.5,text/plain;q=0.5", 1},
		{OPENMETRICS ";q=0", 0},
		{OPENMETRICS ";q=0.000,*/*", 0},
		{OPENMETRICS ";version=2.0.0", 0},
		{OPENMETRICS ";q=", 0},
		{OPENMETRICS ";q=x", 0},
		{OPENMETRICS ";q=99999999999999999999", 1},
		{OPENMETRICS "x", 0},
		{",,;;,=;q,;q=1," OPENMETRICS, 1},
		{"  \t,", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (http_wants_openmetrics(rows[i].accept) != rows[i].wanted)
			fail_msg("%s", rows[i].accept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_texts),
		cmocka_unit_test(test_number_of_series_is_limited),
		cmocka_unit_test(test_sums_do_not_depend_on_limits),
		cmocka_unit_test(test_reused_pid_with_the_same_name),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_long_label),
		cmocka_unit_test(test_openmetrics_text_ends_with_eof),
		cmocka_unit_test(test_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
