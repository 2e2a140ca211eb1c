import { RpcError } from '@switchyard/client';
import { describeError } from '../../parts/format.ts';
import { call, getClient, isSignedOut } from '../../session/client.ts';
import { signOut } from '../../session/browser-token.ts';
import {
  changeConversation,
  follow,
  getConversation,
  renameConversation,
  type ConversationAddress,
  type Exchange,
} from './conversation-store.ts';

/** Messages of a conversation that are restored when it is opened. */
const RESTORED_MESSAGES = 100;

let running: AbortController | undefined;

/** Reads the messages of a conversation, unless this tab has it already. */
export async function restore(address: ConversationAddress): Promise<void> {
  if (getConversation(address) === undefined) await restoreAgain(address);
}

/** Reads the messages of a conversation whose messages could not be read. */
export async function restoreAgain(address: ConversationAddress): Promise<void> {
  changeConversation(address, { isLoading: true, failure: undefined });
  try {
    const { messages, cursor } = await readHistory(address.sessionKey);
    changeConversation(address, { restored: messages, hasOlder: cursor !== undefined, isLoading: false });
  } catch (error) {
    changeConversation(address, { isLoading: false, failure: describeError(error) });
  }
}

/** A new conversation has no session and no messages. */
async function readHistory(sessionKey: string) {
  if (sessionKey === '') return { messages: [] };
  try {
    return await call('session.history', {
      ...(isFormattedKey(sessionKey) ? { session_key: sessionKey } : { channelId: sessionKey }),
      limit: RESTORED_MESSAGES,
    });
  } catch (error) {
    if (error instanceof RpcError && error.data.code === 'NOT_FOUND') return { messages: [] };
    throw error;
  }
}

/** A key has a tenant, a user and a channel. Other texts name a channel of the caller. */
const isFormattedKey = (text: string): boolean => text.split(':').length > 2;

/** Sends a message and reads the answer to its end. Only one answer streams at a time. */
export async function send(message: string, address: ConversationAddress): Promise<void> {
  if (running !== undefined) throw new Error('An answer is still arriving. Cancel it or wait for it.');
  const controller = (running = new AbortController());
  const exchanges = getConversation(address)?.exchanges ?? [];
  changeConversation(address, { exchanges: [...exchanges, { message, answer: '', state: 'streaming' }] });
  const { agentId, sessionKey } = address;
  const options = { ...(agentId === '' ? {} : { agentId }), ...(sessionKey === '' ? {} : { sessionKey }) };
  let turnId: string | undefined;
  try {
    for await (const event of getClient().chat(message, { ...options, signal: controller.signal, cancels: true })) {
      if (event.type !== 'done') changeLast(address, { answer: event.accumulated });
      else {
        ({ turnId } = event);
        changeLast(address, { answer: event.response, state: 'done', ...(turnId === undefined ? {} : { turnId }) });
      }
    }
  } catch (error) {
    if (isSignedOut(error)) signOut();
    const failedTurn = error instanceof RpcError ? error.data.turnId : undefined;
    changeLast(address, {
      state: 'failed',
      failure: controller.signal.aborted ? 'Cancelled.' : describeError(error),
      ...(typeof failedTurn === 'string' ? { turnId: failedTurn } : {}),
    });
  } finally {
    running = undefined;
  }
  if (turnId !== undefined) await nameSession(address, turnId);
}

/** Cancels the turn whose answer is arriving. */
export function cancel(): void {
  running?.abort();
}

function changeLast(address: ConversationAddress, update: Partial<Exchange>): void {
  const exchanges = getConversation(address)?.exchanges ?? [];
  changeConversation(address, { exchanges: exchanges.map((one, at) => (at === exchanges.length - 1 ? { ...one, ...update } : one)) });
}

/** The key of the session becomes part of the address, so that a link opens the same conversation for another client. */
async function nameSession(address: ConversationAddress, turnId: string): Promise<void> {
  const current = follow(address);
  if (isFormattedKey(current.sessionKey)) return;
  // The answer is complete. Without its key the address stays as it is.
  const run = await call('session.run_status', { run_id: turnId }).catch(() => undefined);
  if (run?.sessionKey !== undefined) renameConversation(current, { ...current, sessionKey: run.sessionKey });
}
