import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { RECEIPT_BYTES_MAX, type MeasurementDocument } from '#shared/receipts/document.ts';
import {
  derivationDigest,
  type Derivations,
  parseDerivation,
} from '#shared/receipts/derivation.ts';
import type { NamedDerivation } from './verify/judge-receipt.ts';
import { readInput } from './input.ts';
import { utf8 } from './utf8.ts';

/**
 * The record that a receipt names: in the file that was given, else under its digest beside the receipt. Undefined when
 * the receipt names none, or it is not there: nothing is fetched.
 * @throws MalformedData when the file holds another record
 */
export async function findDerivation(
  measurement: MeasurementDocument | undefined,
  receiptFile: string,
  given: string | undefined,
): Promise<NamedDerivation | undefined> {
  const digest = measurement && derivationDigest(measurement);
  if (digest === undefined) return undefined;
  const file = given ?? join(receiptFile === '-' ? '.' : dirname(receiptFile), `${digest}.json`);
  if (given === undefined && !existsSync(file)) return undefined;
  const bytes = await readInput(file, RECEIPT_BYTES_MAX);
  try {
    return { file, document: parseDerivation(utf8(bytes), digest) };
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    throw new MalformedData(error.code, file, error.message);
  }
}

/** Finds this record, and no other. */
export function onlyDerivation(
  measurement: MeasurementDocument,
  found: NamedDerivation | undefined,
): Derivations {
  return (digest) => (digest === derivationDigest(measurement) ? found?.document : undefined);
}
