/** A letter in plain text. */
export interface Letter {
  to: string;
  subject: string;
  body: string;
}

/** Hands letters to whatever delivers them. Resolves when it has taken the letter. */
export interface Mailer {
  send(letter: Letter): Promise<void>;
  close(): Promise<void>;
}

/** Letters that wait to be sent. */
export interface MailOutbox {
  /** `once` names a letter that must not be written twice. */
  queue(letter: Letter, about?: { orgId?: string; once?: string }): Promise<void>;
  /** Sends what is due, at most `limit`. Returns how many were sent and how many failed. */
  sendDue(mailer: Mailer, limit: number): Promise<{ sent: number; failed: number }>;
}
