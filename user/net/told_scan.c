// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/told_scan.h"

#include <errno.h>

#include "model/model.h"
#include "model/scan_book.h"

int told_scan_site(struct told_scan *told, const struct stream_scan_site *site)
{
	return vec_push(&told->sites, *site);
}

/* Is it the site of these books that it was of those at that time? */
static bool site_fits(const struct process *books, const struct stream_scan_site *told)
{
	const struct site *site;

	if (told->books != books->number || told->site >= books->sites.count)
		return false;
	site = process_site_at(books, told->site);
	return site->api == told->api && site->first_seen_ns == told->first_seen_ns;
}

static bool sites_fit(const struct told_scan *told, const struct process *books,
		      const struct stream_scan *scan)
{
	const struct stream_scan_site *site;

	vec_each (site, &told->sites)
		if (!site_fits(books, site))
			return false;
	return told->sites.count == scan->sites;
}

static int book_scan(const struct told_scan *told, struct process *books,
		     const struct stream_scan *scan)
{
	const struct stream_scan_site *site;
	struct scan_book book;

	if (scan->scan.reason)
		return scan_book_fail(books, scan->scan.reason);
	if (!sites_fit(told, books, scan))
		return scan_book_fail(books, "its result does not fit the recording");
	if (scan_book_open(&book, books))
		return -ENOMEM;
	vec_each (site, &told->sites)
		book.leaks[site->site] = site->leaks;
	book.scan = scan->scan;
	scan_book_commit(&book, books);
	return 0;
}

int told_scan_end(struct told_scan *told, struct model *model, const struct stream_scan *scan)
{
	struct process *books = model_books(model, scan->books);
	int code = books ? book_scan(told, books, scan) : 0;

	told->sites.count = 0;
	return code;
}

void told_scan_free(struct told_scan *told)
{
	vec_free(&told->sites);
}
