#!/bin/bash
# Source: google/gvisor issue 14011, google/gvisor issue 10344 (forwarder drops TCP packets that GRO/TSO joined beyond the MTU, silently: 35 KB/s)
# Reproduction: r1 drops TCP packets of more than 1500 bytes (joined ones), single segments pass; UDP of 1500 passes
# Expected: path MTU 1500; TCP is crippled: said in mtu or throughput, with offloads (GSO/TSO/GRO) as the suspect rather than plain path loss
. "${0%/*}/lib.bash"
line
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; meta l4proto tcp meta length > 1500 drop; }; }
N
serve; try mtu $S4; try throughput $S4 -t 4
