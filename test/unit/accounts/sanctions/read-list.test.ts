import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { readXmlRecords } from '#shared/accounts/sanctions/files/xml-records.ts';
import type { ListedEntity } from '#shared/accounts/sanctions/listed.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/sanctions');
const directory = await mkdtemp(join(tmpdir(), 'lists-'));
afterAll(() => rm(directory, { recursive: true }));

async function read(name: string, aliases?: string) {
  const path = join(FIXTURES, name);
  const file = await openSanctionsFile(path, aliases && join(FIXTURES, aliases));
  const entities: ListedEntity[] = [];
  for await (const entity of file.entities()) entities.push(entity);
  return { file, entities, publishedOn: file.publishedOn() };
}

async function refuse(text: string): Promise<unknown> {
  const path = join(directory, 'list');
  await writeFile(path, text);
  const file = await openSanctionsFile(path);
  return count(file.entities());
}

/** Reads to the end. */
async function count(items: AsyncIterable<unknown>): Promise<number> {
  let seen = 0;
  for await (const item of items) seen += item === undefined ? 0 : 1;
  return seen;
}

describe('reading a published list', () => {
  it('OFAC SDN XML: names in parts, weak aliases, programmes, date', async () => {
    const { file, entities, publishedOn } = await read('ofac-sdn.xml');
    expect([file.source, publishedOn]).toEqual(['ofac_sdn', '01/15/2026']);
    expect(file.version).toMatch(/^[0-9a-f]{64}$/);
    expect(entities).toEqual([
      {
        id: '90001',
        kind: 'organisation',
        names: [
          { name: 'ZORVANIK HEAVY INDUSTRIES & SONS', weak: false },
          { name: 'ZHI WORKS', weak: false },
          { name: 'THE WORKS', weak: true },
        ],
        programme: 'TEST-A TEST-B',
        countries: ['Elbonia'],
      },
      {
        id: '90002',
        kind: 'person',
        names: [{ name: 'Miroslav ZORIN', weak: false }],
        programme: 'TEST-A',
        countries: [],
      },
    ]);
  });

  it('OFAC CSV: no header, -0- for nothing, aliases in a second file, an end-of-file character', async () => {
    const { entities } = await read('ofac-sdn.csv', 'ofac-alt.csv');
    expect(
      entities.map(({ id, kind, names }) => [id, kind, names.map(({ name }) => name)]),
    ).toEqual([
      ['90001', 'organisation', ['ZORVANIK HEAVY INDUSTRIES & SONS', 'ZHI WORKS']],
      ['90002', 'person', ['ZORIN, Miroslav', 'ZORIN, M. K.']],
      ['90003', 'other', ['QUELLMAR STAR']],
    ]);
  });

  it('EU consolidated XML: whole names, strength, citizenship', async () => {
    const { file, entities, publishedOn } = await read('eu.xml');
    expect([file.source, publishedOn]).toEqual(['eu', '2026-01-15T10:00:00.000+01:00']);
    expect(entities[0]).toEqual({
      id: 'EU.9001.1',
      kind: 'person',
      names: [
        { name: 'Grzegorz Brzęczyszczykiewicz', weak: false },
        { name: 'Grzegorz z Chrząszczyżewoszyc', weak: true },
      ],
      programme: 'TESTEU',
      countries: ['XX'],
    });
    expect(entities[1]?.names.map(({ name }) => name)).toEqual(['Банк Квельмар', 'Bank Quellmar']);
  });

  it('UN consolidated XML: name parts, low quality aliases, empty ones left out', async () => {
    const { file, entities } = await read('un.xml');
    expect(file.source).toBe('un');
    expect(entities).toEqual([
      {
        id: '9100001',
        kind: 'person',
        names: [
          { name: 'ABD AL-RAHIM TARFAOUI', weak: false },
          { name: 'Abou Tarfa', weak: false },
          { name: 'The Engineer', weak: true },
        ],
        programme: 'TEST',
        countries: ['Elbonia'],
      },
      {
        id: '9100002',
        kind: 'organisation',
        names: [
          { name: 'NORTHERN QUANTUM BUREAU', weak: false },
          { name: 'Bureau 77', weak: false },
        ],
        programme: 'TEST',
        countries: [],
      },
    ]);
  });

  it('OpenSanctions CSV: quotes, line breaks, several aliases', async () => {
    const { file, entities } = await read('targets.simple.csv');
    expect(file.source).toBe('opensanctions');
    expect(entities.map(({ id, kind, programme }) => [id, kind, programme])).toEqual([
      ['NK-9001', 'organisation', 'TEST-OS'],
      ['NK-9002', 'person', 'Invented'],
      ['NK-9003', 'other', 'Invented'],
    ]);
    expect(entities[0]?.names.map(({ name }) => name)).toEqual([
      'Zorvanik Heavy Industries',
      'ZHI Works',
      'Zorvanik "Heavy" Works',
    ]);
    expect(entities[1]?.countries).toEqual(['xx', 'yy']);
  });

  it.each(['', 'hello', '<html><body/></html>', '{"a":1}', 'a,b,c\n1,2,3'])(
    'refuses what is no list: %j',
    async (text) => {
      await expect(refuse(text)).rejects.toMatchObject({ code: 'invalid_file' });
    },
  );

  it('refuses a file that is cut short', async () => {
    await expect(refuse('<sdnList><sdnEntry><uid>1</uid>')).rejects.toThrow();
    await expect(refuse('id,schema,name,aliases\n"1","Person","unclosed')).rejects.toThrow();
  });

  it('expands no entities but the five that XML defines, and fetches nothing', async () => {
    const bomb = `<!DOCTYPE sdnList [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">
      <!ENTITY c SYSTEM "file:///etc/passwd">]><sdnList><sdnEntry><uid>&b;&c;</uid></sdnEntry></sdnList>`;
    await expect(refuse(bomb)).rejects.toThrow(/undefined entity|entity/i);
  });

  it('bounds depth, size of a record and length of a text', async () => {
    async function* one(text: string): AsyncGenerator<string> {
      yield text;
    }
    const consume = (text: string): Promise<unknown> =>
      count(readXmlRecords(one(text), new Set(['r'])));
    await expect(consume('<r>'.repeat(100))).rejects.toThrow('nested too deeply');
    await expect(consume(`<x><r>${'<a/>'.repeat(20_001)}</r></x>`)).rejects.toThrow('too large');
    await expect(consume(`<x><r>${'a'.repeat(100_001)}</r></x>`)).rejects.toThrow('too long');
  });
});
