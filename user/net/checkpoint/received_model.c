// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/checkpoint/received_model.h"

#include <errno.h>

#include "model/update/scan.h"
#include "model/model.h"

void received_model_free(struct received_model *told)
{
	vec_free(&told->sites);
}

int received_model_scan_site(void *ctx, const struct stream_scan_site *site)
{
	return vec_push(&((struct received_model *)ctx)->sites, *site);
}

/* Returns true if the model has the same site at this index as at the time of the scan. */
static bool site_fits(const struct process *books, const struct stream_scan_site *told)
{
	const struct site *site;

	if (told->books != books->number || told->site >= books->sites.count)
		return false;
	site = process_site_at(books, told->site);
	return site->api == told->api && site->first_seen_ns == told->first_seen_ns;
}

static bool sites_fit(const struct received_model *told, const struct process *books,
		      const struct stream_scan *scan)
{
	const struct stream_scan_site *site;

	vec_each (site, &told->sites)
		if (!site_fits(books, site))
			return false;
	return told->sites.count == scan->sites;
}

static int book_scan(const struct received_model *told, struct process *books,
		     const struct stream_scan *scan)
{
	const struct stream_scan_site *site;
	struct scan_update book;

	if (scan->scan.reason)
		return scan_update_fail(books, scan->scan.reason);
	if (!sites_fit(told, books, scan))
		return scan_update_fail(books, "its result does not match the recording");
	if (scan_update_open(&book, books))
		return -ENOMEM;
	vec_each (site, &told->sites)
		book.leaks[site->site] = site->leaks;
	book.scan = scan->scan;
	scan_update_commit(&book, books);
	return 0;
}

int received_model_scan(void *ctx, const struct stream_scan *scan)
{
	struct received_model *told = ctx;
	struct process *books = model_process_by_number(told->model, scan->books);
	int code = books ? book_scan(told, books, scan) : 0;

	told->sites.count = 0;
	return code;
}

int received_model_unprobed(void *ctx)
{
	model_unprobe(((struct received_model *)ctx)->model);
	return 0;
}
