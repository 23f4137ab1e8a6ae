import Type, { type Static, type TNumberOptions, type TProperties, type TSchema } from 'typebox';

/**
 * The versioned factor set as it is shipped: every figure that a methodology takes from the outside world, field by field.
 * From this follow its type and its check; what one field must be because of another is checked by `parseFactorSet`,
 * which is the only way to get a factor set.
 *
 * Names are those of the JSON file, so that a record here and a record in a lineage document are the same thing; the
 * unit comes last in the name.
 */

/** Long enough for any note or citation; a longer text is a file gone wrong. */
const TEXT_LENGTH_MAX = 2_000;
/** Several times the longest table shipped (86 models). */
const ITEMS_MAX = 10_000;

/** A trillion times a billion parameters is no model; a larger factor per kWh is no grid. They catch slipped units. */
export const SIZE_B_MAX = 100_000;
const GWP_MAX = 5;
const ADPE_MAX = 1e-5;
const ADPF_MAX = 100;
const WATER_MAX = 200;
const PUE_MAX = 10;
const WUE_MAX = 50;
const FACTOR_MAX = 100;
const ANCHOR_MAX = 1e6;

const text = Type.String({
  maxLength: TEXT_LENGTH_MAX,
  pattern: String.raw`^\s*[^\s\p{Surrogate}]\P{Surrogate}*$`,
  'x-expected': `well-formed text of 1 to ${TEXT_LENGTH_MAX} characters that is not blank`,
});

const spelt = (pattern: string, meaning: string) => Type.String({ pattern, 'x-expected': meaning });

/** An object with these fields and no others. */
const record = <P extends TProperties>(fields: P) =>
  Type.Object(fields, { additionalProperties: false });

const list = <S extends TSchema>(item: S, minItems: number) =>
  Type.Array(item, { minItems, maxItems: ITEMS_MAX });

const names = list(text, 0);
const sourceId = spelt('^S[0-9]{1,3}$', 'S and the number of a source');
const cited = list(sourceId, 1);

const above = (exclusiveMinimum: number, maximum?: number) =>
  Type.Number({ exclusiveMinimum, ...(maximum !== undefined && { maximum }) });
const positive = above(0);
const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });

/** A closed interval, min <= max. */
const rangeOf = (bounds: TNumberOptions) =>
  record({ min: Type.Number(bounds), max: Type.Number(bounds) });
const valueOrRange = (bounds: TNumberOptions) => Type.Union([Type.Number(bounds), rangeOf(bounds)]);

const PUE = { minimum: 1, maximum: PUE_MAX };
const WUE = { minimum: 0, maximum: WUE_MAX };
/** Billions of parameters. */
const size = valueOrRange({ exclusiveMinimum: 0, maximum: SIZE_B_MAX });

const Source = record({ id: sourceId, citation: text, licence: text });

const Field = record({ name: text, unit: text, meaning: text, year: text, sources: names });

/** One grid zone; the figures are per kWh of electricity consumed. */
const GridRecord = record({
  /** ISO 3166-1 alpha-3, or `WOR` (world) and `EEE` (Europe). */
  id: spelt('^[A-Z]{3}$', 'a code of three capital letters'),
  name: Type.Optional(text),
  gwp_kgco2e_per_kwh: above(0, GWP_MAX),
  adpe_kgsbe_per_kwh: above(0, ADPE_MAX),
  adpf_mj_per_kwh: above(0, ADPF_MAX),
  water_l_per_kwh: Type.Number({ minimum: 0, maximum: WATER_MAX }),
  sources: cited,
  flags: names,
});

const SiteRecord = record({
  id: text,
  name: text,
  aliases: names,
  pue: valueOrRange(PUE),
  wue_l_per_kwh: Type.Optional(valueOrRange(WUE)),
  year: text,
  sources: cited,
  note: Type.Optional(text),
});

const UnknownSiteRecord = record({
  id: text,
  name: text,
  pue: rangeOf(PUE),
  wue_l_per_kwh: rangeOf(WUE),
  basis: text,
  year: text,
  sources: cited,
});

export const PRECISIONS = ['bf16', 'fp16', 'fp8', 'int8', 'fp4', 'int4'] as const;
export type Precision = (typeof PRECISIONS)[number];

const kvFields = {
  layers: whole(1, 10_000),
  value_bytes: whole(1, 8),
  query_heads: whole(1, 10_000),
  /** Follow from the other fields, and are checked. */
  bytes_per_token: whole(1, 1e9),
  operations_per_pair: whole(1, 1e12),
  sources: cited,
};

/** What a token leaves in the key/value cache, and what attention computes for it and each token before it. */
const KvLayout = Type.Union([
  record({
    layout: Type.Literal('grouped'),
    kv_heads: whole(1, 10_000),
    head_dim: whole(1, 100_000),
    ...kvFields,
  }),
  record({
    layout: Type.Literal('latent'),
    latent_dim: whole(1, 1_000_000),
    key_dim: whole(1, 100_000),
    value_dim: whole(1, 100_000),
    ...kvFields,
  }),
]);

const ModelRecord = record({
  id: text,
  aliases: names,
  developer: text,
  architecture: Type.Enum(['dense', 'moe']),
  /** Used per token, and held in memory. */
  active_b: size,
  total_b: size,
  confidence: Type.Enum(['published', 'guess']),
  /** The precision in which the weights are published, where it is not 16 bits. */
  released_precision: Type.Optional(Type.Enum([...PRECISIONS])),
  kv: Type.Optional(KvLayout),
  sources: cited,
  flags: names,
  note: Type.Optional(text),
});

/** A size for models of which only the class is known. */
const ModelClassRecord = record({
  id: spelt('^class:[a-z]+$', 'class: and a name'),
  name: text,
  total_b_above: Type.Number({ minimum: 0, maximum: SIZE_B_MAX }),
  total_b_up_to: Type.Optional(above(0, SIZE_B_MAX)),
  active_b: above(0, SIZE_B_MAX),
  total_b: above(0, SIZE_B_MAX),
  /** 90 % factor of the size within the class. */
  size_factor: above(1, FACTOR_MAX),
  members: whole(1, 10_000),
  basis: text,
});

const EmbodiedImpacts = record({
  gwp_kgco2e: positive,
  adpe_kgsbe: positive,
  pe_mj: positive,
  sources: cited,
});

const HardwareRecord = record({
  id: text,
  name: text,
  gpus_per_server: whole(1, 1_000),
  gpu_memory_gb: positive,
  gpu_tdp_w: positive,
  gpu_embodied: EmbodiedImpacts,
  /** The server without its GPUs. */
  server_embodied: EmbodiedImpacts,
  lifetime_s: positive,
  sources: cited,
  flags: names,
});

const AlternativeImpacts = record({
  id: text,
  gwp_kgco2e: positive,
  adpe_kgsbe: Type.Optional(positive),
  pe_mj: Type.Optional(positive),
  adpf_mj: Type.Optional(positive),
  sources: cited,
  note: Type.Optional(text),
});

/** A 90 % factor: the truth lies between value / factor and value * factor in nine cases of ten. */
const UncertaintyRecord = record({
  id: text,
  factor: above(1, FACTOR_MAX),
  basis: text,
  sources: cited,
});

const anchorFigure = Type.Optional(above(0, ANCHOR_MAX));

/** A figure that others have published for a whole request, to hold a result against. */
const AnchorRecord = record({
  id: text,
  what: text,
  scope: text,
  energy_wh: anchorFigure,
  energy_wh_low: anchorFigure,
  energy_wh_high: anchorFigure,
  j_per_token: anchorFigure,
  gwp_g: anchorFigure,
  water_ml: anchorFigure,
  adpe_mg: anchorFigure,
  year: whole(2020, 2100),
  sources: cited,
  note: Type.Optional(text),
});

/**
 * `2026-12` and `2026-12.2` are names of releases; an operator's own set has a name behind them, `2026-12-acme`, so that
 * receipts never cite it under the name of a release.
 */
export const FACTOR_SET_VERSION = String.raw`^[0-9]{4}-[0-9]{2}(?:\.[0-9]{1,3})?(?:-[a-z][a-z0-9]{0,31})?$`;

export const FACTOR_SET_FORMAT = record({
  schema: Type.Literal('docket-factor-set/1'),
  version: spelt(
    FACTOR_SET_VERSION,
    'a year and month, with a number after a point if there are several, and -<name> if it is an operator’s own',
  ),
  compiled: spelt('^[0-9]{4}-[0-9]{2}$', 'a year and month'),
  description: text,
  licence_note: text,
  attributions: list(text, 1),
  sources: list(Source, 1),
  flags: list(record({ code: spelt('^[a-z_]+$', 'lower-case words'), meaning: text }), 0),
  /** What the columns of `grid`, `sites` and `models` mean. */
  fields: list(Field, 1),
  grid: list(GridRecord, 1),
  sites: list(SiteRecord, 0),
  unknown_site: UnknownSiteRecord,
  models: list(ModelRecord, 1),
  model_classes: list(ModelClassRecord, 0),
  hardware: list(HardwareRecord, 1),
  /** Published elsewhere, kept for comparison; no methodology reads them. */
  alternatives: record({
    note: text,
    gpus: list(AlternativeImpacts, 0),
    servers: list(AlternativeImpacts, 0),
  }),
  uncertainty: list(UncertaintyRecord, 0),
  anchors: list(AnchorRecord, 0),
});

/** A factor set is shared by all that estimate, so no part of it may be written to. */
type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;

export type FactorSet = Immutable<Static<typeof FACTOR_SET_FORMAT>>;
export type Source = FactorSet['sources'][number];
export type GridRecord = FactorSet['grid'][number];
export type SiteRecord = FactorSet['sites'][number];
export type UnknownSiteRecord = FactorSet['unknown_site'];
export type ModelRecord = FactorSet['models'][number];
export type KvLayout = NonNullable<ModelRecord['kv']>;
export type ModelClassRecord = FactorSet['model_classes'][number];
export type HardwareRecord = FactorSet['hardware'][number];
export type AnchorRecord = FactorSet['anchors'][number];
export type ValueOrRange = ModelRecord['total_b'];
export type Range = UnknownSiteRecord['pue'];

/** Lower and upper end of a value or range. */
export function ends(value: ValueOrRange): Range {
  return typeof value === 'number' ? { min: value, max: value } : value;
}
