import { ServiceError, type Principal, type StatelessResult, type TurnMessage } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { MAX_ANCESTORS, type ResponseChain, type ResponseSegmentDocument } from '../model/response-segment-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { loadText, loadTexts, storeText, type Bodies } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { countSegmentBytes } from '../storage/stored-bytes.ts';
import type { StorageQuota } from '../storage/storage-quota.ts';
import { listMessages, loadRequest } from './stored-request.ts';

/** Maximum number of responses that one conversation has. */
export const MAX_CHAIN_RESPONSES = 1_000;
/** Maximum characters of the stored messages and answers of one conversation. */
export const MAX_CHAIN_CHARS = 4_194_304;

export interface ResponseChainDeps {
  kept: Collection<KeyedTurnDocument>;
  bodies: Collection<BodyDocument>;
  segments: Collection<ResponseSegmentDocument>;
  store: Pick<Store, 'now'>;
  storage?: Pick<StorageQuota, 'add'>;
}

/** What a response adds to a conversation, with its answer. */
export interface SegmentContent {
  messages: TurnMessage[];
  system?: string;
}

export async function loadSegmentContents(bodies: Bodies, segments: readonly ResponseSegmentDocument[]): Promise<SegmentContent[]> {
  const texts = await loadTexts(
    bodies,
    segments.map(({ textId, content }) => ({ turnId: textId, content })),
  );
  return texts.map((text) => JSON.parse(text) as SegmentContent);
}

/**
 * Returns the chain of a response that continues `previous`, and stores the segment of `previous` if no response has continued from it
 * yet. The caller stores its response and then calls `addLink`.
 */
export async function openChain(deps: ResponseChainDeps, principal: Principal, previous: string): Promise<ResponseChain> {
  const segments = deps.segments.for(principal);
  const before = await findPrevious(deps, principal, previous);
  const segment = (await segments.get(previous)) ?? (await createSegment(deps, principal, before));
  // The first link proves that the segment before this one was not removed while this one was created.
  if (segment.previous !== undefined && segment.links === 0 && !(await addLink(deps, principal, segment.previous))) {
    await removeSegment(deps, principal, segment);
    throw unknownPrevious();
  }
  const { ancestors, responses, chars } = segment.chain ?? { ancestors: [], responses: 0, chars: 0 };
  const chain = {
    ancestors: [previous, ...ancestors].slice(0, MAX_ANCESTORS),
    responses: responses + 1,
    chars: chars + segment.content.chars,
  };
  if (chain.responses >= MAX_CHAIN_RESPONSES) throw chainTooLong(`a conversation of at most ${MAX_CHAIN_RESPONSES} responses`);
  if (chain.chars > MAX_CHAIN_CHARS) throw chainTooLong(`a conversation of at most ${MAX_CHAIN_CHARS} characters`);
  return chain;
}

/**
 * Confirms that the segment of `previous` exists after a document that refers to it was stored. Each removal of a segment first looks for
 * such documents and fails if a link was added meanwhile. Returns false if the segment was removed.
 */
export async function addLink({ segments }: ResponseChainDeps, principal: Pick<Principal, 'tenant'>, previous: string): Promise<boolean> {
  return (await segments.for(principal).update({ turnId: previous }, { inc: { links: 1 } })) !== null;
}

/** Removes a segment and its text unless a response was linked since it was read. Returns whether it was removed. */
export async function removeSegment(
  { segments, bodies, storage }: Pick<ResponseChainDeps, 'segments' | 'bodies' | 'storage'>,
  { tenant }: Pick<Principal, 'tenant'>,
  segment: ResponseSegmentDocument,
): Promise<boolean> {
  const { turnId, links, textId, client } = segment;
  if ((await segments.for({ tenant }).remove({ turnId, links, textId })) === 0) return false;
  await bodies.for({ tenant }).remove({ turnId: textId });
  storage?.add({ tenant, client }, -countSegmentBytes(segment));
  return true;
}

async function findPrevious({ kept, store }: ResponseChainDeps, principal: Principal, turnId: string): Promise<KeyedTurnDocument> {
  const [there] = (await kept.for(principal).find({ turnId }, { limit: 1 })).items;
  if (there?.client !== principal.client || there.request === undefined || there.forgetAt <= store.now()) throw unknownPrevious();
  if (there.answer === undefined) throw invalidPrevious('a completed response, got a response without a result');
  return there;
}

async function createSegment(deps: ResponseChainDeps, principal: Principal, response: KeyedTurnDocument): Promise<ResponseSegmentDocument> {
  const { turnId, client, previous, chain } = response;
  const { tenant } = principal;
  const [segments, bodies] = [deps.segments.for(principal), deps.bodies.for(principal)];
  const { model, content } = await readSegment(deps, principal, response);
  // Unique, so that the removal of an earlier segment of this response does not remove the text.
  const textId = mintId('segment');
  try {
    const segment = await segments.insert({
      turnId,
      client,
      ...(previous === undefined || chain === undefined ? {} : { previous, chain }),
      model,
      content: await storeText(bodies, textId, content),
      textId,
      links: 0,
      checkAt: deps.store.now() + DAY_MS,
    });
    deps.storage?.add({ tenant, client }, countSegmentBytes(segment));
    return segment;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'OUT_OF_RANGE') throw chainTooLong('a smaller response');
    // Another response continued from it at the same time.
    await bodies.remove({ turnId: textId });
    const existing = error.code === 'ALREADY_EXISTS' && (await segments.get(turnId));
    if (!existing) throw error;
    return existing;
  }
}

async function readSegment(
  deps: ResponseChainDeps,
  principal: Principal,
  response: KeyedTurnDocument,
): Promise<{ model: string; content: string }> {
  const bodies = deps.bodies.for(principal);
  const { turnId, answer = { chars: 0 } } = response;
  try {
    const [request, result] = await Promise.all([loadRequest(bodies, response), loadText(bodies, turnId, answer)]);
    if (request === undefined) throw unknownPrevious();
    const { system } = request.response;
    const messages = [...(request.added ?? listMessages(request.turn)), toAnswer(JSON.parse(result) as StatelessResult)];
    const content: SegmentContent = { messages, ...(system === undefined ? {} : { system }) };
    return { model: request.turn.model, content: JSON.stringify(content) };
  } catch (error) {
    // The response was deleted while its texts were read.
    throw error instanceof ServiceError && error.code === 'DATA_LOSS' ? unknownPrevious() : error;
  }
}

function toAnswer({ response, toolCalls, providerFields }: StatelessResult): TurnMessage {
  return { role: 'assistant', text: response, ...(toolCalls && { toolCalls }), ...(providerFields && { providerFields }) };
}

export function unknownPrevious(): ServiceError {
  return invalidPrevious('the id of a stored response, got another id');
}

function chainTooLong(expected: string): ServiceError {
  return invalidPrevious(`${expected}, got a longer one. Start a new conversation with a summary of this one`);
}

function invalidPrevious(expectedAndReceived: string): ServiceError {
  const [expected = '', received = ''] = expectedAndReceived.split(', got ');
  const message = `Invalid request: previous_response_id: expected ${expectedAndReceived}`;
  const issues = [{ path: 'response.previous', expected, received, message }];
  return new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'INVALID_PREVIOUS_RESPONSE', issues } });
}
