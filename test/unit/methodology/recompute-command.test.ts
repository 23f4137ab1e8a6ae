import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { register } from '../../../cli/commands/recompute.ts';
import { readCatalogue } from '../../../cli/catalogue.ts';
import { inputOnReceipt, statedMeasurement } from '../../../cli/stated-measurement.ts';
import type { InferenceRecord } from '../../../shared/domain/inference.ts';
import type { EstimateInput } from '../../../shared/domain/methodology/methodology.ts';
import { recompute } from '../../../shared/domain/methodology/recompute.ts';
import { buildReceipt } from '../../../shared/domain/receipt/build.ts';
import type { ReceiptDocument } from '../../../shared/domain/receipt/document.ts';
import { receiptIssuer } from '../../../shared/domain/receipt/issuer.ts';
import { METHODOLOGY, request } from './fixtures.ts';

const directory = mkdtempSync(join(tmpdir(), 'recompute-'));
afterAll(() => rmSync(directory, { recursive: true }));
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

const SIGNED_AT = Date.UTC(2026, 10, 20, 9, 38, 6, 7);
const { catalogue } = readCatalogue();
const region = catalogue.regions[0]!;
const model = catalogue.models.find(({ footprint }) => footprint.ref !== undefined)!;

const record: InferenceRecord = {
  requestId: 'req_01JD4Z7Q3RZ6X0T8WB5N2K9MVC',
  organisationId: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
  keyId: 'key_01JD0A8N5K3M7Q2T9VXB4C6DEG',
  route: 'chat.completions',
  model: model.id,
  region: region.code,
  tier: 'audit',
  startedAt: SIGNED_AT - 1_900,
  endedAt: SIGNED_AT - 13,
  usage: { inputTokens: 1_204, cachedInputTokens: 1_024, outputTokens: 356, source: 'upstream' },
  attempts: 2,
  salt: Buffer.alloc(16, 7).toString('base64url'),
  requestDigest: Buffer.alloc(32, 1).toString('base64url'),
  outcome: 'complete',
};

/** What the pipeline asks the methodology for this record. */
const { name: operator, ...stated } = region.operator;
const input: EstimateInput = {
  usage: record.usage,
  route: record.route,
  model: { id: model.id, footprint: model.footprint },
  zone: region.zone,
  site: { operator, ...stated },
  attempts: record.attempts,
  latencyS: (record.endedAt - record.startedAt) / 1_000,
};

function receipt(): ReceiptDocument {
  return buildReceipt({
    issuer: receiptIssuer('https://gateway.example'),
    record,
    estimate: { measurement: METHODOLOGY.estimate(input) },
    gridZone: region.zone,
    signedAt: SIGNED_AT,
  });
}

/** Runs the command on a document; gives what it printed and the exit code. */
async function run(
  document: object,
  ...options: string[]
): Promise<{ text: string; code: number }> {
  const file = join(directory, 'receipt.json');
  writeFileSync(file, JSON.stringify(document));
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  const program = new Command().exitOverride();
  register(program);
  await program.parseAsync(['recompute', file, ...options], { from: 'user' });
  return { text, code: Number(process.exitCode ?? 0) };
}

describe('docket recompute', () => {
  it('reproduces a receipt to the last character', async () => {
    const { text, code } = await run(receipt(), '--json');
    expect(JSON.parse(text)).toMatchObject({
      reproduced: true,
      methodology: 'docket-1 1.0.0',
      differences: [],
    });
    expect(code).toBe(0);
  });

  it('finds one receipt in an API answer', async () => {
    const { text } = await run({ id: 'chatcmpl-1', choices: [], receipt: receipt() });
    expect(text).toContain('REPRODUCED');
  });

  it('names the figure that was altered, and exits with 1', async () => {
    const document = receipt();
    const altered = document.measurement!.result.find(
      ({ quantityKind }) => quantityKind === 'gwp',
    )!;
    altered.value = altered.lower;
    const { text, code } = await run(document);
    expect(text).toContain('DIFFERENT  1 ');
    expect(text).toContain('results.gwp.value');
    expect(code).toBe(1);
  });

  it('tells altered token counts by the digest of the usage', async () => {
    const document = receipt();
    document.credentialSubject.outputTokens = 3;
    const { text, code } = await run(document, '--json');
    const { differences } = JSON.parse(text) as { differences: { path: string }[] };
    expect(differences.map(({ path }) => path)).toContain('inputs[0].usage.usage');
    expect(code).toBe(1);
  });

  it('has nothing to reproduce on a degraded receipt', async () => {
    const { measurement: _, ...rest } = receipt();
    const degraded = {
      ...rest,
      degradation: { code: 'model_size_unknown', stage: 'model' },
      explanation: 'The size of the model is not known.',
      tier: 'degraded',
    };
    await expect(run(degraded)).rejects.toThrow('model_size_unknown');
  });
});

describe('a receipt that carries its records', () => {
  it('is reproduced from itself alone, measured energy included', () => {
    const measured = request({ usage: { ...record.usage, measuredJoules: 81.25 } });
    const measurement = METHODOLOGY.estimate(measured);
    const document = buildReceipt({
      issuer: receiptIssuer('https://gateway.example'),
      record,
      estimate: { measurement },
      signedAt: SIGNED_AT,
    }).measurement!;
    const carrying = {
      ...document,
      used: document.used.map((entry, index) => ({
        ...entry,
        record: measurement.inputs[index]!.record,
      })),
    };
    const rebuilt = inputOnReceipt(JSON.parse(JSON.stringify(carrying)) as typeof document)!;
    expect(recompute(rebuilt, METHODOLOGY, statedMeasurement(document)).differences).toEqual([]);
  });
});
