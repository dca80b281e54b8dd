#!/bin/bash
# Source: opnsense/core issues 4484 and 9398, vyos/vyos-documentation pull 1021 (PPPoE 1492: MSS 1452 set for IPv6 too, 1432 is right; IPv6 sites hang)
# Reproduction: the way has 1492 both ways, routers' too-big messages are filtered, every SYN is clamped to 1452
# Expected: IPv4 fine (clamp 1452 fits exactly); IPv6: 1492, TCP stalls, the clamp must be 1432
. "${0%/*}/lib.bash"
line; ip -n ${T}c link set e0 gso_max_segs 1; ip -n ${T}s link set e0 gso_max_segs 1
nf r1 <<'N'
table inet f { chain f { type filter hook forward priority 0; tcp flags syn tcp option maxseg size > 1452 tcp option maxseg size set 1452; meta length > 1492 drop; }; }
N
serve; try mtu $S4; try mtu $S6; SHOW=25 try throughput $S6 -t 3
