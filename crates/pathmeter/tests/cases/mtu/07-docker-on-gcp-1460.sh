#!/bin/bash
# Source: linuxkit/linuxkit issue 2496, hashicorp/terraform-google-terraform-enterprise issue 164, chainguard-dev/melange pull 2411 (container 1500, VPC 1460, masquerade)
# Reproduction: c is the container (1500), r1 the docker host: masquerades, its way on has 1460; PMTU discovery works
# Expected: 1460 each way, exact, mtu-reduced (info): hop r1 10.7.1.2 up, r2 10.7.3.2 down; verdict ok; advice to give the container network 1460
. "${0%/*}/lib.bash"
line; ip -n ${T}r1 link set w1 mtu 1460; ip -n ${T}r2 link set w2 mtu 1460
nf r1 <<'N'
table ip nat { chain p { type nat hook postrouting priority 100; oif "w1" masquerade; }; }
N
serve; try mtu $S4; try measure $S4 --quick
