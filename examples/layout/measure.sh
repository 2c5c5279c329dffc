#!/bin/sh
# How session.jsonl was measured: forty builds of either revision, each linked in another order. The new revision
# keeps the table between the arrays.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"
git init -q
cp "$here"/*.c .
git add . && git commit -qm old && git tag old
cat first.c table.c second.c > arrays.c && rm first.c table.c second.c
git add -A && git commit -qm new && git tag new
speedproof run --revisions old new --builds 40 --runs 3 --metric 'arrays-in-a-set=([0-9]+) arrays' \
    --build 'yes {seed} | head -c 99 > seed; cc -O2 $(ls *.c | sort -R --random-source=seed) -o bench' \
    --save "$here/session.jsonl" -- ./bench
