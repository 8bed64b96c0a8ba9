/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random process trees compared with a naive model: fork and vfork from any thread, with pending
 * calls, and exec and exit of parent and child in any order.
 */
#include "oracle.h"
#include "tests/unit/model_fixture.h"

enum { TREE_ORACLES = 48, TREE_STEPS = 30000, TREE_LOOK = 500, GUESTS = 2 };

/* A naive model and its users: the first user, and guests, with a thread each. */
struct member {
	struct oracle *oracle;
	uint32_t users[1 + GUESTS]; /* 0: none; the first gives the pid */
	uint32_t pid, image;
	bool closed;
};

struct tree {
	struct model_fixture fixture;
	struct member members[TREE_ORACLES];
	size_t count;
	uint32_t pids; /* assigned so far */
};

static struct member *tree_add(struct tree *tree, uint32_t pid)
{
	struct member *member = &tree->members[tree->count++];

	member->oracle = calloc(1, sizeof(*member->oracle));
	assert_non_null(member->oracle);
	member->oracle->config = (struct model_config){.apis = API_SET_ALL, .wrappers = true};
	member->pid = member->users[0] = pid;
	for (uint32_t thread = 0; thread < THREADS - GUESTS; thread++) {
		member->oracle->pids[thread] = pid;
		member->oracle->tids[thread] = pid + thread;
	}
	return member;
}

static uint32_t tree_pid(struct tree *tree)
{
	return PID + 10 * ++tree->pids;
}

static void oracle_inherit(struct oracle *oracle)
{
	for (int i = 0; i < API_COUNT * STACKS; i++) {
		struct oracle_site *site = &oracle->sites[0][0] + i;

		site->inherited_blocks = site->live_blocks;
		site->inherited_bytes = site->peak = site->live_bytes;
		site->allocations = site->frees = site->bytes = site->failed = 0;
	}
	oracle->peak = oracle->live;
	oracle->unmatched = oracle->internal_frees = oracle->munmaps = oracle->collisions = 0;
	oracle->missed = oracle->lost = 0;
}

/* Of all threads, only the one that forked is left, and is the first. */
static void oracle_keep_thread(struct oracle *oracle, uint64_t thread)
{
	int height = oracle->heights[thread];

	oracle->heights[thread] = 0;
	oracle_close(oracle);
	memcpy(oracle->calls[0], oracle->calls[thread], sizeof(oracle->calls[0]));
	memcpy(oracle->piles[0], oracle->piles[thread], sizeof(oracle->piles[0]));
	oracle->heights[0] = height;
	for (int other = 1; other < THREADS; other++)
		memset(oracle->calls[other], 0, sizeof(oracle->calls[other]));
}

static void tree_fork(struct tree *tree, struct member *parent, uint64_t thread)
{
	uint32_t pid = tree_pid(tree);
	struct member *child = tree_add(tree, pid);
	uint32_t pids[THREADS], tids[THREADS];

	memcpy(pids, child->oracle->pids, sizeof(pids));
	memcpy(tids, child->oracle->tids, sizeof(tids));
	*child->oracle = *parent->oracle;
	tree->fixture.pid = parent->oracle->pids[thread];
	tree->fixture.tid = parent->oracle->tids[thread];
	send_fork(&tree->fixture, pid, pid, false);
	oracle_inherit(child->oracle);
	oracle_keep_thread(child->oracle, thread);
	memcpy(child->oracle->pids, pids, sizeof(pids));
	memcpy(child->oracle->tids, tids, sizeof(tids));
}

static void tree_vfork(struct tree *tree, struct member *parent, uint64_t thread)
{
	uint32_t pid = tree_pid(tree);

	for (int guest = 1; guest <= GUESTS; guest++) {
		int slot = THREADS - GUESTS + guest - 1;

		if (parent->users[guest] || parent->oracle->pids[slot])
			continue;
		tree->fixture.pid = parent->oracle->pids[thread];
		tree->fixture.tid = parent->oracle->tids[thread];
		send_fork(&tree->fixture, pid, pid, true);
		parent->users[guest] = pid;
		parent->oracle->pids[slot] = parent->oracle->tids[slot] = pid;
		return;
	}
}

/* A user leaves. If it was the first, the next one gives the pid. */
static void member_release(struct member *member, uint32_t pid)
{
	struct oracle *oracle = member->oracle;
	bool last = !member->users[1] && !member->users[2];
	int kept = 0;

	if (last) {
		oracle_close(oracle);
		member->closed = true;
		return;
	}
	for (int thread = 0; thread < THREADS; thread++) {
		if (oracle->tids[thread] == pid)
			oracle_drop_thread(oracle, thread);
		if (oracle->pids[thread] == pid)
			oracle->pids[thread] = 0;
	}
	for (int i = 0; i <= GUESTS; i++)
		if (member->users[i] && member->users[i] != pid)
			member->users[kept++] = member->users[i];
	for (int i = kept; i <= GUESTS; i++)
		member->users[i] = 0;
	member->image = member->pid == member->users[0] ? member->image : 0;
	member->pid = member->users[0];
}

static void tree_end(struct tree *tree, struct member *member, uint32_t pid, enum event_kind kind)
{
	fixture_switch_to(&tree->fixture, pid);
	send_event(&tree->fixture, (struct event){.kind = kind});
	member_release(member, pid);
}

static void tree_exec(struct tree *tree, struct member *member, uint32_t pid)
{
	struct member *image = tree_add(tree, pid);

	image->image = member->pid == pid ? member->image + 1 : 0;
	fixture_switch_to(&tree->fixture, pid);
	send_process(&tree->fixture, EVENT_EXEC, pid);
	send_objects(&tree->fixture);
	send_oracle_stacks(&tree->fixture);
	member_release(member, pid);
}

static void tree_step(struct tree *tree)
{
	struct member *member = &tree->members[dice(tree->count)];
	uint64_t thread = dice(THREADS), what = dice(400);
	uint32_t pid = member->oracle->pids[thread];
	bool room = tree->count < TREE_ORACLES;

	if (member->closed || !pid)
		return;
	if (what == 0 && room)
		tree_fork(tree, member, thread);
	else if (what == 1)
		tree_vfork(tree, member, thread);
	else if (what == 2 && room)
		tree_exec(tree, member, pid);
	else if (what == 3 && tree->count > 4)
		tree_end(tree, member, pid, dice(2) ? EVENT_EXIT : EVENT_LEAVE);
	else
		random_call(member->oracle, &tree->fixture);
}

static const struct snapshot_process *tree_section(const struct tree *tree,
						   const struct member *member)
{
	const struct snapshot *snapshot = tree->fixture.snapshot;

	for (size_t i = 0; i < snapshot->process_count; i++)
		if (snapshot->processes[i].pid == member->pid &&
		    snapshot->processes[i].image == member->image)
			return &snapshot->processes[i];
	fail();
	return NULL;
}

static void tree_compare(struct tree *tree)
{
	fixture_snapshot(&tree->fixture);
	assert_int_equal(tree->fixture.snapshot->process_count, tree->count);
	assert_int_equal(tree->fixture.snapshot->dropped, 0);
	for (size_t i = 0; i < tree->count; i++)
		oracle_compare_section(tree->members[i].oracle,
				       tree_section(tree, &tree->members[i]));
}

static void tree_run(unsigned int seed)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	srandom(seed);
	tree->fixture = fixture_default();
	tree_add(tree, PID);
	send_oracle_stacks(&tree->fixture);
	for (int step = 1; step <= TREE_STEPS; step++) {
		tree_step(tree);
		if (step % TREE_LOOK == 0)
			tree_compare(tree);
	}
	for (size_t i = 0; i < tree->count; i++)
		while (!tree->members[i].closed)
			tree_end(tree, &tree->members[i], tree->members[i].users[0], EVENT_EXIT);
	tree_compare(tree);
	fixture_close(&tree->fixture);
	for (size_t i = 0; i < tree->count; i++)
		free(tree->members[i].oracle);
	free(tree);
}

static void test_random_trees(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 8; seed++)
		tree_run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
