import { hash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { ends, type ModelClassRecord } from '#shared/methodology/factor-set.ts';
import { createMethodology } from '#shared/methodology/docket-1.ts';
import { parseFactorSet } from '#shared/methodology/parse-factor-set.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { factorSetFiles } from '#shared/methodology/files/load.ts';
import { methodologiesOver } from '#shared/methodology/releases.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { FACTOR_SET, METHODOLOGY, request } from '#test/unit/methodology/fixtures.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const text = canonicalJson(FACTOR_SET);

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

const refusalOf = (document: unknown): MalformedData =>
  thrownBy(MalformedData, () => parseFactorSet(document))!;

/** The document with one place changed. */
function changed(place: Place, value: unknown): Record<string, unknown> {
  const document = fresh();
  const { holder, key } = parentOf(document, place);
  (holder as Record<string, unknown>)[key] = value;
  return document;
}

/** To look at, never to change. */
const PRISTINE = fresh();
const ALL = places(fresh()).filter((place) => place.length > 0);
const anyPlace = fc.constantFrom(...ALL);

describe('the factor set that is shipped', () => {
  it('holds 215 zones and 86 models, each with its sources', () => {
    expect(FACTOR_SET.grid).toHaveLength(215);
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

  it.each([
    ['gwp_rounded_zero', 1, 'gwp_kgco2e_per_kwh'],
    ['water_world_default', 165, 'water_l_per_kwh'],
    ['adpe_world_default', 77, 'adpe_kgsbe_per_kwh'],
    ['adpf_world_default', 77, 'adpf_mj_per_kwh'],
  ] as const)('marks with %s the %d zones whose figure is the world’s', (flag, count, column) => {
    const world = FACTOR_SET.grid.find(({ id }) => id === 'WOR')!;
    const marked = FACTOR_SET.grid.filter(({ flags }) => flags.includes(flag));
    expect(marked).toHaveLength(count);
    for (const zone of marked) expect(zone[column]).toBe(world[column]);
    for (const zone of FACTOR_SET.grid) {
      if (!marked.includes(zone) && zone !== world) expect(zone[column]).not.toBe(world[column]);
    }
  });

  it.each([
    ['gwp_of_world', 'gwp_rounded_zero', 'gwp_kgco2e_per_kwh'],
    ['adpe_of_world', 'adpe_world_default', 'adpe_kgsbe_per_kwh'],
    ['adpf_of_world', 'adpf_world_default', 'adpf_mj_per_kwh'],
    ['water_of_world', 'water_world_default', 'water_l_per_kwh'],
  ] as const)('has in %s what nine in ten zones keep to', (id, flag, column) => {
    const world = FACTOR_SET.grid.find((zone) => zone.id === 'WOR')!;
    const distances = FACTOR_SET.grid
      .filter((zone) => zone !== world && !zone.flags.includes(flag))
      .map((zone) => Math.abs(Math.log(zone[column] / world[column])))
      .toSorted((a, b) => a - b);
    const { factor } = FACTOR_SET.uncertainty.find((record) => record.id === id)!;
    const ninth = Math.exp(distances[Math.ceil(0.9 * distances.length) - 1]!);
    expect(factor).toBe(Number(ninth.toFixed(2)));
  });

  it('gives every zone an estimate, wider where its figures are the world’s', () => {
    const widthAt = (zone: string, name: string): number => {
      const { results } = METHODOLOGY.estimate(request({ zone }));
      const { value, upper } = results.find((each) => each.name === name)!;
      return upper / value;
    };
    for (const { id } of FACTOR_SET.grid) {
      for (const { value } of METHODOLOGY.estimate(request({ zone: id })).results)
        expect(value).toBeGreaterThan(0);
    }
    expect(widthAt('BHR', 'water')).toBeGreaterThan(1.2 * widthAt('FRA', 'water'));
    expect(widthAt('BHR', 'adpe')).toBeLessThan(1.1 * widthAt('FRA', 'adpe'));
    expect(widthAt('ABW', 'adpf')).toBeGreaterThan(1.2 * widthAt('FRA', 'adpf'));
    expect(widthAt('CAF', 'gwp')).toBeGreaterThan(1.2 * widthAt('WOR', 'gwp'));
    expect(widthAt('CAF', 'energy')).toBe(widthAt('FRA', 'energy'));
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
    forAll([anyPlace], { numRuns: runs(300) }, (place) => {
      const document = fresh();
      const { holder, key } = parentOf(document, place);
      if (Array.isArray(holder)) return;
      delete holder[key];
      const optional =
        /(?:^|\.)(?:name|note|kv|released_precision|wue_l_per_kwh|total_b_up_to|adp[ef]_\w+|pe_mj|energy_wh\w*|gwp_g|water_ml|adpe_mg|j_per_token|min|max)$/;
      if (optional.test(pathOf(place))) {
        thrownBy(MalformedData, () => parseFactorSet(document));
        return;
      }
      expect(refusalOf(document).path).toBe(pathOf(place));
    });
  });

  it('when anything has the wrong type', () => {
    const wrong = fc.constantFrom(null, true, [], {}, '', 'text', -1, 0, 1e300);
    forAll([anyPlace, wrong], { numRuns: runs(300) }, (place, value) => {
      const document = changed(place, value);
      const { holder, key } = parentOf(PRISTINE, place);
      const before = (holder as Record<string, unknown>)[key];
      if (typeof before === typeof value && Array.isArray(before) === Array.isArray(value)) return;
      // A size or PUE may be a number or a range; a number in bounds is no mistake there.
      if (typeof value === 'number' && typeof before === 'object') return;
      expect(`${refusalOf(document).path} `).toContain(pathOf(place));
    });
  });

  it('when any figure is not finite', () => {
    const figures = ALL.filter((place) => {
      const { holder, key } = parentOf(PRISTINE, place);
      return typeof (holder as Record<string, unknown>)[key] === 'number';
    });
    forAll(
      [fc.constantFrom(...figures), fc.constantFrom(Number.NaN, Infinity, -Infinity)],
      { numRuns: runs(100) },
      (place, value) => {
        expect(refusalOf(changed(place, value)).path).toBe(pathOf(place));
      },
    );
  });

  it('when a field is not known', () => {
    const objects = ALL.filter((place) => {
      const { holder, key } = parentOf(PRISTINE, place);
      const value = (holder as Record<string, unknown>)[key];
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    });
    forAll([fc.constantFrom(...objects)], { numRuns: runs(100) }, (place) => {
      const document = changed([...place, 'colour'], 'green');
      expect(refusalOf(document).path).toBe(`${pathOf(place)}.colour`);
    });
  });

  it('with anything in it', () => {
    forAll([fc.anything()], (value) => {
      expect(refusalOf(value)).toBeInstanceOf(MalformedData);
    });
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
    ['models[0].id', ['models', 0, 'id'], 'gpt\u00ad-3.5'],
    ['unknown_site.id', ['unknown_site', 'id'], 'any\nsite'],
    ['models[1]', ['models', 1, 'aliases'], ['GPT-3.5-Turbo']],
    ['models[67].kv.bytes_per_token', ['models', 67, 'kv', 'bytes_per_token'], 1000],
    ['models[67].kv.operations_per_pair', ['models', 67, 'kv', 'operations_per_pair'], 1000],
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

describe('the files', () => {
  const SHIPPED = new URL('../../../shared/methodology/factors/', import.meta.url);
  const root = mkdtempSync(join(tmpdir(), 'factors-'));
  afterAll(() => rmSync(root, { recursive: true }));
  /** A copy of the directory that is shipped. */
  const copy = (): string => {
    const directory = mkdtempSync(join(root, 'set-'));
    cpSync(SHIPPED, directory, { recursive: true });
    return directory;
  };
  const filesIn = (directory: string) => factorSetFiles(pathToFileURL(`${directory}/`));
  /** Puts bytes there under the name that fits them. */
  const drop = (directory: string, version: string, content: string | Buffer): void =>
    writeFileSync(join(directory, `${version}.${hash('sha256', content)}.json`), content);
  const withGwp = (version: string, times: number): string =>
    canonicalJson({
      ...FACTOR_SET,
      version,
      grid: FACTOR_SET.grid.map((zone) => ({
        ...zone,
        gwp_kgco2e_per_kwh: zone.gwp_kgco2e_per_kwh * times,
      })),
    });

  it('a factor set that is put beside the others is what new receipts are computed with, and old receipts keep theirs', () => {
    const directory = copy();
    const before = methodologiesOver(filesIn(directory)).listMethodologies();
    drop(directory, '2026-12-acme', withGwp('2026-12-acme', 1.5));
    const after = methodologiesOver(filesIn(directory));
    expect(after.current.version).toBe('1.0.0-2026-12-acme');
    expect(after.listMethodologies()).toEqual(expect.arrayContaining([...before]));
    const gwp = (version: string): number =>
      after.methodology('docket-1', version)!.estimate(request()).results[1]!.value;
    expect(gwp('1.0.0-2026-12-acme')).toBeGreaterThan(1.2 * gwp('1.0.0'));
    const input = request();
    expect(after.methodology('docket-1', '1.0.0')!.estimate(input)).toEqual(
      METHODOLOGY.estimate(input),
    );
    const { text: published } = after.methodologyDocument('docket-1', '1.0.0-2026-12-acme')!;
    expect(JSON.parse(published)).toMatchObject({
      factor_set: { version: '2026-12-acme' },
      changelog: expect.arrayContaining([
        { version: '1.0.0-2026-12-acme', date: '2026-11', change: 'Factor set 2026-12-acme.' },
      ]) as unknown,
    });
  });

  it('a set that comes later changes no version that is there, with any date', () => {
    const directory = copy();
    drop(directory, '2027-01-acme', withGwp('2027-01-acme', 0.5));
    const listed = methodologiesOver(filesIn(directory)).listMethodologies();
    drop(directory, '2026-12-acme', withGwp('2026-12-acme', 0.3));
    drop(directory, '2026-11.2-acme', withGwp('2026-11.2-acme', 0.4));
    const after = methodologiesOver(filesIn(directory));
    expect(after.listMethodologies()).toEqual(expect.arrayContaining([...listed]));
    expect(after.current.version).toBe('1.0.0-2027-01-acme');
  });

  it('stop the start when one does not hold what its name says, is named otherwise, is there twice, or is gone', () => {
    const [first = ''] = readdirSync(SHIPPED);
    const damage: ((directory: string) => void)[] = [
      (directory) => writeFileSync(join(directory, first), text.replace('2026', '2025')),
      (directory) => unlinkSync(join(directory, first)),
      (directory) => writeFileSync(join(directory, '2026-12.json'), text),
      (directory) => drop(directory, '2026-11', withGwp('2026-11', 0.5)),
    ];
    for (const harm of damage) {
      const directory = copy();
      harm(directory);
      expect(() => filesIn(directory)).toThrow(MalformedData);
    }
  });

  it('are refused under a name of releases that none of them has, and say what to call them', () => {
    for (const name of ['2026-12', '2026-11.2']) {
      const directory = copy();
      drop(directory, name, withGwp(name, 0.001));
      expect(() => filesIn(directory)).toThrow(
        `version: ${name} is a name of releases, and this is not what was released under it: call a set of your own ${name}-<name>`,
      );
    }
  });

  it('that are cut off, empty, not UTF-8 or of another version are refused', () => {
    const contents = [
      text.slice(0, 1000),
      '',
      Buffer.from([0x7b, 0xff, 0x7d]),
      withGwp('2027-02-acme', 1),
    ];
    for (const content of contents) {
      const directory = copy();
      drop(directory, '2027-01-acme', content);
      expect(() => methodologiesOver(filesIn(directory))).toThrow(MalformedData);
    }
  });
});
