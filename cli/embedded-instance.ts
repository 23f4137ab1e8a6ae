import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadToolConfig } from '#shared/config/config.ts';

/** Reads one text of `dev.json`, which the embedded mode keeps while it runs on this machine; undefined without it. */
export async function fromEmbeddedInstance(field: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(loadToolConfig().dataDir, 'dev.json'), 'utf8');
    const value = (JSON.parse(text) as Record<string, unknown>)[field];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
