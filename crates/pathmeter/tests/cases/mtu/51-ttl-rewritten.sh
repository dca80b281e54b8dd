#!/bin/bash
# Source: Ysurac/openmptcprouter issue 2008, martin-ger/esp32_nat_router issue 198 (TTL set to 65 on the way out against tethering detection: hops behind are hidden)
# Reproduction: r1 sets the TTL of what it sends on to 65; the far end is 3 hops away; then r2's way is 1400, silent
# Expected: hops: says that the TTL is rewritten at r1 (answers come back over 3 hops, probes of TTL 2 reach the far end), not "the far end is 2 hops away" alone; mtu: up 1400, the limiting hop is not known (not r1)
. "${0%/*}/lib.bash"
line
nf r1 <<'N'
table ip f { chain p { type filter hook postrouting priority -150; oif "w1" ip ttl set 65; }; }
N
try hops $S4; at r2 ip route replace 10.7.3.0/24 dev s0 mtu lock 1400
nf r2 <<'N'
table ip f { chain o { type filter hook output priority 0; icmp type destination-unreachable drop; }; }
N
serve; try mtu $S4
