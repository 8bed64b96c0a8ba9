/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main function of the parser process: it answers requests about files that come with them. */
#ifndef MTRACE_PARSER_SERVER_SERVER_H
#define MTRACE_PARSER_SERVER_SERVER_H

/* Returns when the other end closes the socket, or on an error such as running out of memory. */
void server_run(int socket);

#endif
