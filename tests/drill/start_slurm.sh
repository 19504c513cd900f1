#!/usr/bin/env bash
# Starts a Slurm of one node on this machine, as root: start_slurm.sh FOLDER. Limits on memory are enforced, the GPU is pretended, and there is
# no accounting. All that it writes lies in FOLDER; stop_slurm.sh ends what it started. Exits with 3 where Slurm cannot be had.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
give_up() {
    echo "no Slurm: $1"
    exit 3
}

[ "$(id -u)" = 0 ] || give_up "it is installed and started as root"
if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
    command -v apt-get >/dev/null || give_up "there is no apt-get to install it with"
    export DEBIAN_FRONTEND=noninteractive
    { timeout 90 apt-get update -qq && timeout 240 apt-get install -y -qq --no-install-recommends slurm-wlm munge; } >"$folder/apt.log" 2>&1 ||
        give_up "the packages slurm-wlm and munge cannot be installed ($folder/apt.log)"
fi
# Jobs are given no SLURM_CONF by Snakemake's plugin, so the configuration stands where Slurm looks by itself.
if [ -e /etc/slurm/slurm.conf ] && [ ! -L /etc/slurm/slurm.conf ]; then give_up "/etc/slurm/slurm.conf is of another Slurm"; fi
for name in munged slurmctld slurmd; do
    ! pgrep -x "$name" >/dev/null || give_up "a $name runs here already"
done

host=$(hostname -s)
cores=$(nproc --all)
megabytes=$(awk '/^MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
# The groups are mounted where they are not; version 1 where it is there, since version 2 wants systemd.
limits=no
if grep -q "cgroup.*memory" /proc/mounts && [ -w /sys/fs/cgroup/memory ]; then limits=yes; fi

rm -rf "$folder"/{munge,state,spool,log}
mkdir -p "$folder"/{munge,state,spool,log}
head -c 1024 /dev/urandom >"$folder/munge/munge.key"
chmod 755 "$folder"/munge
chmod 600 "$folder"/munge/munge.key

cat >"$folder/slurm.conf" <<C
ClusterName=drill
SlurmctldHost=$host
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CredType=cred/munge
ProctrackType=$([ $limits = yes ] && echo proctrack/cgroup || echo proctrack/linuxproc)
TaskPlugin=$([ $limits = yes ] && echo task/cgroup || echo task/none)
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,bf_interval=2,sched_min_interval=10000
ReturnToService=2
MinJobAge=3600
KillWait=5
SlurmdTimeout=30
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.log
MpiDefault=pmi2
GresTypes=gpu
NodeName=$host CPUs=$cores RealMemory=$megabytes Gres=gpu:pretended:1 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
C
echo "NodeName=$host Name=gpu Type=pretended File=/dev/null" >"$folder/gres.conf"
cat >"$folder/cgroup.conf" <<C
CgroupPlugin=cgroup/v1
CgroupAutomount=no
ConstrainRAMSpace=$limits
ConstrainSwapSpace=no
C

/usr/sbin/munged --force --key-file="$folder/munge/munge.key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/munged.pid" --log-file="$folder/munge/munged.log" --seed-file="$folder/munge/munged.seed"
mkdir -p /etc/slurm
ln -sf "$folder"/{slurm,gres,cgroup}.conf /etc/slurm/
slurmctld
slurmd
for _ in $(seq 60); do
    if [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]; then
        echo "Slurm $(sinfo --version | cut -d' ' -f2) runs: $cores cores, $megabytes MB, limits on memory enforced: $limits"
        exit 0
    fi
    sleep 0.5
done
cat "$folder"/log/*.log >&2
give_up "its daemons did not come up"
