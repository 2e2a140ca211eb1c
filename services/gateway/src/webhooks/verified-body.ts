import { describeIssues, validate } from '@switchyard/contracts';
import { parseBody } from '../request/request-body.ts';
import { RefusalError } from '../request/refusal.ts';
import type { WebhookKeys } from '../auth/webhook-keys.ts';
import { hashText, hasPath, hasSource, type Hooks, type Mapping } from './mappings.ts';
import { verify, type Check, type SignedRequest, type Verdict } from './signature.ts';
import { parsePayload } from './payload.ts';
import { STRICT_PATH, StrictPayload, createDefaultMapping } from './strict-body.ts';

/** A request, and the configuration that it is checked against. */
export interface WebhookRequest {
  hooks: Hooks;
  keys: WebhookKeys;
  /** The normalized path after the base path. */
  path: string;
  signed: SignedRequest;
  /** Whether unsigned requests may trigger a mapping without a signature check. */
  allowUnsigned: boolean;
}

/** A verified delivery and its mapping. */
export interface VerifiedDelivery {
  mapping: Mapping | (ReturnType<typeof createDefaultMapping> & { action: 'agent'; delivers: false; id: null });
  payload: unknown;
  /** The message if the mapping has no template. */
  fallbackMessage: string;
  /** The same key for every repetition of a delivery. */
  key: string;
}

/** Receives a delivery for configured mappings. The signature is checked before the body is parsed. */
export async function receiveMapped(request: WebhookRequest): Promise<VerifiedDelivery> {
  const { hooks, path, signed } = request;
  const checkSignature = createSignatureChecker(request);
  const candidates = hooks.mappings.filter((mapping) => hasPath(mapping, path));
  await requireAny(candidates.length === 0 && hooks.common ? [hooks.common] : candidates.map(({ check }) => check), checkSignature);
  const payload = await parsePayload(signed.body, signed.headers['content-type']);
  const mapping = candidates.find((candidate) => hasSource(candidate, payload));
  if (mapping === undefined) throw new RefusalError({ status: 404, message: 'No matching webhook mapping', code: 'NOT_FOUND' });
  const fallbackMessage = `${mapping.title === undefined ? '' : `${mapping.title}:\n`}${signed.body.toString()}`;
  return { mapping, payload, fallbackMessage, key: createDeliveryKey(mapping.name, requireDelivery(await checkSignature(mapping.check))) };
}

/** Receives an event of the strict endpoint, for its mapping or for the default agent. */
export async function receiveStrict(request: WebhookRequest, check: Check): Promise<VerifiedDelivery> {
  const { hooks, signed } = request;
  const delivery = requireDelivery(await createSignatureChecker(request)(check));
  const payload = parseBody(signed.body);
  const parsed = validate(StrictPayload, payload);
  if (!parsed.success) {
    const issues = describeIssues(parsed.error);
    throw new RefusalError({ status: 422, message: 'Validation failed', code: 'INVALID_ARGUMENT', issues });
  }
  const { event, source } = parsed.data;
  const configured = hooks.mappings.find(
    (candidate) => !candidate.hasOwnKey && hasPath(candidate, STRICT_PATH) && hasSource(candidate, payload),
  );
  const mapping = configured ?? { ...createDefaultMapping(source), action: 'agent', delivers: false, id: null };
  const fallbackMessage = `Event ${event} from ${source}:\n${signed.body.toString()}`;
  return { mapping, payload, fallbackMessage, key: createDeliveryKey(mapping.name, delivery) };
}

type CheckSignature = (check: Check | undefined) => Promise<Verdict>;

/** Caches the result of each signature check of a request. */
function createSignatureChecker({ keys, signed, allowUnsigned }: WebhookRequest): CheckSignature {
  const verdicts = new Map<Check | undefined, Promise<Verdict>>();
  const runCheck = async (check: Check | undefined): Promise<Verdict> => {
    if (check !== undefined) return verify(check, await keys.resolve(check.key), signed);
    return allowUnsigned ? { delivery: createUnsignedDelivery(signed) } : UNSIGNED_REFUSED;
  };
  return (check) => {
    const verdict = verdicts.get(check) ?? runCheck(check);
    verdicts.set(check, verdict);
    return verdict;
  };
}

const UNSIGNED_REFUSED: Verdict = {
  problem: 'Webhooks require a key. Set webhooks.token, or webhooks.allowUnauthenticated to accept unsigned webhooks.',
};

/** One valid signature is enough to parse the body, which selects the mapping. */
async function requireAny(checks: readonly (Check | undefined)[], checkSignature: CheckSignature): Promise<void> {
  let problem: Verdict | undefined;
  for (const check of checks) {
    const verdict = await checkSignature(check);
    if ('delivery' in verdict) return;
    problem ??= verdict;
  }
  if (problem !== undefined) requireDelivery(problem);
}

function requireDelivery(verdict: Verdict): string {
  if ('delivery' in verdict) return verdict.delivery;
  throw new RefusalError({ status: 401, message: verdict.problem, code: 'UNAUTHENTICATED' });
}

/** Unsigned senders identify a delivery by one of these headers. */
const DELIVERY_HEADERS = ['idempotency-key', 'webhook-id', 'svix-id', 'x-github-delivery'];

function createUnsignedDelivery({ headers, body }: SignedRequest): string {
  const delivery = DELIVERY_HEADERS.map((name) => headers[name]).find((value) => value !== undefined);
  return JSON.stringify([delivery ?? '', hashText(body)]);
}

function createDeliveryKey(mapping: string, delivery: string): string {
  return hashText(JSON.stringify([mapping, delivery]));
}
