import { readFileSync } from 'node:fs';

/** One process type of the Procfile. */
export interface ProcfileEntry {
  role: string;
  /** The TypeScript file that `node` runs, relative to the Procfile's folder. */
  entry: string;
}

const LINE = /^([a-z][a-z0-9-]*):\s*node\s+(\S+\.ts)$/;

/**
 * The process types of a Procfile, in its order. Every one is `name: node <file>.ts`.
 * @throws Error that names the line which is not.
 */
export function parseProcfile(text: string): ProcfileEntry[] {
  const entries: ProcfileEntry[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, role, entry] = LINE.exec(line.trim()) ?? [];
    if (role === undefined || entry === undefined) {
      throw new Error(`Procfile:${index + 1}: expected "name: node <file>.ts"`);
    }
    if (entries.some((known) => known.role === role)) {
      throw new Error(`Procfile:${index + 1}: ${role} is there twice`);
    }
    entries.push({ role, entry });
  }
  return entries;
}

/** The Procfile of a folder. */
export function readProcfile(root: URL): ProcfileEntry[] {
  return parseProcfile(readFileSync(new URL('Procfile', root), 'utf8'));
}
