/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/errors.h"

static void put_api(struct json_writer *writer, const char *key, enum api api)
{
	if (api == API_NONE)
		json_put_literal(writer, key, "null");
	else
		json_put_string(writer, key, api_name(api));
}

/* A number, or null if it equals `none`. */
static void put_unless(struct json_writer *writer, const char *key, uint64_t value, uint64_t none)
{
	if (value == none)
		json_put_literal(writer, key, "null");
	else
		json_put_number(writer, key, value);
}

static void put_error(struct json_writer *writer, const struct snapshot_error *error)
{
	json_open_object(writer, NULL, JSON_INLINE);
	json_put_string(writer, "kind", sanity_kind_name(error->kind));
	json_put_number(writer, "count", error->count);
	json_put_string(writer, "api", api_name(error->api));
	put_api(writer, "allocated_by", error->allocated_by);
	put_api(writer, "freed_by", error->freed_by);
	put_unless(writer, "site", error->site, INDEX_NONE);
	put_unless(writer, "allocated_at", error->allocated_at, INDEX_NONE);
	put_unless(writer, "freed_at", error->freed_at, INDEX_NONE);
	put_unless(writer, "freed_again_at", error->freed_again_at, INDEX_NONE);
	json_put_address(writer, "address", error->address);
	put_unless(writer, "size", error->size,
		   error->kind == SANITY_INVALID_FREE ? 0 : UINT64_MAX);
	put_unless(writer, "passed_size", error->passed_size, SIZE_UNKNOWN);
	put_unless(writer, "told_size", error->passed_size, SIZE_UNKNOWN); /* its older name */
	json_put_number(writer, "first_seen_ns", error->first_seen_ns);
	json_close(writer);
}

void json_put_errors(struct json_writer *writer, const struct snapshot_process *process)
{
	json_open_object(writer, "sanity", JSON_INLINE);
	json_put_bool(writer, "done", process->sanity.done);
	json_put_number(writer, "errors", process->sanity.errors);
	json_put_number(writer, "unlisted", process->sanity.unlisted);
	json_put_number(writer, "unjudged_frees", process->sanity.uncertain);
	json_close(writer);
	json_open_array(writer, "errors", process->error_count ? JSON_LINES : JSON_INLINE);
	for (size_t i = 0; i < process->error_count; i++)
		put_error(writer, &process->errors[i]);
	json_close(writer);
}
