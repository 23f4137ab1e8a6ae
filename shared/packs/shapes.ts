/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = '96c457ebbc5155f85cc7df7349f53037a63df0909ff7aae285db91443b4cd835';
