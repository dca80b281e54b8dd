#!/bin/bash
# Source: msxfaq.de "Azure VPN und MTU" (payload 1394 is answered, 1395 vanishes, from 1396 on "fragmentation needed")
# Reproduction: r1's way has MTU 1423 and says so; what is exactly 1423 vanishes in the same box
# Expected: up 1422 exact; r1 (10.7.1.2) reports 1423, one byte more than crosses: mtu-discovery-wrong, problem
. "${0%/*}/lib.bash"
line; via r1 10.7.3.0/24 10.7.2.2 mtu 1423
nf r1 <<'N'
table ip f { chain f { type filter hook postrouting priority 0; oif "w1" meta length 1423 drop; }; }
N
serve; try mtu $S4
