/**
 * The table of docs/receipts.md that says what the records of an estimate hold, which receipts and derivation records
 * carry as flat members. Their names are those of records that the methodology makes here: a member without a meaning, and a
 * meaning without a member, is an error.
 */
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';

const MEANINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  UsageRecord: {
    attempts:
      'calls that were made, each counted as if it had used as much as the one that answered',
    cached_input_tokens: 'the part of `input_tokens` that the upstream had cached',
    input_tokens: 'tokens of the prompt',
    input_tokens_lower:
      'with the three beside it: between what the counts lie where the service counted (`tokenInterval` of the inference); absent where the counts have no error. Ends of the estimate’s interval are computed with these, medians with the counts',
    input_tokens_upper: 'see `input_tokens_lower`',
    latency_s:
      'seconds from the arrival of the request to its end (`endedAt` less `startedAt`); there only where `upstream_s` is not, and then in its place',
    measured_joules:
      'joules of the GPUs for one attempt as a meter counted them: what was attributed to the request, divided by `attempts`. On a revision with `measurement.metered`; all of it, in microjoules, stands in the interval that this names',
    output_tokens: 'tokens of all choices; 0 for embeddings',
    output_tokens_lower: 'see `input_tokens_lower`',
    output_tokens_upper: 'see `input_tokens_lower`',
    route: 'the operation',
    stated_beyond:
      'the bound of physics that `stated_joules` breaks, so that they were not used: `token_energy`, `idle_power` or `full_power`',
    stated_joules: 'joules of the GPUs for one attempt as the upstream states them of itself',
    upstream_s:
      'seconds from the upstream call that was answered to the last byte of its answer (`upstreamMs`): how long the hardware can have worked at most, waits for a slow client included',
    usage_source: '`upstream` or `counted`: who counted the tokens',
  },
  'GridFactor of an hour': {
    gwp_kgco2e_per_kwh: 'greenhouse gas of the hour; everything else stays annual',
    hour: 'start of the hour in UTC in which the request began',
    provider: 'who publishes it, by the word of the operator',
    signal: 'what it is, with `, estimated` behind it where the provider says so',
    version: 'multihash of the file that was imported',
    zone: 'the grid zone',
  },
  'HardwareRecord `replica`': {
    batch: 'sequences that are answered at once',
    batch_basis:
      '`catalogue`, the operator states it; `assumed`, nobody does: it is taken to be 64, and 16 to 256 are in the interval',
    gpus: 'GPUs that one copy of the model is served on',
    gpus_basis: '`catalogue`, the operator states it; `computed` from the size of the weights',
    precision: 'of the weights as they are served',
    precision_basis:
      '`catalogue`, the operator states it; `model_record`, as the weights were published; `assumed`',
  },
  'SiteFactor that the catalogue declares': {
    declared_by: '`catalogue`',
    operator: 'who runs the data centre',
    pue: 'power usage effectiveness. In the factor set a number, or `min` and `max` of an operator that states none: the median is then computed with the geometric mean of both',
    wue_l_per_kwh:
      'water on site for each kWh of the machines. In the factor set a number, or `min` and `max`: then with their arithmetic mean, since it may be 0',
  },
  'ModelRecord that the catalogue declares': {
    active_b: 'parameters used for a token, in billions',
    declared_by: '`catalogue`',
    id: 'the model',
    total_b: 'parameters in memory, in billions',
  },
  'ModelRecord of the factor set': {
    'kv.bytes_per_token':
      'bytes of the cache that attention reads for each token of context and each sequence. Absent where the layout is not published: then what long contexts take to compute and to read is not counted, the lineage says `context_energy_unknown`, and a stated batch cannot be held against memory, so that it is not T2',
    'kv.operations_per_pair':
      'operations of attention for a token of the prompt and one before it: two for each number of a key and of a value, in each head and layer',
  },
};

/** Rows of: where the record stands, its member, what that says. */
export function recordRows(): string[][] {
  const found = membersOfRecords();
  for (const [record, members] of Object.entries(MEANINGS)) {
    const named = Object.keys(members).toSorted().join();
    const made = [...(found.get(record) ?? [])].toSorted().join();
    if (named !== made) throw new Error(`${record} has the members ${made}, not ${named}`);
  }
  return Object.entries(MEANINGS).flatMap(([record, members]) =>
    Object.entries(members).map(([name, meaning]) => [record, `\`${name}\``, meaning]),
  );
}

/** Of estimates that between them take every turn. */
function membersOfRecords(): Map<string, Set<string>> {
  const usage = { inputTokens: 3_000, cachedInputTokens: 1, outputTokens: 9 };
  const tokenInterval = { inputLower: 1, inputUpper: 4_000, outputLower: 1, outputUpper: 20 };
  const asked = { route: 'chat.completions', zone: 'FRA', attempts: 1, latencyS: 2 } as const;
  const gridSignal = {
    hour: '2026-11-20T13:00:00Z',
    provider: 'a provider',
    signal: 'a signal',
    version: 'a version',
    gwpKgco2ePerKwh: 0.04,
  };
  const footprint = { activeB: 8, totalB: 8 };
  const site = { operator: 'example', pue: 1.2, wue: 0.1 };
  const inputs: EstimateInput[] = [
    {
      ...asked,
      usage: { ...usage, source: 'counted', tokenInterval },
      model: { id: 'a model', footprint },
      site,
      gridSignal,
      upstreamS: 1,
    },
    {
      ...asked,
      usage: { ...usage, source: 'upstream', statedJoules: 1e12 },
      model: { id: 'a model', footprint },
      site,
    },
    {
      ...asked,
      usage: { ...usage, source: 'upstream' },
      model: { id: 'a model', footprint },
      site,
      meteredJoules: 3,
    },
  ];
  const found = new Map<string, Set<string>>();
  const add = (record: string, names: readonly string[]): void => {
    found.set(record, new Set([...(found.get(record) ?? []), ...names]));
  };
  for (const input of inputs) {
    for (const { kind, id, record } of shippedMethodologies().current.estimate(input).inputs) {
      if (record === undefined) continue;
      const name = nameOf(kind, id);
      if (name !== undefined) add(name, Object.keys(record));
    }
  }
  const kv = newestFactorSet().models.flatMap(({ kv: layout }) => Object.keys(layout ?? {}));
  const ofAttention = ['bytes_per_token', 'operations_per_pair'].filter((each) =>
    kv.includes(each),
  );
  add(
    'ModelRecord of the factor set',
    ofAttention.map((each) => `kv.${each}`),
  );
  return found;
}

function nameOf(kind: string, id: string): string | undefined {
  if (kind === 'usage') return 'UsageRecord';
  if (kind === 'grid') return 'GridFactor of an hour';
  if (kind === 'site') return 'SiteFactor that the catalogue declares';
  if (kind === 'model') return 'ModelRecord that the catalogue declares';
  return id === 'replica' ? 'HardwareRecord `replica`' : undefined;
}
