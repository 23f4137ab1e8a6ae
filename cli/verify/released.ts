import { canonicalJson, digestOf, type Json } from '#shared/kernel/canonical-json.ts';
import { digestIn } from '#shared/kernel/multihash.ts';
import { FROZEN_FACTOR_SETS, FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import type { Methodologies } from '#shared/methodology/releases.ts';
import { canonicalValue } from './canonical-text.ts';

/** Where the documents of what was released are looked up. */
export type ReleasedDocuments = Pick<Methodologies, 'methodologyDocument'>;

/** A methodology that receipts cite, and no release that is known here has: the word of the operator. */
export interface UnreleasedMethodology {
  name: string;
  version: string;
  /** Multihash of its document. */
  digest: string;
  /** The factor set of a release that it computes with, unchanged; null where its factors are its own as well. */
  releasedFactors: string | null;
  /** The release that it is nearest to; null where none is of its name. */
  nearest: string | null;
  differences: readonly MethodologyDifference[];
  /** Further differences, which are not listed. */
  more: number;
}

/** A value that differs from the release. Text of others: to be shown with care. */
interface MethodologyDifference {
  /** E.g. `grid.FRA.gwp_kgco2e_per_kwh`. */
  place: string;
  /** Null where one side has nothing. */
  stated: string | null;
  released: string | null;
  /** What the operator's document cites for it. */
  sources: readonly string[];
}

/** The release that has a name, if there is one. */
export function releaseNamed(name: string, version: string): { digest: string } | undefined {
  return FROZEN_METHODOLOGIES.find((each) => each.id === name && each.version === version);
}

/** Whether a release has a document of this multihash. */
export function isReleased(multihash: string): boolean {
  const digest = digestIn(multihash);
  return FROZEN_METHODOLOGIES.some((each) => each.digest === digest);
}

/** What the document of a methodology says that the nearest release does not. */
export function compareWithRelease(
  { name, version, digest }: Pick<UnreleasedMethodology, 'name' | 'version' | 'digest'>,
  text: string,
  { methodologyDocument }: ReleasedDocuments,
): UnreleasedMethodology {
  const own = canonicalValue(text);
  const found = FROZEN_METHODOLOGIES.filter(({ id }) => id === name)
    .flatMap((each) => {
      const document = methodologyDocument(each.id, each.version);
      return document?.digest === each.digest ? [document] : [];
    })
    .map((document) => {
      const comparison = new Comparison(own);
      comparison.compare(own, canonicalValue(document.text));
      return { nearest: `${document.id} ${document.version}`, comparison };
    })
    .toSorted((one, other) => one.comparison.count - other.comparison.count)[0];
  const { differences, more } = found?.comparison.listed() ?? { differences: [], more: 0 };
  return {
    name,
    version,
    digest,
    releasedFactors: releasedFactorsIn(own),
    nearest: found?.nearest ?? null,
    differences,
    more,
  };
}

/**
 * Names of the records of the factor set in a methodology's document, by their digests; undefined where it holds none,
 * `malformed` for what is no such document.
 */
export function recordsIn(text: string): ReadonlyMap<string, unknown> | undefined | 'malformed' {
  const document = canonicalValue(text);
  if (document === undefined) return 'malformed';
  const content = member(member(document, 'factor_set'), 'content');
  if (content === undefined) return undefined;
  const lists = ['grid', 'sites', 'models', 'model_classes', 'hardware'].map((list) =>
    member(content, list),
  );
  const records = [...lists.flatMap(listOf), member(content, 'unknown_site') ?? null];
  return new Map(records.map((each) => [digestOf(each), member(each, 'id')]));
}

function releasedFactorsIn(document: Json | undefined): string | null {
  const content = member(member(document, 'factor_set'), 'content');
  if (content === undefined) return null;
  const digest = digestOf(content);
  return FROZEN_FACTOR_SETS.find((each) => each.digest === digest)?.version ?? null;
}

/** What a document has beside its content: its name, and what is written of its history. */
const ASIDE = new Set([
  'changelog',
  'factor_set.content.version',
  'factor_set.digest',
  'factor_set.version',
  'sources',
  'version',
]);
/** What a person reads of one document; the rest is counted. */
const LISTED_MAX = 20;
const VALUE_CHARS_MAX = 80;
const SOURCES_MAX = 3;

/** Goes through two documents side by side. */
class Comparison {
  readonly #own: Json | undefined;
  /** Figures are what estimates follow from: they are listed first. */
  readonly #figures: MethodologyDifference[] = [];
  readonly #others: MethodologyDifference[] = [];
  count = 0;

  constructor(own: Json | undefined) {
    this.#own = own;
  }

  listed(): { differences: MethodologyDifference[]; more: number } {
    const differences = [...this.#figures, ...this.#others].slice(0, LISTED_MAX);
    return { differences, more: this.count - differences.length };
  }

  compare(
    own: Json | undefined,
    released: Json | undefined,
    path: readonly string[] = [],
    cited: readonly string[] = [],
  ): void {
    const [mine, theirs] = [membersOf(own), membersOf(released)];
    if (mine === undefined || theirs === undefined) {
      if (written(own) !== written(released)) this.#note({ own, released }, path, cited);
      return;
    }
    const sources = member(own, 'sources');
    const citedHere = Array.isArray(sources) ? sources.filter(isText) : cited;
    for (const name of new Set([...mine.keys(), ...theirs.keys()])) {
      const inner = [...path, name];
      if (ASIDE.has(inner.join('.'))) continue;
      this.compare(mine.get(name), theirs.get(name), inner, citedHere);
    }
  }

  #note(
    { own, released }: { own: Json | undefined; released: Json | undefined },
    path: readonly string[],
    cited: readonly string[],
  ): void {
    this.count += 1;
    const list = typeof own === 'number' ? this.#figures : this.#others;
    if (list.length >= LISTED_MAX) return;
    list.push({
      place: short(path.join('.').replace(/^factor_set\.content\./, '')),
      stated: own === undefined ? null : short(written(own)),
      released: released === undefined ? null : short(written(released)),
      sources: this.#sources(path.at(-1) ?? '', cited)
        .slice(0, SOURCES_MAX)
        .map(short),
    });
  }

  /** Those of the column that the record cites too, as lineage names them. */
  #sources(column: string, cited: readonly string[]): string[] {
    const set = member(member(this.#own, 'factor_set'), 'content');
    const field = listOf(member(set, 'fields')).find((each) => member(each, 'name') === column);
    const ofColumn = listOf(member(field, 'sources'));
    const shared = cited.filter((id) => ofColumn.includes(id));
    const wanted = shared.length === 0 ? cited : shared;
    return listOf(member(set, 'sources'))
      .filter((each) => wanted.some((id) => member(each, 'id') === id))
      .map((each) => member(each, 'citation'))
      .filter(isText);
  }
}

/** Members of an object, and records of a list by what they are called; undefined for what has neither. */
function membersOf(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const named = value.map((each: Json) => [nameOf(each), each] as const);
  const names = new Set(named.map(([name]) => name));
  if (names.size !== value.length || names.has(undefined)) return undefined;
  return new Map(named as [string, Json][]);
}

function nameOf(value: Json): string | undefined {
  return ['id', 'symbol', 'code', 'name'].map((key) => member(value, key)).find(isText);
}

function written(value: Json | undefined): string {
  return value === undefined ? '' : typeof value === 'string' ? value : canonicalJson(value);
}

function short(text: string): string {
  const characters = Array.from(text.slice(0, 2 * VALUE_CHARS_MAX));
  const isCut = characters.length > VALUE_CHARS_MAX;
  return isCut ? `${characters.slice(0, VALUE_CHARS_MAX - 1).join('')}…` : text;
}

function member(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, Json>)[name] : undefined;
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string';
}
