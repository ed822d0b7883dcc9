# queen: an ordered, replayable message log inside PostgreSQL.
#
#   make && sudo make install && make installcheck
#
# builds for the server that pg_config belongs to (PG_CONFIG=... names another),
# here or from another directory (make -f path/to/queen/Makefile).
# ./test needs no installed extension and no running server.

EXTENSION = queen
MODULE_big = queen
PGFILEDESC = "queen - ordered, replayable message log"

OBJS = \
	src/queen.o \
	src/settings.o \
	src/statement.o \
	src/relation.o \
	src/probe.o \
	src/insert.o \
	src/record.o \
	src/locks.o \
	src/lock_budget.o \
	src/guard.o \
	src/arena.o \
	src/json_text.o \
	src/process.o \
	src/soon.o \
	src/shmem.o \
	src/wake.o \
	src/ready_list.o \
	src/ready_slots.o \
	src/ready.o \
	src/counters.o \
	src/touch.o \
	src/waiting.o \
	src/check.o \
	src/payload.o \
	src/spool.o \
	src/frame.o \
	src/crc.o \
	src/slice.o \
	src/json_check.o \
	src/fingerprint.o \
	src/message.o \
	src/queue_store.o \
	src/queue_cache.o \
	src/grant_store.o \
	src/partition_store.o \
	src/segment_store.o \
	src/candidate_store.o \
	src/group_store.o \
	src/cursor_store.o \
	src/dead_letter_store.o \
	src/seek_store.o \
	src/retention_store.o \
	src/worker_store.o \
	src/dedup_store.o \
	src/schedule_store.o \
	src/queue.o \
	src/reader.o \
	src/cursor.o \
	src/spans.o \
	src/group.o \
	src/known.o \
	src/runs.o \
	src/dedup.o \
	src/log.o \
	src/lanes.o \
	src/deferred.o \
	src/deferred_append.o \
	src/schedule.o \
	src/lease.o \
	src/failure.o \
	src/trace.o \
	src/letter.o \
	src/search.o \
	src/claim.o \
	src/arguments.o \
	src/items.o \
	src/envelope.o \
	src/filter.o \
	src/outgoing.o \
	src/fuse.o \
	src/fuse_call.o \
	src/fuse_append.o \
	src/fuse_cycle.o \
	src/fuse_worker.o \
	src/push.o \
	src/push_fused.o \
	src/push_deferred.o \
	src/push_row.o \
	src/delay.o \
	src/pop.o \
	src/wait.o \
	src/ack.o \
	src/nack.o \
	src/read.o \
	src/subscribe.o \
	src/seek.o \
	src/replay.o \
	src/endpoint.o \
	src/redrive.o \
	src/redrive_source.o \
	src/redrive_pending.o \
	src/redrive_judge.o \
	src/redrive_chunk.o \
	src/redrive_verbs.o \
	src/dead_letters.o \
	src/queue_admin.o \
	src/grant.o \
	src/status.o \
	src/stat.o \
	src/retention.o \
	src/retention_walk.o \
	src/idle.o \
	src/hold.o \
	src/walk.o \
	src/history.o \
	src/due.o \
	src/retain.o \
	src/maintain.o \
	src/worker.o \
	src/worker_admin.o \
	src/launcher.o \
	src/utility.o

DATA = sql/queen--1.0.sql

PG_CFLAGS = -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers

# The tests, in the order in which they run.
REGRESS_TESTS = \
	install \
	push \
	push_batch \
	push_items \
	fused \
	deferred \
	push_row \
	pop \
	read \
	wait \
	groups \
	ack \
	nack \
	seek \
	replay \
	redrive \
	retention \
	worker \
	delay \
	dedup \
	queues \
	grants \
	views \
	bytes \
	corrupt \
	limits \
	hostile \
	insert \
	places \
	plans

ISOLATION_TESTS = \
	push_order \
	push_rollback \
	insert_race \
	queue_cache \
	first_push \
	pop_race \
	ack_race \
	group_race \
	drop_race \
	many_partitions \
	backlog \
	deferred_race \
	seek_race \
	portal_lock \
	redrive_race \
	retention_race \
	dedup_race \
	schedule_race

# pg_regress looks in INPUTDIR/sql, /specs and /expected: a directory of links
# shows it sql-tests/ that way. The later --inputdir wins over PGXS's own.
TEST_LINKS = test-links

REGRESS = $(REGRESS_TESTS)
REGRESS_OPTS = --inputdir=$(TEST_LINKS)
ISOLATION = $(ISOLATION_TESTS)
ISOLATION_OPTS = --inputdir=$(TEST_LINKS) --load-extension=queen
REGRESS_PREP = prepare-$(TEST_LINKS)
TAP_TESTS = 1
PROVE_TESTS = sql-tests/t/*.pl

EXTRA_CLEAN = $(TEST_LINKS)

# A server that was built inside its source tree leaves this out.
ifneq ($(realpath $(dir $(firstword $(MAKEFILE_LIST)))),$(realpath $(CURDIR)))
VPATH := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
endif

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

.PHONY: prepare-$(TEST_LINKS) checkver print-tests

prepare-$(TEST_LINKS):
	$(MKDIR_P) $(TEST_LINKS)
	$(LN_S) -fn '$(abspath $(srcdir))/sql-tests' $(TEST_LINKS)/sql
	$(LN_S) -fn '$(abspath $(srcdir))/sql-tests/isolation' $(TEST_LINKS)/specs
	$(LN_S) -fn '$(abspath $(srcdir))/expected' $(TEST_LINKS)/expected

# What ./test runs.
print-tests:
	@echo 'regress $(REGRESS_TESTS)'
	@echo 'isolation $(ISOLATION_TESTS)'

# make would take objects that an in-place build left behind for its own.
ifneq ($(realpath $(srcdir)),$(realpath $(CURDIR)))
ifneq ($(wildcard $(addprefix $(srcdir)/,$(OBJS))),)
$(error objects of another build are in $(srcdir): run "make clean" there first)
endif
endif

# In a VPATH build the objects need their directory; every object is made again
# when a header changes, as PGXS follows no includes.
$(OBJS): $(wildcard $(srcdir)/src/*.h) | $(CURDIR)/src
$(OBJS:.o=.bc): | $(CURDIR)/src
$(CURDIR)/src:
	$(MKDIR_P) $@

# One version everywhere, or nothing is built. META.json wants three numbers.
all: checkver
checkver:
	@cd $(srcdir) && \
	v=`sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" queen.control`; \
	m=`sed -n '/"meta-spec"/q; s/^ *"version": *"\(.*\)\.[0-9]*".*/\1/p' META.json | sort -u`; \
	c=`sed -n 's/^## *\([^ ]*\).*/\1/p' CHANGELOG.md | sed 1q`; \
	s=`ls $(DATA) | sed -n "s/.*--\($$v\)\.sql$$/\1/p"`; \
	test -n "$$v" && test "$$v" = "$$m" && test "$$v" = "$$c" && test "$$v" = "$$s" || { \
		echo "versions differ: queen.control $$v, META.json $$m, CHANGELOG.md $$c, sql $$s" >&2; \
		exit 1; }
