#!/bin/bash
# Source: cilium/cilium issue 19720, traviscross/mtr issue 117 (equal paths chosen by header fields), Linux's IPv6 flow labels: two legs of 1500 and 1400, chosen by flow label, routers' messages filtered on the small leg
# Reproduction: r1 has two IPv6 legs to r2, hashed by addresses and flow label (fib_multipath_hash_policy 0); the one over a carries 1400 silently
# Expected: mtu: flows differ, 1500 and 1400 (paths-differ) whichever came first; TCP that stalls on the small leg is named with it
. "${0%/*}/lib.bash"
line; ns a; fwd a; wire r1 x1 a x2; wire a y1 r2 y2; addr r1 x1 11.1; addr a x2 11.2; addr a y1 12.1; addr r2 y2 12.2
via a fd07:3::/64 fd07:12::2; via a fd07:1::/64 fd07:11::1; at r1 ip -6 route replace fd07:3::/64 nexthop via fd07:2::2 nexthop via fd07:11::2
ip -n ${T}c link set e0 gso_max_segs 1
nf a <<'N'
table inet f { chain f { type filter hook forward priority 0; meta length > 1400 drop; }; }
N
serve; for i in 1 2 3; do SHOW=14 try mtu $S6; done; SHOW=14 try throughput $S6 -P 8 -t 3
