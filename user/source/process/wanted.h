/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user's options select: functions (--only), modules (--omit) and prefixes (--allocator).
 */
#ifndef MTRACE_SOURCE_PROCESS_WANTED_H
#define MTRACE_SOURCE_PROCESS_WANTED_H

#include <stdbool.h>

#include "source/source.h"
#include "symbol/elf/module.h"
#include "symbol/probe_site/plan.h"

bool wanted_site(const struct source_config *config, const struct probe_site *site);
/* Returns true if any function that is probed at its exits is wanted: all belong to one family. */
bool wanted_exits(const struct source_config *config, const struct probe_plan *plan);
/* Returns true if the module is omitted. */
bool wanted_omits(const struct source_config *config, const struct module *module);
/* The prefix given for a module; "" if it was named without one; NULL if it was not named. */
const char *wanted_prefix(const struct source_config *config, const struct module *module);

#endif
