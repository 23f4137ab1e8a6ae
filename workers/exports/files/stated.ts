import { readFileSync, statSync } from 'node:fs';
import Type from 'typebox';
import { ConfigError } from '#shared/config/config.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { MalformedLedgerText } from '#shared/ledger/notes.ts';
import { parseWitnessPolicy } from '#shared/ledger/witness-policy.ts';
import {
  EVIDENCE,
  EVIDENCE_MAX,
  type Evidence,
  INVENTORY,
  type Inventory,
  isOfItsInput,
  STATED_POLICY,
} from '#shared/packs/report/statement.ts';

/** As many entries of evidence as there may be, with the longest texts. */
const FILE_BYTES_MAX = 4 * 1_048_576;

const listOf = shapeOf(Type.Array(EVIDENCE, { maxItems: EVIDENCE_MAX }));
const inventoryOf = shapeOf(INVENTORY);
const policyOf = shapeOf(STATED_POLICY);

/** The evidence that the operator names for what it declares (EVIDENCE). @throws ConfigError as `readStated` */
export function readEvidence(path: string): Evidence[] {
  return readStated('EVIDENCE', path, 'no list of evidence', (text) => {
    const list = listOf(parseStrictJson(text));
    const odd = list.findIndex((each) => !isShown(each));
    if (odd !== -1) throw new Error(`entry ${odd + 1} has a text that is not what it shows`);
    const bought = list.findIndex((each) => !isOfItsInput(each));
    if (bought !== -1)
      throw new Error(`entry ${bought + 1} says what was bought, and is of no contract`);
    return list;
  });
}

/** What the operator states of its inventory of greenhouse gas (INVENTORY). @throws ConfigError as `readStated` */
export function readInventory(path: string): Inventory {
  return readStated('INVENTORY', path, 'not what is stated of an inventory', (text) => {
    const inventory = inventoryOf(parseStrictJson(text));
    if (!isShown(inventory)) throw new Error('a text in it is not what it shows');
    return inventory;
  });
}

/** The operator's own policy of witnesses (WITNESS_POLICY). @throws ConfigError as `readStated` */
export function readWitnessPolicy(path: string): string {
  return readStated('WITNESS_POLICY', path, 'no witness policy', (text) => {
    const policy = policyOf(text);
    parseWitnessPolicy(policy);
    return policy;
  });
}

function isShown(texts: object): boolean {
  return Object.values(texts).every((text: string) => isPrintable(text, text.length));
}

/** @throws ConfigError when the file cannot be read, or is not in its form: nothing of it is left out without a word */
function readStated<T>(
  setting: string,
  path: string,
  otherwise: string,
  read: (text: string) => T,
): T {
  try {
    if (statSync(path).size > FILE_BYTES_MAX)
      throw new Error(`is larger than ${FILE_BYTES_MAX} bytes`);
    return read(readFileSync(path, 'utf8'));
  } catch (error) {
    const { message } = error as Error;
    const isForm = error instanceof MalformedData || error instanceof MalformedLedgerText;
    throw new ConfigError([
      `${setting} ${path}: ${isForm ? `is ${otherwise}: ${message}` : message}`,
    ]);
  }
}
