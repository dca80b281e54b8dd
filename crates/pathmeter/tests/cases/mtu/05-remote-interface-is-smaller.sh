#!/bin/bash
# Source: perfsonar/toolkit issue 495, perfsonar/pscheduler issue 1540 ("MTU test reports 9000", the far host's interface has 1500 in a jumbo network)
# Reproduction: all links 9000, only the far host's own interface has 1500
# Expected: up 1500 (1504 with veth's slack); what is smaller is the far host's interface (MTU 1500), which is known there: name it. Foreign mode: no 9000
. "${0%/*}/lib.bash"
line 9000; ip -n ${T}s link set e0 mtu 1500
echo "foreign:"; try mtu $S4; serve; echo "native:"; try mtu $S4; try mtu $S6
