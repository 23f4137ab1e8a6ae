import { createPrivateKey } from 'node:crypto';
import { flushCompileCache } from 'node:module';
import { Pool, type PoolClient } from 'pg';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
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
let statements = 0;
// Who is killed does not write down by itself what was compiled for it.
flushCompileCache();

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  // The signal is delivered before this returns; the loop is for the type checker.
  for (;;);
};

const pool = new Pool({ connectionString: databaseUrl, max: 1, application_name: 'crashing' });
pool.on('connect', (client) => {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const counted = (...args: unknown[]): Promise<unknown> => {
    statements += 1;
    const chosen = statements === Number(nth);
    if (chosen && moment === 'before') die();
    const answer = query(...args);
    // The driver writes at once; a turn of the event loop later the bytes are with the kernel.
    if (chosen) setImmediate(die);
    return answer;
  };
  client.query = counted as PoolClient['query'];
});

const privateKeyPem = createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' });
const signer = createReceiptSigner({ privateKeyPem, did: issuer.did });
await recalculate(
  recalculateDeps(pool, signer, which === 'mended' ? mendedCatalogue() : catalogue),
  receiptId,
);
await pool.end();
process.stdout.write(`${statements}\n`);
