#!/bin/bash
# Source: techgenix.com "Slow downloads? Make sure your Window (Scaling) isn't broken", ecr6.ohio-state.edu "Handling TCP Window Scaling" (firewall without window scaling), gene-git/blog pull 5 (MSS 536, the default without the option)
# Reproduction: r1 strips (a) the MSS option, (b) window scale, with a round trip of 40 ms, from all SYNs
# Expected: (a) segments of 536: the MSS option does not arrive, a box removes it; (b) throughput of about 13 Mbit/s: the window stays at 64 kB since window scaling is removed on the path; raising buffers does not help
. "${0%/*}/lib.bash"
line
cat > $W/relay.py <<'P'
import fcntl,struct,os,sys,heapq,time,select,random
mode,arg=sys.argv[1],float(sys.argv[2]); n=0; q=[]
f=os.open('/dev/net/tun',os.O_RDWR|os.O_NONBLOCK); fcntl.ioctl(f,0x400454ca,struct.pack('16sH22s',b't0',0x1001,b''))
def out(p):
    try: os.write(f,p)
    except OSError: pass
while 1:
    now=time.monotonic(); wait=max(0,q[0][0]-now) if q else 1
    if select.select([f],[],[],wait)[0]:
        for _ in range(256):
            try: p=bytearray(os.read(f,65535))
            except BlockingIOError: break
            v4=p[0]>>4==4; h=(p[0]&15)*4 if v4 else 40; proto=p[9] if v4 else p[6]; up=p[14]==1 if v4 else p[11]==1
            if v4: p[8]+=1; c=((p[10]<<8|p[11])-256)%65535; p[10:12]=struct.pack('!H',c)
            else: p[7]+=1
            n+=1
            if mode=='delay': heapq.heappush(q,(time.monotonic()+arg,n,bytes(p))); continue
            if mode=='badsum' and proto==17 and up and len(p)>200 and random.random()<arg: p[h+6]^=0x55
            if mode=='badtcp' and proto==6 and up and len(p)>200 and random.random()<arg: p[h+16]^=0x55
            out(bytes(p))
            if mode=='dup' and up and random.random()<arg: out(bytes(p))
    while q and q[0][0]<=time.monotonic(): out(heapq.heappop(q)[2])
P
relay(){ ip netns exec ${T}r1 python3 $W/relay.py "$@" & RELAY=$!; local i; for i in $(seq 30); do ip -n ${T}r1 link show t0 >/dev/null 2>&1 && break; sleep .1; done
 ip -n ${T}r1 link set t0 mtu 65535 txqueuelen 10000 up; local x; for x in -4 -6; do ip $x -n ${T}r1 route add default dev t0 table 50; ip $x -n ${T}r1 rule add iif c0 table 50; ip $x -n ${T}r1 rule add iif w1 table 50; done; }
nf r2 <<'N'
table inet f { chain f { type filter hook forward priority 0; tcp flags & syn == syn reset tcp option maxseg; }; }
N
serve; echo "(a)"; try mtu $S4; SHOW=30 try throughput $S4 -t 2
nf r2 <<'N'
flush ruleset
table inet f { chain f { type filter hook forward priority 0; tcp flags & syn == syn reset tcp option window; }; }
N
relay delay 0.02; echo "(b)"; SHOW=40 try throughput $S4 -t 4; try measure $S4 --quick
