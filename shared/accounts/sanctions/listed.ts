/** Where a list comes from. */
export type ListSource = 'ofac_sdn' | 'eu' | 'un' | 'opensanctions';

export type PartyKind = 'person' | 'organisation' | 'other';

/** A party as a list names it. */
export interface ListedEntity {
  /** The list's own id of the party. */
  id: string;
  kind: PartyKind;
  /** All its names; weak ones are those that the list itself calls so. */
  names: readonly { name: string; weak: boolean }[];
  programme: string;
  countries: readonly string[];
}

/** One name of a listed party: what a query is compared with. */
export interface ListedName {
  source: ListSource;
  entityId: string;
  name: string;
  kind: PartyKind;
  weak: boolean;
  programme: string;
}

/** Which edition of a list: hex SHA-256 of its file. */
export interface ListVersion {
  source: ListSource;
  version: string;
}

/** A list as it was imported. */
export interface ImportedList extends ListVersion {
  fileName: string;
  publishedOn: string | null;
  entities: number;
  names: number;
  importedBy: string;
  /** Epoch milliseconds. */
  importedAt: number;
  current: boolean;
}

/** A party of a list, as people are told of it. */
export interface NamedParty {
  id: string;
  name: string;
  programme: string;
}

/** Parties of one kind of change: how many there are, and the first of them. */
export interface ChangedParties {
  count: number;
  first: readonly NamedParty[];
}

/** What a list would change if it became the current one of its source. */
export interface ListPreview {
  /** The version that was current when they were compared; null for the first list of the source. */
  against: string | null;
  added: ChangedParties;
  removed: ChangedParties;
  /** In both, under other names. */
  renamed: ChangedParties;
  /** Accounts that were compared with both, and whether those were all. */
  accounts: number;
  isWhole: boolean;
  /** Accounts that match parties which they match in no current list. */
  matches: readonly { orgId: string; isHit: boolean; words: readonly string[] }[];
}

/** A list that was uploaded and waits for a person. */
export interface StagedList extends Omit<ImportedList, 'current' | 'importedAt' | 'importedBy'> {
  id: string;
  uploadedBy: string;
  /** Epoch milliseconds. */
  uploadedAt: number;
  /** Null until it was compared with the list that is current now. */
  preview: ListPreview | null;
}

/** A list that is being read. */
export interface ListUpload extends ListVersion {
  fileName: string;
  entities: AsyncIterable<ListedEntity>;
  /** What the list says of its date; asked for when the entities have been read. */
  publishedOn: () => string | null;
}
