/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A name that contains a slash is a path. Any other name is searched for in these places, in order;
 * the first place that has a file of the program's class and machine wins:
 *
 *	glibc: RPATH of the object and of the objects that caused it to be loaded (unless it has
 *	       a RUNPATH), LD_LIBRARY_PATH, its RUNPATH, ld.so.cache, the default directories
 *	musl:  LD_LIBRARY_PATH, RPATH or RUNPATH of the object and of the objects that caused it
 *	       to be loaded, the directories of /etc/ld-musl-ARCH.path
 *
 * glibc's default directories are compiled in and differ by distribution, but the linker itself is
 * installed in the first of them. So they are derived from the real path of the interpreter. The
 * check of class and machine rejects files that do not fit the program.
 *
 * Which glibc-hwcaps subdirectory wins depends on the processor and the glibc version. All of them
 * are added: a probe in a file that is never mapped costs nothing.
 *
 * Not modelled: legacy hwcaps (haswell/, tls/; removed in glibc 2.37), LD_AUDIT, set-user-ID
 * programs (which ignore the environment). Relative directories are resolved from our own current
 * directory.
 *
 * Sources: glibc elf/dl-load.c (_dl_map_object), musl ldso/dynlink.c (load_library), ld.so(8).
 */
#include "os/library/search.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "os/file/regular.h"

struct query {
	const struct library_search *search;
	const char *name;
	const struct library *by;
	struct string_list *found;
};

typedef int search_step(const struct query *query);

struct linker {
	const char *separators;     /* that separate directories in a list */
	const char *subdirectories; /* subdirectories of each directory to try first, or NULL */
	const char *preload_file;   /* file that names libraries to preload, or NULL */
	search_step *steps[6];      /* NULL-terminated */
};

/* A part of a path; not NUL-terminated. */
struct path_span {
	const char *start;
	size_t length;
};

static struct path_span span_of(const char *text)
{
	return (struct path_span){text, strlen(text)};
}

/* Everything before the last slash. */
static struct path_span directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return span_of(".");
	return slash == path ? (struct path_span){path, 1}
			     : (struct path_span){path, (size_t)(slash - path)};
}

static int query_try(const struct query *query, const char *path)
{
	struct elf_identity identity;

	if (elf_identity_read(path, &identity) ||
	    !elf_identity_equal(&identity, &query->search->program->dynamic.identity))
		return 0;
	return string_list_add(query->found, path);
}

/* Returns the value of the $TOKEN or ${TOKEN} at `text`, and sets *ret_length to the length of the
 * token, or to 0 if there is none. */
static struct path_span token_value(const struct query *query, const struct library *owner,
				    const char *text, size_t *ret_length)
{
	const char *platform = (const char *)(uintptr_t)getauxval(AT_PLATFORM);
	const struct {
		const char *names[2];
		struct path_span value;
	} tokens[] = {
		{{"$ORIGIN", "${ORIGIN}"}, directory_of(owner->path)},
		{{"$LIB", "${LIB}"}, span_of(query->search->lib)},
		{{"$PLATFORM", "${PLATFORM}"}, span_of(platform ? platform : "")},
	};

	for (size_t i = 0; i < 2 * sizeof(tokens) / sizeof(tokens[0]); i++) {
		const char *name = tokens[i / 2].names[i % 2];

		*ret_length = strlen(name);
		if (!strncmp(text, name, *ret_length))
			return tokens[i / 2].value;
	}
	*ret_length = 0;
	return (struct path_span){0};
}

struct path_buffer {
	size_t length;
	bool overflow;
	char text[PATH_MAX];
};

static void path_append(struct path_buffer *path, struct path_span span)
{
	if (span.length >= sizeof(path->text) - path->length) {
		path->overflow = true;
		return;
	}
	memcpy(path->text + path->length, span.start, span.length);
	path->length += span.length;
	path->text[path->length] = '\0';
}

/* Replaces the tokens in a directory or path. An empty one means the current directory. */
static void path_expand(const struct query *query, const struct library *owner,
			struct path_span from, struct path_buffer *path)
{
	*path = (struct path_buffer){0};
	if (!from.length)
		path_append(path, span_of("."));
	for (size_t at = 0; at < from.length;) {
		size_t length = 0;
		struct path_span value = {0};

		if (from.start[at] == '$')
			value = token_value(query, owner, from.start + at, &length);
		if (!length || length > from.length - at) {
			value = (struct path_span){from.start + at, 1};
			length = 1;
		}
		path_append(path, value);
		at += length;
	}
}

static int try_in(const struct query *query, const char *directory, const char *subdirectory)
{
	char path[3 * PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s/%s", directory, subdirectory, query->name) >=
	    PATH_MAX)
		return 0;
	return query_try(query, path);
}

static int try_subdirectories(const struct query *query, const char *directory, const char *parent)
{
	char path[PATH_MAX + NAME_MAX];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", directory, parent);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!err && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/%s/%s", parent, entry->d_name);
		if (entry->d_name[0] != '.')
			err = try_in(query, directory, path);
	}
	closedir(dir);
	return err;
}

static int try_directory(const struct query *query, const struct library *owner,
			 struct path_span from)
{
	const char *parent = query->search->linker->subdirectories;
	struct path_buffer directory;
	int err = 0;

	path_expand(query, owner, from, &directory);
	if (directory.overflow)
		return 0;
	if (parent)
		err = try_subdirectories(query, directory.text, parent);
	return err ? err : try_in(query, directory.text, "");
}

/* Tries the directories of a list until one has the library. */
static int try_list(const struct query *query, const struct library *owner, const char *list)
{
	const char *separators = query->search->linker->separators;

	if (!list || !*list)
		return 0;
	for (;;) {
		size_t length = strcspn(list, separators);
		int err = try_directory(query, owner, (struct path_span){list, length});

		if (err || query->found->count || !list[length])
			return err;
		list += length + 1;
	}
}

static int step_environment(const struct query *query)
{
	return try_list(query, query->search->program, query->search->environment);
}

/* musl: an object has one list (RUNPATH if it has both), and inherits the lists of its loaders. */
static int step_run_paths(const struct query *query)
{
	const struct library *owner;
	int err = 0;

	for (owner = query->by; owner && !err && !query->found->count; owner = owner->loader) {
		const struct elf_dynamic *dynamic = &owner->dynamic;

		err = try_list(query, owner, dynamic->runpath ? dynamic->runpath : dynamic->rpath);
	}
	return err;
}

/* glibc: only RPATH is inherited. An object with a RUNPATH neither inherits nor passes on a
 * list. */
static int step_inherited_rpaths(const struct query *query)
{
	const struct library *owner;
	int err = 0;

	if (query->by->dynamic.runpath)
		return 0;
	for (owner = query->by; owner && !err && !query->found->count; owner = owner->loader)
		if (!owner->dynamic.runpath)
			err = try_list(query, owner, owner->dynamic.rpath);
	return err;
}

static int step_own_runpath(const struct query *query)
{
	return try_list(query, query->by, query->by->dynamic.runpath);
}

static int step_cache(const struct query *query)
{
	uint32_t position = 0;
	const char *path;
	int err = 0;

	while (!err && (path = ldcache_next(&query->search->cache, query->name, &position)))
		err = query_try(query, path);
	return err;
}

static int step_defaults(const struct query *query)
{
	const struct string_list *defaults = &query->search->defaults;
	int err = 0;

	for (size_t i = 0; i < defaults->count && !err && !query->found->count; i++)
		err = try_list(query, query->search->program, defaults->items[i]);
	return err;
}

/* musl consists of a single file: these names all refer to the interpreter itself, which is already
 * known. */
static bool musl_is_itself(const char *name)
{
	static const char *const own[] = {"libc.",  "libpthread.", "librt.",  "libm.",
					  "libdl.", "libutil.",    "libxnet."};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strncmp(name, own[i], strlen(own[i])))
			return true;
	return false;
}

/* Adds the interpreter, so that no later step searches for it. */
static int step_musl_itself(const struct query *query)
{
	if (!musl_is_itself(query->name))
		return 0;
	return query_try(query, query->search->program->dynamic.interpreter);
}

static const struct linker linker_glibc = {
	.separators = ":;",
	.subdirectories = "glibc-hwcaps",
	.preload_file = "/etc/ld.so.preload",
	.steps = {step_inherited_rpaths, step_environment, step_own_runpath, step_cache,
		  step_defaults},
};

static const struct linker linker_musl = {
	.separators = ":\n",
	.steps = {step_musl_itself, step_environment, step_run_paths, step_defaults},
};

static int find_path(const struct query *query)
{
	struct path_buffer path;

	path_expand(query, query->by, span_of(query->name), &path);
	return path.overflow ? 0 : query_try(query, path.text);
}

int library_search_find(const struct library_search *search, const char *name,
			const struct library *by, struct string_list *found)
{
	const struct query query = {.search = search, .name = name, .by = by, .found = found};
	search_step *const *step = search->linker->steps;
	int err = 0;

	if (strchr(name, '/'))
		return find_path(&query);
	while (*step && !err && !found->count)
		err = (*step++)(&query);
	return err;
}

const char *library_search_preload_file(const struct library_search *search)
{
	return search->linker->preload_file;
}

static int add_default(struct library_search *search, const char *prefix,
		       struct path_span directory)
{
	char *path;

	if (asprintf(&path, "%s%.*s", prefix, (int)directory.length, directory.start) < 0)
		return -ENOMEM;
	return string_list_take(&search->defaults, path);
}

/* "/usr/lib64/ld-linux-x86-64.so.2" → "lib64" */
static int glibc_set_lib(struct library_search *search, struct path_span directory)
{
	static const char usr[] = "/usr/";
	size_t skip = strncmp(directory.start, usr, strlen(usr)) ? 1 : strlen(usr);

	if (skip > directory.length)
		skip = directory.length;
	search->lib = strndup(directory.start + skip, directory.length - skip);
	return search->lib ? 0 : -ENOMEM;
}

static int glibc_open(struct library_search *search, const char *interpreter)
{
	/* Also the directories of Debian's multiarch: in a hand-made root, the linker may be a copy
	 * in another directory than the libraries, and there may be no cache. */
	static const char *const others[] = {
		"/lib64",
		"/usr/lib64",
		"/lib",
		"/usr/lib",
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu",
		"/lib/i386-linux-gnu:/usr/lib/i386-linux-gnu",
		"/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu",
		"/lib/arm-linux-gnueabihf:/usr/lib/arm-linux-gnueabihf",
		"/lib/powerpc-linux-gnu:/usr/lib/powerpc-linux-gnu",
	};
	char *real = realpath(interpreter, NULL);
	struct path_span directory = directory_of(real ? real : interpreter);
	int err = glibc_set_lib(search, directory);

	if (!err)
		err = add_default(search, "", directory);
	if (!err)
		err = add_default(search, "/usr", directory);
	for (size_t i = 0; !err && i < sizeof(others) / sizeof(others[0]); i++)
		err = string_list_add(&search->defaults, others[i]);
	free(real);
	/* If the cache is unusable, only the directories are searched. */
	if (!err && ldcache_open("/etc/ld.so.cache", &search->cache) == -ENOMEM)
		err = -ENOMEM;
	return err;
}

/* PREFIX/lib/ld-musl-ARCH.so.1 → PREFIX/etc/ld-musl-ARCH.path. Returns false if the interpreter's
 * name does not match. */
static bool musl_path_file(const char *interpreter, char path[PATH_MAX])
{
	const char *base = strrchr(interpreter, '/');
	const char *dot = base ? strchr(base, '.') : NULL;
	struct path_span prefix;
	char *up;

	if (!dot)
		return false;
	up = memrchr(interpreter, '/', (size_t)(base - interpreter));
	prefix = (struct path_span){interpreter, up ? (size_t)(up - interpreter) : 0};
	return snprintf(path, PATH_MAX, "%.*s/etc%.*s.path", (int)prefix.length, prefix.start,
			(int)(dot - base), base) < PATH_MAX;
}

static int musl_open(struct library_search *search, const char *interpreter)
{
	char path[PATH_MAX];
	char list[PATH_MAX];
	ssize_t length;
	int fd = -ENOENT;

	search->lib = strdup("lib");
	if (!search->lib)
		return -ENOMEM;
	if (musl_path_file(interpreter, path))
		fd = file_open_regular(path, NULL);
	if (fd < 0)
		return string_list_add(&search->defaults, "/lib:/usr/local/lib:/usr/lib");
	length = read(fd, list, sizeof(list) - 1);
	close(fd);
	list[length > 0 ? length : 0] = '\0';
	return string_list_add(&search->defaults, list);
}

int library_search_open(const struct library *program, const char *library_path,
			struct library_search *ret_search)
{
	const char *interpreter = program->dynamic.interpreter;
	bool musl = strstr(interpreter, "/ld-musl-");
	struct library_search search = {
		.program = program,
		.linker = musl ? &linker_musl : &linker_glibc,
		.environment = library_path,
	};
	int err = musl ? musl_open(&search, interpreter) : glibc_open(&search, interpreter);

	if (err)
		library_search_close(&search);
	else
		*ret_search = search;
	return err;
}

void library_search_close(struct library_search *search)
{
	string_list_free(&search->defaults);
	ldcache_close(&search->cache);
	free(search->lib);
	*search = (struct library_search){0};
}
