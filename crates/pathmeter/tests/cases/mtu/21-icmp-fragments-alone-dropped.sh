#!/bin/bash
# Source: cilium/cilium issue 45339 (fragmented ICMP echo dropped as invalid, UDP passes)
# Reproduction: r2 drops ICMP fragments; down the way has 1400 and cuts what may be cut; no pathmeter at the far end
# Expected: up 1500 (datagrams to closed ports show it); down 1400 or not known; no claim that up ends at 1400
. "${0%/*}/lib.bash"
line; via r2 10.7.1.0/24 10.7.2.1 mtu 1400
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; ip protocol icmp ip frag-off & 0x3fff != 0 drop; }; }
N
try mtu $S4; try mtu $S4 --protocol icmp
