#!/bin/bash
# Source: ovn-org/ovn issue 316 (hop 1 sends time-exceeded with the destination's address)
# Reproduction: r1's time-exceeded messages bear the far end's address; the far end is 3 hops away
# Expected: the trace goes on to the far end at 3 hops; hop 1 is not taken for it; no routing-loop
. "${0%/*}/lib.bash"
line
nf r1 <<'N'
table ip f { chain o { type filter hook output priority 0; icmp type time-exceeded ip saddr set 10.7.3.1; }; }
N
try hops $S4; try hops $S4 --protocol icmp
