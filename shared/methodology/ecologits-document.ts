import { citedSources, type MethodologyDocument, methodologyDocumentOf } from './document.ts';
import { ECOLOGITS_CONSTANTS, ECOLOGITS_FORMULAS } from './ecologits-formulas.ts';
import type { Source } from './factor-set.ts';

const ARITHMETIC = [
  'IEEE 754 binary64, in the order of the formulas; agrees with the published vectors of the reference to 1e-12, relative, bound by bound.',
  'A range of a parameter count evaluates (min, min) and (max, max). A range of PUE or WUE multiplies bound by bound. A range is not a confidence interval.',
  'Refused: tps of zero, a total parameter count of zero or less, and anything negative or not finite.',
  'Results are not rounded.',
];

const LIMITS = [
  'For comparing with figures computed elsewhere; receipts use docket-1.',
  'Against 258 measured H100 configurations its GPU energy is 0.40 / 1.16 / 4.53 times the measured one (5, 50 and 95 %), because the batch is fixed at 64.',
  'Input tokens cost no energy in it.',
  'The column that it calls primary energy is fossil resource use in 70 of its 72 zones.',
];

/** The document of `ecologits-0.11.2`; `sources` is the table to take its citations from. */
export function ecologitsDocument(sources: readonly Source[]): MethodologyDocument {
  return methodologyDocumentOf({
    id: 'ecologits-0.11.2',
    version: '1.0.0',
    title: 'EcoLogits 0.11.2, for comparison',
    summary:
      'The estimator of EcoLogits 0.11.2 for text generation, as its formulas and published vectors define it.',
    arithmetic: ARITHMETIC,
    constants: ECOLOGITS_CONSTANTS,
    formulas: ECOLOGITS_FORMULAS,
    limits: LIMITS,
    sources: citedSources(ECOLOGITS_CONSTANTS, sources),
    changelog: [{ version: '1.0.0', date: '2026-11-20', change: 'First version.' }],
  });
}
