import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { signCoseRoot, formatCoseReceipt } from '#shared/ledger/cose-receipts.ts';
import { leafHash, nodeHash } from '#shared/ledger/hashing.ts';
import { jwkThumbprint } from '#shared/receipts/signing/identifiers.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';

/** The DER of an Ed25519 private key is this and 32 bytes (RFC 8410, 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
/** A key for this alone, which is no secret. */
const SEED = Buffer.from('docket: a key of test vectors 01');

const ENTRIES = ['zero', 'one', 'two', 'three', 'four'].map((name) =>
  Buffer.from(`{"id":"${name}"}`),
);
const INDEX = 2;

/** A COSE receipt of always the same bytes: of entry 2 of a log of five, by a fixed key. */
export function exampleReceipt() {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, SEED]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = rawPublicKey(privateKey);
  const [zero, one, two, three, four] = ENTRIES.map(leafHash) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const [left, right] = [nodeHash(zero, one), nodeHash(two, three)];
  const issuer = 'did:web:gateway.example';
  const signed = signCoseRoot(
    {
      origin: 'gateway.example/log/org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
      size: ENTRIES.length,
      root: nodeHash(nodeHash(left, right), four),
    },
    { issuer, kid: `${issuer}#${jwkThumbprint(publicKey)}` },
    { publicKey, sign: (bytes) => sign(null, bytes, privateKey) },
  );
  const path = { size: ENTRIES.length, index: INDEX, hashes: [three, left, four] };
  return {
    entry: ENTRIES[INDEX]!,
    publicKey,
    publicKeyPem: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }),
    receipt: formatCoseReceipt({ ...signed, ...path }),
  };
}
