#!/usr/bin/env bash
# The simulated cluster of t/unit/cluster.c in full: SEEDS (200) seeds, BUNDLES (100000) bundles,
# WORKERS (1000) workers, from seed FIRST (1) on. About half a minute for each seed.
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
MODE=${MODE:-release}
make -s -C "$ROOT" "build/$MODE/t/cluster" || exit 1
CLUSTER="${SEEDS:-200} ${BUNDLES:-100000} ${WORKERS:-1000} ${FIRST:-1}" exec "$ROOT/build/$MODE/t/cluster"
