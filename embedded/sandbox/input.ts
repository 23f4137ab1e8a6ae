/** A request that the protocol does not allow: answered as OpenAI's 400, with the parameter's name. */
export class BadRequest extends Error {
  readonly param: string | null;

  constructor(message: string, param: string | null = null) {
    super(message);
    this.param = param;
  }
}

interface NumberRule {
  low: number;
  high: number;
  whole?: boolean;
}

/** The untrusted body of a request: every read checks what it reads. */
export class Input {
  readonly body: Readonly<Record<string, unknown>>;

  constructor(body: unknown) {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new BadRequest('The body must be a JSON object.');
    }
    this.body = body as Record<string, unknown>;
  }

  has(name: string): boolean {
    return this.body[name] !== undefined && this.body[name] !== null;
  }

  number(name: string, rule: NumberRule): number | undefined;
  number(name: string, rule: NumberRule, fallback: number): number;
  number(name: string, rule: NumberRule, fallback?: number): number | undefined {
    if (!this.has(name)) return fallback;
    const value = this.body[name];
    const right = rule.whole === true ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (!right || (value as number) < rule.low || (value as number) > rule.high) {
      throw new BadRequest(`${name} must be a number from ${rule.low} to ${rule.high}.`, name);
    }
    return value as number;
  }

  flag(name: string): boolean {
    if (!this.has(name)) return false;
    const value = this.body[name];
    if (typeof value !== 'boolean') throw new BadRequest(`${name} must be true or false.`, name);
    return value;
  }

  text(name: string): string {
    const value = this.body[name];
    if (typeof value !== 'string' || value === '')
      throw new BadRequest(`${name} is required.`, name);
    return value;
  }

  /** A nested object, or an empty one. */
  object(name: string): Readonly<Record<string, unknown>> {
    if (!this.has(name)) return {};
    const value = this.body[name];
    if (typeof value !== 'object' || Array.isArray(value)) {
      throw new BadRequest(`${name} must be an object.`, name);
    }
    return value as Record<string, unknown>;
  }

  list(name: string): readonly unknown[] {
    if (!this.has(name)) return [];
    const value = this.body[name];
    if (!Array.isArray(value)) throw new BadRequest(`${name} must be an array.`, name);
    return value;
  }

  /** `stop`: one text or up to four. */
  stops(): string[] {
    const value = this.body['stop'];
    if (value === undefined || value === null) return [];
    const list: unknown[] = Array.isArray(value) ? value : [value];
    if (list.length > 4 || list.some((item) => typeof item !== 'string' || item === '')) {
      throw new BadRequest('stop must be a text or up to four texts.', 'stop');
    }
    return list as string[];
  }
}
