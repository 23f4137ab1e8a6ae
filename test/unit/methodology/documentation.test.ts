import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DOCKET_UNCERTAINTY } from '#shared/methodology/docket-1-bounds.ts';
import { DOCKET_CONSTANTS } from '#shared/methodology/docket-1-formulas.ts';
import { FACTOR_SET } from './fixtures.ts';

const page = readFileSync(new URL('../../../docs/methodology.md', import.meta.url), 'utf8');

describe('docs/methodology.md', () => {
  it('states the constants that the code uses', () => {
    const { d_gpu, d_mem, d_act, d_fix, p, host, idle, context_min } = DOCKET_CONSTANTS;
    for (const { value } of [d_gpu, d_mem, d_act, d_fix, p, context_min]) {
      expect(page).toContain(String(value));
    }
    expect(page).toContain(`* ${1 + host.value} * ${1 + idle.value} `);
    for (const { factor } of [...Object.values(DOCKET_UNCERTAINTY), ...FACTOR_SET.uncertainty]) {
      expect(page).toMatch(new RegExp(`\\| (?:[\\d. ]+/ )?${factor}(?: / [\\d.]+)? \\|`));
    }
  });

  it('counts what the factor set holds', () => {
    const water = FACTOR_SET.grid.filter(({ flags }) => flags.includes('water_world_default'));
    expect(page).toContain(`${FACTOR_SET.grid.length} grid zones`);
    expect(page).toContain(`${FACTOR_SET.models.length} models`);
    expect(page).toContain(`${FACTOR_SET.sources.length} sources`);
    expect(page).toContain(`${water.length} zones have no water factor`);
  });
});
