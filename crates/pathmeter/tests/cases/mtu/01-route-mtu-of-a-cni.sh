#!/bin/bash
# Source: mysticaltech/terraform-hcloud-kube-hetzner issue 2286 (Cilium route `mtu 1320` in pods taken for a black hole); cilium, GKE and OVN write such routes too
# Reproduction: both hosts' routes have `mtu 1320` (as a CNI sets it); (a) the path drops more than 1320 silently, (b) the path carries 1500
# Expected (a): 1320 each way, and no problem: the hosts' own routes keep all packets to 1320, TCP (MSS 1280) does not stall
# Expected (b): 1500 crosses; what holds the hosts to 1320 is a configured route, not a stale cache: `ip route flush cache` cannot help
. "${0%/*}/lib.bash"
line; via c default 10.7.1.2 mtu 1320; via s default 10.7.3.2 mtu 1320
nf r1 <<'N'
table inet f { chain f { type filter hook forward priority 0; meta l4proto { tcp, udp, icmp } meta length > 1320 drop; }; }
N
serve; echo "(a)"; try mtu $S4; at r1 nft flush ruleset; echo "(b)"; try mtu $S4
