#!/bin/sh
# How session.jsonl was measured: gzip at two levels on six files, in random order, 30 runs of each.
# inputs.py writes the files.
set -e
python3 "$(dirname "$0")/inputs.py"
speedproof run --name level-6 --name level-5 'gzip -6 -c {FILE}' 'gzip -5 -c {FILE}' \
    -L FILE prose.txt,table.csv,noise.bin,zeros.bin,data.json,code.py \
    --min-runs 30 --max-runs 30 --save session.jsonl
