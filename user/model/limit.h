/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits on the memory of a model: on the number of processes that have ended, and on the bytes of
 * all its blocks, sites and stacks (model_config's max_bytes). As the model approaches that:
 *
 * - above 1/2, the least important of the processes that have ended are merged into `others`;
 * - above 3/4, only a sample of new blocks is kept (model/process/weight.h), and its mean doubles
 *   with each further 1/64. So the model can exceed the limit only if the program allocates faster
 *   than any mean can follow;
 * - above 7/8, calls from new sites belong to the site `other`.
 *
 * Nothing is forgotten that is already known, and all sums are still estimates without bias.
 */
#ifndef MTRACE_MODEL_LIMIT_H
#define MTRACE_MODEL_LIMIT_H

#include <stdint.h>

struct model;

/* Merges processes that have ended into `others` until few enough are kept. */
void limit_closed(struct model *model);
/* Called for each call. Measures the memory now and then, and saves some if necessary. */
void limit_memory(struct model *model, uint64_t now_ns);

#endif
