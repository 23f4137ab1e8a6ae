import { assess } from './sanctions/assess.ts';
import { NameIndex, type Transliterate } from './sanctions/name-index.ts';
import type { AccountRegistry, ScreeningRecord } from './port-accounts.ts';
import type { SanctionsStore } from './sanctions/port-sanctions.ts';

export interface ScreenerOptions {
  accounts: Pick<AccountRegistry, 'applicant' | 'recordScreening'>;
  lists: Pick<SanctionsStore, 'currentVersions' | 'namesOf'>;
  transliterate: Transliterate;
  /** Monotonic milliseconds: how long a screening took is measured with it. */
  monotonicNow: () => number;
}

interface LoadedLists {
  versions: ScreeningRecord['lists'];
  index: NameIndex;
}

/** Screens accounts against the current lists, which it keeps in memory until others become current. */
export class Screener {
  readonly #options: ScreenerOptions;
  readonly #monotonicNow: () => number;
  #key = '';
  #loaded: Promise<LoadedLists> | undefined;

  constructor(options: ScreenerOptions) {
    this.#options = options;
    this.#monotonicNow = options.monotonicNow;
  }

  /**
   * Compares an account with lists and rules and records the outcome with its consequence. Does
   * nothing for an account without a declaration. Running it again records the same outcome again.
   */
  async screen(orgId: string, cause: ScreeningRecord['cause']): Promise<void> {
    const lists = await this.#currentLists();
    const applicant = await this.#options.accounts.applicant(orgId);
    if (applicant === null) return;
    const startedAt = this.#monotonicNow();
    const { outcome, reasons } = assess(applicant, lists.index);
    await this.#options.accounts.recordScreening(orgId, {
      cause: applicant.state === 'declared' ? 'onboarding' : cause,
      outcome,
      reasons,
      lists: lists.versions,
      durationMs: this.#monotonicNow() - startedAt,
    });
  }

  async #currentLists(): Promise<LoadedLists> {
    const versions = await this.#options.lists.currentVersions();
    const key = JSON.stringify(versions);
    if (this.#loaded === undefined || this.#key !== key) {
      this.#key = key;
      this.#loaded = this.#load(versions);
      // A failed load must not be remembered as the lists.
      this.#loaded.catch(() => {
        this.#loaded = undefined;
      });
    }
    return this.#loaded;
  }

  async #load(
    versions: Awaited<ReturnType<SanctionsStore['currentVersions']>>,
  ): Promise<LoadedLists> {
    const names = await this.#options.lists.namesOf(versions);
    return { versions, index: new NameIndex(names, this.#options.transliterate) };
  }
}
