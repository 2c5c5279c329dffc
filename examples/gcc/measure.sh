#!/bin/sh
# How O2.json and O3.json were made: gcc 12.2.0 (Debian), hyperfine 1.15.0, on one core of a virtual machine that
# was busy with other things, which is why some means are undecided: `chrt -f 50 taskset -c 1 ./measure.sh`. It is the
# second measurement; the first, without chrt and taskset, was noisier still (deviations of up to 38 % in most programs).
# Run it in this folder to measure your own compiler; it takes about a minute.
set -eu
for level in O2 O3; do
    mkdir -p build/$level
    set --
    for source in src/*.c; do
        name=$(basename "$source" .c)
        gcc -$level -o "build/$level/$name" "$source"
        set -- "$@" --command-name "$name" "build/$level/$name"
    done
    hyperfine -N --warmup 3 --runs 40 --export-json $level.json "$@"
done
