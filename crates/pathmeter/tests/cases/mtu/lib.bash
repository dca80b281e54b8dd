# Network namespaces for the cases of this folder, removed at the end; `PATHMETER` names the program. A case that sources this prints its
# own first lines.
set -u; export LC_ALL=C; PM=${PATHMETER:-pathmeter}; T=mc$$; W=$(mktemp -d); NS=""
S4=10.7.3.1; S6=fd07:3::1

# Ends the programs in the namespaces, and removes these.
remove() {
    trap - EXIT
    local n
    for n in $NS; do kill $(ip netns pids $T$n) 2>/dev/null; done
    wait 2>/dev/null
    for n in $NS; do ip netns del $T$n; rm -rf /etc/netns/$T$n; done
    rm -rf "$W"
}
trap remove EXIT
trap 'exit 130' INT TERM

# at NAMESPACE COMMAND…: runs it there.
at() { local n=$1; shift; ip netns exec $T$n "$@"; }

# ns NAME…: makes namespaces.
ns() {
    local n
    for n; do
        ip netns add $T$n; NS="$NS $n"
        ip -n $T$n link set lo up
        at $n sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
    done
}

# fwd NAME…: lets them forward.
fwd() { local n; for n; do at $n sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; done; }

# wire NAMESPACE INTERFACE NAMESPACE INTERFACE [MTU]: a cable between two.
wire() {
    ip link add $2 netns $T$1 mtu ${5:-1500} type veth peer name $4 netns $T$3 mtu ${5:-1500}
    ip -n $T$1 link set $2 up
    ip -n $T$3 link set $4 up
}

# addr NAMESPACE INTERFACE NET.HOST: the addresses 10.7.NET.HOST and fd07:NET::HOST.
addr() {
    ip -n $T$1 addr add 10.7.$3/24 dev $2
    local a=${3%.*} b=${3#*.}
    ip -n $T$1 addr add fd07:$a::$b/64 dev $2 nodad
}

# via NAMESPACE PREFIX GATEWAY [OPTION…]: a route.
via() { ip -n $T$1 route replace $2 via $3 ${@:4}; }

# line [MTU]: c -10.7.1- r1 -10.7.2- r2 -10.7.3- s
line() {
    ns c r1 r2 s; fwd r1 r2
    wire c e0 r1 c0 ${1:-1500}; wire r1 w1 r2 w2 ${1:-1500}; wire r2 s0 s e0 ${1:-1500}
    addr c e0 1.1; addr r1 c0 1.2; addr r1 w1 2.1; addr r2 w2 2.2; addr r2 s0 3.2; addr s e0 3.1
    via c default 10.7.1.2; via s default 10.7.3.2; via r1 10.7.3.0/24 10.7.2.2; via r2 10.7.1.0/24 10.7.2.1
    via c default fd07:1::2; via s default fd07:3::2; via r1 fd07:3::/64 fd07:2::2; via r2 fd07:1::/64 fd07:2::1
}

# nf NAMESPACE: loads rules from stdin.
nf() { local n=$1; at $n nft -f -; }

# serve [NAMESPACE [OPTION…]]: a server, which listens when this returns.
serve() {
    at ${1:-s} "$PM" serve ${@:2} >$W/serve.txt 2>&1 &
    local i
    for i in $(seq 50); do at ${1:-s} ss -ltn | grep -q :5210 && return; sleep .1; done
    echo "serve did not start"; cat $W/serve.txt
}

# try ARGUMENT…: the program at c, the first lines of its output, its exit code and its time.
try() {
    echo "\$ pathmeter $*"
    local began=$EPOCHREALTIME rc
    timeout -s INT ${LIMIT:-90} ip netns exec $T${FROM:-c} "$PM" "$@" >$W/out 2>$W/err
    rc=$?
    head -n ${SHOW:-40} $W/out
    [ -s $W/err ] && { echo "  (stderr:)"; head -n 24 $W/err; }
    echo "  [exit $rc, $(awk "BEGIN{printf \"%.1f\", $EPOCHREALTIME-$began}") s]"
    echo
}

sed -n '2,4s/^# //p' "$0"; echo
