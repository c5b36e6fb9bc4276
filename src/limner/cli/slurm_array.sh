#!/bin/bash
#SBATCH --job-name=limner
#SBATCH --array=1-8
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@180
#SBATCH --output=limner-%A_%a.log

# One run in parts, where the machines share a file system but no database.
# Change the lines up to "Your run", then:
#   job=$(sbatch --parsable limner-array.sh)
#   sbatch --dependency=afterany:$job --wrap "bash limner-array.sh merge"
# To resume, do the same again: what is stored is not drawn, marked or paid again.
# Keys come from the environment of the job.

SHARDS=8                                # as many as --array has
STORES=${STORES:-$PWD/limner-shards}    # on the shared file system
TARGET=${TARGET:-$PWD/limner-store}     # where all of it is brought together
SCRATCH=${SLURM_TMPDIR:-${TMPDIR:-/tmp}}  # a disk of the machine's own: SQLite is not safe on a network file system

# Your run. The budget is for each shard: all of them together may spend SHARDS times as much.
RUN=(limner run genexam --data "$PWD/data" --painter openai/gpt-image-2 --judge openai/gpt-6-sol --budget 5)

# From here on nothing needs to be changed.
set -uo pipefail

merge() {
    limner merge "$TARGET" "$STORES"/shard-*
}

save() { # Whole or not at all: a copy that was cut off is never taken for the store.
    rm -rf "$new" "$old" && cp -a "$local" "$new" || return 1
    if [ -d "$kept" ]; then mv "$kept" "$old" || return 1; fi
    mv "$new" "$kept" && rm -rf "$old" "$local"
}

shard() {
    local=$SCRATCH/limner-${SLURM_JOB_ID:-$$}-$1 kept=$STORES/shard-$1 new=$STORES/new-$1 old=$STORES/old-$1
    mkdir -p "$STORES" "$SCRATCH"
    if [ ! -d "$kept" ] && [ -d "$old" ]; then mv "$new" "$kept"; fi # ended within save, when the copy was whole
    if [ -d "$kept" ]; then cp -a "$kept" "$local" || exit 1; fi
    "${RUN[@]}" --store "$local" --shard "$1/$SHARDS" &
    child=$!
    trap 'signalled=1; echo "asked to stop: what is in flight is finished and stored"; kill -TERM "$child"' TERM INT
    signalled=1
    while [ "$signalled" ]; do
        signalled=
        wait "$child"
        code=$?
    done
    if [ -d "$local" ]; then save || exit 1; fi
    exit "$code"
}

if [ "${1:-}" = merge ]; then
    merge
else
    shard "${SLURM_ARRAY_TASK_ID:?is set by sbatch --array}"
fi
