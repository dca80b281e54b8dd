#!/bin/bash
# Source: jsdelivr/globalping-cli issues 187 and 188 (mtr -s 1500 dies at a hop, 1496 passes; hops answer seldom)
# Reproduction: up more than 1496 vanishes at r2, a quarter of all packets is lost at random, no pathmeter at the far end
# Expected: up 1496 exact, black hole 1497-1500, the hop; loss is told apart from it; no false size
. "${0%/*}/lib.bash"
line
nf r2 <<'N'
table ip f { chain f { type filter hook forward priority 0; iif "w2" meta length > 1496 drop; numgen random mod 100 < 13 drop; }; }
N
try mtu $S4 --protocol icmp; try mtu $S4
