#!/bin/bash
# Source: sivel/speedtest-cli issue 137, zerotier/ZeroTierOne issue 1864, passteque/gluetun issue 1650 (POST hangs, downloads work)
# Reproduction: up more than 1400 vanishes; a plain web server at the far end
# Expected: transfer --size: the upload stalls because full-sized packets up are lost (or points to `pathmeter mtu`); mtu (foreign): up 1400, down 1500
. "${0%/*}/lib.bash"
line; ip -n ${T}c link set e0 gso_max_segs 1
nf r1 <<'N'
table ip f { chain f { type filter hook forward priority 0; iif "c0" meta length > 1400 drop; }; }
N
at s python3 - <<'P' >/dev/null 2>&1 &
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_PUT(s): s.rfile.read(int(s.headers['content-length'])); s.send_response(200); s.send_header('content-length','0'); s.end_headers()
    def do_GET(s): s.send_response(200); s.send_header('content-length','500000'); s.end_headers(); s.wfile.write(b'x'*500000)
http.server.ThreadingHTTPServer(('10.7.3.1',8080),H).serve_forever()
P
sleep 1; try transfer http://$S4:8080/ -n 1 --timeout 8s; try transfer http://$S4:8080/ --size 1MB -n 1 --timeout 8s; try mtu $S4:8080
