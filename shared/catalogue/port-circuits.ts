/** What one inference worker knows of one endpoint in one region. */
export interface CircuitReport {
  region: string;
  endpoint: string;
  /** False: a call went well lately, which stands against what others say. */
  open: boolean;
}

/** Where inference workers tell all processes what they know of endpoints. */
export interface CircuitBoard {
  /** Replaces what this worker said before. It is forgotten soon unless it is said again. */
  publish(reports: readonly CircuitReport[]): Promise<void>;
}

/** The circuits that are open, as this process last read them. */
export interface CircuitWatch {
  /** Reads them for the first time; resolves also when the board is away. */
  start(): Promise<void>;
  /** `circuitName`s. Never waits, never throws. What was known stays while the board cannot be read. */
  current(): ReadonlySet<string>;
  stop(): Promise<void>;
}
