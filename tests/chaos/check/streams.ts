import { only, type Operation } from '../history.ts';
import type { Known, Violation } from './known.ts';
import { short } from './turns.ts';

/** I9: a stream belongs to one turn and has no gap, no duplicate and no step back, however often its client reconnects. */
export function streams({ all }: Known): Violation[] {
  return only(all, 'turn')
    .filter(({ request }) => request.door === 'sse')
    .flatMap((stream) => wrongStream(stream).map((description) => ({ invariant: 'I9', what: `stream ${stream.op}: ${description}` })));
}

function wrongStream({ request: asked, receivedMessages: heard, outcome }: Operation<'turn'>): string[] {
  const matches: string[] = [];
  let text = '';
  let last = -1;
  const turns = new Set<string>();
  for (const { event } of heard) {
    const { id, name, delta = '', accumulated } = event;
    const [turn = '', n = ''] = id.split(':');
    turns.add(turn);
    // The notice that a turn cannot be followed any further has the position of the stream.
    if (name === 'error' ? Number(n) < last : Number(n) <= last) matches.push(`${id} came after number ${last}`);
    last = Number(n);
    if (name === 'resumed') text = accumulated ?? '';
    if (name !== 'token') continue;
    text += delta;
    if (accumulated !== text) matches.push(`at ${id} the text is ${short(text)}, and the gateway says ${short(accumulated ?? 'nothing')}`);
  }
  if (turns.size > 1) matches.push(`it has events of ${turns.size} turns`);
  const replayed = heard.length === 1;
  if (outcome === 'ok' && !replayed && text !== asked.says.whole) matches.push(`it said ${short(text)}, not ${short(asked.says.whole)}`);
  return matches;
}
