// SPDX-License-Identifier: GPL-2.0-or-later
/* The same for the filter that is built for small boards. */
#include "user/parser/server/without_seccomp.c"

#include "tests/unit/parser/test_sandbox.c"
