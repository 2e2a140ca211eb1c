/** The secrets that were typed into pages of one session. They are masked in everything that the session returns. */
export interface TypedSecrets {
  add(name: string, value: string): void;
  /** Replaces the values in all texts of a result by the names of their secrets. */
  mask<T>(result: T): T;
  /** Whether a text contains one of the values. */
  isIn(text: string): boolean;
}

export function createTypedSecrets(): TypedSecrets {
  /** Names by the forms in which pages and addresses show a value. */
  const forms = new Map<string, string>();

  function maskText(text: string): string {
    let masked = text;
    for (const [form, name] of forms) masked = masked.replaceAll(form, `[secret ${name}]`);
    return masked;
  }

  function mask(value: unknown): unknown {
    if (typeof value === 'string') return maskText(value);
    if (Array.isArray(value)) return value.map(mask);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, mask(entry)]));
  }

  return {
    add(name, value) {
      const encoded = encodeURIComponent(value);
      const quoted = JSON.stringify(value).slice(1, -1);
      for (const form of [value, quoted, encoded, encoded.replaceAll('%20', '+')]) forms.set(form, name);
    },
    mask: <T>(result: T): T => (forms.size === 0 ? result : (mask(result) as T)),
    isIn: (text) => [...forms.keys()].some((form) => text.includes(form)),
  };
}
