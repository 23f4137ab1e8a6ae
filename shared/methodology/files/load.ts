import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { FactorSet } from '../factor-set.ts';
import { type FactorSetFile, factorSetsOf } from '../factor-set-file.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** A set shipped is 100 kB; a file of this size is something else. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Where the factor sets that are shipped lie. One that is put there is used from the next start on. */
const SHIPPED = new URL('../factors/', import.meta.url);

/**
 * The factor sets of a directory, the oldest first. Each file is held against the digest in its name.
 * Throws MalformedData.
 */
export function factorSetFiles(directory: URL): readonly FactorSetFile[] {
  return factorSetsOf(filesIn(directory));
}

let shipped: readonly FactorSetFile[] | undefined;

/** The factor sets that are shipped, read once in a process. */
export function shippedFactorSets(): readonly FactorSetFile[] {
  return (shipped ??= factorSetFiles(SHIPPED));
}

/** The factor set that new receipts are computed with. */
export function newestFactorSet(): FactorSet {
  return shippedFactorSets().at(-1)!.read();
}

/** Texts of the factor sets that are shipped, by the names of their files. */
export function shippedFactorTexts(): Readonly<Record<string, string>> {
  const utf8 = new TextDecoder();
  return Object.fromEntries(filesIn(SHIPPED).map(({ name, bytes }) => [name, utf8.decode(bytes)]));
}

function filesIn(directory: URL): { name: string; bytes: Uint8Array }[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return names.map((name) => ({ name, bytes: bytesOf(new URL(name, directory)) }));
}

function bytesOf(file: URL): Uint8Array {
  if (statSync(file).size > FILE_BYTES_MAX)
    throw new MalformedData('too_large', '', 'is too large for a factor set');
  return readFileSync(file);
}
