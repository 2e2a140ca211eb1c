/** A write of the sessions service with the inputs of its operation. */
export interface ObservedWrite {
  collection: string;
  operation: string;
  inputs: readonly unknown[];
}

interface Inputs {
  /** The document of an insert. */
  document: { sessionKey?: string; order?: { kind?: string } };
  change: { set?: Record<string, unknown>; unset?: readonly string[] };
}

type Recognize = (collection: string, inputs: Inputs, operation: string) => boolean;

const isRunSession = (sessionKey = ''): boolean => sessionKey.includes('sub-agent');

/** The writes of a turn that waits for an approval, and of a run of a sub-agent, in the order of their story. */
const RECOGNIZE = {
  request: (collection, _inputs, operation) => collection === 'approvals' && operation === 'insert',
  park: (collection, { change }) => collection === 'turns' && change.set?.['parked'] !== undefined,
  verdict: (collection, { change }) => collection === 'approvals' && change.set?.['verdict'] !== undefined,
  resume: (collection, { change }) => collection === 'turns' && change.unset?.includes('parked') === true,
  spawn: (collection, _inputs, operation) => collection === 'runs' && operation === 'insert',
  start: (collection, { document }, operation) =>
    collection === 'turns' && operation === 'insert' && document.order?.kind === 'subagent' && isRunSession(document.sessionKey),
  end: (collection, { change }) => collection === 'runs' && change.set?.['endReason'] !== undefined,
  announce: (collection, { document }, operation) =>
    collection === 'turns' && operation === 'insert' && document.order?.kind === 'subagent' && !isRunSession(document.sessionKey),
  announced: (collection, { change }) =>
    collection === 'runs' && change.unset?.includes('childOf') === true && change.set?.['endReason'] === undefined,
} satisfies Record<string, Recognize>;

export const WRITE_PLACES = Object.keys(RECOGNIZE) as (keyof typeof RECOGNIZE)[];
export const MOMENTS = ['before', 'after'] as const;

/** Returns whether a write is at a place such as `park after`. */
export function isAtPlace(point: string, { collection, operation, inputs }: ObservedWrite, moment: (typeof MOMENTS)[number]): boolean {
  const [place = '', when] = point.split(' ');
  const recognize = new Map<string, Recognize>(Object.entries(RECOGNIZE)).get(place);
  const [document = {}, change = {}] = inputs as [Inputs['document']?, Inputs['change']?];
  return when === moment && recognize?.(collection, { document, change }, operation) === true;
}
