#!/bin/bash
# Source: thelinuxcluster.com "Dealing with Overflow of Fragmented Packets" (NFS over UDP), oracle/bpftune pull 71 (ipfrag_high_thresh)
# Reproduction: the far host's net.ipv4.ipfrag_high_thresh is 24000; datagrams of 32 KB (NFS rsize) are lost in its own kernel (ReasmFails)
# Expected: the path carries fragments (mtu: pass); the receiver's kernel gave the reassembly up: ipfrag_high_thresh at that host. Not: the path drops fragments or loses datagrams
. "${0%/*}/lib.bash"
line; at s sysctl -qw net.ipv4.ipfrag_low_thresh=20000 net.ipv4.ipfrag_high_thresh=24000
serve; try mtu $S4; try throughput $S4 --udp -l 32768 -b 100M -t 2; at s sh -c "grep ^Ip: /proc/net/snmp | cut -d' ' -f15-18"
