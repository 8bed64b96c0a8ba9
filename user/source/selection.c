/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/selection.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf/glob.bpf.h"
#include "os/file/regular.h"
#include "source/unwind/tables.h"

#define PROC_PATH_SIZE 32

/* The conditions. */

static int glob_take(char place[GLOB_MAX], const char *glob, struct error *err)
{
	if (strlen(glob) >= GLOB_MAX)
		return error_set(err, -EINVAL, "\"%s\" is too long: a glob has at most %d bytes",
				 glob, GLOB_MAX - 1);
	if (strpbrk(glob, "[]{}\\"))
		return error_set(err, -EINVAL, "\"%s\" is not a valid glob here: use only * and ?",
				 glob);
	strcpy(place, glob);
	return 0;
}

/* The last component of an open file's path; "" if it has none. */
static void fd_name(int fd, char name[NAME_MAX + 1])
{
	char link[PROC_PATH_SIZE], path[PATH_MAX];
	ssize_t length;
	const char *slash;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(name, NAME_MAX + 1, "%s", slash ? slash + 1 : "");
}

static int file_take(struct selected *selected, const char *path)
{
	struct selected_file *files = selected->files;
	int fd = file_open_regular(path, NULL);

	if (fd < 0)
		return 0;
	files = realloc(files, (selected->file_count + 1) * sizeof(*files));
	if (!files) {
		close(fd);
		return -ENOMEM;
	}
	selected->files = files;
	files[selected->file_count] = (struct selected_file){.fd = fd};
	fd_name(fd, files[selected->file_count++].name);
	return 0;
}

/* A path selects the files that it names now. */
static int files_take(struct selected *selected, const char *pattern, struct error *err)
{
	glob_t found = {0};
	int code = 0;

	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; !code && i < found.gl_pathc; i++)
			code = file_take(selected, found.gl_pathv[i]);
	globfree(&found);
	if (code)
		return error_set_errno(err, code, "--exe %s", pattern);
	if (!selected->file_count)
		return error_set(err, -ENOENT, "--exe %s: no such file", pattern);
	selected->rules.wants |= SELECT_FILE;
	return 0;
}

static int exe_take(struct selected *selected, const char *pattern, struct error *err)
{
	int code;

	if (strchr(pattern, '/'))
		return files_take(selected, pattern, err);
	code = glob_take(selected->rules.name, pattern, err);
	if (!code)
		selected->rules.wants |= SELECT_NAME;
	return code;
}

/* The mount point of cgroup2, which the caller frees; NULL if it is not mounted. */
static char *cgroup_mount(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;
	char *directory = NULL;

	while (mounts && !directory && (entry = getmntent(mounts)))
		if (!strcmp(entry->mnt_type, "cgroup2"))
			directory = strdup(entry->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return directory;
}

static int cgroup_open(struct selected *selected, const char *mount, const char *cgroup,
		       struct error *err)
{
	char path[PATH_MAX], real[PATH_MAX];
	size_t length = strlen(mount);

	snprintf(path, sizeof(path), "%s%s%s",
		 *cgroup == '/' && !strncmp(cgroup, mount, length) ? "" : mount,
		 *cgroup == '/' ? "" : "/", cgroup);
	if (!realpath(path, real) || strncmp(real, mount, length))
		return error_set(err, -ENOENT, "--cgroup %s: no such cgroup below %s", cgroup,
				 mount);
	selected->cgroup_place = strdup(real[length] ? real + length : "/");
	selected->cgroup = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (selected->cgroup < 0 || !selected->cgroup_place)
		return error_set_errno(err, -errno, "--cgroup %s", cgroup);
	selected->rules.wants |= SELECT_CGROUP;
	return 0;
}

static int cgroup_take(struct selected *selected, const char *cgroup, struct error *err)
{
	char *mount = cgroup_mount();
	int code =
		mount ? cgroup_open(selected, mount, cgroup, err)
		      : error_set(err, -EOPNOTSUPP, "--cgroup needs cgroup2, which is not mounted");

	free(mount);
	return code;
}

int selection_make(const struct selection_words *words, struct selected *ret_selected,
		   struct error *err)
{
	int code = 0;

	*ret_selected = (struct selected){0};
	if (words->by_user) {
		ret_selected->rules.wants |= SELECT_USER;
		ret_selected->rules.user = words->user;
	}
	if (words->comm) {
		code = glob_take(ret_selected->rules.comm, words->comm, err);
		ret_selected->rules.wants |= SELECT_COMM;
	}
	if (!code && words->exe)
		code = exe_take(ret_selected, words->exe, err);
	if (!code && words->cgroup)
		code = cgroup_take(ret_selected, words->cgroup, err);
	return code;
}

void selection_free(struct selected *selected)
{
	if (selected->rules.wants & SELECT_CGROUP)
		close(selected->cgroup);
	for (size_t i = 0; i < selected->file_count; i++)
		close(selected->files[i].fd);
	free(selected->files);
	free(selected->cgroup_place);
	*selected = (struct selected){0};
}

/* The key that the BPF programs see or, if that cannot be determined, that of stat(). */
static bool file_key(const struct selected *selected, int fd, struct unwind_file_key *ret_key)
{
	const struct module_identifier *identifier = &selected->identifier;
	uint64_t device, inode;
	struct stat status;

	if (!identifier->identify || identifier->identify(identifier->ctx, fd, &device, &inode)) {
		if (fstat(fd, &status))
			return false;
		device = status.st_dev;
		inode = status.st_ino;
	}
	*ret_key = unwind_file_key(major(device), minor(device), inode);
	return true;
}

void selection_identify(struct selected *selected, struct module_identifier identifier)
{
	selected->identifier = identifier;
	for (size_t i = 0; i < selected->file_count; i++)
		(void)file_key(selected, selected->files[i].fd, &selected->files[i].key);
}

/* Running processes. */

static const char *proc_path(pid_t pid, const char *name, char path[PROC_PATH_SIZE])
{
	snprintf(path, PROC_PATH_SIZE, "/proc/%d/%s", (int)pid, name);
	return path;
}

/* Reads the first line with a prefix, without the prefix. Returns false if there is none. */
static bool proc_line(pid_t pid, const char *name, const char *prefix, char *line, size_t size)
{
	char path[PROC_PATH_SIZE];
	FILE *file = fopen(proc_path(pid, name, path), "re");
	size_t length = strlen(prefix);
	bool found = false;

	while (file && !found && fgets(line, (int)size, file))
		found = !strncmp(line, prefix, length);
	if (file)
		fclose(file);
	if (!found)
		return false;
	memmove(line, line + length, strlen(line + length) + 1);
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static bool user_holds(const struct selected *selected, pid_t pid)
{
	char line[128];
	unsigned int real, effective;

	return proc_line(pid, "status", "Uid:", line, sizeof(line)) &&
	       sscanf(line, "%u %u", &real, &effective) == 2 && real == selected->rules.user;
}

static bool cgroup_holds(const struct selected *selected, pid_t pid)
{
	size_t length = strlen(selected->cgroup_place);
	char line[PATH_MAX];

	if (!proc_line(pid, "cgroup", "0::", line, sizeof(line)))
		return false;
	return !strcmp(selected->cgroup_place, "/") ||
	       (!strncmp(line, selected->cgroup_place, length) &&
		(!line[length] || line[length] == '/'));
}

/* `length` is limited because the kernel truncates names. */
static bool glob_holds(const char *glob, const char *text, size_t length)
{
	struct glob_words words = {.text = ""};

	memcpy(words.pattern, glob, GLOB_MAX);
	snprintf(words.text, sizeof(words.text), "%.*s", (int)length, text);
	return glob_matches(&words);
}

static bool comm_holds(const struct selected *selected, pid_t pid)
{
	char comm[GLOB_MAX];

	return proc_line(pid, "comm", "", comm, sizeof(comm)) &&
	       glob_holds(selected->rules.comm, comm, COMM_SIZE - 1);
}

static bool name_holds(const struct selected *selected, const char *exe)
{
	static const char gone[] = " (deleted)";
	const char *base = strrchr(exe, '/') + 1;
	size_t length = strlen(base);

	if (length > strlen(gone) && !strcmp(base + length - strlen(gone), gone))
		length -= strlen(gone);
	return glob_holds(selected->rules.name, base, length);
}

static bool file_holds(const struct selected *selected, const char *link)
{
	int fd = open(link, O_RDONLY | O_CLOEXEC);
	struct unwind_file_key key = {0};
	bool known = fd >= 0 && file_key(selected, fd, &key), found = false;

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; known && !found && i < selected->file_count; i++)
		found = !memcmp(&selected->files[i].key, &key, sizeof(key));
	return found;
}

bool selection_holds(const struct selected *selected, pid_t pid)
{
	uint32_t wants = selected->rules.wants;
	char link[PROC_PATH_SIZE], exe[PATH_MAX];
	ssize_t length = readlink(proc_path(pid, "exe", link), exe, sizeof(exe) - 1);

	if (length <= 0 || exe[0] != '/')
		return false;
	exe[length] = '\0';
	return (!(wants & SELECT_USER) || user_holds(selected, pid)) &&
	       (!(wants & SELECT_CGROUP) || cgroup_holds(selected, pid)) &&
	       (!(wants & SELECT_COMM) || comm_holds(selected, pid)) &&
	       (!(wants & SELECT_NAME) || name_holds(selected, exe)) &&
	       (!(wants & SELECT_FILE) || file_holds(selected, link));
}

static bool is_file_name(const struct selected *selected, const char *name)
{
	for (size_t i = 0; i < selected->file_count; i++)
		if (!strcmp(selected->files[i].name, name))
			return true;
	return false;
}

bool selection_may_hold(const struct selected *selected, pid_t pid, int file)
{
	uint32_t wants = selected->rules.wants;
	char link[PROC_PATH_SIZE], exe[1], name[NAME_MAX + 1];

	/* The kernel's user mode helpers have no program yet. */
	if (readlink(proc_path(pid, "exe", link), exe, sizeof(exe)) <= 0)
		return false;
	fd_name(file, name);
	return (!(wants & SELECT_USER) || user_holds(selected, pid)) &&
	       (!(wants & SELECT_CGROUP) || cgroup_holds(selected, pid)) &&
	       (!(wants & SELECT_NAME) || glob_holds(selected->rules.name, name, strlen(name))) &&
	       (!(wants & SELECT_FILE) || is_file_name(selected, name));
}

bool selection_may_run(const struct selected *selected, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !(selected->rules.wants & SELECT_COMM) || !*path ||
	       glob_holds(selected->rules.comm, slash ? slash + 1 : path, COMM_SIZE - 1);
}
