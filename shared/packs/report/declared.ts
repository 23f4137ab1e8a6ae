import type { DeclaredKind, Evidence, ReportStatement } from './statement.ts';

/** Something that receipts of a pack, or its report, take from the word of the operator. */
export interface DeclaredInput {
  input: DeclaredKind;
  /** Of which operator, model or region. */
  of: string;
  value: string;
}

/** A record of a derivation: those that it carries are the operator's word, and the others of a published set. */
export interface UsedRecord {
  name: string;
  /** One, or several as lineage documents name them. */
  type: string | readonly string[];
  record?: Readonly<Record<string, unknown>> | undefined;
}

/** What the records of one derivation take from the catalogue, which is the operator's word. */
export function declaredIn(used: readonly UsedRecord[]): DeclaredInput[] {
  const model = used.find(({ type }) => type.includes('ModelRecord'))?.name ?? '';
  return used.flatMap(({ type, record }) => {
    const of = (
      input: DeclaredKind,
      name: string,
      ...values: readonly unknown[]
    ): DeclaredInput[] => {
      const known = values.filter((value) => value !== undefined).map(String);
      return known.length === 0 ? [] : [{ input, of: name, value: known.join(' of ') }];
    };
    if (record === undefined) return [];
    if (type.includes('SiteFactor')) {
      const operator = String(record['operator']);
      return [
        ...of('pue', operator, record['pue']),
        ...of('wue', operator, record['wue_l_per_kwh']),
      ];
    }
    if (type.includes('ModelRecord')) {
      return of('size', model, record['active_b'], record['total_b']);
    }
    if (!type.includes('HardwareRecord')) return [];
    return (['batch', 'gpus', 'precision'] as const).flatMap((name) =>
      record[`${name}_basis`] === 'catalogue' ? of(name, model, record[name]) : [],
    );
  });
}

/** Each once, by kind, then by name. */
export function distinct(inputs: readonly DeclaredInput[]): DeclaredInput[] {
  const byKey = new Map(inputs.map((each) => [JSON.stringify(Object.values(each)), each]));
  return [...byKey.values()].toSorted(
    (a, b) => compare(a.input, b.input) || compare(a.of, b.of) || compare(a.value, b.value),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** What receipts of a pack take from the operator's word, and then contracts of their regions. */
export function withContracts(
  inputs: readonly DeclaredInput[],
  { contracts }: Pick<ReportStatement, 'contracts'>,
): DeclaredInput[] {
  const regions = new Set(inputs.filter(({ input }) => input === 'zone').map(({ of }) => of));
  const bought = contracts.filter(({ region }) => regions.has(region));
  return [
    ...inputs,
    ...bought.map(({ region, kgCo2ePerKwh }): DeclaredInput => {
      return { input: 'contract', of: region, value: kgCo2ePerKwh };
    }),
  ];
}

/** The evidence that is named for an input. */
export function evidenceOf(
  { input, of }: Pick<DeclaredInput, 'input' | 'of'>,
  evidence: readonly Evidence[],
): Evidence[] {
  return evidence.filter((each) => each.input === input && each.of === of);
}

/** `pue of example`: a value that changed in between is one input. */
export function nameOf({ input, of }: Pick<DeclaredInput, 'input' | 'of'>): string {
  return `${input} of ${of}`;
}
