import { digestOf, type JsonObject } from '#shared/kernel/canonical-json.ts';
import {
  type MethodologyContent,
  type MethodologyDocument,
  methodologyDocumentOf,
} from './document.ts';
import { DOCKET_UNCERTAINTY } from './docket-1-bounds.ts';
import {
  BATCH_ASSUMED,
  BYTES_PER_WEIGHT,
  DOCKET_CONSTANTS,
  PRECISION_ASSUMED,
} from './docket-1-formulas.ts';
import { PUBLISHED_FORMULAS } from './docket-1-end-formulas.ts';
import { type DocketRevision, versionOf } from './docket-1-revisions.ts';
import type { FactorSet } from './factor-set.ts';
import type { Formula } from './formula.ts';

const DATA_QUALITY = {
  T1: 'GPU energy counted by a meter of the accelerators',
  TS: 'GPU energy that the upstream states of itself, within the bounds J_tokens, J_idle and J_full: no meter confirms it. Outside of one of them it is not used, and the usage record names that bound (`stated_beyond`)',
  T2: 'size published or declared in full, and the number of GPUs stated; their memory holds the weights and, where the catalogue states a batch, a cache of context_held tokens for each of its sequences',
  T3: 'size published or declared in full',
  T4: 'size guessed, or declared by one count alone and taken to be dense',
  T5: 'only the class of the model is known',
};

const ARITHMETIC = [
  'IEEE 754 binary64, in the order of the formulas. exp, ln and powers are computed from + - * / alone, so that every engine gives the same bits.',
  'Results are rounded to 12 significant digits, ties away from zero, and written in plain decimal notation without exponent and without trailing zeros.',
  'Figures of a record that is not in the factor set are written as the shortest decimal that reads back as the same binary64 number.',
];

const BOUNDS = {
  interval: '5-95 %',
  method:
    'Each cause of uncertainty is a 90 % factor. The causes that bear on a share are taken as independent and combined in log space: f = exp(sqrt(sum of ln(factor)^2)). A share reaches from value / f to value * f. Greenhouse gas, abiotic depletion and fossil resources have two shares, use and embodied; their bounds are added bound by bound, because batch and size move both the same way.',
  shares: {
    energy:
      'measured, if a meter counted or the upstream states within bounds; otherwise model_form, batch (if assumed and there are output tokens) and size (if guessed; the factor of its class for a class default). Always host_idle and pue_known or pue_unknown',
    gwp: 'as energy, and grid_hour and, where the zone has no figure of its own, gwp_of_world; neither with an hourly signal',
    water:
      'as energy, and grid_hour and water and, where the zone has no figure of its own, water_of_world',
    adpe: 'as energy, and grid_hour and depletion and, where the zone has no figure of its own, adpe_of_world',
    adpf: 'as energy, and grid_hour and depletion and, where the zone has no figure of its own, adpf_of_world',
    embodied: 'embodied, batch (if assumed) and size (if guessed)',
  },
  token_counts:
    'Where token counts have an interval, each bound is computed at that end of it, and the factors widen it from there. The time on the hardware is the smaller of the recorded and the modelled one; the bounds of the embodied share reach from the smaller to the larger.',
};

const LIMITS = [
  'The decode model was fitted on H100 GPUs with a short context (258 configurations of 21 models, 3 to 405 billion active parameters, batches of 8 to 2000). Other hardware is estimated as if it were H100.',
  'The batch, the precision and the number of GPUs are assumed where the catalogue does not state them, and the result says so.',
  'Failed attempts are counted as if each had used as much as the one that answered.',
  'Training, networks, end-user devices, buildings and water in manufacture are outside the boundary.',
  'Fossil resources of manufacture are published as primary energy only, which is an upper estimate.',
  'Depletion factors of electricity are from an inventory of 2011.',
  'Greenhouse gas is location-based and annual unless an hourly signal is configured; market-based and marginal figures never replace it.',
  'The modelled time is that of a replica which serves B requests. On hardware that is shared by fewer, or slower, the larger of the two times is nearer, and inside the bounds.',
  'The recorded time stands for each attempt, as the tokens do.',
  'What the decode fit holds of the key/value cache is that of a short context; the constant 2048 is where the fit ends, not where reading begins.',
  'Attention over a long prompt is counted where the layout of the model is published, each token with all before it: a model that attends to less of a long context takes less.',
];

/** What each revision says of itself. */
interface RevisionText {
  readonly formulas: readonly Formula[];
  readonly bounds: { readonly shares: Readonly<Record<string, string>> } & JsonObject;
  readonly limits: readonly string[];
  readonly changelog: MethodologyContent['changelog'];
}

const REVISIONS: Readonly<Record<DocketRevision, RevisionText>> = {
  '1.0': {
    formulas: PUBLISHED_FORMULAS,
    bounds: BOUNDS,
    limits: LIMITS,
    changelog: [{ version: '1.0.0', date: '2026-11-20', change: 'First version.' }],
  },
};

/** The document of a revision of `docket-1` over a factor set. */
export function docket1Document(
  factorSet: FactorSet,
  revision: DocketRevision,
): MethodologyDocument {
  const content = factorSet as unknown as JsonObject;
  const version = versionOf(revision, factorSet.version);
  const { formulas, bounds, limits, changelog } = REVISIONS[revision];
  const listed = changelog.some((entry) => entry.version === version);
  return methodologyDocumentOf({
    id: 'docket-1',
    version,
    title: 'Footprint of one AI inference request',
    summary:
      'Energy, greenhouse gas, water, abiotic depletion and fossil resources of one request, from the measured energy of the upstream or from a model of decode and prefill fitted to measured configurations, with a 5-95 % interval and a data-quality tier.',
    arithmetic: ARITHMETIC,
    constants: DOCKET_CONSTANTS,
    formulas,
    limits,
    sources: factorSet.sources,
    changelog: listed
      ? changelog
      : [
          ...changelog,
          { version, date: factorSet.compiled, change: `Factor set ${factorSet.version}.` },
        ],
    further: {
      assumptions: {
        batch: BATCH_ASSUMED,
        precision: PRECISION_ASSUMED,
        bytes_per_weight: { ...BYTES_PER_WEIGHT },
        hardware: 'H100_SXM',
      },
      bounds: {
        ...bounds,
        factors: Object.values(DOCKET_UNCERTAINTY).map((factor) => ({ ...factor })),
      },
      data_quality: DATA_QUALITY,
      factor_set: { version: factorSet.version, digest: digestOf(content), content },
    },
  });
}
