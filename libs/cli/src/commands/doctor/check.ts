/** What one look found out. `undefined` is neither good nor bad: worth knowing, or not to be known now. */
export interface Check {
  name: string;
  ok: boolean | undefined;
  detail: string;
  /** What to do about it. */
  next?: string;
}

export function good(name: string, detail: string): Check {
  return { name, ok: true, detail };
}

export function bad(name: string, detail: string, next: string): Check {
  return { name, ok: false, detail, next };
}

export function note(name: string, detail: string, next?: string): Check {
  return { name, ok: undefined, detail, ...(next === undefined ? {} : { next }) };
}
