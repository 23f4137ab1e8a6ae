import type { ZoneHours } from '#shared/packs/hours.ts';
import type { SealDocument } from '#shared/packs/seal-format.ts';
import { count } from '#shared/methodology/readable.ts';
import { lossWords } from '#shared/ledger/losses.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import { isKnownPage } from '#shared/packs/layout.ts';
import type { Row } from '#cli/print.ts';
import { plain, quoted } from '#shared/kernel/plain-text.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { claimsSaid } from './claims.ts';
import type { PackVerdict } from './judge-pack.ts';
import type { Anchored } from './key-standing.ts';
import { absence, type JudgedWitnesses } from './witnesses.ts';
import { exactAmounts, headline, readableAmounts, type Said, saidAlone } from './said.ts';

/** Where keys came from when none were named. */
const OWN_KEYS =
  'the keys in the pack itself, which do not show whose it is: fetch did.json from the issuer and use --trust';

const PAGE_REMADE =
  'report.html was made again and is the same; names, contracts and evidence in it are the word of whoever sealed the pack';

const PINNED = 'the did.json in the pack, which you pinned';

/** Where the keys of a verdict came from. @param source of the did.json that was named, @param pin of the pack's own */
export function sourceOfKeys(source: string | undefined, pin: string | undefined): string {
  return source ?? (pin === undefined ? OWN_KEYS : PINNED);
}

/** A verdict for programs. @param trusted where the keys came from */
export function packReport(verdict: PackVerdict, trusted: string): object {
  const { code, message, place, seal, signers, heads, anchored } = verdict;
  return {
    verdict: verdict.verdict,
    code,
    message,
    place: place ?? null,
    trusted,
    own_keys: trusted === OWN_KEYS,
    signed_heads: heads,
    losses: verdict.losses.map(({ published, kept, ...loss }) => ({
      ...loss,
      published: { ...published, root: published.root && encodeBase64(published.root) },
      kept: { ...kept, root: encodeBase64(kept.root) },
    })),
    anchored:
      anchored === null
        ? null
        : { size: anchored.size, index: anchored.index, anchor_size: anchored.anchorSize },
    timestamps: verdict.timestamps,
    witnesses: witnessesReport(verdict),
    page: pageReport(verdict),
    unreleased_methodologies: verdict.unreleased.map((each) => ({
      name: each.name,
      version: each.version,
      digest: each.digest,
      released_factors: each.releasedFactors,
      nearest: each.nearest,
      differences: each.differences,
      more: each.more,
    })),
    statement: statementReport(verdict),
    lineage: verdict.lineage,
    claims: claimsReport(verdict),
    signers,
    pack: seal ?? null,
  };
}

function statementReport({ stated }: PackVerdict): object | null {
  if (stated === null) return null;
  const { who, at, states, key, trusted } = stated;
  return { by: who, at, states, key: encodeBase64(key), trusted: trusted ?? null };
}

function claimsReport({ claims, hours, statement, declared, evidence }: PackVerdict): object {
  return {
    stated_energy: claims.stated,
    stated_energy_not_used: claims.beyond,
    tokens_counted: claims.tokensCounted,
    hours: hours.map(hoursReport),
    software: claims.software,
    merge_delay_s: claims.delayS,
    notes: claims.notes,
    statement,
    declared,
    evidence_given: evidence,
  };
}

/** Of one grid zone: amounts are of the electricity of receipts with factors of hours. */
function hoursReport(hours: ZoneHours): object {
  return {
    zone: hours.zone,
    providers: hours.providers,
    receipts_by_hour: hours.hourly,
    receipts_by_year: hours.annual,
    days_in_part: hours.mixedDays,
    energy_kwh: hours.energy,
    by_hour_kg: hours.byHour,
    by_year_kg: hours.byYear,
    receipts_out_of_range: hours.outOfRange,
  };
}

function witnessesReport({ witnesses }: PackVerdict): object | null {
  if (witnesses === null) return null;
  const { policy, own, isQuorum, cosigned, missing, unverifiable, others } = witnesses;
  return {
    policy,
    ...(own === null ? {} : { operators_own: true, unmet: own.unmet }),
    quorum: isQuorum,
    cosigned: cosigned.map(({ witness, time }) => ({ witness, time: timeOfSeconds(time) })),
    missing,
    unverifiable,
    others,
  };
}

function pageReport({ seal }: PackVerdict): object | null {
  if (seal === undefined) return null;
  const { pageVersion: version } = seal.credentialSubject;
  return { version, known: isKnownPage(version) };
}

/** Null for a time that no calendar has. */
function timeOfSeconds(seconds: number): string | null {
  const time = new Date(seconds * 1_000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** A verdict for people. @param file what the pack is called */
export function packSaid(
  verdict: PackVerdict,
  { trusted, file, script }: { trusted: string; file: string; script: string },
): Said {
  const { code, message, place, seal } = verdict;
  const holds = verdict.verdict === 'good' || verdict.verdict === 'intact';
  const sentence = headline(verdict.verdict, message, { file, place });
  if (verdict.verdict === 'cannot_judge') return saidAlone(verdict.verdict, sentence);
  const facts = {
    ...(holds
      ? {
          ...pageUnknown(verdict),
          ...said(verdict),
          ...operatorsWord(verdict),
          ...outside(verdict),
          ...claimsSaid(verdict),
          ...personSaid(verdict),
        }
      : { reason: code }),
    trusted,
    ...(seal === undefined ? {} : factsOf(seal, holds)),
    ...(holds ? { lineage: lineageText(verdict) } : {}),
    ...(holds ? { ...pageRemade(verdict), ...scriptText(verdict, script) } : {}),
  };
  return {
    verdict: verdict.verdict,
    headline: sentence,
    facts,
    details: seal === undefined ? {} : detailsOf(verdict, seal, holds),
    closing: holds && seal !== undefined ? closing(verdict, seal) : [],
  };
}

/** Before all else: who opens the page would take it for what was checked. */
function pageUnknown({ seal }: PackVerdict): Row {
  const { pageVersion } = seal!.credentialSubject;
  if (isKnownPage(pageVersion)) return {};
  return {
    page: `NOT CHECKED: report.html is of version ${pageVersion}, which this release does not know: it may say otherwise than the receipts, and run, load or lead to something`,
  };
}

function pageRemade({ seal }: PackVerdict): Row {
  return isKnownPage(seal!.credentialSubject.pageVersion) ? { report: PAGE_REMADE } : {};
}

/** A person's own words, and whose key they are by. */
function personSaid({ stated }: PackVerdict): Row {
  if (stated === null) return {};
  const { who, at, states, trusted, key } = stated;
  const whose =
    trusted === undefined
      ? `its own key ${encodeBase64(key)}, which does not show whose it is: use --statement-key`
      : `the key of ${trusted}`;
  const first = states.find((line) => line !== '') ?? '';
  const more = states.filter((line) => line !== '').length > 1 ? ' …' : '';
  return {
    statement: `${quoted(first)}${more}, by ${quoted(who)} at ${at}, on this seal; signed by ${whose}. What is stated is their word`,
  };
}

/** Losses that are named; a log that has had more is told so. */
const LOSSES_SHOWN_MAX = 8;

/** What the issuer itself says is lost, before all else: a ledger that goes on is not the whole of what was published. */
function said({ losses, seal }: PackVerdict): Row {
  const ledger = logOfTree(seal!.credentialSubject.checkpoint.log).log;
  const shown = losses.slice(0, LOSSES_SHOWN_MAX).map((loss): [string, string] => {
    const of = loss.log === ledger ? '' : ' of the anchor log';
    const tree = losses.length > 1 ? `, tree ${loss.generation}` : '';
    return [`SAID${of}${tree}`, lossWords(loss)];
  });
  const left = losses.length - shown.length;
  if (left > 0) shown.push(['SAID further', `${left} losses`]);
  return Object.fromEntries(shown);
}

/** Says what was shown, and no more. */
function closing({ verdict }: PackVerdict, { issuer, credentialSubject }: SealDocument): string[] {
  const { range, checkpoint } = credentialSubject;
  const whose = verdict === 'good' ? plain(issuer) : 'whoever made the pack, which may be anyone';
  return [
    `This shows that these receipts are the entries ${range.firstIndex} to ${range.lastIndex} of the ledger as of its head of ${checkpoint.size} entries, in their order,`,
    `signed by keys of ${whose}, and that the totals are theirs.`,
    'It does not show that a model ran, or that an estimate is true.',
  ];
}

/** What holds the ledger in place from outside, in the first lines of a verdict: without it all rests on the issuer. */
function outside({ anchored, timestamps, witnesses, seal }: PackVerdict): Row {
  const { range, anchor } = seal!.credentialSubject;
  const last = range.lastIndex;
  const lacks = anchor?.lacks ?? [];
  const checked = timestamps.filter(({ time }) => time !== null);
  const unchecked = timestamps.length - checked.length;
  const times = checked.map(
    ({ authority, time }) => `${time}, by ${authority} (as the issuer names it)`,
  );
  if (unchecked > 0) {
    times.push(`${unchecked} not checked: name the authority with --tsa-trust`);
  }
  return {
    anchored:
      anchored === null
        ? 'NOT ANCHORED: whoever has the keys could have made another ledger (--require-anchor refuses that)'
        : anchored.size > last
          ? `the head of ${anchored.size} entries, entry ${anchored.index} of ${anchored.anchorSize} in ${anchored.origin}`
          : `ONLY IN PART: the first ${anchored.size} entries of the ledger; the range ends with entry ${last}`,
    timestamps:
      times.length > 0
        ? times.join('; ')
        : 'none: when it was there is the word of the issuer alone',
    ...(anchored === null && witnesses === null
      ? {}
      : { witnesses: witnessText(witnesses, anchored) }),
    ...(lacks.length === 0
      ? {}
      : {
          'anchor lacks': `${lacks.map(plain).join(', ')}: the service asks for it, and had not got it when the pack was made`,
        }),
  };
}

/** Without a policy nothing says who a witness is, and another ledger of the same size could be shown to others. */
function witnessText(witnesses: JudgedWitnesses | null, anchored: Anchored | null): string {
  if (witnesses === null) {
    const { note, origin } = anchored!;
    const lines = note.signatures.filter(({ name }) => name !== origin).length;
    return lines === 0
      ? 'NONE: others may be shown another ledger of the same size (--witness-policy asks for witnesses)'
      : `NOT CHECKED: ${lines === 1 ? '1 signature' : `${lines} signatures`} of others; name your witnesses with --witness-policy`;
  }
  const { policy, own, cosigned, missing, unverifiable, others } = witnesses;
  const by = cosigned.map(({ witness, time }) => `${witness} at ${timeOfSeconds(time) ?? time}`);
  const unmet = own?.unmet ?? null;
  const parts = [
    ...(unmet === null ? [] : [`NOT MET is ${policy}: ${unmet}`]),
    ...(by.length === 0 ? [] : [by.join(', ')]),
    ...(unmet === null ? [metText(policy, by.length)] : []),
    ...(missing.length + unverifiable.length === 0 ? [] : [absence(missing, unverifiable)]),
    ...(others === 0 ? [] : [`${others} further signatures are of none of them`]),
    ...(own === null ? [] : ['name witnesses that you know with --witness-policy']),
  ];
  return parts.join('; ');
}

const metText = (policy: string, cosigned: number): string =>
  cosigned === 0
    ? `none has cosigned, and ${policy} asks for none`
    : `the quorum of ${policy} is met`;

/** Methodologies of which a pack's own documents are read for people. */
const UNRELEASED_SHOWN_MAX = 4;

/** What estimates rest on that no release vouches for, and where it differs from the nearest one. */
function operatorsWord({ unreleased }: PackVerdict): Row {
  const rows: Record<string, string> = {};
  for (const each of unreleased.slice(0, UNRELEASED_SHOWN_MAX)) {
    const { name, version, digest, nearest, releasedFactors, differences, more } = each;
    const values = differences.length + more;
    const far =
      nearest === null
        ? 'no release has a methodology of that name'
        : `it differs from ${nearest} in ${values === 1 ? '1 value' : `${values} values`}`;
    const own =
      releasedFactors === null
        ? 'factors are the operator’s, not released'
        : `the methodology is the operator’s, not released; its factors are those of ${releasedFactors}`;
    rows[`${name} ${version}`] =
      `${own}: ${digest}; ${far}; a later release may have it (--require-released-methodology refuses it)`;
    for (const { place, stated, released, sources } of differences) {
      const was = released === null ? 'not in the release' : `released: ${released}`;
      const cites = sources.length === 0 ? '' : `; cited to ${sources.join(' | ')}`;
      // Of several methodologies the same place may differ in each.
      const of = unreleased.length > 1 ? `${version}: ` : '';
      rows[`  ${of}${place}`] = `${stated ?? 'left out'}; ${was}${cites}`;
    }
    if (more > 0) rows[`  and ${more} more of ${version}`] = 'values that are not listed';
  }
  const left = unreleased.length - UNRELEASED_SHOWN_MAX;
  if (left > 0) rows['further methodologies'] = `${left} that were not released, either`;
  return rows;
}

function scriptText({ script }: PackVerdict, ours: string): Row {
  if (script === ours) return {};
  return {
    script:
      'verify.py in the pack is not this release’s: what it would say is the word of whoever sealed the pack',
  };
}

/** Documents of methodologies that this release cannot compute are counted apart, not called right. */
function lineageText({ lineage, seal }: PackVerdict): string {
  if (lineage === null || seal === undefined) return 'no';
  const { documents, remade } = lineage;
  const { described, undescribed } = seal.credentialSubject.lineage;
  const beyond = undescribed === 0 ? '' : `; ${undescribed} receipts of further ways have none`;
  const others =
    documents === remade
      ? 'each computed again and found the same'
      : `${remade} computed again and found the same, of ${documents - remade} only records and results were compared: this release cannot compute them`;
  const made = documents === 1 ? '1 document' : `${documents} documents`;
  return `${made} on how ${described} receipts got their numbers, ${others}${beyond}`;
}

function factsOf(seal: SealDocument, holds: boolean): Row {
  const { range, totals, checkpoint, id } = seal.credentialSubject;
  const entries = `entries ${count(range.firstIndex)} to ${count(range.lastIndex)}`;
  const claimed: Row = {
    [holds ? 'pack' : 'says it is']: id,
    'as of': dateTime(Date.parse(seal.validFrom)),
    receipts: `${count(range.receipts)}, ${entries} of ${count(checkpoint.size)}`,
    revisions: `${count(range.revisions)} from after the range; ${count(range.superseded)} receipts were revised`,
  };
  if (!holds) return claimed;
  return {
    ...claimed,
    inferences: `${count(totals.covered)} with an estimate, ${count(totals.uncovered)} without, ${count(totals.failed)} failed, ${count(totals.refused)} refused`,
    tokens: `${count(totals.coveredInputTokens)} in, ${count(totals.coveredOutputTokens)} out, of those with an estimate`,
    ...readableAmounts(totals.result),
    intervals: 'brackets add up the 5–95 % intervals of the receipts',
  };
}

function detailsOf({ signers, heads }: PackVerdict, seal: SealDocument, holds: boolean): Row {
  const { totals, checkpoint } = seal.credentialSubject;
  return {
    issuer: seal.issuer,
    ledger: `${checkpoint.log}, ${checkpoint.size} entries`,
    ...(holds ? { 'signed heads': heads, ...exactAmounts(totals.result) } : {}),
    ...Object.fromEntries(
      Object.entries(signers).map(([kid, receipts]) => [
        `signed by ${kid}`,
        `${receipts} receipts`,
      ]),
    ),
  };
}
