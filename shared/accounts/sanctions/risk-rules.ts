/**
 * Countries whose applicants are looked at by a person, and why. This is a rule for asking, not a
 * statement about any applicant. Sources, as of January 2026:
 * - embargo: UN Security Council Resolution 1718 (KP); Regulations (EU) 267/2012 (IR), 36/2012 (SY),
 *   833/2014 (RU), 765/2006 (BY); 31 CFR part 515 (CU).
 * - arms_embargo: countries under an arms embargo in the sense of Article 4(1)(b) of Regulation (EU)
 *   2021/821, the dual-use regulation.
 */
export const COUNTRY_RISKS: Readonly<Record<string, 'embargo' | 'arms_embargo'>> = {
  AF: 'arms_embargo',
  BY: 'embargo',
  CD: 'arms_embargo',
  CF: 'arms_embargo',
  CU: 'embargo',
  IR: 'embargo',
  KP: 'embargo',
  LY: 'arms_embargo',
  MM: 'arms_embargo',
  RU: 'embargo',
  SD: 'arms_embargo',
  SO: 'arms_embargo',
  SS: 'arms_embargo',
  SY: 'embargo',
  VE: 'arms_embargo',
};

export const COUNTRY_RISK_TEXTS = {
  embargo: 'is under an embargo or comprehensive restrictions',
  arms_embargo: 'is under an arms embargo, which matters for dual-use goods',
} as const;
