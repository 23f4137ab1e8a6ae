import type { TimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';
import type { WitnessClient } from '#shared/ledger/http/witness.ts';
import type { AttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import type { LedgerEvents } from './events.ts';

/** Everyone else who is asked to attest the anchor log. */
export interface Attestors {
  store: AttestationStore;
  authorities: readonly TimestampAuthority[];
  witnesses: readonly WitnessClient[];
  events: LedgerEvents;
}

/**
 * Asks every source whose turn has come about the newest checkpoint of the anchor log. One that cannot
 * be reached, or answers what does not fit, is asked again later, each for itself; nothing waits for them.
 */
export async function attest(attestors: Attestors): Promise<void> {
  const { authorities, witnesses } = attestors;
  await Promise.all([
    ...authorities.map((authority) =>
      attempt(attestors, authority.name, () => stamp(attestors, authority)),
    ),
    ...witnesses.map((witness) =>
      attempt(attestors, witness.name, () => cosign(attestors, witness)),
    ),
  ]);
}

/** Returns the size that was attested; null when there was nothing to do. */
async function stamp({ store }: Attestors, authority: TimestampAuthority): Promise<number | null> {
  const checkpoint = await store.claim('timestamp', authority.name);
  if (checkpoint === null) return null;
  const timestamp = await authority.stamp(checkpoint.text);
  await store.stamped(checkpoint.size, authority.name, timestamp);
  return checkpoint.size;
}

async function cosign({ store }: Attestors, witness: WitnessClient): Promise<number | null> {
  const checkpoint = await store.claim('cosignature', witness.name);
  if (checkpoint === null) return null;
  const cosignature = await witness.cosign(
    checkpoint,
    await store.lastCosigned(witness.name),
    (oldSize) => store.consistency(oldSize, checkpoint.size),
  );
  await store.cosigned(checkpoint.size, witness.name, cosignature);
  return checkpoint.size;
}

async function attempt(
  { store, events }: Attestors,
  source: string,
  ask: () => Promise<number | null>,
): Promise<void> {
  try {
    const size = await ask();
    if (size !== null) events.attested(source, size);
  } catch (error) {
    const reason = reasonOf(error);
    events.attestationFailed(source, reason);
    await store.failed(source, reason);
  }
}

/** `fetch` says only that it failed; the reason is in the error's `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
