#!/bin/bash
# Source: cilium/cilium issues 12968 and 33844, projectcalico/calico issue 7120 ("need to frag" reaches the node and is not handed to the pod)
# Reproduction: r1 masquerades; r2's way on has 1420 and r2 says so; r1 drops frag-needed on its way back to c (time-exceeded passes)
# Expected: up 1420, black hole 1421-1500, cause ICMP filtered, limiting hop r2 (10.7.2.2); the message is lost between there and c
. "${0%/*}/lib.bash"
line; via r1 10.7.3.0/24 10.7.2.2; at r2 ip route replace 10.7.3.0/24 dev s0 mtu lock 1420
nf r1 <<'N'
table ip nat { chain p { type nat hook postrouting priority 100; oif "w1" masquerade; }; }
table ip f { chain f { type filter hook forward priority 0; oif "c0" icmp type destination-unreachable icmp code frag-needed drop; }; }
N
serve; try mtu $S4; try throughput $S4 -t 4
