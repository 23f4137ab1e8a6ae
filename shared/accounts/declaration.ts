/** A statement of the use-of-service self-declaration, with the answer that raises no question. */
export interface Statement {
  id: string;
  text: string;
  expected: boolean;
}

/**
 * Version → statements. A version never changes, so that each declaration stays readable as it was given. Within one the
 * answer that raises no question is the same throughout: an answer that differs is then seen by who gives it.
 */
export const STATEMENTS: Readonly<Record<string, readonly Statement[]>> = {
  '2026-11': [
    {
      id: 'weapons',
      text: 'Will the service be used to develop, produce or deploy weapons, nuclear, chemical and biological ones included?',
      expected: false,
    },
    {
      id: 'sanctioned_party',
      text: 'Is the organisation, or anyone who owns or controls it, subject to sanctions?',
      expected: false,
    },
    {
      id: 'sanctioned_end_use',
      text: 'Will the service be made available to sanctioned persons or in embargoed territories?',
      expected: false,
    },
    {
      id: 'unlawful_surveillance',
      text: 'Will the service be used for unlawful surveillance or repression?',
      expected: false,
    },
    {
      id: 'dual_use',
      text: 'Does the organisation make or trade goods, software or technology listed as dual-use?',
      expected: false,
    },
    {
      id: 'military_end_user',
      text: 'Is the organisation part of armed forces, police or intelligence services, or does it work for them?',
      expected: false,
    },
  ],
};

export const DECLARATION_VERSION = '2026-11';

/** Industries an applicant can name; `high` ones are looked at by a person (specification: high-risk industry flags). */
export const INDUSTRIES: Readonly<Record<string, 'normal' | 'high'>> = {
  agriculture: 'normal',
  aerospace: 'high',
  biotechnology: 'high',
  chemicals: 'high',
  construction: 'normal',
  cryptography: 'high',
  defence: 'high',
  education: 'normal',
  energy: 'normal',
  financial_services: 'normal',
  government: 'normal',
  health: 'normal',
  hospitality: 'normal',
  legal: 'normal',
  logistics: 'normal',
  manufacturing: 'normal',
  marine: 'high',
  media: 'normal',
  non_profit: 'normal',
  nuclear: 'high',
  professional_services: 'normal',
  research: 'normal',
  retail: 'normal',
  semiconductors: 'high',
  software: 'normal',
  surveillance: 'high',
  telecommunications: 'normal',
  other: 'normal',
};
