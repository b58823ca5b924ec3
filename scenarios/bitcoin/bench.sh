#!/bin/sh
# bench.sh STAND_IN MILLISECONDS: a Bitcoin node's benchmark program where the variable BENCH_BITCOIN names one (of those
# that have -min-time), and the stand-in otherwise. It takes this process's place.
set -eu
if [ -n "${BENCH_BITCOIN:-}" ]; then
    benchmarks='AssembleBlock|BlockAssemblerAddPackageTxns|BlockToJsonVerboseWrite|BlockToJsonVerbosity[123]'
    benchmarks="$benchmarks|CCoinsCaching|MempoolCheck|MempoolCheckEphemeralSpends|RpcMempool"
    exec "$BENCH_BITCOIN" -filter="$benchmarks" -min-time="$2"
fi
exec "$1" --min-time "$2"
