import { decodeBytes, encodeBytes, sha256Text } from '#primitives';
import { FACTOR_SET_VERSION, type FactorSet } from './factor-set.ts';
import { parseFactorSet } from './parse-factor-set.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { FROZEN_FACTOR_SETS } from './frozen.ts';

/** `2026-11.<SHA-256 of the file, hex>.json`. */
const FILE_NAME = /^(.{1,64})\.([0-9a-f]{64})\.json$/;
const VERSION = new RegExp(FACTOR_SET_VERSION);

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
    .toSorted((a, b) => order(a.version) - order(b.version) || (a.version < b.version ? -1 : 1));
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
  for (const { version, digest } of files) refuseUnreleasedName(version, digest);
  return files;
}

/**
 * Refuses a factor set that has a name as those of releases have and is none of them: receipts would cite it under that name.
 * Throws MalformedData.
 */
export function refuseUnreleasedName(version: string, digest: string): void {
  const isRelease = FROZEN_FACTOR_SETS.some((each) => {
    return each.version === version && each.digest === digest;
  });
  if (isRelease || version.lastIndexOf('-') > version.indexOf('-')) return;
  throw new MalformedData(
    'wrong_value',
    'version',
    `${version} is a name of releases, and this is not what was released under it: call a set of your own ${version}-<name>, with small letters and digits`,
  );
}

/** A number that grows with the version: year, month, and the number after the point. An own set follows the release. */
function order(version: string): number {
  const [, year, month, further = 0] = (/^(\d+)-(\d+)(?:\.(\d+))?/.exec(version) ?? []).map(Number);
  return (year! * 100 + month!) * 1_000 + (further || 0);
}

function factorSetFile(name: string, bytes: Uint8Array): FactorSetFile {
  const [, version, digest] = FILE_NAME.exec(name) ?? [];
  if (version === undefined || digest === undefined || !VERSION.test(version))
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
