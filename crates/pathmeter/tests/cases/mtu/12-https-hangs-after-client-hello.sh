#!/bin/bash
# Source: passteque/gluetun issue 1989, angelnu/pod-gateway issue 33, microsoft/WSL issue 4517 (curl hangs after Client Hello behind a VPN)
# Reproduction: a plain HTTPS server with a certificate of 6 kB; down more than 1380 vanishes; no pathmeter there
# Expected: transfer says that the server's large packets do not arrive (TLS handshake stalls), or points to `pathmeter mtu`; mtu (foreign) finds down 1380 and up 1500, without blaming up
. "${0%/*}/lib.bash"
line; ip -n ${T}s link set e0 gso_max_segs 1
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; iif "w1" meta length > 1380 drop; }; }
N
openssl req -x509 -newkey rsa:4096 -nodes -keyout $W/k.pem -out $W/c.pem -days 2 -subj /CN=far -addext "subjectAltName=IP:$S4$(for i in $(seq 150); do printf ',DNS:host%d.far.example.org' $i; done)" 2>/dev/null
at s python3 - $W <<'P' >/dev/null 2>&1 &
import http.server,ssl,sys
h=http.server.ThreadingHTTPServer(('10.7.3.1',443),http.server.SimpleHTTPRequestHandler)
c=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain(sys.argv[1]+'/c.pem',sys.argv[1]+'/k.pem'); h.socket=c.wrap_socket(h.socket,server_side=True,do_handshake_on_connect=False); h.serve_forever()
P
sleep 1.5; try transfer https://$S4/ --insecure -n 1 --timeout 8s; try mtu $S4:443; try mtu $S4 --protocol tcp
