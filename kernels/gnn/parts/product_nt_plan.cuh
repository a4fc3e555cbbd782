/* hone-plan
{ "launches": [
    { "kernel": "product_vec", "grid": ["cdiv(K, 64)", "min(cdiv(M, 128), 65535)"], "block": [128], "smem": 61440,
      "when": "N >= 32 && N % 4 == 0 && K % 2 == 0 && min(alignof(dy), alignof(w)) >= 16 && alignof(dx) >= 8", "args": ["dy", "w", "dx", "M", "N", "K", "ADD"] },
    { "kernel": "product_any", "grid": ["cdiv(K, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
      "when": "!(N >= 32 && N % 4 == 0 && K % 2 == 0 && min(alignof(dy), alignof(w)) >= 16 && alignof(dx) >= 8)", "args": ["dy", "w", "dx", "M", "N", "K", "ADD"] } ] }
*/
