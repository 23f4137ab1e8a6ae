/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = 'f4d1bef0a0124bbaf5740dde1cf67ade3201038d9a5a0df09a2e0ee438d9c742';
