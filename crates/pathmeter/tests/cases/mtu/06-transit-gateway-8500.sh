#!/bin/bash
# Source: SEEK blog "Beware of Transit Gateways Bearing Large Packets", johnhollowell.com "NFS hangs" (AWS TGW drops more than 8500 silently and clamps the MSS)
# Reproduction: hosts have 9001, the middle drops more than 8500 without ICMP in both directions, SYNs are clamped to 8460
# Expected: 8500 each way, black hole 8501-9001; TCP is not hit thanks to the clamp (8460 fits exactly). With (b), the clamp gone: TCP stalls
. "${0%/*}/lib.bash"
line 9001; ip -n ${T}c link set e0 gso_max_segs 1; ip -n ${T}s link set e0 gso_max_segs 1
nf r1 <<'N'
table inet f { chain f { type filter hook forward priority 0; tcp flags syn tcp option maxseg size set 8460; meta length > 8500 drop; }; }
N
serve; try mtu $S4; try throughput $S4 -t 2
nf r1 <<'N'
flush ruleset
table inet f { chain f { type filter hook forward priority 0; meta length > 8500 drop; }; }
N
echo "(b)"; try mtu $S4
