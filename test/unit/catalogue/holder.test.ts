import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCatalogueHolder } from '#shared/catalogue/files/load.ts';
import { CatalogueError } from '#shared/catalogue/problem.ts';

const text = (capacity: number): string => `version: 1
regions: [{ code: eu, zone: FRA, capacity: ${capacity} }]
endpoints: [{ name: e, adapter: openai-compatible, base_url: 'http://h/v1', regions: [eu] }]
models: [{ id: m, kinds: [chat], context_window: 10, endpoints: [{ name: e, model: m }], footprint: {} }]
`;
const sources = { variable: () => undefined, timeoutMs: 1_000 };
let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'catalogue-'));
  file = join(directory, 'catalogue.yaml');
  writeFileSync(file, text(1));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the catalogue of a process', () => {
  it('refuses to start on a bad file', () => {
    writeFileSync(file, 'version: 1\n');
    expect(() => createCatalogueHolder(file, sources)).toThrow(CatalogueError);
  });

  it('takes a good new file, with an index of the same version', () => {
    const holder = createCatalogueHolder(file, sources);
    writeFileSync(file, text(2));
    expect(holder.current().catalogue.regions[0]?.capacity).toBe(1);
    expect(holder.reload().outcome).toBe('replaced');
    expect(holder.current().index.regions.get('eu')?.capacity).toBe(2);
    expect(holder.reload().outcome).toBe('unchanged');
  });

  it('keeps the old catalogue when the new file is bad or gone, and says what is wrong with it', () => {
    const holder = createCatalogueHolder(file, sources);
    const before = holder.current();
    writeFileSync(file, text(2).replace('zone', 'zoen'));
    const reload = holder.reload();
    expect(reload).toMatchObject({ outcome: 'kept', inUse: before });
    expect(reload.outcome === 'kept' && reload.error.message).toContain(
      'catalogue.yaml:2: regions[0].zoen: unknown field',
    );
    rmSync(file);
    expect(holder.reload().outcome).toBe('kept');
    expect(holder.current()).toBe(before);
  });
});
