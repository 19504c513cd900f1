#!/usr/bin/env bash
# Ends the daemons that start_slurm.sh started with the same FOLDER, and the jobs that they run.
folder=$(cd "$1" && pwd)
[ "$(readlink /etc/slurm/slurm.conf)" = "$folder/slurm.conf" ] || exit 0
timeout 10 scancel --me 2>/dev/null
for _ in $(seq 20); do
    [ -z "$(timeout 5 squeue --noheader 2>/dev/null)" ] && break
    sleep 0.5
done
pids=()
for file in "$folder"/slurmctld.pid "$folder"/slurmd.pid "$folder"/munge/munged.pid; do
    [ -f "$file" ] && pids+=("$(cat "$file")")
done
kill "${pids[@]}" 2>/dev/null
for _ in $(seq 20); do
    kill -0 "${pids[@]}" 2>/dev/null || break # 1 once none of them is left
    sleep 0.5
done
kill -KILL "${pids[@]}" 2>/dev/null
rm -f /etc/slurm/{slurm,gres,cgroup}.conf
