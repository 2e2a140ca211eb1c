import type { Bus, CallOptions } from '@switchyard/bus';
import { MAX, ServiceError, TURNS_LOG, WEBHOOK_CHANNEL, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { digest, type Mapping } from './mappings.ts';
import type { TemplateGiven } from './template.ts';

/** The settings of a mapping that apply to its turns. */
export type Answering = 'name' | 'agentId' | 'sessionKey' | 'message' | 'model' | 'timeoutMs';

/** The turn of a delivery, in a session of its mapping. */
export interface HookTurn {
  mapping: Pick<Mapping, Answering>;
  given: TemplateGiven;
  /** The message if the mapping has no template. */
  otherwise: string;
  /** The same for every repeat of a delivery. */
  key: string;
  tenant: string;
}

/**
 * Submits the turn and waits until it is stored, so that a repetition within a day finds the same turn. Resolves with whether it was a
 * repetition. Does not wait for the end of the turn.
 */
export async function startHookTurn(bus: Bus, turn: HookTurn, options: CallOptions): Promise<{ repeated: boolean }> {
  const { mapping, given, otherwise, key, tenant } = turn;
  const turnId = mintId('turn');
  const speaks = bus.as(senderOf(mapping.name, tenant));
  const said = mapping.message?.(given, MAX.text) ?? '';
  const asked = {
    turnId,
    message: said.trim() === '' ? otherwise.slice(0, MAX.text).toWellFormed() : said,
    session: { userId: sessionUser(mapping, given), channelId: WEBHOOK_CHANNEL },
    idempotencyKey: key,
    ...(mapping.agentId === undefined ? {} : { agentId: mapping.agentId }),
    ...(mapping.model === undefined ? {} : { model: mapping.model }),
    ...(mapping.timeoutMs === undefined ? {} : { timeoutMs: mapping.timeoutMs }),
  };
  await bus.log(TURNS_LOG); // frames are kept from the first on only if there is a log to keep them
  try {
    const accepted = await speaks.call('turns.start', asked, options);
    return { repeated: accepted.turnId !== turnId };
  } catch (error) {
    // The same delivery under a template that says the time, or under another configuration: it was accepted once.
    if (error instanceof ServiceError && error.details.reason === 'IDEMPOTENCY_MISMATCH') return { repeated: true };
    throw error;
  }
}

/**
 * The principal of a mapping. Token ids contain no `/`, so it equals no client. It can only use sessions that it created, whatever a
 * template renders.
 */
function senderOf(name: string, tenant: string): Principal {
  return { tenant, client: `webhook/${name}`, scopes: ['rpc'], sessions: 'own' };
}

const KEY_CHARACTERS = 1_000;
const PLAIN = /^[A-Za-z0-9._:@-]{1,74}$/;

/** `hook:<mapping>:<key>`. A key that is too long or has other characters is replaced by its hash. */
function sessionUser({ name, sessionKey }: HookTurn['mapping'], given: TemplateGiven): string {
  const prefix = `hook:${name}:`;
  const rendered = sessionKey?.(given, KEY_CHARACTERS).trim() ?? '';
  const key = rendered.startsWith(prefix) ? rendered.slice(prefix.length) : rendered;
  if (key === '') return `${prefix}webhook`;
  return prefix + (PLAIN.test(key) ? key : digest(key));
}
