#!/bin/sh
# Makes a Job of Kubernetes of one of Snakemake's and prints its name: submit.sh THREADS MEGABYTES MINUTES GPUS SCRIPT
set -eu
# The lines to edit: an image with the Python of the environment, and a claim (ReadWriteMany) on the volume that all pods mount at MOUNT.
IMAGE=${SHALLOWS_IMAGE:-python:3.11}
CLAIM=${SHALLOWS_CLAIM:-shallows}
MOUNT=${SHALLOWS_MOUNT:-/shallows}

threads=$1 megabytes=$2 minutes=$3 gpus=$4 script=$5
# Snakemake's script goes with its job: it lies in a folder that Snakemake removes, and maybe in none that the volume has.
words=$(base64 <"$script" | tr -d '\n')
case $gpus in 0 | "") cards= ;; *) cards=", nvidia.com/gpu: $gpus" ;; esac

kubectl create --filename=- --output=name <<MANIFEST
apiVersion: batch/v1
kind: Job
metadata:
  generateName: shallows-
  labels: {app: shallows}
spec:
  backoffLimit: 0
  activeDeadlineSeconds: $((minutes * 60))
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels: {app: shallows}
    spec:
      restartPolicy: Never
      containers:
        - name: job
          image: $IMAGE
          workingDir: $PWD
          command: [sh, -c, "echo $words | base64 -d | sh"]
          resources:
            requests: {cpu: $threads, memory: ${megabytes}M$cards}
            limits: {memory: ${megabytes}M$cards}
          volumeMounts: [{name: shared, mountPath: $MOUNT}]
      volumes: [{name: shared, persistentVolumeClaim: {claimName: $CLAIM}}]
MANIFEST
