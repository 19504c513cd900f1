#!/bin/sh
# Says how a Job of Kubernetes stands, in Snakemake's words: status.sh NAME
conditions=$(kubectl get "$1" --output='jsonpath={.status.conditions[?(@.status=="True")].type}') || exit 1
case " $conditions " in
*" Complete "*) echo success ;;
*" Failed "*) echo failed ;;
*) echo running ;;
esac
