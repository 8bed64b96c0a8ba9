// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/server/passed_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf/module_read.h"

int module_of_descriptor(int fd, const char *path, struct module **ret_module, struct error *err)
{
	struct module *module = calloc(1, sizeof(*module));
	int code;

	if (!module) {
		close(fd);
		return error_set_errno(err, -ENOMEM, "cannot read %s", path);
	}
	module->fd = fd;
	module->path = strdup(path);
	code = module->path ? module_read(module, err)
			    : error_set_errno(err, -ENOMEM, "cannot read %s", path);
	if (code)
		module_free(module);
	else
		*ret_module = module;
	return code;
}
