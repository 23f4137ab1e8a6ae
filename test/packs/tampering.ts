import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  archiveOrder,
  BAG_INFO,
  KEY_EVENTS,
  MANIFEST,
  REPORT_PAGE,
  SEAL,
  TAG_FILES,
  TAG_MANIFEST,
} from '#shared/packs/layout.ts';
import { bagDescription, bagInfo, formatManifest } from '#shared/packs/manifest.ts';
import type { CredentialSigner, UnsignedCredential } from '#shared/receipts/signing/signer.ts';
import { ArchiveWriter } from '#workers/exports/archive.ts';
import { openArchive } from '#cli/verify/archive-file.ts';
import { openPack } from '#cli/verify/pack-file.ts';
import { remadePage } from './remade-page.ts';

/** Parsed JSON that a test edits at will. */
export type Loose = ReturnType<typeof JSON.parse>;

/**
 * How far a forger goes: `nothing` beyond the edit itself; `checksums`: both manifests are made anew; `seal`: the seal
 * too, with a key of the forger's (by default the issuer's own pack key, which has leaked).
 */
export type Repair = 'nothing' | 'checksums' | 'seal';

/** A pack in memory, to be changed and written again. */
export class ForgedPack {
  readonly files = new Map<string, Buffer>();
  folder: string;
  readonly #page: string | undefined;

  constructor(path: string) {
    const archive = openArchive(path);
    const pack = openPack(archive);
    this.folder = pack.folder;
    for (const name of pack.files.keys()) this.files.set(name, Buffer.from(pack.read(name)));
    archive.close();
    this.#page = this.files.get(REPORT_PAGE)?.toString();
  }

  text(name: string): string {
    return this.files.get(name)!.toString();
  }

  set(name: string, content: string | Buffer): void {
    this.files.set(name, Buffer.from(content));
  }

  /** Edits the lines of a file. */
  lines(name: string, edit: (lines: string[]) => string[]): void {
    const lines = edit(this.text(name).trimEnd().split('\n'));
    this.set(name, lines.map((line) => `${line}\n`).join(''));
  }

  /** The only shard of a folder. */
  shard(folder: string): string {
    const found = [...this.files.keys()].filter((name) => name.startsWith(`data/${folder}/`));
    if (found.length !== 1) throw new Error(`${folder} has ${found.length} shards`);
    return found[0]!;
  }

  seal(): Loose {
    return JSON.parse(this.text(SEAL));
  }

  /** Brings the bag into agreement with its content. */
  repair(signer?: CredentialSigner, edit: (seal: Loose) => void = () => {}): void {
    if (signer !== undefined) this.#remakePage(edit);
    const payload = [...this.files.keys()].filter((name) => name.startsWith('data/'));
    const lineOf = (path: string) => ({ path, sha256: hash('sha256', this.files.get(path)!) });
    this.set(MANIFEST, formatManifest(payload.map(lineOf)));
    const bytes = payload.reduce((sum, name) => sum + this.files.get(name)!.length, 0);
    const oxum = `Payload-Oxum: ${bytes}.${payload.length}`;
    this.set('bag-info.txt', this.text('bag-info.txt').replace(/^Payload-Oxum: .*$/m, oxum));
    if (signer !== undefined) this.#reseal(signer, edit);
    this.set(TAG_MANIFEST, formatManifest([...TAG_FILES, SEAL].map(lineOf)));
  }

  /** Brings the checksums of the bag's own files into agreement, and its manifest where payload was edited. */
  repairTags(): void {
    const info = this.text('bag-info.txt');
    const declared = this.files.get(MANIFEST)!;
    this.repair();
    // What was edited stays edited.
    this.set('bag-info.txt', info);
    if (declared.equals(this.files.get(MANIFEST)!)) this.set(MANIFEST, declared);
    const lineOf = (path: string) => ({ path, sha256: hash('sha256', this.files.get(path)!) });
    this.set(TAG_MANIFEST, formatManifest([...TAG_FILES, SEAL].map(lineOf)));
  }

  #reseal(signer: CredentialSigner, edit: (seal: Loose) => void): void {
    const { proof: _, ...seal } = this.seal();
    for (const file of seal.credentialSubject.file) {
      file.digest = multihash(this.files.get(file.name)!);
    }
    this.#countAnchor(seal);
    this.#describe(seal);
    const described = this.text(BAG_INFO);
    edit(seal);
    seal.id = seal.id.endsWith('#seal') ? `${seal.credentialSubject.id}#seal` : seal.id;
    // Unless the edit was of that.
    if (this.text(BAG_INFO) === described) this.#describe(seal);
    this.folder = seal.credentialSubject.id.split('/').at(-1);
    const text = signer.signCredential(seal as UnsignedCredential);
    this.set(SEAL, text);
  }

  /** The page of what the pack holds now, unless that is what was edited. */
  #remakePage(edit: (seal: Loose) => void): void {
    if (this.#page !== this.files.get(REPORT_PAGE)?.toString()) return;
    const seal = this.seal();
    edit(seal);
    const page = remadePage(this, seal);
    if (page !== undefined) this.set(REPORT_PAGE, page);
  }

  /** As the manifest has it, and what it does not name at the end. */
  #order(): string[] {
    const payload = [
      ...(this.files.get(MANIFEST)?.toString() ?? '').matchAll(/^\S+ {2}(.+)$/gm),
    ].map(([, name]) => name!);
    const order = archiveOrder(payload).filter((name) => this.files.has(name));
    return [...order, ...[...this.files.keys()].filter((name) => !order.includes(name))];
  }

  /** What `bag-info.txt` says follows from the seal. */
  #describe({ issuer, validFrom, credentialSubject }: Loose): void {
    const payload = [...this.files.keys()].filter((name) => name.startsWith('data/'));
    const { range, checkpoint } = credentialSubject;
    const text = bagInfo({
      issuer,
      identifier: credentialSubject.id,
      description: bagDescription({ ...range, checkpointSize: checkpoint.size }, checkpoint.log),
      date: validFrom.slice(0, 10),
      payloadBytes: payload.reduce((sum, name) => sum + this.files.get(name)!.length, 0),
      payloadFiles: payload.length,
    });
    this.set(BAG_INFO, text);
    const named = credentialSubject.file.find(({ name }: Loose) => name === BAG_INFO);
    if (named !== undefined) named.digest = multihash(Buffer.from(text));
  }

  /** The counts of the anchor as they are, so that what contradicts it has to be seen in the anchor itself. */
  #countAnchor({ credentialSubject }: Loose): void {
    const events = this.files.get(KEY_EVENTS);
    if (credentialSubject.anchor === undefined || events === undefined) return;
    const isHead = (name: string): boolean => name.startsWith('data/anchor/keys/');
    credentialSubject.anchor.keyEvents = events.toString().split('\n').length - 1;
    credentialSubject.anchor.keyHeads = [...this.files.keys()].filter(isHead).length;
  }

  /** @param order names in another order, or more than once; absent: as they are */
  async write(path: string, order: readonly string[] = this.#order()): Promise<void> {
    const chunks: Uint8Array[] = [];
    const writer = new ArchiveWriter(
      async (bytes) => void chunks.push(Uint8Array.from(bytes)),
      this.folder,
    );
    for (const name of order) await writer.add(name, this.files.get(name)!);
    await writer.finish();
    writeFileSync(path, Buffer.concat(chunks));
  }
}

export function multihash(bytes: Uint8Array): string {
  const digest = Buffer.concat([Buffer.of(0x12, 0x20), hash('sha256', bytes, 'buffer')]);
  return `u${digest.toString('base64url')}`;
}

/** Replaces every occurrence of a text in a file with another of the same length: in an archive, headers stay right. */
export function patchBytes(path: string, from: string, to: string): void {
  if (from.length !== to.length) throw new Error('a patch keeps the length');
  const bytes = readFileSync(path, 'latin1');
  if (!bytes.includes(from)) throw new Error('there is nothing to patch');
  writeFileSync(path, bytes.replaceAll(from, to), 'latin1');
}
