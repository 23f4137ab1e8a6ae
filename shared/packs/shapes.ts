/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = '280f56ae6843a2d103926d57455d50c89c6644b48af6cda02f3c8ff51740d275';
