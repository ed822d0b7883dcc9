# chart.pm: a line chart as SVG. Both axes are in steps: the values of x stand
# side by side, y is logarithmic where the largest is ten times the smallest.
package chart;

use strict;
use warnings;
use utf8;
use POSIX qw(floor ceil);

my ($width, $height, $left, $right, $top, $bottom) = (760, 400, 90, 200, 50, 60);
my @colours = ('#0b6e4f', '#d1495b', '#30638e', '#edae49', '#7b2d8b', '#5c6770', '#00a6a6', '#8f5a2a');

sub escape { my ($text) = @_; $text =~ s/&/&amp;/g; $text =~ s/</&lt;/g; return $text; }

sub text {
	my ($x, $y, $anchor, $text, $more) = @_;
	return sprintf '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' . "\n", $x, $y, $anchor, $more // '', escape($text);
}

sub number {
	my ($n) = @_;
	return sprintf('%g', $n / 1e6) . 'M' if $n >= 1e6;
	return sprintf('%g', $n / 1e3) . 'k' if $n >= 1e3;
	return sprintf '%g', $n;
}

# Ticks of y: powers of ten with 2 and 5 between where there are few, or even steps from 0.
sub ticks {
	my ($log, $low, $high) = @_;
	if ($log) {
		my @steps = $high / $low > 2000 ? (1) : (1, 2, 5);
		return grep { $_ >= $low && $_ <= $high } map { my $e = $_; map { $_ * 10**$e } @steps } floor(log($low) / log(10)) .. ceil(log($high) / log(10));
	}
	my $step = 10**floor(log($high) / log(10));
	$step /= 2 while $high / $step < 4;
	return map { $_ * $step } 0 .. floor($high / $step);
}

# Places a value on the screen.
sub scale {
	my (@values) = @_;
	my ($low, $high) = (sort { $a <=> $b } @values)[ 0, -1 ];
	my $log = $low > 0 && $high / $low >= 10;
	($low, $high) = $log ? ($low / 1.3, $high * 1.3) : (0, $high * 1.1 || 1);
	my $span = $height - $top - $bottom;
	my $place = sub {
		my ($v) = @_;
		my $part = $log ? log($v / $low) / log($high / $low) : $v / $high;
		return $height - $bottom - $part * $span;
	};
	return ($place, ticks($log, $low, $high));
}

sub frame {
	my (%chart) = @_;
	my $middle = ($left + $width - $right) / 2;
	return text($left, 24, 'start', $chart{title}, ' font-size="15" font-weight="bold"')
	  . text($middle, $height - 14, 'middle', $chart{x})
	  . text(0, 0, 'middle', $chart{y}, sprintf(' transform="translate(20 %d) rotate(-90)"', ($top + $height - $bottom) / 2));
}

sub svg {
	my (%chart) = @_;
	my @values = grep { defined && $_ > 0 } map { @$_ } values %{ $chart{series} };
	@values = (1) if !@values;
	my ($place, @ticks) = scale(@values);
	my $n = @{ $chart{xs} };
	my $column = sub { return $left + ($width - $right - $left) * ($_[0] + 0.5) / $n };
	my $svg = frame(%chart);
	for my $tick (@ticks) {
		my $y = $place->($tick);
		$svg .= sprintf '<path d="M%d %.1fH%d" stroke="#ddd"/>' . "\n", $left, $y, $width - $right;
		$svg .= text($left - 8, $y + 4, 'end', number($tick));
	}
	$svg .= text($column->($_), $height - $bottom + 20, 'middle', $chart{xs}[$_]) for 0 .. $n - 1;
	my $i = 0;
	for my $name (@{ $chart{names} }) {
		$svg .= line($name, $colours[ $i % @colours ], $top + 14 + 22 * $i, $chart{series}{$name}, $column, $place);
		$i++;
	}
	return qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" font-family="sans-serif" font-size="12">\n}
	  . qq{<rect width="$width" height="$height" fill="#fff"/>\n} . $svg . "</svg>\n";
}

# One series, with its name at the right.
sub line {
	my ($name, $colour, $at, $values, $column, $place) = @_;
	my @points = map { [ $column->($_), $place->($values->[$_]) ] } grep { defined $values->[$_] && $values->[$_] > 0 } 0 .. $#$values;
	my $svg = sprintf '<path d="%s" fill="none" stroke="%s" stroke-width="2"/>' . "\n",
	  join('', map { ($_ ? 'L' : 'M') . sprintf('%.1f %.1f', @{ $points[$_] }) } 0 .. $#points), $colour;
	$svg .= sprintf '<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' . "\n", @$_, $colour for @points;
	$svg .= sprintf '<circle cx="%d" cy="%d" r="4" fill="%s"/>' . "\n", $width - $right + 16, $at - 4, $colour;
	return $svg . text($width - $right + 26, $at, 'start', $name);
}

1;
