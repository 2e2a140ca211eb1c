import { createHash, createHmac } from 'node:crypto';

/** A record that contains the hash of the previous record. */
export interface Link {
  seq: number;
  prev: string;
  /** Set if there is a key. Hashes can be recomputed without it, MACs cannot. */
  mac?: string | undefined;
  hash: string;
}

/** Hashes all fields of a record, in any order. */
export function linkHash(link: Omit<Link, 'hash'> & { hash?: string }): string {
  const { hash: _, ...content } = link;
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

/** Computes the MAC of a record of this chain. The hash of the record includes the MAC. */
export function linkMac(
  key: Uint8Array,
  chain: string,
  link: Omit<Link, 'hash' | 'mac'> & { hash?: string; mac?: string | undefined },
): string {
  const { mac: _, ...content } = link;
  return createHmac('sha256', key)
    .update(`${chain}\n${linkHash(content)}`)
    .digest('hex');
}

export function textMac(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Verifies a chain record by record. */
export interface ChainCheck {
  /** The last valid record. */
  readonly at: Pick<Link, 'seq' | 'hash'>;
  /** Checks the next record and returns its fault, or undefined. */
  next(link: Link): string | undefined;
}

/** Starts at the beginning or after a record that is known to be valid. */
export function checkChain(from: Pick<Link, 'seq' | 'hash'> = { seq: 0, hash: '' }): ChainCheck {
  let at = from;
  return {
    get at() {
      return at;
    },
    next(link) {
      const { seq, prev, hash } = link;
      if (seq !== at.seq + 1) return `record ${at.seq + 1} is missing: after ${at.seq} comes ${seq}`;
      if (linkHash(link) !== hash) return `record ${seq} was changed: its content does not match its hash`;
      if (prev !== at.hash) return `record ${seq} does not follow record ${at.seq}: one of them was replaced`;
      at = { seq, hash };
      return undefined;
    },
  };
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`;
}
