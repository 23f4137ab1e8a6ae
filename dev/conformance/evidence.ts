import { row, type Section } from './section.ts';

export const EVIDENCE_SECTION: Section = {
  title: 'Evidence',
  about: 'What an auditor who trusts nobody can check.',
  rows: [
    row('Indexes are contiguous, and every checkpoint is a prefix of every later one.', {
      'stores/ledger/integration': [
        'gives contiguous indexes, each once, when several integrate at once',
      ],
      'stores/ledger/checkpoints': ['are each a prefix of every later one'],
    }),
    row('Nothing in the ledger can be changed or removed, and what a superuser changes is found.', {
      'stores/ledger/append-only': ['in %s cannot be changed or removed, not even by the owner'],
      'stores/ledger/fsck': [
        'all copies of a hash, changed alike: the checkpoints contradict them',
      ],
      'stores/ledger/anchor-attestation-fsck': ['names %s that was changed, and says why'],
    }),
    row('Killed at any statement, a worker loses nothing and repeats nothing.', {
      'workers/ledger/ledger-crash': [
        'loses nothing, repeats nothing and leaves no gap when killed at any statement',
      ],
      'workers/recalculation/recalculation-crash': [
        'a worker that is killed at any statement neither loses a recalculation nor makes two',
      ],
      'workers/exports/export-crash': [
        'a pack is whole or not there, and comes out the same, when its builder is killed at any step',
      ],
    }),
    row('An evidence pack verifies with tools that are not ours.', {
      'packs/third-party': [
        'runs the script that is in the pack',
        'gives the root that was signed, from the lines as they are',
      ],
    }),
    row('A pack that was edited, cut or forged does not verify.', {
      'packs/forged-receipts': ['is good for both verifiers', 'cannot lose its last receipts'],
      'packs/forged-ledger': ['receipts by a revoked key are refused'],
    }),
    row('Lineage says nothing that the signed digests contradict.', {
      'unit/lineage/contradictions': [
        'for any request: every record hashes to its signed digest, every figure is the signed one',
      ],
    }),
    row('A pack alone leads every number in it to its sources.', {
      'packs/lineage-documents': [
        'are one for each derivation, of the first receipt that has it, revisions among them',
        'are the same again, and so the pack, when receipts were revised since',
      ],
      'unit/lineage/derivation-key': [
        'is one for requests that differ in tokens, attempts and time alone: they take the same records through the same formulas',
      ],
      'packs/forged-lineage': [
        'to say %s is found',
        'that were removed are missed, also when the seal does not count them',
      ],
    }),
  ],
};
