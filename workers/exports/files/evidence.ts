import { readFileSync, statSync } from 'node:fs';
import Type from 'typebox';
import { ConfigError } from '#shared/config/config.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { EVIDENCE, EVIDENCE_MAX, type Evidence } from '#shared/packs/report/statement.ts';

/** As many entries as there may be, with the longest texts. */
const FILE_BYTES_MAX = 4 * 1_048_576;

const listOf = shapeOf(Type.Array(EVIDENCE, { maxItems: EVIDENCE_MAX }));

/**
 * The evidence that the operator names for what it declares (EVIDENCE).
 * @throws ConfigError when the file cannot be read, or is not in its form: nothing of it is left out without a word
 */
export function readEvidence(path: string): Evidence[] {
  try {
    if (statSync(path).size > FILE_BYTES_MAX)
      throw new Error(`is larger than ${FILE_BYTES_MAX} bytes`);
    const list = listOf(parseStrictJson(readFileSync(path, 'utf8')));
    const odd = list.findIndex((each) =>
      Object.values(each).some((text) => !isPrintable(text, text.length)),
    );
    if (odd !== -1) throw new Error(`entry ${odd + 1} has a text that is not what it shows`);
    return list;
  } catch (error) {
    const { message } = error as Error;
    const why = error instanceof MalformedData ? `is no list of evidence: ${message}` : message;
    throw new ConfigError([`EVIDENCE ${path}: ${why}`]);
  }
}
