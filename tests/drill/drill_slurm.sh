#!/usr/bin/env bash
# Runs a part of the workflow through profiles/slurm on a Slurm of one node, then again with a disturbance each time, and compares the
# tables with those of the undisturbed run: drill_slurm.sh [FOLDER [DISTURBANCE...]]. As root; exits with 3 where Slurm cannot be had.
# On a busy machine PATIENCE=5 lets all that is waited for take five times as long before it counts as failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
folder=$(mkdir -p "${1:-$project/.slurm-drill}" && cd "${1:-$project/.slurm-drill}" && pwd)
[ $# = 0 ] || shift
wanted=("$@")
bin=${BIN:-$project/.venv/bin}
patience=${PATIENCE:-1}
export OMP_NUM_THREADS=1 PYTHONPATH=$project/src:$here
work=$folder/work
rm -rf "$work"
mkdir -p "$work"

"$bin/python" -c "import snakemake_executor_plugin_slurm" 2>/dev/null || {
    echo 'no Slurm: the extra "cluster" is not installed (.venv/bin/pip install -e ".[cluster]")'
    exit 3
}
"$here/start_slurm.sh" "$folder" || exit $?
trap '"$here/stop_slurm.sh" "$folder"' EXIT

failed=0

# run WORD...: the workflow, with results in a folder of the name at hand; what it says goes to NAME.log.
run() {
    timeout $((900 * patience)) "$bin/snakemake" "$@" --snakefile "$project/Snakefile" --directory "$work" --profile "$project/profiles/slurm" \
        --quiet rules "${options[@]}" --config configuration="$here/config" results="$name" data=data checkpoint_seconds=2 "${settings[@]}" \
        >>"$folder/$name.log" 2>&1
}

# the jobs of Slurm in a state, one number a line
jobs() { squeue --noheader --states="$1" --format=%i; }

# until COMMAND...: wait for it to succeed, for at most five minutes
until_() {
    for _ in $(seq $((600 * patience))); do
        "$@" && return 0
        sleep 0.5
    done
    echo "    waited in vain: $*"
    return 1
}
job_runs() { [ -n "$(jobs RUNNING)" ]; }
none_runs() { [ -z "$(jobs RUNNING,PENDING,COMPLETING)" ]; }
training_runs() { pgrep -f "$work/.snakemake/scripts/.*train.py" >/dev/null; }
said() { grep -rqsE "$1" "$folder/$name.log" "$work/.snakemake/slurm_logs" "$work/$name"; }

# same FILE: a file of this run and of the undisturbed one, without seconds and without the folders' names
same() {
    local columns=1,2,4- # of a curve: all but the seconds
    [[ $1 = *curve.csv ]] || columns=1-
    diff -q <(sed "s,$name/demo,,g" "$work/$name/demo/$1" | cut -d, -f"$columns") \
        <(sed "s,undisturbed/demo,,g" "$work/undisturbed/demo/$1" | cut -d, -f"$columns") >/dev/null 2>&1
}

# judge WHAT CONDITION...: curves and tables are those of the undisturbed run, bit for bit; further conditions hold.
judge() {
    local what=$1 outcome=ok n=0 file condition
    shift
    for file in $(cd "$work/$name/demo" 2>/dev/null && find $compared -name curve.csv) "${targets[@]/#/tables/}"; do
        [[ $file = tables/* ]] && file=$file.csv
        same "$file" || outcome="FAILED: $file differs"
        n=$((n + 1))
    done
    [ $n -gt "${#targets[@]}" ] || [ $compared = tables ] || outcome="FAILED: there are no curves"
    for condition in "$@"; do
        eval "$condition" || outcome="FAILED: not so: $condition"
    done
    [ "$outcome" = ok ] || failed=1
    printf '%-7s %4s s  %s\n' "${outcome%%:*}" $((SECONDS - begun)) "$what${outcome#ok}"
}

begin() {
    name=$1
    begun=$SECONDS
    options=()
    settings=()
    compared=runs
    targets=(drill_steady)
    [ ${#wanted[@]} = 0 ] || [ "$name" = undisturbed ] || [[ " ${wanted[*]} " = *" $name "* ]]
}

begin undisturbed
targets=(drill_batches drill_steady)
[ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" limit "* ]] || targets+=(drill_long)
[ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" ranks "* ]] || targets+=(drill_shared)
run "${targets[@]}" || echo "    exit status $?"
judge "undisturbed: runs, preconditioners and their preparation in few jobs" \
    '[ "$(scontrol show jobs --oneliner | wc -l)" -le 5 ]'
[ $failed = 0 ] || { tail -n 20 "$folder/$name.log"; echo "Without this run there is nothing to compare with. The logs: $folder"; exit 1; }

begin failure && {
    mv "$work/data/prepared/mnist_demo/unit/x_train.npy" "$work/kept"
    echo torn >"$work/data/prepared/mnist_demo/unit/x_train.npy" # a file that is missing or empty would be waited for
    touch -r "$work/kept" "$work/data/prepared/mnist_demo/unit/x_train.npy"
    run --retries 0 drill_steady && echo "    did not fail"
    mv "$work/kept" "$work/data/prepared/mnist_demo/unit/x_train.npy"
    run drill_steady
    judge "a job that fails: told, and made by the same command once the cause is gone" 'said "x_train.npy"'
}

begin cancelled && {
    run drill_steady &
    until_ training_runs && scancel $(jobs RUNNING)
    wait $!
    judge "a job that is cancelled: sent again" 'said "CANCELLED"'
}

begin drained && {
    scontrol update nodename="$(hostname -s)" state=drain reason=drill
    run drill_steady &
    until_ eval '[ -n "$(jobs PENDING)" ]' && sleep 3 && scontrol update nodename="$(hostname -s)" state=resume
    wait $!
    judge "a node drained and back: the job waits for it"
}

begin controller && {
    run drill_steady &
    until_ job_runs
    kill "$(cat "$folder/slurmctld.pid")" && sleep 8 && slurmctld
    wait $!
    judge "the controller of Slurm stopped and started again"
}

begin killed && {
    run drill_steady 2>/dev/null &
    until_ training_runs
    pkill -KILL -P "$(pgrep -P $!)" # Snakemake is the child of timeout
    wait $! 2>/dev/null
    run drill_steady && echo "    was not locked"
    run drill_steady --unlock
    run drill_steady
    judge "Snakemake killed with SIGKILL: --unlock, and the same command finds what its orphan made" 'said "unlock"'
}

begin limit && {
    targets=(drill_long)
    options=(--set-resources train:runtime=attempt) # on a busy machine a minute is over before the training begins
    run drill_long
    judge "a time limit shorter than the training: queued again by itself, from its checkpoint" \
        'scontrol show jobs --oneliner | grep -q "Restarts=[1-9]"' '[ "$(grep -rhoE "\"resumes\": [0-9]+" "$work/limit" --include=record.json | tail -1)" != "\"resumes\": 0" ]'
}

begin memory && {
    options=(--set-resources "train:mem_mb=attempt * 250")
    run drill_steady
    judge "more memory taken than asked for: told, and sent again with more" 'said "oom.kill|OUT_OF_MEMORY"'
}

begin gpu && {
    options=(--set-resources train:gpu=1)
    run drill_steady
    judge "a GPU asked for" 'scontrol show jobs --oneliner | grep -qE "gres[:/]gpu"'
}

begin ranks && {
    targets=(drill_shared)
    settings=(ranks=2 ranks_seconds=0)
    compared=tables # which have no curves
    run drill_shared
    judge "a training that two processes share, started by srun: the same table, curves but for rounding" \
        'grep -rqs "\"ranks\": 2" "$work/ranks" --include=record.json'
}

[ $failed = 0 ] && echo "All is as in the undisturbed run. The logs: $folder" || { echo "The logs: $folder"; exit 1; }
