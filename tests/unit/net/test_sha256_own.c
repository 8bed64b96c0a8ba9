// SPDX-License-Identifier: GPL-2.0-or-later
/* The same for our own code, which programs without OpenSSL use. */
#include "user/net/connection/without_openssl.c"

#include "tests/unit/net/test_sha256.c"
