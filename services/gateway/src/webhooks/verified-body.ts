import { describeIssues, validate } from '@switchyard/contracts';
import { parseBody } from '../request/request-body.ts';
import { RefusalError } from '../request/refusal.ts';
import type { WebhookKeys } from '../auth/webhook-keys.ts';
import { digest, hasPath, hasSource, type Hooks, type Mapping } from './mappings.ts';
import { verify, type Check, type Signed, type Verdict } from './signature.ts';
import { STRICT_PATH, StrictPayload, unmapped } from './strict-body.ts';

/** A request, and what it is held against. */
export interface Arrival {
  hooks: Hooks;
  keys: WebhookKeys;
  /** The normalized path after the base path. */
  path: string;
  signed: Signed;
  /** Whether unsigned requests may trigger a mapping without a signature check. */
  open: boolean;
}

/** A verified delivery and its mapping. */
export interface Received {
  mapping: Mapping | (ReturnType<typeof unmapped> & { action: 'agent'; delivers: false; id: null });
  payload: unknown;
  /** The message if the mapping has no template. */
  otherwise: string;
  /** The same for every repeat. */
  key: string;
}

/** Receives a delivery for configured mappings. The signature is checked before the body is parsed. */
export async function receiveMapped(arrival: Arrival): Promise<Received> {
  const { hooks, path, signed } = arrival;
  const judge = createJudge(arrival);
  const there = hooks.mappings.filter((mapping) => hasPath(mapping, path));
  await requireAny(there.length === 0 && hooks.common ? [hooks.common] : there.map(({ check }) => check), judge);
  const payload = parseBody(signed.body);
  const mapping = there.find((one) => hasSource(one, payload));
  if (mapping === undefined) throw new RefusalError({ status: 404, message: 'No matching webhook mapping', code: 'NOT_FOUND' });
  const otherwise = `${mapping.title === undefined ? '' : `${mapping.title}:\n`}${signed.body.toString()}`;
  return { mapping, payload, otherwise, key: keyOf(mapping.name, proved(await judge(mapping.check))) };
}

/** An event of a fixed form: for the mapping it is for, else for the default agent. */
export async function receiveStrict(arrival: Arrival, check: Check): Promise<Received> {
  const { hooks, signed } = arrival;
  const delivery = proved(await createJudge(arrival)(check));
  const payload = parseBody(signed.body);
  const parsed = validate(StrictPayload, payload);
  if (!parsed.success) {
    const issues = describeIssues(parsed.error);
    throw new RefusalError({ status: 422, message: 'Validation failed', code: 'INVALID_ARGUMENT', issues });
  }
  const { event, source } = parsed.data;
  const known = hooks.mappings.find((one) => !one.keyed && hasPath(one, STRICT_PATH) && hasSource(one, payload));
  const mapping = known ?? { ...unmapped(source), action: 'agent', delivers: false, id: null };
  const otherwise = `Event ${event} from ${source}:\n${signed.body.toString()}`;
  return { mapping, payload, otherwise, key: keyOf(mapping.name, delivery) };
}

type Judge = (check: Check | undefined) => Promise<Verdict>;

/** Caches the result of each signature check of a request. */
function createJudge({ keys, signed, open }: Arrival): Judge {
  const verdicts = new Map<Check | undefined, Promise<Verdict>>();
  const judged = async (check: Check | undefined): Promise<Verdict> => {
    if (check !== undefined) return verify(check, await keys.resolve(check.key), signed);
    return open ? { delivery: unsigned(signed) } : NOT_OPEN;
  };
  return (check) => {
    const known = verdicts.get(check) ?? judged(check);
    verdicts.set(check, known);
    return known;
  };
}

const NOT_OPEN: Verdict = {
  problem: 'Webhooks need a key here: set webhooks.token, or webhooks.allowUnauthenticated to let everybody send them',
};

/** One valid signature is enough to parse the body, which selects the mapping. */
async function requireAny(checks: readonly (Check | undefined)[], judge: Judge): Promise<void> {
  let problem: Verdict | undefined;
  for (const check of checks) {
    const verdict = await judge(check);
    if ('delivery' in verdict) return;
    problem ??= verdict;
  }
  if (problem !== undefined) proved(problem);
}

function proved(verdict: Verdict): string {
  if ('delivery' in verdict) return verdict.delivery;
  throw new RefusalError({ status: 401, message: verdict.problem, code: 'UNAUTHENTICATED' });
}

/** Unsigned senders identify a delivery by one of these headers. */
const DELIVERY_HEADERS = ['idempotency-key', 'webhook-id', 'x-github-delivery'];

function unsigned({ headers, body }: Signed): string {
  const delivery = DELIVERY_HEADERS.map((name) => headers[name]).find((value) => value !== undefined);
  return JSON.stringify([delivery ?? '', digest(body)]);
}

function keyOf(mapping: string, delivery: string): string {
  return digest(JSON.stringify([mapping, delivery]));
}
