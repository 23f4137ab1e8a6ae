import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atFileEnd } from './file-end.ts';

/**
 * Two regions with endpoints of their own, and a tiny one. All are the sandbox; the upstream's name of the model,
 * `<endpoint>/<model>`, says which endpoint was called.
 */
const REGIONS = `
version: 1
regions:
  - { code: tiny, name: Tiny, zone: FRA, operator: { name: sandbox }, capacity: 1, status: normal }
  - { code: west, name: West, zone: FRA, operator: { name: sandbox }, capacity: 1000, status: normal }
  - { code: north, name: North, zone: SWE, operator: { name: sandbox }, capacity: 1000, status: normal }
endpoints:
  - { name: tiny-1, adapter: openai-compatible, base_url: '\${SANDBOX_URL}', regions: [tiny], timeout_ms: 2000 }
  - { name: west-1, adapter: openai-compatible, base_url: '\${SANDBOX_URL}', regions: [west], timeout_ms: 2000 }
  - { name: west-2, adapter: openai-compatible, base_url: '\${SANDBOX_URL}', regions: [west], timeout_ms: 2000 }
  - { name: north-1, adapter: openai-compatible, base_url: '\${SANDBOX_URL}', regions: [north], timeout_ms: 2000 }
models:
  - id: everywhere
    kinds: [chat]
    context_window: 8192
    endpoints:
      - { name: west-1, model: west-1/everywhere }
      - { name: west-2, model: west-2/everywhere }
      - { name: north-1, model: north-1/everywhere }
    footprint: { active_b: 8, total_b: 8 }
  - id: in-both
    kinds: [chat]
    context_window: 131072
    endpoints:
      - { name: west-1, model: west-1/in-both }
      - { name: north-1, model: north-1/in-both }
    footprint: { active_b: 8, total_b: 8 }
  - id: crowded
    kinds: [chat]
    context_window: 8192
    endpoints:
      - { name: tiny-1, model: tiny-1/crowded }
      - { name: north-1, model: north-1/crowded }
    footprint: { active_b: 8, total_b: 8 }
`;

/** Writes the catalogue of two regions; returns its path, for CATALOGUE. Removed after the file's last test. */
export function writeTwoRegions(): string {
  const directory = mkdtempSync(join(tmpdir(), 'docket-catalogue-'));
  atFileEnd(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'catalogue.yaml');
  writeFileSync(path, REGIONS);
  return path;
}
