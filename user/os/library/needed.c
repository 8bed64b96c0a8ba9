/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the closure of "needs" breadth first, the order in which linkers load: the program,
 * preloaded libraries, then what each library needs in turn. Both linkers search for a name only
 * once per process and use the same library from then on. So does this code, which also ends
 * cycles.
 *
 * Cost: one open per directory that is tried and one libelf pass per library; 1–3 ms for a typical
 * program.
 */
#include "os/library/needed.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/library/search.h"
#include "os/file/regular.h"

#define SCRIPT_DEPTH_MAX 5   /* as in the kernel's exec */
#define SCRIPT_HEAD_SIZE 256 /* BINPRM_BUF_SIZE: the number of bytes that the kernel examines */
#define LIBRARIES_MAX    4096
#define PRELOAD_FILE_MAX (64 << 10)

struct closure {
	struct elf_dynamic_reader reader;
	struct string_list paths; /* the result: real paths */
	struct string_list names; /* names that have been searched for */
	struct {
		struct library **items; /* allocated one by one, because `loader` points to them */
		size_t count;
		size_t capacity;
	} libraries;
	struct library_search search;
};

static void library_free(struct library *library)
{
	if (!library)
		return;
	free(library->path);
	elf_dynamic_free(&library->dynamic);
	free(library);
}

static void closure_free(struct closure *closure)
{
	struct library **library;

	vec_each (library, &closure->libraries)
		library_free(*library);
	vec_free(&closure->libraries);
	string_list_free(&closure->paths);
	string_list_free(&closure->names);
	library_search_close(&closure->search);
}

static int read_here(void *ctx, int fd, const char *path, struct elf_dynamic *ret_dynamic)
{
	(void)ctx;
	(void)path;
	return elf_dynamic_read(fd, ret_dynamic);
}

static int dynamic_read(const struct elf_dynamic_reader *reader, const char *path,
			struct elf_dynamic *ret_dynamic)
{
	int fd = file_open_regular(path, NULL);
	int err;

	if (fd < 0)
		return fd;
	err = reader->read(reader->ctx, fd, path, ret_dynamic);
	close(fd);
	return err;
}

static int library_read(const struct elf_dynamic_reader *reader, const char *path,
			const struct library *loader, struct library **ret_library)
{
	struct library *library = calloc(1, sizeof(*library));
	int err = -ENOMEM;

	if (!library)
		return err;
	library->loader = loader;
	library->path = strdup(path);
	if (library->path)
		err = dynamic_read(reader, path, &library->dynamic);
	if (err)
		library_free(library);
	else
		*ret_library = library;
	return err;
}

/* Returns 0, 1 if the file is already in the list (possibly by another path), or -errno. */
static int closure_add_path(struct closure *closure, const char *path)
{
	char *real = realpath(path, NULL);

	if (!real)
		return -errno;
	if (!string_list_has(&closure->paths, real))
		return string_list_take(&closure->paths, real);
	free(real);
	return 1;
}

static int closure_load(struct closure *closure, const char *path, const struct library *loader)
{
	struct library *library;
	int err = closure_add_path(closure, path);

	if (err)
		return err;
	err = library_read(&closure->reader, path, loader, &library);
	if (err)
		return err;
	err = vec_push(&closure->libraries, library);
	if (err)
		library_free(library);
	return err;
}

/* Skips libraries that are missing or corrupt: reporting those is up to the linker. */
static int closure_load_all(struct closure *closure, const struct string_list *found,
			    const struct library *loader)
{
	for (size_t i = 0; i < found->count; i++)
		if (closure_load(closure, found->items[i], loader) == -ENOMEM)
			return -ENOMEM;
	return 0;
}

static int closure_need(struct closure *closure, const char *name, const struct library *by)
{
	struct string_list found = {0};
	int err;

	if (closure->libraries.count >= LIBRARIES_MAX || string_list_has(&closure->names, name))
		return 0;
	err = string_list_add(&closure->names, name);
	if (!err)
		err = library_search_find(&closure->search, name, by, &found);
	if (!err)
		err = closure_load_all(closure, &found, by);
	string_list_free(&found);
	return err;
}

static int closure_need_all(struct closure *closure)
{
	int err = 0;

	for (size_t i = 0; i < closure->libraries.count && !err; i++) {
		const struct library *by = closure->libraries.items[i];

		for (size_t n = 0; n < by->dynamic.needed.count && !err; n++)
			err = closure_need(closure, by->dynamic.needed.items[n], by);
	}
	return err;
}

/* Loads libraries from a list that is separated by colons and white space, as in LD_PRELOAD and the
 * preload file. */
static int closure_preload_list(struct closure *closure, const char *list)
{
	static const char separators[] = ": \t\n";
	int err = 0;

	while (!err && *(list += strspn(list, separators))) {
		size_t length = strcspn(list, separators);
		char *name = strndup(list, length);

		err = name ? closure_need(closure, name, closure->search.program) : -ENOMEM;
		free(name);
		list += length;
	}
	return err;
}

/* Blanks comments, from "#" to the end of the line. */
static void comments_blank(char *text)
{
	while ((text = strchr(text, '#')))
		while (*text && *text != '\n')
			*text++ = ' ';
}

static int closure_preload_file(struct closure *closure, const char *path)
{
	int fd = path ? file_open_regular(path, NULL) : -ENOENT;
	char *text;
	ssize_t length;
	int err;

	if (fd < 0)
		return 0;
	text = malloc(PRELOAD_FILE_MAX);
	length = text ? read(fd, text, PRELOAD_FILE_MAX - 1) : 0;
	close(fd);
	if (!text)
		return -ENOMEM;
	text[length > 0 ? length : 0] = '\0';
	comments_blank(text);
	err = closure_preload_list(closure, text);
	free(text);
	return err;
}

static const char *environment_get(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

static int closure_preload(struct closure *closure, char *const *environment)
{
	const char *list = environment_get(environment, "LD_PRELOAD");
	int err = list ? closure_preload_list(closure, list) : 0;

	return err ? err
		   : closure_preload_file(closure, library_search_preload_file(&closure->search));
}

/* Loads everything except the program itself. */
static int closure_link(struct closure *closure, char *const *environment)
{
	const struct library *program = closure->libraries.items[0];
	const char *library_path = environment_get(environment, "LD_LIBRARY_PATH");
	int err = closure_add_path(closure, program->dynamic.interpreter);

	if (err < 0)
		return err;
	err = library_search_open(program, library_path, &closure->search);
	if (!err)
		err = closure_preload(closure, environment);
	return err ? err : closure_need_all(closure);
}

/* Returns a copy of the path after "#!" (and cuts it in `head`), or NULL if it is not a script that
 * the kernel would execute. */
static char *script_parse(char *head)
{
	char *path = head + 2 + strspn(head + 2, " \t");
	size_t length = strcspn(path, " \t\n");

	/* The kernel rejects a path that does not end within the bytes that it examines. */
	if (strncmp(head, "#!", 2) || !length || path + length == head + SCRIPT_HEAD_SIZE)
		return NULL;
	path[length] = '\0';
	return strdup(path);
}

/* Finds the interpreter of a script. Returns 0, -ENOEXEC if it is not a script, or -errno. */
static int script_interpreter(const char *path, char **ret_interpreter)
{
	char head[SCRIPT_HEAD_SIZE + 1];
	int fd = file_open_regular(path, NULL);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = pread(fd, head, SCRIPT_HEAD_SIZE, 0);
	close(fd);
	if (length < 2)
		return -ENOEXEC;
	head[length] = '\0';
	*ret_interpreter = script_parse(head);
	return *ret_interpreter ? 0 : -ENOEXEC;
}

/* Follows "#!" to the file that the kernel loads. The caller frees *ret_image. */
static int image_find(const char *program, char **ret_image)
{
	char *path = strdup(program);
	int err = path ? 0 : -ENOMEM;

	for (int depth = 0; !err; depth++) {
		struct elf_identity identity;
		char *interpreter;

		err = elf_identity_read(path, &identity);
		if (!err) {
			*ret_image = path;
			return 0;
		}
		if (err == -ENOEXEC)
			err = depth < SCRIPT_DEPTH_MAX ? script_interpreter(path, &interpreter)
						       : -ELOOP;
		if (!err) {
			free(path);
			path = interpreter;
		}
	}
	free(path);
	return err;
}

static int closure_build(struct closure *closure, const char *image, char *const *environment,
			 struct error *err)
{
	char *real = realpath(image, NULL);
	const struct library *program;
	int code;

	/* The linker gets the program's $ORIGIN from /proc/self/exe, which is the real path. */
	code = real ? closure_load(closure, real, NULL) : -errno;
	free(real);
	if (code)
		return error_set_errno(err, code, "cannot read %s", image);
	program = closure->libraries.items[0];
	if (!program->dynamic.interpreter)
		return 0;
	code = closure_link(closure, environment);
	if (code)
		return error_set_errno(err, code, "cannot link %s with %s", image,
				       program->dynamic.interpreter);
	return 0;
}

int needed_find(const char *program, char *const *environment,
		const struct elf_dynamic_reader *reader, struct needed *ret_needed,
		struct error *err)
{
	struct closure closure = {.reader.read = read_here};
	char *image;
	int code = image_find(program, &image);

	if (reader)
		closure.reader = *reader;
	if (code == -ENOEXEC)
		return error_set(err, code, "%s is neither an ELF file nor a script", program);
	if (code)
		return error_set_errno(err, code, "cannot read %s", program);
	code = closure_build(&closure, image, environment, err);
	free(image);
	if (!code) {
		*ret_needed = (struct needed){closure.paths.items, closure.paths.count,
					      closure.paths.capacity};
		closure.paths = (struct string_list){0};
	}
	closure_free(&closure);
	return code;
}

void needed_free(struct needed *needed)
{
	for (size_t i = 0; i < needed->count; i++)
		free(needed->paths[i]);
	free(needed->paths);
	*needed = (struct needed){0};
}
