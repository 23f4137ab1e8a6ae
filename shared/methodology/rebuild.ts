import type { Footprint } from '#shared/catalogue/catalogue.ts';
import type { Route, Usage } from '#shared/kernel/inference.ts';
import type { CarriedRecord, MeasurementInput } from './measurement.ts';
import { parseDecimal } from '#shared/kernel/decimal.ts';
import type { Precision } from './factor-set.ts';
import type { EstimateInput, GridSignal, Site } from './methodology.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/**
 * What an estimate was made from, read back from the inputs of its measurement: records that are not in the
 * factor set carry their content, the others their id. Untrusted: estimating again and comparing the digests
 * shows whether it is what was signed.
 * Throws MalformedData, naming the input, when a record that should be carried is missing or malformed.
 */
export function rebuildInput(inputs: readonly MeasurementInput[]): EstimateInput {
  const usage = carried(inputs, 'usage', () => true);
  const { path } = usage;
  const upstreamS = decimal(usage, 'upstream_s');
  const latencyS = decimal(usage, 'latency_s');
  const meteredJoules = decimal(usage, 'measured_joules');
  const statedJoules = decimal(usage, 'stated_joules');
  const zone = inputs.find(({ kind, record }) => kind === 'grid' && record === undefined);
  if (zone === undefined) throw new MalformedData('missing_field', 'inputs', 'name no grid zone');
  const gridSignal = signalOf(inputs);
  return {
    usage: {
      inputTokens: whole(usage, 'input_tokens'),
      cachedInputTokens: whole(usage, 'cached_input_tokens'),
      outputTokens: whole(usage, 'output_tokens'),
      source: text(usage, 'usage_source') as Usage['source'],
      ...intervalOf(usage),
      ...(statedJoules === undefined ? {} : { statedJoules }),
    },
    ...(meteredJoules === undefined ? {} : { meteredJoules }),
    route: text({ record: usage.record, path }, 'route') as Route,
    attempts: whole(usage, 'attempts'),
    ...(upstreamS === undefined ? {} : { upstreamS }),
    ...(latencyS === undefined ? {} : { latencyS }),
    model: modelOf(inputs),
    zone: zone.id,
    site: siteOf(inputs),
    ...(gridSignal === undefined ? {} : { gridSignal }),
  };
}

function intervalOf(usage: Carried): Pick<Usage, 'tokenInterval'> {
  if (usage.record['input_tokens_lower'] === undefined) return {};
  return {
    tokenInterval: {
      inputLower: whole(usage, 'input_tokens_lower'),
      inputUpper: whole(usage, 'input_tokens_upper'),
      outputLower: whole(usage, 'output_tokens_lower'),
      outputUpper: whole(usage, 'output_tokens_upper'),
    },
  };
}

interface Carried {
  readonly record: CarriedRecord;
  readonly path: string;
}

function modelOf(inputs: readonly MeasurementInput[]): EstimateInput['model'] {
  const model = inputs.find(({ kind }) => kind === 'model');
  if (model === undefined) throw new MalformedData('missing_field', 'inputs', 'name no model');
  const replica = carried(inputs, 'hardware', ({ id }) => id === 'replica');
  const stated = (basis: string): boolean => replica.record[basis] === 'catalogue';
  const batch = stated('batch_basis') ? decimal(replica, 'batch') : undefined;
  const served: Footprint = {
    ...(batch === undefined ? {} : { batch }),
    ...(stated('gpus_basis') ? { gpus: whole(replica, 'gpus') } : {}),
    ...(stated('precision_basis') ? { precision: text(replica, 'precision') as Precision } : {}),
  };
  if (model.record === undefined) {
    return { id: model.id, footprint: { ref: model.id, ...served } };
  }
  const size = { record: model.record, path: `inputs.${model.id}` };
  const activeB = decimal(size, 'active_b');
  const totalB = decimal(size, 'total_b');
  return {
    id: text(size, 'id'),
    footprint: {
      ...(activeB === undefined ? {} : { activeB }),
      ...(totalB === undefined ? {} : { totalB }),
      ...served,
    },
  };
}

function siteOf(inputs: readonly MeasurementInput[]): Site {
  const sites = inputs.filter(({ kind }) => kind === 'site');
  const declared = sites.find(({ record }) => record !== undefined);
  const [known] = sites.filter(({ record }) => record === undefined);
  if (declared?.record === undefined) {
    if (known === undefined) throw new MalformedData('missing_field', 'inputs', 'name no site');
    return { operator: known.id };
  }
  const site = { record: declared.record, path: `inputs.${declared.id}` };
  const pue = decimal(site, 'pue');
  const wue = decimal(site, 'wue_l_per_kwh');
  return {
    operator: text(site, 'operator'),
    ...(pue === undefined ? {} : { pue }),
    ...(wue === undefined ? {} : { wue }),
  };
}

function signalOf(inputs: readonly MeasurementInput[]): GridSignal | undefined {
  const input = inputs.find(({ kind, record }) => kind === 'grid' && record !== undefined);
  if (input?.record === undefined) return undefined;
  const signal = { record: input.record, path: `inputs.${input.id}` };
  return {
    hour: text(signal, 'hour'),
    provider: text(signal, 'provider'),
    signal: text(signal, 'signal'),
    version: text(signal, 'version'),
    gwpKgco2ePerKwh: needed(decimal(signal, 'gwp_kgco2e_per_kwh'), signal, 'gwp_kgco2e_per_kwh'),
  };
}

function carried(
  inputs: readonly MeasurementInput[],
  kind: MeasurementInput['kind'],
  which: (input: MeasurementInput) => boolean,
): Carried {
  const input = inputs.find((candidate) => candidate.kind === kind && which(candidate));
  if (input?.record === undefined) {
    throw new MalformedData(
      'missing_field',
      'inputs',
      `carry no record of the ${kind === 'usage' ? kind : 'replica'}`,
    );
  }
  return { record: input.record, path: `inputs.${input.id}` };
}

function text({ record, path }: Carried, field: string): string {
  const value = record[field];
  if (typeof value !== 'string')
    throw new MalformedData('wrong_value', `${path}.${field}`, 'must be a text');
  return value;
}

function whole({ record, path }: Carried, field: string): number {
  const value = record[field];
  if (!Number.isSafeInteger(value)) {
    throw new MalformedData('wrong_value', `${path}.${field}`, 'must be a whole number');
  }
  return value as number;
}

function decimal({ record, path }: Carried, field: string): number | undefined {
  const value = record[field];
  if (value === undefined) return undefined;
  const parsed = typeof value === 'string' ? parseDecimal(value) : undefined;
  if (parsed === undefined)
    throw new MalformedData('wrong_value', `${path}.${field}`, 'must be a decimal');
  return parsed;
}

function needed(value: number | undefined, { path }: Carried, field: string): number {
  if (value === undefined)
    throw new MalformedData('missing_field', `${path}.${field}`, 'is missing');
  return value;
}
