#!/usr/bin/env bash
# Runs t/torture/gnn_train.sh with 5 points; TIER=rest runs it with 50.
points=5
case ${TIER:-all} in rest | all) points=50 ;; esac
POINTS=$points exec "$(dirname "$0")/torture/gnn_train.sh"
