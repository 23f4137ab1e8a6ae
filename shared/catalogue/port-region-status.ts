import type { RegionStatus } from './catalogue.ts';

/** What operators have set at run time, by region code. Regions that are not in it have the catalogue's status. */
export type RegionOverrides = ReadonlyMap<string, RegionStatus>;

/** Where operators' settings are kept for all processes. */
export interface RegionStatusStore {
  list(): Promise<RegionOverrides>;
  /** Holds until it is set again, whatever the catalogue says. */
  set(code: string, status: RegionStatus): Promise<void>;
}

/** The settings as this process last read them. */
export interface RegionStatusWatch {
  /** Reads them for the first time; resolves also when the store is away. */
  start(): Promise<void>;
  /** Never waits, never throws. Old settings stay while the store cannot be read. */
  current(): RegionOverrides;
  stop(): Promise<void>;
}
