import type { Constant, Formula } from './formula.ts';

/** What a token takes, as EcoLogits has fitted it. */
export const TOKEN_TIMES = {
  a: {
    value: 6.785088094353663e-4,
    unit: 's per 10^9 parameters',
    meaning: 'time per output token and active parameter',
    sources: ['S1'],
  },
  b: {
    value: 3.119310311688259e-4,
    unit: 's',
    meaning: 'time per output token and concurrent request',
    sources: ['S1'],
  },
  c: {
    value: 1.9473717579473387e-2,
    unit: 's',
    meaning: 'time per output token, fixed share',
    sources: ['S1'],
  },
} as const satisfies Record<string, Constant>;

/** The reference's own constants, EcoLogits 0.11.2 (source S1 of the methodology document). */
export const ECOLOGITS_CONSTANTS = {
  alpha: {
    value: 1.1665273170451914e-6,
    unit: 'Wh per 10^9 parameters',
    meaning: 'GPU energy per output token and active parameter',
    sources: ['S1'],
  },
  beta: {
    value: -0.011205921025579175,
    unit: '1',
    meaning: 'effect of the batch on that energy',
    sources: ['S1'],
  },
  gamma: {
    value: 4.052928146734005e-5,
    unit: 'Wh',
    meaning: 'GPU energy per output token, fixed share',
    sources: ['S1'],
  },
  ...TOKEN_TIMES,
  B: { value: 64, unit: '1', meaning: 'concurrent requests per replica', sources: ['S1'] },
  Q: { value: 16, unit: 'bit', meaning: 'width of a weight', sources: ['S1'] },
  overhead: { value: 1.2, unit: '1', meaning: 'memory over weights', sources: ['S1'] },
  memory: { value: 80, unit: 'GB', meaning: 'memory of one GPU', sources: ['S1'] },
  slots: { value: 8, unit: '1', meaning: 'GPUs in one server', sources: ['S1'] },
  power: { value: 1.2, unit: 'kW', meaning: 'server without its GPUs', sources: ['S1'] },
  lifetime: { value: 94_608_000, unit: 's', meaning: 'life of the hardware', sources: ['S1'] },
  server_gwp: { value: 5700, unit: 'kgCO2e', meaning: 'making one server', sources: ['S6', 'S1'] },
  server_adpe: { value: 0.37, unit: 'kgSbe', meaning: 'making one server', sources: ['S6', 'S1'] },
  server_pe: { value: 70_000, unit: 'MJ', meaning: 'making one server', sources: ['S6', 'S1'] },
  gpu_gwp: { value: 273, unit: 'kgCO2e', meaning: 'making one GPU', sources: ['S10', 'S1'] },
  gpu_adpe: { value: 0.00895, unit: 'kgSbe', meaning: 'making one GPU', sources: ['S10', 'S1'] },
  gpu_pe: { value: 3721, unit: 'MJ', meaning: 'making one GPU', sources: ['S10', 'S1'] },
} as const satisfies Record<string, Constant>;

/** Published with the methodology; a test evaluates them and compares with the code. */
export const ECOLOGITS_FORMULAS: readonly Formula[] = [
  {
    symbol: 'e_tok',
    name: 'GPU energy per output token and GPU',
    unit: 'kWh',
    formula: '(alpha * exp(beta * B) * P_a + gamma) / 1000',
  },
  { symbol: 'E_gpu', name: 'energy of one GPU', unit: 'kWh', formula: 'N * e_tok' },
  {
    symbol: 'l_tok',
    name: 'time per output token',
    unit: 's',
    formula: '1 / tps',
    when: 'tps is given',
  },
  {
    symbol: 'l_tok',
    name: 'time per output token',
    unit: 's',
    formula: 'a * P_a + b * B + c',
    when: 'tps is not given',
  },
  {
    symbol: 'T_est',
    name: 'modelled generation time; ttft is 0 when not given',
    unit: 's',
    formula: 'N * l_tok + ttft',
  },
  {
    symbol: 'T',
    name: 'generation time; a missing request_latency counts as infinite',
    unit: 's',
    formula: 'min(T_req, T_est)',
  },
  {
    symbol: 'M',
    name: 'memory for the weights',
    unit: 'GB',
    formula: 'overhead * P_t * Q / 8',
  },
  {
    symbol: 'n',
    name: 'GPUs that serve the model',
    unit: '1',
    formula: 'power_of_two_from(ceil(M / memory))',
  },
  {
    symbol: 'E_srv',
    name: 'energy of the server without its GPUs',
    unit: 'kWh',
    formula: '(T / 3600) * power * (n / slots) * (1 / B)',
  },
  { symbol: 'E_it', name: 'IT energy', unit: 'kWh', formula: 'E_srv + n * E_gpu' },
  { symbol: 'E', name: 'energy (energy_kwh)', unit: 'kWh', formula: 'PUE * E_it' },
  { symbol: 'U_gwp', name: 'usage_gwp', unit: 'kgCO2e', formula: 'E * F_gwp' },
  { symbol: 'U_adpe', name: 'usage_adpe', unit: 'kgSbe', formula: 'E * F_adpe' },
  { symbol: 'U_pe', name: 'usage_pe', unit: 'MJ', formula: 'E * F_pe' },
  { symbol: 'U_wcf', name: 'water (wcf_l)', unit: 'L', formula: 'E_it * (WUE + PUE * W)' },
  ...(['gwp', 'adpe', 'pe'] as const).flatMap((c) => embodied(c)),
];

function embodied(impact: 'gwp' | 'adpe' | 'pe'): readonly Formula[] {
  const unit = { gwp: 'kgCO2e', adpe: 'kgSbe', pe: 'MJ' }[impact];
  return [
    {
      symbol: `S_${impact}`,
      name: 'making the share of the server in use',
      unit,
      formula: `(n / slots) * server_${impact} + n * gpu_${impact}`,
    },
    {
      symbol: `X_${impact}`,
      name: `embodied_${impact}`,
      unit,
      formula: `T * S_${impact} / (lifetime * B)`,
    },
    { symbol: `total_${impact}`, name: 'total', unit, formula: `U_${impact} + X_${impact}` },
  ];
}
