import type { PackRange } from './layout.ts';
import { isSafePath } from './zip/directory.ts';
import { PackProblem } from './problem.ts';

/** A file of the pack with the SHA-256 (hex) of its bytes. */
export interface ManifestLine {
  path: string;
  sha256: string;
}

const LINE = /^([0-9a-f]{64}) {2}(\S+)$/;

/** A BagIt manifest, in the form that `sha256sum -c` reads. */
export function formatManifest(lines: readonly ManifestLine[]): string {
  return lines.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join('');
}

/**
 * Reads a manifest from anyone: every path safe and once.
 * @throws PackProblem `malformed_manifest`
 */
export function parseManifest(text: string, place: string): Map<string, string> {
  const digests = new Map<string, string>();
  if (text !== '' && !text.endsWith('\n')) throw malformed(place);
  for (const line of text === '' ? [] : text.slice(0, -1).split('\n')) {
    const [, sha256, path] = LINE.exec(line) ?? [];
    if (sha256 === undefined || path === undefined || !isSafePath(path) || digests.has(path)) {
      throw malformed(place);
    }
    digests.set(path, sha256);
  }
  return digests;
}

function malformed(place: string): PackProblem {
  return new PackProblem('malformed_manifest', place, 'The manifest cannot be read.');
}

/** `bagit.txt` (RFC 8493, 2.1.1). */
export const BAG_DECLARATION_TEXT = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n';

/** What `bag-info.txt` says of a pack: all of it follows from its seal and its payload. */
export interface BagFacts {
  issuer: string;
  identifier: string;
  description: string;
  /** `2026-11-20`, of the checkpoint. */
  date: string;
  payloadBytes: number;
  payloadFiles: number;
}

/** In words, for `bag-info.txt`. */
export function bagDescription(range: PackRange, log: string): string {
  const { firstIndex, lastIndex, checkpointSize } = range;
  return `Receipts ${firstIndex} to ${lastIndex} of ${checkpointSize} in the ledger ${log}`;
}

/** `bag-info.txt` (RFC 8493, 2.2.2). Only what follows from the content: no times of writing, no machine. */
export function bagInfo(facts: BagFacts): string {
  return [
    `Source-Organization: ${facts.issuer}`,
    `External-Identifier: ${facts.identifier}`,
    `External-Description: ${facts.description}`,
    `Bagging-Date: ${facts.date}`,
    `Payload-Oxum: ${facts.payloadBytes}.${facts.payloadFiles}`,
    '',
  ].join('\n');
}
