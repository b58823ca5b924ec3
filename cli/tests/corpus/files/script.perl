#!/usr/bin/perl -w
print "perl\n";
