#!/bin/bash
# Source: poseidon/typhoon issue 240 (IPIP on 9001: 8981), mysticaltech/terraform-hcloud-kube-hetzner issue 2286 (1450: WireGuard and VXLAN: 1320), flannel-io/flannel issue 1171, contiv/netplugin pull 1132 (1460: VXLAN 1410)
# Reproduction: clean paths of 9001, 1460, 1450 and 1492; `--encap` asked for each
# Expected: ipip on 9001: 8981; vxlan on 1460: 1410; wireguard on 1492 over IPv4: 1432 (over IPv6 1412), on 1450: 1390 (v4); wireguard with vxlan in it on 1450 over IPv4: 1340 (Cilium counts 80 for WireGuard: 1320)
. "${0%/*}/lib.bash"
line 9001; serve; for m in 9001 1460 1450 1492; do ip -n ${T}r1 link set w1 mtu $m; ip -n ${T}r2 link set w2 mtu $m; for e in ipip vxlan wireguard wireguard,vxlan esp geneve; do printf '%s %s: ' $m $e; at c "$PM" mtu $S4 --encap $e 2>&1 | grep -iE 'tunnel|unknown|error' | head -n 2 | tr '\n' ' '; echo; done; done
