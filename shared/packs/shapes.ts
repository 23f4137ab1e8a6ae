/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = 'd7591d9d65742c6632f62379d0a78d75ce9e4495c6f151a6addc6aeecdfb1d28';
