import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkHead,
  checkLink,
  EMPTY_CHAIN,
  hashEntry,
  type ChainFault,
  type ChainHead,
} from '#shared/accounts/audit/chain.ts';
import { type AuditEntry } from '#shared/accounts/audit/entry.ts';
import { forAll } from '#test/support/for-all.ts';

const content = fc.record({
  action: fc.string(),
  actorKind: fc.constantFrom(
    'user' as const,
    'key' as const,
    'operator' as const,
    'system' as const,
  ),
  actorId: fc.string(),
  address: fc.option(fc.string()),
  subject: fc.option(fc.string()),
  reason: fc.option(fc.string()),
  details: fc.json(),
  at: fc.nat(),
});

function build(
  contents: readonly Omit<AuditEntry, 'id' | 'orgId' | 'sequence' | 'previousHash' | 'hash'>[],
): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (const [sequence, part] of contents.entries()) {
    const previousHash = entries.at(-1)?.hash ?? EMPTY_CHAIN.hash;
    const entry = {
      ...part,
      id: `aud_${sequence}`,
      orgId: 'org_1',
      sequence,
      previousHash,
    };
    entries.push({ ...entry, hash: hashEntry(entry) });
  }
  return entries;
}

function verify(entries: readonly AuditEntry[], kept: ChainHead): ChainFault | null {
  let head = EMPTY_CHAIN;
  for (const entry of entries) {
    const fault = checkLink(head, entry);
    if (fault !== null) return fault;
    head = { size: head.size + 1, hash: entry.hash };
  }
  return checkHead(head, kept);
}

const headOf = (entries: readonly AuditEntry[]): ChainHead => ({
  size: entries.length,
  hash: entries.at(-1)?.hash ?? EMPTY_CHAIN.hash,
});

describe('the audit chain', () => {
  it('is sound as it was written', () => {
    forAll([fc.array(content)], (contents) => {
      const entries = build(contents);
      return verify(entries, headOf(entries)) === null;
    });
  });

  it('shows any change to any field of any entry [keys.audited]', () => {
    forAll(
      [
        fc.array(content, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.constantFrom('action', 'actorId', 'reason', 'details', 'subject', 'address', 'id'),
      ],
      (contents, position, field) => {
        const entries = build(contents);
        const kept = headOf(entries);
        const at = position % entries.length;
        entries[at] = { ...entries[at]!, [field]: `${entries[at]![field as 'id']}!` };
        expect(verify(entries, kept)).toEqual({ sequence: at, problem: 'altered' });
      },
    );
  });

  it('shows entries that were cut off, taken out, or swapped', () => {
    forAll([fc.array(content, { minLength: 2, maxLength: 8 }), fc.nat()], (contents, position) => {
      const entries = build(contents);
      const kept = headOf(entries);
      const at = position % (entries.length - 1);
      expect(verify(entries.slice(0, -1), kept)?.problem).toBe('truncated');
      expect(verify(entries.toSpliced(at, 1), kept)).toEqual({ sequence: at, problem: 'gap' });
      const swapped = entries.with(at, entries[at + 1]!).with(at + 1, entries[at]!);
      expect(verify(swapped, kept)?.sequence).toBe(at);
    });
  });

  it('shows a tail that was rewritten with right hashes', () => {
    const entries = build(
      Array.from({ length: 3 }, (_, at) => ({
        action: 'key.revoked',
        actorKind: 'operator' as const,
        actorId: 'ada',
        address: null,
        subject: null,
        reason: null,
        details: '{}',
        at,
      })),
    );
    const forged = build(entries.map((entry) => ({ ...entry, actorId: 'eve' })));
    expect(verify(forged, headOf(entries))?.problem).toBe('head_mismatch');
  });
});
