#!/usr/bin/env bash
# Ends the daemons that start_slurm.sh started with the same FOLDER, and the jobs that they run.
folder=$(cd "$1" && pwd)
[ "$(readlink /etc/slurm/slurm.conf)" = "$folder/slurm.conf" ] || exit 0
timeout 10 scancel --me 2>/dev/null
sleep 2
for pid in "$folder"/slurmctld.pid "$folder"/slurmd.pid "$folder"/munge/munged.pid; do
    [ -f "$pid" ] && kill "$(cat "$pid")" 2>/dev/null
done
sleep 2
rm -f /etc/slurm/{slurm,gres,cgroup}.conf
