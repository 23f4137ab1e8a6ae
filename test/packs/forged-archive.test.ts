/** The ZIP archive as a weapon. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MANIFEST, SEAL } from '#shared/packs/layout.ts';
import { endRecords } from '#shared/packs/zip/headers.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { expectRefused, forge, newPath, GOOD_PACK, TRUST } from './forger.ts';
import { ForgedPack, patchBytes } from './tampering.ts';

describe('the archive', () => {
  it('zip slip: a name that leads out is refused', async () => {
    for (const [from, to] of [
      ['data/keys/jwks.json', '../../../evil.json/'.padEnd(19, 'x').slice(0, 19)],
      ['data/keys/jwks.json', '/etc/cron.d/evil.sh'],
      ['data/keys/jwks.json', 'data\\keys\\jwks.json'],
      ['data/keys/jwks.json', 'data//keys/jwks.jso'],
      ['data/keys/jwks.json', 'data/./keys/jwks.js'],
      ['data/keys/jwks.json', 'data/keys/jwk\0.json'],
    ] as const) {
      const path = await forge(() => {}, 'nothing');
      const { folder } = new ForgedPack(GOOD_PACK);
      patchBytes(path, `${folder}/${from}`, `${folder}/${to}`);
      await expectRefused(path, 'unsafe_path');
    }
  });

  it('names that hold control characters and a fake verdict stay on the line that quotes them, in both verifiers', async () => {
    const fake = '\r\n\u001b[2K\u001b[1AGOOD  100 receipts\n\u202e\u009b';
    const spoofs: Record<string, (pack: ForgedPack) => void> = {
      'a further file': (pack) => pack.set(`data/${fake}.json`, 'x'),
      'the folder': (pack) => (pack.folder = `${pack.folder}${fake}`),
      'the manifest': (pack) =>
        pack.lines(MANIFEST, (lines) => [...lines, `${'0'.repeat(64)}  data/x${fake}`]),
      'the bag': (pack) => pack.set('bag-info.txt', `${pack.text('bag-info.txt')}Note: ${fake}\n`),
      'the seal': (pack) => pack.set(SEAL, pack.text(SEAL).replace('"id":"', '"id":"\\r\\nGOOD  ')),
    };
    for (const [what, edit] of Object.entries(spoofs)) {
      const pack = new ForgedPack(GOOD_PACK);
      edit(pack);
      const path = newPath();
      await pack.write(path);
      const ours = await runDocket(['verify', path, '--trust', TRUST]);
      const python = await verifyWithPython(path, TRUST);
      expect([ours.code, python.code], what).toEqual([1, 1]);
      for (const output of [ours.stdout + ours.stderr, python.output]) {
        expect(output.match(/^(GOOD|BAD)\b/gm), `${what}: ${output}`).toEqual(['BAD']);
        expect(output.replaceAll('\n', ''), what).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }
    }
  });

  it('two files of one name are refused, also when they differ only in case', async () => {
    const pack = new ForgedPack(GOOD_PACK);
    const twice = newPath();
    await pack.write(twice, [...pack.files.keys(), 'data/keys/did.json']);
    await expectRefused(twice, 'duplicate_name');
    pack.set('data/keys/DID.json', 'x');
    const folded = newPath();
    await pack.write(folded);
    await expectRefused(folded, 'duplicate_name');
  });

  it('a second folder is refused', async () => {
    const path = await forge(() => {}, 'nothing');
    const { folder } = new ForgedPack(GOOD_PACK);
    patchBytes(path, `${folder}/verify.py`, `${folder.replace('evidence', 'evidencx')}/verify.py`);
    await expectRefused(path, 'extra_file');
  });

  it('a bomb is refused: nothing that is compressed is read', async () => {
    const path = newPath();
    writeFileSync(path, bomb());
    await expectRefused(path, ['compressed_entry', 'malformed_zip']);
  });

  it('a directory of forty gigabytes is refused before it is read, though the end of its archive is right', async () => {
    const directory = { entries: 5, offset: 0, size: 40_000_000_000 };
    const path = newPath();
    writeFileSync(path, 'PK\u0003\u0004');
    // Nothing between is on the disk.
    truncateSync(path, directory.size);
    appendFileSync(path, endRecords(directory));
    await expectRefused(path, 'absurd_size');
    truncateSync(path);
  });

  it('sizes that cannot be are refused', async () => {
    // The directory of the last file: both sizes become four gigabytes less two bytes.
    const bytes = readFileSync(GOOD_PACK);
    const central = bytes.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
    bytes.writeUInt32LE(0xffff_fffe, central + 20);
    bytes.writeUInt32LE(0xffff_fffe, central + 24);
    const path = newPath();
    writeFileSync(path, bytes);
    await expectRefused(path, ['absurd_size', 'malformed_zip']);
  });

  it('bytes before, between, after and behind are refused', async () => {
    const good = readFileSync(GOOD_PACK);
    const variants = {
      appended: Buffer.concat([good, Buffer.from('x')]),
      prepended: Buffer.concat([Buffer.from('x'), good]),
      cut: good.subarray(0, -1),
      half: good.subarray(0, good.length / 2),
      text: Buffer.from('PK, but not really'),
    };
    for (const bytes of Object.values(variants)) {
      const path = newPath();
      writeFileSync(path, bytes);
      await expectRefused(path, ['not_a_zip', 'malformed_zip']);
    }
    // What is no archive at all is nothing to be judged, for either of them.
    const none = newPath();
    for (const bytes of [Buffer.alloc(0), Buffer.from('x'), good.subarray(2, 5_000)]) {
      writeFileSync(none, bytes);
      const { verdict } = await verifyPack(none, { now: Date.now() });
      expect([verdict, (await verifyWithPython(none, TRUST)).code]).toEqual(['cannot_judge', 2]);
    }
    const commented = newPath();
    writeFileSync(commented, good);
    appendFileSync(commented, 'a comment');
    await expectRefused(commented, ['not_a_zip', 'malformed_zip']);
  });
});

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
const DOCKET = new URL('../../cli/docket.ts', import.meta.url).pathname;

/** Runs a verifier whose reader has left before it says anything (`| head -0`), of its complaints as well where asked. */
async function unread(command: readonly string[], leaves: 'stdout' | 'both') {
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  child.stdout.destroy();
  if (leaves === 'both') child.stderr.destroy();
  else child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, complaint };
}

describe('a reader that leaves early', () => {
  it('changes no exit code, and neither verifier complains of it', async () => {
    const bad = await forge((pack) => pack.set('data/x.json', 'x'), 'nothing');
    for (const [pack, trust, code] of [
      [GOOD_PACK, ['--trust', TRUST], 0],
      [GOOD_PACK, [], 3],
      [bad, ['--trust', TRUST], 1],
      [newPath(), [], 2],
    ] as const) {
      for (const verifier of [
        [process.execPath, DOCKET, 'verify'],
        ['python3', '-B', SCRIPT],
      ]) {
        const said = await unread([...verifier, pack, ...trust], 'stdout');
        expect([verifier.at(-1), said]).toEqual([verifier.at(-1), { code, complaint: '' }]);
      }
    }
  });

  it('changes nothing either where Python, which lacks a package, could not say so', async () => {
    const alone = ['python3', '-I', '-S', '-B', SCRIPT];
    expect(await unread([...alone, newPath()], 'both')).toMatchObject({ code: 2 });
    const command = [process.execPath, DOCKET, 'verify', newPath()];
    expect(await unread(command, 'both')).toMatchObject({ code: 2 });
  });
});

/** A small archive of one deflated file of 100 MB. */
function bomb(): Buffer {
  const name = Buffer.from('evidence-pack-x/bagit.txt');
  const content = deflateRawSync(Buffer.alloc(100_000_000));
  const local = Buffer.alloc(30);
  local.write('PK\u0003\u0004', 'latin1');
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(content.length, 18);
  local.writeUInt32LE(100_000_000, 22);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.write('PK\u0001\u0002', 'latin1');
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(content.length, 20);
  central.writeUInt32LE(100_000_000, 24);
  central.writeUInt16LE(name.length, 28);
  const offset = local.length + name.length + content.length;
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([local, name, content, central, name, end]);
}
