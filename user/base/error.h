/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An error that a lower layer explains and app/ prints. A function that can fail in only one way
 * returns a plain -errno; one whose failures need an explanation takes a struct error.
 */
#ifndef MTRACE_BASE_ERROR_H
#define MTRACE_BASE_ERROR_H

#define ERROR_TEXT_SIZE 512

struct error {
	int code; /* -errno */
	char text[ERROR_TEXT_SIZE];
};

/* Stores code and text and returns code, so that a caller can write `return error_set(…)`. err may
 * be NULL. */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like error_set, but appends ": strerror(-code)". */
int error_set_errno(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
