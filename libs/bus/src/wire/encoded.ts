/** A result that is JSON already. What it is made of, `T`, holds its handler to the contract. */
export class Encoded<T> {
  /** Never there: it carries the type alone. */
  declare readonly of: T;
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/**
 * For answers of which a part never changes: that part is written once, and not for each call. What is given for a call must have
 * members, and others than the part.
 */
export function createEncoder<F extends object>(unchanging: F): <R extends object>(rest: R) => Encoded<F & R> {
  const text = JSON.stringify(unchanging).slice(1);
  const end = text === '}' ? text : `,${text}`;
  return (rest) => new Encoded(JSON.stringify(rest).slice(0, -1) + end);
}
