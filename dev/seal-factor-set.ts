/**
 * `node dev/seal-factor-set.ts draft.json` checks a factor set and puts it into shared/methodology/factors: as canonical
 * JSON, under its version and digest. Processes use it from their next start on. One that is to be released has its line in
 * shared/methodology/frozen.ts first; any other has a name of its own.
 */
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { refuseUnreleasedName } from '#shared/methodology/factor-set-file.ts';
import { parseFactorSet } from '#shared/methodology/parse-factor-set.ts';

const [draft = ''] = process.argv.slice(2);
const set = parseFactorSet(JSON.parse(readFileSync(draft, 'utf8')));
const text = canonicalJson(set);
refuseUnreleasedName(set.version, hash('sha256', text, 'base64url'));
const name = `${set.version}.${hash('sha256', text)}.json`;
const file = new URL(`../shared/methodology/factors/${name}`, import.meta.url);
writeFileSync(file, text, { flag: 'wx' });
process.stdout.write(`${name}\n`);
