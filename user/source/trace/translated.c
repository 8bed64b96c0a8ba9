/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/translated.h"

#include "base/log.h"
#include "os/process/proc.h"
#include "os/ptrace/freeze.h"
#include "source/trace/probes.h"
#include "source/trace/process.h"
#include "source/trace/translator.h"

#define NS_PER_MS 1000000ULL
#define CHECK_NS  (100 * NS_PER_MS)
/* Time from the exec of the launcher to that of the tool itself. */
#define BEGIN_NS (1000 * NS_PER_MS)

/*
 * Inherited probes.
 */

static bool is_inherited(const struct trace_source *trace)
{
	return trace->config.scope == SCOPE_FAMILY && !trace->prober->everybody;
}

/*
 * Removes them from the whole family. That may take as long as the translator's startup, so the
 * translator is stopped meanwhile, unless another tracer has it; then we may be too late.
 */
static void withdraw(struct trace_source *trace, pid_t translator, bool waits)
{
	struct freeze *freeze = NULL;
	struct error reason;

	if (!waits && freeze_stop(&freeze, translator, &reason)) {
		log_info("%s", reason.text);
		freeze = NULL;
	}
	for (size_t i = 0; i < trace->process_count; i++)
		traced_process_detach(trace->processes[i]);
	freeze_release(freeze);
}

/* Places them again for the others. */
static int replace(struct trace_source *trace, uint64_t since_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < trace->process_count; i++) {
		struct traced_process *process = trace->processes[i];

		if (process->translated)
			continue;
		process->unprobed_sites = process->site_count = process->allocator_objects = 0;
		err = traced_process_attach_again(process, since_ns);
	}
	return err;
}

int translated_leave(struct trace_source *trace, struct traced_process *process, uint64_t since_ns,
		     bool waits)
{
	if (process->translated)
		return 0;
	process->translated = true;
	if (!process->shared) /* probes in all processes: the caller reports it once */
		log_warn("process %d is no longer traced: %s", (int)process->pid, translator_words);
	if (!is_inherited(trace)) {
		traced_process_detach(process);
		return 0;
	}
	withdraw(trace, process->pid, waits);
	return replace(trace, since_ns);
}

/*
 * Probes in all processes.
 */

void translated_pause(struct trace_source *trace)
{
	struct shared_probes *shared = &trace->shared;

	shared->seen_ns = clock_now_ns();
	if (shared->paused)
		return;
	shared->paused = true;
	shared->paused_ns = shared->seen_ns;
	prober_close(trace->prober, &shared->links);
	shared->translator = translator_find();
	log_warn("system-wide probes are removed until %s %d exits: %s",
		 shared->translator ? "process" : "a translator,", (int)shared->translator,
		 translator_words);
}

static bool still_runs(struct shared_probes *shared)
{
	if (shared->translator && translator_runs(shared->translator))
		return true;
	shared->translator = translator_find();
	return shared->translator != 0;
}

uint64_t translated_gap_ns(const struct traced_process *process)
{
	const struct shared_probes *shared = process->shared;

	if (!shared || !shared->paused)
		return 0;
	return clock_now_ns() -
	       (shared->paused_ns > process->entered_ns ? shared->paused_ns : process->entered_ns);
}

static int resume(struct trace_source *trace)
{
	struct traced_process nobody = processes_nobody(trace);
	int err = probes_share_again(&nobody);

	for (size_t i = 0; i < trace->process_count; i++)
		trace->processes[i]->gap_ns += translated_gap_ns(trace->processes[i]);
	trace->shared.paused = false;
	log_info("probes are in every process again");
	map64_free(&nobody.attached);
	return err;
}

int translated_check(struct trace_source *trace, uint32_t begun)
{
	struct shared_probes *shared = &trace->shared;
	uint64_t now_ns = clock_now_ns();

	if (begun != shared->translators_begun) {
		shared->translators_begun = begun;
		translated_pause(trace);
		return 0;
	}
	if (!shared->paused || now_ns - shared->seen_ns < BEGIN_NS ||
	    now_ns - shared->checked_ns < CHECK_NS)
		return 0;
	shared->checked_ns = now_ns;
	return still_runs(shared) ? 0 : resume(trace);
}
