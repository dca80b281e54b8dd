#!/bin/bash
# Source: quic-go/quic-go pull 5767 and issue 5768 (mobile carrier: above 1450 all is lost, 1441 to 1450 loses some per cent, up to 1440 nothing)
# Reproduction: download direction: more than 1450 dropped silently, 1441 to 1450 lose 5 %
# Expected: down 1450 at most, and a word that 1441 to 1450 lose about 5 % (keep to 1440); throughput and measure name the size, not plain path loss
. "${0%/*}/lib.bash"
line; via s default 10.7.3.2
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; iif "w1" meta length > 1450 drop; iif "w1" meta length 1441-1450 numgen random mod 100 < 5 drop; }; }
N
ip -n ${T}c link set e0 gso_max_segs 1; ip -n ${T}s link set e0 gso_max_segs 1
serve; try mtu $S4; try measure $S4 --quick
