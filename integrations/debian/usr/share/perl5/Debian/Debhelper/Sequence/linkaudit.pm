# The debhelper sequence `linkaudit`: Build-Depends: dh-sequence-linkaudit, or dh $@ --with linkaudit.
use warnings;
use strict;
use Debian::Debhelper::Dh_Lib;

insert_after('dh_shlibdeps', 'dh_linkaudit');

1;
