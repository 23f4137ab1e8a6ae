import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LineCounter, parseDocument } from 'yaml';
import { digestOf } from '#shared/kernel/canonical-json.ts';
import { type Pack, PackError, validatePack } from '../pack.ts';
import { compilePack, failedExamples, type Screen } from '../screen.ts';

/** The pack that is shipped. */
export const DEFAULT_PACK_PATH = fileURLToPath(new URL('../policy/pack.yaml', import.meta.url));

/** Files that one pack may name, so that a mistake cannot read a whole folder. */
const INCLUDES_MAX = 16;

/**
 * Reads a pack (YAML or JSON) with the files that it includes (`include: [a.yaml]`, in the same folder, each holding
 * further `groups` and `rules`). Throws `PackError` with the file and the path, or the line, that is wrong.
 */
export function readPack(path: string = DEFAULT_PACK_PATH): Pack {
  const { include, ...main } = readRecord(path);
  const parts = includesOf(include).map((name) => readPart(path, name));
  const groups = Object.entries((main['groups'] ?? {}) as Record<string, unknown>);
  const rules = asList(main['rules']);
  for (const part of parts) {
    for (const [name, terms] of Object.entries(part.groups)) {
      if (groups.some(([taken]) => taken === name))
        throw new PackError(`groups.${name}`, 'is defined twice');
      groups.push([name, terms]);
    }
    rules.push(...part.rules);
  }
  const whole = { ...main, groups: Object.fromEntries(groups), rules };
  const digest = digestOf(whole);
  return validatePack(whole, digest);
}

/** Reads, compiles and proves a pack: one that fails its own examples screens nothing. */
export function loadScreen(path: string = DEFAULT_PACK_PATH): Screen {
  const pack = readPack(path);
  const screen = compilePack(pack);
  const [failure] = failedExamples(pack, screen);
  if (failure !== undefined) throw new PackError(failure.path, failure.reason);
  return screen;
}

function includesOf(include: unknown): string[] {
  return asList(include).map((name, i) => {
    const path = `include[${i}]`;
    if (i >= INCLUDES_MAX)
      throw new PackError(path, `a pack has at most ${INCLUDES_MAX} further files`);
    if (typeof name !== 'string' || name !== basename(name)) {
      throw new PackError(path, 'must be the name of a file in the same folder');
    }
    return name;
  });
}

function readPart(
  packPath: string,
  name: string,
): { groups: Record<string, unknown>; rules: unknown[] } {
  const part = readRecord(join(dirname(packPath), name));
  for (const field of Object.keys(part)) {
    if (field !== 'groups' && field !== 'rules')
      throw new PackError(`${name}: ${field}`, 'unknown field');
  }
  return {
    groups: (part['groups'] ?? {}) as Record<string, unknown>,
    rules: asList(part['rules']),
  };
}

function readRecord(path: string): Record<string, unknown> {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, 'utf8'), {
    lineCounter: lines,
    uniqueKeys: true,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0]);
    throw new PackError(`${basename(path)}:${line}`, error.message.split('\n')[0]!);
  }
  const data: unknown = document.toJS({ maxAliasCount: 0 });
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new PackError(basename(path), 'must be an object');
  }
  return data as Record<string, unknown>;
}

function asList(data: unknown): unknown[] {
  return data === undefined ? [] : Array.isArray(data) ? [...(data as unknown[])] : [data];
}
