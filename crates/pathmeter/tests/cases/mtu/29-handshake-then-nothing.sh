#!/bin/bash
# Source: metallb/metallb issue 297, firehol/firehol issue 358 (asymmetric route past a connection-tracking gateway: SYN-ACK goes another way, all later packets are invalid)
# Reproduction: c to s by r1, which drops what conntrack calls invalid; s to c directly
# Expected: connections open and then nothing that c sends arrives: said so (packets up are dropped after the handshake: asymmetric path past a stateful firewall), not "the peer vanished"
. "${0%/*}/lib.bash"
line; wire s e1 c e1; addr s e1 5.2; addr c e1 5.1; via s 10.7.1.0/24 10.7.5.1; via s 10.7.2.0/24 10.7.3.2
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; ct state invalid drop; tcp flags & (syn|ack) != syn ct state new drop; }; }
N
serve s --http; try throughput $S4 -t 2; try transfer http://$S4:8080/bytes/100k -n 1 --timeout 8s; try mtu $S4
