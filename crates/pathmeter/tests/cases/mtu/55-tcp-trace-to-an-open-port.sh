#!/bin/bash
# Source: traviscross/mtr issue 95 (--tcp to an open port shows 1,690 ms where hping shows normal values), traviscross/mtr issue 326
# Reproduction: (a) a host on the same link, port 443 open, (b) the same three hops away, (c) its port closed
# Expected: round trips of some ten microseconds in all three, as --protocol icmp shows; no latency-from-hop
. "${0%/*}/lib.bash"
line; at s python3 -m http.server 443 >/dev/null 2>&1 & at r1 python3 -m http.server 443 >/dev/null 2>&1 & sleep 1
echo "(a)"; try hops 10.7.1.2 --protocol tcp; echo "(b)"; try hops $S4 --protocol tcp; echo "(c)"; try hops $S4 --protocol tcp --port 444; try hops $S4 --protocol icmp
