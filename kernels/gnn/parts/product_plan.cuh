/* hone-plan
{ "launches": [
    { "kernel": "product_wide", "grid": ["min(132, cdiv(M, 64)*cdiv(N, 64))"], "block": [384], "smem": "131072 + 65536 + 1024",
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(alignof(x), alignof(w)), alignof(y)) >= 16 && WGMMA == 1 && N <= 1024 && K <= 128",
      "args": ["rows", "x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
               "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_deep", "grid": ["min(132, cdiv(M, 64)*cdiv(N, 64))"], "block": [384], "smem": "131072 + 65536 + 1024",
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(alignof(x), alignof(w)), alignof(y)) >= 16 && WGMMA == 1 && N <= 1024 && K > 128 && K <= 256",
      "args": ["rows", "x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
               "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_vec", "grid": ["cdiv(N, 64)", "min(cdiv(M, 128), 65535)"], "block": [128], "smem": 59392,
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(alignof(x), alignof(w)), alignof(y)) >= 16 && !(WGMMA == 1 && N <= 1024 && K <= 256)",
      "args": ["x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
               "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_any", "grid": ["cdiv(N, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
      "when": "!(K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(alignof(x), alignof(w)), alignof(y)) >= 16)",
      "args": ["x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
               "SEED_HI", "STEP", "PLACE"] } ],
  "tensormaps": { "rows": { "tensor": "x", "box": [32, 64], "swizzle": "128B", "l2promo": "128B" } } }
*/
