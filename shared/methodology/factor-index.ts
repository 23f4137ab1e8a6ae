import { digestOf, type JsonObject } from '#shared/kernel/canonical-json.ts';
import type {
  FactorSet,
  GridRecord,
  HardwareRecord,
  ModelClassRecord,
  ModelRecord,
  SiteRecord,
  Source,
  UnknownSiteRecord,
} from './factor-set.ts';

/** Any record that a measurement can name as an input. */
export type InputRecord =
  | GridRecord
  | SiteRecord
  | UnknownSiteRecord
  | ModelRecord
  | ModelClassRecord
  | HardwareRecord;

/** Looks records up by id or alias without regard to case, and knows each record's digest. */
export class FactorIndex {
  readonly set: FactorSet;
  readonly #grid: ReadonlyMap<string, GridRecord>;
  readonly #sites = new Map<string, SiteRecord>();
  readonly #models = new Map<string, ModelRecord>();
  readonly #classes: ReadonlyMap<string, ModelClassRecord>;
  readonly #sources: ReadonlyMap<string, Source>;
  readonly #flags: ReadonlyMap<string, string>;
  readonly #digests = new Map<InputRecord, string>();

  constructor(set: FactorSet) {
    this.set = set;
    this.#grid = new Map(set.grid.map((record) => [record.id, record]));
    this.#classes = new Map(set.model_classes.map((record) => [record.id, record]));
    this.#sources = new Map(set.sources.map((source) => [source.id, source]));
    this.#flags = new Map(set.flags.map(({ code, meaning }) => [code, meaning]));
    for (const record of set.sites) enter(this.#sites, record);
    for (const record of set.models) enter(this.#models, record);
  }

  grid(zone: string): GridRecord | undefined {
    return this.#grid.get(zone);
  }

  site(operator: string): SiteRecord | undefined {
    return this.#sites.get(operator.toLowerCase());
  }

  model(ref: string): ModelRecord | undefined {
    return this.#models.get(ref.toLowerCase());
  }

  modelClass(ref: string): ModelClassRecord | undefined {
    return this.#classes.get(ref);
  }

  hardware(id: string): HardwareRecord | undefined {
    return this.set.hardware.find((record) => record.id === id);
  }

  /** base64url SHA-256 of the record's canonical JSON. */
  digest(record: InputRecord): string {
    const known = this.#digests.get(record);
    if (known !== undefined) return known;
    const digest = digestOf(json(record));
    this.#digests.set(record, digest);
    return digest;
  }

  sources(ids: readonly string[]): readonly Source[] {
    return ids.flatMap((id) => this.#sources.get(id) ?? []);
  }

  /** The sources of one column of one record: those of the column that the record cites too. */
  columnSources(
    column: string,
    record: { readonly sources: readonly string[] },
  ): readonly Source[] {
    const field = this.set.fields.find(({ name }) => name === column);
    const shared = record.sources.filter((id) => field?.sources.includes(id));
    return this.sources(shared.length === 0 ? record.sources : shared);
  }

  /** The year that a column's figures are for. */
  columnYear(column: string): string {
    return this.set.fields.find(({ name }) => name === column)?.year ?? 'not stated';
  }

  meaning(flag: string): string {
    return this.#flags.get(flag) ?? flag;
  }
}

/** A record as JSON: it was parsed from JSON, so it is JSON. */
export function json(record: InputRecord): JsonObject {
  return record;
}

function enter<R extends { readonly id: string; readonly aliases: readonly string[] }>(
  into: Map<string, R>,
  record: R,
): void {
  for (const name of [record.id, ...record.aliases]) into.set(name.toLowerCase(), record);
}
