/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser process's work: answering requests about files that come with them. */
#ifndef MTRACE_PARSER_SERVER_SERVER_H
#define MTRACE_PARSER_SERVER_SERVER_H

/* Until the other end closes the socket, or memory fails. */
void server_run(int socket);

#endif
