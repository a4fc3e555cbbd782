/* hone-plan
{ "launches": [
    { "kernel": "product_vec", "grid": ["cdiv(N, 64)", "cdiv(K, 128)", "min(128, cdiv(M, 256))"], "block": [128], "smem": 53248,
      "when": "M >= 32 && N % 4 == 0 && K % 4 == 0 && min(alignof(x), alignof(dy)) >= 16", "args": ["x", "dy", "partial", "M", "N", "K"] },
    { "kernel": "product_any", "grid": ["cdiv(N, 64)", "cdiv(K, 64)", "min(128, cdiv(M, 256))"], "block": [256],
      "when": "!(M >= 32 && N % 4 == 0 && K % 4 == 0 && min(alignof(x), alignof(dy)) >= 16)", "args": ["x", "dy", "partial", "M", "N", "K"] },
    { "kernel": "add_parts", "grid": ["cdiv(K*N, 256)"], "block": [256],
      "args": ["x", "dy", "partial", "dw", "M", "N", "K", "min(128, cdiv(M, 256))"] } ],
  "workspace": { "partial": { "bytes": "4*K*N*min(128, cdiv(M, 256))", "init": "none" } } }
*/
