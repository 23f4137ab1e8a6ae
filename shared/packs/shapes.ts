/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = 'daf098918612b8a3ae84b338e21c87a1e51361e559155d6e3be0e9a407b27c8c';
