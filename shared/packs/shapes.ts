/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = '1a64554794f5963f10594633f0069b12ace68cb1a8e22fc3826624038eb28901';
