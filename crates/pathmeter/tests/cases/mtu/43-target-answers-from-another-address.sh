#!/bin/bash
# Source: nxtrace/NTrace-dev issue 204 item 2 (Cloudflare answers from 2400:cb00::), traviscross/mtr issue 496 (subnet anycast)
# Reproduction: s answers with port unreachable from 10.7.3.77
# Expected: reached at hop 3, the answering address shown as it is; not "refused by a router"
. "${0%/*}/lib.bash"
line
nf s <<'N'
table ip f { chain o { type filter hook output priority 0; icmp type destination-unreachable ip saddr set 10.7.3.77; }; }
N
try hops $S4
