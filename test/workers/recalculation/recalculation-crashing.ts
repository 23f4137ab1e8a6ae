import { createPrivateKey } from 'node:crypto';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { crashingPool } from '#test/support/crashing-pool.ts';
import { catalogue, issuer, mendedCatalogue } from '#test/support/issuing.ts';
import { recalculateDeps } from '#test/support/recalculating.ts';

/**
 * A recalculation worker that dies by SIGKILL at its n-th statement: `before` it is sent, or once it is `sent` and
 * no process waits for the answer. Run as: recalculation-crashing.ts <database url> <receipt id> <catalogue: mended|plain>
 * <n> <before|sent>, with the signing key on standard input. Prints how many statements a whole run has.
 */
const [databaseUrl = '', receiptId = '', which = '', nth = '', moment = ''] = process.argv.slice(2);
let pem = '';
for await (const chunk of process.stdin) pem += String(chunk);
const { pool, statements } = crashingPool(databaseUrl, { nth: Number(nth), moment });
const privateKeyPem = createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' });
const signer = createReceiptSigner({ privateKeyPem, did: issuer.did });
await recalculate(
  recalculateDeps(pool, signer, which === 'mended' ? mendedCatalogue() : catalogue),
  receiptId,
);
await pool.end();
process.stdout.write(`${statements()}\n`);
