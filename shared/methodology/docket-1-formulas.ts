import type { Constant, Formula } from './formula.ts';
import type { Precision } from './factor-set.ts';
import { TOKEN_TIMES } from './ecologits-formulas.ts';

/** Constants of the method itself; what describes grids, sites, models and hardware is in the factor set. */
export const DOCKET_CONSTANTS = {
  d_gpu: {
    value: 0.68625,
    unit: 'J',
    meaning: 'decode energy per step and GPU, shared by the batch',
    sources: ['S23', 'S7'],
  },
  d_mem: {
    value: 0.19361,
    unit: 'J/GB',
    meaning: 'decode energy per gigabyte of weights read in a step, shared by the batch',
    sources: ['S23', 'S7'],
  },
  d_act: {
    value: 0.003814,
    unit: 'J per 10^9 parameters',
    meaning: 'decode energy per output token and active parameter',
    sources: ['S23', 'S7'],
  },
  d_fix: {
    value: 0.03883,
    unit: 'J',
    meaning: 'decode energy per output token and GPU',
    sources: ['S23', 'S7'],
  },
  p: {
    value: 0.0034,
    unit: 'J per 10^9 parameters',
    meaning: 'prefill energy per input token and active parameter; 0.0023 to 0.0046',
    sources: ['S21', 'S23', 'S34'],
  },
  p_fp8: {
    value: 0.5,
    unit: '1',
    meaning: 'prefill energy in FP8 over that in 16 bits; an assumption',
    sources: ['S34'],
  },
  q: {
    value: 150e-12,
    unit: 'J/byte',
    meaning:
      'energy of reading one byte of the key/value cache: about 500 W at 3.35 TB/s, what an H100 draws and reads',
    sources: ['S34'],
  },
  context_min: {
    value: 2048,
    unit: 'tokens',
    meaning:
      'context above which attention is counted by itself, its operations and reading the key/value cache; shorter ones are inside the fits of decode and prefill',
    sources: ['S25', 'S39'],
  },
  host: {
    value: 0.35,
    unit: '1',
    meaning: 'host processor and memory over GPU energy; 0.25 to 0.45',
    sources: ['S13'],
  },
  idle: {
    value: 0.12,
    unit: '1',
    meaning: 'provisioned but idle machines over energy in use; 0 to 0.25',
    sources: ['S13'],
  },
  overhead: { value: 1.2, unit: '1', meaning: 'memory over weights', sources: ['S1'] },
  context_held: {
    value: 256,
    unit: 'tokens',
    meaning:
      'tokens of cache that each sequence of a declared batch has at least, where T2 is claimed',
    sources: ['S25'],
  },
  j_token: {
    value: 0.0002,
    unit: 'J per 10^9 parameters',
    meaning:
      'energy per token and active parameter that no accelerator stays below: two operations at 1e-13 J, a seventeenth of p',
    sources: ['S34'],
  },
  j_idle: {
    value: 0.1,
    unit: '1',
    meaning: 'power of an idle GPU over its power at full load, at least',
    sources: ['S34'],
  },
  j_shared: {
    value: 4,
    unit: '1',
    meaning: 'requests that share a replica at most, over B: 256 over the assumed 64',
    sources: ['S23'],
  },
  j_full: {
    value: 2,
    unit: '1',
    meaning: 'power of a GPU at most, over that of the hardware of this method at full load',
    sources: ['S34'],
  },
  ...TOKEN_TIMES,
} as const satisfies Record<string, Constant>;

/** Concurrent requests per replica where the catalogue does not say; 16 to 256. */
export const BATCH_ASSUMED = 64;

/** Bytes of one weight; 4-bit formats carry scales, hence 0.53. */
export const BYTES_PER_WEIGHT: Readonly<Record<Precision, number>> = {
  bf16: 2,
  fp16: 2,
  fp8: 1,
  int8: 1,
  fp4: 0.53,
  int4: 0.53,
};

/** What the weights are taken to be served in where neither the catalogue nor the record says. */
export const PRECISION_ASSUMED: Precision = 'bf16';

const geometric = (symbol: string, name: string, unit: string): Formula => ({
  symbol,
  name,
  unit,
  formula: `sqrt(${symbol}_min * ${symbol}_max)`,
  when: 'a range is known',
});

/** Every step, in the order in which it is taken. */
export const DOCKET_FORMULAS = {
  active: geometric('P_a', 'active parameters, middle of the range', '10^9'),
  total: geometric('P_t', 'total parameters, middle of the range', '10^9'),
  pue: geometric('PUE', 'power usage effectiveness, middle of the range', '1'),
  wue: {
    symbol: 'WUE',
    name: 'water usage effectiveness on site, middle of the range',
    unit: 'L/kWh',
    formula: '(WUE_min + WUE_max) / 2',
    when: 'a range is known',
  },
  gpusFitting: {
    symbol: 'n',
    name: 'GPUs that serve the model',
    unit: '1',
    formula: 'min(slots, power_of_two_from(ceil(overhead * P_t * w / memory)))',
    when: 'the catalogue does not say, and the weights fit into one server (P_t * w <= slots * memory)',
  },
  gpusBeyond: {
    symbol: 'n',
    name: 'GPUs that serve the model',
    unit: '1',
    formula: 'power_of_two_from(ceil(overhead * P_t * w / memory))',
    when: 'the catalogue does not say, and the weights do not fit into one server',
  },
  weights: {
    symbol: 'W',
    name: 'weights read in one decode step',
    unit: 'GB',
    formula: 'w * P_t * (1 - (1 - P_a / P_t) ^ B)',
  },
  decodePerToken: {
    symbol: 'e_dec',
    name: 'decode energy per output token, all GPUs',
    unit: 'J',
    formula: 'd_gpu * n / B + d_mem * W / B + d_act * P_a + d_fix * n',
  },
  prefillPerToken: {
    symbol: 'e_pre',
    name: 'prefill energy per input token, all GPUs',
    unit: 'J',
    formula: 'p * P_a',
    when: 'not served in FP8',
  },
  prefillPerTokenFp8: {
    symbol: 'e_pre',
    name: 'prefill energy per input token, all GPUs',
    unit: 'J',
    formula: 'p * P_a * p_fp8',
    when: 'served in FP8',
  },
  decode: { symbol: 'E_dec', name: 'decode energy', unit: 'J', formula: 'N * e_dec' },
  prefill: {
    symbol: 'E_pre',
    name: 'prefill energy; what came from the prefix cache costs none',
    unit: 'J',
    formula: 'e_pre * (I - I_c)',
  },
  contextCached: {
    symbol: 'L_cached',
    name: 'tokens of context beyond context_min that came from the prefix cache',
    unit: '1',
    formula: 'I_c - min(I_c, context_min)',
    when: 'the size is known',
  },
  contextStart: {
    symbol: 'L_start',
    name: 'tokens of context beyond context_min before the first output token',
    unit: '1',
    formula: 'I - min(I, context_min)',
    when: 'the size is known',
  },
  attention: {
    symbol: 'E_att',
    name: 'energy of attention in prefill beyond context_min: each token with each one before it, at the energy that prefill takes for an operation (p for 2 * 10^9, in 16 bits whatever the weights are served in)',
    unit: 'J',
    formula: 'p * o_att * (L_start - L_cached) * (L_start + L_cached) / 4000000000',
    when: 'the layout is known; otherwise E_att is 0',
  },
  contextEnd: {
    symbol: 'L_end',
    name: 'tokens of context beyond context_min after the last output token',
    unit: '1',
    formula: 'I + N - min(I + N, context_min)',
    when: 'the layout is known',
  },
  cache: {
    symbol: 'E_kv',
    name: 'energy of reading the key/value cache beyond context_min',
    unit: 'J',
    formula: 'q * b_kv * (L_end - L_start) * (L_end + L_start) / 2',
    when: 'the layout is known; otherwise E_kv is 0',
  },
  gpuModelled: {
    symbol: 'E_gpu',
    name: 'GPU energy of all attempts',
    unit: 'J',
    formula: 'k * (E_dec + E_pre + E_att + E_kv)',
    when: 'no energy was metered, and none stated that is within bounds',
  },
  gpuMeasured: {
    symbol: 'E_gpu',
    name: 'GPU energy of all attempts',
    unit: 'J',
    formula: 'k * J',
    when: 'a meter counted J, or the upstream states J within bounds',
  },
  statedTokens: {
    symbol: 'J_tokens',
    name: 'energy that all attempts take at least for their output tokens, on any hardware',
    unit: 'J',
    formula: 'k * j_token * P_a * N',
    when: 'the upstream states energy, the size is known, and the token counts have no interval',
  },
  statedTokensLower: {
    symbol: 'J_tokens',
    name: 'energy that all attempts take at least for their output tokens, on any hardware',
    unit: 'J',
    formula: 'k * j_token * P_a * N_lower',
    when: 'the upstream states energy, the size is known, and the token counts have an interval',
  },
  statedInput: {
    symbol: 'J_tokens',
    name: 'energy that all attempts of an embedding take at least for their input tokens, on any hardware',
    unit: 'J',
    formula: 'k * j_token * P_a * (I - I_c)',
    when: 'the same of an embedding',
  },
  statedInputLower: {
    symbol: 'J_tokens',
    name: 'energy that all attempts of an embedding take at least for their input tokens, on any hardware',
    unit: 'J',
    formula: 'k * j_token * P_a * (I_lower - min(I_c, I_lower))',
    when: 'the same of an embedding',
  },
  statedIdle: {
    symbol: 'J_idle',
    name: 'the least share in the idle power of the replica',
    unit: 'J',
    formula: 'j_idle * tdp * n * T / (j_shared * B)',
    when: 'the upstream states energy',
  },
  statedFull: {
    symbol: 'J_full',
    name: 'the full power of the replica over the larger of the two times',
    unit: 'J',
    formula: 'j_full * tdp * n * (T_req + T_mod - T)',
    when: 'the upstream states energy, a time was recorded and the size is known',
  },
  statedFullOnly: {
    symbol: 'J_full',
    name: 'the full power of the replica over the time on the hardware',
    unit: 'J',
    formula: 'j_full * tdp * n * T',
    when: 'the upstream states energy, and one of the two times is not known',
  },
  it: {
    symbol: 'E_it',
    name: 'IT energy, with host and idle machines',
    unit: 'kWh',
    formula: 'E_gpu / 3600000 * (1 + host) * (1 + idle)',
  },
  energy: { symbol: 'E', name: 'energy', unit: 'kWh', formula: 'PUE * E_it' },
  usageGwp: {
    symbol: 'U_gwp',
    name: 'greenhouse gas of use',
    unit: 'kgCO2e',
    formula: 'E * F_gwp',
  },
  usageAdpe: {
    symbol: 'U_adpe',
    name: 'abiotic depletion of use',
    unit: 'kgSbe',
    formula: 'E * F_adpe',
  },
  usageAdpf: {
    symbol: 'U_adpf',
    name: 'fossil resources of use',
    unit: 'MJ',
    formula: 'E * F_adpf',
  },
  water: {
    symbol: 'water',
    name: 'water consumed, on site and for the electricity',
    unit: 'L',
    formula: 'E_it * (WUE + PUE * F_water)',
  },
  secondsPerToken: {
    symbol: 'l_tok',
    name: 'modelled time per output token',
    unit: 's',
    formula: 'a * P_a + b * B + c',
  },
  modelled: {
    symbol: 'T_mod',
    name: 'modelled time on the hardware; while one request is served, each of the B that share the replica is prefilled once, at full power',
    unit: 's',
    formula: 'k * (N * l_tok + B * (e_pre * (I - I_c) + E_att) / (n * tdp))',
    when: 'the size is known',
  },
  recorded: {
    symbol: 'T_req',
    name: 'recorded time: of the upstream call that was answered to its last byte, for each attempt',
    unit: 's',
    formula: 'k * T_up',
    when: 'the call was timed; otherwise T_req is the time from the arrival of the request to its end, if that is known',
  },
  smaller: {
    symbol: 'T',
    name: 'time on the hardware',
    unit: 's',
    formula: 'min(T_req, T_mod)',
    when: 'a time was recorded and the size is known',
  },
  onlyModelled: {
    symbol: 'T',
    name: 'time on the hardware',
    unit: 's',
    formula: 'T_mod',
    when: 'no time was recorded',
  },
  onlyRecorded: {
    symbol: 'T',
    name: 'time on the hardware',
    unit: 's',
    formula: 'T_req',
    when: 'the size is not known',
  },
  shareGwp: share('gwp', 'kgCO2e', 'gwp'),
  shareAdpe: share('adpe', 'kgSbe', 'adpe'),
  shareAdpf: share('adpf', 'MJ', 'pe'),
  embodiedGwp: embodied('gwp', 'kgCO2e'),
  embodiedAdpe: embodied('adpe', 'kgSbe'),
  embodiedAdpf: embodied('adpf', 'MJ'),
  gwp: total('gwp', 'greenhouse gas', 'kgCO2e'),
  adpe: total('adpe', 'abiotic depletion', 'kgSbe'),
  adpf: total('adpf', 'fossil resources', 'MJ'),
  energyLower: { symbol: 'energy_lower', name: '5 %', unit: 'kWh', formula: 'E / f_energy' },
  energyUpper: { symbol: 'energy_upper', name: '95 %', unit: 'kWh', formula: 'E * f_energy' },
  waterLower: { symbol: 'water_lower', name: '5 %', unit: 'L', formula: 'water / f_water' },
  waterUpper: { symbol: 'water_upper', name: '95 %', unit: 'L', formula: 'water * f_water' },
  gwpLower: bound('gwp', 'lower', 'kgCO2e'),
  gwpUpper: bound('gwp', 'upper', 'kgCO2e'),
  adpeLower: bound('adpe', 'lower', 'kgSbe'),
  adpeUpper: bound('adpe', 'upper', 'kgSbe'),
  adpfLower: bound('adpf', 'lower', 'MJ'),
  adpfUpper: bound('adpf', 'upper', 'MJ'),
} as const satisfies Record<string, Formula>;

function share(impact: string, unit: string, column: string): Formula {
  return {
    symbol: `S_${impact}`,
    name: 'making the share of the servers in use',
    unit,
    formula: `n / slots * server_${column} + n * gpu_${column}`,
  };
}

function embodied(impact: string, unit: string): Formula {
  return {
    symbol: `X_${impact}`,
    name: 'embodied share of the request',
    unit,
    formula: `T * S_${impact} / (lifetime * B)`,
  };
}

function total(impact: string, name: string, unit: string): Formula {
  return { symbol: impact, name, unit, formula: `U_${impact} + X_${impact}` };
}

function bound(impact: string, end: 'lower' | 'upper', unit: string): Formula {
  const by = end === 'lower' ? '/' : '*';
  return {
    symbol: `${impact}_${end}`,
    name: end === 'lower' ? '5 %' : '95 %',
    unit,
    formula: `U_${impact} ${by} f_${impact} + X_${impact} ${by} f_embodied`,
  };
}
