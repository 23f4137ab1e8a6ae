/**
 * `node dev/seal-factor-set.ts draft.json` checks a factor set and puts it into shared/methodology/factors: as canonical
 * JSON, under its version and digest. Processes use it from their next start on.
 */
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { parseFactorSet } from '#shared/methodology/parse-factor-set.ts';

const [draft = ''] = process.argv.slice(2);
const set = parseFactorSet(JSON.parse(readFileSync(draft, 'utf8')));
const text = canonicalJson(set);
const name = `${set.version}.${hash('sha256', text)}.json`;
const file = new URL(`../shared/methodology/factors/${name}`, import.meta.url);
writeFileSync(file, text, { flag: 'wx' });
process.stdout.write(`${name}\n`);
