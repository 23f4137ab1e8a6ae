import { readFileSync, statSync } from 'node:fs';
import { digestOf } from '#shared/kernel/canonical-json.ts';
import type { FactorSet } from '../factor-set.ts';
import { parseFactorSet } from '../parse-factor-set.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { FROZEN_FACTOR_SETS } from '../frozen.ts';

/** The set shipped is 70 kB; a file of this size is something else. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads a factor set that is shipped, and checks it field by field and against its frozen digest.
 * Throws MalformedData with the field that is wrong. Nothing stands in for a set that is not as it was released.
 */
export function loadFactorSet(version: string): FactorSet {
  const frozen = FROZEN_FACTOR_SETS.find((set) => set.version === version);
  if (frozen === undefined)
    throw new MalformedData('wrong_value', '', `factor set ${version} was never released`);
  const set = readFactorSet(new URL(`../factors/${version}.json`, import.meta.url));
  if (set.version !== version)
    throw new MalformedData('wrong_value', 'version', `is not ${version}`);
  const digest = digestOf(set);
  if (digest !== frozen.digest) {
    throw new MalformedData(
      'wrong_value',
      '',
      `factor set ${version} is not what was released: ${digest}`,
    );
  }
  return set;
}

/** Reads and checks any factor set file. Throws MalformedData with the field that is wrong. */
export function readFactorSet(file: URL): FactorSet {
  if (statSync(file).size > FILE_BYTES_MAX)
    throw new MalformedData('too_large', '', 'is too large for a factor set');
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
    value = JSON.parse(text);
  } catch (error) {
    throw new MalformedData('not_json', '', `is not JSON in UTF-8: ${(error as Error).message}`);
  }
  return parseFactorSet(value);
}
