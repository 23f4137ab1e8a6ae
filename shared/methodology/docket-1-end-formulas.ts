import type { Formula } from './formula.ts';
import { DOCKET_FORMULAS } from './docket-1-formulas.ts';

/** When the smaller of two times is taken, and the larger bounds it. */
const TWO_TIMES = 'a time was recorded and the size is known';

type ResultName = 'energy' | 'gwp' | 'water' | 'adpe' | 'adpf';

/** Where the token counts have an interval: the same once more, at an end of it. */
interface EndFormulas {
  readonly attention: Formula;
  readonly attentionUnknown: Formula;
  readonly cache: Formula;
  readonly cacheUnknown: Formula;
  readonly gpu: Formula;
  readonly energy: Formula;
  readonly energyMeasured: Formula;
  readonly modelled: Formula;
  readonly time: Formula;
  readonly timeModelled: Formula;
  readonly timeRecorded: Formula;
  readonly results: Readonly<Record<ResultName, Formula>>;
}

/** Where they have none, and two times are known: the upper bounds hold the larger. */
export const REACHING = {
  time: {
    symbol: 'T_upper',
    name: 'the larger of the recorded and the modelled time',
    unit: 's',
    formula: 'T_req + T_mod - T',
    when: TWO_TIMES,
  },
  gwp: reaching('gwp', 'kgCO2e'),
  adpe: reaching('adpe', 'kgSbe'),
  adpf: reaching('adpf', 'MJ'),
} as const satisfies Record<string, Formula>;

function reaching(impact: string, unit: string): Formula {
  return {
    symbol: `${impact}_upper`,
    name: '95 %',
    unit,
    formula: `U_${impact} * f_${impact} + T_upper * S_${impact} / (lifetime * B) * f_embodied`,
    when: TWO_TIMES,
  };
}

export const END_FORMULAS = { lower: ofEnd('lower'), upper: ofEnd('upper') } as const;

function ofEnd(end: 'lower' | 'upper'): EndFormulas {
  const [by, name] = end === 'lower' ? ['/', '5 %'] : ['*', '95 %'];
  const counts = `at the ${end} token counts`;
  const interval = 'the token counts have an interval';
  const context = `(I_${end} + N_${end} - min(I_${end} + N_${end}, context_min))`;
  const start = `(I_${end} - min(I_${end}, context_min))`;
  const prefilled = `(I_${end} - min(I_c, I_${end}))`;
  const cached = `(min(I_c, I_${end}) - min(min(I_c, I_${end}), context_min))`;
  const step = (symbol: string, what: string, unit: string, formula: string, when: string) => ({
    symbol: `${symbol}_${end}`,
    name: what,
    unit,
    formula,
    when,
  });
  const time = (formula: string, when: string): Formula =>
    step('T', `time on the hardware for the ${end} bounds`, 's', formula, when);
  const ranged = (impact: string, unit: string): Formula =>
    step(
      impact,
      name,
      unit,
      `E_${end} * F_${impact} ${by} f_${impact} + T_${end} * S_${impact} / (lifetime * B) ${by} f_embodied`,
      interval,
    );
  const attentionName = `energy of attention in prefill ${counts}`;
  const cacheName = `energy of reading the key/value cache ${counts}`;
  const unmeasured = `${interval}, and neither a meter nor the upstream’s word gives the energy`;
  return {
    attention: step(
      'E_att',
      attentionName,
      'J',
      `p * o_att * (${start} - ${cached}) * (${start} + ${cached}) / 4000000000`,
      `${interval}, and the layout is known`,
    ),
    attentionUnknown: step(
      'E_att',
      attentionName,
      'J',
      'E_att',
      `${interval}, and the layout is not known`,
    ),
    cache: step(
      'E_kv',
      cacheName,
      'J',
      `q * b_kv * (${context} - ${start}) * (${context} + ${start}) / 2`,
      `${interval}, and the layout is known`,
    ),
    cacheUnknown: step('E_kv', cacheName, 'J', 'E_kv', `${interval}, and the layout is not known`),
    gpu: step(
      'E_gpu',
      `GPU energy of all attempts ${counts}`,
      'J',
      `k * (N_${end} * e_dec + e_pre * ${prefilled} + E_att_${end} + E_kv_${end})`,
      unmeasured,
    ),
    energy: step(
      'E',
      `energy ${counts}`,
      'kWh',
      `PUE * (E_gpu_${end} / 3600000 * (1 + host) * (1 + idle))`,
      unmeasured,
    ),
    energyMeasured: step(
      'E',
      `energy ${counts}`,
      'kWh',
      'E',
      `${interval}, and a meter or the upstream’s word gives the energy`,
    ),
    modelled: step(
      'T_mod',
      `modelled time on the hardware ${counts}`,
      's',
      `k * (N_${end} * l_tok + B * (e_pre * ${prefilled} + E_att_${end}) / (n * tdp))`,
      `${interval}, and the size is known`,
    ),
    time: time(
      end === 'lower' ? 'min(T_req, T_mod_lower)' : 'T_req + T_mod_upper - min(T_req, T_mod_upper)',
      `${interval}, a time was recorded and the size is known`,
    ),
    timeModelled: time(`T_mod_${end}`, `${interval}, and no time was recorded`),
    timeRecorded: time('T', `${interval}, and the size is not known`),
    results: {
      energy: step('energy', name, 'kWh', `E_${end} ${by} f_energy`, interval),
      water: step(
        'water',
        name,
        'L',
        `E_${end} / PUE * (WUE + PUE * F_water) ${by} f_water`,
        interval,
      ),
      gwp: ranged('gwp', 'kgCO2e'),
      adpe: ranged('adpe', 'kgSbe'),
      adpf: ranged('adpf', 'MJ'),
    },
  };
}

/** Every formula that is published. */
export const PUBLISHED_FORMULAS: readonly Formula[] = [
  ...Object.values(DOCKET_FORMULAS),
  ...Object.values(REACHING),
  ...Object.values(END_FORMULAS).flatMap(({ results, ...steps }) => [
    ...Object.values(steps),
    ...Object.values(results),
  ]),
];
