/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = 'fceca5a1fd40873bab29d588baf7b5afd75026c5849b4668e794c1e4dc8d751f';
