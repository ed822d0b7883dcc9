#!/usr/bin/perl
# Makes a Markdown table and a chart (SVG) of each question's raw figures:
#
#   perl report.pl questions.ini RESULTS [benchmarks.md]
#
# RESULTS/NAME.tsv has a line for each run: x, side, synchronous_commit, round,
# figures. NAME.md and NAME.svg are written beside it. The part of benchmarks.md
# between its markers is replaced by all of them.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use chart;

my ($questions, $dir, $docs) = @ARGV;
my %unit = (
	rate => 'messages/s',
	cpu => 'µs of processor time',
	wal => 'bytes of WAL',
	disk => 'bytes on disk',
	p50 => 'ms, median',
	p99 => 'ms, 99 of 100 within',
	ms => 'ms');
my %axis = (
	clients => 'clients',
	batch => 'messages in a batch',
	bytes => 'bytes of a message',
	segment => 'messages in a pushed batch',
	groups => 'consumer groups',
	partitions => 'partitions',
	messages => 'messages',
	minutes => 'minutes',
	retention => 'retention');
my %label = (
	queen => 'queen',
	fused => 'queen, push_fused',
	plain => 'plain table',
	pgq => 'PgQ',
	pgboss => 'pg-boss',
	graphile => 'graphile-worker',
	redis => 'Redis Streams');

sub slurp { my ($file) = @_; open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n"; local $/; return scalar <$in>; }
sub spew { my ($file, $text) = @_; open my $out, '>:encoding(UTF-8)', $file or die "$file: $!\n"; print $out $text; close $out or die "$file: $!\n"; return; }

# How a side is called.
sub name_of { my ($side) = @_; return $side =~ /^(.*)-node$/ ? "$label{$1} (Node)" : $label{$side}; }

# A number with three figures that count, and commas.
sub show {
	my ($value) = @_;
	return '' if !defined $value;
	my $text = $value >= 100 ? sprintf('%.0f', $value) : $value >= 10 ? sprintf('%.1f', $value) : sprintf('%.2f', $value);
	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[$#sorted / 2]; }

# A median with its spread.
sub spread {
	my ($values) = @_;
	return '' if !$values || !@$values;
	my @sorted = sort { $a <=> $b } @$values;
	return show(median(@sorted)) if @sorted == 1;
	return show(median(@sorted)) . ' (' . show($sorted[0]) . ' to ' . show($sorted[-1]) . ')';
}

# The questions, in order: hashes of their keys.
sub read_questions {
	my @all;
	for (split /\n/, slurp($questions)) {
		push @all, { name => $1, compare => 'peers', metrics => 'rate' } if /^\[(.*)\]/;
		$all[-1]{$1} = $2 if @all && /^(\w+) *= *(.*)/;
	}
	return @all;
}

# {commit}{side}{x}{metric} is a list of figures, one for each round; also the xs in order.
sub read_runs {
	my ($file) = @_;
	my ($head, @lines) = split /\n/, slurp($file);
	my @columns = split /\t/, $head;
	my (%runs, @xs, @sides, %seen);
	for (@lines) {
		my %run;
		@run{@columns} = split /\t/;
		push @xs, $run{x} if !$seen{"x $run{x}"}++;
		push @sides, $run{side} if !$seen{"side $run{side}"}++;
		for my $metric (grep { $run{$_} ne '-' } keys %unit) {
			push @{ $runs{ $run{commit} }{ $run{side} }{ $run{x} }{$metric} }, $run{$metric};
		}
	}
	return { runs => \%runs, xs => \@xs, sides => \@sides };
}

# The median of the ratios of runs of one round.
sub ratio {
	my ($ours, $theirs) = @_;
	my $n = ($ours && $theirs) ? (@$ours < @$theirs ? @$ours : @$theirs) : 0;
	my @ratios = map { $ours->[$_] / $theirs->[$_] } grep { $theirs->[$_] > 0 } 0 .. $n - 1;
	return @ratios ? sprintf('%.2f', median(@ratios)) : '';
}

# Who is compared with whom: what runs in Node with what runs in Node.
sub pairs {
	my (@sides) = @_;
	my %here = map { $_ => 1 } @sides;
	my @pairs;
	for my $ours (grep { $here{$_} } qw(queen fused queen-node)) {
		for my $theirs (grep { !/^(queen|fused|queen-node)$/ } @sides) {
			my $in_node = $theirs =~ /-node$|pgboss|graphile|redis/ ? 1 : 0;
			my $same = $in_node == ($ours eq 'queen-node' ? 1 : 0) || !$here{'queen-node'} && $ours eq 'queen';
			push @pairs, [ $ours, $theirs ] if $same;
		}
	}
	return @pairs;
}

# Cells of one row: ratio, both figures; for one setting of synchronous_commit.
sub pair_cells {
	my ($data, $commit, $x, $metric, $ours, $theirs) = @_;
	my $runs = $data->{runs}{$commit};
	my ($a, $b) = map { $runs->{$_}{$x}{$metric} } $ours, $theirs;
	return (ratio($a, $b), spread($a), spread($b));
}

sub rows_of_peers {
	my ($question, $data, $metric) = @_;
	my @commits = commits($data);
	my @rows = head($axis{ $question->{vary} }, 'of', map { ("ratio$_", "queen$_", "the other$_") } map { $_ eq 'on' ? '' : ', commit off' } @commits);
	for my $x (@{ $data->{xs} }) {
		for my $pair (pairs(@{ $data->{sides} })) {
			my @cells = map { pair_cells($data, $_, $x, $metric, @$pair) } @commits;
			next if !grep { length } @cells;
			push @rows, row(show_x($x), name_of($pair->[0]) . ' / ' . name_of($pair->[1]), @cells);
		}
	}
	return @rows;
}

# The settings of synchronous_commit that were tried.
sub commits { my ($data) = @_; return grep { $data->{runs}{$_} } qw(on off); }

sub row { return '| ' . join(' | ', @_) . ' |'; }
sub head { return (row(@_), '|' . '---|' x @_); }

sub show_x { my ($x) = @_; return $x =~ /^[0-9]+$/ ? show_count($x) : $x =~ /^[0-9.]+$/ ? sprintf('%.2g', $x) : $x; }
sub show_count { my ($n) = @_; 1 while $n =~ s/^(\d+)(\d{3})/$1,$2/; return $n; }

# Each side against itself, at the first value of what varies.
sub rows_of_start {
	my ($question, $data, $metric) = @_;
	my @commits = commits($data);
	my @rows = head($axis{ $question->{vary} }, 'side', map { ("ratio to the first$_", "figure$_") } map { $_ eq 'on' ? '' : ', commit off' } @commits);
	my $first = $data->{xs}[0];
	for my $side (@{ $data->{sides} }) {
		for my $x (@{ $data->{xs} }) {
			my @cells = map { my $of = $data->{runs}{$_}{$side}; (relative($of, $x, $first, $metric), spread($of->{$x}{$metric})) } @commits;
			push @rows, row(show_x($x), name_of($side), @cells);
		}
	}
	return @rows;
}

# The runs at different values are no pairs: medians are compared.
sub relative {
	my ($of, $x, $first, $metric) = @_;
	my ($a, $b) = map { $of->{$_}{$metric} } $x, $first;
	return $a && $b && @$a && @$b && median(@$b) > 0 ? sprintf('%.2f', median(@$a) / median(@$b)) : '';
}

# What a chart shows: medians with synchronous_commit on, of the first metric.
sub draw {
	my ($question, $data, $metric) = @_;
	my %series;
	for my $side (@{ $data->{sides} }) {
		$series{ name_of($side) } = [ map { my $v = $data->{runs}{on}{$side}{$_}{$metric}; $v && @$v ? median(@$v) : undef } @{ $data->{xs} } ];
	}
	return chart::svg(
		title => $question->{title}, x => $axis{ $question->{vary} }, y => $unit{$metric}, xs => [ map { show_x($_) } @{ $data->{xs} } ],
		names => [ map { name_of($_) } @{ $data->{sides} } ], series => \%series);
}

# A question's page, or nothing where it was never run.
sub page {
	my ($question) = @_;
	my $runs_of = ($question->{kind} =~ /^=(.*)/) ? $1 : $question->{name};
	return '' if !-f "$dir/$runs_of.tsv";
	my $data = read_runs("$dir/$runs_of.tsv");
	my @metrics = split ' ', $question->{metrics};
	spew("$dir/$question->{name}.svg", draw($question, $data, $metrics[0]));
	my $text = "### $question->{title}\n\n![$question->{title}](CHARTS/$question->{name}.svg)\n";
	for my $metric (@metrics) {
		my @rows = $question->{compare} eq 'start' ? rows_of_start($question, $data, $metric) : rows_of_peers($question, $data, $metric);
		$text .= "\nIn $unit{$metric}:\n\n" . join("\n", @rows) . "\n";
	}
	my $how = -f "$dir/$runs_of.how" ? slurp("$dir/$runs_of.how") : '';
	chomp $how;
	return $text . ($how ne '' ? "\n(`$question->{name}`: $how)\n" : '');
}

my @pages;
for my $question (read_questions()) {
	my $page = page($question) or next;
	(my $beside = $page) =~ s{CHARTS/}{}g;
	spew("$dir/$question->{name}.md", $beside);
	push @pages, $page;
}
die "no figures in $dir\n" if !@pages;
if ($docs) {
	my $all = slurp("$dir/machine.md") . "\n" . join("\n", @pages);
	$all =~ s{CHARTS/}{../bench/results/}g;
	my $text = slurp($docs);
	$text =~ s/(<!-- begin of what bench\/run writes -->\n).*(<!-- end of what bench\/run writes -->)/$1\n$all\n$2/s or die "$docs has no markers\n";
	spew($docs, $text);
}
