#!/bin/bash
# Source: iputils/iputils issue 320, kyan001/ping3 issue 67, overte-org/overte issue 204 (8.8.8.8 answers large echo requests with 68 bytes)
# Reproduction: the far host cuts echo replies to 68 bytes of payload, drops UDP, refuses TCP; up more than 1400 vanishes silently
# Expected: up 1400 exact, black hole up (a short reply proves that the request arrived); down not known, not 96
. "${0%/*}/lib.bash"
line; at s sysctl -qw net.ipv4.icmp_echo_ignore_all=1
nf s <<'N'
table ip f { chain i { type filter hook input priority 0; ip protocol udp drop; }; }
N
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; iif "c0" meta length > 1400 drop; }; }
N
at s python3 - <<'P' &
import socket,struct
s=socket.socket(socket.AF_INET,socket.SOCK_RAW,socket.IPPROTO_ICMP)
def cs(b):
    b+=b'\0'*(len(b)%2); t=sum(struct.unpack('!%dH'%(len(b)//2),b)); t=(t>>16)+(t&65535); t+=t>>16; return ~t&65535
while 1:
    p,a=s.recvfrom(65535); i=p[(p[0]&15)*4:]
    if i[0]==8:
        d=i[4:8+68]; r=b'\0\0\0\0'+d; s.sendto(b'\0\0'+struct.pack('!H',cs(r))+d,a)
P
sleep .7; at c ping -c 1 -s 1000 $S4 | head -n 2; try mtu $S4 --protocol icmp; try mtu $S4
