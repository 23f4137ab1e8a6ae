import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WitnessDemands } from '#cli/verify/witnesses.ts';
import { archiveOrder } from '#shared/packs/layout.ts';
import type { TamperLab } from './tamper-lab.ts';
import type { Tampering } from './tamper-rows.ts';
import { ForgedPack } from './tampering.ts';

let made = 0;

/** Writes the pack that a row of the tamper matrix describes. Returns its path. */
export async function forgeRow(lab: TamperLab, row: Tampering): Promise<string> {
  const pack = new ForgedPack(lab[row.pack ?? 'whole']);
  const editSeal = row.edit?.(pack);
  const reseals = row.powers === 'pack key' || row.powers === 'all but the anchor';
  if (row.sealedBy !== undefined || reseals)
    pack.repair(lab.lab.signer(row.sealedBy ?? 'packs'), editSeal ?? (() => {}));
  else if (row.unrepaired !== true && row.edit !== undefined) pack.repairTags();
  const path = join(lab.directory, `row-${(made += 1)}.zip`);
  const names = archiveOrder([...pack.files.keys()].filter((name) => name.startsWith('data/')));
  await (row.order === undefined ? pack.write(path) : pack.write(path, row.order(names)));
  if (row.bytes !== undefined) writeFileSync(path, row.bytes(readFileSync(path)));
  return path;
}

/** What a row asks of witnesses, as `verifyPack` takes it. */
export function demandsOf(lab: TamperLab, asked: Tampering['witnesses']): WitnessDemands {
  if (asked === undefined) return {};
  const source = lab.policies[asked.policy];
  return {
    witnessPolicy: { content: readFileSync(source, 'utf8'), source },
    ...(asked.least === undefined ? {} : { requireWitness: asked.least }),
  };
}

/** The same as verify.py takes it. */
export function argumentsOf(lab: TamperLab, asked: Tampering['witnesses']): string[] {
  if (asked === undefined) return [];
  const least = asked.least === undefined ? [] : ['--require-witness', String(asked.least)];
  return ['--witness-policy', lab.policies[asked.policy], ...least];
}
