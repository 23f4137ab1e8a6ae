import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeSchema, SCHEMA_FILE } from '#dev/schema/describe-schema.ts';
import { describeTypes, TYPES_FILE } from '#dev/schema/describe-types.ts';
import { createTestDatabase } from '#test/support/database.ts';

const { pool } = await createTestDatabase();

it('the committed schema is what the migrations make; "npm run schema:dump" writes it', async () => {
  expect(await describeSchema(pool)).toBe(await readFile(SCHEMA_FILE, 'utf8'));
});

it('the types of the tables are those of the migrated schema; "npm run schema:dump" writes them', async () => {
  expect(await describeTypes(pool)).toBe(await readFile(TYPES_FILE, 'utf8'));
});
