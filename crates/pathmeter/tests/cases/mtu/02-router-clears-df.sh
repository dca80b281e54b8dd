#!/bin/bash
# Source: opnsense/core issue 7154 (normalisation `no-df`), bbonev/eoip issue 29 (clear DF on tunnels); Juniper and Azure VPN gateways do the same
# Reproduction: r1 clears DF on what comes from c, its way on has MTU 1400, so that it cuts DF packets too; (b) fragments are dropped behind it as well
# Expected (a): up 1400 is what crosses whole; a router ignores DF and cuts packets of 1401 to 1500. Not: 1500 crosses whole, all well
# Expected (b): up 1400, packets above vanish without a word
. "${0%/*}/lib.bash"
line; via r1 10.7.3.0/24 10.7.2.2 mtu 1400
nf r1 <<'N'
table ip f { chain p { type filter hook prerouting priority -300; iif "c0" ip frag-off 0x4000 ip frag-off set 0x0000; }; }
N
serve; echo "(a)"; try mtu $S4; try throughput $S4 --udp -l 1472 -b 20M -t 2
nf r2 <<'N'
table ip f { chain f { type filter hook forward priority 0; ip frag-off & 0x3fff != 0 drop; }; }
N
echo "(b)"; try mtu $S4
