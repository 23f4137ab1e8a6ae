import { assert, constantFrom, nat, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditAction } from '#shared/accounts/audit/entry.ts';
import * as accountLetters from '#shared/accounts/letters.ts';
import { describeFailure, draftOfKeyAct, waitAfterFailure } from '#shared/accounts/letters.ts';
import { named } from '#shared/kernel/plain-text.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import * as personLetters from '#shared/persons/letters.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { runs } from '#test/support/depth.ts';

const REVOKED = {
  name: 'batch',
  display: 'dkt_aaaa…bbbb',
  leaked: false,
  restorableUntil: Date.UTC(2027, 1, 23, 18),
};
const BY = { actor: 'operator ada', reason: 'not used any more' };

describe('an e-mail that cannot be sent', () => {
  it('is tried again for more than a day, at least every three hours', () => {
    let waitedMs = 0;
    for (let attempts = 1; ; attempts += 1) {
      const waitMs = waitAfterFailure(attempts);
      if (waitMs === null) break;
      expect(waitMs).toBeLessThanOrEqual(3 * HOUR_MS);
      waitedMs += waitMs;
    }
    expect(waitedMs).toBeGreaterThan(24 * HOUR_MS);
    expect(waitAfterFailure(1)).toBe(30_000);
  });
});

describe('why an e-mail could not be sent', () => {
  it('is told on one line of 500 characters at most, with any words of the mail server', () => {
    assert(
      property(string({ unit: anyCharacter }), nat(100), (said, times) => {
        const shown = describeFailure(new Error(said.repeat(times)));
        return shown.length <= 500 && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(shown);
      }),
    );
  });

  it('leaves out what opens doors: links of the e-mail that a server quotes', () => {
    const said =
      '554 spam\r\n https://gateway.example/dashboard/password/reset?token=abc \u001b[2K';
    expect(describeFailure(new Error(said))).toBe(
      '554 spam · https://gateway.example/… \\u{1b}[2K',
    );
  });
});

describe('an e-mail about a key', () => {
  it('keeps a line break in a name out of its subject', () => {
    const key = { ...REVOKED, name: 'a\r\nBcc: eve@evil.example' };
    expect(draftOfKeyAct(key, 'key.revoked', BY)?.subject).not.toMatch(/[\r\n]/);
  });

  it('of a revocation says why, who can undo it and until when', () => {
    const { subject, body } = draftOfKeyAct(REVOKED, 'key.revoked', BY)!;
    expect(subject).toBe('API key “batch” was revoked');
    expect(body).toContain('Reason: not used any more.');
    expect(body).toContain(
      'An owner or admin can restore it, while the organisation is active, until 23 Feb 2027, 18:00 UTC;',
    );
    expect(body).not.toMatch(/leaked|support can/i);
  });

  it('of a leaked key says that it leaked, where it was found, what to do, and that support alone restores it', () => {
    const leaked = { ...REVOKED, leaked: true };
    const { subject, body } = draftOfKeyAct(leaked, 'key.revoked', { ...BY, reason: 'in a log' })!;
    expect(subject).toBe('API key “batch” leaked');
    expect(body).toContain('Where it was found: in a log.');
    expect(body).toContain('What to do: issue another key');
    expect(body).toContain(
      'Only support can restore it, while the organisation is active, until 23 Feb 2027, 18:00 UTC;',
    );
    expect(body).not.toContain('owner or admin');
    const pasted = `dkt_${'Ab1'.repeat(12)}xy in a log\n\0`;
    const told = draftOfKeyAct(leaked, 'key.revoked', { ...BY, reason: pasted })!;
    expect(told.body).toContain('Where it was found: dkt_Ab1A… in a log');
    const unsaid = draftOfKeyAct(leaked, 'key.leaked', { ...BY, reason: undefined })!.body;
    expect(unsaid).toContain('was reported as leaked: others have it, or may have.');
    expect(unsaid).toContain('Where it was found: not stated.');
  });

  it('offers no way back of a key that has none: one that has expired, leaked or not', () => {
    for (const leaked of [false, true]) {
      const expired = { ...REVOKED, leaked, restorableUntil: null };
      const action = leaked ? 'key.leaked' : 'key.expired';
      const { body } = draftOfKeyAct(expired, action, { ...BY, reason: undefined })!;
      expect(body).not.toContain('restore');
    }
  });
});

describe('every e-mail', () => {
  const {
    draftOfAccountAct,
    draftOfClosingAsked,
    draftOfEndedExpiries,
    draftOfExpiry,
    membersLine,
    supportLines,
  } = accountLetters;
  const contact = { name: 'Tess', email: 'tess@bakery.example' };
  const billing = { name: 'Bill', email: 'bill@bakery.example' };
  const account = { name: 'Bakery', plan: 'audit', billing, technical: contact } as const;
  const person = { name: 'Ada', email: 'ada@bakery.example' };
  const link = 'https://gateway.example/dashboard';
  const ofAccount = (action: AuditAction) => draftOfAccountAct(account, action)!;
  const ofKey = (action: AuditAction, more: object = {}) =>
    draftOfKeyAct({ ...REVOKED, restorableUntil: null, ...more }, action, BY)!;
  const until = REVOKED.restorableUntil;

  /** By the function that writes it: the state that it is about, the e-mail, what it says and what would be false. */
  const LETTERS: Readonly<
    Record<
      string,
      readonly (readonly [
        state: string,
        letter: { subject: string; body: string },
        says: RegExp,
        saysNot: RegExp,
      ])[]
    >
  > = {
    draftOfAccountAct: [
      ['opened', ofAccount('account.created'), /You need not do anything/, /sign in/i],
      ['in review', ofAccount('account.referred'), /a person is reviewing/, /approved|rejected/],
      ['approved', ofAccount('account.approved'), /sign the contract/, /active|keys/i],
      ['rejected', ofAccount('account.rejected'), /write to us if you believe/, /contract/],
      ['active', ofAccount('account.activated'), /keys can now be issued/, /contract/],
      ['suspended', ofAccount('account.suspended'), /refused with customer_suspended/, /restore/],
      ['active again', ofAccount('account.reinstated'), /keys work as before/, /suspended/],
      ['closed', ofAccount('account.closed'), /owners can still read/, /restore|reinstate/],
      ['renamed', ofAccount('account.renamed'), /is now called “Bakery”/, /approved/],
      [
        'other contacts',
        ofAccount('account.contacts_set'),
        /Its settings show who gets[^]*or were a contact until now\.$/,
        /password/,
      ],
    ],
    draftOfKeyAct: [
      ['active', ofKey('key.issued'), /was issued\./, /restore|leak/i],
      ['rotated', ofKey('key.rotated'), /successor of another key/, /restore|leak/i],
      ['active again', ofKey('key.restored'), /works again/, /refused|leak/i],
      ['revoked', ofKey('key.revoked', { restorableUntil: until }), /owner or admin can/, /leak/i],
      ['revoked for good', ofKey('key.revoked'), /was revoked/, /can restore/],
      [
        'leaked',
        ofKey('key.leaked', { leaked: true, restorableUntil: until }),
        /Only support can restore it/,
        /owner or admin/,
      ],
      ['leaked, expired', ofKey('key.leaked', { leaked: true }), /are refused/, /can restore/],
      ['expired', ofKey('key.expired'), /has expired/, /can restore|Rotate it/],
    ],
    draftOfExpiry: [
      ['active', draftOfExpiry(REVOKED, until), /on 23 Feb 2027, 18:00 UTC/, /has e/],
    ],
    draftOfEndedExpiries: [
      ['one key', draftOfEndedExpiries('Bakery', [REVOKED]), /- “batch”/, /and \d+ more/],
      [
        'many',
        draftOfEndedExpiries(
          'Bakery',
          Array.from({ length: 51 }, () => REVOKED),
        ),
        /and 1 more/,
        /undefined/,
      ],
    ],
    draftOfContactAsked: [
      [
        'named',
        accountLetters.draftOfContactAsked(account),
        /there will be no other/,
        /approved|sign in/,
      ],
    ],
    draftOfClosingAsked: [
      [
        'active',
        draftOfClosingAsked(
          { id: 'org_1', name: 'Bakery' },
          { who: 'Ada', reason: 'we end', link },
        ),
        /asks for its account to be closed/,
        /is closed/,
      ],
    ],
    resetLetter: [
      [
        'without a password',
        personLetters.resetLetter({ ...person, hasLogin: false }, link),
        /choose your password/,
        /new password|stays as it is|signs out/,
      ],
      [
        'with one',
        personLetters.resetLetter({ ...person, hasLogin: true }, link),
        /your password stays as it is/,
        /confirms/,
      ],
    ],
    invitedLetter: [
      [
        'invited',
        personLetters.invitedLetter(person.email, link),
        /no account yet/,
        /new password/,
      ],
    ],
    confirmationLetter: [
      ['unconfirmed', personLetters.confirmationLetter(person, link), /for an hour/, /password/],
    ],
    invitationLetter: [
      [
        'let in',
        personLetters.invitationLetter(person, 'Bakery', link),
        /choose a pass/,
        /new pass/,
      ],
    ],
    secondFactorLetter: [
      ['on', personLetters.secondFactorLetter(person, true), /asks for a code/, /deleted/],
      ['off', personLetters.secondFactorLetter(person, false), /codes are deleted/, /asks for a c/],
    ],
    factorsResetLetter: [
      [
        'reset',
        personLetters.factorsResetLetter(person),
        /passkeys have been removed/,
        /asks for a c/,
      ],
    ],
    passwordLetter: [
      ['changed', personLetters.passwordLetter(person), /no longer works/, /your second factor/],
    ],
    passkeyLetter: [
      [
        'added',
        personLetters.passkeyLetter(person, 'Phone', true),
        /now signs you in/,
        /no longer/,
      ],
      [
        'removed',
        personLetters.passkeyLetter(person, 'Phone', false),
        /no longer signs you in/,
        /now signs/,
      ],
    ],
    sessionEndedLetter: [
      [
        'ended',
        personLetters.sessionEndedLetter(person, {
          orgName: 'Bakery',
          owner: 'Ada',
          session: 'Firefox on Linux',
        }),
        /“Ada”, an owner of “Bakery”, has ended a session of yours: “Firefox on Linux”/,
        /your password was changed/,
      ],
    ],
    teamInvitationLetter: [
      [
        'invited',
        personLetters.teamInvitationLetter(person.email, {
          inviter: 'Ada',
          orgName: 'Bakery',
          link,
        }),
        /open for fourteen days/,
        /password/,
      ],
    ],
  };

  it('stands in this table, those to come included', () => {
    const written = Object.keys({ ...accountLetters, ...personLetters }).filter((name) =>
      /^draftOf|Letter$/.test(name),
    );
    expect(written.toSorted()).toEqual(Object.keys(LETTERS).toSorted());
  });

  it.each(
    Object.entries(LETTERS).flatMap(([name, states]) =>
      states.map(([state, ...rest]) => [name, state, ...rest] as const),
    ),
  )(
    '%s, %s: says what is so and nothing that is not [dashboard.sentences, dashboard.letters]',
    (_name, _state, { subject, body }, says, saysNot) => {
      // The last lines are added when it is sent.
      const sent = [body, membersLine(link, 'org_1'), supportLines('support@docket.example')].join(
        '\n\n',
      );
      expect(subject).toMatch(/^[^\r\n]+$/);
      expect(body).toMatch(says);
      expect(body).not.toMatch(saysNot);
      expect(sent).not.toMatch(/\b(?:undefined|null|NaN)\b|\b1 \w+s\b|\b\d{4}-\d\d-\d\d\b|\n{3}/);
      expect(sent).toContain('Support: support@docket.example.');
    },
  );
});

describe('names and reasons in letters', () => {
  const LINK = /:\/\/|[.．。｡][\p{L}\p{N}]{2}|[@＠](?!\])|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
  /** Every letter whose words others choose, with what our own addresses and line breaks in it are taken away. */
  const lettersOf = (words: string): string[] => {
    const account = { id: 'org_1', name: words };
    const key = { ...REVOKED, name: words };
    const by = { actor: words, reason: words };
    const link = 'https://gateway.example/dashboard';
    const drafts = [
      ...['account.approved', 'account.closed', 'account.renamed', 'account.contacts_set'].map(
        (action) => accountLetters.draftOfAccountAct(account, action)!,
      ),
      accountLetters.draftOfContactAsked(account),
      accountLetters.draftOfClosingAsked(account, { who: words, reason: words, link }),
      accountLetters.draftOfEndedExpiries(words, [key]),
      accountLetters.draftOfExpiry(key, 0),
      draftOfKeyAct(key, 'key.issued', by)!,
      draftOfKeyAct({ ...key, leaked: true }, 'key.revoked', by)!,
      personLetters.passkeyLetter({ email: 'a' }, words, true),
      personLetters.teamInvitationLetter('a', { inviter: words, orgName: words, link }),
    ];
    return drafts.flatMap(({ subject, body }) => [
      subject,
      ...body.replaceAll(link, '').split('\n'),
    ]);
  };
  const lines = lettersOf('a name').length;

  it('make no link, no line, no turn of direction and no long text, with anything in them', () => {
    const hostile = [
      'Win at https://evil.example/now',
      'www.evil.example',
      'evil。example',
      'write to eve@evil.example',
      'HTTPS：//evil．example',
      'a\r\nBcc: eve@evil.example\u2028b',
      'gnp.exe\u202egpj.live',
      'e\u200bvil.example',
      'x'.repeat(2_000),
    ];
    for (const words of hostile) {
      const texts = lettersOf(words);
      expect(texts).toHaveLength(lines);
      for (const text of texts) {
        expect(text).not.toMatch(LINK);
        expect(text.length).toBeLessThan(700);
      }
    }
    assert(
      property(string({ unit: anyCharacter }), string({ unit: anyCharacter }), (before, after) =>
        lettersOf(`${before}://${after}.example@`).every((text) => !LINK.test(text)),
      ),
      { numRuns: runs(250) },
    );
  });

  it('stay in their quotes, and are read as they were given where nothing is wrong with them', () => {
    expect(named('Bakkerij De Vries B.V.')).toBe('“Bakkerij De Vries B.V.”');
    expect(named('Bakery” was hacked. "Go')).toBe("“Bakery' was hacked. 'Go”");
    expect(named(' Booking.com ')).toBe('“Booking[.]com”');
    expect(named('x'.repeat(81))).toBe(`“${'x'.repeat(80)}…”`);
    for (const name of [
      'Größe 5 µJ',
      '東京 😀',
      'می\u200cخواهم',
      'שלום עולם',
      'क्\u200dष',
      "O'Brien ½",
      'Oʻahu',
      'Wait…what',
    ])
      expect(named(name)).toBe(`“${name}”`);
  });

  const HOSTILE_NAMES = [
    ...Array.from('＂〞‟❞″›」』״ʺ˝〃❯≫', (mark) => [`Acme${mark}. Call`, "“Acme'. Call”"]),
    ["Acme''. Call", "“Acme'. Call”"],
    ['Acme’’. Call', "“Acme'. Call”"],
    ['Acme \u030b. Call', "“Acme '. Call”"],
    ['A' + '\u{e0041}'.repeat(80), '“A”'],
    ['evil․com', '“evil[.]com”'],
    ['evil﹒com', '“evil[.]com”'],
    ['ev\u00adil.\u200bc\u2060om', '“evil[.]com”'],
    ['evil.c\u0301om', '“evil[.]c\u0301om”'],
    ['evil.c\u200com', '“evil[.]com”'],
    ['https﹕⁄⁄／／evil', '“https:⁄⁄//evil”'],
    ['https︓／／evil', '“https[:]//evil”'],
    ['eve﹫evil', '“eve[@]evil”'],
    ['evil.com'.repeat(20), `“${'evil[.]com'.repeat(8)}…”`],
  ] as const;
  it('close no quotes, grow by nothing and hide nothing, whichever characters they are written in', () => {
    for (const [name, shown] of HOSTILE_NAMES) expect(named(name)).toBe(shown);
  });

  it('never change what the e-mail around them says, with anything in them', () => {
    const odd = constantFrom(
      ...Array.from(
        '.․﹒．。｡⒈…:：﹕︓/／@＠﹫"＂〞‟❞″›”’\'`\u030b\u200b\u200c\u200d\u2060\u{e0041}\u00ad\ufe0f \n\u202eaé中ش1',
      ),
    );
    const closing = /[\p{Pi}\p{Pf}"]|[\p{Quotation_Mark}--[']]|''/v;
    const unseen = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}[\p{Cf}--[\u200c\u200d]]]/v;
    const link = /:\/\/|(?<!\[)@|[^[][.。][\p{L}\p{N}][\p{L}\p{N}\p{M}]/u;
    const folded = (text: string): string => text.normalize('NFKC').replaceAll(/\p{Cf}/gu, '');
    assert(
      property(
        oneof(
          string({ unit: odd, maxLength: 120 }),
          string({ unit: anyCharacter, maxLength: 120 }),
        ),
        (name) => {
          const shown = named(name);
          const inside = shown.slice(1, -1);
          expect(shown).toBe(`“${inside}”`);
          expect(inside).not.toMatch(closing);
          expect(inside).not.toMatch(unseen);
          expect(inside).not.toMatch(link);
          expect(folded(inside.replaceAll(/[…‥]/g, ' '))).not.toMatch(link);
          expect(Array.from(inside).length).toBeLessThanOrEqual(81);
        },
      ),
      { numRuns: runs(2_000) },
    );
  });
});
