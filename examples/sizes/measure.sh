#!/bin/sh
# How session.jsonl was measured: awk starts sooner, Python counts faster, so n says which wins.
speedproof run -L n 1000,10000,100000,1000000,5000000 --runs 20 --save session.jsonl \
    -n awk 'awk "BEGIN { for (i = 0; i < {n}; i++) s += i; print s }"' \
    -n python 'python3 -S -c "print(sum(range({n})))"'
