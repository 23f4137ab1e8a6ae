import { assess } from './sanctions/assess.ts';
import { NameIndex } from './sanctions/name-index.ts';
import type { SanctionsStore } from './postgres/sanctions.ts';
import type { ListVersion } from './sanctions/listed.ts';
import type { Vettings } from './postgres/vetting.ts';
import type { Vetting } from './vetting.ts';

export interface VetterOptions {
  vettings: Pick<Vettings, 'applicant' | 'record'>;
  lists: Pick<SanctionsStore, 'currentVersions' | 'namesOf'>;
  /** Monotonic milliseconds: how long a vetting took is measured with it. */
  monotonicNow: () => number;
}

interface LoadedLists {
  versions: readonly ListVersion[];
  index: NameIndex;
}

/** Vets accounts against the current lists, which it keeps in memory until others become current. */
export class Vetter {
  readonly #options: VetterOptions;
  #key = '';
  #loaded: Promise<LoadedLists> | undefined;

  constructor(options: VetterOptions) {
    this.#options = options;
  }

  /**
   * Compares an account with lists and rules and records the outcome with its consequence. Does
   * nothing for an account without a declaration. Running it again records the same outcome again.
   */
  async vet(orgId: string, cause: Vetting['cause']): Promise<void> {
    const { vettings, monotonicNow } = this.#options;
    const lists = await this.#currentLists();
    const applicant = await vettings.applicant(orgId);
    if (applicant === null) return;
    const startedAt = monotonicNow();
    const { outcome, reasons } = assess(applicant, lists.index);
    await vettings.record(orgId, {
      cause: applicant.state === 'declared' ? 'onboarding' : cause,
      outcome,
      reasons,
      lists: lists.versions,
      declarationId: applicant.declarationId,
      contractId: applicant.contractId,
      namesRevision: applicant.namesRevision,
      durationMs: monotonicNow() - startedAt,
    });
  }

  async #currentLists(): Promise<LoadedLists> {
    const versions = await this.#options.lists.currentVersions();
    const key = JSON.stringify(versions);
    if (this.#loaded === undefined || this.#key !== key) {
      this.#key = key;
      const loading = this.#load(versions);
      this.#loaded = loading;
      // A failed load must not be remembered as the lists.
      loading.catch(() => {
        if (this.#loaded === loading) this.#loaded = undefined;
      });
    }
    return this.#loaded;
  }

  async #load(versions: readonly ListVersion[]): Promise<LoadedLists> {
    const names = await this.#options.lists.namesOf(versions);
    return { versions, index: new NameIndex(names) };
  }
}
