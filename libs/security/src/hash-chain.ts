import { createHash, createHmac } from 'node:crypto';

/** A record that names the one before it by its hash. */
export interface Link {
  seq: number;
  prev: string;
  /** Where there is a key: who has it not can make every hash right again, and no MAC. */
  mac?: string | undefined;
  hash: string;
}

/** The hash of all that a record says, whatever the order of its fields. */
export function linkHash(link: Omit<Link, 'hash'> & { hash?: string }): string {
  const { hash: _, ...said } = link;
  return createHash('sha256').update(canonical(said)).digest('hex');
}

/** The MAC of what a record of this chain says, which is a part of what its hash is of. */
export function linkMac(
  key: Uint8Array,
  chain: string,
  link: Omit<Link, 'hash' | 'mac'> & { hash?: string; mac?: string | undefined },
): string {
  const { mac: _, ...said } = link;
  return createHmac('sha256', key)
    .update(`${chain}\n${linkHash(said)}`)
    .digest('hex');
}

/** The MAC of a text. */
export function textMac(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Checks a chain link by link, as it is read. */
export interface ChainCheck {
  /** How many links were good, and the last of them. */
  readonly at: Pick<Link, 'seq' | 'hash'>;
  /** What is wrong with the next one, in a sentence; undefined when it follows. */
  next(link: Link): string | undefined;
}

/** From the beginning, or from a link that is known to be good. */
export function checkChain(from: Pick<Link, 'seq' | 'hash'> = { seq: 0, hash: '' }): ChainCheck {
  let at = from;
  return {
    get at() {
      return at;
    },
    next(link) {
      const { seq, prev, hash } = link;
      if (seq !== at.seq + 1) return `record ${at.seq + 1} is missing: after ${at.seq} comes ${seq}`;
      if (linkHash(link) !== hash) return `record ${seq} was changed: it does not say what its hash says`;
      if (prev !== at.hash) return `record ${seq} does not follow record ${at.seq}: one of them was replaced`;
      at = { seq, hash };
      return undefined;
    },
  };
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
