import { ServiceError, type Principal, type TurnMessage } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import type { ResponseSegmentDocument } from '../model/response-segment-document.ts';
import { loadSegmentContents, MAX_CHAIN_RESPONSES, type ResponseChainDeps } from './response-segment.ts';
import type { StatelessRequest, StoredRequest } from './stored-request.ts';

/** The request of a response with its whole conversation. */
export interface CompleteRequest {
  turn: StatelessRequest;
  /** System messages of the conversation, without the instructions of the response. */
  system: string | undefined;
}

/** Adds the conversation of the earlier responses to a stored request. */
export async function completeRequest(
  { segments, bodies }: Pick<ResponseChainDeps, 'segments' | 'bodies'>,
  { tenant }: Pick<Principal, 'tenant'>,
  { document, request: { turn, added, response } }: { document: Pick<KeyedTurnDocument, 'turnId' | 'chain'>; request: StoredRequest },
): Promise<CompleteRequest> {
  const { message } = turn;
  if (added === undefined && message !== undefined) return { turn: { ...turn, message }, system: response.system };
  const { turnId, chain } = document;
  if (added === undefined || chain === undefined) throw conversationMissing(turnId);
  const earlier = await loadSegments(segments.for({ tenant }), turnId, chain.ancestors);
  const contents = await loadSegmentContents(bodies.for({ tenant }), earlier);
  // Provider fields are valid as long as each later response requested the same model.
  const other = earlier.findIndex(({ model }) => model !== turn.model);
  const kept = other === -1 ? earlier.length : other;
  const messages = [
    ...contents.flatMap(({ messages: own }, index) => (index < kept ? [own] : [own.map(withoutProviderFields)])).toReversed(),
    added,
  ].flat();
  const systems = [...contents.map(({ system }) => system).toReversed(), response.system];
  const system = joinTexts(systems);
  const instructions = joinTexts([response.instructions, system]);
  return {
    turn: { ...turn, ...splitMessages(turnId, messages), ...(instructions === undefined ? {} : { system: instructions }) },
    system,
  };
}

/** Loads the earlier segments of a chain, nearest first, each time as many as one document names. */
async function loadSegments(
  segments: Documents<ResponseSegmentDocument>,
  turnId: string,
  nearest: readonly string[],
): Promise<ResponseSegmentDocument[]> {
  const loaded: ResponseSegmentDocument[] = [];
  let ids = nearest;
  while (ids.length > 0 && loaded.length < MAX_CHAIN_RESPONSES) {
    const { items } = await segments.find({ turnId: { in: ids } }, { limit: ids.length });
    const byId = new Map(items.map((segment) => [segment.turnId, segment]));
    for (const id of ids) loaded.push(byId.get(id) ?? conversationMissing(turnId));
    ids = loaded.at(-1)?.chain?.ancestors ?? [];
  }
  return loaded;
}

/** The last user message is the message of the turn. */
function splitMessages(
  turnId: string,
  messages: readonly TurnMessage[],
): Pick<StatelessRequest, 'history' | 'message' | 'images' | 'since'> {
  const index = messages.findLastIndex(({ role }) => role === 'user');
  const request = messages[index];
  if (request?.role !== 'user') return conversationMissing(turnId);
  const { text: message, images } = request;
  const [history, since] = [messages.slice(0, index), messages.slice(index + 1)];
  return {
    message,
    ...(images === undefined ? {} : { images }),
    ...(history.length === 0 ? {} : { history }),
    ...(since.length === 0 ? {} : { since }),
  };
}

function withoutProviderFields(message: TurnMessage): TurnMessage {
  if (message.role !== 'assistant') return message;
  const { role, text, toolCalls } = message;
  const calls = toolCalls?.map(({ callId, name, arguments: args }) => ({ callId, name, arguments: args }));
  return { role, text, ...(calls === undefined ? {} : { toolCalls: calls }) };
}

function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  const present = texts.filter((text) => text !== undefined && text !== '');
  return present.length === 0 ? undefined : present.join('\n');
}

function conversationMissing(turnId: string): never {
  throw new ServiceError('DATA_LOSS', `A part of the conversation of response ${turnId} is missing.`);
}
