import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { ends, type ModelClassRecord } from '#shared/methodology/factor-set.ts';
import { createMethodology } from '#shared/methodology/docket-1.ts';
import { parseFactorSet } from '#shared/methodology/parse-factor-set.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { loadFactorSet, readFactorSet } from '#shared/methodology/files/load.ts';
import { FACTOR_SET } from './fixtures.ts';

const FILE = new URL('../../../shared/methodology/factors/2026-10.json', import.meta.url);
const text = readFileSync(FILE, 'utf8');

type Node = Record<string, unknown> | unknown[];
type Place = readonly (string | number)[];

function fresh(): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/** Every place in the document: objects, lists and leaves. */
function places(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [
    at,
    ...Object.entries(value).flatMap(([key, entry]) =>
      places(entry, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function pathOf(place: Place): string {
  return place
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');
}

function parentOf(document: unknown, place: Place): { holder: Node; key: string } {
  let holder = document as Node;
  for (const key of place.slice(0, -1)) holder = (holder as Record<string, Node>)[String(key)]!;
  return { holder, key: String(place.at(-1)) };
}

function refusalOf(document: unknown): MalformedData {
  try {
    parseFactorSet(document);
  } catch (error) {
    if (error instanceof MalformedData) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** The document with one place changed. */
function changed(place: Place, value: unknown): Record<string, unknown> {
  const document = fresh();
  const { holder, key } = parentOf(document, place);
  (holder as Record<string, unknown>)[key] = value;
  return document;
}

const ALL = places(fresh()).filter((place) => place.length > 0);
const anyPlace = fc.constantFrom(...ALL);

describe('the factor set that is shipped', () => {
  it('holds 72 zones and 86 models, each with its sources', () => {
    expect(FACTOR_SET.grid).toHaveLength(72);
    expect(FACTOR_SET.models).toHaveLength(86);
    expect(FACTOR_SET.sources.length).toBeGreaterThanOrEqual(27);
    for (const { sources } of [...FACTOR_SET.grid, ...FACTOR_SET.models]) {
      expect(sources.length).toBeGreaterThan(0);
    }
  });

  it('corrects the world row, which the reference has wrong', () => {
    expect(FACTOR_SET.grid.find(({ id }) => id === 'WOR')).toMatchObject({
      adpf_mj_per_kwh: 6.47232,
      adpe_kgsbe_per_kwh: 7.37708e-8,
      flags: ['reference_row_unsourced'],
    });
  });

  it('marks the 22 zones whose water factor is the world’s', () => {
    const marked = FACTOR_SET.grid.filter(({ flags }) => flags.includes('water_world_default'));
    expect(marked).toHaveLength(22);
    for (const { water_l_per_kwh: water } of marked) expect(water).toBe(3.908);
  });

  it('has class sizes that follow from its models', () => {
    const middle = (value: Parameters<typeof ends>[0]): number =>
      Math.sqrt(ends(value).min * ends(value).max);
    const inClass = ({ total_b_above: above, total_b_up_to: upTo = Infinity }: ModelClassRecord) =>
      FACTOR_SET.models.filter(({ total_b }) => middle(total_b) > above && middle(total_b) <= upTo);
    for (const group of FACTOR_SET.model_classes) {
      const members = inClass(group);
      expect(members).toHaveLength(group.members);
      for (const column of ['active_b', 'total_b'] as const) {
        const logs = members.map((model) => Math.log(middle(model[column])));
        const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
        const spread = Math.sqrt(
          logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length,
        );
        expect(group[column] / Math.exp(mean)).toBeCloseTo(1, 3);
        expect(group.size_factor).toBeGreaterThanOrEqual(Math.exp(1.645 * spread) - 0.011);
      }
      expect(group.size_factor).toBeGreaterThanOrEqual(2.3);
    }
  });
});

describe('a malformed factor set is refused, with the place that is wrong', () => {
  it('when anything is missing', () => {
    fc.assert(
      fc.property(anyPlace, (place) => {
        const document = fresh();
        const { holder, key } = parentOf(document, place);
        if (Array.isArray(holder)) return;
        delete holder[key];
        const optional =
          /(?:^|\.)(?:name|note|kv|released_precision|wue_l_per_kwh|total_b_up_to|adp[ef]_\w+|pe_mj|energy_wh\w*|gwp_g|water_ml|adpe_mg|j_per_token|min|max)$/;
        if (optional.test(pathOf(place))) {
          try {
            parseFactorSet(document);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedData);
          }
          return;
        }
        expect(refusalOf(document).path).toBe(pathOf(place));
      }),
      { numRuns: 300 },
    );
  });

  it('when anything has the wrong type', () => {
    const wrong = fc.constantFrom(null, true, [], {}, '', 'text', -1, 0, 1e300);
    fc.assert(
      fc.property(anyPlace, wrong, (place, value) => {
        const document = changed(place, value);
        const { holder, key } = parentOf(fresh(), place);
        const before = (holder as Record<string, unknown>)[key];
        if (typeof before === typeof value && Array.isArray(before) === Array.isArray(value))
          return;
        // A size or PUE may be a number or a range; a number in bounds is no mistake there.
        if (typeof value === 'number' && typeof before === 'object') return;
        expect(`${refusalOf(document).path} `).toContain(pathOf(place));
      }),
      { numRuns: 300 },
    );
  });

  it('when any figure is not finite', () => {
    const figures = ALL.filter((place) => {
      const { holder, key } = parentOf(fresh(), place);
      return typeof (holder as Record<string, unknown>)[key] === 'number';
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...figures),
        fc.constantFrom(Number.NaN, Infinity, -Infinity),
        (place, value) => {
          expect(refusalOf(changed(place, value)).path).toBe(pathOf(place));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('when a field is not known', () => {
    const objects = ALL.filter((place) => {
      const { holder, key } = parentOf(fresh(), place);
      const value = (holder as Record<string, unknown>)[key];
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    });
    fc.assert(
      fc.property(fc.constantFrom(...objects), (place) => {
        const document = changed([...place, 'colour'], 'green');
        expect(refusalOf(document).path).toBe(`${pathOf(place)}.colour`);
      }),
      { numRuns: 100 },
    );
  });

  it('whatever it is', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(refusalOf(value)).toBeInstanceOf(MalformedData);
      }),
    );
  });

  it.each<[string, Place, unknown]>([
    ['grid[3].gwp_kgco2e_per_kwh', ['grid', 3, 'gwp_kgco2e_per_kwh'], 41.44],
    ['grid[3].id', ['grid', 3, 'id'], 'Fra'],
    ['grid[3]', ['grid', 3, 'id'], 'WOR'],
    ['grid[3].sources[0]', ['grid', 3, 'sources', 0], 'S99'],
    ['grid[3].flags[0]', ['grid', 3, 'flags', 0], 'never_heard_of'],
    ['sites[0].pue', ['sites', 0, 'pue'], 0.9],
    ['sites[0].pue.max', ['sites', 0, 'pue'], { min: 1.4, max: 1.2 }],
    ['sites[1]', ['sites', 1, 'aliases'], ['AWS']],
    ['models[0].active_b', ['models', 0, 'active_b'], { min: 20, max: 71 }],
    ['models[0].active_b', ['models', 0, 'active_b'], 5],
    ['models[1]', ['models', 1, 'aliases'], ['GPT-3.5-Turbo']],
    ['models[67].kv.bytes_per_token', ['models', 67, 'kv', 'bytes_per_token'], 1000],
    ['model_classes[0].total_b', ['model_classes', 0, 'total_b'], 16],
    ['uncertainty[0].factor', ['uncertainty', 0, 'factor'], 1],
    ['version', ['version'], 'latest'],
    ['schema', ['schema'], 'docket-factor-set/2'],
  ])('%s, when %j is %j', (path, place, value) => {
    expect(refusalOf(changed(place, value)).path).toBe(path);
  });

  it('when it lacks a record that the methodology needs', () => {
    const without = (table: string, id: string): Record<string, unknown> => {
      const document = fresh();
      const rows = document[table] as { id: string }[];
      return { ...document, [table]: rows.filter((row) => row.id !== id) };
    };
    expect(() => createMethodology(parseFactorSet(without('uncertainty', 'water')))).toThrow(
      MalformedData,
    );
    const other = changed(['hardware', 0, 'id'], 'B200');
    expect(() => createMethodology(parseFactorSet(other))).toThrow(MalformedData);
  });
});

describe('the file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'factors-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const file = (name: string, content: string | Buffer): URL => {
    writeFileSync(join(directory, name), content);
    return pathToFileURL(join(directory, name));
  };

  it('is read from disk as it was released', () => {
    copyFileSync(FILE, join(directory, 'copy.json'));
    expect(readFactorSet(pathToFileURL(join(directory, 'copy.json')))).toEqual(FACTOR_SET);
    expect(loadFactorSet('2026-10')).toEqual(FACTOR_SET);
  });

  it('that is cut off, empty or not UTF-8 is refused', () => {
    for (const content of [text.slice(0, 1000), '', Buffer.from([0x7b, 0xff, 0x7d])]) {
      expect(() => readFactorSet(file('bad.json', content))).toThrow(MalformedData);
    }
  });

  it('of a version that was never released is refused, whatever lies on the disk', () => {
    for (const version of ['2026-11', '../factors/2026-10', '']) {
      expect(() => loadFactorSet(version)).toThrow(MalformedData);
    }
  });
});
