#!/usr/bin/env bash
# Runs t/torture/gnn_train.sh with kills at 5 points; TIER=rest kills at 50 points.
points=5
case ${TIER:-all} in rest | all) points=50 ;; esac
POINTS=$points exec "$(dirname "$0")/torture/gnn_train.sh"
