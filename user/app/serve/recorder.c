// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/serve/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map64.h"
#include "base/units.h"
#include "net/stream/stream.h"
#include "net/stream/write.h"
#include "os/file/place.h"
#include "os/process/proc.h"

#define NS_PER_MS    1000000ULL
#define PATIENCE_NS  (1000 * NS_PER_MS) /* how long events may be held back … */
#define IMPATIENT_NS (100 * NS_PER_MS)  /* … if a client may be waiting for them */

struct recorder {
	char *path;
	int fd;
	stream_output *output; /* instead of a file; NULL: write to the file */
	void *ctx;
	bool created; /* by us, and still empty; device and inode say which file it is */
	dev_t device;
	ino_t inode;
	bool begun; /* the settings were written */
	struct recorder_config config;
	struct stream_writer *writer;
	struct map64 modules_sent; /* recorded modules, by id */
	uint64_t bytes;
	uint64_t flushed_ns;
	struct error failure;
};

static int fail(struct recorder *recorder, int code)
{
	if (code && !recorder->failure.code)
		error_set_errno(&recorder->failure, code, "cannot write %s", recorder->path);
	return recorder->failure.code;
}

/* Somebody may have made the pipe non-blocking: wait until it is writable. */
static int wait_writable(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	return poll(&polled, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* Truncates an older recording when the first byte is written. */
static int begin_file(struct recorder *recorder)
{
	struct stat status;

	if (recorder->bytes || fstat(recorder->fd, &status) || !S_ISREG(status.st_mode))
		return 0;
	return ftruncate(recorder->fd, 0) ? -errno : 0;
}

static int write_all(void *ctx, const void *bytes, size_t size)
{
	struct recorder *recorder = ctx;
	const char *at = bytes;
	int code = begin_file(recorder);

	recorder->created = false;
	while (!code && size) {
		ssize_t written = write(recorder->fd, at, size);

		if (written > 0) {
			at += written;
			size -= (size_t)written;
			recorder->bytes += (uint64_t)written;
		} else if (written < 0 && errno == EAGAIN) {
			code = wait_writable(recorder->fd);
		} else if (!written || errno != EINTR) {
			code = written ? -errno : -EIO;
		}
	}
	return code;
}

static int open_stdout(struct recorder *recorder, struct error *err)
{
	recorder->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	return recorder->fd < 0 ? error_set_errno(err, -errno, "cannot write standard output") : 0;
}

static int open_file(struct recorder *recorder, mode_t mode, struct error *err)
{
	struct place place;
	struct stat status;
	int code = place_find(&place, recorder->path, err);

	if (code)
		return code;
	code = recorder->fd = place_open(&place, 0, mode);
	if (code >= 0 && !place.exists && !fstat(code, &status)) {
		recorder->created = true;
		recorder->device = status.st_dev;
		recorder->inode = status.st_ino;
	}
	place_free(&place);
	return code < 0 ? error_set_errno(err, code, "cannot write %s", recorder->path) : 0;
}

int recorder_open(struct recorder **ret_recorder, const char *path, mode_t mode, struct error *err)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int code;

	if (!recorder)
		return error_set(err, -ENOMEM, "out of memory");
	recorder->fd = -1;
	recorder->path = strdup(path);
	if (!recorder->path)
		code = error_set(err, -ENOMEM, "out of memory");
	else if (!strcmp(path, "-"))
		code = open_stdout(recorder, err);
	else
		code = open_file(recorder, mode, err);
	if (!code && stream_writer_new(&recorder->writer, true, write_all, recorder))
		code = error_set(err, -ENOMEM, "out of memory");
	if (code) {
		recorder_close(recorder);
		return code;
	}
	recorder->flushed_ns = clock_now_ns();
	*ret_recorder = recorder;
	return 0;
}

static int pass_on(void *ctx, const void *bytes, size_t size)
{
	struct recorder *recorder = ctx;

	recorder->bytes += size;
	return recorder->output(recorder->ctx, bytes, size);
}

int recorder_open_to(struct recorder **ret_recorder, const char *name, stream_output *output,
		     void *ctx)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return -ENOMEM;
	*recorder = (struct recorder){.fd = -1, .output = output, .ctx = ctx};
	recorder->path = strdup(name);
	if (!recorder->path || stream_writer_new(&recorder->writer, true, pass_on, recorder)) {
		recorder_close(recorder);
		return -ENOMEM;
	}
	recorder->flushed_ns = clock_now_ns();
	*ret_recorder = recorder;
	return 0;
}

void recorder_describe(struct recorder *recorder, const struct recorder_config *config)
{
	recorder->config = *config;
}

void recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->fd >= 0)
		close(recorder->fd);
	if (recorder->created)
		(void)place_remove(recorder->path, recorder->device, recorder->inode);
	stream_writer_free(recorder->writer);
	map64_free(&recorder->modules_sent);
	free(recorder->path);
	free(recorder);
}

static int begin(struct recorder *recorder)
{
	const struct model_config *model = recorder->config.model_config;
	struct stream_settings settings = {
		.apis = model->apis,
		.wrappers = model->wrappers,
		.sanity = model->sanity,
		.omits = model->omits,
		.scans = model->scans,
		.exits_unseen = model->exits_unseen,
		.page_size = model->page_size,
		.sample = model->sample,
		.min_size = model->min_size,
		.max_size = model->max_size,
		.begun_ns = clock_now_ns(),
		.begun_at_ms = clock_epoch_ms(),
		.version = MTRACE_VERSION,
		.backend = recorder->config.backend,
	};

	if (recorder->begun || recorder->failure.code)
		return recorder->failure.code;
	recorder->begun = true;
	return fail(recorder, stream_write_settings(recorder->writer, &settings));
}

static int write_module(struct recorder *recorder, uint32_t id)
{
	const struct module *module = module_get(recorder->config.modules, id);
	struct stream_segment segments[STREAM_SEGMENTS_MAX];
	struct stream_module record = {.id = id, .segments = segments};
	struct stat status;

	if (!module || map64_get(&recorder->modules_sent, id) != MAP64_NONE)
		return 0;
	record.path = module->path;
	record.build_id = module->build_id[0] ? module->build_id : NULL;
	record.size = fstat(module->fd, &status) ? 0 : (uint64_t)status.st_size;
	record.machine = (uint32_t)module->machine;
	record.elf64 = module->elf64;
	record.big_endian = module->big_endian;
	record.executable = module->executable;
	for (size_t i = 0; i < module->segment_count && i < STREAM_SEGMENTS_MAX; i++) {
		const struct module_segment *segment = &module->segments[i];

		segments[record.segment_count++] = (struct stream_segment){
			segment->offset, segment->vaddr, segment->size, segment->executable};
	}
	if (map64_set(&recorder->modules_sent, id, 1))
		return -ENOMEM;
	return stream_write_module(recorder->writer, &record);
}

int recorder_event(struct recorder *recorder, const struct event *event)
{
	int code = recorder->begun ? 0 : begin(recorder);

	if (!code && event->kind == EVENT_MAPPING)
		code = write_module(recorder, event->mapping.module);
	if (!code)
		code = stream_write_event(recorder->writer, event);
	return code ? fail(recorder, code) : 0;
}

static bool is_found(const struct snapshot_leaks *leaks)
{
	for (size_t i = 0; i < LEAK_CLASS_COUNT; i++)
		if (leaks->classes[i].blocks)
			return true;
	return false;
}

static int record_sites(struct recorder *recorder, const struct process *process,
			uint32_t *ret_count)
{
	int code = 0;

	*ret_count = 0;
	for (size_t i = 0; i < process->leak_count && !code; i++) {
		const struct site *site = process_site_at(process, (uint32_t)i);
		const struct stream_scan_site record = {
			.process_number = process->number,
			.site = (uint32_t)i,
			.api = site->api,
			.first_seen_ns = site->first_seen_ns,
			.leaks = process->leaks[i],
		};

		if (!is_found(&record.leaks))
			continue;
		++*ret_count;
		code = stream_write_scan_site(recorder->writer, &record);
	}
	return code;
}

int recorder_scan(struct recorder *recorder, const struct process *process)
{
	struct stream_scan record = {.process_number = process->number, .scan = process->scan};
	int code = begin(recorder);

	record.scan.reason = process->scan_reason;
	if (!code && !record.scan.reason)
		code = record_sites(recorder, process, &record.sites);
	if (!code)
		code = stream_write_scan(recorder->writer, &record);
	return fail(recorder, code);
}

int recorder_scanned(struct recorder *recorder, const struct stream_scanned *scanned)
{
	int code = begin(recorder);

	return code ? code : fail(recorder, stream_write_scanned(recorder->writer, scanned));
}

int recorder_unprobed(struct recorder *recorder)
{
	int code = begin(recorder);

	return code ? code : fail(recorder, stream_write_unprobed(recorder->writer));
}

int recorder_flush(struct recorder *recorder, bool all)
{
	uint64_t now_ns;

	if (!stream_is_held(recorder->writer))
		return recorder->failure.code;
	now_ns = clock_now_ns();
	if (!all && now_ns - recorder->flushed_ns < (recorder->output ? IMPATIENT_NS : PATIENCE_NS))
		return recorder->failure.code;
	recorder->flushed_ns = now_ns;
	return fail(recorder, stream_flush(recorder->writer));
}

/* Syncs to disk and closes. Pipes and devices do not support fsync(). */
static int settle(struct recorder *recorder)
{
	int code = 0;

	if (fsync(recorder->fd) && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		code = -errno;
	if (close(recorder->fd) && !code && errno != EINTR)
		code = -errno;
	recorder->fd = -1;
	return code;
}

int recorder_finish(struct recorder *recorder, uint64_t taken_ns, uint64_t taken_at_ms,
		    const char *failure, struct error *err)
{
	const struct stream_end end = {
		.taken_ns = taken_ns, .taken_at_ms = taken_at_ms, .failure = failure};

	if (!begin(recorder))
		fail(recorder, stream_write_end(recorder->writer, end));
	if (recorder->fd >= 0)
		fail(recorder, settle(recorder));
	if (recorder->failure.code)
		return error_set(err, recorder->failure.code, "%s", recorder->failure.text);
	return 0;
}

const struct error *recorder_failure(const struct recorder *recorder)
{
	return recorder->failure.code ? &recorder->failure : NULL;
}

const char *recorder_text(const struct recorder *recorder, char text[RECORDER_TEXT_SIZE])
{
	char events[UNITS_TEXT_SIZE], bytes[UNITS_TEXT_SIZE];

	snprintf(text, RECORDER_TEXT_SIZE, "%s events, %s, in %s",
		 count_format(stream_events(recorder->writer), events),
		 bytes_format(recorder->bytes, bytes), recorder->path);
	return text;
}
