#!/bin/bash
# Source: amzn/amzn-drivers issue 77 (through MPLS over GRE no packet of more than 86 bytes crosses)
# Reproduction: more than 86 bytes vanish, up
# Expected: mtu says that packets above 86 bytes vanish up (native, or foreign: icmp), not "the peer has vanished" or a firewall on the port
. "${0%/*}/lib.bash"
line
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; iif "c0" meta length > 86 drop; }; }
N
serve; try mtu $S4; try mtu $S4 --protocol icmp; try hops $S4
