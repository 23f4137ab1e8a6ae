import { decodeBytes, encodeBytes, sha256Text } from '#primitives';
import type { FactorSet } from './factor-set.ts';
import { parseFactorSet } from './parse-factor-set.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { FROZEN_FACTOR_SETS } from './frozen.ts';

/** `2026-11.<SHA-256 of the file, hex>.json`. */
const FILE_NAME = /^(\d{4}-\d{2}(?:\.\d{1,3})?)\.([0-9a-f]{64})\.json$/;

/** A factor set on disk: its bytes are what its name says, its content is read when it is asked for. */
export interface FactorSetFile {
  readonly version: string;
  /** base64url SHA-256 of the file, which is the set's canonical JSON. */
  readonly digest: string;
  /** Throws MalformedData with the field that is wrong. */
  readonly read: () => FactorSet;
}

/**
 * The factor sets of these files, the oldest first. Each file is held against the digest in its name, and each set that
 * was released must be there as it was; only the sets that are computed with are parsed.
 * Throws MalformedData. Nothing stands in for a set that is not as it was released.
 */
export function factorSetsOf(
  named: readonly { name: string; bytes: Uint8Array }[],
): readonly FactorSetFile[] {
  const files = named
    .map(({ name, bytes }) => factorSetFile(name, bytes))
    .toSorted((a, b) => order(a.version) - order(b.version));
  files.forEach(({ version }, at) => {
    if (files[at + 1]?.version === version)
      throw new MalformedData('contradiction', '', `there are two factor sets ${version}`);
  });
  for (const { version, digest } of FROZEN_FACTOR_SETS) {
    const file = files.find((each) => each.version === version);
    if (file?.digest !== digest) {
      throw new MalformedData(
        'wrong_value',
        '',
        `factor set ${version} is not what was released: ${file?.digest ?? 'it is missing'}`,
      );
    }
  }
  return files;
}

/** A number that grows with the version: year, month, and the number after the point. */
function order(version: string): number {
  const [year = 0, month = 0, further = 0] = version.split(/[-.]/).map(Number);
  return (year * 100 + month) * 1_000 + further;
}

function factorSetFile(name: string, bytes: Uint8Array): FactorSetFile {
  const [, version, digest] = FILE_NAME.exec(name) ?? [];
  if (version === undefined || digest === undefined)
    throw new MalformedData('wrong_value', '', `${name} is not named <version>.<SHA-256>.json`);
  if (sha256Text(bytes, 'hex') !== digest) {
    throw new MalformedData('wrong_value', '', `${name} does not hold what its name says`);
  }
  let set: FactorSet | undefined;
  return {
    version,
    digest: encodeBytes(decodeBytes(digest, 'hex'), 'base64url'),
    read: () => (set ??= checked(bytes, version)),
  };
}

function checked(bytes: Uint8Array, version: string): FactorSet {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new MalformedData('not_json', '', `is not JSON in UTF-8: ${(error as Error).message}`);
  }
  const set = parseFactorSet(value);
  if (set.version !== version)
    throw new MalformedData('wrong_value', 'version', `is not ${version}`);
  return set;
}
