#!/usr/bin/env bash
# hone-gnn makes and imports datasets, samples from them, and refuses damaged files.
. "$(dirname "$0")/lib.sh"
GNN=${GNN:-$(dirname "$HONE")/hone-gnn}

for c in make import inspect sample bench; do
    runs 0 "hone-gnn $c --help exits with 0" "$GNN" $c --help
    out_has "hone-gnn $c --help has an example" "hone-gnn $c"
done
runs 2 "an unknown command is a usage error" "$GNN" smaple x
err_has "the message suggests the nearest command" "did you mean 'hone-gnn sample'"

# ---- datasets --------------------------------------------------------------------------------
runs 0 "make debian writes a dataset" "$GNN" make debian deb
out_has "the dataset of make debian has all packages" "62662 nodes, 579298 directed edges, 256 features, 58 classes"
runs 0 "make blocks writes a dataset" "$GNN" make blocks -n 1000 -e 8000 --dim 8 blocks
runs 0 "make rmat writes a dataset" "$GNN" make rmat -n 1000 -e 8000 --dim 4 --type float32 --no-isolated rmat
runs 0 "make rmat with little memory writes a dataset" \
    "$GNN" make rmat -n 1000 -e 8000 --dim 4 --type float32 --no-isolated --memory 64K rmat2
is "make rmat gives the same dataset with little memory" \
    "$(grep xxh64 rmat/manifest.json)" "$(grep xxh64 rmat2/manifest.json)"
runs 0 "inspect --edges reads a dataset" "$GNN" inspect --edges --json rmat
out_has "--no-isolated leaves no node without neighbours" '"isolated": 0,'
out_has "each edge of rmat has its reverse" '"one_way": 0'
runs 1 "make does not overwrite a dataset" "$GNN" make blocks -n 100 -e 10 rmat
err_has "the message says how to replace a dataset" "give --replace"
runs 0 "--replace overwrites a dataset" "$GNN" make rmat -n 20 -e 30 --replace rmat2
mkdir other && : >other/file
runs 1 "--replace does not overwrite a directory that is no dataset" "$GNN" make rmat -n 20 -e 30 --replace other
ok "the directory that is no dataset keeps its file" test -e other/file

# ---- sampling ----------------------------------------------------------------------------------
digest() { "$GNN" sample --digest --json "$@" | grep '"digest"'; }
one=$(digest -t 1 deb)
is "two threads give the same batches" "$(digest -t 2 deb)" "$one"
is "four threads with a mapped dataset and batches out of order give the same batches" \
    "$(digest -t 4 --slots 6 --no-in-order --data map deb)" "$one"
is "the plain sampler gives the batches of the uniform one" "$(digest --sampler plain deb)" "$one"
ok "another seed gives other batches" test "$(digest -s 2 deb)" != "$one"
runs 0 "sample takes the whole neighbourhood" "$GNN" sample -f all,all blocks
runs 0 "sample draws with replacement" "$GNN" sample --sampler replace blocks
runs 0 "sample draws with LABOR-0" "$GNN" sample --sampler labor -f 5,5 blocks
runs 0 "sample accepts a batch larger than the dataset" "$GNN" sample -b 1000000 blocks
out_has "a batch larger than the dataset is one batch" "1 batches"
runs 2 "fanout 0 is a usage error" "$GNN" sample -f 5,0 blocks
err_has "the message about fanout 0 gives the allowed numbers" "neither a number from 1 to 1024 nor all"
runs 2 "an unknown split is a usage error" "$GNN" sample --split tset blocks
runs 2 "-t 0 is a usage error" "$GNN" sample -t 0 blocks

# ---- arrays ------------------------------------------------------------------------------------
python3 - <<'PY'
import gzip, os, struct, zipfile
def npy(descr, shape, data):
    h = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    h += b" " * ((-len(h) - 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(h)) + h + data
def put(name, data):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "wb").write(gzip.compress(data) if name.endswith("gz") else data)
edges = [(0, 1), (1, 2), (2, 2), (1, 0), (3, 4)]            # a self loop, a duplicate, node 5 isolated
nan = float("nan")
E = npy("<i8", "(2, 5)", struct.pack("<10q", *[e[0] for e in edges], *[e[1] for e in edges]))
X = npy("<f4", "(6, 2)", struct.pack("<12f", *range(12)))
Y = npy("<f4", "(6, 1)", struct.pack("<6f", 0, 1, nan, 2, 1, nan))
put("e.npy", E), put("x.npy", X), put("y.npy", Y)
put("e2.npy", npy("<i4", "(5, 2)", struct.pack("<10i", *[v for e in edges for v in e])))
put("far.npy", npy("<i8", "(1, 2)", struct.pack("<2q", 0, 6)))
put("negative.npy", npy("<i8", "(1, 2)", struct.pack("<2q", 0, -1)))
put("nan.npy", npy("<f4", "(6, 2)", struct.pack("<12f", *[nan] * 12)))
put("infinite.npy", npy("<f4", "(6, 2)", struct.pack("<12f", *[float("inf")] * 12)))
put("mask.npy", npy("|b1", "(6,)", bytes([1, 1, 0, 0, 0, 0])))
put("square.npy", npy("<i8", "(2, 2)", struct.pack("<4q", 0, 1, 2, 3)))
put("square.csv", b"0,1\n2,3\n"), put("columns.csv", b"0,2\n1,3\n")
put("ogb_mag/raw/triplet-type-list.csv.gz", b"author,writes,paper\n")
put("short.npy", X[:-3]), put("none.npy", npy("<i8", "(0, 2)", b""))
put("pickle.npy", npy("|O", "(6, 2)", b"")), put("half.npy", npy("<f4", "(6,)", struct.pack("<6f", *[0.5] * 6)))
put("huge.npy", npy("<f4", "(9223372036854775807, 2)", b""))
put("text.csv", b"0,1\n1,x\n")
for form in "csv", "npz":
    for name, ids in ("train", b"0\n1\n"), ("valid", b"3\n"), ("test", b"4\n"):
        put(f"ogb_{form}/split/time/{name}.csv.gz", ids)
put("ogb_csv/raw/edge.csv.gz", b"".join(b"%d,%d\n" % e for e in edges))
put("ogb_csv/raw/node-feat.csv.gz", b"".join(b"%d,%d\n" % (2 * i, 2 * i + 1) for i in range(6)))
put("ogb_csv/raw/node-label.csv.gz", b"0\n1\nnan\n2\n1\nnan\n")
put("ogb_csv/raw/num-node-list.csv.gz", b"6\n"), put("ogb_csv/raw/num-edge-list.csv.gz", b"5\n")
os.makedirs("ogb_npz/raw")
with zipfile.ZipFile("ogb_npz/raw/data.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("edge_index.npy", E), z.writestr("node_feat.npy", X)
    z.writestr("num_nodes_list.npy", npy("<i8", "(1,)", struct.pack("<q", 6)))
with zipfile.ZipFile("ogb_npz/raw/node-label.npz", "w") as z:
    z.writestr("node_label.npy", Y)
# OGB stores edges as columns. With two edges the array is square, so its shape does not tell columns from rows.
for name, id in ("train", b"0\n"), ("valid", b"1\n"), ("test", b"2\n"):
    put(f"ogb_square/split/time/{name}.csv.gz", id)
os.makedirs("ogb_square/raw")
with zipfile.ZipFile("ogb_square/raw/data.npz", "w") as z:
    z.writestr("edge_index.npy", npy("<i8", "(2, 2)", struct.pack("<4q", 0, 1, 2, 3)))
    z.writestr("node_feat.npy", npy("<f4", "(4, 1)", struct.pack("<4f", *range(4))))
    z.writestr("num_nodes_list.npy", npy("<i8", "(1,)", struct.pack("<q", 4)))
with zipfile.ZipFile("ogb_square/raw/node-label.npz", "w") as z:
    z.writestr("node_label.npy", npy("<i8", "(4, 1)", struct.pack("<4q", 0, 1, 0, 1)))
PY
sums() { grep xxh64 "$1/manifest.json"; }
printf '0\n1\n' >train.csv && printf '3\n' >valid.csv && printf '4\n' >test.csv
runs 0 "import npy writes a dataset" "$GNN" import npy -e e.npy --features x.npy --labels y.npy --train train.csv \
    --valid valid.csv --test test.csv arrays
out_has "import npy leaves out self loops and duplicates" \
    "6 nodes, 6 directed edges (2 duplicates and 1 self loops left out), 2 features, 3 classes"
runs 0 "import npy accepts edges as an array of pairs" \
    "$GNN" import npy -e e2.npy --features x.npy --labels y.npy --train train.csv \
    --valid valid.csv --test test.csv rows
is "edges as pairs give the same dataset" "$(sums rows)" "$(sums arrays)"
for form in csv npz; do
    runs 0 "import ogb reads $form files" "$GNN" import ogb ogb_$form from_$form
    is "import ogb gives the same dataset from $form files" "$(sums from_$form)" "$(sums arrays)"
done
graph() { grep -A2 -E '"(offsets|neighbours)"' "$1/manifest.json" | grep xxh64; }
"$GNN" import ogb ogb_square square_ogb >/dev/null 2>&1
for form in square.npy square.csv columns.csv; do
    "$GNN" import npy -e $form -n 4 "from_$form" >/dev/null 2>&1
done
is "import ogb reads two edges as columns" "$(graph square_ogb)" "$(graph from_columns.csv)"
is "import npy reads a square array of edges as pairs" "$(graph from_square.npy)" "$(graph from_square.csv)"
ok "the two ways to read a square array give different graphs" \
    test "$(graph from_columns.csv)" != "$(graph from_square.csv)"
runs 0 "inspect reads the dataset of import npy" "$GNN" inspect --json arrays
out_has "nodes with a NaN label are unlabelled" '"unlabelled": 2'
runs 0 "sample accepts an isolated node as a seed" "$GNN" sample --split test arrays
refused() { # refused WHAT MESSAGE ARGUMENT...: checks that import npy fails with MESSAGE
    local what=$1 text=$2
    shift 2
    runs 1 "$what is refused" "$GNN" import npy "$@" bad
    err_has "the message about $what gives the reason" "$text"
    ok "$what leaves no dataset" test ! -e bad
}
refused "an id beyond the nodes" "but there are 6 nodes" -e far.npy --features x.npy
refused "a negative id" "ids are from 0" -e negative.npy
refused "a NaN feature" "nan.npy, row 0: " -e e.npy --features nan.npy
refused "an infinite feature" "infinite.npy, row 0: a feature is not finite" -e e.npy --features infinite.npy
refused "a mask in place of ids" "mask.npy: the array is a mask" -e e.npy --features x.npy --train mask.npy
refused "a truncated array" "ends too early" -e e.npy --features short.npy
refused "an array of objects" "not supported" -e e.npy --features pickle.npy
refused "a fraction as a label" "has the label 0.5" -e e.npy --labels half.npy
refused "an absurd shape" "damaged" -e e.npy --features huge.npy
refused "a float as an id" "ids must be integers" -e x.npy
refused "a word in a csv file" "text.csv:2: 'x' is not an integer" -e text.csv
refused "a node in two splits" "valid.csv names node 3, which is in the splits already" \
    -e e.npy --features x.npy --labels y.npy --train train.csv --valid valid.csv --test valid.csv
refused "a file that is not an array" "is not a NumPy array" -e "$ROOT/t/gnn.sh"
refused "an archive without the member" "has no member" -e ogb_npz/raw/data.npz:edges
runs 1 "a heterogeneous dataset of OGB is refused" "$GNN" import ogb ogb_mag bad
err_has "the message about a heterogeneous dataset gives the reason" "several types of nodes or edges"
runs 0 "import npy accepts a graph without edges" "$GNN" import npy -e none.npy -n 3 empty
runs 0 "inspect reads a graph without edges" "$GNN" inspect empty
out_has "all nodes of a graph without edges are isolated" "3, 3 without neighbours"
runs 0 "sample accepts a graph without edges" "$GNN" sample empty

# ---- damage ------------------------------------------------------------------------------------
damage() { # damage WHAT MESSAGE COMMAND: checks that sample refuses a copy of `blocks` that COMMAND changed
    rm -rf copy && cp -r blocks copy && (cd copy && eval "$3")
    runs 1 "$1 is refused" "$GNN" sample copy
    err_has "the message about $1 gives the reason" "$2"
}
flip() { printf '\377' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
reseal() { # reseal FILE: writes the present checksum of FILE into the manifest, as a forger would
    local sum
    sum=$("$GNN" sample . 2>&1 | sed -n 's/.*its checksum is \([0-9a-f]*\), not.*/\1/p')
    python3 - "$1" "$sum" <<'PY'
import json, sys
m = json.load(open("manifest.json"))
m["files"][sys.argv[1]]["xxh64"] = sys.argv[2]
json.dump(m, open("manifest.json", "w"))
PY
}
damage "a truncated file" "truncated or belongs to another dataset" 'truncate -s -1 neighbours.bin'
damage "a longer file" "truncated or belongs to another dataset" 'echo >>features.bin'
damage "a flipped bit" "neighbours.bin is damaged: its checksum" 'flip neighbours.bin 1000'
damage "a missing file" "copy/labels.bin is missing" 'rm labels.bin'
damage "a forged neighbour" "leads to node -" 'flip neighbours.bin 1003; reseal neighbours'
damage "a forged offset" "offsets.bin" 'flip offsets.bin 87; reseal offsets'
damage "a forged label" "has the label -" 'flip labels.bin 11; reseal labels'
damage "a node in two splits" "in the splits twice" \
    'dd if=train.bin of=test.bin bs=4 count=1 conv=notrunc status=none; reseal test'
damage "a broken manifest" "manifest.json:" 'echo "{" >manifest.json'
damage "a manifest with too many nodes" '"nodes" is' 'sed -i "s/\"nodes\": 1000/\"nodes\": 99999999999/" manifest.json'
damage "a manifest with other sizes" "but 1000 nodes" 'sed -i "s/\"edges\": [0-9]*/\"edges\": 7/" manifest.json'
runs 1 "a directory that is no dataset is refused" "$GNN" sample .
err_has "the message says that the directory has no manifest" "has no manifest.json"

# ---- a full disk -------------------------------------------------------------------------------
(ulimit -f 64; trap '' XFSZ; "$GNN" make rmat -n 20000 -e 100000 full) >"$T/out" 2>"$T/err"
is "a file that cannot grow is an error of the machine" $? 3
err_has "the message says that a file cannot be written" "cannot write"
ok "a dataset that cannot be written leaves no files" test -z "$(ls -d full* 2>/dev/null)"
done_testing
