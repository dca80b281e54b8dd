#!/bin/bash
# Source: traviscross/mtr issue 361 (false loss when the path gets longer or shorter during the run)
# Reproduction: 2 s into the trace r1 moves to the leg that is two hops longer; then, in a second run, back
# Expected: route-changed with the time; no loss at the far end, none at the others that is called the path's
. "${0%/*}/lib.bash"
line
# r1 has a short leg to r2 and a long one over a and b
ns a b; fwd a b; wire r1 x1 a x2; wire a y1 b y2; wire b z1 r2 z2; addr r1 x1 11.1; addr a x2 11.2; addr a y1 12.1; addr b y2 12.2; addr b z1 13.1; addr r2 z2 13.2
via a 10.7.3.0/24 10.7.12.2; via b 10.7.3.0/24 10.7.13.2; via a 10.7.1.0/24 10.7.11.1; via b 10.7.1.0/24 10.7.12.1; via a 10.7.13.0/24 10.7.12.2; via b 10.7.11.0/24 10.7.12.1
(sleep 2.3; via r1 10.7.3.0/24 10.7.11.2) & try hops $S4 -c 12; (sleep 2.3; via r1 10.7.3.0/24 10.7.2.2) & try hops $S4 -c 12
