/** The result of one check. `ok` is undefined for information and for unknown results. */
export interface Check {
  name: string;
  ok: boolean | undefined;
  detail: string;
  /** The command that helps. */
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
