import { only, type Operation } from '../history.ts';
import { mayBeEmptied, type RequestParams, type Known, type Violation } from './known.ts';
import { short } from './turns.ts';

/**
 * An answer is published when it is written, and appears in the history when its session has counted it. If the runner dies in
 * between, the next lease holder counts it.
 */
const SETTLED_MS = 12_000;

/** I5: a session's history has question and answer of each turn, in the order of acceptance, and only grows. */
export function conversation(known: Known): Violation[] {
  const matches: string[] = [];
  for (const [session, transcript] of known.transcripts) {
    const texts = transcript.map(({ message }) => message);
    matches.push(...outOfOrder(known, session, texts));
    for (const { message, response } of transcript) matches.push(...wrongAnswer(known, message, response));
  }
  for (const read of only(known.all, 'read')) if (read.response) matches.push(...wrongRead(known, read, read.response.messages));
  for (const { attempts, message } of known.requests.values())
    for (const { response: told } of attempts) if (told) matches.push(...wrongAnswer(known, message, told.response));
  return [...new Set(matches)].map((description) => ({ invariant: 'I5', what: description }));
}

/** A turn requested after another one was known to be accepted follows that one. */
function outOfOrder({ requests: asked }: Known, session: string, said: readonly string[]): string[] {
  const found: string[] = [];
  let latest: RequestParams | undefined;
  for (const message of said) {
    const mine = asked.get(message);
    if (!mine) continue;
    if (latest && mine.acceptedBy < latest.from) found.push(`${short(message)} stands in ${session} after ${short(latest.message)}`);
    if (!latest || mine.from > latest.from) latest = mine;
  }
  return found;
}

function wrongAnswer({ requests: asked }: Known, message: string, response: string | undefined): string[] {
  const says = asked.get(message)?.attempts[0]?.request.says;
  if (!says || says.response === response) return [];
  return [`${short(message)} was answered ${short(response ?? 'with nothing')}, not ${short(says.response)}`];
}

function wrongRead(known: Known, { request: { session }, from, op }: Operation<'read'>, messages: readonly string[]): string[] {
  const found: string[] = [];
  const questions = messages.filter((_, at) => at % 2 === 0);
  if (messages.length % 2 !== 0) found.push(`read ${op} of ${session} ends with a question`);
  for (const [at, message] of questions.entries()) {
    if (!known.requests.has(message)) found.push(`read ${op} of ${session} has ${short(message)}, which nobody asked`);
    found.push(...wrongAnswer(known, message, messages[at * 2 + 1]));
  }
  const resets = known.resets.filter(({ request, outcome }) => request.session === session && outcome !== 'failed');
  const transcript = known.transcripts.get(session)?.map(({ message }) => message) ?? [];
  if (resets.length === 0 && questions.some((message, at) => message !== transcript[at]))
    found.push(`read ${op} of ${session} is no beginning of what is there in the end`);
  for (const { message, attempts, session: theirs, from: requestCount } of known.requests.values()) {
    if (theirs !== session) continue;
    const answeredCount = Math.min(Infinity, ...attempts.flatMap(({ outcome, to }) => (outcome === 'ok' ? [to] : [])));
    const emptied = resets.some((reset) => reset.outcome === 'ok' && reset.from > answeredCount && reset.to < from);
    if (emptied && questions.includes(message)) found.push(`read ${op} of ${session} has ${short(message)} from before it was emptied`);
    if (answeredCount + SETTLED_MS < from && !mayBeEmptied(known, session, requestCount) && !questions.includes(message))
      found.push(`read ${op} of ${session} lacks ${short(message)}, which was answered before`);
  }
  return found;
}
