import { createRequire } from 'node:module';
import { join } from 'node:path';
import { cruise, type ICruiseResult, type IConfiguration } from 'dependency-cruiser';
import { describe, expect, it } from 'vitest';
import { FOLDERS, ROOT } from './source-files.ts';

const configuration = createRequire(import.meta.url)(
  join(ROOT, '.dependency-cruiser.cjs'),
) as IConfiguration;

describe('the import rules', () => {
  it('every import rule has a name and a reason', () => {
    for (const rule of configuration.forbidden ?? []) {
      expect(rule.name).toMatch(/^[a-z-]+$/);
      expect(rule.comment?.length).toBeGreaterThan(30);
      expect(rule.severity).toBe('error');
    }
  });

  it('the import rules hold in every folder', { timeout: 180_000 }, async () => {
    const { forbidden, options } = configuration;
    const result = await cruise(FOLDERS, {
      ...options,
      baseDir: ROOT,
      // Where no file has changed since, the last result stands.
      cache: { folder: join(ROOT, '.cache/imports'), strategy: 'content' },
      validate: true,
      ruleSet: { forbidden: forbidden ?? [] },
    });
    const { violations } = (result.output as ICruiseResult).summary;
    expect(violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });
});
