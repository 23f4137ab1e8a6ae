/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = '7bb612ced380f0addb9e8d5e5d58156cda146f97b33d78e82386cc70eeb5f8ec';
