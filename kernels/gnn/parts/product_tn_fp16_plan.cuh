/* hone-plan
{ "launches": [
    { "kernel": "product_sum", "grid": ["cdiv(N, 128)", "(1 + PAIR)*cdiv(K, 128)", "WGMMA == 1 ? max(1, min(132/((1 + PAIR)*cdiv(K, 128)*cdiv(N, 128)), cdiv(M, 256))) : min(128, cdiv(M, 256))"], "block": [384], "smem": "40960*kSumStages + 1024",
      "when": "M >= 32 && N % 4 == 0 && K % 4 == 0 && min(min(alignof(x), alignof(u)), alignof(dy)) >= 16 && WGMMA == 1", "args": ["map_x", "map_u", "map_dy", "partial", "M", "N", "K", "PAIR", "SHIFT"] },
    { "kernel": "product_vec", "grid": ["cdiv(N, 64)", "(1 + PAIR)*cdiv(K, 128)", "WGMMA == 1 ? max(1, min(132/((1 + PAIR)*cdiv(K, 128)*cdiv(N, 128)), cdiv(M, 256))) : min(128, cdiv(M, 256))"], "block": [128], "smem": 53248,
      "when": "M >= 32 && N % 4 == 0 && K % 4 == 0 && min(min(alignof(x), alignof(u)), alignof(dy)) >= 16 && WGMMA == 0", "args": ["x", "u", "dy", "partial", "M", "N", "K", "PAIR", "SHIFT"] },
    { "kernel": "product_any", "grid": ["cdiv(N, 64)", "(1 + PAIR)*cdiv(K, 64)", "WGMMA == 1 ? max(1, min(132/((1 + PAIR)*cdiv(K, 128)*cdiv(N, 128)), cdiv(M, 256))) : min(128, cdiv(M, 256))"], "block": [256],
      "when": "!(M >= 32 && N % 4 == 0 && K % 4 == 0 && min(min(alignof(x), alignof(u)), alignof(dy)) >= 16)", "args": ["x", "u", "dy", "partial", "M", "N", "K", "PAIR", "SHIFT"] },
    { "kernel": "add_parts", "grid": ["cdiv((1 + PAIR)*K*N, 256)"], "block": [256],
      "args": ["x", "u", "dy", "partial", "dw", "M", "N", "K", "PAIR", "WGMMA == 1 ? max(1, min(132/((1 + PAIR)*cdiv(K, 128)*cdiv(N, 128)), cdiv(M, 256))) : min(128, cdiv(M, 256))", "SHIFT"] } ],
  "tensormaps": { "map_x": { "tensor": "x", "box": [32, 32], "swizzle": "128B", "l2promo": "128B" },
                  "map_u": { "tensor": "u", "box": [32, 32], "swizzle": "128B", "l2promo": "128B" },
                  "map_dy": { "tensor": "dy", "box": [32, 32], "swizzle": "128B", "l2promo": "128B" } },
  "workspace": { "partial": { "bytes": "4*(1 + PAIR)*K*N*(WGMMA == 1 ? max(1, min(132/((1 + PAIR)*cdiv(K, 128)*cdiv(N, 128)), cdiv(M, 256))) : min(128, cdiv(M, 256)))", "init": "none" } } }
*/
