# A model of the rules, in memory, and thousands of random operations: every
# answer of the server (offsets, deliveries, counts, SQLSTATEs, dead letters,
# how far behind a group is) must be the model's.
#
# QUEEN_SEED=n runs that seed alone; without it the seeds are random, and
# printed. A mismatch prints the seed and the last operations.

use strict;
use warnings;

use List::Util qw(max min sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seeds = 4;
my $operations = $ENV{QUEEN_OPERATIONS} || 1500;
my @partitions = ('a', 'b');
my @groups = ('g', 'h');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'queen'");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION queen;

	-- What a command answers, a row a line, or its SQLSTATE.
	CREATE FUNCTION call(command text) RETURNS text LANGUAGE plpgsql
	AS $$
	DECLARE
		answer text;
	BEGIN
		EXECUTE format('SELECT string_agg(t::text, %L) FROM (%s) t', ';', command) INTO answer;
		RETURN coalesce(answer, '');
	EXCEPTION WHEN OTHERS THEN
		RETURN sqlstate;
	END $$;
});
my $psql = $node->background_psql('postgres');

# ---------------------------------------------------------------------------
# The model
# ---------------------------------------------------------------------------

# Where each log begins and ends; the cursors; the dead letters; all leases and
# all seeks that there were; what was done, for the report.
my (%start, %end, %cursors, @dead, @leases, @seeks, @log, %options);

sub reset_model
{
	%start = map { $_ => 0 } @partitions;
	%end = map { $_ => 0 } @partitions;
	%cursors = ();
	foreach my $partition (@partitions)
	{
		foreach my $group (@groups)
		{
			$cursors{$partition}{$group} = new_cursor();
		}
	}
	@dead = @leases = @seeks = @log = ();
	%options = (
		max_deliveries => one_of(2, 3, 5, 16),
		retry_limit => one_of(0, 1, 3));
}

# A cursor that was never written. failures are those of the message at fail_head.
sub new_cursor
{
	return { done => {}, deliveries => {}, failures => 0, fail_head => -1, lease => undef, recent => [] };
}

# The first offset of a partition that a group has not done.
sub head
{
	my ($partition, $group) = @_;
	my $cursor = $cursors{$partition}{$group};
	my $offset = $start{$partition};

	$offset++ while $cursor->{done}{$offset};
	if ($cursor->{fail_head} != $offset)
	{
		$cursor->{failures} = 0;
		$cursor->{fail_head} = $offset;
	}
	return $offset;
}

# What a group has not done of some offsets.
sub unfinished
{
	my ($partition, $group, $first, $last) = @_;

	return grep { !$cursors{$partition}{$group}{done}{$_} } max($first, $start{$partition}) .. $last;
}

sub complete
{
	my ($cursor, @offsets) = @_;

	$cursor->{done}{$_} = 1 foreach @offsets;
}

# The lease ends, completed or given up.
sub finish
{
	my ($cursor, $lease) = @_;

	push @{ $cursor->{recent} }, $lease->{id};
	shift @{ $cursor->{recent} } if @{ $cursor->{recent} } > 4;
	$cursor->{lease} = undef;
}

sub bury
{
	my ($cursor, $partition, $group, $offset, $reason, $failures) = @_;

	push @dead, "$partition,$group,$offset,$reason,$failures";
	complete($cursor, $offset);
}

# Puts a cursor somewhere.
sub move
{
	my ($cursor, $committed, @ahead) = @_;

	%$cursor = %{ new_cursor() };
	complete($cursor, 0 .. $committed, @ahead);
}

# ---------------------------------------------------------------------------
# Asking and comparing
# ---------------------------------------------------------------------------

sub one_of
{
	return $_[ int(rand(@_)) ];
}

sub ask
{
	my ($command) = @_;

	return $psql->query('SELECT call($call$' . $command . '$call$)');
}

# Asks, notes it, and compares. Answers whether it is as expected.
my $matches;

sub expect
{
	my ($command, $expected) = @_;
	my $got = ask($command);

	push @log, "$command\n      -> $got";
	$matches = $got eq $expected;
	push @log, "expected $expected" unless $matches;
	return $got;
}

# ---------------------------------------------------------------------------
# Operations
# ---------------------------------------------------------------------------

sub push_some
{
	my $partition = one_of(@partitions);
	my $count = 1 + int(rand(6));

	expect("SELECT first_offset, messages FROM queen.push_batch('m', '[" . join(',', (1) x $count)
		  . "]', '$partition')", "($end{$partition},$count)");
	$end{$partition} += $count;
}

sub purge
{
	expect("SELECT queen.purge('m')", '(' . sum0(map { $end{$_} - $start{$_} } @partitions) . ')');
	$start{$_} = $end{$_} foreach @partitions;
}

# Which messages a pop takes, with their deliveries: [offset, delivery] each.
sub take
{
	my ($cursor, $partition, $from, $batch) = @_;
	my @taken;

	for (my $offset = $from; $offset < $end{$partition} && @taken < $batch; $offset++)
	{
		next if $cursor->{done}{$offset};
		my $before = $cursor->{deliveries}{$offset} // 0;
		my $alone = $before >= $options{max_deliveries} - 1;

		last if $alone && @taken;
		push @taken, [ $offset, $before + 1 ];
		last if $alone;
	}
	return @taken;
}

# An expired lease that held its last permitted delivery alone is poison.
sub is_poison
{
	my ($cursor, $partition, $head) = @_;
	my $lease = $cursor->{lease};

	return
		 $lease->{first} == $head
	  && $lease->{last} == $head
	  && $head < $end{$partition}
	  && ($cursor->{deliveries}{$head} // 0) >= $options{max_deliveries};
}

sub pop_some
{
	my $partition = one_of(@partitions);
	my $group = one_of(@groups);
	my $batch = 1 + int(rand(8));
	my $expires = rand() < 0.4;
	my $auto = rand() < 0.15;
	my $cursor = $cursors{$partition}{$group};
	my $old = $cursor->{lease};
	my $buried = 0;
	my @taken;
	my $head;

	if (!$old || $old->{expired})
	{
		$head = head($partition, $group);
		if ($old && is_poison($cursor, $partition, $head))
		{
			bury($cursor, $partition, $group, $head, 'poison', $cursor->{failures});
			$buried = 1;
		}
		$head = head($partition, $group);
		@taken = take($cursor, $partition, $head, $batch);
		# An expired lease stays where nothing was taken and nothing died.
		$cursor->{lease} = undef if @taken || $buried;
	}
	my $got = expect(
		"SELECT message_offset, delivery, lease FROM queen.pop('m', '$group', $batch, '$partition', "
		  . ($expires ? "'1 microsecond'" : "'1 hour'") . ', ' . ($auto ? 'true' : 'false') . ')', '');
	my ($id) = $got =~ /,([0-9a-f-]{36})\)/;

	$got =~ s/,[0-9a-f-]*\)/)/g;
	pop @log if $log[-1] =~ /^expected/;
	my $expected = join(';', map { "($_->[0],$_->[1])" } @taken);
	$matches = $got eq $expected;
	push @log, "expected $expected" unless $matches;
	return unless @taken;

	my $last = $taken[-1][0];
	if ($auto)
	{
		complete($cursor, $head .. $last);
		return;
	}
	$cursor->{deliveries}{$_}++ foreach $head .. $last;
	$cursor->{lease} = {
		id => $id,
		partition => $partition,
		group => $group,
		first => $head,
		last => $last,
		expired => $expires
	};
	push @leases, $cursor->{lease};
}

# Picks a lease, good or not: itself, its cursor, whether it is live, and what
# an ack of one that is not answers.
sub pick_lease
{
	my $lease = $leases[ -1 - int(rand(min(6, scalar(@leases)))) ];
	my $cursor = $cursors{ $lease->{partition} }{ $lease->{group} };
	my $live = $cursor->{lease} && $cursor->{lease}{id} eq $lease->{id};
	my $already = grep { $_ eq $lease->{id} } @{ $cursor->{recent} };

	head($lease->{partition}, $lease->{group});
	return ($lease, $cursor, $live, $already ? '(0)' : 'QN001');
}

sub still
{
	my ($lease) = @_;

	return unfinished(@$lease{qw(partition group first last)});
}

sub ack
{
	my ($lease, $cursor, $live, $else) = pick_lease();

	expect("SELECT queen.ack('$lease->{id}')", $live ? '(' . scalar(still($lease)) . ')' : $else);
	return unless $live;
	complete($cursor, $lease->{first} .. $lease->{last});
	finish($cursor, $lease);
}

# Part of a lease: through an offset, or single messages.
sub ack_part
{
	my ($through) = @_;
	my ($lease, $cursor, $live, $else) = pick_lease();
	my ($command, @offsets, $bad);

	if ($through)
	{
		my $last = $lease->{first} - 1 + int(rand($lease->{last} - $lease->{first} + 3));

		@offsets = ($lease->{first} .. $last);
		$bad = $last < $lease->{first} || $last > $lease->{last};
		$command = "SELECT queen.ack('$lease->{id}', $last)";
	}
	else
	{
		@offsets = map { $lease->{first} + int(rand($lease->{last} - $lease->{first} + 1)) } 1 .. int(rand(4));
		$bad = rand() < 0.1;
		push @offsets, $lease->{last} + 1 if $bad;
		$command = "SELECT queen.ack_messages('$lease->{id}', '{" . join(',', @offsets) . "}')";
	}
	my %new = map { $_ => 1 }
	  grep { !$cursor->{done}{$_} && $_ >= $start{ $lease->{partition} } } @offsets;
	expect($command, !$live ? $else : $bad ? '22023' : '(' . scalar(keys %new) . ')');
	return if !$live || $bad;
	complete($cursor, @offsets);
	finish($cursor, $lease) unless still($lease);
}

sub fail_message
{
	my ($verb) = @_;
	my ($lease, $cursor, $live) = pick_lease();
	my $at = rand() < 0.5 ? undef : $lease->{first} + int(rand($lease->{last} - $lease->{first} + 1));
	my $before = rand() < 0.5;
	my ($partition, $group) = @$lease{qw(partition group)};
	my @left = still($lease);
	my $offset = $at // (@left ? $left[0] : $lease->{last});
	my $gone = $offset < $start{$partition};
	my $outcome;

	if (!$live)
	{
		$outcome = 'QN001';
	}
	elsif ((!$gone && $cursor->{done}{$offset}) || (!$before && grep { $_ < $offset } @left))
	{
		$outcome = '22023';
	}
	else
	{
		complete($cursor, $lease->{first} .. $offset - 1);
		$cursor->{lease} = undef;
		head($partition, $group);
		if ($gone)
		{
			$outcome = '(gone)';
		}
		elsif ($verb eq 'reject')
		{
			$outcome = '(dead_letter)';
			bury($cursor, $partition, $group, $offset, 'rejected', $cursor->{failures});
		}
		elsif ($cursor->{failures} >= $options{retry_limit})
		{
			$outcome = '(dead_letter)';
			bury($cursor, $partition, $group, $offset, 'failed', $cursor->{failures} + 1);
		}
		else
		{
			$outcome = '(retry)';
			$cursor->{failures}++;
		}
	}
	expect("SELECT queen.$verb('$lease->{id}', complete_before => " . ($before ? 'true' : 'false')
		  . (defined $at ? ", at_offset => $at)" : ')'), $outcome);
}

sub release
{
	my ($lease, $cursor, $live, $else) = pick_lease();

	expect("SELECT queen.release('$lease->{id}')", $live ? '(' . scalar(still($lease)) . ')' : $else);
	$cursor->{lease} = undef if $live;
}

sub renew
{
	my ($lease, $cursor, $live) = pick_lease();

	expect("SELECT queen.renew('$lease->{id}', '1 hour') > now()", $live ? '(t)' : 'QN001');
	$cursor->{lease}{expired} = 0 if $live;
}

# What a group has done beyond its head.
sub done_ahead
{
	my ($partition, $group) = @_;
	my $head = head($partition, $group);
	my @ahead = sort { $a <=> $b } grep { $_ > $head } keys %{ $cursors{$partition}{$group}{done} };

	return @ahead;
}

# A target: its argument, where committed goes in a partition, whether it is bad.
sub pick_target
{
	my ($partition) = @_;
	my $kind = one_of('beginning', 'end', 'by', $partition ? ('offset', 'offset') : ());

	return ('to_beginning => true', sub { $start{ $_[0] } - 1 }) if $kind eq 'beginning';
	return ('to_end => true', sub { $end{ $_[0] } - 1 }) if $kind eq 'end';
	if ($kind eq 'by')
	{
		my $by = int(rand(30)) - 18;

		return ("by => $by", sub {
			my ($p, $g) = @_;

			return min(max(head($p, $g) - 1 + $by, $start{$p} - 1), $end{$p} - 1);
		});
	}
	my $offset = $start{$partition} - 1 + int(rand($end{$partition} - $start{$partition} + 3));

	return ("to_offset => $offset", sub { $offset - 1 },
		$offset < $start{$partition} || $offset > $end{$partition});
}

sub seek_some
{
	my $group = one_of(@groups);
	my $partition = rand() < 0.6 ? one_of(@partitions) : undef;
	my ($argument, $target, $bad) = pick_target($partition);
	my $dry = rand() < 0.2;
	my (@rows, @moves);

	foreach my $p ($partition // @partitions)
	{
		my $cursor = $cursors{$p}{$group};
		my $old = head($p, $group) - 1;
		my @ahead = done_ahead($p, $group);
		my $new = $target->($p, $group);

		last if $bad;
		push @rows, "($p,$old,$new," . ($old - $new + @ahead) . ','
		  . ($cursor->{lease} ? $cursor->{lease}{id} : '') . ')';
		push @moves, { partition => $p, group => $group, old => $old, ahead => \@ahead, new => $new };
	}
	expect("SELECT partition, old_committed, new_committed, messages, broken_lease FROM queen.seek('m', '$group', $argument"
		  . ($partition ? ", partition => '$partition'" : '') . ($dry ? ', dry_run => true' : '')
		  . ') ORDER BY 1', $bad ? 'QN002' : join(';', @rows));
	return if $bad || $dry || !$matches;
	foreach my $move (@moves)
	{
		move($cursors{ $move->{partition} }{$group}, $move->{new});
	}
	push @seeks, { id => ask('SELECT max(seek_id) FROM queen.seek_history') =~ s/\D//gr, moves => \@moves, undone => 0 };
}

# Whether nothing was delivered since a seek.
sub stands
{
	my ($move) = @_;
	my ($partition, $group) = @$move{qw(partition group)};
	my $cursor = $cursors{$partition}{$group};
	my $head = head($partition, $group);

	return
		 $head - 1 == max($move->{new}, $start{$partition} - 1)
	  && !$cursor->{lease}
	  && !$cursor->{failures}
	  && !done_ahead($partition, $group)
	  && !grep { $_ >= $head } keys %{ $cursor->{deliveries} };
}

# Whether a later seek that is not undone moved the same cursor.
sub followed
{
	my ($seek, $move) = @_;

	return grep {
		my $later = $_;
		$later->{id} > $seek->{id} && !$later->{undone}
		  && grep { $_->{partition} eq $move->{partition} && $_->{group} eq $move->{group} } @{ $later->{moves} }
	} @seeks;
}

sub undo
{
	my $seek = $seeks[ -1 - int(rand(min(3, scalar(@seeks)))) ];
	my $force = rand() < 0.4;
	my @rows;

	if ($seek->{undone} || (!$force && grep { !stands($_) || followed($seek, $_) } @{ $seek->{moves} }))
	{
		expect("SELECT * FROM queen.seek_undo($seek->{id}, " . ($force ? 'true' : 'false') . ')', '55000');
		return;
	}
	foreach my $move (@{ $seek->{moves} })
	{
		my ($partition, $group) = @$move{qw(partition group)};
		my $stood = head($partition, $group) - 1 + done_ahead($partition, $group);
		my $before = head($partition, $group) - 1;

		move($cursors{$partition}{$group}, $move->{old}, @{ $move->{ahead} });
		my $now = head($partition, $group) - 1;
		push @rows, "($partition,$before,$now," . ($stood - $now - done_ahead($partition, $group)) . ')';
	}
	expect("SELECT * FROM queen.seek_undo($seek->{id}, " . ($force ? 'true' : 'false') . ') ORDER BY 1',
		join(';', @rows));
	$seek->{undone} = 1;
}

# ---------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------

# Operations and how often each comes.
my @choices = (
	[ 50, \&push_some ],
	[ 100, \&pop_some ],
	[ 40, \&ack, 1 ],
	[ 30, sub { ack_part(1) }, 1 ],
	[ 40, sub { ack_part(0) }, 1 ],
	[ 40, sub { fail_message('nack') }, 1 ],
	[ 10, sub { fail_message('reject') }, 1 ],
	[ 20, \&release, 1 ],
	[ 10, \&renew, 1 ],
	[ 25, \&seek_some, 2 ],
	[ 12, \&undo, 3 ],
	[ 2, \&purge ]);
my $weight = sum0(map { $_->[0] } @choices);

# An operation for which there is something: leases, both partitions, a seek.
sub pick_operation
{
	while (1)
	{
		my $left = rand($weight);

		foreach my $choice (@choices)
		{
			my ($share, $operation, $needs) = @$choice;

			$left -= $share;
			next if $left >= 0;
			last if $needs && $needs == 1 && !@leases;
			last if $needs && $needs == 2 && grep { !$end{$_} } @partitions;
			last if $needs && $needs == 3 && !@seeks;
			return $operation;
		}
	}
}

# What is stored must be the model's, too.
sub compare_all
{
	expect("SELECT partition, consumer_group, message_offset, reason, failures FROM queen.dead_letters"
		  . " WHERE queue = 'm' ORDER BY dead_letter_id", join(';', map { "($_)" } @dead));
	return unless $matches;
	my $behind = ask("SELECT partition, consumer_group, behind FROM queen.cursors WHERE queue = 'm' ORDER BY 1, 2");
	foreach my $row (split /;/, $behind)
	{
		my ($partition, $group, $count) = $row =~ /\((\w),(\w),(\d+)\)/;
		my $expected = unfinished($partition, $group, $start{$partition}, $end{$partition} - 1);

		next if $count == $expected;
		push @log, "behind of $partition, $group is $count", "expected $expected";
		$matches = 0;
	}
}

sub run_seed
{
	my ($seed) = @_;

	srand($seed);
	reset_model();
	ask("SELECT queen.create_queue('m', max_deliveries => $options{max_deliveries}, "
		  . "retry_limit => $options{retry_limit}, retry_delay => '0')");
	foreach my $n (1 .. $operations)
	{
		$matches = 1;
		pick_operation()->();
		compare_all() if $matches && $n % 20 == 0;
		next if $matches;
		fail("seed $seed: operation $n, max_deliveries $options{max_deliveries}, retry_limit $options{retry_limit}");
		diag(join("\n", @log[ max(0, $#log - 15) .. $#log ]));
		last;
	}
	pass("seed $seed: $operations operations, " . @seeks . ' seeks, ' . @dead . ' dead letters') if $matches;
	ask("SELECT queen.drop_queue('m', true)");
}

my @seeds = $ENV{QUEEN_SEED} ? ($ENV{QUEEN_SEED}) : map { int(rand(1000000000)) } 1 .. $seeds;

diag("seeds @seeds");
run_seed($_) foreach @seeds;

$psql->quit;
$node->stop;
done_testing();
