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
/* From the exec of a launcher to that of the tool, which is what stays. */
#define BEGIN_NS (1000 * NS_PER_MS)

/*
 * Probes that are inherited.
 */

static bool is_inherited(const struct bpf_source *bpf)
{
	return bpf->config.scope == SCOPE_FAMILY && !bpf->prober->everybody;
}

/*
 * Take them from the whole family. That may take as long as the translator needs to begin, so it
 * stands still meanwhile; unless somebody else traces it, and then it is as fast as we are.
 */
static void withdraw(struct bpf_source *bpf, pid_t translator, bool waits)
{
	struct freeze *freeze = NULL;
	struct error reason;

	if (!waits && freeze_stop(&freeze, translator, &reason)) {
		log_info("%s", reason.text);
		freeze = NULL;
	}
	for (size_t i = 0; i < bpf->process_count; i++)
		bpf_process_detach(bpf->processes[i]);
	freeze_release(freeze);
}

/* Place them again for the others. */
static int replace(struct bpf_source *bpf, uint64_t since_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < bpf->process_count; i++) {
		struct bpf_process *process = bpf->processes[i];

		if (process->translated)
			continue;
		process->unprobed_sites = process->site_count = process->allocator_objects = 0;
		err = bpf_process_attach_again(process, since_ns);
	}
	return err;
}

int translated_leave(struct bpf_source *bpf, struct bpf_process *process, uint64_t since_ns,
		     bool waits)
{
	if (process->translated)
		return 0;
	process->translated = true;
	if (!process->shared) /* or it is told for all */
		log_warn("process %d is not traced any more: %s", (int)process->pid,
			 translator_words);
	if (!is_inherited(bpf)) {
		bpf_process_detach(process);
		return 0;
	}
	withdraw(bpf, process->pid, waits);
	return replace(bpf, since_ns);
}

/*
 * Probes that are for everybody.
 */

void translated_pause(struct bpf_source *bpf)
{
	struct shared_probes *shared = &bpf->shared;

	shared->seen_ns = clock_now_ns();
	if (shared->paused)
		return;
	shared->paused = true;
	shared->paused_ns = shared->seen_ns;
	prober_close(bpf->prober, &shared->links);
	shared->translator = translator_find();
	log_warn("nothing is traced by probes in every process until %s %d ends: %s",
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

uint64_t translated_gap_ns(const struct bpf_process *process)
{
	const struct shared_probes *shared = process->shared;

	if (!shared || !shared->paused)
		return 0;
	return clock_now_ns() -
	       (shared->paused_ns > process->entered_ns ? shared->paused_ns : process->entered_ns);
}

static int resume(struct bpf_source *bpf)
{
	struct bpf_process nobody = processes_nobody(bpf);
	int err = probes_share_again(&nobody);

	for (size_t i = 0; i < bpf->process_count; i++)
		bpf->processes[i]->gap_ns += translated_gap_ns(bpf->processes[i]);
	bpf->shared.paused = false;
	log_info("probes are in every process again");
	map64_free(&nobody.attached);
	return err;
}

int translated_look_after(struct bpf_source *bpf, uint32_t begun)
{
	struct shared_probes *shared = &bpf->shared;
	uint64_t now_ns = clock_now_ns();

	if (begun != shared->translators_begun) {
		shared->translators_begun = begun;
		translated_pause(bpf);
		return 0;
	}
	if (!shared->paused || now_ns - shared->seen_ns < BEGIN_NS ||
	    now_ns - shared->checked_ns < CHECK_NS)
		return 0;
	shared->checked_ns = now_ns;
	return still_runs(shared) ? 0 : resume(bpf);
}
