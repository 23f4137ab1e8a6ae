/** What receipts name as the same for every request of a deployment: missing, altered or added, both verifiers find it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { derivationPath } from '#shared/packs/layout.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { expectRefused, forge, GOOD_PACK } from './forger.ts';
import { ForgedPack } from './tampering.ts';

let record = '';
beforeAll(() => {
  const names = [...new ForgedPack(GOOD_PACK).files.keys()];
  record = names.find((name) => name.startsWith('data/derivations/'))!;
});

/** The record with another figure in it. */
const altered = (pack: ForgedPack): string =>
  pack.text(record).replace('"pue":"1.12"', '"pue":"1.02"');

describe('a derivation record in a pack', () => {
  it('is there once for each that receipts name', () => {
    const pack = new ForgedPack(GOOD_PACK);
    expect(record).toBe(derivationPath(multihashOfContent(pack.files.get(record)!)));
    const lines = ['receipts', 'revisions'].flatMap((folder) =>
      pack.text(pack.shard(folder)).trimEnd().split('\n'),
    );
    const named = new Set(
      lines.flatMap((line) => /derivations\/(uEi[\w-]{44})/.exec(line)?.[1] ?? []),
    );
    const packed = [...pack.files.keys()].filter((name) => name.startsWith('data/derivations/'));
    expect(packed).toEqual([...named].map(derivationPath).toSorted());
  });

  it('that is missing is found, also when the pack was sealed again', async () => {
    const path = await forge((pack) => pack.files.delete(record), 'seal');
    await expectRefused(path, 'derivation_missing');
  });

  it('that was altered is found: by the checksums, and by its name when those were made anew', async () => {
    const edit = (pack: ForgedPack) => pack.set(record, altered(pack));
    await expectRefused(await forge(edit, 'nothing'), 'checksum_mismatch');
    await expectRefused(await forge(edit, 'seal'), 'derivation_mismatch');
  });

  it('that was altered and named anew is missed where receipts name the old one', async () => {
    const edit = (pack: ForgedPack) => {
      const text = altered(pack);
      pack.files.delete(record);
      pack.set(derivationPath(multihashOfContent(Buffer.from(text))), text);
    };
    await expectRefused(await forge(edit, 'seal'), 'derivation_missing');
  });

  it('that no receipt names has no place', async () => {
    const edit = (pack: ForgedPack) => {
      const text = altered(pack);
      pack.set(derivationPath(multihashOfContent(Buffer.from(text))), text);
    };
    await expectRefused(await forge(edit, 'seal'), 'extra_file');
  });
});
