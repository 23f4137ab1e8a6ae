import { MalformedData } from '#shared/kernel/malformed-data.ts';
import {
  ends,
  type FactorSet,
  type KvLayout,
  PRECISIONS,
  type ValueOrRange,
} from './factor-set.ts';
import {
  asObject,
  integer,
  list,
  number,
  oneOf,
  pattern,
  record,
  type Shape,
  text,
} from './shape.ts';

/** A trillion times a billion parameters is no model; a larger factor per kWh is no grid. They catch slipped units. */
const SIZE_B_MAX = 100_000;
const GWP_MAX = 5;
const ADPE_MAX = 1e-5;
const ADPF_MAX = 100;
const WATER_MAX = 200;
const PUE_MAX = 10;
const WUE_MAX = 50;
const FACTOR_MAX = 100;

const names = list(text, 0);
const cited = list(pattern(/^S\d{1,3}$/, 'the id of a source'), 1);
const positive = number({ above: 0 });

/** A number, or a range with min <= max. */
function valueOrRange(limit: { from?: number; above?: number; to: number }): Shape {
  const one = number(limit);
  const range = rangeOf(limit);
  return (value, path) => (typeof value === 'number' ? one(value, path) : range(value, path));
}

function rangeOf(limit: { from?: number; above?: number; to: number }): Shape {
  const both = record({ min: number(limit), max: number(limit) });
  return (value, path) => {
    both(value, path);
    const { min, max } = value as { min: number; max: number };
    if (min > max) throw new MalformedData('wrong_value', `${path}.max`, 'is below min');
  };
}

const size = valueOrRange({ above: 0, to: SIZE_B_MAX });
const pue = { from: 1, to: PUE_MAX };
const wue = { from: 0, to: WUE_MAX };

const grid = record(
  {
    id: pattern(/^[A-Z]{3}$/, 'a code of three capital letters'),
    gwp_kgco2e_per_kwh: number({ above: 0, to: GWP_MAX }),
    adpe_kgsbe_per_kwh: number({ above: 0, to: ADPE_MAX }),
    adpf_mj_per_kwh: number({ above: 0, to: ADPF_MAX }),
    water_l_per_kwh: number({ from: 0, to: WATER_MAX }),
    sources: cited,
    flags: names,
  },
  { name: text },
);

const site = record(
  { id: text, name: text, aliases: names, pue: valueOrRange(pue), year: text, sources: cited },
  { wue_l_per_kwh: valueOrRange(wue), note: text },
);

const kvCommon = {
  layers: integer(1, 10_000),
  value_bytes: integer(1, 8),
  bytes_per_token: integer(1, 1e9),
  sources: cited,
};
const kvGrouped = record({
  ...kvCommon,
  layout: oneOf(['grouped']),
  kv_heads: integer(1, 10_000),
  head_dim: integer(1, 100_000),
});
const kvLatent = record({
  ...kvCommon,
  layout: oneOf(['latent']),
  latent_dim: integer(1, 1_000_000),
});
const kv: Shape = (value, path) => {
  const { layout } = asObject(value, path);
  oneOf(['grouped', 'latent'])(layout, `${path}.layout`);
  (layout === 'latent' ? kvLatent : kvGrouped)(value, path);
  if ((value as KvLayout).bytes_per_token !== kvBytes(value as KvLayout)) {
    throw new MalformedData(
      'wrong_value',
      `${path}.bytes_per_token`,
      'does not follow from the layout',
    );
  }
};

function kvBytes(layout: KvLayout): number {
  // A grouped layout keeps a key and a value per head, a latent one a single vector for both.
  const values =
    layout.layout === 'latent' ? layout.latent_dim : 2 * layout.kv_heads * layout.head_dim;
  return layout.layers * values * layout.value_bytes;
}

const modelFields = record(
  {
    id: text,
    aliases: names,
    developer: text,
    architecture: oneOf(['dense', 'moe']),
    active_b: size,
    total_b: size,
    confidence: oneOf(['published', 'guess']),
    sources: cited,
    flags: names,
  },
  { released_precision: oneOf(PRECISIONS), kv, note: text },
);
const model: Shape = (value, path) => {
  modelFields(value, path);
  const fields = value as { active_b: ValueOrRange; total_b: ValueOrRange; architecture: string };
  const active = ends(fields.active_b);
  const total = ends(fields.total_b);
  if (active.min > total.min || active.max > total.max) {
    throw new MalformedData('wrong_value', `${path}.active_b`, 'is above total_b');
  }
  if (fields.architecture === 'dense' && (active.min !== total.min || active.max !== total.max)) {
    throw new MalformedData(
      'wrong_value',
      `${path}.active_b`,
      'of a dense model must equal total_b',
    );
  }
};

const modelClassFields = record(
  {
    id: pattern(/^class:[a-z]+$/, 'class: and a name'),
    name: text,
    total_b_above: number({ from: 0, to: SIZE_B_MAX }),
    active_b: number({ above: 0, to: SIZE_B_MAX }),
    total_b: number({ above: 0, to: SIZE_B_MAX }),
    size_factor: number({ above: 1, to: FACTOR_MAX }),
    members: integer(1, 10_000),
    basis: text,
  },
  { total_b_up_to: number({ above: 0, to: SIZE_B_MAX }) },
);
const modelClass: Shape = (value, path) => {
  modelClassFields(value, path);
  const fields = value as FactorSet['model_classes'][number];
  if (fields.active_b > fields.total_b) {
    throw new MalformedData('wrong_value', `${path}.active_b`, 'is above total_b');
  }
  if (
    fields.total_b <= fields.total_b_above ||
    fields.total_b > (fields.total_b_up_to ?? SIZE_B_MAX)
  ) {
    throw new MalformedData('wrong_value', `${path}.total_b`, 'lies outside its own class');
  }
};

const embodied = record({
  gwp_kgco2e: positive,
  adpe_kgsbe: positive,
  pe_mj: positive,
  sources: cited,
});
const hardware = record({
  id: text,
  name: text,
  gpus_per_server: integer(1, 1_000),
  gpu_memory_gb: positive,
  gpu_tdp_w: positive,
  gpu_embodied: embodied,
  server_embodied: embodied,
  lifetime_s: positive,
  sources: cited,
  flags: names,
});

const alternative = record(
  { id: text, gwp_kgco2e: positive, sources: cited },
  { adpe_kgsbe: positive, pe_mj: positive, adpf_mj: positive, note: text },
);

const anchorFigure = number({ above: 0, to: 1e6 });
const anchor = record(
  { id: text, what: text, scope: text, year: integer(2020, 2100), sources: cited },
  {
    energy_wh: anchorFigure,
    energy_wh_low: anchorFigure,
    energy_wh_high: anchorFigure,
    j_per_token: anchorFigure,
    gwp_g: anchorFigure,
    water_ml: anchorFigure,
    adpe_mg: anchorFigure,
    note: text,
  },
);

/** The shape of a factor set file, field by field; references between records are checked by `parseFactorSet`. */
export const FACTOR_SET_SHAPE: Shape = record({
  schema: oneOf(['docket-factor-set/1']),
  version: pattern(
    /^\d{4}-\d{2}(?:\.\d{1,3})?$/,
    'a year and month, with a number after a point if there are several',
  ),
  compiled: pattern(/^\d{4}-\d{2}$/, 'a year and month'),
  description: text,
  licence_note: text,
  attributions: list(text, 1),
  sources: list(
    record({ id: pattern(/^S\d{1,3}$/, 'S and a number'), citation: text, licence: text }),
    1,
  ),
  flags: list(record({ code: pattern(/^[a-z_]+$/, 'lower-case words'), meaning: text }), 0),
  fields: list(
    record({ name: text, unit: text, meaning: text, year: text, sources: list(text, 0) }),
    1,
  ),
  grid: list(grid, 1),
  sites: list(site, 0),
  unknown_site: record({
    id: text,
    name: text,
    pue: rangeOf(pue),
    wue_l_per_kwh: rangeOf(wue),
    basis: text,
    year: text,
    sources: cited,
  }),
  models: list(model, 1),
  model_classes: list(modelClass, 0),
  hardware: list(hardware, 1),
  alternatives: record({ note: text, gpus: list(alternative, 0), servers: list(alternative, 0) }),
  uncertainty: list(
    record({ id: text, factor: number({ above: 1, to: FACTOR_MAX }), basis: text, sources: cited }),
    0,
  ),
  anchors: list(anchor, 0),
});
