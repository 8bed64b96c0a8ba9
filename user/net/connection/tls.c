// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/connection/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

struct tls {
	SSL_CTX *context;
	bool server;
};

/* Sets *err to the library's last error, and clears older ones. */
static int explain(struct error *err, int code, const char *what)
{
	unsigned long number = ERR_peek_last_error();
	const char *reason = number ? ERR_reason_error_string(number) : NULL;

	ERR_clear_error();
	return error_set(err, code, "%s: %s", what, reason ? reason : "TLS failed");
}

/* Prevents OpenSSL from asking for a password on the terminal. */
static int no_password(char *text, int size, int writing, void *ctx)
{
	(void)text;
	(void)size;
	(void)writing;
	(void)ctx;
	return -1;
}

static void configure(SSL_CTX *context)
{
	SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
	SSL_CTX_set_default_passwd_cb(context, no_password);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_mode(context,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF); /* streams mark their own end */
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
}

static int load(SSL_CTX *context, const struct tls_files *files, struct error *err)
{
	if (SSL_CTX_use_certificate_chain_file(context, files->cert) != 1)
		return explain(err, -EINVAL, files->cert);
	if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(context) != 1)
		return explain(err, -EINVAL, files->key);
	if (SSL_CTX_load_verify_file(context, files->ca) != 1)
		return explain(err, -EINVAL, files->ca);
	return 0;
}

int tls_new(struct tls **ret_tls, const struct tls_files *files, bool server, struct error *err)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	int code;

	if (!tls)
		return error_set(err, -ENOMEM, "out of memory");
	ERR_clear_error();
	tls->server = server;
	tls->context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	if (!tls->context) {
		free(tls);
		return explain(err, -ENOMEM, "cannot use TLS");
	}
	configure(tls->context);
	code = load(tls->context, files, err);
	if (code) {
		tls_free(tls);
		return code;
	}
	*ret_tls = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}

/* Returns -EAGAIN, 0 at the end of the connection, or -errno. */
static int result(SSL *ssl, int done)
{
	switch (SSL_get_error(ssl, done)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		return errno ? -errno : -ECONNRESET;
	default:
		return -EPROTO;
	}
}

static int tls_handshake(struct channel *channel, struct error *err)
{
	SSL *ssl = channel->state;
	long verdict;
	int done, code;

	ERR_clear_error();
	done = SSL_do_handshake(ssl);
	if (done == 1)
		return 0;
	code = result(ssl, done);
	if (code == -EAGAIN)
		return code;
	verdict = SSL_get_verify_result(ssl);
	if (verdict != X509_V_OK) {
		ERR_clear_error();
		return error_set(err, -EACCES, "its certificate: %s",
				 X509_verify_cert_error_string(verdict));
	}
	return explain(err, -EACCES, "TLS handshake failed");
}

static ssize_t tls_read(struct channel *channel, void *bytes, size_t size)
{
	int done;

	ERR_clear_error();
	errno = 0;
	done = SSL_read(channel->state, bytes, size > INT_MAX ? INT_MAX : (int)size);
	return done > 0 ? done : result(channel->state, done);
}

static ssize_t tls_write(struct channel *channel, const void *bytes, size_t size)
{
	int done, code;

	ERR_clear_error();
	errno = 0;
	done = SSL_write(channel->state, bytes, size > INT_MAX ? INT_MAX : (int)size);
	if (done > 0)
		return done;
	code = result(channel->state, done);
	return code ? code : -EPIPE;
}

static void tls_end(struct channel *channel)
{
	ERR_clear_error();
	if (SSL_shutdown(channel->state) < 0)
		log_debug("cannot shut down a TLS connection cleanly");
	shutdown(channel->fd, SHUT_WR);
}

static void tls_close(struct channel *channel)
{
	SSL_free(channel->state);
	close(channel->fd);
}

static const struct channel_ops tls_ops = {
	.handshake = tls_handshake,
	.read = tls_read,
	.write = tls_write,
	.end = tls_end,
	.close = tls_close,
};

/* `host` is a name or the text of an address. */
static bool expect_host(SSL *ssl, const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

int tls_channel(struct tls *tls, int fd, const char *host, struct channel *ret_channel)
{
	SSL *ssl = SSL_new(tls->context);

	if (!ssl || SSL_set_fd(ssl, fd) != 1 || (host && !expect_host(ssl, host))) {
		ERR_clear_error();
		SSL_free(ssl);
		close(fd);
		return -ENOMEM;
	}
	if (tls->server)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	*ret_channel = (struct channel){.ops = &tls_ops, .fd = fd, .state = ssl};
	return 0;
}
