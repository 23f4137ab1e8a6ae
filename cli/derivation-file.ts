import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RECEIPT_BYTES_MAX } from '#shared/receipts/document.ts';
import { type NamedDerivation, namedDerivation } from './verify/judge-receipt.ts';
import { readInput } from './input.ts';

/**
 * The record of this digest: in the file that was given, else under the digest beside the receipt. Undefined when it is not
 * there: nothing is fetched.
 * @throws MalformedData when the file holds another record
 */
export async function findDerivation(
  digest: string,
  receiptFile: string,
  given: string | undefined,
): Promise<NamedDerivation | undefined> {
  const file = given ?? join(receiptFile === '-' ? '.' : dirname(receiptFile), `${digest}.json`);
  if (given === undefined && !existsSync(file)) return undefined;
  return namedDerivation(file, await readInput(file, RECEIPT_BYTES_MAX), digest);
}
