import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { register } from '#cli/commands/recompute.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { estimateInput } from '#shared/methodology/estimate-input.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { type DerivationRecord, derivationOf } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { METHODOLOGY } from './fixtures.ts';

const directory = mkdtempSync(join(tmpdir(), 'recompute-'));
afterAll(() => rmSync(directory, { recursive: true }));
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** Parsed JSON that a test edits at will. */
type Loose = ReturnType<typeof JSON.parse>;

const SIGNED_AT = Date.UTC(2026, 10, 20, 9, 38, 6, 7);
const { catalogue } = readCatalogue();
const region = catalogue.regions[0]!;
const model = catalogue.models.find(({ footprint }) => footprint.ref !== undefined)!;

const record: InferenceRecord = {
  requestId: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  orgId: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
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

const issuer = receiptIssuer('https://gateway.example');
/** Kept beside the receipts. */
const derivations = new Set<DerivationRecord>();

function receipt(more: Partial<InferenceRecord> = {}): ReceiptDocument {
  const asked = { ...record, ...more };
  const measurement = METHODOLOGY.estimate(estimateInput(catalogue, asked));
  derivations.add(derivationOf(issuer, measurement));
  return buildReceipt({
    issuer,
    record: asked,
    estimate: { measurement },
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
  for (const { digest, text: kept } of derivations) {
    writeFileSync(join(directory, `${digest}.json`), kept);
  }
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

  it('finds that another usage does not give these figures', async () => {
    const document: Loose = JSON.parse(JSON.stringify(receipt()));
    document.measurement.used[0].record.output_tokens = 3;
    const { text, code } = await run(document);
    expect(text).toContain('DIFFERENT');
    expect(code).toBe(1);
  });

  it('says where to fetch the derivation record when it is not there, and refuses another', async () => {
    const document: Loose = JSON.parse(JSON.stringify(receipt()));
    const { derivation } = document.measurement;
    document.measurement.derivation = derivation.replace(
      /.$/,
      derivation.endsWith('Q') ? 'g' : 'Q',
    );
    await expect(run(document)).rejects.toThrow(`Fetch ${document.measurement.derivation}`);
    const other = join(directory, `${derivation.slice(derivation.lastIndexOf('/') + 1)}.json`);
    await expect(run(document, '--derivation', other)).rejects.toThrow('another digest');
  });

  it('refuses a receipt that carries no records', async () => {
    const document: Loose = JSON.parse(JSON.stringify(receipt()));
    for (const used of document.measurement.used) delete used.record;
    await expect(run(document)).rejects.toThrow('measurement.used[0].record');
  });

  it('has nothing to reproduce on a degraded receipt', async () => {
    const { measurement: _, ...rest } = receipt();
    const degraded = {
      ...rest,
      degradation: { code: 'model_size_unknown', requestedTier: 'audit', stage: 'model' },
      explanation: 'The size of the model is not known.',
      tier: 'degraded',
    };
    await expect(run(degraded)).rejects.toThrow('model_size_unknown');
  });
});

describe('every receipt of the shipped catalogue', () => {
  const served = catalogue.models.flatMap(({ id, kinds, endpoints }) =>
    endpoints.flatMap(({ name }) =>
      catalogue.endpoints
        .find((endpoint) => endpoint.name === name)!
        .regions.map((code) => ({
          model: id,
          region: code,
          embedding: kinds.includes('embedding'),
        })),
    ),
  );
  const usage = {
    inputTokens: 91,
    cachedInputTokens: 64,
    outputTokens: 13,
    source: 'counted' as const,
    tokenizer: 'o200k_base',
  };

  it.each(served)('of $model in $region is reproduced from itself alone', async (at) => {
    const more: Partial<InferenceRecord> = {
      model: at.model,
      region: at.region,
      route: at.embedding ? 'embeddings' : 'chat.completions',
      usage: { ...usage, outputTokens: at.embedding ? 0 : 13 },
    };
    const measured = { ...more, usage: { ...more.usage!, statedJoules: 10.1 + 10.2 } };
    // A model of no known size has an estimate only where its energy is known; nothing states its GPUs then either.
    const estimable = catalogue.models.find(({ id }) => id === at.model)!.footprint;
    if (Object.keys(estimable).length === 0) return;
    for (const each of [more, measured]) {
      const document = receipt(each);
      expect(document.measurement!.dataQuality === 'T1').toBe(false);
      expect(await run(document, '--json')).toMatchObject({ code: 0 });
    }
  });
});
