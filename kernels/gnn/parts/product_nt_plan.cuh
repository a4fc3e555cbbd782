/* hone-plan
{ "launches": [
    { "kernel": "product_wide", "grid": ["min(132, cdiv(M, 64)*cdiv(K, 64))"], "block": [384], "smem": "131072 + 16384*kRowStages + 1024",
      "when": "N >= 32 && N % 4 == 0 && K % 2 == 0 && min(alignof(dy), alignof(w)) >= 16 && alignof(dx) >= 8 && WGMMA == 1 && K <= 1024 && N <= 128",
      "args": ["rows", "dy", "w", "dx", "M", "N", "K", "ADD", "0"] },
    { "kernel": "product_deep", "grid": ["min(132, cdiv(M, 64)*cdiv(K, 64))"], "block": [384], "smem": "131072 + 16384*kRowStages + 1024",
      "when": "N >= 32 && N % 4 == 0 && K % 2 == 0 && min(alignof(dy), alignof(w)) >= 16 && alignof(dx) >= 8 && WGMMA == 1 && K <= 1024 && N > 128 && N <= 256",
      "args": ["rows", "dy", "w", "dx", "M", "N", "K", "ADD", "0"] },
    { "kernel": "product_vec", "grid": ["cdiv(K, 64)", "min(cdiv(M, 128), 65535)"], "block": [128], "smem": 61440,
      "when": "N >= 32 && N % 4 == 0 && K % 2 == 0 && min(alignof(dy), alignof(w)) >= 16 && alignof(dx) >= 8 && !(WGMMA == 1 && K <= 1024 && N <= 256)", "args": ["dy", "w", "dx", "M", "N", "K", "ADD", "0"] },
    { "kernel": "product_any", "grid": ["cdiv(K, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
      "when": "!(N >= 32 && N % 4 == 0 && K % 2 == 0 && min(alignof(dy), alignof(w)) >= 16 && alignof(dx) >= 8)", "args": ["dy", "w", "dx", "M", "N", "K", "ADD", "0"] } ],
  "tensormaps": { "rows": { "tensor": "dy", "box": [32, 64], "swizzle": "128B", "l2promo": "128B" } } }
*/
