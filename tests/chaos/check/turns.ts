import { only } from '../history.ts';
import { mayBeEmptied, type Known, type Violation } from './known.ts';

const ENDED = ['done', 'failed', 'cancelled'];

/** I1: every turn that a client knows as accepted ends, and its answer does not change. */
export function lost(known: Known): Violation[] {
  const { final, requests: asked, turns, transcripts } = known;
  const matches = final.left.map((description) => `after everything was healed, ${description}`);
  for (const { turnId, state } of final.turns) if (!ENDED.includes(state)) matches.push(`${turnId} is ${state} in the end`);
  for (const { message, session, attempts, from, acceptedBy } of asked.values()) {
    if (attempts[0]?.request.key !== undefined && attempts.every(({ outcome }) => outcome === 'unknown'))
      matches.push(`${short(message)} was asked for until the end, and nobody said what became of it`);
    if (acceptedBy === Infinity) continue;
    const ownItems = turns.get(message) ?? [];
    if (ownItems.length === 0 && !mayBeEmptied(known, session, from))
      matches.push(`${short(message)} was accepted, and there is no such turn`);
    const answered = attempts.filter(({ outcome }) => outcome === 'ok');
    if (answered.length === 0) continue;
    const exists = transcripts.get(session)?.some((turn) => turn.message === message) === true;
    if (!exists && !mayBeEmptied(known, session, from)) matches.push(`${short(message)} was answered, and ${session} does not have it`);
  }
  return matches.map((what) => ({ invariant: 'I1', what }));
}

/** I2: every stored turn was requested. */
export function phantom({ final, requests: asked }: Known): Violation[] {
  return final.turns
    .filter(({ message, session }) => asked.get(message)?.session !== session)
    .map(({ turnId, message, session }) => ({
      invariant: 'I2',
      what: `${turnId} in ${session} says ${short(message)}, which nobody asked there`,
    }));
}

/** I3: a turn ends once and is counted once, and no write under an earlier lease follows a write under a later one. */
export function committedOnce({ requests: asked, turns, final, notes, transcripts }: Known): Violation[] {
  const found: string[] = [];
  for (const [message, mine] of turns) {
    const done = mine.filter(({ state }) => state === 'done');
    const { attempts = [] } = asked.get(message) ?? {};
    const keyed = attempts[0]?.request.key !== undefined;
    // An EventSource that loses its connection before the first event repeats the request; without a key that is a new turn.
    const max = keyed ? 1 : attempts[0]?.request.door === 'sse' ? Infinity : attempts.length;
    if (done.length > max) found.push(`${short(message)} was carried out ${done.length} times`);
  }
  for (const { session, messageCount, key } of final.sessions) {
    const transcript = transcripts.get(session) ?? [];
    if (messageCount !== transcript.length * 2) found.push(`${key} counts ${messageCount} messages and has ${transcript.length * 2}`);
    if (new Set(transcript.map(({ seq }) => seq)).size !== transcript.length) found.push(`${key} gave a number twice`);
  }
  for (const [id, commits] of Map.groupBy(
    notes.filter(({ what }) => what === 'commit'),
    ({ id }) => id,
  ))
    if (commits.length > 1) found.push(`${id} ended ${commits.length} times, by ${commits.map(({ replica }) => replica).join(', ')}`);
  const settled = notes.filter(({ what, counted }) => what === 'settle' && counted !== undefined);
  for (const [number, twice] of Map.groupBy(settled, ({ id, counted }) => `${id} ${counted}`))
    if (twice.length > 1) found.push(`${number} was counted ${twice.length} times`);
  found.push(...fencedOut(notes));
  return found.map((what) => ({ invariant: 'I3', what }));
}

/** Writes that began after a write under a later lease had finished. */
function fencedOut(notes: Known['notes']): string[] {
  const found: string[] = [];
  const fenced = notes.filter(({ fence, what }) => fence !== undefined && what !== 'accept' && what !== 'call' && what !== 'publish');
  for (const [id, writes] of Map.groupBy(fenced, ({ id }) => id)) {
    const ended = writes.toSorted((a, b) => a.to - b.to);
    let at = 0;
    let highest = { fence: 0, replica: '' };
    for (const write of writes.toSorted((a, b) => a.from - b.from)) {
      for (let next = ended[at]; next && next.to < write.from; next = ended[(at += 1)])
        if ((next.fence ?? 0) > highest.fence) highest = { fence: next.fence ?? 0, replica: next.replica };
      if ((write.fence ?? 0) < highest.fence)
        found.push(
          `${write.what} of ${id} by ${write.replica} under ${write.fence}, after ${highest.replica} wrote under ${highest.fence}`,
        );
    }
  }
  return found;
}

/** I4: an idempotency key has one answer and one message. */
export function idempotent({ all, requests: asked, turns }: Known): Violation[] {
  const found: string[] = [];
  const named = (key: string, at: number): boolean =>
    [...asked.values()].some(({ attempts, acceptedBy }) => attempts[0]?.request.key === key && acceptedBy < at);
  for (const { message, attempts } of asked.values()) {
    if (attempts[0]?.request.key === undefined) continue;
    const answers = new Set(attempts.flatMap(({ response: told }) => (told === undefined ? [] : [told.response])));
    if (answers.size > 1) found.push(`${short(message)} has ${answers.size} answers: ${[...answers].map(short).join(' and ')}`);
    const [answer] = answers;
    const kept = turns.get(message)?.find(({ state }) => state === 'done')?.response;
    if (answer !== undefined && kept !== undefined && answer !== kept)
      found.push(`${short(message)} was answered ${short(answer)}, kept is ${short(kept)}`);
  }
  for (const { request: asked, from, outcome, failure } of only(all, 'reuse')) {
    // The key of a rejected turn is free.
    if (!named(asked.key, from)) continue;
    // REST returns the status only.
    const refused =
      outcome === 'failed' &&
      (failure?.reason === 'IDEMPOTENCY_MISMATCH' || (asked.door === 'chat' && failure?.code === 'INVALID_ARGUMENT'));
    if (outcome === 'ok' || (outcome === 'failed' && !refused))
      found.push(`the key ${asked.key} with another message: ${outcome} ${failure?.code ?? ''} ${failure?.reason ?? ''}`);
  }
  return found.map((what) => ({ invariant: 'I4', what }));
}

export function short(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
