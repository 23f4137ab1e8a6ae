import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import type { JobHandler } from '#shared/jobs/redis/job-runner.ts';
import type { RestatementStore, RevisionStore } from '#shared/receipts/postgres/revisions.ts';
import type { RecalculationEvents } from './events.ts';
import { recalculate } from './recalculate.ts';
import { restate } from './restate.ts';
import type { ReviseDeps } from './revise.ts';
import { Sweep } from './sweep.ts';

export interface HandlersDeps extends ReviseDeps {
  revisions: RevisionStore;
  restatements: RestatementStore;
  methodology: Methodology;
  catalogue: () => Catalogue;
  events: RecalculationEvents;
  addRecalculation: (receiptId: string) => Promise<void>;
  addRestatement: (orgId: string) => Promise<void>;
}

export interface RecalculationHandlers {
  recalculation: JobHandler<'recalculation'>;
  restatement: JobHandler<'restatement'>;
  sweep: JobHandler<'recalculation-sweep'>;
  /** After another catalogue was loaded. */
  renew: () => Promise<void>;
}

/** The jobs of this role, each with its handler. */
export function recalculationHandlers(deps: HandlersDeps): RecalculationHandlers {
  const { revisions, methodology, catalogue } = deps;
  const basis = (): string => `${catalogue().digest}.${methodology.digest}`;
  const sweep = new Sweep({ ...deps, basis });
  return {
    recalculation: async ({ receiptId }) => {
      await recalculate({ ...deps, store: revisions, basis }, receiptId);
    },
    restatement: ({ orgId }, signal) => restate(deps, orgId, signal),
    sweep: (_payload, signal) => sweep.run(signal),
    renew: () => sweep.renew(),
  };
}
