// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/checkpoint/received_model.h"

#include <errno.h>

#include "model/update/scan.h"
#include "model/model.h"

void received_model_free(struct received_model *received)
{
	vec_free(&received->sites);
}

int received_model_scan_site(void *ctx, const struct stream_scan_site *site)
{
	return vec_push(&((struct received_model *)ctx)->sites, *site);
}

/* Returns true if the model has the same site at this index as at the time of the scan. */
static bool site_fits(const struct process *process, const struct stream_scan_site *received)
{
	const struct site *site;

	if (received->process_number != process->number || received->site >= process->sites.count)
		return false;
	site = process_site_at(process, received->site);
	return site->api == received->api && site->first_seen_ns == received->first_seen_ns;
}

static bool sites_fit(const struct received_model *received, const struct process *process,
		      const struct stream_scan *scan)
{
	const struct stream_scan_site *site;

	vec_each (site, &received->sites)
		if (!site_fits(process, site))
			return false;
	return received->sites.count == scan->sites;
}

static int store_scan(const struct received_model *received, struct process *process,
		      const struct stream_scan *scan)
{
	const struct stream_scan_site *site;
	struct scan_update update;

	if (scan->scan.reason)
		return scan_update_fail(process, scan->scan.reason);
	if (!sites_fit(received, process, scan))
		return scan_update_fail(process, "its result does not match the recording");
	if (scan_update_open(&update, process))
		return -ENOMEM;
	vec_each (site, &received->sites)
		update.leaks[site->site] = site->leaks;
	update.scan = scan->scan;
	scan_update_commit(&update, process);
	return 0;
}

int received_model_scan(void *ctx, const struct stream_scan *scan)
{
	struct received_model *received = ctx;
	struct process *process = model_process_by_number(received->model, scan->process_number);
	int code = process ? store_scan(received, process, scan) : 0;

	received->sites.count = 0;
	return code;
}

int received_model_unprobed(void *ctx)
{
	model_unprobe(((struct received_model *)ctx)->model);
	return 0;
}
