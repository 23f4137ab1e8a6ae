/** SHA-256 (hex) of the shapes of receipts (`dev/receipt-shapes.ts` writes them), as every pack has them. */
export const SHAPES_DIGEST = '9320b5f3b312ac4350cfd8bd7e1c82673c394488f25b511e8d9bd1822558a0c3';
