// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/connection/tls.h"

#include <errno.h>
#include <unistd.h>

int tls_new(struct tls **ret_tls, const struct tls_files *files, bool server, struct error *err)
{
	(void)ret_tls;
	(void)files;
	(void)server;
	return error_set(err, -EOPNOTSUPP, "this mtrace-bpf was built without TLS");
}

void tls_free(struct tls *tls)
{
	(void)tls;
}

int tls_channel(struct tls *tls, int fd, const char *host, struct channel *ret_channel)
{
	(void)tls;
	(void)host;
	(void)ret_channel;
	close(fd);
	return -EOPNOTSUPP;
}
