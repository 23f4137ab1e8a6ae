import { formatVerifierKey, type VerifierKey } from '#shared/ledger/verifier-keys.ts';
import type { WitnessPolicy } from '#shared/ledger/witness-policy.ts';

/** Writes a policy, whose names are octets. What it gives reads back as the same policy. */
export function formatWitnessPolicy({
  logs,
  witnesses,
  groups,
  quorum,
}: WitnessPolicy): Uint8Array {
  const lines = [
    ...logs.map(({ key, url }) => ['log', keyOctets(key), ...(url === undefined ? [] : [url])]),
    ...witnesses.map(({ name, key, url }) => {
      return ['witness', name, keyOctets(key), ...(url === undefined ? [] : [url])];
    }),
    ...groups.map(({ name, threshold, members }) => {
      return ['group', name, String(threshold), ...members];
    }),
    ['quorum', quorum],
  ];
  const text = lines.map((items) => `${items.join(' ')}\n`).join('');
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function keyOctets({ name, type, publicKey, id }: VerifierKey): string {
  const text = formatVerifierKey(name, type, publicKey);
  const rest = text.slice(name.length + 1 + id.length);
  return Buffer.from(`${name}+${id}${rest}`).toString('latin1');
}
