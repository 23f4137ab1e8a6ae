import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeSchema, SCHEMA_FILE } from '#migrations/describe-schema.ts';
import { createTestDatabase } from '#test/support/database.ts';

const { pool } = await createTestDatabase();

it('the committed schema is what the migrations make; "npm run schema:dump" writes it', async () => {
  expect(await describeSchema(pool)).toBe(await readFile(SCHEMA_FILE, 'utf8'));
});
