/* hone-plan
{ "launches": [
    { "kernel": "product_wide", "grid": ["min(132, cdiv(M, 64)*cdiv(N, 64))"], "block": [384], "smem": "131072 + 16384*kRowStages + 1024",
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(min(alignof(x), alignof(w)), min(alignof(u), alignof(v))), alignof(y)) >= 16 && WGMMA == 1 && N <= 1024 && (1 + PAIR)*cdiv(K, 32) <= 4",
      "args": ["rows_x", "rows_u", "x", "w", "u", "v", "bias", "node", "y", "M", "N", "K",
               "PAIR", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO", "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_deep", "grid": ["min(132, cdiv(M, 64)*cdiv(N, 64))"], "block": [384], "smem": "131072 + 16384*kRowStages + 1024",
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(min(alignof(x), alignof(w)), min(alignof(u), alignof(v))), alignof(y)) >= 16 && WGMMA == 1 && N <= 1024 && (1 + PAIR)*cdiv(K, 32) > 4 && (1 + PAIR)*cdiv(K, 32) <= 16",
      "args": ["rows_x", "rows_u", "x", "w", "u", "v", "bias", "node", "y", "M", "N", "K",
               "PAIR", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO", "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_vec", "grid": ["cdiv(N, 64)", "min(cdiv(M, 128), 65535)"], "block": [128], "smem": 59392,
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(min(alignof(x), alignof(w)), min(alignof(u), alignof(v))), alignof(y)) >= 16 && !(WGMMA == 1 && N <= 1024 && (1 + PAIR)*cdiv(K, 32) <= 16)",
      "args": ["x", "w", "u", "v", "bias", "node", "y", "M", "N", "K",
               "PAIR", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO", "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_any", "grid": ["cdiv(N, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
      "when": "!(K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(min(alignof(x), alignof(w)), min(alignof(u), alignof(v))), alignof(y)) >= 16)",
      "args": ["x", "w", "u", "v", "bias", "node", "y", "M", "N", "K",
               "PAIR", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO", "SEED_HI", "STEP", "PLACE"] } ],
  "tensormaps": { "rows_x": { "tensor": "x", "box": [32, 64], "swizzle": "128B", "l2promo": "128B" },
                  "rows_u": { "tensor": "u", "box": [32, 64], "swizzle": "128B", "l2promo": "128B" } } }
*/
