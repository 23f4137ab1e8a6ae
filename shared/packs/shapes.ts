/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = 'b5b94f86e753052d56b8caa477382a3ec85a2c670aa4a308d47e5eb0f454d66a';
