# Counts, splits and sorts words: strings and hash entries that come and go. Run by scripts/bench.sh under several allocators.
use strict;
use warnings;

my ($state, %count) = (42);
for my $turn (1 .. 40_000) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    my $line = join ' ', map { "word" . ($state % (97 * $_)) . 'x' x ($state % (5 * $_)) } 1 .. 5;
    $count{$_}++ for split / /, $line;
    delete $count{(split / /, $line)[0]} if $turn % 3 == 0;
}
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@sorted), " $sorted[0] $count{$sorted[0]}\n";
