#!/bin/bash
# Source: openwrt/openwrt issue 24766, ValveSoftware/csgo-osx-linux issue 4590 (DS-Lite tunnel of 1280 cuts inner IPv4, the fragments die further on)
# Reproduction: r1's way has 1280 and cuts, r2 drops fragments
# Expected: up 1280 by r1, told; fragments dropped up; a datagram of 1300 bytes needs cutting and is lost: keep to 1252. throughput --udp -l 1300 names fragments
. "${0%/*}/lib.bash"
line; via r1 10.7.3.0/24 10.7.2.2 mtu 1280
nf r2 <<'N'
table ip f { chain f { type filter hook forward priority 0; ip frag-off & 0x3fff != 0 drop; }; }
N
serve; try mtu $S4; try throughput $S4 --udp -l 1300 -b 5M -t 2
