import {
  type CarriedRecord,
  type DataQuality,
  type MeasurementInput,
  MethodologyFailure,
} from './measurement.ts';
import { power, powerOfTwoFrom } from './arithmetic.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { Recorder } from './derivation.ts';
import { type Bounds, boundsOf, type EnergyBasis, type SetUncertainty } from './docket-1-bounds.ts';
import {
  BATCH_ASSUMED,
  BYTES_PER_WEIGHT,
  DOCKET_CONSTANTS as C,
  DOCKET_FORMULAS as F,
  PRECISION_ASSUMED,
} from './docket-1-formulas.ts';
import type { FactorIndex } from './factor-index.ts';
import type { HardwareRecord, Precision } from './factor-set.ts';
import { type GridFactors, gridFactors } from './grid-factors.ts';
import { InputList } from './input-list.ts';
import type { EstimateInput } from './methodology.ts';
import { type ModelSize, modelSize } from './model-size.ts';
import { siteFactors } from './site-factors.ts';

/** The hardware on which the decode model was fitted. */
export const HARDWARE_ID = 'H100_SXM';

/** Where the fit was made; outside it the estimate is an extrapolation, and the lineage says so. */
const FITTED_ACTIVE_B = { min: 3, max: 406 };
const FITTED_BATCH = { min: 8, max: 2000 };

/** Inputs of a model's energy; absent where no size is stated. */
interface ModelRates {
  /** Active parameters, 10^9. */
  readonly active: number;
  /** J, all GPUs. */
  readonly decodePerToken: number;
  readonly prefillPerToken: number;
  /** J per token read back; 0 where the layout of attention is not known. */
  readonly cachePerPair: number;
  /** J for 2 * 10^9 pairs of a prefilled token and one before it; 0 as well where that is not known. */
  readonly attentionPerPair: number;
  readonly secondsPerToken: number;
  /** Known layout of attention, for the warning on long contexts. */
  readonly attentionKnown: boolean;
}

/** A model at a place: everything about a request that is not the request's own. */
export interface Deployment {
  readonly inputs: readonly MeasurementInput[];
  readonly quality: DataQuality;
  readonly rates: ModelRates | undefined;
  readonly batch: number;
  readonly gpus: number;
  /** W of one GPU at full load. */
  readonly gpuPowerW: number;
  readonly pue: number;
  readonly grid: GridFactors;
  /** L per kWh of IT energy, on site and off. */
  readonly waterPerKwh: number;
  /** Impacts of making the share of servers in use. */
  readonly made: { readonly gwp: number; readonly adpe: number; readonly adpf: number };
  readonly lifetimeS: number;
  readonly bounds: Readonly<Record<EnergyBasis, Bounds>>;
}

export interface Factors {
  readonly index: FactorIndex;
  readonly uncertainty: SetUncertainty;
  readonly hardware: HardwareRecord;
}

/**
 * Looks up and computes what requests to one model at one site share. Throws MethodologyFailure at stage
 * `model` (size unknown, bad footprint), `factors` (unknown zone) or `input` (bad site).
 */
export function deploy(
  input: EstimateInput,
  factors: Factors,
  recorder: Recorder | undefined,
): Deployment {
  const { index, hardware } = factors;
  const { footprint } = input.model;
  const inputs = new InputList(index, recorder);
  hardwareRecord(factors, inputs);
  const size = modelSize(input.model, index, inputs, recorder);
  const precision = footprint.precision ?? size?.released ?? PRECISION_ASSUMED;
  const batch = footprint.batch ?? BATCH_ASSUMED;
  const grid = gridFactors(input, index, inputs);
  const site = siteFactors(input.site, index, inputs, recorder);
  const gpus = gpuCount(footprint.gpus, size, precision, hardware, recorder);
  replicaRecord(input, { precision, released: size?.released, batch, gpus }, inputs, recorder);
  const doubts = {
    size: size?.doubt,
    batchAssumed: footprint.batch === undefined,
    pueKnown: site.pueKnown,
    gridAnnual: input.gridSignal === undefined,
    foreign: grid.foreign,
  };
  return {
    inputs: inputs.inputs,
    quality:
      size === undefined ? 'T5' : qualityOf(size, { precision, gpus }, input, factors, recorder),
    rates: size && modelRates(size, precision, batch, gpus, recorder),
    batch,
    gpus,
    gpuPowerW: hardware.gpu_tdp_w,
    pue: site.pue,
    grid,
    waterPerKwh: site.wue + site.pue * grid.water,
    made: made(hardware, gpus, recorder),
    lifetimeS: hardware.lifetime_s,
    bounds: {
      decode: boundsOf(doubts, 'decode', factors.uncertainty),
      prefill: boundsOf(doubts, 'prefill', factors.uncertainty),
      measured: boundsOf(doubts, 'measured', factors.uncertainty),
    },
  };
}

/** From the catalogue, else from the memory that the weights need: one server at most, unless they do not fit. */
function gpuCount(
  stated: number | undefined,
  size: ModelSize | undefined,
  precision: Precision,
  hardware: HardwareRecord,
  recorder: Recorder | undefined,
): number {
  recorder?.given('w', BYTES_PER_WEIGHT[precision], 'GB per 10^9 weights');
  if (stated !== undefined) {
    recorder?.given('n', stated, '1');
    return stated;
  }
  if (size === undefined) {
    throw new MethodologyFailure(
      'model',
      'model_size_unknown',
      'the catalogue states no size of this model',
    );
  }
  const { gpus_per_server: slots, gpu_memory_gb: memory } = hardware;
  const bytes = BYTES_PER_WEIGHT[precision];
  const needed = powerOfTwoFrom(Math.ceil((C.overhead.value * size.total * bytes) / memory));
  if (size.total * bytes > slots * memory) {
    recorder?.step(F.gpusBeyond, needed);
    return needed;
  }
  const gpus = Math.min(slots, needed);
  recorder?.step(F.gpusFitting, gpus);
  return gpus;
}

function modelRates(
  size: ModelSize,
  precision: Precision,
  batch: number,
  gpus: number,
  recorder: Recorder | undefined,
): ModelRates {
  const { active, total } = size;
  const weights = BYTES_PER_WEIGHT[precision] * total * (1 - power(1 - active / total, batch));
  recorder?.step(F.weights, weights);
  const decodePerToken =
    (C.d_gpu.value * gpus) / batch +
    (C.d_mem.value * weights) / batch +
    C.d_act.value * active +
    C.d_fix.value * gpus;
  recorder?.step(F.decodePerToken, decodePerToken);
  const fp8 = precision === 'fp8';
  const prefillPerToken = fp8 ? C.p.value * active * C.p_fp8.value : C.p.value * active;
  recorder?.step(fp8 ? F.prefillPerTokenFp8 : F.prefillPerToken, prefillPerToken);
  const secondsPerToken = C.a.value * active + C.b.value * batch + C.c.value;
  recorder?.step(F.secondsPerToken, secondsPerToken);
  if (active < FITTED_ACTIVE_B.min || active > FITTED_ACTIVE_B.max) {
    recorder?.warn(
      'size_outside_fit',
      `The decode model was fitted on ${FITTED_ACTIVE_B.min} to ${FITTED_ACTIVE_B.max} billion active parameters.`,
    );
  }
  if (batch < FITTED_BATCH.min || batch > FITTED_BATCH.max) {
    recorder?.warn(
      'batch_outside_fit',
      `The decode model was fitted on batches of ${FITTED_BATCH.min} to ${FITTED_BATCH.max}.`,
    );
  }
  const cachePerPair = size.kv === undefined ? 0 : C.q.value * size.kv.bytes_per_token;
  const attentionPerPair = size.kv === undefined ? 0 : C.p.value * size.kv.operations_per_pair;
  return {
    active,
    decodePerToken,
    prefillPerToken,
    cachePerPair,
    attentionPerPair,
    secondsPerToken,
    attentionKnown: size.kv !== undefined,
  };
}

function made(
  hardware: HardwareRecord,
  gpus: number,
  recorder: Recorder | undefined,
): Deployment['made'] {
  const { gpus_per_server: slots, gpu_embodied: gpu, server_embodied: server } = hardware;
  const share = (ofServer: number, ofGpu: number): number =>
    (gpus / slots) * ofServer + gpus * ofGpu;
  const result = {
    gwp: share(server.gwp_kgco2e, gpu.gwp_kgco2e),
    adpe: share(server.adpe_kgsbe, gpu.adpe_kgsbe),
    adpf: share(server.pe_mj, gpu.pe_mj),
  };
  recorder?.step(F.shareGwp, result.gwp);
  recorder?.step(F.shareAdpe, result.adpe);
  recorder?.step(F.shareAdpf, result.adpf);
  return result;
}

function hardwareRecord({ hardware }: Factors, inputs: InputList): void {
  const { gpu_embodied: gpu, server_embodied: server } = hardware;
  const figure = (
    symbol: string,
    name: string,
    value: number,
    unit: string,
    cites = hardware.sources,
  ) => ({
    symbol,
    name,
    value,
    unit,
    cites,
  });
  inputs.fromSet('hardware', hardware, () => [
    figure('slots', 'GPUs in one server', hardware.gpus_per_server, '1'),
    figure('memory', 'memory of one GPU', hardware.gpu_memory_gb, 'GB'),
    figure('tdp', 'power of one GPU at full load', hardware.gpu_tdp_w, 'W'),
    figure('lifetime', 'life of the hardware', hardware.lifetime_s, 's'),
    figure('server_gwp', 'making one server', server.gwp_kgco2e, 'kgCO2e', server.sources),
    figure('server_adpe', 'making one server', server.adpe_kgsbe, 'kgSbe', server.sources),
    figure('server_pe', 'making one server', server.pe_mj, 'MJ', server.sources),
    figure('gpu_gwp', 'making one GPU', gpu.gwp_kgco2e, 'kgCO2e', gpu.sources),
    figure('gpu_adpe', 'making one GPU', gpu.adpe_kgsbe, 'kgSbe', gpu.sources),
    figure('gpu_pe', 'making one GPU', gpu.pe_mj, 'MJ', gpu.sources),
  ]);
}

/** Hardware is known (T2) where its memory can be seen to hold what the catalogue says is served on it; else the size alone is. */
function qualityOf(
  size: ModelSize,
  { precision, gpus }: { precision: Precision; gpus: number },
  { model: { footprint } }: EstimateInput,
  { hardware }: Factors,
  recorder: Recorder | undefined,
): DataQuality {
  if (size.quality !== 'T2') return size.quality;
  const { batch } = footprint;
  const freeGb = gpus * hardware.gpu_memory_gb - BYTES_PER_WEIGHT[precision] * size.total;
  if (freeGb < 0) {
    recorder?.warn(
      'weights_beyond_memory',
      'The stated GPUs have not the memory for the weights: the hardware is not taken as known.',
    );
    return 'T3';
  }
  if (batch === undefined) return 'T2';
  if (size.kv === undefined) {
    recorder?.warn(
      'batch_not_checked',
      'The layout of the key/value cache is not known, so nothing shows that memory holds the stated batch: the hardware is not taken as known.',
    );
    return 'T3';
  }
  if (batch * C.context_held.value * size.kv.bytes_per_token <= freeGb * BYTES_PER_GB) return 'T2';
  recorder?.warn(
    'batch_beyond_memory',
    `The stated GPUs have not the memory for a cache of ${C.context_held.value} tokens for each sequence of the stated batch: the hardware is not taken as known.`,
  );
  return 'T3';
}

const BYTES_PER_GB = 1e9;

/** How the model is served: stated by the catalogue or assumed, and the receipt says which. */
function replicaRecord(
  input: EstimateInput,
  served: { precision: Precision; released: Precision | undefined; batch: number; gpus: number },
  inputs: InputList,
  recorder: Recorder | undefined,
): void {
  const { footprint } = input.model;
  const basis = (stated: unknown): string => (stated === undefined ? 'assumed' : 'catalogue');
  const precisionBasis =
    footprint.precision === undefined && served.released !== undefined
      ? 'model_record'
      : basis(footprint.precision);
  const record: CarriedRecord = {
    batch: toExactDecimalString(served.batch),
    batch_basis: basis(footprint.batch),
    gpus: served.gpus,
    gpus_basis: footprint.gpus === undefined ? 'computed' : 'catalogue',
    precision: served.precision,
    precision_basis: precisionBasis,
  };
  inputs.carried('hardware', 'replica', record, () => [
    { symbol: 'B', name: 'concurrent requests per replica', value: served.batch, unit: '1' },
  ]);
  if (footprint.batch === undefined) {
    recorder?.warn(
      'batch_assumed',
      `The catalogue states no batch; ${BATCH_ASSUMED} is assumed, 16 to 256 is possible.`,
    );
  }
  if (precisionBasis === 'assumed') {
    recorder?.warn(
      'precision_assumed',
      `Nobody states the served precision; ${PRECISION_ASSUMED} is assumed.`,
    );
  }
}
