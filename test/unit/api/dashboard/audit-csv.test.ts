import { expect, it } from 'vitest';
import { auditCsvLines } from '#api/dashboard/audit/audit-csv.ts';

it('what a person typed is no formula of the spreadsheet that opens an audit log [dashboard.escaped]', () => {
  const entry = {
    id: 'aud_1',
    orgId: 'org_1',
    sequence: 0,
    at: 0,
    action: 'key.revoked',
    actorKind: 'user' as const,
    actorId: 'usr_1',
    address: '192.0.2.1',
    subject: 'key_1',
    details: '{}',
    previousHash: '0',
    hash: '1',
  };
  for (const reason of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    '＝1+1',
    '＠SUM(A1)',
    '=1,"2"',
  ]) {
    const file = auditCsvLines([{ ...entry, reason }], new Map([['usr_1', reason]]));
    expect(file.split(`'${reason.replaceAll('"', '""')}`)).toHaveLength(3);
  }
  const plain = auditCsvLines([{ ...entry, reason: 'a, "b"' }], new Map());
  expect(plain.split('\r\n')[0]).toBe(
    '1970-01-01T00:00:00.000Z,user,usr_1,,key.revoked,key_1,"a, ""b""",192.0.2.1,{},0,aud_1,1',
  );
});
